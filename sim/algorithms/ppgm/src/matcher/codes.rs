//! PPGM itself, and the three models that lack one of its parts.

use super::encoder::Encoder;
use super::score::Scorer;
use super::{Drops, Input, Matcher, Range, Side};
use crate::options::{Form, Size};
use folkmoot_learning::layers::{LayerNorm, Linear, Lstm, MultiHeadAttention};
use folkmoot_learning::{Init, Layout, Parameter, Tape, Var};

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ablation {
    None,
    /// The other's message in the obfuscated representation.
    Obfuscation,
    /// The context codes: a message is the mean of the nodes, one row.
    Codes,
    /// The match of a message with nodes: it is the mean of the nodes for each code.
    Matching,
}

/// What follows an attention in the released code: `y = norm(x)`,
/// `norm(y + drop(W drop(relu(V y))))`.
#[derive(Clone, Debug)]
pub(super) struct Block {
    norms: [LayerNorm; 2],
    wide: Linear,
    narrow: Linear,
    dropout: f32,
}

impl Block {
    pub(super) fn new(layout: &mut Layout, name: &str, d: usize, form: &Form) -> Option<Block> {
        let width = form.feed_forward as usize;
        (width > 0).then(|| Block {
            norms: [0, 1].map(|at| LayerNorm::new(layout, &format!("{name}.norm{at}"), d)),
            wide: Linear::new(layout, &format!("{name}.wide"), d, width),
            narrow: Linear::new(layout, &format!("{name}.narrow"), width, d),
            dropout: form.dropout,
        })
    }

    pub(super) fn forward(&self, tape: &mut Tape<'_>, x: Var, mut drops: Drops<'_>) -> Var {
        let mut drop = |tape: &mut Tape<'_>, h| match drops.as_deref_mut() {
            Some(rng) if self.dropout > 0.0 => tape.dropout(h, self.dropout, rng),
            _ => h,
        };
        let y = self.norms[0].forward(tape, x);
        let h = self.wide.forward_relu(tape, y);
        let h = drop(tape, h);
        let h = self.narrow.forward(tape, h);
        let h = drop(tape, h);
        let sum = tape.add(y, h);
        self.norms[1].forward(tape, sum)
    }
}

/// An attention and what follows it.
#[derive(Clone, Debug)]
struct Attention {
    heads: MultiHeadAttention,
    block: Option<Block>,
}

impl Attention {
    fn new(layout: &mut Layout, name: &str, size: &Size, form: &Form) -> Attention {
        let d = size.hidden as usize;
        Attention {
            heads: MultiHeadAttention::new(layout, name, d, size.heads as usize),
            block: Block::new(layout, name, d, form),
        }
    }

    fn follow(&self, tape: &mut Tape<'_>, output: Var, drops: Drops<'_>) -> Var {
        match &self.block {
            Some(block) => block.forward(tape, output, drops),
            None => output,
        }
    }
}

/// PPGM: `g_i = attention(code c_i, H)`, `p_i = attention(their g_i, H)`, `o` the last state of an
/// LSTM over `p_i ‖ their g_i`.
pub struct Codes {
    layout: Layout,
    encoder: Encoder,
    codes: Option<Parameter>,
    messages: Option<Attention>,
    matches: Option<Attention>,
    lstm: Lstm,
    scorer: Scorer,
    ablation: Ablation,
    n_codes: usize,
    hidden: usize,
}

impl Codes {
    /// The model for graphs of `n_features` features a node.
    pub fn new(size: &Size, form: &Form, ablation: Ablation, n_features: usize) -> Codes {
        let mut layout = Layout::new();
        let encoder = Encoder::new(&mut layout, size, form, n_features);
        let d = size.hidden as usize;
        let (n_codes, has_codes) = match ablation {
            Ablation::Codes => (1, false),
            _ => (size.codes as usize, true),
        };
        let codes = has_codes.then(|| layout.weight("codes", n_codes, d, Init::Normal(1.0)));
        let messages = has_codes.then(|| Attention::new(&mut layout, "messages", size, form));
        let matches = (ablation != Ablation::Matching).then(|| Attention::new(&mut layout, "matches", size, form));
        let lstm = match form.bidirectional {
            true => Lstm::bidirectional(&mut layout, "lstm", 2 * d, d),
            false => Lstm::new(&mut layout, "lstm", 2 * d, d),
        };
        let width = if form.bidirectional { 2 * d } else { d };
        let scorer = Scorer::new(&mut layout, form.head, width);
        Codes {
            layout,
            encoder,
            codes,
            messages,
            matches,
            lstm,
            scorer,
            ablation,
            n_codes,
            hidden: d,
        }
    }

