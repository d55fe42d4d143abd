//! The generator of a client: networks that say how many neighbours a node lacks and what these are
//! like, and how they learn.

use super::impaired::Impaired;
use super::losses::{Comparison, Factors, Missing, Nearest};
use super::numbers::Gradient;
use super::settings::Plan;
use folkmoot_classifiers::classifier::{Nodes, Shard};
use folkmoot_draws::{SimRng, index, normals_f32};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Adjacency, Csr, Factored, Init, Layout, Moments, Parameter, Tape, Var};
use std::cell::OnceCell;

/// A graph convolution's weight and bias.
type Convolution = [Parameter; 2];

/// The networks of one client, in one layout: those that make features come first, so that they are
/// the first `n_shared` of its numbers.
#[derive(Debug)]
pub(super) struct Networks {
    layout: Layout,
    /// Those that make features, alone: what is sent and learns from others.
    pub(super) shared: Layout,
    /// The same without the last weight, which has most of the numbers.
    others: Layout,
    last_bias: Parameter,
    /// Rows and columns of the last weight.
    last: [usize; 2],
    makes: [Linear; 3],
    encodes: [Convolution; 2],
    counts: Linear,
    classifies: [Convolution; 2],
}

/// `noise` and `dropout` of a step; none where networks only answer.
type Drawn<'r> = Option<&'r mut SimRng>;

impl Networks {
    pub(super) fn new(plan: &Plan) -> Networks {
        let (d, [first, second]) = (plan.n_features, plan.widths);
        let last = [second, plan.n_made * d];
        let below = |layout: &mut Layout| {
            [
                Linear::new(layout, "make0", plan.latent, first),
                Linear::new(layout, "make1", first, second),
            ]
        };
        let makes = |layout: &mut Layout| {
            let [make0, make1] = below(layout);
            [make0, make1, Linear::new(layout, "make2", last[0], last[1])]
        };
        let (mut layout, mut shared, mut others) = (Layout::new(), Layout::new(), Layout::new());
        makes(&mut shared);
        let makes = makes(&mut layout);
        below(&mut others);
        let last_bias = others.weight("make2.bias", 1, last[1], Init::Zeros);
        let mut convolution = |name: &str, n_in, n_out| {
            [
                layout.weight(format!("{name}.weight"), n_in, n_out, Init::Glorot),
                layout.weight(format!("{name}.bias"), 1, n_out, Init::Zeros),
            ]
        };
        let hidden = plan.encoder_hidden;
        let encodes = [
            convolution("encode0", d, hidden),
            convolution("encode1", hidden, plan.latent),
        ];
        let classifies = [
            convolution("classify0", d, hidden),
            convolution("classify1", hidden, plan.n_classes),
        ];
        let counts = Linear::new(&mut layout, "count", plan.latent, 1);
        Networks {
            layout,
            shared,
            others,
            last_bias,
            last,
            makes,
            encodes,
            counts,
            classifies,
        }
    }

    /// Numbers of what makes features.
    pub(super) fn n_shared(&self) -> usize {
        self.shared.len()
    }

    /// Numbers of all networks.
    pub(super) fn len(&self) -> usize {
        self.layout.len()
    }

    pub(super) fn initialise(&self, rng: &mut SimRng) -> Vec<f32> {
        self.layout.initialise(rng)
    }

