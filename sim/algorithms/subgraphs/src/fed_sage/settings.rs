//! The settings of FedSage and FedSage+, as cards write them.

use crate::codec;
use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::{self, Encoder, Inputs, LocalOptimiser, Model, Scale, Split, Training};
use folkmoot_codecs::Codec;
use folkmoot_learning::{Adam, Decay, Optimiser};
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Protocol, Secure, Trains, Weighting};

/// Why clients cannot be hidden who train generators.
pub(super) const TOLD: &str = "clients also tell generators, embeddings and gradients in the first round, which no clip bounds; set generator: Off";

/// The parameters of FedSage.
#[component(
    name = "FedSage",
    about = "federated averaging of GraphSAGE on the pieces of a cut graph, as they are or mended by generated neighbours (NeurIPS 2021)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Whether clients make up neighbours for their nodes before they train.
    pub generator: Generator,
    /// The network that all train.
    #[component(default = Model { encoder: Encoder::Sage, hidden: 64, dropout: 0.5, ..Model::default() })]
    pub model: Model,
    /// Local training: epochs, batch size, optimiser.
    #[component(default = Training { optimiser: LocalOptimiser::Adam, epochs: 1, learning_rate: 0.001, batch_size: Some(32), ..Training::default() })]
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Who trains, validates and tests, in both phases. A generator hides nodes that validate.
    #[component(default = Split::Shares { train: 0.6, validation: 0.2 })]
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs. With a generator the first trains no
    /// classifier.
    #[component(default = Protocol { rounds: 50, weighting: Weighting::Uniform, ..Protocol::default() })]
    pub protocol: Protocol,
    /// Who asks, when the run is over, what the training has given away; clients answer from what
    /// they hold and have made up.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// Whether clients make up neighbours for their nodes before they train.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// They do not: FedSage, which is federated averaging on the cut graph.
    #[default]
    Off,
    /// Each trains a generator of missing neighbours (NeighGen), by itself and then by what it
    /// makes of its rows at other clients, and fills its graph: FedSage+.
    Trained {
        /// The share of the validation nodes that a client hides from itself, to learn what is
        /// missing.
        #[component(default = 0.5, in = 0..=1)]
        hidden_portion: f64,
        /// The most neighbours that are made for a node. With 0 none is, and nothing is exchanged.
        #[component(default = 5, in = 0..=64)]
        num_pred: u32,
        /// The width of the first layers of the encoder and of the classifier that the generator
        /// learns with.
        #[component(default = 32, in = 1..=4_096)]
        encoder_hidden: u32,
        /// Numbers of a node's embedding.
        #[component(default = 128, in = 1..=4_096)]
        latent: u32,
        /// The width of the first layer that makes features of an embedding.
        #[component(default = 256, in = 1..=65_536)]
        first_width: u32,
        /// The width of the second.
        #[component(default = 2_048, in = 1..=65_536)]
        second_width: u32,
        /// The standard deviation of the noise that is added to an embedding before features are
        /// made of it.
        #[component(default = 1.0, at_least = 0, f32)]
        noise: f64,
        /// The weight of the loss of counts.
        #[component(default = 1.0, at_least = 0, f32)]
        a: f64,
        /// The weight of the loss of features, at the client and at others.
        #[component(default = 1.0, at_least = 0, f32)]
        b: f64,
        /// The weight of the loss of classes on the mended graph.
        #[component(default = 1.0, at_least = 0, f32)]
        c: f64,
        /// Steps over all training nodes that a client makes by itself.
        #[component(default = 20, in = 0..=100_000)]
        epochs: u32,
        /// Steps with the other clients after that, each of which sends a generator to all of them
        /// and a gradient back; with 0 a generator knows its own client alone.
        #[component(default = 20, in = 0..=100_000)]
        steps: u32,
        /// Adam's rate.
        #[component(default = 0.001, above = 0, f32, alias = "rate")]
        learning_rate: f64,
        /// Times the weight, added to its gradient.
        #[component(default = 0.0001, at_least = 0, f32)]
        weight_decay: f64,
        /// The probability that a hidden number is dropped in a step.
        #[component(default = 0.5, in = 0..1)]
        dropout: f64,
        /// How generators, embeddings and gradients are sent: as they are, or with fewer bits a
        /// number; numbers of neighbours go as they are. A gradient that is packed takes the bytes
        /// that are counted of it, where one as it is is held as its factors: at the authors' size
        /// on Cora 30 MB each with Half, of which twenty clients have 380 in a step, and the server
        /// reads those of one generator at once, of 61 MB each.
        codec: Chosen<dyn Codec>,
    },
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let has_generator = matches!(self.generator, Generator::Trained { num_pred: 1.., .. });
        let rule = "must be Off with a generator, whose gradients the server adds up one by one; or set generator: Off";
        let is_plain = self.protocol.secure == Secure::Off;
        rules.require(!has_generator || is_plain, "protocol.secure", rule.to_owned());
        let rule = "must read edges, which Mlp does not, where a generator makes neighbours; or set generator: Off";
        let reads_edges = self.model.encoder != Encoder::Mlp;
        rules.require(!has_generator || reads_edges, "model.encoder", rule.to_owned());
        codec::require(&self.generator.codec(), "generator.codec", rules);
        let trains = classifier::trains(&self.model, &self.training, Scale::Raw);
        let trains = Trains {
            opens: has_generator,
            sends_model_alone: if has_generator {
                Err(TOLD)
            } else {
                trains.sends_model_alone
            },
            ..trains
        };
        self.protocol.suits(&trains, rules);
    }
}

/// What generators do, by settings and facts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) hidden_portion: f64,
    pub(super) n_made: usize,
    pub(super) encoder_hidden: usize,
    pub(super) latent: usize,
    pub(super) widths: [usize; 2],
    pub(super) noise: f32,
    /// Of counts, features and classes.
    pub(super) weights: [f32; 3],
    pub(super) epochs: u32,
    pub(super) steps: u32,
    pub(super) optimiser: Optimiser,
    pub(super) dropout: f32,
    pub(super) n_features: usize,
    pub(super) n_classes: usize,
    pub(super) n_clients: u32,
}

impl Generator {
    /// Of what is exchanged.
    pub(super) fn codec(&self) -> Chosen<dyn Codec> {
        match self {
            Generator::Off => Chosen::default(),
            Generator::Trained { codec, .. } => codec.clone(),
        }
    }

    /// For so many features, classes and clients; `None` where no neighbour is ever made.
    pub(super) fn plan(&self, n_features: u32, n_classes: u32, n_clients: u32) -> Option<Plan> {
        match *self {
            Generator::Off | Generator::Trained { num_pred: 0, .. } => None,
            Generator::Trained {
                hidden_portion,
                num_pred,
                encoder_hidden,
                latent,
                first_width,
                second_width,
                noise,
                a,
                b,
                c,
                epochs,
                steps,
                learning_rate: rate,
                weight_decay,
                dropout,
                codec: _,
            } => Some(Plan {
                hidden_portion,
                n_made: num_pred as usize,
                encoder_hidden: encoder_hidden as usize,
                latent: latent as usize,
                widths: [first_width as usize, second_width as usize],
                noise: noise as f32,
                weights: [a as f32, b as f32, c as f32],
                epochs,
                steps,
                optimiser: Optimiser::Adam(Adam {
                    learning_rate: rate as f32,
                    decay: Decay::L2(weight_decay as f32),
                    ..Adam::default()
                }),
                dropout: dropout as f32,
                n_features: n_features as usize,
                n_classes: n_classes as usize,
                n_clients,
            }),
        }
    }
}
