//! Sums over the arcs of a graph, target by target and arc by arc, each one ascending chain of
//! `mul_add`.

use multiversion::multiversion;

use super::row::dot_inline;

/// The arcs in compressed sparse rows, with the block of columns of the features that they carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arcs<'a> {
    /// The arcs into target `t` are `offsets[t]..offsets[t + 1]`.
    pub(crate) offsets: &'a [u32],
    pub(crate) sources: &'a [u32],
    /// The weight of arc `e` is `weights[e * stride + head]`.
    pub(crate) weights: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) head: usize,
    /// Columns of a row, of which those of the head count.
    pub(crate) columns: usize,
    /// Columns of a head; head `h` has `h * width..(h + 1) * width`.
    pub(crate) width: usize,
}

impl<'a> Arcs<'a> {
    /// For each target, the sources of its arcs and their weights; with `PLAIN`, there is one head.
    #[inline(always)]
    fn by_target<const PLAIN: bool>(self) -> impl Iterator<Item = impl Iterator<Item = (usize, f32)>> + 'a {
        let (stride, head) = if PLAIN { (1, 0) } else { (self.stride, self.head) };
        self.offsets.windows(2).map(move |bounds| {
            let (from, to) = (bounds[0] as usize, bounds[1] as usize);
            let weights = &self.weights[from * stride..to * stride];
            let sources = self.sources[from..to].iter().enumerate();
            sources.map(move |(e, source)| (*source as usize, weights[e * stride + head]))
        })
    }
}

/// `y_t = Σ_e w_e x_s` over the arcs `e` into `t`, from `s`; the head's columns only. Adds to `y`
/// if `add`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn gather(arcs: &Arcs<'_>, x: &[f32], y: &mut [f32], add: bool) {
    match arcs.stride {
        1 => gather_all::<true>(arcs, x, y, add),
        _ => gather_all::<false>(arcs, x, y, add),
    }
}

#[inline(always)]
fn gather_all<const PLAIN: bool>(arcs: &Arcs<'_>, x: &[f32], y: &mut [f32], add: bool) {
    let mut j = 0;
    macro_rules! panels {
        ($($n:literal)*) => {
            $(while arcs.width - j >= $n {
                gather_panel::<$n, $n, PLAIN>(arcs, x, y, add, j);
                j += $n;
            })*
        };
    }
    /// The last columns in one pass.
    macro_rules! rest {
        ($($n:literal of $w:literal)*) => {
            match arcs.width - j {
                $($n => gather_panel::<$n, $w, PLAIN>(arcs, x, y, add, j),)*
                _ => {}
            }
        };
    }
    panels!(64 32 16);
    rest!(1 of 1 2 of 2 3 of 4 4 of 4 5 of 8 6 of 8 7 of 8 8 of 8);
    rest!(9 of 16 10 of 16 11 of 16 12 of 16 13 of 16 14 of 16 15 of 16);
}

/// `N` columns of the head from `j` on, in a register of `W` lanes: those beyond `N` read what
/// follows and are forgotten.
#[inline(always)]
fn gather_panel<const N: usize, const W: usize, const PLAIN: bool>(
    arcs: &Arcs<'_>,
    x: &[f32],
    y: &mut [f32],
    add: bool,
    j: usize,
) {
    let (columns, at) = (arcs.columns, arcs.head * arcs.width + j);
    for (arcs, y) in arcs.by_target::<PLAIN>().zip(y.chunks_exact_mut(columns)) {
        let y = &mut y[at..][..N];
        let mut sums = [0.0f32; W];
        if add {
            sums[..N].copy_from_slice(y);
        }
        for (source, weight) in arcs {
            let x = &x[source * columns + at..];
            let mut lanes = [0.0f32; W];
            match x.first_chunk::<W>() {
                Some(x) => lanes = *x,
                None => lanes[..N].copy_from_slice(&x[..N]),
            }
            for lane in 0..W {
                sums[lane] = weight.mul_add(lanes[lane], sums[lane]);
            }
        }
        y.copy_from_slice(&sums[..N]);
    }
}

/// `gx_s += Σ_e w_e gy_t` over the arcs `e` from `s`, in the order of targets: the gradient of
/// [`gather`] by its features.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn scatter(arcs: &Arcs<'_>, gy: &[f32], gx: &mut [f32]) {
    match arcs.stride {
        1 => scatter_all::<true>(arcs, gy, gx),
        _ => scatter_all::<false>(arcs, gy, gx),
    }
}

#[inline(always)]
fn scatter_all<const PLAIN: bool>(arcs: &Arcs<'_>, gy: &[f32], gx: &mut [f32]) {
    // The usual widths stay in registers.
    match arcs.width {
        1 => scatter_rows::<1, PLAIN>(arcs, gy, gx),
        16 => scatter_rows::<16, PLAIN>(arcs, gy, gx),
        32 => scatter_rows::<32, PLAIN>(arcs, gy, gx),
        64 => scatter_rows::<64, PLAIN>(arcs, gy, gx),
        _ => scatter_any::<PLAIN>(arcs, gy, gx),
    }
}

