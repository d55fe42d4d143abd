//! What users of one node release, and what a server learns on: KProp, LPGNN's encoder, Blink.

use folkmoot_checks::golden::{Case, Got, Mismatch, Pairs, row_major, text};

use folkmoot_privacy::{Entries, MultiBit};
use folkmoot_users::edges::prior::{Prior, posterior};
use folkmoot_users::edges::{Blink, EdgeRelease, Graph as Kept, Reports};
use folkmoot_users::features::{FeatureRelease, MultiBitFeatures};
use folkmoot_users::links::{Arcs, Links, Spread};
use serde::Deserialize;
use serde_bytes::ByteBuf;

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