    /// Embeddings of nodes, of shape `(n, latent)`.
    fn embed<'g>(&self, plan: &Plan, tape: &mut Tape<'g>, impaired: &'g Impaired, rng: Drawn<'_>) -> Var {
        let x = impaired.batch.features(tape);
        let [first, second] = self.encodes.map(|both| both.map(Parameter::var));
        let hidden = tape.matmul(x, first[0]);
        let hidden = convolve(tape, impaired.batch.csr(), hidden, first[1], true);
        let hidden = drop(plan, tape, hidden, rng);
        let hidden = tape.matmul(hidden, second[0]);
        convolve(tape, impaired.batch.csr(), hidden, second[1], true)
    }

    /// Takes what makes features on a tape that is to keep the factors of the gradient by the last
    /// weight, and not that gradient.
    fn load_apart<'g>(&self, tape: &mut Tape<'g>, shared: &'g [f32], factors: &'g Factors) -> Apart<'g> {
        let range = self.shared.range(self.makes[2].weight);
        tape.load(&self.others, &[&shared[..range.start], &shared[range.end..]].concat());
        Apart {
            weight: tape.input(self.last[0], self.last[1], &shared[range]),
            bias: self.last_bias.var(),
            factors,
        }
    }

    /// The gradient by what makes features, of that by all but the last weight, and its factors by
    /// that.
    fn gradient(&self, others: Vec<f32>, factors: [Vec<f32>; 2]) -> Gradient {
        Gradient {
            others,
            at: self.shared.range(self.makes[2].weight).start,
            last: Factored::new(factors, self.last),
        }
    }

    /// Features of made neighbours, each row those of `n_made` side by side, from embeddings.
    pub(super) fn make<'g>(
        &self,
        plan: &Plan,
        tape: &mut Tape<'g>,
        embeddings: Var,
        apart: Option<Apart<'g>>,
        mut rng: Drawn<'_>,
    ) -> Var {
        let (n, latent) = tape.shape(embeddings);
        let mut rows = embeddings;
        if let Some(rng) = rng.as_deref_mut()
            && plan.noise > 0.0
        {
            let noise = tape.constant_with(n, latent, |noise| normals_f32(rng, plan.noise, noise));
            rows = tape.add(rows, noise);
        }
        let rows = self.makes[0].forward_relu(tape, rows);
        let rows = self.makes[1].forward_relu(tape, rows);
        let rows = drop(plan, tape, rows, rng);
        let rows = match apart {
            None => self.makes[2].forward(tape, rows),
            Some(Apart { weight, bias, factors }) => {
                let made = tape.linear(rows, weight, Some(bias), false);
                let (n, width) = tape.shape(made);
                tape.custom(factors, &[made, rows], n, width)
            }
        };
        tape.tanh(rows)
    }

    /// Logits of the nodes of a mended graph, made ones behind those that are left.
    fn classify<'g>(
        plan: &Plan,
        tape: &mut Tape<'g>,
        (impaired, mended): (&'g Impaired, &'g Mended<'_>),
        made: Option<Var>,
        [first, second]: [[Var; 2]; 2],
        rng: Drawn<'_>,
    ) -> Var {
        let x = impaired.batch.features(tape);
        let mut hidden = tape.matmul(x, first[0]);
        if let Some(made) = made {
            let (n, width) = tape.shape(made);
            let each = tape.reshape(made, n * plan.n_made, width / plan.n_made);
            let attached = tape.gather_rows(each, &mended.slots);
            let attached = tape.matmul(attached, first[0]);
            hidden = tape.concat_rows(&[hidden, attached]);
        }
        let hidden = convolve(tape, &mended.means, hidden, first[1], true);
        let hidden = drop(plan, tape, hidden, rng);
        let hidden = tape.matmul(hidden, second[0]);
        convolve(tape, &mended.means, hidden, second[1], false)
    }
}

/// The last weight, as what answers and does not learn, its bias, and what keeps the factors of the
/// gradient by the weight.
pub(super) struct Apart<'g> {
    weight: Var,
    bias: Var,
    factors: &'g Factors,
}

fn convolve<'g>(tape: &mut Tape<'g>, means: &'g Csr, x: Var, bias: Var, relu: bool) -> Var {
    let sums = tape.propagate(Adjacency::Sparse(means), x);
    tape.add_row(sums, bias, relu)
}

fn drop(plan: &Plan, tape: &mut Tape<'_>, x: Var, rng: Drawn<'_>) -> Var {
    match rng {
        Some(rng) => tape.dropout(x, plan.dropout, rng),
        None => x,
    }
}

