//! H2MN: neighbourhoods are matched with neighbourhoods.
//!
//! Z. Zhang et al. H2MN: Graph Similarity Learning with Hierarchical Hypergraph Matching Networks.
//! KDD 2021. Each node and what it propagates from are a *hyperedge*. After a graph convolution
//! every layer convolves over hyperedges, describes each by its nodes, keeps those that rank best
//! by a personalised PageRank, and matches them with the other graph's, which devices therefore
//! exchange in every layer. A read-out of each layer goes to the service, whose perceptron reads
//! both devices'. Keeping goes by the defaults of the authors' program: all in all layers but the
//! last, 80 % there; ranks by 10 steps with a restart of 0.1.
//!
//! Deviations: hyperedges are neighbourhoods, one of the paper's two ways, since the other draws
//! walks anew whenever a graph is read; a node takes the plain mean of its hyperedges, where the
//! program divides each by its size once more; the read-outs are scaled ([`Readout`]).

use super::perspectives::Perspectives;
use super::readout::Readout;
use super::{Drops, Input, Matcher, Range, Side, together};
use crate::options::Size;
use folkmoot_learning::layers::{Gcn, Linear};
use folkmoot_learning::{Adjacency, Csr, Layout, Tape, Var};

/// The share of hyperedges that the last layer keeps.
const KEPT: f64 = 0.8;
/// Steps of the ranking.
const RANKING: usize = 10;
/// How often a rank starts again.
const RESTART: f32 = 0.1;
const SLOPE: f32 = 0.2;

/// The nodes of each hyperedge.
#[derive(Clone, Debug)]
pub(super) struct Hyperedges {
    /// Mean over a hyperedge's nodes; shape `(n_hyperedges, n_nodes)`.
    gather: Csr,
    /// Mean over a node's hyperedges; shape `(n_nodes, n_hyperedges)`.
    spread: Csr,
}

impl Hyperedges {
    /// A hyperedge for each row of `csr`: its node and the nodes that the row reads.
    pub(super) fn new(csr: &Csr) -> Hyperedges {
        let n = csr.n_rows() as u32;
        let rows = (0..n).flat_map(|at| {
            csr.columns()[csr.range(at as usize)]
                .iter()
                .map(move |&node| (node, at))
        });
        let mut within: Vec<(u32, u32)> = (0..n).map(|node| (node, node)).chain(rows).collect();
        within.sort_unstable();
        within.dedup();
        let spread: Vec<(u32, u32)> = within.iter().map(|&(node, at)| (at, node)).collect();
        let means = |arcs: &[(u32, u32)]| {
            Csr::from_arcs(n, arcs, None)
                .expect("nodes are those of the matrix")
                .row_means()
        };
        Hyperedges {
            gather: means(&within),
            spread: means(&spread),
        }
    }

    /// The mean over the hyperedges that a node is in of their means; each row is a node.
    fn smooth<'g>(&'g self, tape: &mut Tape<'g>, nodes: Var) -> Var {
        let hyperedges = tape.propagate((&self.gather).into(), nodes);
        tape.propagate((&self.spread).into(), hyperedges)
    }
}

/// What one layer has.
struct Layer {
    convolution: Linear,
    rank: Linear,
    perspectives: Perspectives,
    readout: Readout,
}

pub(super) struct H2mn {
    layout: Layout,
    first: Gcn,
    readout: Readout,
    layers: Vec<Layer>,
    head: [Linear; 4],
    hidden: usize,
}

impl H2mn {
    pub(super) fn new(size: &Size, n_features: usize) -> H2mn {
        let (mut layout, d) = (Layout::new(), size.hidden as usize);
        let first = Gcn::new(&mut layout, "first", n_features, d);
        let readout = Readout::new(&mut layout, "readout", d);
        let layer = |l: u32| Layer {
            convolution: Linear::new(&mut layout, &format!("layers.{l}.convolution"), d, d),
            rank: Linear::new(&mut layout, &format!("layers.{l}.rank"), d, 1),
            perspectives: Perspectives::new(&mut layout, &format!("layers.{l}.perspectives"), d, d),
            readout: Readout::new(&mut layout, &format!("layers.{l}.readout"), d),
        };
        let layers: Vec<Layer> = (0..size.layers).map(layer).collect();
        let widths = [2 * d * (layers.len() + 1), 2 * d, d, (d / 2).max(1), 1];
        let head = [0, 1, 2, 3].map(|at| Linear::new(&mut layout, &format!("head.{at}"), widths[at], widths[at + 1]));
        H2mn {
            layout,
            first,
            readout,
            layers,
            head,
            hidden: d,
        }
    }

    /// How many of `n` hyperedges a layer keeps.
    fn n_kept(&self, layer: usize, n: usize) -> usize {
        match layer + 1 == self.layers.len() {
            true => (KEPT * n as f64).ceil() as usize,
            false => n,
        }
    }

