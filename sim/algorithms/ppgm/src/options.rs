//! PPGM's choices, as a card names them.

mod attack;
mod training;

pub use attack::{Attack, Inferred, Intercept, Partner, ShadowOf, Thorough};
pub use training::{Choice, Deployment, Split, Training};

use folkmoot_parts::{Rules, component};
use folkmoot_privacy::{Laplace, LaplaceError};

/// Preset of options; the card's own options override it.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As in the paper: 223,300 parameters at the default sizes; the eavesdropper reads one of the
    /// two messages at random.
    #[component(sets("attack.intercept=Random"))]
    #[component(alias = "AsPrinted")]
    AsPublished,
    /// As in the authors' code: feed-forward block after each attention, bidirectional LSTM,
    /// directed arcs, padded batches without a mask, a different attacker.
    ///
    /// Not reproduced from that code: codes initialised uniformly in 0..1; batches of five
    /// consecutive graphs in the order of functions; separate padding of first and second graphs;
    /// one more layer in the similarity head.
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
    /// As in the paper, with each graph processed on its own and an eavesdropper who reads both
    /// messages.
    #[default]
    Corrected,
}

/// Matching model: what is trained and sent.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Context codes, attention matching, obfuscation.
    #[default]
    Ppgm,
    /// PPGM without obfuscation: the representation uses the device's own message in place of the
    /// other's.
    NoObfuscation,
    /// PPGM without context codes: the message is the mean of the node embeddings.
    NoCodes,
    /// PPGM without attention matching: the match is the mean of the node embeddings.
    NoMatching,
    /// Siamese network on graph embeddings: each device sends one embedding to the service.
    Sgnn,
    /// SGNN with Laplace noise on every number that is sent.
    SgnnLdp {
        /// Scale of the Laplace noise. The paper states none; on OpenSSL `[50,200]` the default
        /// costs about the similarity AUC of its table.
        #[component(default = 0.01, above = 0, in = 1e-6..=1e6)]
        scale: f64,
    },
    /// SGNN with embeddings normalised to length 1 and Laplace noise calibrated to ε, which the
    /// paper's noise is not. The cosine ignores length.
    SgnnPrivate {
        /// Privacy budget ε of one message; neighbouring inputs are any two graphs. The noise scale
        /// is `2 √d / epsilon`.
        #[component(default = 100.0, above = 0, in = 1e-3..=1e9)]
        epsilon: f64,
        /// Whether training uses this noise too: one draw per graph and step.
        in_training: bool,
    },
    /// SimGNN (Bai et al., WSDM 2019): each device sends its node embeddings and its graph
    /// embedding to the service.
    SimGnn,
    /// Graph matching network (Li et al., ICML 2019): devices exchange node embeddings in every
    /// layer.
    Gmn,
    /// GraphSim (Bai et al., AAAI 2020): each device sends the node embeddings of all layers to the
    /// service.
    GraphSim,
    /// MGMN (Ling et al., TNNLS 2021): devices exchange node embeddings once.
    Mgmn,
    /// H2MN (Zhang et al., KDD 2021): devices exchange one embedding per node neighbourhood in
    /// every layer.
    H2mn,
    /// EGSC's teacher (Qin et al., NeurIPS 2021): each device sends one embedding for each of three
    /// levels, or the node embeddings of each level.
    EgscTeacher {
        /// What a device sends.
        sends: Sends,
    },
    /// EGSC's student: each device sends the embeddings of three levels; the service fuses those of
    /// two.
    EgscStudent {
        /// Distillation loss. The teacher is trained before the student in the same way.
        distillation: Distillation,
    },
}

impl Model {
    /// 2 for models that compute the pairs of a batch together, since their gradients are sums in
    /// another order.
    pub(super) fn results_version(self) -> u32 {
        match self {
            Model::Mgmn | Model::H2mn => 2,
            _ => 1,
        }
    }

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

/// What a device of EGSC's teacher sends.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// The graph embedding of each level, which is all that the service needs.
    #[default]
    Graph,
    /// The node embeddings of each level, as in the table of the PPGM paper; the service pools
    /// them.
    Nodes,
}

/// Distillation loss between the pair embeddings of student and teacher, each minus those of a
/// graph paired with itself.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distillation {
    /// None: no teacher.
    None,
    /// Elementwise difference.
    Values,
    /// Pairwise distances between the pairs of a batch.
    Distances,
    /// Angles between triples of pairs in a batch.
    Angles,
    /// Elementwise difference and distances, weighted equally.
    #[default]
    Both,
}

