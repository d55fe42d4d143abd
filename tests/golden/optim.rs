//! Where optimisers go under given gradients, and the mean of models.

use folkmoot_checks::golden::{Case, Got, Mismatch};
use folkmoot_learning::{Adam, Average, Decay, Moments, Optimiser, Sgd};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdamParams {
    lr: f32,
    beta1: f32,
    beta2: f32,
    eps: f32,
    weight_decay: f32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SgdParams {
    lr: f32,
    momentum: f32,
    weight_decay: f32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    start: Vec<f32>,
    gradients: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    clients: Vec<Vec<f32>>,
    sample_weights: Vec<f64>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let optimiser = match case.op.as_str() {
        "adam" => {
            let params: AdamParams = case.params()?;
            Optimiser::Adam(Adam {
                learning_rate: params.lr,
                beta1: params.beta1,
                beta2: params.beta2,
                epsilon: params.eps,
                decay: Decay::L2(params.weight_decay),
            })
        }
        "sgd" => {
            let params: SgdParams = case.params()?;
            Optimiser::Sgd(Sgd {
                learning_rate: params.lr,
                momentum: params.momentum,
                weight_decay: params.weight_decay,
            })
        }
        "fedavg" => {
            let Clients {
                clients,
                sample_weights,
            } = case.only_inputs()?;
            if clients.len() != sample_weights.len() {
                return Err("sample_weights: must be one a client".into());
            }
            let mut average = Average::new();
            clients
                .iter()
                .zip(sample_weights)
                .for_each(|(client, weight)| average.add(client, weight));
            let mean = average.mean().ok_or("there is no weight")?;
            return Ok(case.compare_single(Got::Map(vec![("average", mean.into())])));
        }
        _ => return Err(case.unknown_op()),
    };
    let Path {
        start: mut parameters,
        gradients,
    } = case.inputs()?;
    let mut moments = Moments::new();
    let step = |gradient: &Vec<f32>| {
        optimiser.step(&mut moments, &mut parameters, gradient);
        Got::from(parameters.clone())
    };
    let trajectory = gradients.iter().map(step).collect();
    Ok(case.compare_single(Got::Map(vec![("trajectory", Got::List(trajectory))])))
}
