//! Pairs scored as devices and service would: each graph begun once, each pair exchanged and
//! scored, in parallel.

use super::matcher::{Exchanged, Held, Input, Matcher, Matrix, Stages};
use super::options::{Noise, Padding};
use folkmoot_codecs::Codec;
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;
use folkmoot_privacy::{Law, Mechanism, NoiseForm, PrivacyCost, ReleaseError, Values};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The noise of what is scored.
pub(super) const SCORED: Purpose = Purpose(*b"pp-noise");
/// The noise of what an attacker learns from: other draws, as on another day.
pub(super) const OVERHEARD: Purpose = Purpose(*b"pp-heard");

/// Pairs that one thread scores at a time.
const CHUNK: usize = 16;

/// A model as it is deployed.
#[derive(Clone, Copy)]
pub struct Deployed<'a> {
    pub matcher: &'a dyn Matcher,
    pub parameters: &'a [f32],
    /// Noise on what is sent to the service.
    pub noise: Option<Noise>,
    /// How what is sent is packed.
    pub codec: &'a dyn Codec,
    /// Whether graphs are padded to the largest of their batch, and how many pairs a batch has.
    pub padding: (Padding, usize),
    /// Where noise and random rounding come from.
    pub streams: Streams,
    pub purpose: Purpose,
}

/// What an eavesdropper reads of one pair, and its score.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The messages between the devices, if there are any: those of the pair's first graph, then
    /// the other's.
    pub sent: [&'a [Matrix]; 2],
    /// The messages to the service.
    pub results: &'a [Matrix; 2],
    pub score: f32,
}

/// Graphs that have begun, by their ids.
struct Begun<'a> {
    inputs: Vec<&'a Input>,
    held: Vec<Held>,
    places: BTreeMap<u32, usize>,
}

impl<'a> Deployed<'a> {
    /// Scores pairs of `graphs`, and hands all that left a device to `read`.
    ///
    /// # Determinism
    ///
    /// The noise of a pair comes from a stream named by its place in the list.
    pub fn observe<R: Send>(
        &self,
        graphs: &[Input],
        pairs: &[Pair],
        read: impl Fn(&Pair, Observed<'_>) -> R + Sync,
    ) -> Vec<R> {
        match self.padding {
            (Padding::Masked, _) => {
                let begun = self.begin(&distinct(pairs), |id| &graphs[id as usize]);
                let chunk = |(at, pairs)| self.chunk(&begun, CHUNK * at, pairs, &read);
                pairs.par_chunks(CHUNK).enumerate().flat_map_iter(chunk).collect()
            }
            (Padding::Unmasked, size) => {
                let chunk = |(at, pairs): (usize, &[Pair])| {
                    let ids = distinct(pairs);
                    let padded = padded(graphs, &ids);
                    let place = |id: u32| ids.binary_search(&id).expect("the ids are those of the pairs");
                    let begun = self.begin(&ids, |id| &padded[place(id)]);
                    self.chunk(&begun, size * at, pairs, &read)
                };
                pairs.par_chunks(size.max(1)).enumerate().flat_map_iter(chunk).collect()
            }
        }
    }

    /// The area under the ROC curve of the pairs' scores; `None` if all pairs match, or none.
    pub fn auc(&self, graphs: &[Input], pairs: &[Pair]) -> Option<f64> {
        let scores = self.observe(graphs, pairs, |_, seen| f64::from(seen.score));
        let matches: Vec<bool> = pairs.iter().map(|pair| pair.matches).collect();
        folkmoot_scores::auc(&matches, &scores).ok()
    }

    fn begin<'g>(&self, ids: &[u32], input: impl Fn(u32) -> &'g Input) -> Begun<'g> {
        let inputs: Vec<&Input> = ids.iter().map(|&id| input(id)).collect();
        let begin = |inputs: &[&'g Input]| {
            Stages::with(self.matcher, self.parameters, |stages| {
                inputs.iter().map(|input| stages.begin(input)).collect::<Vec<Held>>()
            })
        };
        Begun {
            held: inputs.par_chunks(CHUNK).flat_map_iter(begin).collect(),
            inputs,
            places: ids.iter().enumerate().map(|(at, &id)| (id, at)).collect(),
        }
    }

    fn chunk<R>(
        &self,
        begun: &Begun<'_>,
        first: usize,
        pairs: &[Pair],
        read: &impl Fn(&Pair, Observed<'_>) -> R,
    ) -> Vec<R> {
        let mut exchanged = match self.codec.is_plain() {
            true => Stages::with(self.matcher, self.parameters, |stages| {
                let exchange = |pair: &Pair| {
                    let at = begun.places(pair);
                    stages.exchange(at.map(|at| begun.inputs[at]), at.map(|at| &begun.held[at]))
                };
                pairs.iter().map(exchange).collect()
            }),
            false => self.exchange_packed(begun, first, pairs),
        };
        let noise = ResultNoise(self.noise);
        for (i, exchanged) in exchanged.iter_mut().enumerate() {
            for (side, result) in exchanged.results.iter_mut().enumerate() {
                let at = 2 * (first + i) + side;
                noise.disturb(result, &mut self.rng(Round(0), at));
                self.send(result, self.matcher.n_exchanges(), at);
            }
        }
        let scores: Vec<f32> = Stages::with(self.matcher, self.parameters, |stages| {
            exchanged
                .iter()
                .map(|Exchanged { results: [a, b], .. }| stages.score(a, b))
                .collect()
        });
        let seen = |((pair, exchanged), score): ((&Pair, &Exchanged), f32)| {
            let sent = match &exchanged.sent {
                Some(all) => all.each_ref().map(Vec::as_slice),
                None => begun.places(pair).map(|at| begun.held[at].sent.as_slice()),
            };
            let results = &exchanged.results;
            read(pair, Observed { sent, results, score })
        };
        pairs.iter().zip(&exchanged).zip(scores).map(seen).collect()
    }

    /// What devices send that pack their messages, exchange by exchange: each reads what the
    /// other's has kept.
    fn exchange_packed(&self, begun: &Begun<'_>, first: usize, pairs: &[Pair]) -> Vec<Exchanged> {
        let start = |pair: &Pair| begun.places(pair).map(|at| begun.held[at].clone());
        let mut held: Vec<[Held; 2]> = pairs.iter().map(start).collect();
        let mut sent: Vec<[Vec<Matrix>; 2]> = vec![Default::default(); pairs.len()];
        for step in 0..self.matcher.n_exchanges() {
            for (i, (held, sent)) in held.iter().zip(&mut sent).enumerate() {
                for (side, (held, sent)) in held.iter().zip(sent).enumerate() {
                    let mut message = held.sent.clone().expect("a model that exchanges sends something");
                    self.send(&mut message, step, 2 * (first + i) + side);
                    sent.push(message);
                }
            }
            held = Stages::with(self.matcher, self.parameters, |stages| {
                let mut met = Vec::with_capacity(pairs.len());
                for ((pair, held), sent) in pairs.iter().zip(&held).zip(&sent) {
                    let at = begun.places(pair);
                    met.push([0, 1].map(|side| {
                        let theirs = sent[side ^ 1].last().expect("it was sent just now");
                        stages.meet(step, begun.inputs[at[side]], &held[side], theirs)
                    }));
                }
                met
            });
        }
        let exchanged = |(held, sent): ([Held; 2], [Vec<Matrix>; 2])| Exchanged {
            sent: Some(sent),
            results: held.map(|held| held.state),
        };
        held.into_iter().zip(sent).map(exchanged).collect()
    }

    /// Leaves of a message what the codec keeps of it. `step` is the message's number, `at` its
    /// place among all.
    fn send(&self, message: &mut Matrix, step: u32, at: usize) {
        if let Some((n_rows, packed)) = message.packed(self.codec, &mut self.rng(Round(1 + step), at)) {
            let opened = Matrix::opened(self.codec, (n_rows, message.n_columns), &packed);
            *message = opened.expect("what was encoded can be read");
        }
    }

    fn rng(&self, round: Round, at: usize) -> SimRng {
        self.streams.counted(self.purpose, Party::Server, round, at as u64)
    }
}

