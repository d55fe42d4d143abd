//! What an app states about single examples: their predictions and their gradients.
//!
//! - **Attacks** that ask a model read `@fm.predict`; gradient inversion reads `@fm.gradient`. They
//!   are those of `folkmoot_classifiers`.
//! - **Example-level privacy** trains by `@fm.gradient` alone, as the classifiers do: examples are
//!   drawn, the gradient of each is clipped, and noise is added to their sum. Clipping and noise
//!   are on this side, so an app cannot leave them out.

use crate::app::{Shard, Working, seed};
use crate::poison::Version;
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::reports::AtClients;
use crate::shadows::Shadows;
use crate::trainer::{App, Kept};
use folkmoot_classifiers::attacks::{AnsweredItem, Answers, Attack, Inverted, Reads};
use folkmoot_classifiers::classifier::{self, Parts, Query};
use folkmoot_draws::{SimRng, Streams, bernoulli};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Chosen, component};
use folkmoot_privacy::Mechanism;
use folkmoot_rounds::{HiddenItems, RoundEnd, Task, Trained};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::ops::Range;

const ASKED: Purpose = Purpose(*b"py-asked");
/// Sums of clipped gradients.
const SUMS: Channel = Channel::new(0, Purpose(*b"py-items"));
const ITEMS: u32 = 0;
/// Examples whose gradients are asked for at once.
const AT_ONCE: usize = 64;

/// DP-SGD along `@fm.gradient`, in place of `@fm.train`, where `protocol.private` is `Items`. It
/// costs what `@fm.train` does.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub struct DpSgd {
    /// Local epochs.
    #[component(default = 1, in = 1..=100_000)]
    pub epochs: u32,
    /// Mean batch size: each step draws each example with this probability over the number of
    /// examples. Without it, every step uses all examples.
    #[component(at_least = 1)]
    pub batch_size: Option<u32>,
    /// Learning rate.
    #[component(default = 0.1, above = 0, f32)]
    pub learning_rate: f64,
}

/// The functions that attacks of a card read and an app lacks, each with the way out.
pub(crate) fn unavailable(
    attacks: &[Chosen<dyn Attack>],
    functions: &Value,
    task: classifier::Task,
) -> Result<(), StrategyError> {
    let lacks = |(at, attack): (usize, &Chosen<dyn Attack>)| {
        let reads = attack.reads();
        let why = match reads {
            Reads::Network => "reads a network of FedAvg and its relatives; leave it out",
            Reads::Updates => return None,
            Reads::Predictions | Reads::Shadows | Reads::Gradients if functions.get("client_data").is_some() => {
                "reads items of shards, and the app has @fm.client_data in their place; leave it out"
            }
            Reads::Predictions | Reads::Shadows | Reads::Gradients if task != classifier::Task::Classes => {
                "attacks models of one class per item, and this data set has labels or numbers to learn; leave it out"
            }
            Reads::Predictions | Reads::Shadows if functions.get("predict").is_none() => {
                "asks a model about items; add @fm.predict to the app"
            }
            Reads::Gradients if functions.get("gradient").is_none() => {
                "reads gradients of single examples; add @fm.gradient to the app"
            }
            Reads::Predictions | Reads::Shadows | Reads::Gradients => return None,
        };
        Some(format!("attacks.{at}: {} {why}", attack.text()))
    };
    let lacking: Vec<String> = attacks.iter().enumerate().filter_map(lacks).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(StrategyError(lacking.join("\n"))),
    }
}

/// Whether the gradient of an example is its own.
///
/// # Errors
///
/// Why it is not, with the way out.
pub(crate) fn hides_items(functions: &Value, is_graph_level: bool) -> Result<(), &'static str> {
    if functions.get("client_data").is_some() {
        return Err(
            "examples are those of shards, and the app has @fm.client_data in their place; use private: Clients(...)",
        );
    }
    match (functions.get("gradient").is_some(), is_graph_level) {
        (false, _) => {
            Err("the app does not state the gradient of each example; add @fm.gradient, or use private: Clients(...)")
        }
        (true, false) => Err(
            "nodes of one graph are in each other's gradients, so that no clip bounds what one adds; use Clients, or a set of graphs",
        ),
        (true, true) => Ok(()),
    }
}