    /// `p`: what each device's own nodes answer to the other's message, below each other; `theirs`
    /// are those messages. Shape `(n_devices · m, d)`.
    pub fn matched(&self, tape: &mut Tape<'_>, own: &[Side], theirs: Var, drops: Drops<'_>) -> Var {
        let nodes: Vec<Var> = own.iter().map(|side| side.state).collect();
        match &self.matches {
            Some(attention) => {
                let output = attention.heads.forward_each(tape, theirs, &nodes);
                attention.follow(tape, output, drops)
            }
            None => {
                let means = nodes.iter().map(|nodes| tape.segment_mean(*nodes, None));
                let repeated: Vec<Var> = means.flat_map(|mean| vec![mean; self.n_codes]).collect();
                tape.concat_rows(&repeated)
            }
        }
    }
}

impl Matcher for Codes {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_exchanges(&self) -> u32 {
        1
    }

    fn sends_nodes(&self) -> bool {
        false
    }

    fn range(&self) -> Range {
        self.scorer.range()
    }

    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], mut drops: Drops<'_>) -> Vec<Side> {
        let encode = |graph: &&'g Input| self.encoder.forward(tape, graph, drops.as_deref_mut(), |_| {});
        let nodes: Vec<Var> = graphs.iter().map(encode).collect();
        let sent: Vec<Var> = match (&self.messages, self.codes) {
            (Some(attention), Some(codes)) => {
                let output = attention.heads.forward_over(tape, codes.var(), &nodes);
                let messages = attention.follow(tape, output, drops);
                let message = |i| tape.slice_rows(messages, i * self.n_codes, self.n_codes);
                (0..nodes.len()).map(message).collect()
            }
            _ => nodes.iter().map(|nodes| tape.segment_mean(*nodes, None)).collect(),
        };
        let side = |(state, sent)| Side {
            state,
            sent: Some(sent),
        };
        nodes.into_iter().zip(sent).map(side).collect()
    }

    fn meet<'g>(
        &'g self,
        tape: &mut Tape<'g>,
        _step: u32,
        graphs: &[&'g Input],
        own: &[Side],
        theirs: &[Var],
        drops: Drops<'_>,
    ) -> Vec<Side> {
        let messages = tape.concat_rows(theirs);
        let matched = self.matched(tape, own, messages, drops);
        let beside = match self.ablation {
            Ablation::Obfuscation => {
                let sent = |side: &Side| side.sent.expect("a device that meets has sent its message");
                let sent: Vec<Var> = own.iter().map(sent).collect();
                tape.concat_rows(&sent)
            }
            _ => messages,
        };
        let joined = tape.concat_columns(&[matched, beside]);
        let in_turn = tape.interleave_rows(joined, graphs.len());
        let last = self.lstm.last(tape, in_turn, self.n_codes);
        let side = |i| Side {
            state: tape.slice_rows(last, i, 1),
            sent: None,
        };
        (0..graphs.len()).map(side).collect()
    }

    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var {
        self.scorer.forward(tape, first, second)
    }

    fn sent_shape(&self, step: u32, _n_nodes: usize) -> Option<(usize, usize)> {
        (step < self.n_exchanges()).then_some((self.n_codes, self.hidden))
    }

    fn result_shape(&self, _n_nodes: usize) -> (usize, usize) {
        let directions = if self.lstm.backwards.is_some() { 2 } else { 1 };
        (1, directions * self.hidden)
    }
}
