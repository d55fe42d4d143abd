//! Graphs as a server holds them: arcs, one bit a pair where noise made them dense, or a weight for
//! every pair.
//!
//! At epsilon 1 randomised response sets more than a quarter of all bits. Arcs with weights would
//! take 8 bytes each, a bit takes an eighth of one for a set and an unset pair alike: whichever is
//! less is held. A weight for every pair that Blink is unsure of takes one of three values for each
//! two degrees, so no square of weights is ever made.
//!
//! Rows are summed side by side and each in ascending order of its columns, so no bit depends on
//! threads, or on how a graph is held.

use crate::bits::{Bits, ones};
use folkmoot_learning::tape::{Backward, Function};
use multiversion::multiversion;
use rayon::prelude::*;
use std::fmt;

/// Rows of arcs, each with its columns ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arcs {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// 1 each where there is none.
    weights: Option<Vec<f32>>,
}

impl Arcs {
    /// Of each row's columns, ascending.
    pub fn new(rows: &[Vec<u32>]) -> Arcs {
        let mut arcs = Arcs {
            offsets: vec![0],
            ..Arcs::default()
        };
        for row in rows {
            arcs.columns.extend(row);
            arcs.offsets.push(arcs.columns.len());
        }
        arcs
    }

    /// The same with weights, `(column, weight)` each.
    pub fn weighted(rows: &[Vec<(u32, f32)>]) -> Arcs {
        let plain: Vec<Vec<u32>> = rows.iter().map(|row| row.iter().map(|arc| arc.0).collect()).collect();
        Arcs {
            weights: Some(rows.iter().flatten().map(|arc| arc.1).collect()),
            ..Arcs::new(&plain)
        }
    }

    fn n_rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn transposed(&self) -> Arcs {
        let n = self.n_rows();
        let mut turned: Vec<Vec<(u32, f32)>> = vec![Vec::new(); n];
        for row in 0..n {
            for (column, weight) in self.row(row) {
                turned[column].push((row as u32, weight));
            }
        }
        let all = Arcs::weighted(&turned);
        match self.weights {
            Some(_) => all,
            None => Arcs { weights: None, ..all },
        }
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let range = self.offsets[row]..self.offsets[row + 1];
        let weight = |e: usize| self.weights.as_ref().map_or(1.0, |weights| weights[e]);
        range.map(move |e| (self.columns[e] as usize, weight(e)))
    }
}

/// A weight for every pair: one of three for each two classes of users, by how many of the two have
/// named the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// The class of each user.
    pub classes: Vec<u32>,
    /// For nobody, one and both: `(n_classes, n_classes)`, row-major and symmetric.
    pub tables: [Vec<f32>; 3],
    /// Whom each has named.
    pub said: Bits,
    /// Who has named each.
    pub heard: Bits,
}

impl Weighed {
    fn n_classes(&self) -> usize {
        self.tables[0].len().isqrt()
    }
}

/// A graph: what rows are sums of.
#[derive(Clone, Debug, PartialEq)]
pub enum Links {
    /// Arcs, and for a graph that is not symmetric those of the columns.
    Arcs(Arcs, Option<Arcs>),
    /// A bit a pair, and the same turned round.
    Bits(Bits, Option<Bits>),
    /// A weight a pair.
    Weighed(Weighed),
}

impl Links {
    /// Of arcs that are the same both ways.
    pub fn symmetric(arcs: Arcs) -> Links {
        Links::Arcs(arcs, None)
    }

    /// Whom each of `n` users names, ascending, however many these are: as arcs or as bits,
    /// whichever takes less memory.
    pub fn named(rows: &[Vec<u32>], is_symmetric: bool) -> Links {
        let (n, n_arcs) = (rows.len(), rows.iter().map(Vec::len).sum::<usize>());
        match 64 * n_arcs <= n * n {
            true => {
                let arcs = Arcs::new(rows);
                let turned = (!is_symmetric).then(|| arcs.transposed());
                Links::Arcs(arcs, turned)
            }
            false => Links::bits(rows, is_symmetric),
        }
    }

