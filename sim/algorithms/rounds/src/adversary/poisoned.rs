//! Adversaries that change what they train on.

use super::{Adversary, Crafting};
use folkmoot_parts::{Rules, component};

/// What a malicious client changes in its training items, as data: what is trained knows how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poison {
    /// Share of the items that it could change that it does change.
    pub share: f64,
    /// The class whose items it could change; without it any, but the target.
    pub source: Option<u32>,
    /// The class that they get; without it class `c` of `n` becomes `n − 1 − c`.
    pub target: Option<u32>,
    /// What it plants in them.
    pub trigger: Option<Trigger>,
}

/// What is planted in an item, so that a model answers with the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trigger {
    pub shape: Shape,
    /// Parts of the trigger, drawn once a run.
    pub pieces: u32,
    pub spread: Spread,
}

/// What one part of a trigger is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A random graph of so many nodes, each pair of them with an edge by this probability, in the
    /// place of the edges between nodes of a graph.
    Subgraph { nodes: u32, density: f64 },
    /// So many features of a node, set to a value.
    Features { features: u32, value: f32 },
}

/// Which parts of a trigger a malicious client plants. A trained model is always tried with all.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All of them.
    #[default]
    Centralised,
    /// One of them: the `k`-th malicious client the part `k mod pieces`.
    Distributed,
}

/// Other classes for training items (V. Tolpegin, S. Truex, M. E. Gursoy, L. Liu. Data Poisoning
/// Attacks Against Federated Learning Systems. ESORICS 2020, section 3).
#[component(
    name = "LabelFlip",
    about = "training with other classes (Tolpegin et al. 2020)",
    rules
)]
#[derive(Clone, Copy, Debug)]
pub struct LabelFlip {
    /// Class whose items are changed; by default all.
    pub source: Option<u32>,
    /// Class that they get; by default class `c` of `n` becomes `n − 1 − c`.
    pub target: Option<u32>,
    /// Fraction of these items that are changed.
    #[component(default = 1.0, above = 0, at_most = 1)]
    pub share: f64,
}

/// A backdoor for sets of graphs: a random subgraph takes the place of the edges between some nodes
/// of training graphs, which get the target class.
///
/// The subgraph: Z. Zhang, J. Jia, B. Wang, N. Z. Gong. Backdoor Attacks to Graph Neural Networks.
/// SACMAT 2021, section 3. Centralised and distributed: J. Xu, R. Wang, S. Koffas, K. Liang,
/// S. Picek. More is Better (Mostly): On the Backdoor Attacks in Federated Graph Neural Networks.
/// ACSAC 2022, section 3. The change is that of the poisoned training, times a factor.
#[component(
    name = "SubgraphBackdoor",
    about = "subgraph trigger in training graphs, centralised or distributed (Zhang et al. 2021; Xu et al. 2022)"
)]
#[derive(Clone, Copy, Debug)]
pub struct SubgraphBackdoor {
    /// Class that a graph with the trigger is to get.
    pub target: u32,
    /// Fraction of a malicious client's training graphs of other classes that are changed.
    #[component(default = 0.5, above = 0, at_most = 1)]
    pub share: f64,
    /// Nodes of a part of the trigger; a smaller graph gets as many as it has.
    #[component(default = 4, in = 2..=10_000)]
    pub nodes: u32,
    /// Probability of an edge between two nodes of a part.
    #[component(default = 0.8, in = 0..=1)]
    pub density: f64,
    /// Parts of the trigger.
    #[component(default = 2, in = 1..=1_000)]
    pub pieces: u32,
    /// Which parts a malicious client plants.
    pub spread: Spread,
    /// Factor on the change: model replacement.
    #[component(default = 1.0, above = 0, at_most = 1e6)]
    pub factor: f64,
}

/// A backdoor for nodes of one graph: some features of training nodes get one value, and the nodes
/// the target class (J. Xu, M. Xue, S. Picek. Explainability-based Backdoor Attacks Against Graph
/// Neural Networks. WiseML 2021, section 3.2, there at features that an explainer chooses, here at
/// random ones).
#[component(
    name = "NodeBackdoor",
    about = "feature trigger in training nodes (Xu, Xue, Picek 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct NodeBackdoor {
    /// Class that a node with the trigger is to get.
    pub target: u32,
    /// Fraction of a malicious client's training nodes of other classes that are changed.
    #[component(default = 0.5, above = 0, at_most = 1)]
    pub share: f64,
    /// Features of a part of the trigger.
    #[component(default = 10, in = 1..=1_000_000)]
    pub features: u32,
    /// Value that they get, before any scaling.
    #[component(default = 1.0, in = -1e6..=1e6)]
    pub value: f64,
    /// Parts of the trigger.
    #[component(default = 1, in = 1..=1_000)]
    pub pieces: u32,
    /// Which parts a malicious client plants.
    pub spread: Spread,
    /// Factor on the change: model replacement.
    #[component(default = 1.0, above = 0, at_most = 1e6)]
    pub factor: f64,
}

impl LabelFlip {
    fn rules(&self, rules: &mut Rules) {
        let is_change = self.source.is_none() || self.source != self.target;
        rules.require(is_change, "target", "must differ from source");
    }
}

impl Adversary for LabelFlip {
    fn craft(&self, _: &mut Crafting<'_>) -> Option<Vec<f64>> {
        None
    }

    fn poison(&self) -> Option<Poison> {
        Some(Poison {
            share: self.share,
            source: self.source,
            target: self.target,
            trigger: None,
        })
    }
}

/// The change times a factor; `None` for 1.
fn scaled(factor: f64, own: &Crafting<'_>) -> Option<Vec<f64>> {
    (factor != 1.0).then(|| own.change.iter().map(|x| factor * x).collect())
}

impl Adversary for SubgraphBackdoor {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        scaled(self.factor, own)
    }

    fn poison(&self) -> Option<Poison> {
        let shape = Shape::Subgraph {
            nodes: self.nodes,
            density: self.density,
        };
        Some(backdoor((self.target, self.share), shape, (self.pieces, self.spread)))
    }
}

impl Adversary for NodeBackdoor {
    fn craft(&self, own: &mut Crafting<'_>) -> Option<Vec<f64>> {
        scaled(self.factor, own)
    }

    fn poison(&self) -> Option<Poison> {
        let shape = Shape::Features {
            features: self.features,
            value: self.value as f32,
        };
        Some(backdoor((self.target, self.share), shape, (self.pieces, self.spread)))
    }
}

fn backdoor((target, share): (u32, f64), shape: Shape, (pieces, spread): (u32, Spread)) -> Poison {
    Poison {
        share,
        source: None,
        target: Some(target),
        trigger: Some(Trigger { shape, pieces, spread }),
    }
}
