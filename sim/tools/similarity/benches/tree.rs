//! Trees: exact clustering of a matrix, the hybrid from vectors, and leaves under the lowest common
//! ancestor.
//!
//! `cargo bench -p folkmoot-similarity --bench tree`; throughput is in pairs, vertices and queries.
//! Vectors are uniform, of 9 bins.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_similarity::dissimilarity::Sequences;
use folkmoot_similarity::dtw::Metric;
use folkmoot_similarity::linkage::{Linkage, linkage};
use folkmoot_similarity::tree::hybrid;
use rand::RngExt;

const K: usize = 9;
const QUERIES: u32 = 1000;

fn vectors(n: usize) -> Vec<f32> {
    let mut rng = SimRng::seed_from_u64(1);
    (0..n * K).map(|_| rng.random_range(0.0..30.0)).collect()
}

fn trees(c: &mut Criterion) {
    let mut group = c.benchmark_group("similarity/tree");
    group.sample_size(10);
    for n in [500, 2000] {
        let matrix = Sequences::of_vectors(&vectors(n), K).all_pairs(Metric::L1);
        group.throughput(Throughput::Elements(matrix.values().len() as u64));
        for method in [Linkage::Average, Linkage::Single, Linkage::Complete, Linkage::Ward] {
            group.bench_function(BenchmarkId::new(format!("linkage {method:?}"), n), |b| {
                b.iter(|| linkage(matrix.clone(), method));
            });
        }
    }
    for n in [1_000, 10_000] {
        let vectors = vectors(n);
        let build = || {
            let sequences = Sequences::of_vectors(&vectors, K);
            let pairs = |part: &[u32]| sequences.select(part).all_pairs(Metric::L1);
            hybrid(&vectors, K, 256, Linkage::Average, pairs)
        };
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::new("hybrid", n), |b| b.iter(build));
        let tree = build();
        let vertex = |i: u32| i.wrapping_mul(0x9E37_79B9) % n as u32;
        let query = |i: u32| u64::from(tree.leaves_under_lca(vertex(i), vertex(i + 1)));
        group.throughput(Throughput::Elements(u64::from(QUERIES)));
        group.bench_function(BenchmarkId::new("leaves", n), |b| {
            b.iter(|| (0..QUERIES).map(query).sum::<u64>())
        });
    }
    group.finish();
}

criterion_group!(benches, trees);
criterion_main!(benches);
