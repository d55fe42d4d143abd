//! Training items from the gradient of a whole network, by a search.

use super::gradient_inversion::gradient;
use super::numbers::median;
use super::{Attack, Target};
use crate::classifier::{Classifier, Facts, Held, Inputs, Scene};
use folkmoot_draws::normal;
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Adam, Moments, Optimiser};
use folkmoot_parts::component;
use folkmoot_rounds::SeenUpdate;
use rayon::prelude::*;

/// What a client's nodes bring, searched: whoever reads what the server took in last looks for
/// features, and classes, whose gradient is the one that the update tells of, through the whole
/// network and not its last layer alone.
///
/// The attacker knows the model before, how a client trains, the client's graphs and which of its
/// nodes train, and of each number that a node brings the mean and the deviation over all clients,
/// as from public data; not what a single node brings. So what is found is more than one finds who
/// has to guess the graphs too. Where a client answers from sums that others told it, these are
/// searched. The update is taken for one step along the gradient on all items that train, without
/// dropout; that of several clients, under secure aggregation, for one of the first of them. With
/// more steps, small batches, Adam or noise it is a guess.
///
/// A search starts at Gaussian noise of that mean and deviation, and takes `steps` steps of Adam
/// down the distance of the two gradients, at a rate that falls to 0 in a line. The slope of the
/// distance, by what nodes bring, is the second derivative of the loss times a direction `v` of the
/// model's numbers: `∂⟨∂L/∂w, v⟩/∂x`. It is taken as the difference of `∂L/∂x` at two models, to
/// either side along `v`: widely at first, so that bends of relus in between count, and nearly in
/// the end. So a step costs three passes forward and back. Of several starts the one with the least
/// distance at the end counts.
///
/// Written down, over updates: `search_error`, the median of an update's mean relative error of a
/// row that the loss depends on, against the nearest that was found; beside it `@blind`, that of
/// the mean row, and `@other_client`, of what was found against the rows of the next client.
/// `search_recovered` is the share of updates whose error is at most a tenth, `search_classes` the
/// share of items whose class is told, where classes are searched, beside `@blind`, the class that
/// most have; `search_distance` the median of the distance left, far from 0 where the search has
/// failed, and `search_updates` how many were searched.
///
/// L. Zhu, Z. Liu, S. Han. Deep Leakage from Gradients. NeurIPS 2019 (classes searched beside
/// inputs, squared distance); J. Geiping, H. Bauermeister, H. Dröge, M. Moeller. Inverting
/// Gradients. NeurIPS 2020 (cosine distance, Adam, starts). Not as in the papers: no second
/// derivative on the tape, no prior of images, the steps of Adam as they are and not their signs.
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
/// How far to either side slopes are taken, over the length of the model and 1: at the end, and how
/// much more at the start, where a relu that bends in between is better seen than overlooked.
const NARROW: f64 = 0.001;
const WIDE: f64 = 0.1;
/// So near a guess is the row itself.
const RECOVERED: f64 = 0.1;
/// The logit of a class that is known.
const SURE: f32 = 50.0;

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
        let searched = fresh.filter_map(|update| Some((update, scene(classifier, known, update)?)));
        let searched: Vec<(&SeenUpdate, Scene<'_>)> = searched.take(self.updates as usize).collect();
        let prior = Prior::of(classifier, known);
        let search = |(update, scene): &(&SeenUpdate, Scene<'_>)| {
            let looked_for = looked_for(classifier, scene, &update.change, &seen.model);
            let from = |start: u32| {
                let client = Party::Client(update.clients[0]);
                let streams = target.data.streams;
                let mut rng = streams.counted(SEARCH, client, seen.round, u64::from(start));
                self.search(scene, &seen.model, &looked_for, &prior, &mut rng)
            };
            let all: Vec<Found> = (0..self.restarts).into_par_iter().map(from).collect();
            let finite = all.iter().filter(|found| found.distance.is_finite());
            let nearest = finite.min_by(|a, b| a.distance.total_cmp(&b.distance))?;
            Some(Asked::new(nearest, scene, &seen.model))
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

/// What the first client of an update trains on, if that is anything.
fn scene<'a>(classifier: &'a Classifier, known: &'a Held, update: &SeenUpdate) -> Option<Scene<'a>> {
    let scene = classifier.scene(&known.shards()[update.clients.first()?.0 as usize]);
    (scene.n_items() > 0).then_some(scene)
}

/// Mean and deviation of each number that a node brings, over the nodes of all clients.
struct Prior {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Prior {
    fn of(classifier: &Classifier, known: &Held) -> Prior {
        let n_features = classifier.network().n_features();
        let scenes: Vec<Scene<'_>> = known.shards().iter().map(|shard| classifier.scene(shard)).collect();
        let rows = || scenes.iter().flat_map(|scene| scene.rows().chunks_exact(n_features));
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

    /// A guess that is so many deviations off, with what stands behind the rows.
    fn guess(&self, off: &[f32], n_rows: usize) -> Vec<f32> {
        let (rows, classes) = off.split_at(n_rows);
        let columns = self.mean.iter().zip(&self.deviation).cycle();
        let rows = rows.iter().zip(columns);
        let rows = rows.map(|(off, (mean, deviation))| (mean + deviation * f64::from(*off)) as f32);
        rows.chain(classes.iter().copied()).collect()
    }
}

/// What a search has come to.
struct Found {
    /// What nodes bring, and behind it the logits of the classes.
    guess: Vec<f32>,
    distance: f64,
}

/// The gradient that an update tells of.
fn looked_for(classifier: &Classifier, scene: &Scene<'_>, change: &[f64], model: &[f32]) -> Vec<f64> {
    let training = classifier.training();
    let batches = training
        .batch_size
        .map_or(1, |size| (scene.n_items() as u32).div_ceil(size));
    let scale = training.learning_rate * f64::from(training.epochs) * f64::from(batches);
    let mut gradient = gradient(classifier, change, model);
    gradient.truncate(classifier.network().layout().n_trainable());
    gradient.iter_mut().for_each(|g| *g /= scale);
    gradient
}

impl GradientSearch {
    /// Looks for what has this gradient by `model`.
    fn search(&self, scene: &Scene<'_>, model: &[f32], looked_for: &[f64], prior: &Prior, rng: &mut SimRng) -> Found {
        let n_rows = scene.rows().len();
        let mut off: Vec<f32> = (0..n_rows).map(|_| normal(rng) as f32).collect();
        for class in scene.classes() {
            let logit = |c: usize| match self.classes {
                Classes::Known if c == class as usize => SURE,
                _ => 0.0,
            };
            off.extend((0..scene.n_classes()).map(logit));
        }
        let n_searched = match self.classes {
            Classes::Searched => off.len(),
            Classes::Known => n_rows,
        };
        let columns = || prior.deviation.iter().cycle();
        let mut moments = Moments::new();
        for step in 0..self.steps {
            let guess = prior.guess(&off, n_rows);
            let left = 1.0 - f64::from(step) / f64::from(self.steps);
            let aside = NARROW + WIDE * left;
            let mut slope = slope(self.distance, scene, (&guess, model), looked_for, aside);
            slope[..n_rows]
                .iter_mut()
                .zip(columns())
                .for_each(|(s, deviation)| *s = (f64::from(*s) * deviation) as f32);
            let adam = Optimiser::Adam(Adam {
                learning_rate: (self.learning_rate * left) as f32,
                ..Adam::default()
            });
            adam.step(&mut moments, &mut off[..n_searched], &slope[..n_searched]);
        }
        let guess = prior.guess(&off, n_rows);
        let at = scene.gradients(&guess, model).model;
        Found {
            distance: self.distance.of(&at, looked_for).0,
            guess,
        }
    }
}

/// The slope of the distance by a guess.
pub(super) fn slope(
    distance: Distance,
    scene: &Scene<'_>,
    (guess, model): (&[f32], &[f32]),
    looked_for: &[f64],
    aside: f64,
) -> Vec<f32> {
    let at = scene.gradients(guess, model).model;
    let (_, way) = distance.of(&at, looked_for);
    let length = norm(way.iter().copied());
    if length <= 0.0 {
        return vec![0.0; guess.len()];
    }
    let aside = aside * (1.0 + norm(model.iter().map(|w| f64::from(*w))));
    let beside = |side: f64| {
        let mut model = model.to_vec();
        let moved = model.iter_mut().zip(&way);
        moved.for_each(|(w, v)| *w = (f64::from(*w) + side * aside * v / length) as f32);
        scene.gradients(guess, &model).guess
    };
    let (up, down) = (beside(1.0), beside(-1.0));
    let by = length / (2.0 * aside);
    up.iter()
        .zip(down)
        .map(|(a, b)| ((f64::from(*a) - f64::from(b)) * by) as f32)
        .collect()
}

impl Distance {
    /// The distance of a gradient from the one that is looked for, and its slope by the former.
    pub(super) fn of(self, at: &[f32], looked_for: &[f64]) -> (f64, Vec<f64>) {
        let at = || at.iter().map(|g| f64::from(*g));
        let (long, wanted) = (norm(at()), norm(looked_for.iter().copied()));
        if wanted <= 0.0 || (self == Distance::Cosine && long <= 0.0) {
            return (1.0, vec![0.0; looked_for.len()]);
        }
        match self {
            Distance::Cosine => {
                let cosine = at().zip(looked_for).map(|(g, t)| g * t).sum::<f64>() / (long * wanted);
                let slope = at()
                    .zip(looked_for)
                    .map(|(g, t)| (cosine * g / long - t / wanted) / long);
                (1.0 - cosine, slope.collect())
            }
            Distance::Squared => {
                let square = wanted * wanted;
                let off = || at().zip(looked_for).map(|(g, t)| g - t);
                (
                    off().map(|x| x * x).sum::<f64>() / square,
                    off().map(|x| 2.0 * x / square).collect(),
                )
            }
        }
    }
}

fn norm(all: impl Iterator<Item = f64>) -> f64 {
    all.map(|x| x * x).sum::<f64>().sqrt()
}

/// What was found of an update, and what is so.
struct Asked {
    /// Rows that the loss depends on, each as it was found and as it is.
    found: Vec<Vec<f64>>,
    truth: Vec<Vec<f64>>,
    /// The likeliest class of each item, and its own.
    classes: Vec<(u32, u32)>,
    distance: f64,
}

impl Asked {
    fn new(found: &Found, scene: &Scene<'_>, model: &[f32]) -> Asked {
        let (n_features, n_classes, n_rows) = (scene.n_features(), scene.n_classes(), scene.rows().len());
        let mut truth = scene.rows().to_vec();
        truth.extend(
            scene
                .classes()
                .flat_map(|class| (0..n_classes).map(move |c| if c == class as usize { SURE } else { 0.0 })),
        );
        let depends = scene.gradients(&truth, model).guess;
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
            classes: likeliest.zip(scene.classes()).collect(),
            distance: found.distance,
        }
    }
}

/// What the searches come to.
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
