//! Messages that an eavesdropper has read, per graph, and the parts that an attack uses.

use crate::data::Data;
use crate::matcher::{Matcher, Matrix};
use crate::options::{Attack, Intercept, Partner, ShadowOf};
use crate::pairs::{Deployed, OVERHEARD, Observed};
use folkmoot_draws::{Purpose, SimRng, Streams, index, shuffle};
use folkmoot_graphs::Pair;
use folkmoot_scores::inference::Table;

const SHADOW: Purpose = Purpose(*b"pp-shado");
const PARTNER: Purpose = Purpose(*b"pp-partn");

/// The observed matches: of graphs with a known property, and of those whose property is inferred.
pub(super) struct Overheard {
    /// Pairs whose first graph's property is known, in the order in which smaller shadow sets take
    /// them.
    pub(super) known: Vec<Pair>,
    /// Pairs whose first graph's property is inferred: validation pairs, then test pairs.
    pub(super) targets: Vec<Pair>,
    /// Number of `targets` that validate.
    pub(super) n_validation: usize,
    /// Choices of [`Intercept::Random`], for `known` and `targets`.
    pub(super) random_choices: [Vec<bool>; 2],
}

impl Overheard {
    /// One of two pairs of the first `shadow` of the training graphs and of every graph that
    /// validates or tests.
    pub(super) fn draw(attack: &Attack, shadow: f64, data: &Data, streams: Streams) -> Overheard {
        let mut rng = streams.global(SHADOW);
        let mut pairs = data.sampler.epoch(&mut rng);
        if attack.shadow_of == ShadowOf::Classes {
            pairs = by_class(&pairs, &data.classes, &mut rng);
        }
        let known = one_of_two(&pairs, share(shadow, data.train.len()), &mut rng);
        let all = [data.validation.clone(), data.test.clone()].concat();
        let targets = one_of_two(&all, usize::MAX, &mut rng);
        let random_choices =
            [known.len(), targets.len()].map(|n| -> Vec<bool> { (0..n).map(|_| index(&mut rng, 2) == 0).collect() });
        Overheard {
            known,
            targets,
            // Of two pairs per graph, one is taken.
            n_validation: data.validation.len() / 2,
            random_choices,
        }
    }

    /// Matches of the same graphs with another partner.
    pub(super) fn with(&self, partner: Partner, data: &Data, streams: Streams) -> Overheard {
        let train = &data.train;
        let one = train[index(&mut streams.global(PARTNER), train.len())];
        let met = |pair: &Pair| {
            let second = match partner {
                Partner::Itself => pair.first,
                Partner::One => one,
            };
            Pair {
                second,
                matches: data.classes[pair.first as usize] == data.classes[second as usize],
                ..*pair
            }
        };
        let [known, targets] = [&self.known, &self.targets].map(|pairs| pairs.iter().map(met).collect());
        Overheard {
            known,
            targets,
            n_validation: self.n_validation,
            random_choices: self.random_choices.clone(),
        }
    }

    /// What was read of both, on different days.
    pub(super) fn read(&self, data: &Data, deployed: &Deployed<'_>) -> [Vec<Seen>; 2] {
        let read = |_: &Pair, seen: Observed<'_>| Seen::new(deployed.matcher, &seen);
        let overheard = Deployed {
            purpose: OVERHEARD,
            ..*deployed
        };
        [(&overheard, &self.known), (deployed, &self.targets)]
            .map(|(deployed, pairs)| deployed.observe(&data.inputs, pairs, read))
    }
}

/// How many of `n` a share of them is; one at least.
pub(super) fn share(share: f64, n: usize) -> usize {
    ((share * n as f64).ceil() as usize).max(1)
}

/// The same pairs, class after class in a random order.
fn by_class(pairs: &[Pair], classes: &[u32], rng: &mut SimRng) -> Vec<Pair> {
    let class = |pair: &Pair| classes[pair.first as usize] as usize;
    let n_classes = pairs.iter().map(class).max().map_or(0, |most| most + 1);
    let mut places: Vec<usize> = (0..n_classes).collect();
    shuffle(rng, &mut places);
    let mut sorted = pairs.to_vec();
    sorted.sort_by_key(|pair| places[class(pair)]);
    sorted
}

/// Of each graph's two pairs one, by a fair coin, for the first `n` graphs of a list of pairs.
fn one_of_two(pairs: &[Pair], n: usize, rng: &mut SimRng) -> Vec<Pair> {
    let (pairs, _) = pairs.as_chunks::<2>();
    pairs.iter().take(n).map(|two| two[index(rng, 2)]).collect()
}

/// What was read of one match, whose first graph is the one of interest.
pub(super) struct Seen {
    mean_sent: Vec<f32>,
    all_sent: Vec<f32>,
    mean_result: Vec<f32>,
    /// The other device's messages, as the first one's, and the score.
    rest: Vec<f32>,
}

impl Seen {
    pub(super) fn new(matcher: &dyn Matcher, seen: &Observed<'_>) -> Seen {
        let mean = |sent: &[Matrix]| sent.iter().flat_map(Matrix::mean_row).collect::<Vec<f32>>();
        let all = |sent: &[Matrix]| match matcher.sends_nodes() {
            true => mean(sent),
            false => sent.iter().flat_map(|message| message.data.iter().copied()).collect(),
        };
        let [own, others] = seen.sent;
        let mut rest = all(others);
        rest.extend(matcher.pooled(&seen.results[1]));
        rest.push(seen.score);
        Seen {
            mean_sent: mean(own),
            all_sent: all(own),
            mean_result: matcher.pooled(&seen.results[0]),
            rest,
        }
    }

    pub(super) fn view(&self, intercept: Intercept, takes_sent: bool) -> Vec<f32> {
        match intercept {
            Intercept::Concat => [self.mean_sent.as_slice(), &self.mean_result].concat(),
            Intercept::G => self.mean_sent.clone(),
            Intercept::O => self.mean_result.clone(),
            Intercept::AllG => self.all_sent.clone(),
            Intercept::Everything => [self.all_sent.as_slice(), &self.mean_result, &self.rest].concat(),
            Intercept::Random => {
                let picked = match takes_sent && !self.mean_sent.is_empty() {
                    true => &self.mean_sent,
                    false => &self.mean_result,
                };
                let mut row = picked.clone();
                row.resize(self.mean_sent.len().max(self.mean_result.len()), 0.0);
                row
            }
        }
    }

    /// The numbers of each part of [`Intercept::Everything`], in their order.
    pub(super) fn parts(&self) -> [(&'static str, usize); 5] {
        let (sent, result) = (self.all_sent.len(), self.mean_result.len());
        [
            ("g_1", sent),
            ("o_1", result),
            ("g_2", sent),
            ("o_2", result),
            ("score", 1),
        ]
    }
}

/// The views of several matches.
pub(super) fn views(seen: &[Seen], intercept: Intercept, random_choices: &[bool]) -> Table {
    let rows = seen.iter().zip(random_choices);
    Table::from_rows(rows.map(|(seen, takes_sent)| seen.view(intercept, *takes_sent)))
}
