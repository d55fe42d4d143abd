//! The networks that a server trains: two layers on rows that may be scarce and links that may be
//! dense.

use crate::links::{Links, Spread};
use crate::matrix::Matrix;
use folkmoot_draws::SimRng;
use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};
use folkmoot_parts::component;

/// Network of two layers with a ReLU in between.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// GraphSAGE with mean aggregation (Hamilton et al. 2017).
    #[default]
    Sage,
    /// Graph convolution (Kipf & Welling 2017).
    Gcn,
    /// Multilayer perceptron without edges: the baseline of features alone.
    Mlp,
}

struct Layer {
    /// What is spread over links.
    spread: Parameter,
    bias: Parameter,
    /// What a node's own row goes through besides.
    own: Option<Parameter>,
}

pub(crate) struct Net {
    pub(crate) layout: Layout,
    layers: [Layer; 2],
    hidden: usize,
    n_classes: usize,
    dropout: f32,
}

impl Network {
    /// How links are weighed.
    pub(crate) fn spread(self, links: &Links) -> Option<Spread<'_>> {
        match self {
            Network::Sage => Some(Spread::means(links)),
            Network::Gcn => Some(Spread::convolution(links)),
            Network::Mlp => None,
        }
    }
}

impl Net {
    pub(crate) fn new(network: Network, [n_in, hidden, n_classes]: [usize; 3], dropout: f64) -> Net {
        let mut layout = Layout::new();
        let mut layer = |name: &str, n_in: usize, n_out: usize| Layer {
            spread: layout.weight(format!("{name}.weight"), n_in, n_out, Init::Glorot),
            bias: layout.weight(format!("{name}.bias"), 1, n_out, Init::Zeros),
            own: (network == Network::Sage).then(|| layout.weight(format!("{name}.own"), n_in, n_out, Init::Glorot)),
        };
        Net {
            layers: [layer("first", n_in, hidden), layer("second", hidden, n_classes)],
            layout,
            hidden,
            n_classes,
            dropout: dropout as f32,
        }
    }

    /// The logits of all nodes; with a stream, in training.
    pub(crate) fn logits<'g>(
        &self,
        tape: &mut Tape<'g>,
        rows: &'g Matrix,
        spread: Option<&'g Spread<'g>>,
        rng: Option<&mut SimRng>,
    ) -> Var {
        let n = rows.n_rows();
        let [first, second] = &self.layers;
        let x = rows.on(tape);
        let own = first.own.map(|own| x.times(tape, own.var()));
        let h = x.times(tape, first.spread.var());
        let h = spread_along(tape, spread, h, (n, self.hidden));
        let h = add(tape, h, own);
        let mut h = tape.add_row(h, first.bias.var(), true);
        if let Some(rng) = rng {
            h = tape.dropout(h, self.dropout, rng);
        }
        let own = second.own.map(|own| tape.matmul(h, own.var()));
        let y = tape.matmul(h, second.spread.var());
        let y = spread_along(tape, spread, y, (n, self.n_classes));
        let y = add(tape, y, own);
        tape.add_row(y, second.bias.var(), false)
    }
}

fn spread_along<'g>(tape: &mut Tape<'g>, spread: Option<&'g Spread<'g>>, x: Var, (n, width): (usize, usize)) -> Var {
    match spread {
        Some(spread) => tape.custom(spread, &[x], n, width),
        None => x,
    }
}

fn add(tape: &mut Tape<'_>, x: Var, other: Option<Var>) -> Var {
    match other {
        Some(other) => tape.add(x, other),
        None => x,
    }
}
