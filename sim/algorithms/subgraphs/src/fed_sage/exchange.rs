//! Who does what in the exchange: generators learn alone, go round, come back as gradients and fill
//! graphs.

use super::data::Piece;
use super::impaired::{Impaired, n_left};
use super::maker::{Frozen, Near, Sight, gradient_for_other};
use super::numbers::Numbers;
use super::settings::Plan;
use super::told::Told;
use super::{FedSage, Makers};
use folkmoot_classifiers::classifier::{Brings, Nodes, Part, Shard};
use folkmoot_engine::prelude::*;
use folkmoot_learning::{Csr, Moments};
use folkmoot_rounds::{Gathered, Heard, Preparation, Says};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

const HIDE: Purpose = Purpose(*b"sg-hide ");
const START: Purpose = Purpose(*b"sg-start");
const ALONE: Purpose = Purpose(*b"sg-alone");
const STEP: Purpose = Purpose(*b"sg-step ");
const OTHER: Purpose = Purpose(*b"sg-other");
const FILL: Purpose = Purpose(*b"sg-fill ");

/// What a client keeps of the exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Kept {
    /// Its generator, while that learns.
    Learning(Learning),
    /// What its generator has made.
    Filled(Filled),
}

/// A generator that learns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Learning {
    /// Steps that were made with others.
    step: u32,
    #[serde(with = "shared")]
    pub(super) weights: Arc<[f32]>,
    /// Networks that have learned.
    #[serde(with = "shared")]
    rest: Arc<[f32]>,
    #[serde(with = "shared")]
    embeddings: Arc<[f32]>,
    #[serde(with = "shared")]
    counts: Arc<[f32]>,
    #[serde(with = "shared")]
    moments: Arc<Moments>,
    /// The client's loss at its last step alone and at its last.
    losses: Option<[f64; 2]>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Filled {
    /// Of each, the place of the node it is a neighbour of.
    pub(super) places: Vec<u32>,
    #[serde(with = "shared")]
    features: Arc<[f32]>,
    pub(super) notes: Notes,
    #[serde(skip)]
    known: Known,
}

/// Numbers for whoever evaluates the run, never sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Notes {
    /// Nodes for which neighbours could be made, those that they lack, and what was said of that.
    pub(super) n_nodes: u64,
    pub(super) n_missing: u64,
    pub(super) predicted: f64,
    pub(super) near: Near,
    pub(super) losses: Option<[f64; 2]>,
}

/// What it trains on, made when it is first asked for; no result depends on when.
#[derive(Clone, Default)]
struct Known(OnceLock<Arc<Shard>>);

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}

impl Kept {
    /// What its generator has made, if it is done.
    pub(super) fn filled(&self) -> Option<&Filled> {
        match self {
            Kept::Filled(filled) => Some(filled),
            Kept::Learning(_) => None,
        }
    }
}

impl Filled {
    /// What its client trains on.
    pub(super) fn known(&self, task: &FedSage, piece: &Piece) -> &Shard {
        let make = || filled(task, &piece.shard, &self.places, &self.features);
        self.known.0.get_or_init(|| Arc::new(make()))
    }
}

/// A shard with made neighbours behind its nodes; without any as it is.
pub(super) fn filled(task: &FedSage, shard: &Shard, places: &[u32], features: &[f32]) -> Shard {
    let Some(nodes) = shard.nodes().filter(|_| !places.is_empty()) else {
        return shard.clone();
    };
    let n = nodes.labels.len() as u32;
    let mut arcs: Vec<(u32, u32)> = Vec::new();
    for node in 0..n {
        arcs.extend(nodes.neighbours(node as usize).map(|near| (near as u32, node)));
    }
    for (behind, place) in (n..).zip(places) {
        arcs.extend([(behind, *place), (*place, behind)]);
    }
    let n_all = n + places.len() as u32;
    let adjacency = Csr::from_arcs(n_all, &arcs, None).expect("made neighbours stand behind nodes");
    let all = [shard.node_features(), features].concat();
    task.classifier.extended(
        shard,
        &task.encoder.propagation().matrix(&adjacency),
        Brings::Features(all),
    )
}

/// How many nodes of a client train.
pub(super) fn n_training(nodes: &Nodes<'_>) -> usize {
    nodes.are_in(Part::Train).iter().filter(|trains| **trains).count()
}