/// How many neighbours a predicted count comes to: whole ones, up to the most.
fn n_made(plan: &Plan, count: f32) -> usize {
    // What is no number comes to none.
    (count as usize).min(plan.n_made)
}

/// Which neighbours are made by predicted counts, and the graph with them.
#[derive(Debug)]
struct Mended<'a> {
    /// The nodes with any, ascending.
    live: Vec<u32>,
    /// Of the neighbours of those, `n_made` for each, the ones that are made.
    slots: Vec<u32>,
    /// `D^-1 (A + I)` of the nodes that are left and, behind them, the made ones.
    means: Csr,
    nearest: Nearest<'a>,
    /// Which nodes, made ones among them, are classified.
    trains: Vec<bool>,
    labels: Vec<u32>,
}

impl<'a> Mended<'a> {
    fn new(plan: &Plan, impaired: &Impaired, shard: &'a Shard, counts: &[f32]) -> Mended<'a> {
        let n = impaired.nodes.len() as u32;
        let (mut live, mut slots, mut comparisons) = (Vec::new(), Vec::new(), Vec::new());
        let mut arcs: Vec<(u32, u32)> = Vec::new();
        for node in 0..n as usize {
            let near = &impaired.adjacency.columns()[impaired.adjacency.range(node)];
            arcs.extend(near.iter().map(|near| (*near, node as u32)));
        }
        for (node, count) in (0..n).zip(counts) {
            let made = n_made(plan, *count);
            if made == 0 {
                continue;
            }
            let row = live.len() as u32;
            live.push(node);
            let missing = &impaired.missing[node as usize];
            if impaired.trains[node as usize] && !missing.is_empty() {
                comparisons.push(Comparison {
                    row,
                    n_made: made as u32,
                    targets: missing[..missing.len().min(plan.n_made)].to_vec(),
                });
            }
            for slot in 0..made as u32 {
                let behind = n + slots.len() as u32;
                arcs.extend([(node, behind), (behind, node)]);
                slots.push(row * plan.n_made as u32 + slot);
            }
        }
        let n_all = n as usize + slots.len();
        let adjacency = Csr::from_arcs(n_all as u32, &arcs, None).expect("arcs join nodes of the mended graph");
        let (mut trains, mut labels) = (impaired.trains.clone(), impaired.labels.clone());
        trains.resize(n_all, false);
        labels.resize(n_all, 0);
        Mended {
            live,
            slots,
            means: adjacency.with_self_loops().row_means(),
            nearest: nearest(plan, comparisons, shard, impaired.n_train()),
            trains,
            labels,
        }
    }
}

fn nearest<'a>(plan: &Plan, comparisons: Vec<Comparison>, shard: &'a Shard, n_train: usize) -> Nearest<'a> {
    Nearest {
        comparisons,
        known: shard.node_features(),
        n_features: plan.n_features,
        width: plan.n_made * plan.n_features,
        share: 1.0 / (n_train.max(1) * plan.n_made) as f32,
    }
}

/// The three losses of a client, without their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Losses {
    pub(super) counts: f64,
    pub(super) features: f64,
    pub(super) classes: f64,
}

impl Losses {
    pub(super) fn total(&self, plan: &Plan) -> f64 {
        let [a, b, c] = plan.weights.map(f64::from);
        a * self.counts + b * self.features + c * self.classes
    }
}

/// What a client works with: its graph without what it hides, and all that it holds.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) plan: &'a Plan,
    pub(super) networks: &'a Networks,
    pub(super) impaired: &'a Impaired,
    pub(super) shard: &'a Shard,
}

/// What stays as it is once a client has learned by itself.
#[derive(Clone, Copy)]
pub(super) struct Frozen<'a> {
    /// Of all nodes that are left, `(n, latent)`.
    pub(super) embeddings: &'a [f32],
    /// Of each, how many neighbours it is said to lack.
    pub(super) counts: &'a [f32],
    /// The networks behind those that are shared.
    pub(super) rest: &'a [f32],
}

/// What features and classes of made neighbours come to on a tape.
struct Made {
    features: Option<Var>,
    classes: Var,
}

