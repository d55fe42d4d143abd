//! EGSC: a teacher that fuses two graphs' vectors level by level, and a student that fuses them
//! once.
//!
//! C. Qin et al. Slow Learning and Fast Inference: Efficient Graph Similarity Computation via
//! Knowledge Distillation. NeurIPS 2021, as the authors' program has it. Both networks have three
//! GIN layers and a vector of the graph for each; nothing of one graph flows into the other before
//! these vectors meet, so a device sends them alone, the same in every match. PPGM's table lists
//! the teacher with models that send nodes: [`Sends::Nodes`] has it that way, its pooling at the
//! service.
//!
//! Deviation: batch norm's statistics are of the distinct graphs of a batch, where the program has
//! those of first and second graphs apart.

use super::{Drops, Input, Matcher, Range, Side};
use crate::options::{Egsc as Sizes, Form, Norm, Sends};
use folkmoot_learning::layers::{BatchNorm, Gin, LayerNorm, Linear, Mode};
use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};

/// Which of the two networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Channel gates before each pooling, a fusion for each level.
    Teacher(Sends),
    /// One fusion of the levels together.
    Student,
}

/// A teacher or a student.
pub struct Egsc {
    layout: Layout,
    levels: Vec<Level>,
    pools: Vec<Pool>,
    fusions: Vec<Fusion>,
    whole: Gate,
    joint: Vec<Linear>,
    output: Linear,
    /// The second head of a student that is taught.
    second: Option<[Linear; 2]>,
    role: Role,
    sizes: Sizes,
}

/// `norm(W2 relu(W1 ((1 + ε) h_v + Σ h_u)))` over a node's neighbours.
struct Level {
    gin: Gin,
    norm: Between,
}

enum Between {
    Nothing,
    Batch(BatchNorm),
    Layer(LayerNorm),
}

/// `sigmoid(B relu(A u))`, by a quarter of the width: what squeeze and excitation multiplies with.
struct Gate([Linear; 2]);

impl Gate {
    fn new(layout: &mut Layout, name: &str, width: usize) -> Gate {
        let narrow = width / 4;
        Gate([
            Linear::new(layout, &format!("{name}.0"), width, narrow),
            Linear::new(layout, &format!("{name}.1"), narrow, width),
        ])
    }

    fn open(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        let h = self.0[0].forward_relu(tape, x);
        self.0[1].forward(tape, h)
    }

    /// `x + sigmoid(…) x`
    fn widen(&self, tape: &mut Tape<'_>, x: Var) -> Var {
        let share = self.open(tape, x);
        let share = tape.sigmoid(share);
        let gated = tape.multiply(share, x);
        tape.add(x, gated)
    }
}

/// `Σ sigmoid(x_v · tanh(W mean(x))) x_v`, where `x_v` is a node, or that node and `tanh` of its
/// own gate times it.
struct Pool {
    context: Parameter,
    gate: Option<Gate>,
}

impl Pool {
    fn forward(&self, tape: &mut Tape<'_>, nodes: Var) -> Var {
        let mut x = nodes;
        if let Some(gate) = &self.gate {
            let open = gate.open(tape, nodes);
            let open = tape.tanh(open);
            let gated = tape.multiply(open, nodes);
            x = tape.add(nodes, gated);
        }
        let mean = tape.segment_mean(x, None);
        let context = tape.matmul(mean, self.context.var());
        let context = tape.tanh(context);
        let likeness = tape.matmul_transposed(context, x);
        let shares = tape.sigmoid(likeness);
        tape.matmul(shares, x)
    }
}

/// One level of the teacher: `2 d` numbers of both graphs to `d / 2` of the pair.
struct Fusion {
    gate: Gate,
    wide: Linear,
    narrow: Linear,
}

