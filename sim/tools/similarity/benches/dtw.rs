//! Warping of all pairs of a sample: the plain loop beside the lanes, both on one thread.
//! Throughput is in cells.
//!
//! `cargo bench -p folkmoot-similarity --bench dtw`; the sample is 512 matrices of 9 columns, with
//! 1 to 400 rows, most of them short (heavy-tailed, as the degrees of a social network are). In one
//! sample no row recurs, in the other each is one of 512 vectors, as the rows of a vertex are those
//! of its neighbours. `benches/against_dtaidistance.py` measures against that library.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_similarity::dissimilarity::{Condensed, Sequences};
use folkmoot_similarity::dtw::Metric;
use rand::RngExt;

const K: usize = 9;
const N: usize = 512;

fn sample(recurring: bool) -> Sequences {
    let mut rng = SimRng::seed_from_u64(1);
    let vectors: Vec<[f32; K]> = (0..N)
        .map(|_| std::array::from_fn(|_| rng.random_range(-1.0..30.0)))
        .collect();
    let matrices: Vec<Vec<f32>> = (0..N)
        .map(|_| {
            let len = (4.0 / rng.random_range(0.01f32..1.0)) as usize;
            let mut row = || match recurring {
                true => vectors[rng.random_range(0..N)],
                false => std::array::from_fn(|_| rng.random_range(-1.0..30.0)),
            };
            (0..len).flat_map(|_| row()).collect()
        })
        .collect();
    Sequences::new(K, matrices.iter().map(Vec::as_slice))
}

fn warping(c: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread starts");
    let mut group = c.benchmark_group("similarity/dtw");
    for (rows, recurring) in [("fresh", false), ("recurring", true)] {
        let sequences = sample(recurring);
        group
            .throughput(Throughput::Elements(sequences.n_cells()))
            .sample_size(10);
        for metric in [Metric::L1, Metric::L2] {
            group.bench_function(BenchmarkId::new(format!("plain {metric:?} {rows}"), N), |b| {
                b.iter(|| Condensed::from_fn(N, |u, v| sequences.between(u, v, metric)));
            });
            group.bench_function(BenchmarkId::new(format!("lanes {metric:?} {rows}"), N), |b| {
                b.iter(|| one.install(|| sequences.all_pairs(metric)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, warping);
criterion_main!(benches);