impl<'a> Sight<'a> {
    fn counted(&self) -> Missing {
        let trains = (0..).zip(&self.impaired.trains).filter(|(_, trains)| **trains);
        let target = |row: u32| (row, self.impaired.missing[row as usize].len() as u32);
        Missing {
            targets: trains.map(|(row, _)| target(row)).collect(),
        }
    }

    /// The losses of features and classes, from the embeddings of nodes with made neighbours.
    fn made<'g>(
        &self,
        tape: &mut Tape<'g>,
        live: Var,
        mended: &'g Mended<'_>,
        (classifier, apart): ([[Var; 2]; 2], Option<Apart<'g>>),
        mut rng: Drawn<'_>,
    ) -> Made
    where
        'a: 'g,
    {
        let make = || self.networks.make(self.plan, tape, live, apart, rng.as_deref_mut());
        let made = (!mended.live.is_empty()).then(make);
        let both = (self.impaired, mended);
        let logits = Networks::classify(self.plan, tape, both, made, classifier, rng);
        Made {
            features: made.map(|made| tape.custom(&mended.nearest, &[made], 1, 1)),
            classes: tape.cross_entropy(logits, &mended.labels, Some(&mended.trains)),
        }
    }

    /// All networks after learning from a client alone, and the losses of the last step.
    pub(super) fn pretrain(&self, start: &[f32], rng: &mut SimRng) -> (Vec<f32>, Option<Losses>) {
        let (mut moments, mut losses) = (Moments::new(), None);
        let trained = Tape::with_own(|tape| {
            tape.load(&self.networks.layout, start);
            for _ in 0..self.plan.epochs {
                losses = Some(self.pass(tape, Some(&mut *rng)));
                let (parameters, gradient) = tape.parameters_mut();
                self.plan.optimiser.step(&mut moments, parameters, gradient);
            }
            tape.parameters().to_vec()
        });
        (trained, losses)
    }

    /// The losses of all networks, on a tape that holds them and keeps the gradient.
    fn pass(&self, tape: &mut Tape<'_>, mut rng: Drawn<'_>) -> Losses {
        let (counted, mended) = (self.counted(), OnceCell::new());
        let Sight {
            plan,
            networks,
            impaired,
            shard,
        } = *self;
        // What is mended depends on what the tape says, and the tape looks at it.
        let mut own = std::mem::take(tape).recycle();
        let embeddings = networks.embed(plan, &mut own, impaired, rng.as_deref_mut());
        let counts = networks.counts.forward_relu(&mut own, embeddings);
        let mended = mended.get_or_init(|| Mended::new(plan, impaired, shard, own.value(counts)));
        let live = own.gather_rows(embeddings, &mended.live);
        let classifier = networks.classifies.map(|both| both.map(Parameter::var));
        let made = self.made(&mut own, live, mended, (classifier, None), rng);
        let [a, b, c] = plan.weights;
        let of_counts = own.custom(&counted, &[counts], 1, 1);
        let mut loss = own.scale(a, of_counts);
        loss = own.add_scaled(loss, c, made.classes);
        if let Some(features) = made.features {
            loss = own.add_scaled(loss, b, features);
        }
        own.backward(loss);
        let losses = Losses {
            counts: f64::from(own.scalar(of_counts)),
            features: made.features.map_or(0.0, |features| f64::from(own.scalar(features))),
            classes: f64::from(own.scalar(made.classes)),
        };
        *tape = own.recycle();
        losses
    }

    /// The losses of all networks as they are, without noise.
    #[cfg(test)]
    pub(super) fn losses(&self, parameters: &[f32]) -> Losses {
        Tape::with_own(|tape| {
            tape.load(&self.networks.layout, parameters);
            self.pass(tape, None)
        })
    }

