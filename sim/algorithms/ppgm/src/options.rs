//! PPGM's choices, as a card names them.

mod attack;
mod training;

pub use attack::{Attack, Inferred, Intercept, Partner, ShadowOf, Thorough};
pub use training::{Choice, Deployment, Split, Training};

use folkmoot_parts::{Rules, component};
use folkmoot_privacy::{Laplace, LaplaceError};

/// Which set of options a card starts from; single options override it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The paper's text: 223,300 parameters at the default sizes, an eavesdropper who reads one of
    /// the two messages at random.
    #[component(sets("attack.intercept=Random"))]
    #[component(alias = "AsPrinted")]
    AsPublished,
    /// The authors' code: a feed-forward block after each attention, an LSTM in both directions,
    /// arcs in their own direction, batches padded without a mask, another attacker.
    ///
    /// Not followed: there codes begin as uniform draws of 0..1, a batch is of five graphs that
    /// follow each other in the order of functions, the first graphs of a batch are padded apart
    /// from the second ones, and the head for similarities has one layer more.
    #[component(sets(
        "form.feed_forward=1024",
        "form.dropout=0.1",
        "form.bidirectional=true",
        "form.self_loops=false",
        "form.directed=true",
        "form.padding=Unmasked",
        "attack.shadow_of=Classes",
        "attack.standardise=false",
        "attack.layers=2",
        "attack.learning_rate=0.0005",
        "attack.batch=10",
        "attack.choice=BestValidation"
    ))]
    AsReleased,
    /// The text, with every graph on its own, and an eavesdropper who reads both messages.
    #[default]
    Corrected,
}

/// What is learned and sent.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Context codes, matching by attention, obfuscation.
    #[default]
    Ppgm,
    /// PPGM whose obfuscated representation is made with a device's own message in place of the
    /// other's.
    NoObfuscation,
    /// PPGM whose message is the mean of the nodes.
    NoCodes,
    /// PPGM whose match is the mean of the nodes.
    NoMatching,
    /// A siamese network that compares graph vectors: each device sends one to the service.
    Sgnn,
    /// The same with Laplace noise on every number that is sent.
    SgnnLdp {
        /// The noise's scale. The paper gives none; on OpenSSL `[50,200]` the default costs about
        /// as much similarity as its table says.
        #[component(default = 0.01, above = 0, in = 1e-6..=1e6)]
        scale: f64,
    },
    /// SGNN whose vectors have length 1 and leave their device with Laplace noise that makes each
    /// private: the noise that a budget asks for, where the paper's has none. A cosine does not see
    /// a length.
    SgnnPrivate {
        /// The budget of one message, for one graph against any other: the noise has scale
        /// `2 √d / epsilon`.
        #[component(default = 100.0, above = 0, in = 1e-3..=1e9)]
        epsilon: f64,
        /// Whether training sees such noise, too: one draw for each graph and step.
        in_training: bool,
    },
    /// SimGNN (Bai et al., WSDM 2019): each device sends its nodes and its graph vector to the
    /// service.
    SimGnn,
    /// A graph matching network (Li et al., ICML 2019): devices exchange their nodes in every
    /// layer.
    Gmn,
    /// GraphSim (Bai et al., AAAI 2020): each device sends its nodes of all layers to the service.
    GraphSim,
    /// MGMN (Ling et al., TNNLS 2021): devices exchange their nodes once.
    Mgmn,
    /// H2MN (Zhang et al., KDD 2021): devices exchange a vector for each node's neighbourhood in
    /// every layer.
    H2mn,
    /// EGSC's teacher (Qin et al., NeurIPS 2021): each device sends a vector for each of three
    /// levels, or its nodes of them.
    EgscTeacher {
        /// What leaves a device.
        sends: Sends,
    },
    /// EGSC's student: each device sends the vectors of three levels, and the service fuses those
    /// of two.
    EgscStudent {
        /// What it learns from a teacher, who is trained before it in the same way.
        distillation: Distillation,
    },
}

impl Model {
    /// The form in which this model reads graphs: EGSC's layers add neighbours up.
    pub(super) fn reads(self, form: Form) -> Form {
        match self {
            Model::EgscTeacher { .. } | Model::EgscStudent { .. } => Form {
                convolution: Convolution::Gin,
                ..form
            },
            _ => form,
        }
    }

    /// What this model learns from a teacher.
    pub(super) fn distillation(self) -> Distillation {
        match self {
            Model::EgscStudent { distillation } => distillation,
            _ => Distillation::None,
        }
    }

    /// What vectors of `hidden` numbers leave their device with.
    pub(super) fn noise(self, hidden: u32) -> Result<Option<Noise>, LaplaceError> {
        let (law, epsilon) = match self {
            Model::SgnnLdp { scale } => (Laplace::new(scale)?, None),
            Model::SgnnPrivate { epsilon, .. } => {
                // Two vectors of length 1 are at most 2 apart, and their d numbers together at most
                // the root of d times that.
                let sensitivity = 2.0 * f64::from(hidden).sqrt();
                (Laplace::for_epsilon(epsilon, sensitivity)?, Some(epsilon))
            }
            _ => return Ok(None),
        };
        Ok(Some(Noise { law, epsilon }))
    }
}

/// Laplace noise on what goes to the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    pub law: Laplace,
    /// The budget that it keeps, where the numbers are of a vector of length 1; others have no
    /// bound, and no budget follows.
    pub epsilon: Option<f64>,
}

