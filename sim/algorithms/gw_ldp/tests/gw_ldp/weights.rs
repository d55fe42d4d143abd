//! Nodes that weigh by their degrees: what is sent for it, what it costs, and what it changes.

use super::{all_of, graphs, iid, matrix, params, play};
use folkmoot_classifiers::classifier::graph_layers::{Gat, Gcn, Gin, GraphLayers, LightGcn, Sage};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_gw_ldp::release::Plain;
use folkmoot_gw_ldp::{Metric, NodeWeights, Params};
use folkmoot_parts::Chosen;
use folkmoot_rounds::{SidePayload, Task, Trainer};
use folkmoot_scenarios::algorithm::{Algorithm, Source};

fn weighed(node_weights: NodeWeights) -> Params {
    let mut params = Params {
        node_weights,
        release: Chosen::new(Plain {}),
        ..params(1)
    };
    params.evaluation.metrics = vec![Metric::Released, Metric::Clean, Metric::Hops];
    params.evaluation.clusters = true;
    params.evaluation.changes = 1;
    params
}

fn embeddings(outcome: &Outcome) -> u64 {
    let mut rows = outcome.ledger.rows();
    rows.find(|(kind, ..)| kind.name == "embeddings")
        .unwrap()
        .3
        .payload_bytes
}

#[test]
fn degrees_are_sent_and_charged_where_nodes_weigh_by_them() {
    let dataset = graphs();
    let [uniform, by_degree] = [NodeWeights::Uniform, NodeWeights::Degree].map(|by| play(&weighed(by), &dataset));
    let n_nodes: usize = dataset.graphs.iter().map(folkmoot_graphs::Graph::n_nodes).sum();
    assert_eq!(embeddings(&by_degree) - embeddings(&uniform), 4 * n_nodes as u64);
    assert_eq!(uniform.tables.privacy.len() + 1, by_degree.tables.privacy.len());
    let degrees = by_degree.tables.privacy.last().unwrap();
    assert_eq!((degrees.mechanism.as_str(), degrees.releases), ("none: degrees", 6));
    assert_eq!(degrees.epsilon_max_client, f64::INFINITY);
    // Every comparison of graphs is another, by embeddings and by hops; the embeddings themselves
    // are not.
    for path in ["distances.npy", "distances_hops.npy"] {
        assert_ne!(matrix(&uniform, path), matrix(&by_degree, path), "{path}");
    }
    assert_eq!(
        matrix(&by_degree, "distances.npy"),
        matrix(&by_degree, "distances_clean.npy")
    );
    let never_weighed = Params {
        node_weights: NodeWeights::default(),
        ..weighed(NodeWeights::Degree)
    };
    assert_eq!(all_of(&play(&never_weighed, &dataset)), all_of(&uniform));
}

/// Whatever matrix a network makes of a graph, its client reads the degrees of the graph from it.
#[test]
fn degrees_are_those_of_the_graph_under_any_encoder() {
    let (dataset, partition) = (graphs(), iid(&graphs()));
    let encoders: [Chosen<dyn GraphLayers>; 5] = [
        Chosen::new(Gcn {}),
        Chosen::new(Gin {}),
        Chosen::new(LightGcn {}),
        Chosen::new(Sage {}),
        Chosen::new(Gat { heads: 4 }),
    ];
    for encoder in encoders {
        let mut params = weighed(NodeWeights::Degree);
        params.model.encoder = encoder.clone();
        let prepared = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(5)))
            .unwrap();
        let (trainer, client) = (prepared.strategy.trainer(), prepared.strategy.payload());
        let parameters = trainer
            .layout()
            .initialise(&mut Streams::new(5).global(Purpose(*b"test-ini")));
        let order = client.order(trainer, Round(0), &Default::default());
        for id in (0..6).map(ClientId) {
            let cx = JobContext::of_test(5, id, Round(0));
            let task = Task::new(prepared.shared.shards.shard(id), &parameters, &cx);
            let (_, sent) = client.train(trainer, task, &order);
            for embedding in sent.unwrap().0 {
                let graph = &dataset.graphs[embedding.id as usize];
                let degrees: Vec<u32> = (0..graph.n_nodes() as u32)
                    .map(|node| graph.degree(node) as u32)
                    .collect();
                assert_eq!(embedding.degrees, Some(degrees), "{encoder:?}");
            }
        }
    }
}
