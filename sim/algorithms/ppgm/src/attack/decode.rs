//! Learned decoders: what left a device tells of the nodes and arcs of its graph, to whoever knows
//! some graphs.
//!
//! The attackers of [`folkmoot_scores::inference`] learn from the nodes of known graphs, a few of
//! each: from a pair of nodes whether an arc joins them, and from a node among which quarter of the
//! known nodes its features are. Unlike [`super::structure`] they need not guess that neighbours
//! are alike.
//!
//! Where nodes leave, a node is the row of it that left. Where vectors of the whole graph leave, it
//! is those vectors and its place in the order of nodes, in which a function's blocks have their
//! addresses; the reference `@places` has the place alone, which tells much, as a block mostly
//! leads to the next. Whoever finds, by the known graphs, that places alone do better goes by
//! these; what messages tell is what is found beyond them.

use super::messages::{Overheard, Seen};
use super::structure::nodes;
use crate::matcher::{Input, Matcher, Matrix};
use crate::options::{Attack, Intercept, Thorough};
use crate::pairs::Observed;
use crate::view::View;
use folkmoot_draws::{Purpose, SimRng, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;
use folkmoot_scores::inference::{Attackers, Known, PerceptronSettings, Table, first_best, macro_auc};

const DECODE: Purpose = Purpose(*b"pp-decod");

/// So many pairs of nodes with an arc and as many without, and so many nodes, are looked at in each
/// graph.
const SAMPLES: usize = 24;

/// A graph has so many more samples than one that an epoch in so many is enough.
const FEWER_EPOCHS: u32 = 10;

/// So many places are 1.
const FAR: f32 = 64.0;

/// What is known of the nodes of a graph.
enum Told {
    /// A row for each.
    Nodes(Matrix),
    /// Of all of them as one, so that of a single one there is its place.
    Graph(Vec<f32>),
}

impl Told {
    /// What a match told of its first graph.
    fn by(matcher: &dyn Matcher, graph: &Input, seen: &Observed<'_>) -> Told {
        match matcher.sends_nodes() {
            true => Told::Nodes(nodes(graph, seen).clone()),
            false => Told::Graph(Seen::new(matcher, seen).view(Intercept::Concat, false)),
        }
    }

    fn node(&self, at: usize) -> Vec<f32> {
        match self {
            Told::Nodes(nodes) => row(nodes, at).to_vec(),
            Told::Graph(whole) => [whole.as_slice(), &[at as f32 / FAR]].concat(),
        }
    }

    /// Of two nodes, the first of which comes before the other, by what does not depend on their
    /// order but for their places.
    fn pair(&self, u: usize, v: usize) -> Vec<f32> {
        match self {
            Told::Nodes(nodes) => {
                let (a, b) = (row(nodes, u), row(nodes, v));
                let differ = a.iter().zip(b).map(|(a, b)| (a - b).abs());
                differ.chain(a.iter().zip(b).map(|(a, b)| a * b)).collect()
            }
            Told::Graph(whole) => {
                let is_next = if v == u + 1 { 1.0 } else { 0.0 };
                let places = [u as f32 / FAR, v as f32 / FAR, (v - u) as f32 / FAR, is_next];
                [whole.as_slice(), &places].concat()
            }
        }
    }
}

fn row(nodes: &Matrix, at: usize) -> &[f32] {
    let width = nodes.n_columns as usize;
    &nodes.data[at * width..][..width]
}

/// What is learned from or asked about: rows, whose answers are labels.
#[derive(Default)]
struct Samples {
    rows: Vec<Vec<f32>>,
    labels: Vec<u32>,
    groups: Vec<u32>,
}

impl Samples {
    fn push(&mut self, row: Vec<f32>, label: u32, group: u32) {
        self.rows.push(row);
        self.labels.push(label);
        self.groups.push(group);
    }

    /// The areas of an attacker chosen by what is known; `None` where there is nothing to choose
    /// by.
    fn guessed_from(
        &self,
        known: Samples,
        attackers: &Attackers,
        network: &PerceptronSettings,
        n_classes: usize,
        rng: &mut SimRng,
    ) -> Option<Decoded> {
        let known = Known {
            rows: Table::from_rows(known.rows),
            labels: known.labels,
            groups: known.groups,
        };
        // Neighbours and trees among so many rows take longer than all else.
        let attackers = Attackers {
            neighbours: Vec::new(),
            trees: 0,
            ..attackers.clone()
        };
        let guesses = attackers.guess(network, &known, &Table::from_rows(&self.rows), n_classes, rng);
        let areas: Vec<Option<f64>> = guesses.iter().map(|guess| guess.known_auc).collect();
        let best = &guesses[first_best(&areas)?];
        Some(Decoded {
            known: best.known_auc?,
            asked: macro_auc(&self.labels, &best.scores, n_classes)?,
        })
    }
}

impl Thorough {
    /// Writes down what decoders find.
    pub(super) fn decode(
        &self,
        attack: &Attack,
        view: &View<'_>,
        overheard: &Overheard,
        parameters: &[f32],
        sheet: &mut Sheet,
    ) {
        let (data, deployed) = (view.data, view.ppgm.deployed(parameters, view.streams));
        let read = |pair: &Pair, seen: Observed<'_>| {
            let graph = &data.inputs[pair.first as usize];
            (graph, pair.first, Told::by(deployed.matcher, graph, &seen))
        };
        let told = [&overheard.known, &overheard.targets].map(|pairs| deployed.observe(&data.inputs, pairs, read));
        let places = told.each_ref().map(|graphs| {
            let nothing = || Told::Graph(Vec::new());
            graphs
                .iter()
                .map(|(graph, group, _)| (*graph, *group, nothing()))
                .collect()
        });
        let network = attack.network(view.ppgm.hidden());
        let network = PerceptronSettings {
            epochs: network.epochs.div_ceil(FEWER_EPOCHS),
            ..network
        };
        let guess = |[known, asked]: [Samples; 2], n_classes| {
            let mut rng = view.streams.global(DECODE);
            asked.guessed_from(known, &self.attackers, &network, n_classes, &mut rng)
        };
        let decoded = |told: &[Vec<(&Input, u32, Told)>; 2]| {
            // The same pairs and nodes of each graph, whatever is known of them.
            let mut rng = view.streams.party(DECODE, Party::Server, Round(0));
            let arcs = guess(told.each_ref().map(|graphs| Samples::of_arcs(graphs, &mut rng)), 2);
            let features = (0..data.inputs[0].n_features()).filter_map(|feature| {
                let ends = quarters(&told[0], feature);
                let samples = told
                    .each_ref()
                    .map(|graphs| Samples::of_feature(graphs, feature, ends, &mut rng));
                guess(samples, 4)
            });
            [arcs, Decoded::mean(&features.collect::<Vec<_>>())]
        };
        let names = ["decoded_arcs_auc", "decoded_features_auc"];
        for (name, (told, by_place)) in names.into_iter().zip(decoded(&told).into_iter().zip(decoded(&places))) {
            // Whoever does better by places alone, of what is known, leaves the rest unread.
            let best = [told, by_place]
                .into_iter()
                .flatten()
                .reduce(|best, other| match other.known > best.known {
                    true => other,
                    false => best,
                });
            sheet.number_if(name, best.map(|decoded| decoded.asked));
            if let Some(decoded) = by_place {
                sheet.reference(name, "places", decoded.asked);
            }
        }
    }
}