    fn bits(rows: &[Vec<u32>], is_symmetric: bool) -> Links {
        let mut bits = Bits::new(rows.len());
        for (row, columns) in rows.iter().enumerate() {
            columns.iter().for_each(|&column| bits.set(row, column as usize));
        }
        let turned = (!is_symmetric).then(|| bits.transposed());
        Links::Bits(bits, turned)
    }

    /// How many nodes there are.
    pub fn n_nodes(&self) -> usize {
        match self {
            Links::Arcs(arcs, _) => arcs.n_rows(),
            Links::Bits(bits, _) => bits.len(),
            Links::Weighed(weighed) => weighed.classes.len(),
        }
    }

    /// How many arcs it has; of weights for all pairs their sum, rounded.
    pub fn n_arcs(&self) -> u64 {
        match self {
            Links::Arcs(arcs, _) => arcs.columns.len() as u64,
            Links::Bits(bits, _) => (0..bits.len()).map(|row| bits.count(row) as u64).sum(),
            Links::Weighed(_) => self.degrees().into_iter().map(f64::from).sum::<f64>().round() as u64,
        }
    }

    /// The sum of each row's weights.
    pub fn degrees(&self) -> Vec<f32> {
        let mut sums = vec![0.0; self.n_nodes()];
        self.product(&vec![1.0; self.n_nodes()], 1, &mut sums);
        sums
    }

    /// `y = A x`, with `width` numbers a node.
    pub fn product(&self, x: &[f32], width: usize, y: &mut [f32]) {
        match self {
            Links::Arcs(arcs, _) => sum_arcs(arcs, x, width, y),
            Links::Bits(bits, _) => sum_bits(bits, x, width, y),
            Links::Weighed(weighed) => sum_weighed(weighed, x, width, y),
        }
    }

    /// `y = Aᵀ x`.
    pub fn product_transposed(&self, x: &[f32], width: usize, y: &mut [f32]) {
        match self {
            Links::Arcs(_, Some(turned)) => sum_arcs(turned, x, width, y),
            Links::Bits(_, Some(turned)) => sum_bits(turned, x, width, y),
            _ => self.product(x, width, y),
        }
    }
}

fn add(y: &mut [f32], weight: f32, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += weight * x);
}

fn by_rows(y: &mut [f32], width: usize, sum: impl Fn(usize, &mut [f32]) + Sync) {
    y.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, y)| {
        y.fill(0.0);
        sum(row, y);
    });
}

fn sum_arcs(arcs: &Arcs, x: &[f32], width: usize, y: &mut [f32]) {
    by_rows(y, width, |row, y| {
        arcs.row(row)
            .for_each(|(column, weight)| add(y, weight, &x[column * width..][..width]));
    });
}

/// Some rows take a tile of columns after the other, so that what a tile brings stays near; each
/// still adds in ascending order.
fn sum_bits(bits: &Bits, x: &[f32], width: usize, y: &mut [f32]) {
    const ROWS: usize = 64;
    const WORDS: usize = 8;
    let width = width.max(1);
    y.par_chunks_mut(ROWS * width).enumerate().for_each(|(at, y)| {
        y.fill(0.0);
        for tile in (0..bits.len().div_ceil(64)).step_by(WORDS) {
            let x = &x[64 * tile * width..];
            for (row, y) in y.chunks_exact_mut(width).enumerate() {
                let words = &bits.row(at * ROWS + row)[tile..];
                sum_ones(&words[..WORDS.min(words.len())], x, y);
            }
        }
    });
}

/// Adds the rows of `x` whose bits are set, ascending, as many columns at a time as fit into
/// registers.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
fn sum_ones(words: &[u64], x: &[f32], y: &mut [f32]) {
    let (width, mut first) = (y.len(), 0);
    macro_rules! panels {
        ($($n:literal)*) => {
            $(while width - first >= $n {
                sum_panel::<$n>(words, &x[first..], width, &mut y[first..]);
                first += $n;
            })*
        };
    }
    panels!(16 8 4 2 1);
}