/// Normalisation after each EGSC layer.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Batch norm over all nodes of a batch; running statistics at inference.
    #[default]
    Batch,
    /// Layer norm per node.
    Layer,
    /// No normalisation.
    None,
}

/// Sizes and options of EGSC. Widths are multiples of 4, since gates reduce them to a quarter.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Egsc {
    /// Width of the first layer.
    #[component(default = 64, in = 4..=1_024)]
    pub first: u32,
    /// Width of the second layer.
    #[component(default = 32, in = 4..=1_024)]
    pub second: u32,
    /// Width of the third layer.
    #[component(default = 16, in = 4..=1_024)]
    pub third: u32,
    /// Width of a pair's joint embedding.
    #[component(default = 16, in = 1..=1_024)]
    pub bottleneck: u32,
    /// Normalisation after each layer.
    pub norm: Norm,
    /// Average the score over both orders of a pair; otherwise the score depends on the order.
    pub symmetric: bool,
    /// The student's score is the cosine of the two embeddings that are sent: SGNN with three
    /// levels.
    pub cosine: bool,
    /// Train the student's second head, which predicts a pair's target from the pair embedding
    /// minus the self-pair embedding of each graph. In the authors' code a bug replaces its loss by
    /// that of the first head, which counts twice. If false, the head is omitted and the first loss
    /// counts twice.
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

/// What the score predicts.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Whether two graphs have the same class.
    #[default]
    Classes,
    /// Similarity of two small graphs by exact graph edit distance. Training, validation and test
    /// sets are split by class all the same.
    EditDistance {
        /// Give ties their mean rank and correct correlations for ties; otherwise ties rank in the
        /// order of graphs.
        average_ranks: bool,
    },
}

/// Graph layers of the encoder.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convolution {
    /// Graph convolution (GCN).
    #[default]
    Gcn,
    /// Graph isomorphism network (GIN).
    Gin,
}

/// How two obfuscated representations are scored.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Cosine similarity.
    #[default]
    Cosine,
    /// Sigmoid of a multilayer perceptron over both, for similarities in 0..=1.
    Regression,
}

/// Training targets of the cosine; heads that output probabilities always use 0 and 1.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// 1 and -1.
    #[default]
    PlusMinusOne,
    /// 1 and 0.
    ZeroOne,
}

/// Padding of graphs with different sizes in a training batch.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Each graph is processed on its own, equivalent to a padding mask.
    #[default]
    Masked,
    /// Each graph is padded with isolated zero nodes to the largest of its batch, and attention
    /// includes them.
    Unmasked,
}

/// Model sizes.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Hidden width d.
    #[component(default = 100, in = 4..=1_024)]
    pub hidden: u32,
    /// Number of encoder layers L.
    #[component(default = 3, in = 1..=16)]
    pub layers: u32,
    /// Number of context codes m.
    #[component(default = 8, in = 1..=256)]
    pub codes: u32,
    /// Number of attention heads; must divide `hidden`.
    #[component(default = 4, in = 1..=1_024)]
    pub heads: u32,
}

/// Options in which the paper and the released code differ.
#[component(rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// Graph layers of the encoder.
    pub convolution: Convolution,
    /// Width of the feed-forward block after each attention; 0 for none.
    #[component(default = 0, in = 0..=8_192)]
    pub feed_forward: u32,
    /// Dropout probability in training.
    #[component(default = 0.0, in = 0..1)]
    pub dropout: f32,
    /// Bidirectional LSTM in the obfuscation; doubles the message size.
    pub bidirectional: bool,
    /// Apply such a feed-forward block of width `feed_forward` to SGNN's embedding too; the paper
    /// does not.
    pub sgnn_block: bool,
    /// Add self-loops to the propagation.
    #[component(default = true)]
    pub self_loops: bool,
    /// Aggregate from successors only, as in the released code's adjacency matrix.
    pub directed: bool,
    /// Padding of training batches.
    pub padding: Padding,
    /// Scoring head.
    pub head: Head,
    /// Training targets.
    pub targets: Targets,
    /// Sizes and options of EGSC.
    pub egsc: Egsc,
}

impl Form {
    fn rules(&self, rules: &mut Rules) {
        let rule = "needs feed_forward above 0, the width of the block (1024 in the released code)";
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
