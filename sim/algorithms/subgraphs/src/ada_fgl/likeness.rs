//! What a client makes of the common model's answers before it learns: which nodes are alike, what
//! features are passed along, old edges and new, and how far labels tell of neighbours' labels.

use folkmoot_classifiers::classifier::{Nodes, Part};
use folkmoot_draws::{SimRng, shuffle};
use folkmoot_learning::Csr;

/// How labels are passed along edges to see what they tell: so often, and what comes counts so
/// much.
const PASSES: u32 = 10;
const SHARE: f64 = 0.5;

/// Rows scaled to the length 1, column by column: number `c` of row `i` is at `c * n + i`.
pub(super) fn directions(rows: &[f32], n: usize) -> Vec<f32> {
    let width = rows.len() / n.max(1);
    let mut directions = vec![0.0; rows.len()];
    for (i, row) in rows.chunks_exact(width.max(1)).enumerate() {
        let length = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt().max(1e-9);
        for (c, x) in row.iter().enumerate() {
            directions[c * n + i] = (f64::from(*x) / length) as f32;
        }
    }
    directions
}

/// The cosines of row `i` with every row, itself among them.
pub(super) fn cosines(directions: &[f32], i: usize, to: &mut [f32]) {
    to.fill(0.0);
    for column in directions.chunks_exact(to.len()) {
        let own = column[i];
        to.iter_mut().zip(column).for_each(|(to, x)| *to += own * x);
    }
}

/// Rows through a softmax each.
pub(super) fn softmax(rows: &[f32], width: usize) -> Vec<f32> {
    let mut shares = rows.to_vec();
    for row in shares.chunks_exact_mut(width.max(1)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.iter_mut().for_each(|x| *x = libm::expf(*x - largest));
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    shares
}

/// Which nodes are alike: those whose rows of `shares` point in directions with a cosine above
/// `least`, none with itself.
pub(super) fn alike(shares: &[f32], n: usize, least: f64) -> Csr {
    let directions = directions(&softmax(shares, shares.len() / n.max(1)), n);
    let (mut row, mut pairs) = (vec![0.0; n], Vec::new());
    for u in 0..n {
        cosines(&directions, u, &mut row);
        let near = row
            .iter()
            .enumerate()
            .filter(|(v, cosine)| *v != u && f64::from(**cosine) > least);
        pairs.extend(near.map(|(v, _)| (u as u32, v as u32, 1.0)));
    }
    Csr::from_entries(n as u32, n as u32, &pairs).expect("rows and columns are nodes")
}

/// `D^-1/2 (Ã + I) D^-1/2` of edges and likeness, `Ã = α A + (1 − α) M`.
pub(super) fn weighed(nodes: &Nodes<'_>, alike: &Csr, alpha: f64) -> Csr {
    let n = nodes.labels.len();
    let mut entries: Vec<(u32, u32, f64)> = Vec::new();
    let mut sums = vec![1.0; n];
    for (u, sum) in sums.iter_mut().enumerate() {
        let mut row = vec![(u as u32, 1.0)];
        row.extend(nodes.neighbours(u).map(|v| (v as u32, alpha)));
        let near = &alike.columns()[alike.range(u)];
        row.extend(near.iter().map(|v| (*v, 1.0 - alpha)));
        row.sort_by_key(|(v, _)| *v);
        for (v, weight) in row {
            match entries.last_mut() {
                Some((of, last, total)) if *of as usize == u && *last == v => *total += weight,
                _ => entries.push((u as u32, v, weight)),
            }
            if v as usize != u {
                *sum += weight;
            }
        }
    }
    let scale = |v: u32| 1.0 / sums[v as usize].sqrt();
    let weight = |(u, v, weight): (u32, u32, f64)| (u, v, (weight * scale(u) * scale(v)) as f32);
    let entries: Vec<_> = entries
        .into_iter()
        .filter(|(.., weight)| *weight > 0.0)
        .map(weight)
        .collect();
    Csr::from_entries(n as u32, n as u32, &entries).expect("rows and columns are nodes")
}

/// The share of hidden training nodes whose label the others' labels tell along the edges; 0 where
/// none can be hidden.
pub(super) fn homophily(nodes: &Nodes<'_>, n_classes: usize, rng: &mut SimRng) -> f64 {
    let trained = nodes.are_in(Part::Train);
    let mut order: Vec<usize> = (0..trained.len()).filter(|node| trained[*node]).collect();
    shuffle(rng, &mut order);
    let (told, hidden) = order.split_at(order.len() / 2);
    if told.is_empty() {
        return 0.0;
    }
    let mut first = vec![1.0 / n_classes as f64; trained.len() * n_classes];
    let mut is_told = vec![false; trained.len()];
    for &node in told {
        let row = &mut first[node * n_classes..][..n_classes];
        row.fill(0.0);
        row[nodes.labels[node] as usize] = 1.0;
        is_told[node] = true;
    }
    let passed = nodes.pass_labels(&first, &is_told, SHARE, PASSES);
    let is_right = |node: &&usize| {
        let row = &passed[**node * n_classes..][..n_classes];
        let most = (1..n_classes).fold(0, |most, class| if row[class] > row[most] { class } else { most });
        most == nodes.labels[**node] as usize
    };
    hidden.iter().filter(is_right).count() as f64 / hidden.len() as f64
}