/// Gradients of some of a client's training examples: of each those that learn, and its class.
fn gradients(
    working: &Working,
    parameters: &[f32],
    ([client, shard], round, seed): ([u32; 2], u32, &str),
    places: &[usize],
) -> Result<Vec<(Vec<f32>, i64)>, StrategyError> {
    let mut all = Vec::with_capacity(places.len());
    let n_learning = working.n_learning();
    for chunk in places.chunks(AT_ONCE) {
        let items: Vec<f32> = chunk.iter().map(|place| *place as f32).collect();
        let request = Frame::new(
            "gradient",
            json!({"client": client, "shard": shard, "round": round, "seed": seed}),
        )
        .with(vec![
            Array::floats("params", parameters),
            Array::floats("items", &items),
        ]);
        let failed = |trouble: Trouble| {
            let what = format!("gradients of client {client} in round {round}");
            working.failure(&what, &request, &trouble)
        };
        let (_, mut reply) = working.pool.ask(&request, None).map_err(failed)?;
        let rows = reply.take("gradients").and_then(|rows| rows.as_floats());
        let rows = rows.filter(|rows| rows.len() == chunk.len() * n_learning);
        let classes = reply.take("classes").and_then(|classes| classes.as_doubles());
        let classes = classes.filter(|classes| classes.len() == chunk.len());
        let (rows, classes) = rows
            .zip(classes)
            .ok_or_else(|| failed(Trouble::Pool("the worker's gradients cannot be read".to_owned())))?;
        let each = rows.chunks_exact(n_learning).zip(classes);
        all.extend(each.map(|(row, class)| (row.to_vec(), class as i64)));
    }
    Ok(all)
}

impl App {
    /// Training by gradients that are clipped and noisy; in a dry run, without `rng`, the model as
    /// it came at the same privacy charge.
    pub(crate) fn train_hidden(
        &self,
        task: &Task<'_, '_, App>,
        hidden: HiddenItems,
        rng: Option<SimRng>,
    ) -> Result<Trained<Kept>, StrategyError> {
        let (n, training) = (task.shard.n_train as usize, self.dp_sgd());
        let mean = training.batch_size.map_or(n, |size| n.min(size as usize)).max(1);
        let rate = mean as f64 / n.max(1) as f64;
        let n_steps = u64::from(training.epochs) * n.div_ceil(mean) as u64;
        let noise = hidden.noise(rate);
        let mut releases = task.releases_of_items();
        let Some(mut rng) = rng else {
            if let Some(noise) = noise {
                (0..n_steps).for_each(|_| releases.charge(SUMS, ITEMS, noise.law()));
            }
            return Ok(Trained {
                receipt: releases.receipt(),
                ..Trained::model(task.parameters.to_vec())
            });
        };
        let working = self.working()?;
        let mut model = task.parameters.to_vec();
        for _ in 0..n_steps {
            let drawn: Vec<usize> = (0..n).filter(|_| bernoulli(&mut rng, rate)).collect();
            let of_step = (
                [task.shard.client, task.shard.shard],
                task.round().0,
                &*seed(rng.clone()),
            );
            let mut sum = vec![0.0; working.n_learning()];
            for (row, _) in gradients(working, &model, of_step, &drawn)? {
                add_clipped(&mut sum, &row, hidden.clip);
            }
            let sum = match &noise {
                Some(noise) => releases.release(SUMS, ITEMS, noise, &sum).expect("sums are finite"),
                None => sum,
            };
            for (w, sum) in model.iter_mut().zip(sum) {
                *w = (f64::from(*w) - training.learning_rate * sum / mean as f64) as f32;
            }
        }
        if let Some(at) = model.iter().position(|x| !x.is_finite()) {
            return Err(StrategyError(format!(
                "training of client {} in round {}: number {at} of the model is {}; lower dp_sgd.learning_rate",
                task.shard.client,
                task.round().0,
                model[at]
            )));
        }
        Ok(Trained {
            receipt: releases.receipt(),
            ..Trained::model(model)
        })
    }
}

/// Adds a gradient, made no longer than `clip`.
fn add_clipped(sum: &mut [f64], gradient: &[f32], clip: f64) {
    let squares = gradient.iter().map(|g| f64::from(*g) * f64::from(*g));
    let length = squares.sum::<f64>().sqrt();
    let factor = if length > clip { clip / length } else { 1.0 };
    sum.iter_mut()
        .zip(gradient)
        .for_each(|(sum, g)| *sum += factor * f64::from(*g));
}

/// The layer that gives the logits: the last matrix that learns with as many rows or columns as
/// there are classes, and the last vector of that length.
#[derive(Debug, PartialEq)]
struct LastLayer {
    weights: Range<usize>,
    biases: Range<usize>,
    n_inputs: usize,
    n_classes: usize,
    /// Whether the weights have a row for each class, as PyTorch's have.
    has_row_per_class: bool,
}

