//! Shares of models in personalised federated training: FED-PUB and FedGTA.

use folkmoot_checks::golden::{Case, Got, Mismatch, Pairs, flags, row_major, text};
use std::sync::Arc;

use folkmoot_classifiers::federated::{self, FedGta, FedPub, Moments};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::ClientId;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows, Splits};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Softmax {
    similarity_scale: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Embeddings {
    embeddings: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    moments: Kind,
    orders: u32,
    steps: u32,
    neighbours: f64,
    temperature: f64,
}

#[derive(Deserialize)]
enum Kind {
    Raw,
    Central,
    Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    graph: Pairs,
    labels: Vec<u32>,
    train: Vec<u8>,
    probabilities: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Threshold {
    similarity: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    moments: Vec<Vec<f32>>,
    confidence: Vec<f64>,
}

type Fields = Vec<(&'static str, Got)>;

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let got = match case.op.as_str() {
        "fed_pub" => {
            let Softmax { similarity_scale } = case.params()?;
            let Embeddings { embeddings } = case.inputs()?;
            let method = FedPub {
                similarity_scale,
                ..FedPub::default()
            };
            let embeddings: Vec<&[f32]> = embeddings.iter().map(Vec::as_slice).collect();
            vec![("shares", shares(method.counts(&embeddings)))]
        }
        "fed_gta_told" => fed_gta_told(case)?,
        "fed_gta" => {
            let Threshold { similarity } = case.params()?;
            let Clients { moments, confidence } = case.inputs()?;
            let method = FedGta {
                similarity,
                ..FedGta::default()
            };
            let told: Vec<(&[f32], f64)> = moments.iter().map(Vec::as_slice).zip(confidence).collect();
            vec![("shares", shares(method.counts(&told)))]
        }
        _ => return Err(case.unknown_op()),
    };
    Ok(case.compare(Got::Map(got)))
}

/// Each row by its sum.
fn shares(counts: Vec<Vec<f64>>) -> Got {
    let share = |row: Vec<f64>| {
        let sum: f64 = row.iter().sum();
        row.into_iter().map(|count| count / sum).collect::<Vec<f64>>()
    };
    counts.into_iter().map(share).collect::<Vec<_>>().into()
}

fn fed_gta_told(case: &Case) -> Result<Fields, String> {
    let (params, inputs): (Labelled, Nodes) = (case.params()?, case.inputs()?);
    let method = FedGta {
        moments: match params.moments {
            Kind::Raw => Moments::Raw,
            Kind::Central => Moments::Central,
            Kind::Both => Moments::Both,
        },
        orders: params.orders,
        steps: params.steps,
        neighbours: params.neighbours,
        temperature: params.temperature,
        ..FedGta::default()
    };
    let (probabilities, n_classes) = row_major(&inputs.probabilities)?;
    let (dataset, all) = of_one_client(inputs.graph.undirected()?, &inputs.labels, &inputs.train, n_classes)?;
    // Any network over nodes: what it would say is an input.
    let settings: federated::Params = folkmoot::shipped()
        .settings("(split: Published)")
        .map_err(|problems| format!("{problems:?}"))?;
    let source = Source::new(&dataset, &all, Streams::new(1));
    let prepared = settings.prepare(&source).map_err(text)?;
    let shard = prepared.shared.shards.shard(ClientId(0));
    let nodes = shard.nodes().ok_or("nodes are classified")?;
    let mut moments = method.told(&nodes, probabilities, n_classes);
    let confidence = moments.pop().ok_or("it ends with the confidence")?;
    Ok(vec![("moments", moments.into()), ("confidence", confidence.into())])
}

/// A graph whose nodes are one client's; those that do not train test.
fn of_one_client(
    graph: Graph,
    labels: &[u32],
    train: &[u8],
    n_classes: usize,
) -> Result<(Arc<Dataset>, Arc<Partition>), String> {
    let (n, train) = (labels.len(), flags(train)?);
    let classes: Vec<Option<u32>> = labels.iter().map(|class| Some(*class)).collect();
    let rows: Vec<[(u32, f32); 1]> = vec![[(0, 1.0)]; n];
    let dataset = Dataset {
        features: Some(Features::Sparse(
            SparseRows::from_rows(1, &rows).ok_or("columns are of the set")?,
        )),
        node_labels: Some(Labels::from_single(n_classes as u32, &classes).map_err(text)?),
        n_classes,
        splits: Some(Splits {
            val: vec![false; n],
            test: train.iter().map(|trains| !trains).collect(),
            train,
        }),
        ..Dataset::of_graph("golden", graph)
    };
    let all = Partition::from_shards(vec![(0..n as u32).collect()]).map_err(text)?;
    Ok((Arc::new(dataset), Arc::new(all)))
}
