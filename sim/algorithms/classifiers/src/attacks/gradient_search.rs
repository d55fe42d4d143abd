//! Training items from the gradient of a whole network, by a search.

use super::gradient_inversion::gradient;
use super::numbers::median;
use super::{Attack, Target};
use crate::classifier::{Classifier, Facts, Held, Inputs, TrainingView};
use folkmoot_draws::normal;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Adam, Moments, Optimiser};
use folkmoot_parts::component;
use folkmoot_rounds::SeenUpdate;
use rayon::prelude::*;

/// Reconstructs a client's node features, and classes, by a search: for those whose gradient
/// through the whole network, not its last layer alone, is that of the update.
///
/// The attacker reads the updates that the server aggregated last. It knows the model before, the
/// client's training settings, graphs and training nodes, and the mean and standard deviation of
/// each node feature over all clients, as from public data. It does not know the features of a
/// single node. An attacker who also has to guess the graphs finds less. If a client trains on sums
/// that it received, these are searched. The update is read as one step along the gradient on all
/// training items, without dropout. Under secure aggregation, the sum of several clients is read as
/// one of the first client. With more steps, small batches, Adam or noise this is an approximation.
///
/// A search starts at Gaussian noise of that mean and deviation. It takes `steps` steps of Adam on
/// the distance of the two gradients, at a rate that falls linearly to 0. The gradient of the
/// distance by node features is the second derivative of the loss times a direction `v` of the
/// parameters: `∂⟨∂L/∂w, v⟩/∂x`. It is the central difference of `∂L/∂x` at two models along `v`:
/// wide at first, so that the bends of ReLUs in between count, and narrow at the end. One step
/// costs three forward and backward passes. Of several starts, the one with the least final
/// distance counts.
///
/// Metrics over updates: `search_error` is the median of an update's mean relative error of a row
/// that the loss depends on, against the nearest reconstructed row. `@blind` is that of the mean
/// row, `@other_client` that of the rows of the next client. `search_recovered` is the fraction of
/// updates whose error is at most a tenth. `search_classes` is the fraction of items with the
/// correct class, if classes are searched; `@blind` is that of the most frequent class.
/// `search_distance` is the median of the final distance, far from 0 where the search has failed.
/// `search_updates` is the number of updates searched.
///
/// L. Zhu, Z. Liu, S. Han. Deep Leakage from Gradients. NeurIPS 2019 (classes searched together
/// with inputs, squared distance); J. Geiping, H. Bauermeister, H. Dröge, M. Moeller. Inverting
/// Gradients. NeurIPS 2020 (cosine distance, Adam, starts). Unlike the papers: no second derivative
/// on the tape, no image prior, the steps of Adam themselves and not their signs.
#[component(
    name = "GradientSearch",
    about = "gradient inversion by optimisation through the whole network (Zhu et al. 2019, Geiping et al. 2020)"
)]
#[derive(Clone, Copy, Debug)]
pub struct GradientSearch {
    /// Number of updates of the last round to attack, the first ones.
    #[component(default = 8, in = 1..=10_000)]
    pub updates: u32,
    /// Optimisation steps per search.
    #[component(default = 300, in = 1..=100_000)]
    pub steps: u32,
    /// Random starts per search.
    #[component(default = 2, in = 1..=100)]
    pub restarts: u32,
    /// Initial learning rate of Adam, in standard deviations of a feature.
    #[component(default = 0.3, above = 0, at_most = 10, f32, alias = "rate")]
    pub learning_rate: f64,
    /// Distance between the candidate's gradient and that of the update.
    pub distance: Distance,
    /// Attacker's knowledge of the classes.
    pub classes: Classes,
}

/// Distance between two gradients.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// 1 − cosine similarity (Geiping et al.): invariant to scale, so to learning rate and
    /// clipping.
    #[default]
    Cosine,
    /// Squared difference, relative to the squared norm of the update's gradient (Zhu et al.). The
    /// update is divided by learning rate and number of steps.
    Squared,
}

/// Attacker's knowledge of the classes of training items.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// Unknown: class probabilities of each item are optimised together with the node features.
    #[default]
    Searched,
    /// Known to the attacker: an upper bound.
    Known,
}

const SEARCH: Purpose = Purpose(*b"at-searc");
/// Step of the finite differences, relative to 1 + the norm of the model: at the end of a search,
/// and the addition at its start, which includes the bends of ReLUs in between.
const NARROW: f64 = 0.001;
const WIDE: f64 = 0.1;
/// Below this error a reconstruction counts as exact.
const RECOVERED: f64 = 0.1;
/// Logit of a known class.
const KNOWN_LOGIT: f32 = 50.0;

