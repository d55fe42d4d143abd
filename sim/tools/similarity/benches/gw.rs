//! Gromov-Wasserstein of all pairs of a sample on one thread, and the linear transport under it.
//! Throughput is in pairs.
//!
//! `cargo bench -p folkmoot-similarity --bench gw`; the samples are random graphs like molecules:
//! trees of 10 to 26 nodes (18 on average) or of 29 with some edges that close rings, with
//! distances in hops. `benches/against_pot.py` measures real graphs against the library POT.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_graphs::Graph;
use folkmoot_similarity::gw::{Fused, Options, Solver, Space};
use folkmoot_similarity::transport::exact;
use rand::RngExt;
use std::hint::black_box;

const N: usize = 24;

/// A tree whose nodes hang on one of the three before them, and a ring for every eight nodes.
fn molecule(n: u32, rng: &mut SimRng) -> Space {
    let mut edges: Vec<(u32, u32)> = (1..n).map(|u| (u, rng.random_range(u.saturating_sub(3)..u))).collect();
    for _ in 0..n / 8 {
        let u = rng.random_range(5..n);
        edges.push((u, u - 5));
    }
    edges.sort_unstable();
    edges.dedup();
    let graph = Graph::from_edges(n, &edges, false).expect("these edges are legal");
    Space::of_hops(&graph).expect("a graph with nodes is a space")
}

fn pairs(c: &mut Criterion) {
    let mut rng = SimRng::seed_from_u64(1);
    let mut small = Vec::new();
    for _ in 0..N {
        let n = rng.random_range(10..=26);
        small.push(molecule(n, &mut rng));
    }
    let large: Vec<Space> = (0..N).map(|_| molecule(29, &mut rng)).collect();
    let plain = Options {
        exchange: false,
        ..Options::default()
    };
    let mut group = c.benchmark_group("similarity/gw");
    group
        .throughput(Throughput::Elements((N * (N - 1) / 2) as u64))
        .sample_size(20);
    for (name, spaces) in [("18 nodes", &small), ("29 nodes", &large)] {
        for (method, options) in [("default", Options::default()), ("plain", plain)] {
            let mut solver = Solver::new(options).expect("the options are legal");
            group.bench_function(BenchmarkId::new(method, name), |b| {
                b.iter(|| all(spaces, |a, b| solver.value(a, b)));
            });
        }
        let mut solver = Solver::new(Options::default()).expect("the options are legal");
        let cost: Vec<f64> = (0..29 * 29).map(|_| rng.random_range(0.0..1.0)).collect();
        group.bench_function(BenchmarkId::new("fused", name), |b| {
            b.iter(|| {
                all(spaces, |a, b| {
                    let cost = &cost[..a.n() * b.n()];
                    solver
                        .fused_value(a, b, &Fused { alpha: 0.5, cost })
                        .expect("the cost fits")
                })
            });
        });
    }
    group.finish();
}

fn all(spaces: &[Space], mut value: impl FnMut(&Space, &Space) -> f64) -> f64 {
    let mut sum = 0.0;
    for (u, a) in spaces.iter().enumerate() {
        for b in &spaces[u + 1..] {
            sum += value(a, b);
        }
    }
    sum
}

fn transport(c: &mut Criterion) {
    let mut rng = SimRng::seed_from_u64(2);
    let mut group = c.benchmark_group("similarity/transport");
    for n in [5usize, 18, 29, 100] {
        let cost: Vec<f64> = (0..n * n).map(|_| rng.random_range(0.0..1.0)).collect();
        let uniform = vec![1.0 / n as f64; n];
        group.bench_function(BenchmarkId::new("exact", n), |b| {
            b.iter(|| exact(black_box(&uniform), &uniform, &cost));
        });
    }
    group.finish();
}

criterion_group!(benches, pairs, transport);
criterion_main!(benches);