/// Whether two nodes of a client are neighbours.
pub(super) fn is_linked(nodes: &Nodes<'_>) -> bool {
    (0..nodes.labels.len()).any(|node| nodes.degree(node) > 0)
}

/// Six operations for each number of a network and row: two forward and four backward.
pub(super) fn effort(task: &FedSage, piece: &Piece, heard: &Heard<Told>) -> f64 {
    let (Some(makers), Some(nodes)) = (&task.makers, piece.shard.nodes()) else {
        return 0.0;
    };
    let (plan, networks) = (&makers.plan, &makers.networks);
    let left = n_left(plan, &nodes) as f64;
    let rows = match heard {
        Heard::Opening => networks.len() as f64 * left * f64::from(plan.epochs),
        Heard::Server(told) if told.is_generator(networks.n_shared()) => {
            networks.n_shared() as f64 * told.n_nodes(plan, networks.n_shared()) as f64
        }
        Heard::Server(_) | Heard::Client(..) => networks.n_shared() as f64 * left,
    };
    6.0 * rows
}

/// What a client says; where nothing `is_made`, its generators are only counted.
pub(super) fn prepare(
    task: &FedSage,
    preparation: &Preparation<'_, '_, FedSage, Told>,
    is_made: bool,
) -> Says<Told, Kept> {
    let (Some(makers), Some(nodes)) = (&task.makers, preparation.shard.shard.nodes()) else {
        return Says::ready();
    };
    let at_client = AtClient {
        makers,
        nodes,
        preparation,
        is_made,
    };
    match (preparation.heard, preparation.kept) {
        (Heard::Opening, _) => at_client.begin(),
        (Heard::Server(told), kept) => match (makers.open(told), kept) {
            (Ok(told), _) if told.is_generator(makers.networks.n_shared()) => at_client.answer(&told),
            (Ok(told), Some(Kept::Learning(learning))) => at_client.step(learning, &told),
            // Nobody says such.
            _ => Says::nothing(),
        },
        (Heard::Client(..), _) => Says::nothing(),
    }
}

/// A client that works in the exchange.
struct AtClient<'a, 's, 'p> {
    makers: &'a Makers,
    nodes: Nodes<'a>,
    preparation: &'a Preparation<'s, 'p, FedSage, Told>,
    is_made: bool,
}

