//! PPGM's choices, as a card names them.

use serde::{Deserialize, Serialize};

/// Which set of options a card starts from; single options override it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// The paper's text: 223,300 parameters at the default sizes, an eavesdropper who reads one of the two messages at random.
    AsPrinted,
    /// The authors' code: a feed-forward block after each attention, an LSTM in both directions, arcs in their own direction,
    /// batches padded without a mask, another attacker.
    ///
    /// Not followed: there codes begin as uniform draws of 0..1, a batch is of five graphs that follow each other in the order of
    /// functions, the first graphs of a batch are padded apart from the second ones, and the head for similarities has one layer more.
    AsReleased,
    /// The text, with every graph on its own, and an eavesdropper who reads both messages.
    #[default]
    Corrected,
}

/// What is learned and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Model {
    /// Context codes, matching by attention, obfuscation.
    #[default]
    Ppgm,
    /// PPGM whose obfuscated representation is made with a device's own message in place of the other's.
    NoObfuscation,
    /// PPGM whose message is the mean of the nodes.
    NoCodes,
    /// PPGM whose match is the mean of the nodes.
    NoMatching,
    /// A siamese network that compares graph vectors: each device sends one to the service.
    Sgnn,
    /// The same with Laplace noise on every number that is sent.
    SgnnLdp {
        /// The noise's scale, greater than 0, within 1e-6..=1e6. Default 0.01: the paper gives none, and on OpenSSL `[50,200]` this
        /// one costs about as much similarity as its table says.
        #[serde(default = "hundredth")]
        scale: f64,
    },
    /// SimGNN (Bai et al., WSDM 2019): each device sends its nodes and its graph vector to the service.
    SimGnn,
    /// A graph matching network (Li et al., ICML 2019): devices exchange their nodes in every layer.
    Gmn,
    /// GraphSim (Bai et al., AAAI 2020): each device sends its nodes of all layers to the service.
    GraphSim,
    /// MGMN (Ling et al., TNNLS 2021): devices exchange their nodes once.
    Mgmn,
    /// H2MN (Zhang et al., KDD 2021): devices exchange a vector for each node's neighbourhood in every layer.
    H2mn,
}

fn hundredth() -> f64 {
    0.01
}

/// The layers that nodes go through first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Convolution {
    /// Graph convolution.
    #[default]
    Gcn,
    /// Graph isomorphism layers.
    Gin,
}

/// How two obfuscated representations become a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Head {
    /// Their cosine.
    #[default]
    Cosine,
    /// The sigmoid of a perceptron of both: for similarities in 0..=1.
    Regression,
}

/// What a cosine is trained towards; heads that give probabilities always have the targets 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Targets {
    /// 1 and -1.
    #[default]
    PlusMinusOne,
    /// 1 and 0.
    ZeroOne,
}

/// What training does with graphs of different sizes in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Padding {
    /// Each is on its own, which is what a mask comes to.
    #[default]
    Masked,
    /// Each gets isolated nodes of zeros up to the largest of its batch, and attention reads them.
    Unmasked,
}

/// Sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Size {
    /// Hidden width d, 4..=1024. Default 100.
    pub hidden: u32,
    /// Layers of the encoder L, 1..=16. Default 3.
    pub layers: u32,
    /// Context codes m, 1..=256. Default 8.
    pub codes: u32,
    /// Heads of attention; they divide `hidden`. Default 4.
    pub heads: u32,
}

impl Default for Size {
    fn default() -> Self {
        Size {
            hidden: 100,
            layers: 3,
            codes: 8,
            heads: 4,
        }
    }
}

/// What the text and the released code do differently.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// The encoder's layers. Default `Gcn`.
    pub convolution: Convolution,
    /// The width of the feed-forward block after each attention, none if 0; at most 8192. By the variant 0 or 1024.
    pub feed_forward: u32,
    /// The share of a layer's numbers that training drops, 0..1. By the variant 0 or 0.1.
    pub dropout: f32,
    /// The obfuscation reads codes in both orders, and sends twice as much. By the variant false or true.
    pub bidirectional: bool,
    /// Nodes propagate to themselves. By the variant true or false.
    pub self_loops: bool,
    /// A node reads its successors alone, as the released code's matrix of successors has it. By the variant false or true.
    pub directed: bool,
    /// What a batch does. By the variant `Masked` or `Unmasked`.
    pub padding: Padding,
    /// How scores are made. Default `Cosine`.
    pub head: Head,
    /// What scores are trained towards. Default `PlusMinusOne`.
    pub targets: Targets,
}

/// The same as a card writes it: what it leaves open goes by the variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Form")]
pub(super) struct WrittenForm {
    convolution: Convolution,
    feed_forward: Option<u32>,
    dropout: Option<f32>,
    bidirectional: Option<bool>,
    self_loops: Option<bool>,
    directed: Option<bool>,
    padding: Option<Padding>,
    head: Head,
    targets: Targets,
}

impl WrittenForm {
    pub(super) fn resolve(self, variant: Variant) -> Form {
        let released = variant == Variant::AsReleased;
        Form {
            convolution: self.convolution,
            feed_forward: self.feed_forward.unwrap_or(if released { 1024 } else { 0 }),
            dropout: self.dropout.unwrap_or(if released { 0.1 } else { 0.0 }),
            bidirectional: self.bidirectional.unwrap_or(released),
            self_loops: self.self_loops.unwrap_or(!released),
            directed: self.directed.unwrap_or(released),
            padding: self.padding.unwrap_or(match released {
                true => Padding::Unmasked,
                false => Padding::Masked,
            }),
            head: self.head,
            targets: self.targets,
        }
    }
}

impl From<Form> for WrittenForm {
    fn from(form: Form) -> Self {
        WrittenForm {
            convolution: form.convolution,
            feed_forward: Some(form.feed_forward),
            dropout: Some(form.dropout),
            bidirectional: Some(form.bidirectional),
            self_loops: Some(form.self_loops),
            directed: Some(form.directed),
            padding: Some(form.padding),
            head: form.head,
            targets: form.targets,
        }
    }
}

impl Form {
    /// What a variant says.
    pub fn of(variant: Variant) -> Form {
        WrittenForm::default().resolve(variant)
    }
}