    /// What networks say of nodes without noise: embeddings, and how many neighbours each lacks.
    pub(super) fn answers(&self, parameters: &[f32]) -> (Vec<f32>, Vec<f32>) {
        Tape::with_own(|tape| {
            tape.load(&self.networks.layout, parameters);
            let embeddings = self.networks.embed(self.plan, tape, self.impaired, None);
            let counts = self.networks.counts.forward_relu(tape, embeddings);
            (tape.value(embeddings).to_vec(), tape.value(counts).to_vec())
        })
    }

    /// The losses at a client by what makes features, `1/N` times which it follows, and their
    /// gradient by that.
    pub(super) fn own_gradient(&self, shared: &[f32], frozen: Frozen<'_>, rng: Drawn<'_>) -> (Losses, Gradient) {
        let Sight {
            plan,
            networks,
            impaired,
            shard,
        } = *self;
        let (counted, mended) = (self.counted(), Mended::new(plan, impaired, shard, frozen.counts));
        let at = |parameter: Parameter| {
            let range = networks.layout.range(parameter);
            &frozen.rest[range.start - networks.n_shared()..range.end - networks.n_shared()]
        };
        let rows = rows(frozen.embeddings, plan.latent, &mended.live);
        let share = 1.0 / plan.n_clients as f32;
        let [_, b, c] = plan.weights;
        let factors = Factors::default();
        let (losses, others) = Tape::with_own(|tape| {
            let apart = networks.load_apart(tape, shared, &factors);
            let live = tape.input(mended.live.len(), plan.latent, &rows);
            let classifier = networks.classifies.map(|[weight, bias]| {
                let (weight, bias) = (at(weight), at(bias));
                let n_in = weight.len() / bias.len();
                [tape.input(n_in, bias.len(), weight), tape.input(1, bias.len(), bias)]
            });
            let made = self.made(tape, live, &mended, (classifier, Some(apart)), rng);
            let counts = tape.input(impaired.nodes.len(), 1, frozen.counts);
            let of_counts = tape.custom(&counted, &[counts], 1, 1);
            let losses = Losses {
                counts: f64::from(tape.scalar(of_counts)),
                features: made.features.map_or(0.0, |features| f64::from(tape.scalar(features))),
                classes: f64::from(tape.scalar(made.classes)),
            };
            let others = made.features.map(|features| {
                let loss = tape.scale(share * c, made.classes);
                let loss = tape.add_scaled(loss, share * b, features);
                tape.backward(loss);
                tape.parameters_mut().1.to_vec()
            });
            (losses, others)
        });
        let others = others.unwrap_or_else(|| vec![0.0; networks.others.len()]);
        (losses, networks.gradient(others, factors.into_inner()))
    }

    /// What neighbours are made for nodes that are left, with noise: of each, at the node of the
    /// client with this place, its features side by side; and how near those that can be compared
    /// are to what is hidden.
    pub(super) fn fill(&self, shared: &[f32], frozen: Frozen<'_>, rng: &mut SimRng) -> (Vec<u32>, Vec<f32>, Near) {
        let (plan, networks) = (self.plan, self.networks);
        let mended = Mended::new(plan, self.impaired, self.shard, frozen.counts);
        if mended.live.is_empty() {
            return (Vec::new(), Vec::new(), Near::default());
        }
        let rows = rows(frozen.embeddings, plan.latent, &mended.live);
        // Noise, and no dropout.
        let answering = Plan { dropout: 0.0, ..*plan };
        let (made, near) = Tape::with_own(|tape| {
            tape.load(&networks.shared, shared);
            let live = tape.input(mended.live.len(), plan.latent, &rows);
            let made = networks.make(&answering, tape, live, None, Some(rng));
            let made = tape.value(made);
            let d = plan.n_features;
            let slots = mended.slots.iter().flat_map(|slot| &made[*slot as usize * d..][..d]);
            let near = Near {
                n: mended.nearest.n_compared() as u64,
                sum: mended.nearest.sum(made),
                of_mean: mended.nearest.sum_of(&mean_row(self.shard.node_features(), d)),
            };
            (slots.copied().collect::<Vec<f32>>(), near)
        });
        let of_slot = |slot: &u32| mended.live[*slot as usize / plan.n_made];
        let places = mended
            .slots
            .iter()
            .map(|slot| self.impaired.nodes[of_slot(slot) as usize]);
        (places.collect(), made, near)
    }
}