impl Begun<'_> {
    fn places(&self, pair: &Pair) -> [usize; 2] {
        [pair.first, pair.second].map(|id| self.places[&id])
    }
}

/// Laplace noise on every number of a result, or none.
pub(super) struct ResultNoise(pub(super) Option<Noise>);

impl ResultNoise {
    fn epsilon(&self) -> Option<f64> {
        self.0.and_then(|noise| noise.epsilon)
    }

    /// Adds the noise in place, in floating point: for results that the evaluator keeps.
    pub(super) fn disturb(&self, result: &mut Matrix, rng: &mut SimRng) {
        if let Some(noise) = &self.0 {
            for x in &mut result.data {
                *x = (f64::from(*x) + noise.law.sample(rng)) as f32;
            }
        }
    }
}

impl Mechanism for ResultNoise {
    type Input = Matrix;
    type Release = Matrix;

    /// Draws for each number, in order, if there is noise; in floating point one `u64`.
    fn release_in(&self, form: NoiseForm, result: &Matrix, rng: &mut SimRng) -> Result<Matrix, ReleaseError> {
        let mut result = result.clone();
        if let Some(Noise { law, epsilon }) = &self.0 {
            let n = result.data.len();
            let sensitivity = epsilon.map_or(f64::INFINITY, |epsilon| epsilon * law.scale());
            let noise = law.noise(form, Values::Real { n, sensitivity })?;
            let values: Vec<f64> = result.data.iter().map(|x| f64::from(*x)).collect();
            result.data = noise.add_to(&values, rng)?.into_iter().map(|x| x as f32).collect();
        }
        Ok(result)
    }

    fn cost(&self) -> PrivacyCost {
        let protects = |epsilon| PrivacyCost {
            epsilon,
            delta: 0.0,
            unit: "one graph",
        };
        self.epsilon().map_or(PrivacyCost::UNPROTECTED, protects)
    }

    fn law(&self) -> Law {
        let unprotected = Law::Bound {
            epsilon: f64::INFINITY,
            delta: 0.0,
        };
        let noise = self.epsilon().map(|epsilon| Law::Laplace { epsilon });
        noise.unwrap_or(unprotected)
    }
}

/// The graphs of pairs, each once, ascending.
pub(super) fn distinct(pairs: &[Pair]) -> Vec<u32> {
    let mut ids: Vec<u32> = pairs.iter().flat_map(|pair| [pair.first, pair.second]).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Graphs of a batch, padded to the largest.
pub(super) fn padded(graphs: &[Input], ids: &[u32]) -> Vec<Input> {
    let most = ids.iter().map(|&id| graphs[id as usize].n_nodes()).max().unwrap_or(0);
    ids.iter().map(|&id| graphs[id as usize].padded(most)).collect()
}