#[inline(always)]
fn sum_panel<const N: usize>(words: &[u64], x: &[f32], width: usize, y: &mut [f32]) {
    let y = y.first_chunk_mut::<N>().expect("so many columns are left");
    let mut sum = *y;
    for column in ones(words.iter().copied()) {
        let x = &x[column * width..][..N];
        sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
    }
    *y = sum;
}

/// What every pair would weigh if nobody had named anybody is summed by class, and what names add
/// one by one.
fn sum_weighed(weighed: &Weighed, x: &[f32], width: usize, y: &mut [f32]) {
    let n_classes = weighed.n_classes();
    let mut sums = vec![0.0; n_classes * width];
    for (class, x) in weighed.classes.iter().zip(x.chunks_exact(width.max(1))) {
        add(&mut sums[*class as usize * width..][..width], 1.0, x);
    }
    let [none, one, both] = &weighed.tables;
    by_rows(y, width, |row, y| {
        let own = weighed.classes[row] as usize * n_classes;
        for class in 0..n_classes {
            add(y, none[own + class], &sums[class * width..][..width]);
        }
        // Nobody is its own neighbour.
        add(
            y,
            -none[own + weighed.classes[row] as usize],
            &x[row * width..][..width],
        );
        let (said, heard) = (weighed.said.row(row), weighed.heard.row(row));
        for column in ones(said.iter().zip(heard).map(|(said, heard)| said | heard)) {
            let at = own + weighed.classes[column] as usize;
            let is_both = (said[column / 64] & heard[column / 64]) >> (column % 64) & 1 == 1;
            let table = if is_both { both } else { one };
            add(y, table[at] - none[at], &x[column * width..][..width]);
        }
    });
}

/// How rows of a graph are weighed: `left (A + own I) right`, of diagonals.
pub struct Spread<'a> {
    links: &'a Links,
    left: Vec<f32>,
    right: Option<Vec<f32>>,
    own: f32,
}

/// `d^−1/2`, or 0 where `d` is not positive.
fn root(degree: f32) -> f32 {
    if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 }
}