/// How near made neighbours are to hidden ones: sums of the least mean squared errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Near {
    /// Over so many made neighbours.
    pub(super) n: u64,
    pub(super) sum: f64,
    /// Where each of them is the mean of the client's nodes.
    pub(super) of_mean: f64,
}

fn mean_row(rows: &[f32], d: usize) -> Vec<f32> {
    let mut sums = vec![0.0; d];
    for row in rows.chunks_exact(d.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let n = (rows.len() / d.max(1)).max(1) as f64;
    sums.into_iter().map(|sum| (sum / n) as f32).collect()
}

fn rows(all: &[f32], width: usize, which: &[u32]) -> Vec<f32> {
    let rows = which.iter().flat_map(|row| &all[*row as usize * width..][..width]);
    rows.copied().collect()
}

/// The gradient by what makes features at client `i`, `shared`, of `b / N` times the loss of
/// features where they are compared with what a client holds: to each node of `i` that trains, of
/// this embedding and missing so many, a node is drawn that has neighbours, and so many of these.
pub(super) fn gradient_for_other(
    (plan, networks): (&Plan, &Networks),
    shared: &[f32],
    (embeddings, counts): (&[f32], &[f32]),
    shard: &Shard,
    rng: &mut SimRng,
) -> Gradient {
    let targets = drawn_targets(plan, shard.nodes(), counts, rng);
    let comparisons = comparisons(&targets);
    let live: Vec<u32> = targets.iter().map(|(node, _)| *node).collect();
    if live.is_empty() {
        return networks.gradient(vec![0.0; networks.others.len()], Default::default());
    }
    let rows = rows(embeddings, plan.latent, &live);
    let nearest = nearest(plan, comparisons, shard, counts.len());
    let factors = Factors::default();
    let others = Tape::with_own(|tape| {
        let apart = networks.load_apart(tape, shared, &factors);
        let rows = tape.input(live.len(), plan.latent, &rows);
        let made = networks.make(plan, tape, rows, Some(apart), Some(rng));
        let features = tape.custom(&nearest, &[made], 1, 1);
        let loss = tape.scale(plan.weights[1] / plan.n_clients as f32, features);
        tape.backward(loss);
        tape.parameters_mut().1.to_vec()
    });
    networks.gradient(others, factors.into_inner())
}

/// Of each node that lacks neighbours, the drawn ones it is compared with.
pub(super) fn drawn_targets(
    plan: &Plan,
    nodes: Option<Nodes<'_>>,
    counts: &[f32],
    rng: &mut SimRng,
) -> Vec<(u32, Vec<u32>)> {
    let Some(nodes) = nodes else { return Vec::new() };
    let of_node = |node: usize| nodes.neighbours(node).map(|near| near as u32).collect::<Vec<u32>>();
    let linked: Vec<Vec<u32>> = (0..nodes.labels.len())
        .map(of_node)
        .filter(|near| !near.is_empty())
        .collect();
    if linked.is_empty() {
        return Vec::new();
    }
    let lacking = (0..).zip(counts).map(|(node, count)| (node, n_made(plan, *count)));
    let draw = |(node, n): (u32, usize)| {
        let near = &linked[index(rng, linked.len())];
        (node, (0..n).map(|_| near[index(rng, near.len())]).collect())
    };
    lacking.filter(|(_, n)| *n > 0).map(draw).collect()
}

/// Row after row with what it is compared with.
pub(super) fn comparisons(targets: &[(u32, Vec<u32>)]) -> Vec<Comparison> {
    let comparison = |(row, (_, targets)): (u32, &(u32, Vec<u32>))| Comparison {
        row,
        n_made: targets.len() as u32,
        targets: targets.clone(),
    };
    (0..).zip(targets).map(comparison).collect()
}
