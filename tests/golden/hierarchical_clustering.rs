//! Agglomerative clustering: merges, cophenetic distances and leaves under the lowest common
//! ancestor.

use folkmoot_checks::golden::{Case, Got, Mismatch};
use folkmoot_similarity::dissimilarity::Condensed;
use folkmoot_similarity::linkage::{Linkage, Merge, linkage};
use folkmoot_similarity::tree::Tree;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Method {
    #[serde(with = "LinkageName")]
    method: Linkage,
}

/// How the files spell a [`Linkage`].
#[derive(Deserialize)]
#[serde(remote = "Linkage", rename_all = "lowercase")]
enum LinkageName {
    Average,
    Single,
    Complete,
    Ward,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    distance: Vec<Vec<f32>>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let with_merges = match case.op.as_str() {
        "linkage" => true,
        "linkage_cophenetic" => false,
        _ => return Err(case.unknown_op()),
    };
    let Method { method } = case.params()?;
    let matrix = case.inputs::<Matrix>()?.condensed()?;
    let n = matrix.n();
    let merges = linkage(matrix, method);
    let tree = Tree::from_merges(n, &merges);
    let parents = parents(n, &merges);
    let mut got = vec![
        (
            "cophenetic",
            Got::square(n, |u, v| cophenetic(n, &merges, &parents, u, v)),
        ),
        ("lca_leaves", Got::square(n, |u, v| tree.leaves_under_lca(u, v))),
    ];
    if with_merges {
        // Row by row: merges of equal height, whose order is free, belong to the cases without Z.
        got.push(("Z", Got::List(merges.iter().map(row).collect())));
    }
    Ok(case.compare_single(Got::Map(got)))
}

impl Matrix {
    fn condensed(&self) -> Result<Condensed, String> {
        let n = self.distance.len();
        if self.distance.iter().any(|row| row.len() != n) {
            return Err("distance: must be square".into());
        }
        let at = |u: u32, v: u32| self.distance[u as usize][v as usize];
        let matrix = Condensed::from_fn(n, at);
        let vertices = || 0..n as u32;
        let mirrored = vertices().all(|u| vertices().all(|v| at(u, v) == matrix.get(u, v)));
        match mirrored && matrix.values().iter().all(|&d| d.is_finite() && d >= 0.0) {
            true => Ok(matrix),
            false => Err("distance: must be symmetric, finite and at least 0, with zeros on the diagonal".into()),
        }
    }
}

/// A row of Z.
fn row(merge: &Merge) -> Got {
    let &Merge { a, b, height, size } = merge;
    Got::List(vec![a.into(), b.into(), height.into(), size.into()])
}

/// The cluster into which each cluster but the last is merged.
fn parents(n: usize, merges: &[Merge]) -> Vec<u32> {
    let mut parents = vec![0; n + merges.len()];
    for (merge, number) in merges.iter().zip(n as u32..) {
        parents[merge.a as usize] = number;
        parents[merge.b as usize] = number;
    }
    parents
}

/// The height of the first merge that holds both vertices; 0 for a vertex and itself.
fn cophenetic(n: usize, merges: &[Merge], parents: &[u32], u: u32, v: u32) -> f32 {
    let (mut low, mut high) = (u.min(v), u.max(v));
    // Parents have larger numbers, so the cluster of the smaller number is not the common one yet.
    while low != high {
        let parent = parents[low as usize];
        (low, high) = (parent.min(high), parent.max(high));
    }
    (low as usize).checked_sub(n).map_or(0.0, |merge| merges[merge].height)
}
