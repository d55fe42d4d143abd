//! GraphSim: the service reads the similarity matrices of all layers' nodes as pictures.
//!
//! Y. Bai et al. Learning-Based Efficient Graph Similarity Computation via Multi-Scale
//! Convolutional Set Matching. AAAI 2020, section 3. <https://arxiv.org/abs/1809.04440>. For every
//! layer the matrix of products of nodes, in the order of the files (that of the program's blocks,
//! where the paper takes breadth-first order), is resized to 16 by 16 by bilinear interpolation,
//! and three convolutions of 3 by 3, each with ReLU and the greatest of 2 by 2, read it; a
//! perceptron reads what is left of all layers. Resizing is linear in rows and in columns, so nodes
//! are resized before they are multiplied: `R (A Bᵀ) Rᵀ = (R A) (R B)ᵀ`.

use super::encoder::Encoder;
use super::{Drops, Input, Matcher, Range, Side};
use crate::options::{Form, Size};
use folkmoot_learning::layers::Linear;
use folkmoot_learning::{Layout, Tape, Var};

/// The pictures' sides before each convolution.
const SIDES: [usize; 3] = [16, 8, 4];
const CHANNELS: [usize; 4] = [1, 8, 16, 32];
/// Numbers of a layer after the last convolution, on 2 by 2 places.
const LEFT: usize = 4 * CHANNELS[3];

/// One convolution of a picture of one size, as gathering and a product.
struct Convolution {
    /// For each place the nine around it; one more than the last place is a row of zeros.
    around: Vec<u32>,
    /// Places in groups of four that become one.
    groups: Vec<u32>,
    bounds: Vec<u32>,
}

impl Convolution {
    fn new(side: usize) -> Convolution {
        let place = |row: usize, column: usize| (row * side + column) as u32;
        let outside = (side * side) as u32;
        let at = |row: usize, column: usize| match (1..=side).contains(&row) && (1..=side).contains(&column) {
            true => place(row - 1, column - 1),
            false => outside,
        };
        let mut around = Vec::with_capacity(9 * side * side);
        for row in 0..side {
            for column in 0..side {
                around.extend((0..9).map(|k| at(row + k / 3, column + k % 3)));
            }
        }
        let mut groups = Vec::with_capacity(side * side);
        for row in (0..side).step_by(2) {
            for column in (0..side).step_by(2) {
                groups.extend((0..4).map(|k| place(row + k / 2, column + k % 2)));
            }
        }
        Convolution {
            around,
            groups,
            bounds: (0..=(side * side / 4) as u32).map(|i| 4 * i).collect(),
        }
    }

    /// `picture` has shape `(side², channels)`.
    fn forward<'g>(&'g self, tape: &mut Tape<'g>, picture: Var, filter: &Linear) -> Var {
        let (places, channels) = tape.shape(picture);
        let zeros = tape.constant_with(1, channels, |row| row.fill(0.0));
        let framed = tape.concat_rows(&[picture, zeros]);
        let windows = tape.gather_rows(framed, &self.around);
        let windows = tape.reshape(windows, places, 9 * channels);
        let filtered = filter.forward_relu(tape, windows);
        let grouped = tape.gather_rows(filtered, &self.groups);
        tape.segment_max(grouped, Some(&self.bounds))
    }
}

pub(super) struct GraphSim {
    layout: Layout,
    encoder: Encoder,
    convolutions: [Convolution; 3],
    /// For each layer of the encoder its three filters.
    filters: Vec<[Linear; 3]>,
    head: [Linear; 2],
    hidden: usize,
}

impl GraphSim {
    pub(super) fn new(size: &Size, form: &Form, n_features: usize) -> GraphSim {
        let mut layout = Layout::new();
        let encoder = Encoder::new(&mut layout, size, form, n_features);
        let n_layers = size.layers as usize;
        let mut filter = |layer: usize, at: usize| {
            let name = format!("filters.{layer}.{at}");
            Linear::new(&mut layout, &name, 9 * CHANNELS[at], CHANNELS[at + 1])
        };
        let filters = (0..n_layers)
            .map(|layer| [0, 1, 2].map(|at| filter(layer, at)))
            .collect();
        let head = [
            Linear::new(&mut layout, "head.0", n_layers * LEFT, 64),
            Linear::new(&mut layout, "head.1", 64, 1),
        ];
        GraphSim {
            layout,
            encoder,
            convolutions: SIDES.map(Convolution::new),
            filters,
            head,
            hidden: size.hidden as usize,
        }
    }
}

/// Shape `(side, n)`: the matrix that brings `n` values to `side` by linear interpolation between
/// the middles of cells.
fn resizing(tape: &mut Tape<'_>, side: usize, n: usize) -> Var {
    tape.constant_with(side, n, |weights| {
        weights.fill(0.0);
        for (i, row) in weights.chunks_exact_mut(n).enumerate() {
            let middle = ((i as f32 + 0.5) * n as f32 / side as f32 - 0.5).clamp(0.0, (n - 1) as f32);
            let (below, share) = (middle as usize, middle - (middle as usize) as f32);
            row[below] += 1.0 - share;
            row[(below + 1).min(n - 1)] += share;
        }
    })
}

impl Matcher for GraphSim {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        0
    }

    fn sends_nodes(&self) -> bool {
        true
    }

    fn range(&self) -> Range {
        Range::Unit
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], mut drops: Drops<'_>) -> Vec<Side> {
        let begin = |graph: &&'g Input| {
            let mut layers = Vec::with_capacity(self.filters.len());
            self.encoder
                .forward(tape, graph, drops.as_deref_mut(), |h| layers.push(h));
            Side {
                state: tape.concat_columns(&layers),
                sent: None,
            }
        };
        graphs.iter().map(begin).collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        let sides = [first, second].map(|nodes| {
            let n = tape.shape(nodes).0;
            let resize = resizing(tape, SIDES[0], n);
            tape.matmul(resize, nodes)
        });
        // Products of wide vectors are large; without a scale the filters would begin far off.
        let scale = 1.0 / self.hidden as f32;
        let mut left = Vec::with_capacity(self.filters.len());
        for (layer, filters) in self.filters.iter().enumerate() {
            let [a, b] = sides.map(|side| tape.slice_columns(side, layer * self.hidden, self.hidden));
            let products = tape.matmul_transposed(a, b);
            let products = tape.scale(scale, products);
            let mut picture = tape.reshape(products, SIDES[0] * SIDES[0], 1);
            for (convolution, filter) in self.convolutions.iter().zip(filters) {
                picture = convolution.forward(tape, picture, filter);
            }
            left.push(tape.reshape(picture, 1, LEFT));
        }
        let h = tape.concat_columns(&left);
        let h = self.head[0].forward_relu(tape, h);
        let logit = self.head[1].forward(tape, h);
        tape.sigmoid(logit)
    }

    fn result_shape(&self, n_nodes: usize) -> (usize, usize) {
        (n_nodes, self.filters.len() * self.hidden)
    }
}