impl Attack for GradientSearch {
    fn n_rounds(&self) -> u32 {
        1
    }

    fn suits(&self, _: &Classifier, facts: &Facts) -> Result<(), StrategyError> {
        match facts.inputs_reveal_edges || facts.inputs == Inputs::Constant {
            false => Ok(()),
            true => {
                let why = "GradientSearch knows the graphs, and here node features are computed from these, or some of them; leave it out, or choose a data set with \
                           features and inputs: Intrinsic";
                Err(StrategyError(why.to_owned()))
            }
        }
    }

    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let (classifier, known) = (target.classifier, &target.last.known);
        let Some(seen) = target.seen.last() else {
            return nothing(sheet);
        };
        let fresh = seen.updates.iter().filter(|update| update.staleness == 0);
        let searched = fresh.filter_map(|update| Some((update, training_view(classifier, known, update)?)));
        let searched: Vec<(&SeenUpdate, TrainingView<'_>)> = searched.take(self.updates as usize).collect();
        let prior = Prior::of(classifier, known);
        let search = |(update, view): &(&SeenUpdate, TrainingView<'_>)| {
            let target_gradient = target_gradient(classifier, view, &update.change, &seen.model);
            let from = |start: u32| {
                let client = Party::Client(update.clients[0]);
                let streams = target.data.streams;
                let mut rng = streams.counted(SEARCH, client, seen.round, u64::from(start));
                self.search(view, &seen.model, &target_gradient, &prior, &mut rng)
            };
            let all: Vec<Found> = (0..self.restarts).into_par_iter().map(from).collect();
            let finite = all.iter().filter(|found| found.distance.is_finite());
            let nearest = finite.min_by(|a, b| a.distance.total_cmp(&b.distance))?;
            Some(Asked::new(nearest, view, &seen.model))
        };
        let asked: Vec<Asked> = searched.par_iter().filter_map(search).collect();
        if asked.is_empty() {
            return nothing(sheet);
        }
        write(&asked, &prior.mean, self.classes, sheet);
        Ok(())
    }
}

fn nothing(sheet: &mut Sheet) -> Result<(), StrategyError> {
    sheet.warn(
        "GradientSearch found no update to search in the last round: none came, or none was of the present model",
    );
    Ok(())
}

/// The training data of the first client of an update; `None` without training items.
fn training_view<'a>(classifier: &'a Classifier, known: &'a Held, update: &SeenUpdate) -> Option<TrainingView<'a>> {
    let view = classifier.training_view(&known.shards()[update.clients.first()?.0 as usize]);
    (view.n_items() > 0).then_some(view)
}

/// Mean and standard deviation of each node feature, over the nodes of all clients.
struct Prior {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Prior {
    fn of(classifier: &Classifier, known: &Held) -> Prior {
        let n_features = classifier.network().n_features();
        let views: Vec<TrainingView<'_>> = known
            .shards()
            .iter()
            .map(|shard| classifier.training_view(shard))
            .collect();
        let rows = || views.iter().flat_map(|view| view.rows().chunks_exact(n_features));
        let n = (rows().count() as f64).max(1.0);
        let mean_of = |of: &dyn Fn(f64, usize) -> f64| {
            let mut mean = vec![0.0; n_features];
            for row in rows() {
                let row = row.iter().enumerate();
                mean.iter_mut()
                    .zip(row)
                    .for_each(|(sum, (i, x))| *sum += of(f64::from(*x), i) / n);
            }
            mean
        };
        let mean = mean_of(&|x, _| x);
        let squares = mean_of(&|x, i| (x - mean[i]) * (x - mean[i]));
        Prior {
            deviation: squares.iter().map(|square| square.sqrt()).collect(),
            mean,
        }
    }