impl LastLayer {
    fn find(spec: &Value, n_classes: usize) -> Option<LastLayer> {
        let (mut weights, mut biases, mut begins) = (None, None, 0);
        for array in spec.get("arrays")?.as_array()? {
            if array.get("learns")?.as_bool() != Some(true) {
                break;
            }
            let shape: Vec<usize> = serde_json::from_value(array.get("shape")?.clone()).ok()?;
            let range = begins..begins + shape.iter().product::<usize>();
            begins = range.end;
            let is_torch = array.get("library").and_then(Value::as_str) == Some("torch");
            match shape[..] {
                [rows, columns] if is_torch && rows == n_classes => weights = Some((range, columns, true)),
                [rows, columns] if !is_torch && columns == n_classes => weights = Some((range, rows, false)),
                [n] if n == n_classes => biases = Some(range),
                _ => {}
            }
        }
        let (weights, n_inputs, has_row_per_class) = weights?;
        Some(LastLayer {
            weights,
            biases: biases?,
            n_inputs,
            n_classes,
            has_row_per_class,
        })
    }

    /// Weights of shape `(n_inputs, n_classes)`, then biases, of a whole gradient times `sign`.
    fn of<T: Copy + Into<f64>>(&self, gradient: &[T], sign: f64) -> Vec<f64> {
        let weights = &gradient[self.weights.clone()];
        let at = |input: usize, class: usize| match self.has_row_per_class {
            true => weights[class * self.n_inputs + input],
            false => weights[input * self.n_classes + class],
        };
        let places = (0..self.n_inputs).flat_map(|input| (0..self.n_classes).map(move |class| (input, class)));
        let weights = places.map(|(input, class)| at(input, class));
        let biases = gradient[self.biases.clone()].iter().copied();
        weights.chain(biases).map(|x| sign * x.into()).collect()
    }
}

/// Attacks on a training by an app, when the run is over.
pub(crate) fn attack(
    attacks: &[Chosen<dyn Attack>],
    end: &RoundEnd<'_, App, AtClients>,
    (shards, streams): (&[Shard], Streams),
    shadows: Option<&Shadows>,
    sheet: &mut Sheet,
) -> Result<(), StrategyError> {
    let reads = |what: &[Reads]| attacks.iter().any(|attack| what.contains(&attack.reads()));
    let working = end.trainer.working()?;
    let (mut divided, mut items, mut last, mut first) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let logits = |asked: Vec<Vec<Query>>| asked.into_iter().flatten().map(|query| query.logits).collect();
    if reads(&[Reads::Predictions, Reads::Shadows]) {
        divided = working.divided()?;
        let asked = predicted(working, end.parameters, &divided, (Version::Own, streams))?;
        let of_client = |(client, asked): (usize, &Vec<Query>)| {
            let item = |query: &Query| AnsweredItem {
                client: client as u32,
                item: query.item,
                class: query.class,
                trains: divided[client][0].binary_search(&query.item).is_ok(),
            };
            asked.iter().map(item).collect::<Vec<_>>()
        };
        items = asked.iter().enumerate().flat_map(of_client).collect();
        last = logits(asked);
        first = logits(predicted(
            working,
            &end.first_model(),
            &divided,
            (Version::Own, streams),
        )?);
    }
    let (mut updates, mut layer) = (Vec::new(), None);
    if reads(&[Reads::Gradients]) {
        let found = LastLayer::find(working.spec(), working.n_outputs()).ok_or_else(|| {
            StrategyError(format!(
                "GradientInversion reads the layer that gives the logits: a matrix with {n} columns (PyTorch: rows) and a vector of \
                 {n}, for {n} classes; the model has none that learn",
                n = working.n_outputs()
            ))
        })?;
        updates = inverted(working, end, shards, (streams, &found))?;
        layer = Some(found);
    }
    let world = end.run.setup.world;
    let answers = Answers {
        items: &items,
        divided: &divided,
        streams,
        seen: end.seen(),
        retrain: &|divided, seed| match shadows {
            Some(shadows) => shadows.train(world, divided, seed).map(logits),
            None => Err(StrategyError("the run has no shadow models".to_owned())),
        },
        last: &last,
        first: &first,
        n_classes: working.n_outputs(),
        n_inputs: layer.map_or(0, |layer| layer.n_inputs),
        updates: &updates,
    };
    for attack in attacks {
        attack.attack_answers(&answers, sheet)?;
    }
    Ok(())
}

