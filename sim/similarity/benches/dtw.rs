//! Warping of all pairs of a sample: the plain loop beside the lanes, both on one thread. Throughput is in cells.
//!
//! `cargo bench -p folkmoot-similarity --bench dtw`; the sample is 512 matrices of 9 columns, with 1 to 400 rows, most of them
//! short (heavy-tailed, as the degrees of a social network are). `benches/against_dtaidistance.py` measures against
//! that library: 0.46 ns a cell beside 9.6, one thread each, in one interleaved run of every tenth vertex of BlogCatalog (AMD EPYC with
//! AVX-512, both cores busy with other work: the ratio, 21, counts).

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_similarity::dissimilarity::{Condensed, Sequences};
use folkmoot_similarity::dtw::Metric;
use rand::RngExt;

const K: usize = 9;
const N: usize = 512;

fn sample() -> Sequences {
    let mut rng = SimRng::seed_from_u64(1);
    let matrices: Vec<Vec<f32>> = (0..N)
        .map(|_| {
            let len = (4.0 / rng.random_range(0.01f32..1.0)) as usize;
            (0..len * K).map(|_| rng.random_range(-1.0..30.0)).collect()
        })
        .collect();
    Sequences::new(K, matrices.iter().map(Vec::as_slice))
}

fn warping(c: &mut Criterion) {
    let sequences = sample();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread starts");
    let mut group = c.benchmark_group("similarity/dtw");
    group
        .throughput(Throughput::Elements(sequences.n_cells()))
        .sample_size(10);
    for metric in [Metric::L1, Metric::L2] {
        group.bench_function(BenchmarkId::new(format!("plain {metric:?}"), N), |b| {
            b.iter(|| Condensed::from_fn(N, |u, v| sequences.between(u, v, metric)));
        });
        group.bench_function(BenchmarkId::new(format!("lanes {metric:?}"), N), |b| {
            b.iter(|| one.install(|| sequences.all_pairs(metric)));
        });
    }
    group.finish();
}

criterion_group!(benches, warping);
criterion_main!(benches);