impl AtClient<'_, '_, '_> {
    fn me(&self) -> u32 {
        self.preparation.shard.client.0
    }

    fn impaired(&self) -> Impaired {
        let rng = &mut self.preparation.rng(HIDE);
        Impaired::new(&self.makers.plan, &self.preparation.shard.shard, &self.nodes, rng)
    }

    fn sight<'s>(&'s self, impaired: &'s Impaired) -> Sight<'s> {
        Sight {
            plan: &self.makers.plan,
            networks: &self.makers.networks,
            impaired,
            shard: &self.preparation.shard.shard,
        }
    }

    /// Learns alone, and sends what comes of it; or fills its graph, where nobody else is asked.
    fn begin(&self) -> Says<Told, Kept> {
        let networks = &self.makers.networks;
        if n_training(&self.nodes) == 0 {
            return Says::ready();
        }
        if !self.is_made {
            return self.go_on(Learning::dry());
        }
        let impaired = self.impaired();
        let sight = self.sight(&impaired);
        let start = networks.initialise(&mut self.preparation.rng(START));
        let (learned, losses) = sight.pretrain(&start, &mut self.preparation.rng(ALONE));
        let (embeddings, counts) = sight.answers(&learned);
        let (weights, rest) = learned.split_at(networks.n_shared());
        self.go_on(Learning {
            step: 0,
            weights: weights.into(),
            rest: rest.into(),
            embeddings: embeddings.into(),
            counts: counts.into(),
            moments: Arc::new(Moments::new()),
            losses: losses.map(|losses| [losses.total(&self.makers.plan); 2]),
        })
    }

    /// Sends a generator that has steps before it; else fills the graph.
    fn go_on(&self, learning: Learning) -> Says<Told, Kept> {
        if learning.step >= self.makers.plan.steps {
            return Says {
                kept: Some(Kept::Filled(self.fill(&learning))),
                ..Says::ready()
            };
        }
        let told = match self.is_made {
            true => self.generator(&learning, &self.impaired()),
            false => self.makers.dry((self.me(), learning.step), n_training(&self.nodes)),
        };
        Says {
            kept: Some(Kept::Learning(learning)),
            to_server: Some(told),
            ..Says::nothing()
        }
    }

    /// A generator as it is sent.
    fn generator(&self, learning: &Learning, impaired: &Impaired) -> Told {
        let latent = self.makers.plan.latent;
        let mut rows = Vec::new();
        let trained = (0..impaired.trains.len()).filter(|row| impaired.trains[*row]);
        for row in trained.clone() {
            rows.extend(&learning.embeddings[row * latent..][..latent]);
        }
        rows.extend(trained.map(|row| impaired.missing[row].len() as f32));
        let weights = Arc::clone(&learning.weights);
        let told = Told::new((self.me(), learning.step), Numbers::Generator { weights, rows });
        self.makers.pack(told)
    }

    /// What another's generator should be like by what this client holds.
    fn answer(&self, told: &Told) -> Says<Told, Kept> {
        let (plan, networks) = (&self.makers.plan, &self.makers.networks);
        let head = (told.whose, told.step);
        let gradient = match (is_linked(&self.nodes), told.generator(networks.n_shared())) {
            (false, _) => Told::nothing(head),
            // Nothing is made in a dry run.
            (true, None) => self.makers.dry(head, 0),
            (true, Some((shared, rows))) => {
                let rows = rows.split_at(told.n_nodes(plan, networks.n_shared()) * plan.latent);
                // A stream of its own for each step and pair of clients, whatever comes first.
                let pair = (told.step.wrapping_mul(plan.n_clients).wrapping_add(told.whose))
                    .wrapping_mul(plan.n_clients)
                    .wrapping_add(self.me());
                let rng = &mut self.preparation.item_rng(OTHER, pair);
                let shard = &self.preparation.shard.shard;
                let gradient = gradient_for_other((plan, networks), shared, rows, shard, rng);
                self.makers.pack(Told::new(head, gradient.into()))
            }
        };
        Says {
            to_server: Some(gradient),
            ..Says::nothing()
        }
    }

    /// Makes a step by its own gradient and what those of others come to, all of them at the
    /// generator as others read it; what they move is the generator itself, so that rounding does
    /// not stay in it.
    fn step(&self, learning: &Learning, told: &Told) -> Says<Told, Kept> {
        if told.step != learning.step {
            return Says::nothing();
        }
        let mut next = learning.clone();
        next.step += 1;
        if self.is_made {
            let impaired = self.impaired();
            let sent = self.generator(learning, &impaired);
            let read = self.makers.open(&sent).expect("what a client has packed can be read");
            let read = read.generator(self.makers.networks.n_shared());
            let (weights, _) = read.expect("a generator that is sent is made");
            let rng = &mut self.preparation.item_rng(
                STEP,
                told.step
                    .wrapping_mul(self.makers.plan.n_clients)
                    .wrapping_add(self.me()),
            );
            let (losses, own) = self
                .sight(&impaired)
                .own_gradient(weights, learning.frozen(), Some(rng));
            let mut gradient = Numbers::Gradient(own).all().into_owned();
            gradient
                .iter_mut()
                .zip(&*told.values())
                .for_each(|(g, of_others)| *g += of_others);
            let now = losses.total(&self.makers.plan);
            next.losses = Some([learning.losses.map_or(now, |[alone, _]| alone), now]);
            // Where nobody says anything, decay alone would take the weights away.
            if gradient.iter().any(|g| *g != 0.0) {
                let (weights, moments) = (Arc::make_mut(&mut next.weights), Arc::make_mut(&mut next.moments));
                self.makers.plan.optimiser.step(moments, weights, &gradient);
            }
        }
        self.go_on(next)
    }

    fn fill(&self, learning: &Learning) -> Filled {
        if !self.is_made {
            return Filled {
                places: Vec::new(),
                features: Arc::default(),
                notes: Notes::default(),
                known: Known::default(),
            };
        }
        let impaired = self.impaired();
        let rng = &mut self.preparation.rng(FILL);
        let (places, features, near) = self.sight(&impaired).fill(&learning.weights, learning.frozen(), rng);
        let notes = Notes {
            n_nodes: impaired.nodes.len() as u64,
            n_missing: impaired.missing.iter().map(|gone| gone.len() as u64).sum(),
            predicted: learning.counts.iter().map(|count| f64::from(*count)).sum(),
            near,
            losses: learning.losses,
        };
        Filled {
            places,
            features: features.into(),
            notes,
            known: Known::default(),
        }
    }
}

