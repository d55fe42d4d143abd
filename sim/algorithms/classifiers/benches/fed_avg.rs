//! FedAvg end to end, ledger on: 1 000 clients of one graph of 20 nodes and 40 edges each, one step
//! of gradient descent a round on two layers of GCN of width 16; throughput is in client updates,
//! scores are taken once, at the end.
//!
//! `cargo bench -p folkmoot-classifiers --bench fed_avg`; the same loop in PyTorch Geometric is
//! `sim/tools/learning/benches/fedavg_pyg.py`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_classifiers::classifier::{Split, Training};
use folkmoot_classifiers::fed_avg::Params;
use folkmoot_draws::{Purpose, Streams, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Features, Graph, Partition, SparseRows};
use folkmoot_rounds::Protocol;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

const N_ROUNDS: u32 = 100;

/// Random graphs of two classes, seven one-hot features.
fn data(n_graphs: u32) -> Arc<Dataset> {
    let mut rng = Streams::new(1).global(Purpose(*b"bench   "));
    let mut graph = || {
        let mut edges: Vec<(u32, u32)> = Vec::new();
        while edges.len() < 40 {
            let (u, v) = (index(&mut rng, 20) as u32, index(&mut rng, 20) as u32);
            if u < v && !edges.contains(&(u, v)) {
                edges.push((u, v));
            }
        }
        Graph::from_edges(20, &edges, false).expect("ids are below 20")
    };
    let graphs = (0..n_graphs).map(|_| graph()).collect();
    let rows: Vec<[(u32, f32); 1]> = (0..20 * n_graphs).map(|v| [(v % 7, 1.0)]).collect();
    Arc::new(Dataset {
        name: "bench".to_owned(),
        graphs,
        features: SparseRows::from_rows(7, &rows).map(Features::Sparse),
        graph_labels: Some((0..n_graphs).map(|i| i % 2).collect()),
        n_classes: 2,
        ..Dataset::default()
    })
}

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine/fed_avg");
    group.sample_size(10);
    for n in [1_000u32, 10_000] {
        let dataset = data(n);
        let partition = Arc::new(Partition::one_item_each(n));
        let params = Params {
            training: Training::default(),
            split: Split::Shares {
                train: 1.0,
                validation: 0.0,
            },
            protocol: Protocol {
                rounds: N_ROUNDS * 1_000 / n,
                evaluate_every: N_ROUNDS,
                ..Protocol::default()
            },
            ..Params::default()
        };
        let system = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(1)))
            .expect("the data are sound");
        for threads in [1, 2] {
            let options = Options {
                threads,
                ..Options::default()
            };
            let play =
                || run(system.system(), &World::ideal(), 1, options, &mut Unobserved).expect("an ideal run ends");
            group.throughput(Throughput::Elements(u64::from(N_ROUNDS) * 1_000));
            group.bench_function(BenchmarkId::new(format!("{threads} threads"), n), |b| b.iter(play));
        }
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
