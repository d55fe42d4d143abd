//! The settings of FedSage and FedSage+, as cards write them.

use crate::codec;
use folkmoot_classifiers::attacks::Attack;
use folkmoot_classifiers::classifier::graph_layers::{Propagation, Sage};
use folkmoot_classifiers::classifier::{self, Inputs, LocalOptimiser, Model, Scale, Split, Training};
use folkmoot_codecs::Codec;
use folkmoot_learning::{Adam, Decay, Optimiser};
use folkmoot_parts::{Chosen, Rules, component};
use folkmoot_rounds::{Protocol, Secure, Trains, Weighting};

/// Why clients cannot be hidden who train generators.
pub(super) const TOLD: &str = "clients also send generators, embeddings and gradients in the first round, which clipping of updates does not bound; set generator: Off";

/// The parameters of FedSage.
#[component(
    name = "FedSage",
    about = "federated averaging of GraphSAGE on subgraphs, optionally with generated missing neighbours (NeurIPS 2021)",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Whether clients generate missing neighbours before training.
    pub generator: Generator,
    /// Network trained by all clients.
    #[component(default = Model { encoder: Chosen::new(Sage {}), hidden: 64, dropout: 0.5, ..Model::default() })]
    pub model: Model,
    /// Local training: epochs, batch size, optimiser. Generators learn by the paper's losses,
    /// whatever `loss` is.
    #[component(default = Training { optimiser: LocalOptimiser::Adam, epochs: 1, learning_rate: 0.001, batch_size: Some(32), ..Training::default() })]
    pub training: Training,
    /// Node features.
    pub inputs: Inputs,
    /// Training, validation and test sets of both phases. A generator hides validation nodes.
    #[component(default = Split::Shares { train: 0.6, validation: 0.2 })]
    pub split: Split,
    /// Rounds: aggregation, server optimizer, privacy, codecs. With a generator, the first round
    /// trains no classifier.
    #[component(default = Protocol { rounds: 50, weighting: Weighting::Uniform, ..Protocol::default() })]
    pub protocol: Protocol,
    /// Attacks on the trained model after the run; clients evaluate it on their data and generated
    /// neighbours.
    pub attacks: Vec<Chosen<dyn Attack>>,
}

/// Whether clients generate missing neighbours before training.
#[component]
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// No generated neighbours: FedSage, federated averaging on the cut graph.
    #[default]
    Off,
    /// FedSage+: each client trains a generator of missing neighbours (NeighGen), first locally and
    /// then with gradients from other clients, and completes its graph.
    Trained {
        /// Fraction of the validation nodes that a client hides to train the generator.
        #[component(default = 0.5, in = 0..=1)]
        hidden_portion: f64,
        /// Maximum number of neighbours generated per node; 0: none, and nothing is exchanged.
        #[component(default = 5, in = 0..=64)]
        num_pred: u32,
        /// Width of the first layer of the encoder and of the classifier trained with the
        /// generator.
        #[component(default = 32, in = 1..=4_096)]
        encoder_hidden: u32,
        /// Dimension of a node embedding.
        #[component(default = 128, in = 1..=4_096)]
        latent: u32,
        /// Width of the first layer of the feature decoder.
        #[component(default = 256, in = 1..=65_536)]
        first_width: u32,
        /// Width of the second layer of the feature decoder.
        #[component(default = 2_048, in = 1..=65_536)]
        second_width: u32,
        /// Standard deviation of the noise added to an embedding before decoding.
        #[component(default = 1.0, at_least = 0, f32)]
        noise: f64,
        /// Weight of the loss of neighbour counts.
        #[component(default = 1.0, at_least = 0, f32)]
        a: f64,
        /// Weight of the feature loss, local and at other clients.
        #[component(default = 1.0, at_least = 0, f32)]
        b: f64,
        /// Weight of the classification loss on the completed graph.
        #[component(default = 1.0, at_least = 0, f32)]
        c: f64,
        /// Local full-batch steps of the generator.
        #[component(default = 20, in = 0..=100_000)]
        epochs: u32,
        /// Federated steps after that: in each step every client sends its generator to all others
        /// and receives a gradient. With 0 a generator is trained locally only.
        #[component(default = 20, in = 0..=100_000)]
        steps: u32,
        /// Learning rate (Adam).
        #[component(default = 0.001, above = 0, f32, alias = "rate")]
        learning_rate: f64,
        /// Weight decay (L2).
        #[component(default = 0.0001, at_least = 0, f32)]
        weight_decay: f64,
        /// Dropout probability in training.
        #[component(default = 0.5, in = 0..1)]
        dropout: f64,
        /// Codec of generators, embeddings and gradients; neighbour counts are sent uncompressed.
        /// Memory: an encoded gradient takes its encoded size, an uncompressed one is held as
        /// factors. At the authors' size on Cora an encoded gradient takes 30 MB with Half, and
        /// twenty clients send 380 per step. The server decodes all gradients of one generator at
        /// once, 61 MB each.
        codec: Chosen<dyn Codec>,
    },
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let has_generator = matches!(self.generator, Generator::Trained { num_pred: 1.., .. });
        let rule = "must be Off with a generator, since the server sums individual gradients; or set generator: Off";
        let is_plain = self.protocol.secure == Secure::Off;
        rules.require(!has_generator || is_plain, "protocol.secure", rule.to_owned());
        let rule = "must use edges, which Mlp does not, with a generator of neighbours; or set generator: Off";
        let reads_edges = self.model.encoder.propagation() != Propagation::Nothing;
        rules.require(!has_generator || reads_edges, "model.encoder", rule.to_owned());
        codec::require(&self.generator.codec(), "generator.codec", rules);
        let trains = classifier::trains(&self.model, &self.training, Scale::Raw);
        let trains = Trains {
            // Clients hold nodes that they have made up, too.
            has_items: false,
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
