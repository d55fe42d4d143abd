//! FGCL's training: a client with 200 graphs of 34 nodes and 43 one-hot features, an epoch of steps
//! with two noisy views and ten negatives each on two layers of GCN of width 64; throughput is in
//! steps. On two threads, two such clients at once.
//!
//! `cargo bench -p folkmoot-fgcl --bench fgcl`; the same loop in PyTorch is
//! `sim/algorithms/fgcl/benches/fgcl_torch.py`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_classifiers::classifier::Split;
use folkmoot_classifiers::classifier::graph_layers::{Gcn, GraphConv};
use folkmoot_draws::{Purpose, Streams, index};
use folkmoot_engine::prelude::*;
use folkmoot_fgcl::{Params, Setting};
use folkmoot_graphs::{Dataset, Features, Graph, Partition, SparseRows};
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Task, Trainer};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

const N_GRAPHS: u32 = 200;
const N_NODES: u32 = 34;
const N_FEATURES: u32 = 43;

/// Random trees with three more edges, of two classes.
fn data() -> Dataset {
    let mut rng = Streams::new(1).global(Purpose(*b"bench   "));
    let graphs = (0..N_GRAPHS).map(|_| {
        let mut edges: Vec<(u32, u32)> = (1..N_NODES).map(|v| (index(&mut rng, v as usize) as u32, v)).collect();
        while edges.len() < N_NODES as usize + 2 {
            let mut node = || index(&mut rng, N_NODES as usize) as u32;
            let (u, v) = (node(), node());
            if u < v && !edges.contains(&(u, v)) {
                edges.push((u, v));
            }
        }
        Graph::from_edges(N_NODES, &edges, false).expect("ids are below the number of nodes")
    });
    let graphs = graphs.collect();
    let rows: Vec<[(u32, f32); 1]> = (0..N_GRAPHS * N_NODES)
        .map(|_| [(index(&mut rng, N_FEATURES as usize) as u32, 1.0)])
        .collect();
    Dataset {
        name: "bench".to_owned(),
        graphs,
        features: SparseRows::from_rows(N_FEATURES, &rows).map(Features::Sparse),
        graph_labels: Some((0..N_GRAPHS).map(|i| i % 2).collect()),
        n_classes: 2,
        ..Dataset::default()
    }
}

fn epochs(c: &mut Criterion) {
    let dataset = Arc::new(data());
    let mut group = c.benchmark_group("fgcl");
    group.sample_size(10);
    let settings = [
        ("gcn", Chosen::new(Gcn {}), Setting::default()),
        ("k-gnn", Chosen::new(GraphConv {}), Setting::default()),
        (
            "gcn without negatives",
            Chosen::new(Gcn {}),
            Setting::Noise { epsilon: 1.0 },
        ),
    ];
    for (name, encoder, setting) in settings {
        let mut params = Params {
            setting,
            split: Split::Shares {
                train: 1.0,
                validation: 0.0,
            },
            ..Params::default()
        };
        params.model.encoder = encoder;
        let both: Vec<u32> = (0..N_GRAPHS).collect();
        let partition =
            Arc::new(Partition::from_shards(vec![both.clone(), both]).expect("a shard has every graph once"));
        let prepared = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(1)))
            .expect("the data are sound");
        let (fgcl, shards) = (prepared.strategy.trainer(), prepared.shared.shards.as_ref());
        let start = fgcl
            .network()
            .layout()
            .initialise(&mut Streams::new(1).global(Purpose(*b"start   ")));
        let train = |client: u32| {
            let cx = JobContext::of_test(1, ClientId(client), Round(0));
            fgcl.train(Task::new(shards.shard(ClientId(client)), &start, &cx))
        };
        group.throughput(Throughput::Elements(u64::from(N_GRAPHS)));
        group.bench_function(BenchmarkId::new(name, "1 thread"), |b| b.iter(|| train(0)));
        group.throughput(Throughput::Elements(2 * u64::from(N_GRAPHS)));
        group.bench_function(BenchmarkId::new(name, "2 threads"), |b| {
            b.iter(|| rayon::join(|| train(0), || train(1)));
        });
    }
    group.finish();
}

criterion_group!(benches, epochs);
criterion_main!(benches);