/// How well somebody decodes what is known, each part of it by the rest, and what is asked: areas
/// under the ROC curve.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    known: f64,
    asked: f64,
}

impl Decoded {
    fn mean(all: &[Decoded]) -> Option<Decoded> {
        let mean = |of: fn(&Decoded) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Decoded {
            known: mean(|decoded| decoded.known),
            asked: mean(|decoded| decoded.asked),
        })
    }
}

/// Graphs, each with its number and what is known of it.
type Graphs<'a> = [(&'a Input, u32, Told)];

/// Where the second, third and last quarter of the nodes begin, by one of their features.
fn quarters(known: &Graphs<'_>, feature: usize) -> [f32; 3] {
    let mut values: Vec<f32> = known.iter().flat_map(|(graph, ..)| graph.feature(feature)).collect();
    values.sort_by(f32::total_cmp);
    [1, 2, 3].map(|quarter| values[quarter * values.len() / 4])
}

impl Samples {
    /// Pairs of different nodes, as many with an arc as without.
    fn of_arcs(graphs: &Graphs<'_>, rng: &mut SimRng) -> Samples {
        let mut samples = Samples::default();
        for (graph, group, told) in graphs {
            let n = graph.n_nodes();
            let joined = |u: usize, v: usize| graph.has_arc(u, v) || graph.has_arc(v, u);
            let all = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
            let (with, without): (Vec<_>, Vec<_>) = all.partition(|&(u, v)| joined(u, v));
            if with.is_empty() || without.is_empty() {
                continue;
            }
            for _ in 0..SAMPLES {
                for (label, pairs) in [(1, &with), (0, &without)] {
                    let (u, v) = pairs[index(rng, pairs.len())];
                    samples.push(told.pair(u, v), label, *group);
                }
            }
        }
        samples
    }