impl<'a> Spread<'a> {
    /// That of graph convolutions: `D^−1/2 (A + I) D^−1/2`, with the degrees of `A + I` (Kipf &
    /// Welling 2017, equation 2).
    pub fn convolution(links: &'a Links) -> Spread<'a> {
        let roots: Vec<f32> = links.degrees().into_iter().map(|degree| root(degree + 1.0)).collect();
        Spread {
            links,
            right: Some(roots.clone()),
            left: roots,
            own: 1.0,
        }
    }

    /// The mean over neighbours, 0 where there is none.
    pub fn means(links: &'a Links) -> Spread<'a> {
        let mean = |degree: f32| if degree > 0.0 { 1.0 / degree } else { 0.0 };
        Spread {
            links,
            left: links.degrees().into_iter().map(mean).collect(),
            right: None,
            own: 0.0,
        }
    }

    /// KProp's: `D^−1/2 A D^−1/2` without loops, so that nobody's own noise comes back at once
    /// (Sajadmanesh & Gatica-Perez 2021, section 3.2).
    pub fn without_loops(links: &'a Links) -> Spread<'a> {
        let roots: Vec<f32> = links.degrees().into_iter().map(root).collect();
        Spread {
            links,
            right: Some(roots.clone()),
            left: roots,
            own: 0.0,
        }
    }

    /// `steps` times over rows of `width` numbers: KProp.
    pub fn repeat(&self, mut x: Vec<f32>, width: usize, steps: u32) -> Vec<f32> {
        let mut y = vec![0.0; if steps > 0 { x.len() } else { 0 }];
        for _ in 0..steps {
            self.apply(&x, width, &mut y);
            std::mem::swap(&mut x, &mut y);
        }
        x
    }

    fn scaled(by: Option<&[f32]>, x: &[f32], width: usize) -> Vec<f32> {
        let mut scaled = x.to_vec();
        if let Some(by) = by {
            for (row, by) in scaled.chunks_exact_mut(width.max(1)).zip(by) {
                row.iter_mut().for_each(|x| *x *= by);
            }
        }
        scaled
    }

    fn apply(&self, x: &[f32], width: usize, y: &mut [f32]) {
        let x = Spread::scaled(self.right.as_deref(), x, width);
        self.links.product(&x, width, y);
        for (row, (y, x)) in y
            .chunks_exact_mut(width.max(1))
            .zip(x.chunks_exact(width.max(1)))
            .enumerate()
        {
            y.iter_mut()
                .zip(x)
                .for_each(|(y, x)| *y = self.left[row] * (*y + self.own * x));
        }
    }
}

impl fmt::Debug for Spread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spread over {} nodes", self.left.len())
    }
}

impl Function for Spread<'_> {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        let width = y.len() / self.left.len().max(1);
        self.apply(x[0], width, y);
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let gy = cx.gradient();
        let width = gy.len() / self.left.len().max(1);
        let gy = Spread::scaled(Some(&self.left), gy, width);
        let mut sums = vec![0.0; gy.len()];
        self.links.product_transposed(&gy, width, &mut sums);
        sums.iter_mut().zip(&gy).for_each(|(sum, gy)| *sum += self.own * gy);
        let sums = Spread::scaled(self.right.as_deref(), &sums, width);
        if let Some(gx) = cx.gradient_of(0) {
            gx.iter_mut().zip(sums).for_each(|(gx, sum)| *gx += sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, SimRng, bernoulli, unit};
    use folkmoot_learning::Tape;

    fn drawn(n: usize, share: f64, rng: &mut SimRng) -> Vec<Vec<u32>> {
        let mut row = |i: usize| {
            (0..n as u32)
                .filter(|&j| j as usize != i && bernoulli(rng, share))
                .collect()
        };
        (0..n).map(&mut row).collect()
    }

    /// Arcs and bits give the same sums to the bit, both ways, beyond one tile and whatever the
    /// width.
    #[test]
    fn how_a_graph_is_held_changes_no_bit() {
        const N: usize = 700;
        let mut rng = SimRng::seed_from_u64(1);
        let rows = drawn(N, 0.3, &mut rng);
        let bits = Links::bits(&rows, false);
        assert_eq!(Links::named(&rows, false), bits, "it is dense");
        let arcs = Arcs::new(&rows);
        let arcs = Links::Arcs(arcs.clone(), Some(arcs.transposed()));
        let sparse = drawn(N, 0.01, &mut rng);
        assert!(matches!(Links::named(&sparse, false), Links::Arcs(_, Some(_))));
        assert_eq!((arcs.n_arcs(), arcs.degrees()), (bits.n_arcs(), bits.degrees()));
        for width in [1, 3, 21] {
            let x: Vec<f32> = (0..N * width).map(|_| unit(&mut rng) as f32 - 0.5).collect();
            let products = |links: &Links| {
                let (mut y, mut z) = (vec![9.0; N * width], vec![9.0; N * width]);
                links.product(&x, width, &mut y);
                links.product_transposed(&x, width, &mut z);
                (y, z)
            };
            let (y, z) = products(&bits);
            assert_eq!((y.clone(), z.clone()), products(&arcs));
            let plain: f32 = rows[5].iter().map(|&j| x[width * j as usize]).sum();
            assert!((y[5 * width] - plain).abs() < 1e-3);
            let turned: f32 = (0..N).filter(|&i| rows[i].contains(&5)).map(|i| x[width * i]).sum();
            assert!((z[5 * width] - turned).abs() < 1e-3);
        }
    }

    /// The sums over classes are those over all pairs, weight by weight.
    #[test]
    fn weights_of_all_pairs_are_never_made_and_still_counted() {
        let mut rng = SimRng::seed_from_u64(2);
        let (n, n_classes) = (40, 3);
        let mut said = Bits::new(n);
        for (i, row) in drawn(n, 0.2, &mut rng).iter().enumerate() {
            row.iter().for_each(|&j| said.set(i, j as usize));
        }
        let mut table = |_| {
            let mut table = vec![0.0; n_classes * n_classes];
            for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
                let weight = unit(&mut rng) as f32;
                (table[a * n_classes + b], table[b * n_classes + a]) = (weight, weight);
            }
            table
        };
        let weighed = Weighed {
            classes: (0..n as u32).map(|i| i % 3).collect(),
            tables: [0, 1, 2].map(&mut table),
            heard: said.transposed(),
            said: said.clone(),
        };
        let x: Vec<f32> = (0..2 * n).map(|i| i as f32 / 7.0 - 3.0).collect();
        let mut y = vec![0.0; 2 * n];
        Links::Weighed(weighed.clone()).product(&x, 2, &mut y);
        for i in 0..n {
            let mut sum = [0.0_f64; 2];
            for j in (0..n).filter(|&j| j != i) {
                let named = usize::from(said.has(i, j)) + usize::from(said.has(j, i));
                let weight = weighed.tables[named][(i % 3) * n_classes + j % 3];
                (0..2).for_each(|k| sum[k] += f64::from(weight) * f64::from(x[2 * j + k]));
            }
            (0..2).for_each(|k| assert!((f64::from(y[2 * i + k]) - sum[k]).abs() < 1e-3, "{i}"));
        }
    }

