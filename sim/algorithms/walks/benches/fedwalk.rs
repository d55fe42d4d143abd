//! FedWalk's walks end to end, ledger on: throughput is in handled events.
//!
//! `cargo bench -p folkmoot-walks --bench fedwalk`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{Purpose, Streams, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph, Partition};
use folkmoot_parts::Chosen;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_walks::fedwalk::encoder::Identity;
use folkmoot_walks::fedwalk::{Params, Pool, Rows};
use folkmoot_walks::node_embedding::Embedding;
use std::sync::Arc;

/// A random graph of mean degree 60, without loops.
fn graph(n: u32) -> Arc<Dataset> {
    let mut rng = Streams::new(1).global(Purpose(*b"bench   "));
    let mut draw = || index(&mut rng, n as usize) as u32;
    let edges: Vec<(u32, u32)> = (0..30 * n).map(|_| (draw(), draw())).filter(|(u, v)| u != v).collect();
    let graph = Graph::from_edges(n, &edges, false).expect("ids are below n");
    Arc::new(Dataset::of_graph("bench", graph))
}

fn walks(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine/fedwalk");
    group.sample_size(10);
    for n in [1_000u32, 10_000] {
        for threads in [1, 2] {
            let params = Params {
                walks_per_node: 40_000 / n,
                rows: Rows::Off,
                pool: Pool::Vector,
                encoder: Chosen::new(Identity {}),
                embedding: Embedding::Off,
                attacks: false,
                ..Params::default()
            };
            let partition = Arc::new(Partition::one_item_each(n));
            let system = params
                .prepare(&Source::new(&graph(n), &partition, Streams::new(1)))
                .expect("the graph is undirected");
            let options = Options {
                threads,
                ..Options::default()
            };
            let play =
                || run(system.system(), &World::ideal(), 1, options, &mut Unobserved).expect("an ideal run ends");
            group.throughput(Throughput::Elements(play().handled));
            group.bench_function(BenchmarkId::new(format!("{threads} threads"), n), |b| b.iter(play));
        }
    }
    group.finish();
}

criterion_group!(benches, walks);
criterion_main!(benches);