/// What leaves a device of EGSC's teacher.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// The vector of each level, which is all that the service needs.
    #[default]
    Graph,
    /// The nodes of each level, as the table of PPGM's paper has it: the service pools them.
    Nodes,
}

/// In what a student's vectors of pairs, less those of a graph with itself, should be like its
/// teacher's.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distillation {
    /// In nothing: there is no teacher.
    None,
    /// Number by number.
    Values,
    /// In the distances between the pairs of a batch.
    Distances,
    /// In the angles between three pairs of a batch.
    Angles,
    /// In numbers and in distances, half as much each.
    #[default]
    Both,
}

/// What follows each layer of EGSC.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Batch norm over all nodes of a batch, with running statistics in use.
    #[default]
    Batch,
    /// Layer norm of each node.
    Layer,
    /// Nothing.
    None,
}

/// EGSC's sizes and forms; widths are multiples of 4, since gates narrow them to a quarter.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Egsc {
    /// The width of the first layer.
    #[component(default = 64, in = 4..=1_024)]
    pub first: u32,
    /// That of the second.
    #[component(default = 32, in = 4..=1_024)]
    pub second: u32,
    /// That of the third.
    #[component(default = 16, in = 4..=1_024)]
    pub third: u32,
    /// That of a pair's joint vector.
    #[component(default = 16, in = 1..=1_024)]
    pub bottleneck: u32,
    /// What follows each layer.
    pub norm: Norm,
    /// The score is the mean of both orders of a pair, which differ otherwise.
    pub symmetric: bool,
    /// The student's score is the cosine of the two vectors that are sent: SGNN with three levels.
    pub cosine: bool,
    /// The student has a second head, which tells a pair's target from what of its vector is not of
    /// either graph alone, and learns by the error of both. The authors' program has this head too,
    /// and by a slip puts the first one's error in its place, twice, so that it never learns: off,
    /// it is left out and that error counts twice.
    pub rec_head: bool,
}

impl Egsc {
    /// The widths of the three layers.
    pub(super) fn widths(&self) -> [usize; 3] {
        [self.first, self.second, self.third].map(|width| width as usize)
    }

    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        for (name, width) in [("first", self.first), ("second", self.second), ("third", self.third)] {
            let rule = format!("must be a multiple of 4, got {width}");
            rules.require(width.is_multiple_of(4), name, rule);
        }
    }
}

/// What scores are to say.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Whether two graphs are of one class.
    #[default]
    Classes,
    /// How similar two small graphs are by their exact edit distance. Who trains, validates and
    /// tests goes by classes all the same.
    EditDistance {
        /// Ties rank as the mean of their places, and correlations are corrected for them; else
        /// they rank in the order of graphs.
        average_ranks: bool,
    },
}

/// The layers that nodes go through first.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convolution {
    /// Graph convolution.
    #[default]
    Gcn,
    /// Graph isomorphism layers.
    Gin,
}

/// How two obfuscated representations become a score.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Their cosine.
    #[default]
    Cosine,
    /// The sigmoid of a perceptron of both: for similarities in 0..=1.
    Regression,
}

/// What a cosine is trained towards; heads that give probabilities always have the targets 0 and 1.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// 1 and -1.
    #[default]
    PlusMinusOne,
    /// 1 and 0.
    ZeroOne,
}

/// What training does with graphs of different sizes in a batch.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Each is on its own, which is what a mask comes to.
    #[default]
    Masked,
    /// Each gets isolated nodes of zeros up to the largest of its batch, and attention reads them.
    Unmasked,
}

/// Sizes of a model.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Hidden width d.
    #[component(default = 100, in = 4..=1_024)]
    pub hidden: u32,
    /// Layers of the encoder L.
    #[component(default = 3, in = 1..=16)]
    pub layers: u32,
    /// Context codes m.
    #[component(default = 8, in = 1..=256)]
    pub codes: u32,
    /// Heads of attention; they divide `hidden`.
    #[component(default = 4, in = 1..=1_024)]
    pub heads: u32,
}

/// What the text and the released code do differently.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// The encoder's layers.
    pub convolution: Convolution,
    /// The width of the feed-forward block after each attention, none if 0.
    #[component(default = 0, in = 0..=8_192)]
    pub feed_forward: u32,
    /// The share of a layer's numbers that training drops.
    #[component(default = 0.0, in = 0..1)]
    pub dropout: f32,
    /// The obfuscation reads codes in both orders, and sends twice as much.
    pub bidirectional: bool,
    /// SGNN's vector goes through such a block as well, of the width of `feed_forward`; the paper's
    /// does not.
    pub sgnn_block: bool,
    /// Nodes propagate to themselves.
    #[component(default = true)]
    pub self_loops: bool,
    /// A node reads its successors alone, as the released code's matrix of successors has it.
    pub directed: bool,
    /// What a batch does.
    pub padding: Padding,
    /// How scores are made.
    pub head: Head,
    /// What scores are trained towards.
    pub targets: Targets,
    /// EGSC's sizes and forms.
    pub egsc: Egsc,
}

impl Form {
    fn rules(&self, rules: &mut Rules) {
        let rule = "needs the width of its feed-forward layer: set feed_forward, 1024 in the released code";
        rules.require(!self.sgnn_block || self.feed_forward > 0, "sgnn_block", rule);
    }
}

impl Size {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let (heads, hidden) = (self.heads, self.hidden);
        let rule = format!("must divide hidden, {hidden}, got {heads}");
        rules.require(heads > 0 && hidden.is_multiple_of(heads.max(1)), "heads", rule);
    }
}