    /// The hyperedges that a layer keeps, from the nodes that it has convolved: each the sum of its
    /// nodes by their likeness to its mean, times its rank. Shape `(n_kept, d)`.
    fn pool<'g>(&self, tape: &mut Tape<'g>, layer: usize, within: &'g Hyperedges, nodes: Var) -> Var {
        let start = self.layers[layer].rank.forward(tape, nodes);
        let start = within.smooth(tape, start);
        let start = tape.sigmoid(start);
        let restart = tape.scale(RESTART, start);
        let mut ranks = start;
        for _ in 0..RANKING {
            let smoothed = within.smooth(tape, ranks);
            ranks = tape.add_scaled(restart, 1.0 - RESTART, smoothed);
        }
        let gather = &within.gather;
        let ranks = tape.propagate(gather.into(), ranks);
        let means = tape.propagate(gather.into(), nodes);
        let likeness = tape.arc_dot(gather, means, nodes);
        let weights = tape.arc_softmax(gather, likeness);
        let hyperedges = tape.propagate(Adjacency::Weighted(gather, weights), nodes);
        let ones = tape.constant_with(1, self.hidden, |row| row.fill(1.0));
        let wide = tape.matmul(ranks, ones);
        let hyperedges = tape.multiply(hyperedges, wide);
        let n = tape.shape(hyperedges).0;
        let kept = best(tape.value(ranks), self.n_kept(layer, n));
        if kept.len() == n {
            return hyperedges;
        }
        let runs = kept.chunk_by(|a, b| a + 1 == *b);
        let runs: Vec<Var> = runs.map(|run| tape.slice_rows(hyperedges, run[0], run.len())).collect();
        tape.concat_rows(&runs)
    }
}

/// The places of the `n` greatest, ascending; of equal ones the first.
fn best(ranks: &[f32], n: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..ranks.len()).collect();
    places.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
    places.truncate(n);
    places.sort_unstable();
    places
}