impl Egsc {
    /// The network for graphs of `n_features` features a node.
    pub fn new(form: &Form, role: Role, n_features: usize) -> Egsc {
        let (mut layout, sizes) = (Layout::new(), form.egsc);
        let widths = sizes.widths();
        let all: usize = widths.iter().sum();
        let mut n_in = n_features;
        let mut levels = Vec::new();
        for (l, width) in widths.into_iter().enumerate() {
            let name = format!("levels.{l}");
            let gin = Gin::new(&mut layout, &name, n_in, width, width).with_epsilon(&mut layout, &name);
            let name = format!("{name}.norm");
            let norm = match sizes.norm {
                Norm::None => Between::Nothing,
                Norm::Batch => Between::Batch(BatchNorm::new(&mut layout, &name, width)),
                Norm::Layer => Between::Layer(LayerNorm::new(&mut layout, &name, width)),
            };
            levels.push(Level { gin, norm });
            n_in = width;
        }
        let teaches = role != Role::Student;
        let pools = (0..widths.len()).map(|l| {
            let (name, width) = (format!("pools.{l}"), widths[l]);
            Pool {
                context: layout.weight(format!("{name}.context"), width, width, Init::Glorot),
                gate: teaches.then(|| Gate::new(&mut layout, &format!("{name}.gate"), width)),
            }
        });
        let pools = pools.collect();
        let levels_that_fuse = if teaches { widths.as_slice() } else { &[] };
        let fusions = levels_that_fuse.iter().enumerate().map(|(l, &width)| {
            let name = format!("fusions.{l}");
            Fusion {
                gate: Gate::new(&mut layout, &format!("{name}.gate"), 2 * width),
                wide: Linear::new(&mut layout, &format!("{name}.wide"), 2 * width, 2 * width),
                narrow: Linear::new(&mut layout, &format!("{name}.narrow"), 2 * width, width / 2),
            }
        });
        let fusions = fusions.collect();
        let bottleneck = sizes.bottleneck as usize;
        let joints: &[usize] = if teaches {
            &[all / 2, bottleneck]
        } else {
            &[2 * all, all, bottleneck]
        };
        let whole = Gate::new(&mut layout, "whole", joints[0]);
        let joint = joints.windows(2).enumerate();
        let joint = joint.map(|(at, ends)| Linear::new(&mut layout, &format!("joint.{at}"), ends[0], ends[1]));
        let joint = joint.collect();
        let output = Linear::new(&mut layout, "output", bottleneck, 1);
        let second = (sizes.rec_head && !teaches).then(|| {
            [
                Linear::new(&mut layout, "second.0", 2 * bottleneck, bottleneck),
                Linear::new(&mut layout, "second.1", bottleneck, 1),
            ]
        });
        Egsc {
            second,
            layout,
            levels,
            pools,
            fusions,
            whole,
            joint,
            output,
            role,
            sizes,
        }
    }

    /// The nodes of each graph at each level.
    fn nodes<'g>(&self, tape: &mut Tape<'g>, graphs: &[&'g Input], mode: Mode) -> Vec<Vec<Var>> {
        let mut nodes: Vec<Var> = graphs.iter().map(|graph| graph.on(tape)).collect();
        let mut all = vec![Vec::new(); graphs.len()];
        for (l, level) in self.levels.iter().enumerate() {
            for (nodes, graph) in nodes.iter_mut().zip(graphs) {
                *nodes = level.gin.forward(tape, (&graph.csr).into(), *nodes, mode);
            }
            // Statistics are of the nodes of all graphs together.
            let mut h = tape.concat_rows(&nodes);
            h = match level.norm {
                Between::Nothing => h,
                Between::Batch(norm) => norm.forward(tape, h, mode),
                Between::Layer(norm) => norm.forward(tape, h),
            };
            if self.role != Role::Student || l + 1 < self.levels.len() {
                h = tape.relu(h);
            }
            let mut from = 0;
            for ((nodes, all), graph) in nodes.iter_mut().zip(&mut all).zip(graphs) {
                *nodes = tape.slice_rows(h, from, graph.n_nodes());
                from += graph.n_nodes();
                all.push(*nodes);
            }
        }
        all
    }

