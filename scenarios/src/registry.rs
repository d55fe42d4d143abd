//! Every part there is, by name. The only place that knows them all.

use crate::axis::{Axis, Described, DuplicateName, read_part};
use crate::cards::CARDS;
use crate::glossary::Glossary;
use crate::text::{self, Problems};
use folkmoot_codecs::{self as codecs, Codec};
use folkmoot_engine::prelude::Term;
use folkmoot_engine::world::{self, Availability, Devices, Network};
use folkmoot_graphs::{DataSource, DatasetSpec, PartitionSpec, Partitioner};
use folkmoot_parts::{Holds, Kind, Part, Shape};
use folkmoot_strategies::attacks::{self, Attack};
use folkmoot_strategies::federated::Method;
use folkmoot_strategies::fedwalk::Encoder;
use folkmoot_strategies::gossip::{self, Topology};
use folkmoot_strategies::gw_ldp::Release;
use folkmoot_strategies::rounds::{self, Rule, ServerOptimiser};
use folkmoot_strategies::settings::{Runs, Settings, runs};
use folkmoot_strategies::{deep_walk, fed_avg, federated, fedwalk, fgcl, gw_ldp, ppgm, scaffold};
use folkmoot_subgraphs::{ada_fgl, fed_gcn, fed_sage};
use folkmoot_traces::{self as traces, Model, Whole};
use folkmoot_users::edges::{self, EdgeRelease};
use folkmoot_users::features::{self, FeatureRelease};
use folkmoot_users::labels::{self, LabelRelease};
use std::any::Any;

/// What a card may name, one list for each field, and the cards that come with a program.
pub struct Registry {
    strategies: Axis<dyn Runs>,
    datasets: Axis<dyn DataSource>,
    partitions: Axis<dyn Partitioner>,
    networks: Axis<dyn Model<dyn Network>>,
    devices: Axis<dyn Model<dyn Devices>>,
    availabilities: Axis<dyn Model<dyn Availability>>,
    inner: Vec<InnerAxis>,
    glossaries: Vec<Glossary>,
    /// What the numbers of attacks mean.
    of_attacks: Vec<Term>,
    cards: Vec<(&'static str, &'static str)>,
}

/// Whether settings of this shape name attacks.
fn is_attacked(shape: &Shape) -> bool {
    let attacks = Shape::Part(<dyn Attack as Kind>::WHAT);
    shape
        .fields()
        .iter()
        .any(|field| matches!(&field.shape, Shape::List(item) if **item == attacks))
}

/// What may be named inside settings: parts of one [`Kind`], each in an `Arc` of the kind.
pub type InnerAxis = Axis<dyn Any>;

