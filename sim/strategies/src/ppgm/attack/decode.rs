//! Learned decoders: what nodes' representations that left a device tell of its graph, to whoever knows some graphs.
//!
//! The attackers of [`crate::inference`] learn from the nodes of known graphs, a few of each: from a pair of nodes whether an arc joins
//! them, and from a node among which quarter of the known nodes its features are. Unlike [`super::reconstruct`] they need not guess that
//! neighbours are alike.

use super::messages::Overheard;
use super::structure::nodes;
use super::{Attack, Thorough};
use crate::inference::{Attackers, Known, Network, Table, first_best, macro_auc};
use crate::ppgm::learned::View;
use crate::ppgm::matcher::{Input, Matrix};
use crate::ppgm::pairs::Observed;
use folkmoot_draws::{Purpose, SimRng, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;

const DECODE: Purpose = Purpose(*b"pp-decod");

/// So many pairs of nodes with an arc and as many without, and so many nodes, are looked at in each graph.
const SAMPLES: usize = 24;

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

    /// The area of the guesses of an attacker chosen by what is known; `None` where there is nothing to choose by.
    fn guessed_from(
        &self,
        known: Samples,
        attackers: &Attackers,
        network: &Network,
        n_classes: usize,
        rng: &mut SimRng,
    ) -> Option<f64> {
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
        macro_auc(&self.labels, &guesses[first_best(&areas)?].scores, n_classes)
    }
}

impl Thorough {
    /// Writes down what decoders find where nodes leave their devices.
    pub(super) fn decode(
        &self,
        attack: &Attack,
        view: &View<'_>,
        overheard: &Overheard,
        parameters: &[f32],
        sheet: &mut Sheet,
    ) {
        let (data, deployed) = (view.data, view.ppgm.deployed(parameters, view.streams));
        if !deployed.matcher.sends_nodes() {
            for what in ["decoded_arcs_auc", "decoded_features_auc"] {
                sheet.missing(
                    what,
                    "not applicable: nothing that leaves a device tells single nodes apart",
                );
            }
            return;
        }
        let read =
            |pair: &Pair, seen: Observed<'_>| (pair.first, nodes(&data.inputs[pair.first as usize], &seen).clone());
        let [known, asked] =
            [&overheard.known, &overheard.targets].map(|pairs| deployed.observe(&data.inputs, pairs, read));
        let network = attack.network(view.ppgm.hidden());
        let guess = |known, asked: &Samples, n_classes| {
            let mut rng = view.streams.global(DECODE);
            asked.guessed_from(known, &self.attackers, &network, n_classes, &mut rng)
        };
        let mut rng = view.streams.party(DECODE, Party::Server, Round(0));
        let [learned, tested] = [&known, &asked].map(|graphs| {
            let mut samples = Samples::default();
            for (graph, nodes) in graphs {
                arcs(&data.inputs[*graph as usize], nodes, *graph, &mut samples, &mut rng);
            }
            samples
        });
        sheet.number_if("decoded_arcs_auc", guess(learned, &tested, 2));
        let n_features = data.inputs[0].n_features();
        let mut areas = Vec::new();
        for feature in 0..n_features {
            let mut values: Vec<f32> = known
                .iter()
                .flat_map(|(graph, _)| data.inputs[*graph as usize].feature(feature))
                .collect();
            values.sort_by(f32::total_cmp);
            let ends = [1, 2, 3].map(|quarter| values[quarter * values.len() / 4]);
            let [learned, tested] = [&known, &asked].map(|graphs| {
                let mut samples = Samples::default();
                for (graph, nodes) in graphs {
                    let input = &data.inputs[*graph as usize];
                    let values: Vec<f32> = input.feature(feature).collect();
                    for _ in 0..SAMPLES.min(values.len()) {
                        let at = index(&mut rng, values.len());
                        let label = ends.iter().filter(|end| values[at] >= **end).count() as u32;
                        samples.push(row(nodes, at).to_vec(), label, *graph);
                    }
                }
                samples
            });
            areas.extend(guess(learned, &tested, 4));
        }
        let mean = areas.iter().sum::<f64>() / areas.len() as f64;
        sheet.number_if("decoded_features_auc", (!areas.is_empty()).then_some(mean));
    }
}

fn row(nodes: &Matrix, at: usize) -> &[f32] {
    let width = nodes.n_columns as usize;
    &nodes.data[at * width..][..width]
}

/// Pairs of different nodes, as many with an arc as without, by what does not depend on their order.
fn arcs(graph: &Input, nodes: &Matrix, group: u32, samples: &mut Samples, rng: &mut SimRng) {
    let n = graph.n_nodes();
    let joined = |u: usize, v: usize| graph.has_arc(u, v) || graph.has_arc(v, u);
    let all = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
    let (with, without): (Vec<_>, Vec<_>) = all.partition(|&(u, v)| joined(u, v));
    if with.is_empty() || without.is_empty() {
        return;
    }
    for _ in 0..SAMPLES {
        for (label, pairs) in [(1, &with), (0, &without)] {
            let (u, v) = pairs[index(rng, pairs.len())];
            let (a, b) = (row(nodes, u), row(nodes, v));
            let differ = a.iter().zip(b).map(|(a, b)| (a - b).abs());
            let agree = a.iter().zip(b).map(|(a, b)| a * b);
            samples.push(differ.chain(agree).collect(), label, group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, normal};
    use folkmoot_learning::Csr;

    /// Graphs of 20 nodes in a ring that is cut at some places, and nodes whose four numbers are drawn: by themselves, or for each
    /// piece of the ring, so that joined nodes share them.
    fn graphs(n: u32, shared: bool, rng: &mut SimRng) -> Samples {
        let mut samples = Samples::default();
        for group in 0..n {
            let mut arcs_of = Vec::new();
            let mut nodes = Matrix::zeros((20, 4));
            let mut piece = [0.0_f32; 4];
            for node in 0..20_u32 {
                let cut = node == 0 || index(rng, 3) == 0;
                if cut || !shared {
                    piece = std::array::from_fn(|_| normal(rng) as f32);
                }
                if !cut {
                    arcs_of.extend([(node - 1, node), (node, node - 1)]);
                }
                nodes.data[4 * node as usize..][..4].copy_from_slice(&piece);
            }
            let graph = Input::from_csr(Csr::from_arcs(20, &arcs_of, None).unwrap(), vec![0.0; 20]);
            arcs(&graph, &nodes, group, &mut samples, rng);
        }
        samples
    }

    #[test]
    fn arcs_are_decoded_where_nodes_tell_of_them_and_nowhere_else() {
        let network = Network {
            layers: 2,
            width: 16,
            epochs: 30,
            rate: 0.005,
            batch: 32,
            standardise: true,
        };
        let decoded = |shared| {
            let mut rng = SimRng::seed_from_u64(1);
            let [known, asked] = [(); 2].map(|()| graphs(30, shared, &mut rng));
            asked
                .guessed_from(known, &Attackers::default(), &network, 2, &mut rng)
                .unwrap()
        };
        // 1440 guesses: four standard errors are 0.06.
        let (told, untold) = (decoded(true), decoded(false));
        assert!(told > 0.9 && (untold - 0.5).abs() < 0.06, "{told} {untold}");
    }
}
