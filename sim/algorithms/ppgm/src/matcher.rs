//! Models that two devices run together: what each computes alone, what it sends, and what the
//! service makes of it.
//!
//! A [`Matcher`] is cut where its messages are. [`begin`](Matcher::begin) reads a device's own
//! graph; each [`meet`](Matcher::meet) reads one message of the other device;
//! [`score`](Matcher::score) reads what both sent to the service. Training runs all of it on one
//! tape and several devices at a time, the simulated devices run it piece by piece with [`Stages`];
//! the bits are the same, because a row of an operation's result depends on the rows of its
//! operands alone.

mod codes;
mod egsc;
mod encoder;
mod gmn;
mod graph_sim;
mod h2mn;
mod mgmn;
mod perspectives;
mod readout;
mod score;
mod siamese;
mod sim_gnn;

pub use codes::{Ablation, Codes};
pub use egsc::{Egsc, Role};
pub use encoder::Input;

use super::options::{Form, Model, Size};
use folkmoot_codecs::{Codec, Damaged};
use folkmoot_draws::SimRng;
use folkmoot_learning::{Layout, Tape, Var};
use folkmoot_rounds::packed::{Packed, first_not_finite};
use serde::{Deserialize, Serialize};

/// One device's part of a match, on a tape.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// What it keeps; after the last exchange, what it sends to the service.
    pub state: Var,
    /// What it sends to the other device, if anything.
    pub sent: Option<Var>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// From -1 to 1: a cosine.
    Signed,
    /// From 0 to 1: a probability.
    Unit,
}

/// Draws of a training step; without them nothing is dropped.
pub type Drops<'a> = Option<&'a mut SimRng>;

/// A model of two graphs' similarity, cut at its messages.
pub trait Matcher: Send + Sync {
    /// What its flat vector of parameters means.
    fn layout(&self) -> &Layout;

    /// How many messages each device sends to the other.
    fn n_exchanges(&self) -> u32;

    /// Whether single nodes can be told apart in what leaves a device.
    fn sends_nodes(&self) -> bool;

    fn range(&self) -> Range;

    /// Whether training draws noise, besides what is dropped.
    fn learns_with_noise(&self) -> bool {
        false
    }

    /// Whether a graph's numbers depend in training on the others of its batch, which is then
    /// computed in one piece.
    fn reads_batch(&self) -> bool {
        false
    }

    /// Devices' parts before any message. In training there are draws where anything is dropped or
    /// drawn, or a batch is read.
    fn begin<'g>(&'g self, tape: &mut Tape<'g>, graphs: &[&'g Input], drops: Drops<'_>) -> Vec<Side>;

    /// Their parts after the others' messages number `step`, from 0; called for each of
    /// [`n_exchanges`](Self::n_exchanges).
    ///
    /// # Panics
    ///
    /// If the model exchanges no messages, or there is no device.
    fn meet<'g>(
        &'g self,
        _tape: &mut Tape<'g>,
        _step: u32,
        _graphs: &[&'g Input],
        _own: &[Side],
        _theirs: &[Var],
        _drops: Drops<'_>,
    ) -> Vec<Side> {
        panic!("devices of this model send each other nothing")
    }

    /// The vector of a pair, in its order, that its score is made of, if there is one.
    fn joint<'g>(&'g self, _tape: &mut Tape<'g>, _first: Var, _second: Var) -> Option<Var> {
        None
    }

    /// What a second head says of pairs in training, a row each, from their [`joint`](Self::joint)
    /// vectors less those of either graph with itself, if there is one.
    fn recovered(&self, _tape: &mut Tape<'_>, _decomposed: [Var; 2]) -> Option<Var> {
        None
    }

    /// The score of what two devices sent to the service; shape `(1, 1)`.
    fn score<'g>(&'g self, tape: &mut Tape<'g>, first: Var, second: Var) -> Var;

    /// The scores of several pairs; shape `(n_pairs, 1)`.
    fn scores<'g>(&'g self, tape: &mut Tape<'g>, pairs: &[[Var; 2]]) -> Var {
        let scores: Vec<Var> = pairs.iter().map(|pair| self.score(tape, pair[0], pair[1])).collect();
        tape.concat_rows(&scores)
    }

    /// A message as one row, for whoever reads it: the mean of its rows, but where they are of
    /// several kinds.
    fn pooled(&self, message: &Matrix) -> Vec<f32> {
        message.mean_row()
    }

    /// The shape of message number `step` to the other device, for a graph of `n_nodes`; none from
    /// the last exchange on.
    fn sent_shape(&self, _step: u32, _n_nodes: usize) -> Option<(usize, usize)> {
        None
    }

    /// The shape of the message to the service.
    fn result_shape(&self, n_nodes: usize) -> (usize, usize);
}

