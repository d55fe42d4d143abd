//! Training items from the gradient of the last layer.

use super::numbers::median;
use super::{Answers, Attack, Reads, Target};
use crate::classifier::{Classifier, Facts, LastLayer, LocalOptimiser};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;

/// What a client's update tells of its training items: whoever reads what the server took in last
/// takes it for one step along the gradient of the layer that gives the logits, and works out what
/// that layer was fed with, and of which class.
///
/// That layer is the last of the head, or, without a head, a last graph layer that is a graph
/// convolution: of a network with nothing else, what it is fed with is the sum over a node and its
/// neighbours of what they bring. With `r` the probabilities of an item less 1 at its class, and
/// `h` the row that the layer reads, the gradient of its weights is the mean over items of `h rᵀ`,
/// and of its biases that of `r`. So a client that makes one step on one item has sent `h` and its
/// class: `h` is the gradient of the weights times that of the biases over the square of the
/// latter, and the class the one whose bias has a negative gradient. The rate drops out, and any
/// factor by which an update was clipped; the weight decay is taken off, as if each pass were a
/// step. More steps on one item change nothing where the network is that layer alone. With more
/// items, more steps of a deeper network, Adam or noise it is a guess, and the numbers say what it
/// is worth.
///
/// For each update, and under secure aggregation for their mean alone: `inversion_error`, the
/// median relative error against the nearest row of an item that trains there, and
/// `inversion_recovered`, the share of updates whose error is at most 1 %; beside them,
/// `@other_client`, the same guesses held against the items of the next client that was not part of
/// it. `inversion_matched` is the share of guesses whose nearest row, of all that train somewhere
/// in the round, is one of the update's own and of no other, beside `@chance`; `inversion_classes`
/// the share that name the class which most of the items have, beside `@blind`, the best constant
/// guess. `inversion_updates` counts what was asked about. Updates of older models are left out.
///
/// L. Zhu, Z. Liu, S. Han. Deep Leakage from Gradients. NeurIPS 2019; B. Zhao, K. R. Mopuri, H.
/// Bilen. iDLG, arXiv:2001.02610 (classes); J. Geiping et al. Inverting Gradients. NeurIPS 2020,
/// proposition 3.1 (a linear layer with biases, solved and not searched).
#[component(
    name = "GradientInversion",
    about = "gradient inversion of the last layer: recovers training items from an update (Zhu et al. 2019, Geiping et al. 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct GradientInversion {}

/// So near a guess is the row itself.
const RECOVERED: f64 = 0.01;

impl Attack for GradientInversion {
    fn n_rounds(&self) -> u32 {
        1
    }

    fn reads(&self) -> Reads {
        Reads::Gradients
    }

    fn attack_answers(&self, answers: &Answers<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let layer = LastLayer {
            weights: 0..answers.n_inputs * answers.n_classes,
            biases: answers.n_inputs * answers.n_classes..(answers.n_inputs + 1) * answers.n_classes,
            n_out: answers.n_classes,
        };
        let row = |(gradient, class): &(Vec<f64>, u32)| Some((invert(gradient, &layer)?.row, *class));
        let asked = answers.updates.iter().filter_map(|update| {
            Some(Asked {
                guess: invert(&update.gradient, &layer)?,
                clients: &update.clients,
                rows: update.items.iter().filter_map(row).collect(),
            })
        });
        let asked: Vec<Asked<'_>> = asked.filter(|asked| !asked.rows.is_empty()).collect();
        match asked.is_empty() {
            true => nothing(sheet),
            false => write(&asked, layer.n_out, sheet),
        }
        Ok(())
    }

    fn suits(&self, classifier: &Classifier, _: &Facts) -> Result<(), StrategyError> {
        match classifier.network().last_layer() {
            Some(_) => Ok(()),
            None => {
                let why = "GradientInversion reads the linear layer that gives the logits, and this network ends in another; set \
                           model.head_layers: 1, or for nodes model.encoder: Gcn";
                Err(StrategyError(why.to_owned()))
            }
        }
    }

    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let classifier = target.classifier;
        let (Some(layer), Some(seen)) = (classifier.network().last_layer(), target.seen.last()) else {
            nothing(sheet);
            return Ok(());
        };
        let fresh = seen.updates.iter().filter(|update| update.staleness == 0);
        let asked: Vec<Asked<'_>> = fresh
            .filter_map(|update| {
                let gradient = gradient(classifier, &update.change, &seen.model);
                let rows = update.clients.iter().flat_map(|client| {
                    let shard = &target.last.known.shards()[client.0 as usize];
                    classifier.last_rows(shard, &seen.model)
                });
                Some(Asked {
                    guess: invert(&gradient, &layer)?,
                    clients: &update.clients,
                    rows: rows.collect(),
                })
            })
            .collect();
        if asked.is_empty() {
            nothing(sheet);
            return Ok(());
        }
        write(&asked, layer.n_out, sheet);
        Ok(())
    }
}

fn nothing(sheet: &mut Sheet) {
    sheet.warn(
        "GradientInversion found no update to read in the last round: none came, or none was of the present model",
    );
}

/// A row that an item is fed to the last layer as, and its class.
pub(super) type Row = (Vec<f64>, u32);

/// An update, what was guessed of it, and what is so.
pub(super) struct Asked<'a> {
    pub(super) guess: Guess,
    pub(super) clients: &'a [ClientId],
    pub(super) rows: Vec<Row>,
}

/// What the last layer was fed with, and the class.
pub(super) struct Guess {
    pub(super) row: Vec<f64>,
    pub(super) class: u32,
}