    /// Nodes, with the quarter of a feature that each is in.
    fn of_feature(graphs: &Graphs<'_>, feature: usize, ends: [f32; 3], rng: &mut SimRng) -> Samples {
        let mut samples = Samples::default();
        for (graph, group, told) in graphs {
            let values: Vec<f32> = graph.feature(feature).collect();
            for _ in 0..SAMPLES.min(values.len()) {
                let at = index(rng, values.len());
                let label = ends.iter().filter(|end| values[at] >= **end).count() as u32;
                samples.push(told.node(at), label, *group);
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, normal};
    use folkmoot_learning::Csr;

    /// What is told of the nodes of the test's graphs.
    #[derive(Clone, Copy, PartialEq)]
    enum Plant {
        /// Numbers of their own.
        Nothing,
        /// Numbers that the nodes of a piece of the ring share, and that their feature is one of.
        Rows,
        /// Of the whole graph, after how many nodes its ring is cut, and its nodes' feature.
        Vector,
    }

    /// Graphs of 20 nodes in a ring that is cut at some places, or, told by a vector, after every
    /// so many nodes.
    fn graphs(n: u32, plant: Plant, rng: &mut SimRng) -> Vec<(Input, u32, Told)> {
        let mut graphs = Vec::new();
        for group in 0..n {
            let mut arcs_of = Vec::new();
            let mut nodes = Matrix::zeros((20, 4));
            let mut features = Vec::new();
            let mut piece = [0.0_f32; 4];
            let (step, of_all) = (2 + index(rng, 4), normal(rng) as f32);
            for node in 0..20_usize {
                let cut = match plant {
                    Plant::Vector => node.is_multiple_of(step),
                    _ => node == 0 || index(rng, 3) == 0,
                };
                if cut || plant == Plant::Nothing {
                    piece = std::array::from_fn(|_| normal(rng) as f32);
                }
                if !cut {
                    let node = node as u32;
                    arcs_of.extend([(node - 1, node), (node, node - 1)]);
                }
                nodes.data[4 * node..][..4].copy_from_slice(&piece);
                features.push(match plant {
                    Plant::Nothing => normal(rng) as f32,
                    Plant::Rows => piece[0],
                    Plant::Vector => of_all,
                });
            }
            let told = match plant {
                Plant::Vector => {
                    let steps = (2..6).map(|other| if other == step { 1.0 } else { 0.0 });
                    Told::Graph(steps.chain([of_all]).collect())
                }
                _ => Told::Nodes(nodes),
            };
            let graph = Input::from_csr(Csr::from_arcs(20, &arcs_of, None).unwrap(), features);
            graphs.push((graph, group, told));
        }
        graphs
    }

    /// Arcs and features that are decoded of graphs like those that are known.
    fn decoded(plant: Plant, n: u32) -> [f64; 2] {
        let network = PerceptronSettings {
            layers: 2,
            width: 16,
            epochs: 30,
            learning_rate: 0.005,
            batch: 32,
            standardise: true,
        };
        let mut rng = SimRng::seed_from_u64(1);
        let graphs = [(); 2].map(|()| graphs(n, plant, &mut rng));
        let [known, asked] = graphs.each_ref().map(|graphs| -> Vec<_> {
            let told = |told: &Told| match told {
                Told::Nodes(nodes) => Told::Nodes(nodes.clone()),
                Told::Graph(whole) => Told::Graph(whole.clone()),
            };
            graphs
                .iter()
                .map(|(graph, group, of)| (graph, *group, told(of)))
                .collect()
        });
        let ends = quarters(&known, 0);
        let mut guess = |[known, asked]: [Samples; 2], n_classes| {
            asked
                .guessed_from(known, &Attackers::default(), &network, n_classes, &mut rng)
                .unwrap()
                .asked
        };
        let mut samples = SimRng::seed_from_u64(2);
        let arcs = [&known, &asked].map(|graphs| Samples::of_arcs(graphs, &mut samples));
        let features = [&known, &asked].map(|graphs| Samples::of_feature(graphs, 0, ends, &mut samples));
        [guess(arcs, 2), guess(features, 4)]
    }

    #[test]
    fn arcs_and_features_are_decoded_where_nodes_tell_of_them_and_nowhere_else() {
        let (told, untold) = (decoded(Plant::Rows, 30), decoded(Plant::Nothing, 30));
        // 1440 and 600 guesses: four standard errors are 0.06 and 0.09.
        assert!(told[0] > 0.9 && (untold[0] - 0.5).abs() < 0.06, "{told:?} {untold:?}");
        assert!(told[1] > 0.9 && (untold[1] - 0.5).abs() < 0.09, "{told:?} {untold:?}");
    }

    /// A vector tells where rings are cut and what nodes are; their places tell half of the one and
    /// nothing of the other.
    #[test]
    fn a_vector_of_the_graph_tells_more_than_places_do() {
        let [arcs, features] = decoded(Plant::Vector, 120);
        assert!(arcs > 0.95 && features > 0.9, "{arcs} {features}");
    }
}