    fn pool(&self, tape: &mut Tape<'_>, nodes: &[Var]) -> Var {
        let pooled = self
            .pools
            .iter()
            .zip(nodes)
            .map(|(pool, nodes)| pool.forward(tape, *nodes));
        let mut pooled: Vec<Var> = pooled.collect();
        if self.role == Role::Student {
            pooled.reverse();
        }
        tape.concat_columns(&pooled)
    }

    /// The columns of each level, the first one first.
    fn levels(&self, tape: &mut Tape<'_>, x: Var) -> Vec<Var> {
        let mut from = 0;
        let slice = |width: usize| {
            from += width;
            tape.slice_columns(x, from - width, width)
        };
        self.sizes.widths().into_iter().map(slice).collect()
    }

    fn fuse(&self, tape: &mut Tape<'_>, mut pair: [Var; 2]) -> Var {
        if self.role == Role::Student {
            let u = tape.concat_columns(&pair);
            let share = self.whole.open(tape, u);
            let share = tape.sigmoid(share);
            let sum = tape.add(u, share);
            let v = self.joint[0].forward(tape, sum);
            return self.joint[1].forward_relu(tape, v);
        }
        if self.sends_nodes() {
            for side in &mut pair {
                let nodes = self.levels(tape, *side);
                *side = self.pool(tape, &nodes);
            }
        }
        let [first, second] = pair.map(|side| self.levels(tape, side));
        let fused = self.fusions.iter().zip(first.iter().zip(&second));
        let fused = fused.map(|(fusion, (&first, &second))| {
            let u = tape.concat_columns(&[first, second]);
            let u = fusion.gate.widen(tape, u);
            let h = fusion.wide.forward_relu(tape, u);
            fusion.narrow.forward_relu(tape, h)
        });
        let mut fused: Vec<Var> = fused.collect();
        fused.reverse();
        let e = tape.concat_columns(&fused);
        let e = self.whole.widen(tape, e);
        self.joint[0].forward_relu(tape, e)
    }

    fn probability(&self, tape: &mut Tape<'_>, first: Var, second: Var) -> Var {
        let joint = self.fuse(tape, [first, second]);
        let logit = self.output.forward(tape, joint);
        tape.sigmoid(logit)
    }
}

impl Matcher for Egsc {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        0
    }

    fn sends_nodes(&self) -> bool {
        self.role == Role::Teacher(Sends::Nodes)
    }

    fn range(&self) -> Range {
        match self.cosine() {
            true => Range::Signed,
            false => Range::Unit,
        }
    }

    fn reads_batch(&self) -> bool {
        self.sizes.norm == Norm::Batch
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], drops: Drops<'_>) -> Vec<Side> {
        let mode = if drops.is_some() { Mode::Train } else { Mode::Evaluate };
        let all = self.nodes(tape, graphs, mode);
        let side = |nodes: Vec<Var>| Side {
            state: match self.sends_nodes() {
                true => tape.concat_columns(&nodes),
                false => self.pool(tape, &nodes),
            },
            sent: None,
        };
        all.into_iter().map(side).collect()
    }

    fn joint<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Option<Var> {
        Some(self.fuse(tape, [first, second]))
    }

    fn recovered(&self, tape: &mut Tape<'_>, decomposed: [Var; 2]) -> Option<Var> {
        let [wide, narrow] = self.second.as_ref()?;
        let both = tape.concat_columns(&decomposed);
        let h = wide.forward_relu(tape, both);
        let logit = narrow.forward(tape, h);
        Some(tape.sigmoid(logit))
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        if self.cosine() {
            return tape.cosine(first, second);
        }
        let score = self.probability(tape, first, second);
        if !self.sizes.symmetric {
            return score;
        }
        let turned = self.probability(tape, second, first);
        let sum = tape.add(score, turned);
        tape.scale(0.5, sum)
    }

    fn result_shape(&self, n_nodes: usize) -> (usize, usize) {
        let rows = if self.sends_nodes() { n_nodes } else { 1 };
        (rows, self.sizes.widths().iter().sum())
    }
}

impl Egsc {
    /// Whether the score is the cosine of two vectors, which a student alone can have.
    fn cosine(&self) -> bool {
        self.sizes.cosine && self.role == Role::Student
    }
}