/// The answers of a model to the labelled items of each client.
///
/// # Errors
///
/// When a worker fails.
pub(crate) fn predicted(
    working: &Working,
    parameters: &[f32],
    divided: &[Parts],
    (version, streams): (Version, Streams),
) -> Result<Vec<Vec<Query>>, StrategyError> {
    let (task, width) = (working.task(), working.n_outputs().max(1));
    let of_client = |(client, parts): (usize, &Parts)| -> Result<Vec<Query>, StrategyError> {
        let party = Party::Client(ClientId(client as u32));
        let seed = seed(streams.party(ASKED, party, Round(0)));
        let shard = version.shard(client as u32, divided.len() as u32);
        let request = Frame::new(
            "predict",
            json!({"client": client, "shard": shard, "round": 0, "seed": seed}),
        )
        .with(vec![Array::floats("params", parameters)]);
        let failed = |trouble: Trouble| {
            let what = format!("predictions for client {client}");
            working.failure(&what, &request, &trouble)
        };
        let (_, mut reply) = working.pool.ask(&request, None).map_err(failed)?;
        let mut doubles = |name| reply.take(name).and_then(|array| array.as_doubles());
        let is_asked = |item: &&u32| parts.iter().any(|part| part.binary_search(item).is_ok());
        let items: Vec<&u32> = working.partition().shard(client).iter().filter(is_asked).collect();
        let of_classes = task == classifier::Task::Classes;
        let n_truth = items.len() * if of_classes { 1 } else { width };
        let read = doubles("logits").zip(doubles("truth")).filter(|(logits, truth)| {
            let are_known = !of_classes || truth.iter().all(|class| (0.0..width as f64).contains(class));
            logits.len() == items.len() * width && truth.len() == n_truth && are_known
        });
        let (logits, truth) =
            read.ok_or_else(|| failed(Trouble::Pool("the worker's predictions cannot be read".to_owned())))?;
        let query = |(at, item): (usize, &u32)| Query {
            item: *item,
            class: if of_classes { truth[at] as u32 } else { 0 },
            logits: logits[at * width..][..width].to_vec(),
            truth: match of_classes {
                true => Vec::new(),
                false => truth[at * width..][..width].to_vec(),
            },
        };
        Ok(items.into_iter().enumerate().map(query).collect())
    };
    let each: Vec<Result<_, StrategyError>> = divided.par_iter().enumerate().map(of_client).collect();
    each.into_iter().collect()
}

/// The updates of the last round that were made of the present model, with the gradients of the
/// examples behind them.
fn inverted(
    working: &Working,
    end: &RoundEnd<'_, App, AtClients>,
    shards: &[Shard],
    (streams, layer): (Streams, &LastLayer),
) -> Result<Vec<Inverted>, StrategyError> {
    let Some(seen) = end.seen().last() else {
        return Ok(Vec::new());
    };
    let items_of = |client: &ClientId| {
        let shard = &shards[client.0 as usize];
        let places: Vec<usize> = (0..shard.n_train as usize).collect();
        let seed = seed(streams.party(ASKED, Party::Client(*client), seen.round));
        gradients(
            working,
            &seen.model,
            ([client.0, client.0], seen.round.0, &seed),
            &places,
        )
    };
    let fresh = seen.updates.iter().filter(|update| update.staleness == 0);
    let of_update = |update: &folkmoot_rounds::SeenUpdate| -> Result<Inverted, StrategyError> {
        let mut items = Vec::new();
        for client in &update.clients {
            let labelled = items_of(client)?.into_iter().filter(|(_, class)| *class >= 0);
            items.extend(labelled.map(|(row, class)| (layer.of(&row, 1.0), class as u32)));
        }
        Ok(Inverted {
            clients: update.clients.clone(),
            gradient: layer.of(&update.change, -1.0),
            items,
        })
    };
    fresh.map(of_update).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_layer_is_found_in_both_orientations() {
        let array = |shape: Value, library: &str| json!({"shape": shape, "learns": true, "library": library});
        let of = |library: &str, last: Value| {
            json!({"arrays": [
                array(json!([4, 5]), library), array(json!([5]), library),
                array(last, library), array(json!([3]), library),
                {"shape": [3], "learns": false, "library": library},
            ]})
        };
        let numpy = LastLayer::find(&of("numpy", json!([5, 3])), 3).unwrap();
        let torch = LastLayer::find(&of("torch", json!([3, 5])), 3).unwrap();
        assert_eq!((&numpy.weights, &numpy.biases), (&(25..40), &(40..43)));
        assert_eq!((numpy.n_inputs, torch.n_inputs), (5, 5));
        assert!(LastLayer::find(&of("torch", json!([5, 3])), 3).is_none());
        let gradient: Vec<f64> = (0..43).map(f64::from).collect();
        assert_eq!(numpy.of(&gradient, 1.0), gradient[25..43]);
        assert_eq!(torch.of(&gradient, -1.0)[..3], [-25.0, -30.0, -35.0]);
    }

    #[test]
    fn a_gradient_is_no_longer_than_the_clip() {
        let mut sum = vec![0.0; 2];
        add_clipped(&mut sum, &[3.0, 4.0], 1.0);
        assert!((sum[0] - 0.6).abs() < 1e-12 && (sum[1] - 0.8).abs() < 1e-12);
        add_clipped(&mut sum, &[0.25, 0.0], 1.0);
        assert!((sum[0] - 0.85).abs() < 1e-12);
    }
}