/// The model that a card asks for, for graphs of `n_features` features a node.
pub fn build(model: Model, size: &Size, form: &Form, n_features: usize) -> Box<dyn Matcher> {
    let codes = |ablation| Box::new(Codes::new(size, form, ablation, n_features));
    match model {
        Model::Ppgm => codes(Ablation::None),
        Model::NoObfuscation => codes(Ablation::Obfuscation),
        Model::NoCodes => codes(Ablation::Codes),
        Model::NoMatching => codes(Ablation::Matching),
        Model::Sgnn | Model::SgnnLdp { .. } => Box::new(siamese::Siamese::new(size, form, n_features, None)),
        Model::SgnnPrivate { in_training, .. } => {
            let noise = model.noise(size.hidden).expect("settings in range make a law");
            let noise = noise.filter(|_| in_training).map(|noise| noise.law);
            Box::new(siamese::Siamese::new(
                size,
                form,
                n_features,
                Some(siamese::Unit { noise }),
            ))
        }
        Model::SimGnn => Box::new(sim_gnn::SimGnn::new(size, form, n_features)),
        Model::GraphSim => Box::new(graph_sim::GraphSim::new(size, form, n_features)),
        Model::Gmn => Box::new(gmn::Gmn::new(size, n_features)),
        Model::Mgmn => Box::new(mgmn::Mgmn::new(size, form, n_features)),
        Model::H2mn => Box::new(h2mn::H2mn::new(size, n_features)),
        Model::EgscTeacher { sends } => Box::new(Egsc::new(form, Role::Teacher(sends), n_features)),
        Model::EgscStudent { .. } => Box::new(Egsc::new(form, Role::Student, n_features)),
    }
}

/// The messages of several pairs to the service by side, a row for each pair.
fn together(tape: &mut Tape<'_>, pairs: &[[Var; 2]]) -> [Var; 2] {
    [0, 1].map(|side| {
        let sent: Vec<Var> = pairs.iter().map(|pair| pair[side]).collect();
        tape.concat_rows(&sent)
    })
}

/// A matrix in memory of its own, row-major: what travels, and what waits for a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    pub n_columns: u32,
    /// Its elements, row after row.
    pub data: Vec<f32>,
}

impl Matrix {
    /// Zeros of a shape.
    pub fn zeros((rows, columns): (usize, usize)) -> Matrix {
        Matrix {
            n_columns: columns as u32,
            data: vec![0.0; rows * columns],
        }
    }

    pub fn shape(&self) -> (usize, usize) {
        let columns = self.n_columns as usize;
        (self.data.len().checked_div(columns).unwrap_or(0), columns)
    }

    /// The mean of its rows; zeros if there are none.
    pub fn mean_row(&self) -> Vec<f32> {
        let (rows, columns) = self.shape();
        let mut sums = vec![0.0_f64; columns];
        for row in self.data.chunks_exact(columns.max(1)) {
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum += f64::from(*x);
            }
        }
        sums.into_iter().map(|sum| (sum / rows.max(1) as f64) as f32).collect()
    }

    /// Its rows, how many, as a codec packs them. None by a codec that leaves numbers as they are,
    /// and of numbers that are not finite.
    pub fn packed(&self, codec: &dyn Codec, rng: &mut SimRng) -> Option<(u32, Packed)> {
        if codec.is_plain() || first_not_finite(&self.data).is_some() {
            return None;
        }
        let (rows, columns) = self.shape();
        let mut bytes = Vec::new();
        codec.encode(&self.data, &[[rows, columns]], rng, &mut bytes);
        Some((rows as u32, Packed(bytes.into())))
    }

    /// The numbers of so many rows and columns, as far as the codec has kept them.
    ///
    /// # Errors
    ///
    /// Where the bytes are not those of an encoding.
    pub fn opened(codec: &dyn Codec, (n_rows, n_columns): (u32, u32), packed: &Packed) -> Result<Matrix, Damaged> {
        let data = codec.decode(&packed.0, &[[n_rows as usize, n_columns as usize]])?;
        Ok(Matrix { n_columns, data })
    }

    fn of(tape: &Tape<'_>, var: Var) -> Matrix {
        Matrix {
            n_columns: tape.shape(var).1 as u32,
            data: tape.value(var).to_vec(),
        }
    }

    fn on<'g>(&'g self, tape: &mut Tape<'g>) -> Var {
        let (rows, columns) = self.shape();
        tape.input(rows, columns, &self.data)
    }
}