/// Heads of `W` columns.
#[inline(always)]
fn scatter_rows<const W: usize, const PLAIN: bool>(arcs: &Arcs<'_>, gy: &[f32], gx: &mut [f32]) {
    let (columns, at) = (arcs.columns, arcs.head * W);
    for (arcs, gy) in arcs.by_target::<PLAIN>().zip(gy.chunks_exact(columns)) {
        let mut row = [0.0f32; W];
        row.copy_from_slice(&gy[at..][..W]);
        for (source, weight) in arcs {
            let gx = &mut gx[source * columns + at..][..W];
            for lane in 0..W {
                gx[lane] = weight.mul_add(row[lane], gx[lane]);
            }
        }
    }
}

/// Heads of any width.
#[inline(always)]
fn scatter_any<const PLAIN: bool>(arcs: &Arcs<'_>, gy: &[f32], gx: &mut [f32]) {
    let (columns, width, at) = (arcs.columns, arcs.width, arcs.head * arcs.width);
    for (arcs, gy) in arcs.by_target::<PLAIN>().zip(gy.chunks_exact(columns)) {
        let gy = &gy[at..][..width];
        for (source, weight) in arcs {
            let gx = &mut gx[source * columns + at..][..width];
            for (gx, gy) in gx.iter_mut().zip(gy) {
                *gx = weight.mul_add(*gy, *gx);
            }
        }
    }
}

/// `gw_e += gy_t · x_s` for each arc: the gradient of [`gather`] by its weights, which `gw` is laid
/// out like.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn arc_products(arcs: &Arcs<'_>, gy: &[f32], x: &[f32], gw: &mut [f32]) {
    let (columns, width, first) = (arcs.columns, arcs.width, arcs.head * arcs.width);
    for (bounds, gy) in arcs.offsets.windows(2).zip(gy.chunks_exact(columns)) {
        let gy = &gy[first..][..width];
        for e in bounds[0] as usize..bounds[1] as usize {
            let x = &x[arcs.sources[e] as usize * columns + first..][..width];
            gw[e * arcs.stride + arcs.head] += dot_inline(gy, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_has_the_bits_of_the_plain_loop_for_every_width_and_head() {
        let (offsets, sources) = ([0, 2, 2, 5, 8], [1, 3, 0, 2, 3, 0, 1, 2]);
        for (width, n_heads) in [(1, 1), (7, 2), (16, 1), (16, 2), (32, 1), (64, 1), (100, 3)] {
            let columns = width * n_heads;
            let gy: Vec<f32> = (0..4 * columns).map(|i| (i * 31 % 57) as f32 / 19.0 - 1.3).collect();
            let weights: Vec<f32> = (0..8 * n_heads).map(|i| (i * 13 % 29) as f32 / 7.0 - 1.9).collect();
            let mut gx: Vec<f32> = (0..4 * columns).map(|i| (i * 7 % 23) as f32 / 11.0).collect();
            let mut plain = gx.clone();
            for head in 0..n_heads {
                let arcs = Arcs {
                    offsets: &offsets,
                    sources: &sources,
                    weights: &weights,
                    stride: n_heads,
                    head,
                    columns,
                    width,
                };
                scatter(&arcs, &gy, &mut gx);
                for t in 0..4 {
                    for e in offsets[t] as usize..offsets[t + 1] as usize {
                        for j in head * width..(head + 1) * width {
                            let to = &mut plain[sources[e] as usize * columns + j];
                            *to = weights[e * n_heads + head].mul_add(gy[t * columns + j], *to);
                        }
                    }
                }
            }
            assert_eq!(gx, plain, "{n_heads} heads of {width} columns");
        }
    }

    #[test]
    fn gather_has_the_bits_of_the_plain_loop_for_every_width_and_head() {
        let (offsets, sources) = ([0, 2, 2, 5, 8], [1, 3, 0, 2, 3, 0, 1, 2]);
        for (width, n_heads) in (1..=17).map(|width| (width, 1)).chain([(7, 2), (64, 1), (100, 3)]) {
            let columns = width * n_heads;
            let x: Vec<f32> = (0..4 * columns).map(|i| (i * 31 % 57) as f32 / 19.0 - 1.3).collect();
            let weights: Vec<f32> = (0..8 * n_heads).map(|i| (i * 13 % 29) as f32 / 7.0 - 1.9).collect();
            let mut y = vec![f32::NAN; 4 * columns];
            let mut plain = vec![0.0f32; 4 * columns];
            for head in 0..n_heads {
                let arcs = Arcs {
                    offsets: &offsets,
                    sources: &sources,
                    weights: &weights,
                    stride: n_heads,
                    head,
                    columns,
                    width,
                };
                gather(&arcs, &x, &mut y, false);
                for t in 0..4 {
                    for e in offsets[t] as usize..offsets[t + 1] as usize {
                        for j in head * width..(head + 1) * width {
                            let x = x[sources[e] as usize * columns + j];
                            plain[t * columns + j] = weights[e * n_heads + head].mul_add(x, plain[t * columns + j]);
                        }
                    }
                }
            }
            assert_eq!(y, plain);
        }
    }
}