    /// A path of three: KProp of its middle is 1/√2 of both ends, its ends have 1/√2 of the middle;
    /// no step is the identity, and whoever has no neighbour becomes 0.
    #[test]
    fn kprop_is_what_a_hand_gives() {
        let links = Links::named(&[vec![1], vec![0, 2], vec![1], vec![]], true);
        let spread = Spread::without_loops(&links);
        let x = vec![1.0, 10.0, 2.0, 5.0];
        assert_eq!(spread.repeat(x.clone(), 1, 0), x);
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let close = |y: &[f32], expected: [f32; 4]| {
            let near = y.iter().zip(expected).all(|(y, x)| (y - x).abs() < 1e-5);
            assert!(near, "{y:?}, not {expected:?}");
        };
        close(
            &spread.repeat(x.clone(), 1, 1),
            [10.0 * half, 3.0 * half, 10.0 * half, 0.0],
        );
        close(&spread.repeat(x.clone(), 1, 2), [1.5, 10.0, 1.5, 0.0]);
        // Golden: three steps, to the bit.
        let bits: Vec<u32> = spread.repeat(x, 1, 3).iter().map(|y| y.to_bits()).collect();
        assert_eq!(bits, STABLE);
    }

    const STABLE: [u32; 4] = [1_088_570_928, 1_074_250_678, 1_088_570_928, 0];

    /// The gradient through a graph that is not symmetric is that of differences.
    #[test]
    fn gradients_go_back_along_arcs() {
        let mut rng = SimRng::seed_from_u64(3);
        let rows = drawn(9, 0.3, &mut rng);
        let links = Links::named(&rows, false);
        let x: Vec<f32> = (0..18).map(|_| unit(&mut rng) as f32).collect();
        for spread in [
            Spread::convolution(&links),
            Spread::means(&links),
            Spread::without_loops(&links),
        ] {
            let loss = |x: &[f32]| {
                let mut tape = Tape::new();
                let v = tape.variable(9, 2, x);
                let y = tape.custom(&spread, &[v], 9, 2);
                let y = tape.square(y);
                let loss = tape.sum(y);
                tape.backward(loss);
                (tape.scalar(loss), tape.gradient(v).to_vec())
            };
            let (_, gradient) = loss(&x);
            for at in 0..18 {
                let (mut up, mut down) = (x.clone(), x.clone());
                up[at] += 0.01;
                down[at] -= 0.01;
                let slope = (loss(&up).0 - loss(&down).0) / 0.02;
                assert!(
                    (slope - gradient[at]).abs() < 2e-2 * (1.0 + slope.abs()),
                    "{at}: {slope} {}",
                    gradient[at]
                );
            }
        }
    }
}