impl Matcher for H2mn {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        self.layers.len() as u32
    }

    /// Each node has a hyperedge.
    fn sends_nodes(&self) -> bool {
        true
    }

    fn range(&self) -> Range {
        Range::Unit
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], _: Drops<'_>) -> Vec<Side> {
        let begin = |graph: &&'g Input| {
            let within = graph.hyperedges();
            let x = graph.on(tape);
            let nodes = self.first.forward(tape, (&graph.csr).into(), x);
            let nodes = tape.leaky_relu(SLOPE, nodes);
            let state = self.readout.forward(tape, nodes);
            let nodes = self.layers[0].convolution.forward(tape, nodes);
            let nodes = within.smooth(tape, nodes);
            let nodes = tape.leaky_relu(SLOPE, nodes);
            Side {
                state,
                sent: Some(self.pool(tape, 0, within, nodes)),
            }
        };
        graphs.iter().map(begin).collect()
    }

    /// What is kept between exchanges are the read-outs of the layers so far, each a row.
    fn meet<'g>(
        &'g self,
        tape: &mut Tape<'g>,
        step: u32,
        graphs: &[&'g Input],
        own: &[Side],
        theirs: &[Var],
        _: Drops<'_>,
    ) -> Vec<Side> {
        let layer = &self.layers[step as usize];
        let hyperedges = own
            .iter()
            .map(|side| side.sent.expect("a device keeps what it has sent"));
        let hyperedges: Vec<Var> = hyperedges.collect();
        let matched = layer.perspectives.forward(tape, &hyperedges, theirs);
        let next = self.layers.get(step as usize + 1);
        let convolved = next.map(|next| next.convolution.forward(tape, matched));
        let mut first = 0;
        let meet = |((graph, side), hyperedges): ((&&'g Input, &Side), &Var)| {
            let (from, n) = (first, tape.shape(*hyperedges).0);
            first += n;
            let matched = tape.slice_rows(matched, from, n);
            let read = layer.readout.forward(tape, matched);
            let state = tape.concat_rows(&[side.state, read]);
            let Some(convolved) = convolved else {
                let n = tape.shape(state).0;
                return Side {
                    state: tape.reshape(state, 1, n * self.hidden),
                    sent: None,
                };
            };
            let within = graph.hyperedges();
            let convolved = tape.slice_rows(convolved, from, n);
            let nodes = tape.propagate((&within.spread).into(), convolved);
            let nodes = tape.leaky_relu(SLOPE, nodes);
            Side {
                state,
                sent: Some(self.pool(tape, step as usize + 1, within, nodes)),
            }
        };
        graphs.iter().zip(own).zip(&hyperedges).map(meet).collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        let mut h = tape.concat_columns(&[first, second]);
        for layer in &self.head[..3] {
            h = layer.forward_relu(tape, h);
        }
        let logit = self.head[3].forward(tape, h);
        tape.sigmoid(logit)
    }

    /// One pass of the perceptron over all pairs.
    fn scores<'g>(&'g self, tape: &mut Tape<'g>, pairs: &[[Var; 2]]) -> Var {
        let [first, second] = together(tape, pairs);
        self.score(tape, first, second)
    }

    fn sent_shape(&self, step: u32, n_nodes: usize) -> Option<(usize, usize)> {
        (step < self.n_exchanges()).then(|| (self.n_kept(step as usize, n_nodes), self.hidden))
    }

    fn result_shape(&self, _n_nodes: usize) -> (usize, usize) {
        (1, (self.layers.len() + 1) * self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(n: u32) -> Input {
        let arcs: Vec<(u32, u32)> = (1..n).flat_map(|i| [(i - 1, i), (i, i - 1)]).collect();
        Input::from_csr(Csr::from_arcs(n, &arcs, None).unwrap(), vec![1.0; n as usize])
    }

    #[test]
    fn the_best_are_kept_in_their_order_and_the_first_of_equal_ones() {
        assert_eq!(best(&[0.1, 0.7, 0.7, 0.9, 0.2], 2), [1, 3]);
        assert_eq!(best(&[0.5; 4], 3), [0, 1, 2]);
        assert_eq!(best(&[], 0), [0; 0]);
    }

    /// On a path of three nodes the outer hyperedges have two nodes, and the middle one all.
    #[test]
    fn hyperedges_are_nodes_with_their_neighbours() {
        let (input, mut tape) = (path(3), Tape::new());
        let within = input.hyperedges();
        let nodes = tape.constant(3, 1, &[6.0, 12.0, 24.0]);
        let means = tape.propagate((&within.gather).into(), nodes);
        assert_eq!(tape.value(means), [9.0, 14.0, 18.0]);
        let smooth = within.smooth(&mut tape, nodes);
        let exact = [11.5, 41.0 / 3.0, 16.0];
        assert!(tape.value(smooth).iter().zip(exact).all(|(x, y)| (x - y).abs() < 1e-5));
    }

    /// The ranking and the description of hyperedges in double precision, with loops; the last
    /// layer keeps the four best of five.
    #[test]
    fn hyperedges_are_described_by_their_nodes_and_their_rank() {
        let size = Size {
            hidden: 4,
            layers: 2,
            ..Size::default()
        };
        let (input, model) = (path(5), H2mn::new(&size, 1));
        let parameters: Vec<f32> = (0..model.layout.len())
            .map(|i| ((i * 37 + 11) % 23) as f32 / 23.0 - 0.4)
            .collect();
        let nodes: Vec<f32> = (0..20).map(|i| ((i * 29 + 5) % 17) as f32 / 8.0 - 1.0).collect();
        let mut tape = Tape::new();
        tape.load(&model.layout, &parameters);
        let x = tape.constant(5, 4, &nodes);
        let members: Vec<Vec<usize>> = (0..5_usize)
            .map(|e| (e.saturating_sub(1)..(e + 2).min(5)).collect())
            .collect();
        let mean = |of: &[usize], values: &[f64]| of.iter().map(|&i| values[i]).sum::<f64>() / of.len() as f64;
        let gather = |values: &[f64]| members.iter().map(|of| mean(of, values)).collect::<Vec<f64>>();
        let smooth = |values: &[f64]| gather(&gather(values));
        let row = |i: usize| nodes[4 * i..][..4].iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        for layer in 0..2 {
            let rank = model.layers[layer].rank.forward(&mut tape, x);
            let rank: Vec<f64> = tape.value(rank).iter().map(|x| f64::from(*x)).collect();
            let start: Vec<f64> = smooth(&rank).iter().map(|x| 1.0 / (1.0 + libm::exp(-x))).collect();
            let mut ranks = start.clone();
            for _ in 0..10 {
                let smoothed = smooth(&ranks);
                ranks = (0..5).map(|i| 0.9 * smoothed[i] + 0.1 * start[i]).collect();
            }
            let ranks = gather(&ranks);
            let worst = (0..5).min_by(|&a, &b| ranks[a].total_cmp(&ranks[b]));
            let mut exact: Vec<f64> = Vec::new();
            for (e, of) in members.iter().enumerate() {
                if layer == 1 && Some(e) == worst {
                    continue;
                }
                let middle: Vec<f64> = (0..4)
                    .map(|k| of.iter().map(|&i| row(i)[k]).sum::<f64>() / of.len() as f64)
                    .collect();
                let likeness = |i: usize| libm::exp(row(i).iter().zip(&middle).map(|(a, b)| a * b).sum());
                let total: f64 = of.iter().map(|&i| likeness(i)).sum();
                exact.extend(
                    (0..4).map(|k| ranks[e] * of.iter().map(|&i| likeness(i) / total * row(i)[k]).sum::<f64>()),
                );
            }
            let kept = model.pool(&mut tape, layer, input.hyperedges(), x);
            assert_eq!(tape.shape(kept), (5 - layer, 4));
            for (found, exact) in tape.value(kept).iter().zip(exact) {
                assert!(
                    (f64::from(*found) - exact).abs() < 1e-5,
                    "layer {layer}: {found} and {exact}"
                );
            }
        }
    }
}