    /// The guess at an offset in standard deviations, followed by the logits of the classes.
    fn guess(&self, offset: &[f32], n_rows: usize) -> Vec<f32> {
        let (rows, classes) = offset.split_at(n_rows);
        let columns = self.mean.iter().zip(&self.deviation).cycle();
        let rows = rows.iter().zip(columns);
        let rows = rows.map(|(offset, (mean, deviation))| (mean + deviation * f64::from(*offset)) as f32);
        rows.chain(classes.iter().copied()).collect()
    }
}

/// Result of a search.
struct Found {
    /// The node features, followed by the logits of the classes.
    guess: Vec<f32>,
    distance: f64,
}

/// The gradient that an update reveals.
fn target_gradient(classifier: &Classifier, view: &TrainingView<'_>, change: &[f64], model: &[f32]) -> Vec<f64> {
    let training = classifier.training();
    let batches = training
        .batch_size
        .map_or(1, |size| (view.n_items() as u32).div_ceil(size));
    let scale = training.learning_rate * f64::from(training.epochs) * f64::from(batches);
    let mut gradient = gradient(classifier, change, model);
    gradient.truncate(classifier.network().layout().n_trainable());
    gradient.iter_mut().for_each(|g| *g /= scale);
    gradient
}

impl GradientSearch {
    /// Searches for a guess with the gradient `target` under `model`.
    fn search(&self, view: &TrainingView<'_>, model: &[f32], target: &[f64], prior: &Prior, rng: &mut SimRng) -> Found {
        let n_rows = view.rows().len();
        let mut offset: Vec<f32> = (0..n_rows).map(|_| normal(rng) as f32).collect();
        for class in view.classes() {
            let logit = |c: usize| match self.classes {
                Classes::Known if c == class as usize => KNOWN_LOGIT,
                _ => 0.0,
            };
            offset.extend((0..view.n_classes()).map(logit));
        }
        let n_searched = match self.classes {
            Classes::Searched => offset.len(),
            Classes::Known => n_rows,
        };
        let columns = || prior.deviation.iter().cycle();
        let mut moments = Moments::new();
        for step in 0..self.steps {
            let guess = prior.guess(&offset, n_rows);
            let left = 1.0 - f64::from(step) / f64::from(self.steps);
            let perturbation = NARROW + WIDE * left;
            let mut slope = slope(self.distance, view, (&guess, model), target, perturbation);
            slope[..n_rows]
                .iter_mut()
                .zip(columns())
                .for_each(|(s, deviation)| *s = (f64::from(*s) * deviation) as f32);
            let adam = Optimiser::Adam(Adam {
                learning_rate: (self.learning_rate * left) as f32,
                ..Adam::default()
            });
            adam.step(&mut moments, &mut offset[..n_searched], &slope[..n_searched]);
        }
        let guess = prior.guess(&offset, n_rows);
        let at = view.gradients(&guess, model).by_parameters;
        Found {
            distance: self.distance.of(&at, target).0,
            guess,
        }
    }
}

/// The gradient of the distance by a guess, by central differences along the model.
pub(super) fn slope(
    distance: Distance,
    view: &TrainingView<'_>,
    (guess, model): (&[f32], &[f32]),
    target: &[f64],
    perturbation: f64,
) -> Vec<f32> {
    let at = view.gradients(guess, model).by_parameters;
    let (_, way) = distance.of(&at, target);
    let length = norm(way.iter().copied());
    if length <= 0.0 {
        return vec![0.0; guess.len()];
    }
    let perturbation = perturbation * (1.0 + norm(model.iter().map(|w| f64::from(*w))));
    let perturbed = |side: f64| {
        let mut model = model.to_vec();
        let moved = model.iter_mut().zip(&way);
        moved.for_each(|(w, v)| *w = (f64::from(*w) + side * perturbation * v / length) as f32);
        view.gradients(guess, &model).by_guess
    };
    let (up, down) = (perturbed(1.0), perturbed(-1.0));
    let by = length / (2.0 * perturbation);
    up.iter()
        .zip(down)
        .map(|(a, b)| ((f64::from(*a) - f64::from(b)) * by) as f32)
        .collect()
}

impl Distance {
    /// The distance of a gradient from the target, and the gradient of the distance by the former.
    pub(super) fn of(self, at: &[f32], target: &[f64]) -> (f64, Vec<f64>) {
        let at = || at.iter().map(|g| f64::from(*g));
        let (long, wanted) = (norm(at()), norm(target.iter().copied()));
        if wanted <= 0.0 || (self == Distance::Cosine && long <= 0.0) {
            return (1.0, vec![0.0; target.len()]);
        }
        match self {
            Distance::Cosine => {
                let cosine = at().zip(target).map(|(g, t)| g * t).sum::<f64>() / (long * wanted);
                let slope = at().zip(target).map(|(g, t)| (cosine * g / long - t / wanted) / long);
                (1.0 - cosine, slope.collect())
            }
            Distance::Squared => {
                let square = wanted * wanted;
                let difference = || at().zip(target).map(|(g, t)| g - t);
                (
                    difference().map(|x| x * x).sum::<f64>() / square,
                    difference().map(|x| 2.0 * x / square).collect(),
                )
            }
        }
    }
}

fn norm(all: impl Iterator<Item = f64>) -> f64 {
    all.map(|x| x * x).sum::<f64>().sqrt()
}

/// The reconstruction of an update, and the truth.
struct Asked {
    /// Rows that the loss depends on, reconstructed and true.
    found: Vec<Vec<f64>>,
    truth: Vec<Vec<f64>>,
    /// The likeliest class of each item, and its own.
    classes: Vec<(u32, u32)>,
    distance: f64,
}

impl Asked {
    fn new(found: &Found, view: &TrainingView<'_>, model: &[f32]) -> Asked {
        let (n_features, n_classes, n_rows) = (view.n_features(), view.n_classes(), view.rows().len());
        let mut truth = view.rows().to_vec();
        truth.extend(
            view.classes()
                .flat_map(|class| (0..n_classes).map(move |c| if c == class as usize { KNOWN_LOGIT } else { 0.0 })),
        );
        let depends = view.gradients(&truth, model).by_guess;
        let is_read: Vec<bool> = depends[..n_rows]
            .chunks_exact(n_features)
            .map(|row| row.iter().any(|x| *x != 0.0))
            .collect();
        let rows = |all: &[f32]| -> Vec<Vec<f64>> {
            let rows = all[..n_rows]
                .chunks_exact(n_features)
                .zip(&is_read)
                .filter(|(_, is_read)| **is_read);
            rows.map(|(row, _)| row.iter().map(|x| f64::from(*x)).collect())
                .collect()
        };
        let likeliest =
            |logits: &[f32]| (1..n_classes).fold(0, |most, c| if logits[c] > logits[most] { c } else { most }) as u32;
        let likeliest = found.guess[n_rows..].chunks_exact(n_classes).map(likeliest);
        Asked {
            found: rows(&found.guess),
            truth: rows(&truth),
            classes: likeliest.zip(view.classes()).collect(),
            distance: found.distance,
        }
    }
}

/// Writes the results of the searches.
fn write(asked: &[Asked], mean: &[f64], classes: Classes, sheet: &mut Sheet) {
    sheet.number(Unit::Count.of("search_updates"), asked.len() as f64);
    sheet.number_if(
        "search_distance",
        median(asked.iter().map(|update| update.distance).collect()),
    );
    let own: Vec<f64> = asked
        .iter()
        .filter_map(|update| error(&update.found, &update.truth))
        .collect();
    let recovered = own.iter().filter(|error| **error <= RECOVERED).count() as f64 / own.len() as f64;
    sheet.number_if("search_recovered", (!own.is_empty()).then_some(recovered));
    sheet.number_if("search_error", median(own));
    let blind = asked.iter().filter_map(|update| error(&[mean.to_vec()], &update.truth));
    if let Some(blind) = median(blind.collect()) {
        sheet.reference("search_error", "blind", blind);
    }
    let next = asked.iter().cycle().skip(1);
    let other = asked
        .iter()
        .zip(next)
        .filter_map(|(update, next)| error(&update.found, &next.truth));
    if let Some(other) = median(other.collect()).filter(|_| asked.len() > 1) {
        sheet.reference("search_error", "other_client", other);
    }
    if classes == Classes::Searched {
        let all = || asked.iter().flat_map(|update| update.classes.iter());
        let n = all().count() as f64;
        let share = |hits: usize| hits as f64 / n;
        sheet.number(
            "search_classes",
            share(all().filter(|(told, class)| told == class).count()),
        );
        let most = all()
            .map(|(_, class)| all().filter(|(_, other)| other == class).count())
            .max();
        sheet.reference("search_classes", "blind", share(most.unwrap_or(0)));
    }
}

/// The mean relative error of rows against the nearest that was found; rows of zeros are no
/// measure, and left out.
fn error(found: &[Vec<f64>], truth: &[Vec<f64>]) -> Option<f64> {
    let of_row = |row: &Vec<f64>| {
        let size = norm(row.iter().copied());
        let distance = |guess: &Vec<f64>| norm(guess.iter().zip(row).map(|(a, b)| a - b));
        let nearest = found.iter().map(distance).reduce(f64::min)?;
        (size > 0.0).then(|| nearest / size)
    };
    let errors: Vec<f64> = truth.iter().filter_map(of_row).collect();
    (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
}