/// The gradient that a change of `model` follows, times a positive number.
pub(super) fn gradient(classifier: &Classifier, change: &[f64], model: &[f32]) -> Vec<f64> {
    let training = classifier.training();
    let shrinks = training.optimiser != LocalOptimiser::Adam;
    let decay = match shrinks {
        true => training.learning_rate * training.weight_decay * f64::from(training.epochs),
        false => 0.0,
    };
    let decayed = change.iter().zip(model);
    decayed.map(|(change, w)| -change - decay * f64::from(*w)).collect()
}

/// What a layer was fed with, from a gradient of the whole model; nothing where that of the biases
/// is 0.
pub(super) fn invert(gradient: &[f64], layer: &LastLayer) -> Option<Guess> {
    let (weights, biases) = (
        gradient.get(layer.weights.clone())?,
        gradient.get(layer.biases.clone())?,
    );
    let square: f64 = biases.iter().map(|b| b * b).sum();
    if square <= 0.0 {
        return None;
    }
    let row = |weights: &[f64]| weights.iter().zip(biases).map(|(w, b)| w * b).sum::<f64>() / square;
    let steepest = (0..biases.len()).reduce(|a, b| if biases[b] < biases[a] { b } else { a });
    Some(Guess {
        row: weights.chunks_exact(layer.n_out).map(row).collect(),
        class: steepest? as u32,
    })
}

/// What the guesses come to.
pub(super) fn write(asked: &[Asked<'_>], n_classes: usize, sheet: &mut Sheet) {
    sheet.number(Unit::Count.of("inversion_updates"), asked.len() as f64);
    let own: Vec<f64> = asked
        .iter()
        .filter_map(|update| nearest(&update.guess.row, &update.rows))
        .collect();
    write_errors(own, None, sheet);
    let other = |i: usize| {
        let is_other = |j: &usize| !asked[*j].clients.iter().any(|client| asked[i].clients.contains(client));
        let other = (1..asked.len()).map(|n| (i + n) % asked.len()).find(is_other)?;
        nearest(&asked[i].guess.row, &asked[other].rows)
    };
    write_errors(
        (0..asked.len()).filter_map(other).collect(),
        Some("other_client"),
        sheet,
    );

    let n_rows: usize = asked.iter().map(|update| update.rows.len()).sum();
    let matched = own_rows_are_nearest(asked);
    sheet.number("inversion_matched", share(&matched));
    let chance = |update: &Asked<'_>| update.rows.len() as f64 / n_rows as f64;
    let chances: f64 = asked.iter().map(chance).sum();
    sheet.reference("inversion_matched", "chance", chances / asked.len() as f64);

    let commonest = |update: &Asked<'_>| commonest(update.rows.iter().map(|(_, class)| *class), n_classes);
    let classes: Vec<u32> = asked.iter().map(commonest).collect();
    let is_hit = asked
        .iter()
        .zip(&classes)
        .map(|(update, class)| update.guess.class == *class);
    sheet.number("inversion_classes", share(&is_hit.collect::<Vec<bool>>()));
    let constant = self::commonest(classes.iter().copied(), n_classes);
    let is_hit: Vec<bool> = classes.iter().map(|class| *class == constant).collect();
    sheet.reference("inversion_classes", "blind", share(&is_hit));
}

fn write_errors(errors: Vec<f64>, label: Option<&str>, sheet: &mut Sheet) {
    let recovered: Vec<bool> = errors.iter().map(|error| *error <= RECOVERED).collect();
    let Some(median) = median(errors) else {
        return;
    };
    for (name, value) in [("inversion_error", median), ("inversion_recovered", share(&recovered))] {
        match label {
            None => sheet.number(name, value),
            Some(label) => sheet.reference(name, label, value),
        }
    }
}

/// For each update, whether the row nearest to its guess, among those of all, is of one of its own
/// items.
fn own_rows_are_nearest(asked: &[Asked<'_>]) -> Vec<bool> {
    let distance = |guess: &Guess, update: &Asked<'_>| {
        let all = update.rows.iter().map(|(row, _)| squared_distance(&guess.row, row));
        all.fold(f64::INFINITY, f64::min)
    };
    let is_own = |i: usize| {
        let own = distance(&asked[i].guess, &asked[i]);
        let mut others = (0..asked.len()).filter(|j| *j != i);
        // What is as near to another's is not told from it.
        others.all(|j| own < distance(&asked[i].guess, &asked[j]))
    };
    (0..asked.len()).map(is_own).collect()
}

/// The relative error of a guess against the nearest of some rows; rows of zeros are no measure,
/// and left out.
fn nearest(guess: &[f64], rows: &[Row]) -> Option<f64> {
    let error = |(row, _): &Row| {
        let size: f64 = row.iter().map(|x| x * x).sum();
        (size > 0.0).then(|| (squared_distance(guess, row) / size).sqrt())
    };
    rows.iter().filter_map(error).reduce(f64::min)
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The class that most have, and of several the first.
fn commonest(classes: impl Iterator<Item = u32>, n_classes: usize) -> u32 {
    let mut counts = vec![0_u32; n_classes];
    classes.for_each(|class| counts[class as usize] += 1);
    let most = (0..n_classes).reduce(|a, b| if counts[b] > counts[a] { b } else { a });
    most.unwrap_or(0) as u32
}

fn share(all: &[bool]) -> f64 {
    all.iter().filter(|is| **is).count() as f64 / all.len() as f64
}