/// A device's part of a match, between its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// What it keeps; after the last exchange, what it sends to the service.
    pub state: Matrix,
    /// What it sends to the other device, if anything.
    pub sent: Option<Matrix>,
}

impl Held {
    fn of(tape: &Tape<'_>, side: Side) -> Held {
        Held {
            state: Matrix::of(tape, side.state),
            sent: side.sent.map(|sent| Matrix::of(tape, sent)),
        }
    }
}

/// A model cut into pieces that run one at a time, on a tape of this thread that holds the
/// parameters.
pub struct Stages<'t, 'g> {
    matcher: &'g dyn Matcher,
    tape: &'t mut Tape<'g>,
}

impl<'g> Stages<'_, 'g> {
    /// Runs `work` with the model's pieces.
    ///
    /// # Panics
    ///
    /// If the parameters are those of another model.
    pub fn with<R>(matcher: &'g dyn Matcher, parameters: &[f32], work: impl FnOnce(&mut Stages<'_, 'g>) -> R) -> R {
        Tape::with_own(|tape| {
            tape.load(matcher.layout(), parameters);
            work(&mut Stages { matcher, tape })
        })
    }

    /// See [`Matcher::begin`].
    pub fn begin(&mut self, graph: &'g Input) -> Held {
        self.tape.reset();
        let side = self.matcher.begin(self.tape, &[graph], None);
        Held::of(self.tape, side[0])
    }

    /// See [`Matcher::meet`].
    pub fn meet(&mut self, step: u32, graph: &'g Input, own: &'g Held, theirs: &'g Matrix) -> Held {
        self.tape.reset();
        let side = Side {
            state: own.state.on(self.tape),
            sent: own.sent.as_ref().map(|sent| sent.on(self.tape)),
        };
        let theirs = theirs.on(self.tape);
        let side = self.matcher.meet(self.tape, step, &[graph], &[side], &[theirs], None);
        Held::of(self.tape, side[0])
    }

    /// See [`Matcher::score`].
    pub fn score(&mut self, first: &'g Matrix, second: &'g Matrix) -> f32 {
        self.tape.reset();
        let (first, second) = (first.on(self.tape), second.on(self.tape));
        let score = self.matcher.score(self.tape, first, second);
        self.tape.scalar(score)
    }

    /// What both devices of a pair send, from what each has begun with: every exchange on one tape.
    pub fn exchange(&mut self, graphs: [&'g Input; 2], begun: [&'g Held; 2]) -> Exchanged {
        self.tape.reset();
        let mut sides = begun.map(|held| Side {
            state: held.state.on(self.tape),
            sent: held.sent.as_ref().map(|sent| sent.on(self.tape)),
        });
        let mut sent: [Vec<Var>; 2] = Default::default();
        exchange(self.matcher, self.tape, &graphs, &mut sides, None, |messages| {
            for (sent, message) in sent.iter_mut().zip(messages) {
                sent.push(*message);
            }
        });
        // One message alone is what was begun with.
        let several = self.matcher.n_exchanges() > 1;
        let all = |messages: Vec<Var>| messages.into_iter().map(|var| Matrix::of(self.tape, var)).collect();
        Exchanged {
            sent: several.then(|| sent.map(all)),
            results: sides.map(|side| Matrix::of(self.tape, side.state)),
        }
    }
}

/// What two devices send.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchanged {
    /// Where each sends the other several messages: all of each.
    pub sent: Option<[Vec<Matrix>; 2]>,
    /// The messages to the service.
    pub results: [Matrix; 2],
}

/// Runs every exchange of pairs on one tape; the two sides of a pair follow each other. `each` gets
/// the messages of each exchange.
pub(crate) fn exchange<'g>(
    matcher: &'g dyn Matcher,
    tape: &mut Tape<'g>,
    graphs: &[&'g Input],
    sides: &mut [Side],
    mut drops: Drops<'_>,
    mut each: impl FnMut(&[Var]),
) {
    for step in 0..matcher.n_exchanges() {
        let sent = |side: &Side| side.sent.expect("a model that exchanges sends something");
        let sent: Vec<Var> = sides.iter().map(sent).collect();
        each(&sent);
        let theirs: Vec<Var> = (0..sides.len()).map(|at| sent[at ^ 1]).collect();
        let met = matcher.meet(tape, step, graphs, sides, &theirs, drops.as_deref_mut());
        sides.copy_from_slice(&met);
    }
}