/// Adds a part that is itself what its axis is of.
macro_rules! adds {
    ($($(#[$doc:meta])* $name:ident, $all:ident: $axis:ident of $what:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// When its name is taken.
        pub fn $name<P: Part + $what>(&mut self) -> Result<(), DuplicateName> {
            self.$axis.add::<P>(|part| Box::new(part))
        }

        /// All of that kind.
        pub fn $all(&self) -> &Axis<dyn $what> {
            &self.$axis
        }
    )*};
}

/// Adds a model of the world, which is whole by its settings or made of files.
macro_rules! adds_model {
    ($($(#[$doc:meta])* $name:ident, $made:ident, $all:ident: $axis:ident of $what:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// When its name is taken.
        pub fn $name<P: Part + $what>(&mut self) -> Result<(), DuplicateName> {
            self.$axis.add::<P>(|part| Box::new(Whole(part)))
        }

        /// The same for one that is made when a run is set up, of files or of the number of clients.
        ///
        /// # Errors
        ///
        /// When its name is taken.
        pub fn $made<P: Part + Model<dyn $what>>(&mut self) -> Result<(), DuplicateName> {
            self.$axis.add::<P>(|part| Box::new(part))
        }

        /// All of that kind.
        pub fn $all(&self) -> &Axis<dyn Model<dyn $what>> {
            &self.$axis
        }
    )*};
}

/// Adds a part of a kind that strategies name inside their settings.
macro_rules! adds_inside {
    ($($(#[$doc:meta])* $name:ident: $kind:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// When its name is taken.
        pub fn $name<P: Part + $kind>(&mut self) -> Result<(), DuplicateName> {
            self.add_inside::<dyn $kind, P>()
        }
    )*};
}

impl Registry {
    /// Nothing.
    pub fn empty() -> Self {
        Registry {
            strategies: Axis::new("strategy", "strategy"),
            datasets: Axis::new("dataset", "data set"),
            partitions: Axis::new("partition", "partition"),
            networks: Axis::new("network", "network"),
            devices: Axis::new("devices", "model of devices"),
            availabilities: Axis::new("availability", "availability"),
            inner: Vec::new(),
            glossaries: Vec::new(),
            of_attacks: Vec::new(),
            cards: Vec::new(),
        }
    }

    /// What comes with Folkmoot.
    pub fn shipped() -> Self {
        let mut registry = Registry::empty();
        registry.add_shipped().expect("shipped names differ");
        registry.cards = CARDS.to_vec();
        registry
    }

    fn add_shipped(&mut self) -> Result<(), DuplicateName> {
        // Not by `add`: it is generic, and would compile the engine for each of them once more, here where little is optimised.
        self.add_strategy(fedwalk::Params::runs)?;
        self.add_strategy(deep_walk::Params::runs)?;
        self.add_strategy(fed_avg::Params::runs)?;
        self.add_strategy(scaffold::Params::runs)?;
        self.add_strategy(federated::Params::runs)?;
        self.add_strategy(gossip::Params::runs)?;
        self.add_strategy(folkmoot_users::Params::runs)?;
        self.add_strategy(fed_gcn::Params::runs)?;
        self.add_strategy(ada_fgl::Params::runs)?;
        self.add_strategy(fed_sage::Params::runs)?;
        self.add_strategy(folkmoot_users::walk_sgd::Params::runs)?;
        self.add_strategy(fgcl::Params::runs)?;
        self.add_strategy(gw_ldp::Params::runs)?;
        self.add_strategy(ppgm::Params::runs)?;
        self.add_strategy(ppgm::federated::Params::runs)?;
        self.datasets.add_variants::<DatasetSpec>(|spec| Box::new(spec))?;
        self.partitions.add_variants::<PartitionSpec>(|spec| Box::new(spec))?;
        self.add_network::<world::network::Ideal>()?;
        self.add_network::<world::network::Links>()?;
        self.add_made_network::<traces::BandwidthLogs>()?;
        self.add_devices::<world::devices::Ideal>()?;
        self.add_devices::<world::devices::Constant>()?;
        self.add_devices::<world::devices::LogNormal>()?;
        self.add_made_devices::<traces::Venn>()?;
        self.add_made_devices::<traces::FlHetBench>()?;
        self.add_availability::<world::availability::Always>()?;
        self.add_availability::<world::availability::Bernoulli>()?;
        self.add_availability::<world::availability::OnOff>()?;
        self.add_availability::<world::availability::Diurnal>()?;
        self.add_made_availability::<traces::Flash>()?;
        self.add_aggregation::<rounds::Mean>()?;
        self.add_aggregation::<rounds::TrimmedMean>()?;
        self.add_aggregation::<rounds::NormClip>()?;
        self.add_aggregation::<rounds::Median>()?;
        self.add_aggregation::<rounds::Krum>()?;
        self.add_codec::<codecs::Plain>()?;
        self.add_codec::<codecs::Half>()?;
        self.add_codec::<codecs::Bfloat>()?;
        self.add_codec::<codecs::Uniform>()?;
        self.add_codec::<codecs::Qsgd>()?;
        self.add_codec::<codecs::TopK>()?;
        self.add_codec::<codecs::RandomK>()?;
        self.add_codec::<codecs::Sign>()?;
        self.add_codec::<codecs::LowRank>()?;
        self.add_method::<federated::Global>()?;
        self.add_method::<federated::LocalOnly>()?;
        self.add_method::<federated::FineTuned>()?;
        self.add_method::<federated::FedNova>()?;
        self.add_method::<federated::FedDyn>()?;
        self.add_method::<federated::FedGta>()?;
        self.add_method::<federated::Moon>()?;
        self.add_method::<federated::FedPer>()?;
        self.add_method::<federated::FedRep>()?;
        self.add_method::<federated::FedPub>()?;
        self.add_method::<federated::FedStar>()?;
        self.add_method::<federated::Ditto>()?;
        self.add_method::<federated::Gcfl>()?;
        self.add_method::<federated::Ifca>()?;
        self.add_attack::<attacks::LossThreshold>()?;
        self.add_attack::<attacks::LikelihoodRatio>()?;
        self.add_attack::<attacks::LinkStealing>()?;
        self.add_attack::<attacks::GradientInversion>()?;
        self.add_attack::<attacks::GradientSearch>()?;
        self.add_attack::<attacks::ClientLinking>()?;
        self.add_topology::<gossip::Complete>()?;
        self.add_topology::<gossip::Ring>()?;
        self.add_topology::<gossip::Torus>()?;
        self.add_topology::<gossip::SmallWorld>()?;
        self.add_topology::<gossip::ErdosRenyi>()?;
        self.add_topology::<gossip::File>()?;
        self.add_topology::<gossip::Changing>()?;
        self.add_feature_release::<features::ClearFeatures>()?;
        self.add_feature_release::<features::MultiBitFeatures>()?;
        self.add_feature_release::<features::OneBitFeatures>()?;
        self.add_feature_release::<features::LaplaceFeatures>()?;
        self.add_feature_release::<features::GaussianFeatures>()?;
        self.add_label_release::<labels::ClearLabels>()?;
        self.add_label_release::<labels::LabelResponse>()?;
        self.add_edge_release::<edges::PublicEdges>()?;
        self.add_edge_release::<edges::EdgeResponse>()?;
        self.add_edge_release::<edges::Dprr>()?;
        self.add_edge_release::<edges::Blink>()?;
        self.add_edge_release::<edges::LaplaceEdges>()?;
        self.add_server_optimiser::<rounds::Average>()?;
        self.add_server_optimiser::<rounds::Momentum>()?;
        self.add_server_optimiser::<rounds::Adam>()?;
        self.add_server_optimiser::<rounds::Yogi>()?;
        self.add_encoder::<fedwalk::encoder::AsPrinted>()?;
        self.add_encoder::<fedwalk::encoder::Calibrated>()?;
        self.add_encoder::<fedwalk::encoder::Normalised>()?;
        self.add_encoder::<fedwalk::encoder::RandomisedResponse>()?;
        self.add_encoder::<fedwalk::encoder::Identity>()?;
        self.add_mechanism::<gw_ldp::release::Plain>()?;
        self.add_mechanism::<gw_ldp::release::MultiBit>()?;
        self.add_mechanism::<gw_ldp::release::Additive>()?;
        self.add_mechanism::<gw_ldp::release::Gaussian>()
    }

    /// Adds a card by its name and text, as `include_str!` gives it.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_card(&mut self, name: &'static str, text: &'static str) -> Result<(), DuplicateName> {
        if self.cards.iter().any(|(known, _)| *known == name) {
            return Err(DuplicateName(name));
        }
        self.cards.push((name, text));
        Ok(())
    }

    /// Name and text of every card, in the order of `folkmoot list`.
    pub fn cards(&self) -> &[(&'static str, &'static str)] {
        &self.cards
    }

    /// Adds a strategy.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add<P: Settings>(&mut self) -> Result<(), DuplicateName> {
        self.add_strategy(runs::<P>)
    }

    fn add_strategy<P: Settings>(&mut self, runs: fn(P) -> Box<dyn Runs>) -> Result<(), DuplicateName> {
        self.strategies.add(runs)?;
        let mut glossary = Glossary::of::<P>();
        glossary.add(is_attacked(&P::shape()), &self.of_attacks);
        self.glossaries.push(glossary);
        Ok(())
    }

    /// Adds somebody who asks what a training of classifiers gives away, or who scores it by other metrics.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_attack<P: Part + Attack>(&mut self) -> Result<(), DuplicateName> {
        self.add_inside::<dyn Attack, P>()?;
        let terms = P::terms();
        for glossary in &mut self.glossaries {
            let mut parts = self.strategies.parts();
            let part = parts.find(|part| part.name == glossary.strategy);
            glossary.add(part.is_some_and(|part| is_attacked(&part.shape)), &terms);
        }
        self.of_attacks.extend(terms);
        Ok(())
    }

    /// What each strategy says of its numbers and messages.
    pub fn glossaries(&self) -> &[Glossary] {
        &self.glossaries
    }

    /// All strategies.
    pub fn strategies(&self) -> &Axis<dyn Runs> {
        &self.strategies
    }

    adds! {
        /// Adds a data set or a generator.
        add_dataset, datasets: datasets of DataSource;
        /// Adds a way to share data out.
        add_partition, partitions: partitions of Partitioner;
    }

    adds_model! {
        /// Adds a network.
        add_network, add_made_network, networks: networks of Network;
        /// Adds a model of how fast clients compute.
        add_devices, add_made_devices, devices: devices of Devices;
        /// Adds a model of when clients are online.
        add_availability, add_made_availability, availabilities: availabilities of Availability;
    }

    adds_inside! {
        /// Adds a rule by which the updates of a round become one.
        add_aggregation: Rule;
        /// Adds a way in which numbers that are learned become bytes.
        add_codec: Codec;
        /// Adds what the server does with the update that they become.
        add_server_optimiser: ServerOptimiser;
        /// Adds a method of federated training.
        add_method: Method;
        /// Adds a way to link clients without a server.
        add_topology: Topology;
        /// Adds what becomes of a vertex before it is appended to a walk of FedWalk.
        add_encoder: Encoder;
        /// Adds a mechanism by which an embedding of GW-LDP leaves its client.
        add_mechanism: Release;
        /// Adds a way in which features leave a user that is one node.
        add_feature_release: FeatureRelease;
        /// Adds one for its class.
        add_label_release: LabelRelease;
        /// Adds one for its neighbours.
        add_edge_release: EdgeRelease;
    }

    /// Adds a part of any kind that settings name, one's own kinds among them; for shipped ones there are shorter names.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_inside<T, P>(&mut self) -> Result<(), DuplicateName>
    where
        T: Holds<P> + ?Sized,
        P: Part,
    {
        let at = self.inner.iter().position(|axis| axis.what() == T::WHAT);
        let at = at.unwrap_or_else(|| {
            self.inner.push(Axis::new(T::WHAT, T::WHAT));
            self.inner.len() - 1
        });
        self.inner[at].add::<P>(|part| Box::new(T::hold(part)))
    }

    /// Every list of what may be named inside settings, in the order in which their first parts were added.
    pub fn inside(&self) -> &[InnerAxis] {
        &self.inner
    }

    /// The list of the kind that is called so.
    pub(crate) fn inner(&self, what: &str) -> Option<&InnerAxis> {
        self.inner.iter().find(|axis| axis.what() == what)
    }

    /// The settings of one part, read from text as the card's field would hold them behind the name: `(walk_length: 3)`.
    ///
    /// # Errors
    ///
    /// Every problem of shape and value.
    pub fn settings<P: Part>(&self, text: &str) -> Result<P, Problems> {
        read_part(&text::Source::new(P::NAME, text)?, self)
    }

    /// What every part says of itself, axis by axis.
    pub fn parts(&self) -> impl Iterator<Item = &Described> {
        let world = self
            .networks
            .parts()
            .chain(self.devices.parts())
            .chain(self.availabilities.parts());
        let data = self.datasets.parts().chain(self.partitions.parts());
        let inside = self.inner.iter().flat_map(Axis::parts);
        self.strategies.parts().chain(data).chain(world).chain(inside)
    }
}