impl Learning {
    /// One that nobody makes.
    fn dry() -> Learning {
        Learning {
            step: 0,
            weights: Arc::default(),
            rest: Arc::default(),
            embeddings: Arc::default(),
            counts: Arc::default(),
            moments: Arc::default(),
            losses: None,
        }
    }

    pub(super) fn frozen(&self) -> Frozen<'_> {
        Frozen {
            embeddings: &self.embeddings,
            counts: &self.counts,
            rest: &self.rest,
        }
    }
}

/// The server's answers: every generator to all others, and to whoever sent one the sum of the
/// gradients that came of it.
///
/// # Errors
///
/// In a dry run whose messages have bytes that nobody knows, and where a gradient cannot be read.
pub(super) fn answer(makers: &Makers, gathered: Gathered<Told>) -> Result<Vec<(ClientId, Told)>, StrategyError> {
    let Gathered::Each(told) = gathered else {
        return Ok(Vec::new());
    };
    let (n_shared, n_clients) = (makers.networks.n_shared(), makers.plan.n_clients);
    let (generators, gradients): (Vec<_>, Vec<_>) = told.into_iter().partition(|(_, told)| told.is_generator(n_shared));
    let mut answers = Vec::new();
    for (_, told) in generators {
        if !told.is_made() && makers.n_bytes(0).is_none() {
            return Err(StrategyError(format!(
                "generator.codec: how many bytes {} writes depends on the numbers, which a dry run does not make; take one of known size, such as Half() or one with symbols: Fixed, or do without the dry run",
                makers.codec.text()
            )));
        }
        let others = (0..n_clients).filter(|client| *client != told.whose);
        answers.extend(others.map(|client| (ClientId(client), told.clone())));
        // Who is alone hears that nobody has anything to say.
        if n_clients == 1 {
            answers.push((ClientId(told.whose), Told::nothing((told.whose, told.step))));
        }
    }
    let mut by_generator: BTreeMap<(u32, u32), Vec<(ClientId, Told)>> = BTreeMap::new();
    for (client, told) in gradients {
        let of_one = by_generator.entry((told.whose, told.step)).or_default();
        of_one.push((client, told));
    }
    let open = |(client, told): (ClientId, Told)| {
        let refuse = |damaged| {
            StrategyError(format!(
                "gradient of client {} for client {}: {damaged}",
                client.0, told.whose
            ))
        };
        makers.open(&told).map_err(refuse)
    };
    // One generator after the other, so that the gradients of one alone are there number by number.
    for (head, all) in by_generator {
        let all = all.into_iter().map(open).collect::<Result<Vec<Told>, _>>()?;
        answers.push((ClientId(head.0), makers.pack(sum(head, all))));
    }
    Ok(answers)
}

/// What gradients come to, in the ascending order of who made them.
pub(super) fn sum(head: (u32, u32), all: Vec<Told>) -> Told {
    let (made, others): (Vec<Told>, Vec<Told>) = all.into_iter().partition(Told::is_made);
    match made.is_empty() {
        // In a dry run, as large as each that has something to say.
        true => others
            .into_iter()
            .max_by_key(Told::n_values)
            .unwrap_or(Told::nothing(head)),
        false => Told::new(head, Numbers::Sum(made)),
    }
}

/// Bytes that a formula says of the exchange, where everybody is there: of clients with these
/// numbers of training nodes, and whether two of their nodes are neighbours. `n_bytes` are those of
/// a generator with so many nodes besides its head, with none of a gradient; where nobody knows
/// them, there is no formula.
pub(super) fn bytes(plan: &Plan, n_bytes: impl Fn(usize) -> Option<u64>, clients: &[(usize, bool)]) -> Option<u64> {
    let n_clients = clients.len() as u64;
    let n_linked = clients.iter().filter(|(_, is_linked)| *is_linked).count() as u64;
    let gradient = n_bytes(0)?;
    let mut bytes = 0;
    for (n_training, is_linked) in clients.iter().filter(|(n_training, _)| *n_training > 0) {
        let generator = n_bytes(*n_training)?;
        let n_answering = n_linked - u64::from(*is_linked);
        // Up, to all others, their answers, and what these come to.
        bytes += n_clients * (super::told::HEAD + generator);
        bytes += (n_clients - 1) * super::told::HEAD + n_answering * gradient;
        bytes += super::told::HEAD + if n_answering > 0 { gradient } else { 0 };
    }
    Some(bytes * u64::from(plan.steps))
}
