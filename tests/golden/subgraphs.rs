//! Methods on parts of a graph and on single nodes: KProp, LPGNN's encoder, Blink, FED-PUB and FedGTA.

use std::sync::Arc;

use folkmoot_draws::Streams;
use folkmoot_engine::prelude::ClientId;
use folkmoot_graphs::{Dataset, Features, Graph, Labels, Partition, SparseRows, Splits};
use folkmoot_privacy::{Entries, MultiBit};
use folkmoot_scenarios::registry::Registry;
use folkmoot_strategies::federated::{self, FedGta, FedPub, Moments};
use folkmoot_strategies::settings::{Settings, Source};
use folkmoot_users::edges::prior::{Prior, posterior};
use folkmoot_users::edges::{Blink, EdgeRelease, Graph as Kept, Reports};
use folkmoot_users::features::{FeatureRelease, MultiBitFeatures};
use folkmoot_users::links::{Arcs, Links, Spread};
use serde::Deserialize;
use serde_bytes::ByteBuf;

use super::compare::{Got, Mismatch};
use super::graph_measures::Pairs;
use super::schema::{Case, flags, row_major, text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    steps: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    graph: Pairs,
    x: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoder {
    epsilon: f64,
    low: f64,
    high: f64,
    n_sampled: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoded {
    x: Vec<f64>,
    report: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    scale: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Degrees {
    degrees: Vec<Option<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Epsilon {
    epsilon: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    prior: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    graph: Of,
    epsilon: f64,
    degree_share: f64,
}

#[derive(Deserialize)]
enum Of {
    Hard,
    Soft,
    Hybrid,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    reports: Vec<ByteBuf>,
}

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
        "kprop" => kprop(case)?,
        "multi_bit" => multi_bit(case)?,
        "blink_prior" => {
            let (Scale { scale }, Degrees { degrees }): (Scale, Degrees) = (case.params()?, case.inputs()?);
            let prior = Prior::new(&degrees, scale);
            let joined = |i, j| if i == j { 0.0 } else { prior.of_users(i, j) };
            vec![("joined", Got::square(degrees.len(), joined))]
        }
        "blink_posterior" => {
            let (Epsilon { epsilon }, Before { prior }): (Epsilon, Before) = (case.params()?, case.inputs()?);
            let flip = 1.0 / (1.0 + libm::exp(epsilon));
            let row = |prior| [0, 1, 2].map(|n_named| posterior(prior, n_named, flip)).to_vec();
            vec![("joined", prior.into_iter().map(row).collect::<Vec<_>>().into())]
        }
        "blink" => blink(case)?,
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

/// Of a graph as it is held where it is sparse, and as where it is dense.
fn kprop(case: &Case) -> Result<Fields, String> {
    let (Steps { steps }, Rows { graph, x }): (Steps, Rows) = (case.params()?, case.inputs()?);
    let (graph, (x, width)) = (graph.undirected()?, row_major(&x)?);
    let neighbours: Vec<Vec<u32>> = (0..graph.n_nodes() as u32)
        .map(|node| graph.neighbours(node).to_vec())
        .collect();
    let dense = Links::named(&neighbours, true);
    if !matches!(dense, Links::Bits(..)) {
        return Err("the graph is too sparse to be held as bits".into());
    }
    let rows = |links: &Links| {
        let rows = Spread::without_loops(links).repeat(x.clone(), width, steps);
        Got::rows(&rows, width)
    };
    let sparse = Links::symmetric(Arcs::new(&neighbours));
    Ok(vec![("arcs", rows(&sparse)), ("bits", rows(&dense))])
}

fn multi_bit(case: &Case) -> Result<Fields, String> {
    let (params, Encoded { x, report }): (Encoder, Encoded) = (case.params()?, case.inputs()?);
    let (d, range) = (x.len(), (params.low, params.high));
    let mut encoder = MultiBit::new(Entries::Row, params.epsilon, 1, d)
        .and_then(|encoder| encoder.with_range(range.0, range.1))
        .map_err(text)?;
    if let Some(m) = params.n_sampled {
        encoder = encoder.with_sampled(m as usize).map_err(text)?;
    }
    let part = MultiBitFeatures {
        epsilon: params.epsilon,
        n_sampled: params.n_sampled,
    };
    let read = part.read(&report, d, range).ok_or("the report cannot be read")?;
    let mut estimate = vec![read.base; d];
    for (place, value) in read.others {
        estimate[place as usize] = value;
    }
    let probability: Vec<f64> = x.into_iter().map(|x| encoder.probability(x)).collect();
    Ok(vec![
        ("n_sampled", encoder.n_sampled().into()),
        ("probability", probability.into()),
        ("estimate", estimate.into()),
    ])
}

fn blink(case: &Case) -> Result<Fields, String> {
    let (params, Told { reports }): (Server, Told) = (case.params()?, case.inputs()?);
    let part = Blink {
        epsilon: params.epsilon,
        degree_share: params.degree_share,
        graph: match params.graph {
            Of::Hard => Kept::Hard,
            Of::Soft => Kept::Soft,
            Of::Hybrid => Kept::Hybrid,
        },
    };
    let reports: Vec<Option<ByteBuf>> = reports.into_iter().map(Some).collect();
    let links = part.links(Reports(&reports)).map_err(text)?;
    // Times the identity.
    let n = links.n_nodes();
    let identity: Vec<f32> = (0..n * n).map(|at| f32::from(u8::from(at / n == at % n))).collect();
    let mut weights = vec![0.0; n * n];
    links.product(&identity, n, &mut weights);
    Ok(vec![("weights", Got::rows(&weights, n))])
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
    let settings: federated::Params = Registry::shipped()
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
