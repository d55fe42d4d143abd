//! What a card may name: one list of parts for each of its fields, and the cards and claims that
//! come with a program.
//!
//! [`Registry::base`] holds data sets, partitions and the world. Each crate of algorithms has a
//! function `register`, which adds its own; a program calls those of the crates that it has, so no
//! algorithm is named here.

use crate::algorithm::{Algorithm, Runnable};
use crate::axis::{Axis, Described, DuplicateName, read_part};
use crate::claims::ClaimsFile;
use crate::evaluators::{Added, Evaluates};
use crate::glossary::Glossary;
use crate::text::{self, Problems};
use folkmoot_codecs::{self as codecs, Codec};
use folkmoot_engine::prelude::Term;
use folkmoot_engine::world::{self, Availability, ClientSelection, Devices, Network};
use folkmoot_graphs::{CatalogueEntry, DataSource, Partitioner, datasets, partition};
use folkmoot_metrics::artifacts::{ARTIFACT_TABLES, ArtifactTable};
use folkmoot_metrics::figures::{FigureSource, Figures};
use folkmoot_parts::{Component, ComponentType, Holds, Shape};
use folkmoot_traces::{self as traces, Model, Whole};
use std::any::Any;
use std::collections::BTreeMap;

/// What a card may name, one list for each field, and the cards that come with a program.
pub struct Registry {
    strategies: Axis<Runnable>,
    datasets: Axis<dyn DataSource>,
    /// Lines of lists by the name of the data set.
    catalogue: BTreeMap<&'static str, Vec<CatalogueEntry>>,
    partitions: Axis<dyn Partitioner>,
    networks: Axis<dyn Model<dyn Network>>,
    devices: Axis<dyn Model<dyn Devices>>,
    availabilities: Axis<dyn Model<dyn Availability>>,
    selections: Axis<dyn ClientSelection>,
    evaluators: Axis<Added>,
    inner: Vec<InnerAxis>,
    glossaries: Vec<Glossary>,
    /// What numbers of parts inside settings mean, by the kind of the part.
    terms_inside: Vec<(&'static str, Vec<Term>)>,
    known_as: Vec<KnownAs>,
    folders: Vec<&'static str>,
    cards: Vec<(&'static str, &'static str)>,
    costs: BTreeMap<&'static str, Cost>,
    claims: Vec<ClaimsFile>,
    figures: Figures,
    artifact_tables: Vec<ArtifactTable>,
}

/// A name from the literature that is a setting here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownAs {
    /// The name, such as `FedProx`.
    pub name: &'static str,
    /// The value of `strategy` in a card.
    pub strategy: &'static str,
    /// The path of the field.
    pub path: &'static str,
}

/// What adds the components of a crate of algorithms.
pub type Register = fn(&mut Registry) -> Result<(), DuplicateName>;

/// What a program embeds of a folder of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Scenarios {
    pub folder: &'static str,
    /// Name and text of its cards.
    pub cards: &'static [(&'static str, &'static str)],
    /// What its cards cost, a line `card,run_s,start` each below a head: processor time of one run
    /// of the first configuration in seconds, `>` before it if it was stopped then, and whether the
    /// card is one to start with.
    pub costs: &'static str,
    /// Its claims, if it has any.
    pub claims: Option<ClaimsFile>,
}

/// What a card costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Processor time of one run of its first configuration, in seconds on one core.
    pub run_s: f64,
    /// It takes longer than that: the run was stopped, and its whole could not be estimated.
    pub is_lower_bound: bool,
    /// Whether it is one to start with.
    pub is_start: bool,
}

/// A line of `costs.csv`.
fn cost(line: &'static str) -> Option<(&'static str, Cost)> {
    let mut cells = line.split(',');
    let (card, run_s, start) = (cells.next()?, cells.next()?, cells.next()?);
    let cost = Cost {
        run_s: run_s.trim_start_matches('>').parse().ok()?,
        is_lower_bound: run_s.starts_with('>'),
        is_start: start == "yes",
    };
    Some((card, cost))
}

/// Whether settings of this shape hold a list of parts of the kind that is called `what`.
fn lists(shape: &Shape, what: &'static str) -> bool {
    let item = Shape::Component(what);
    let is_list = |shape: &Shape| matches!(shape, Shape::List(of) if **of == item);
    shape.fields().iter().any(|field| is_list(&field.shape))
}

/// What may be named inside settings: parts of one [`ComponentType`], each in an `Arc` of the kind.
pub type InnerAxis = Axis<dyn Any>;

/// Adds a part that is itself what its axis is of.
macro_rules! adds {
    ($($(#[$doc:meta])* $name:ident, $all:ident: $axis:ident of $what:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// When its name is taken.
        pub fn $name<P: Component + $what>(&mut self) -> Result<(), DuplicateName> {
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
        pub fn $name<P: Component + $what>(&mut self) -> Result<(), DuplicateName> {
            self.$axis.add::<P>(|part| Box::new(Whole(part)))
        }

        /// The same for one that is made when a run is set up, of files or of the number of
        /// clients.
        ///
        /// # Errors
        ///
        /// When its name is taken.
        pub fn $made<P: Component + Model<dyn $what>>(&mut self) -> Result<(), DuplicateName> {
            self.$axis.add::<P>(|part| Box::new(part))
        }

        /// All of that kind.
        pub fn $all(&self) -> &Axis<dyn Model<dyn $what>> {
            &self.$axis
        }
    )*};
}

impl Registry {
    pub fn empty() -> Self {
        Registry {
            strategies: Axis::new("strategy", "strategy"),
            datasets: Axis::new("dataset", "data set"),
            catalogue: BTreeMap::new(),
            partitions: Axis::new("partition", "partition"),
            networks: Axis::new("network", "network"),
            devices: Axis::new("devices", "model of devices"),
            availabilities: Axis::new("availability", "availability"),
            selections: Axis::new("cohort", "client selection"),
            evaluators: Axis::new("evaluators", "evaluator"),
            inner: Vec::new(),
            glossaries: Vec::new(),
            terms_inside: Vec::new(),
            known_as: Vec::new(),
            folders: Vec::new(),
            cards: Vec::new(),
            costs: BTreeMap::new(),
            claims: Vec::new(),
            figures: Figures::default(),
            artifact_tables: Vec::new(),
        }
    }

    /// Data sets, partitions, the world and codecs, and no algorithm.
    pub fn base() -> Self {
        let mut registry = Registry::empty();
        registry.add_base().expect("shipped names differ");
        registry
    }

    /// The same with what some crates of algorithms add.
    ///
    /// # Panics
    ///
    /// If two components have one name, or a crate is given twice.
    pub fn with(crates: &[Register]) -> Self {
        let mut registry = Registry::base();
        for register in crates {
            register(&mut registry).expect("names differ");
        }
        registry
    }

    fn add_base(&mut self) -> Result<(), DuplicateName> {
        self.add_artifact_tables(&ARTIFACT_TABLES);
        self.add_dataset::<datasets::Karate>()?;
        self.add_dataset::<datasets::BlogCatalog>()?;
        self.add_dataset::<datasets::EmailEuCore>()?;
        self.add_dataset::<datasets::Planetoid>()?;
        self.add_dataset::<datasets::Musae>()?;
        self.add_dataset::<datasets::TuDataset>()?;
        self.add_dataset::<datasets::TuDatasets>()?;
        self.add_dataset::<datasets::FunctionGraphs>()?;
        self.add_dataset::<datasets::Molecules>()?;
        self.add_dataset::<datasets::MoleculeTable>()?;
        self.add_dataset::<datasets::EdgeList>()?;
        self.add_dataset::<datasets::Tables>()?;
        self.add_dataset::<datasets::GraphMl>()?;
        self.add_dataset::<datasets::Ogb>()?;
        self.add_dataset::<datasets::Metis>()?;
        self.add_dataset::<datasets::Mat>()?;
        self.add_dataset::<datasets::Npz>()?;
        self.add_dataset::<datasets::Mapped>()?;
        self.add_dataset::<datasets::DcSbm>()?;
        self.add_dataset::<datasets::ContextualSbm>()?;
        self.add_dataset::<datasets::BarabasiAlbert>()?;
        self.add_dataset::<datasets::ErdosRenyi>()?;
        self.add_dataset::<datasets::WattsStrogatz>()?;
        self.add_dataset::<datasets::Rmat>()?;
        self.add_dataset::<datasets::GraphClasses>()?;
        self.add_dataset::<datasets::ControlFlow>()?;
        self.add_partition::<partition::NodePerClient>()?;
        self.add_partition::<partition::Iid>()?;
        self.add_partition::<partition::LabelSkew>()?;
        self.add_partition::<partition::QuantitySkew>()?;
        self.add_partition::<partition::KHop>()?;
        self.add_partition::<partition::Louvain>()?;
        self.add_partition::<partition::Multilevel>()?;
        self.add_partition::<partition::Overlapping>()?;
        self.add_partition::<partition::StructureSkew>()?;
        self.add_partition::<partition::ByProperty>()?;
        self.add_partition::<partition::Given>()?;
        self.add_partition::<partition::File>()?;
        self.add_partition::<partition::Metis>()?;
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
        self.add_selection::<world::cohort::All>()?;
        self.add_selection::<world::cohort::Size>()?;
        self.add_selection::<world::cohort::Fraction>()?;
        self.add_selection::<world::cohort::Poisson>()?;
        self.add_selection::<world::PowerOfChoice>()?;
        self.add_component::<dyn Codec, codecs::Plain>()?;
        self.add_component::<dyn Codec, codecs::Half>()?;
        self.add_component::<dyn Codec, codecs::Bfloat>()?;
        self.add_component::<dyn Codec, codecs::Uniform>()?;
        self.add_component::<dyn Codec, codecs::Qsgd>()?;
        self.add_component::<dyn Codec, codecs::TopK>()?;
        self.add_component::<dyn Codec, codecs::RandomK>()?;
        self.add_component::<dyn Codec, codecs::Sign>()?;
        self.add_component::<dyn Codec, codecs::LowRank>()
    }

    /// Adds a card by its name and text, as `include_str!` gives it.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_card(&mut self, name: &'static str, text: &'static str) -> Result<(), DuplicateName> {
        match self.cards.binary_search_by_key(&name, |(known, _)| known) {
            Ok(_) => Err(DuplicateName(name)),
            Err(at) => {
                self.cards.insert(at, (name, text));
                Ok(())
            }
        }
    }

    /// Name and text of every card, by name.
    pub fn cards(&self) -> &[(&'static str, &'static str)] {
        &self.cards
    }

    /// Adds names from the literature that are settings.
    pub fn add_known_as(&mut self, names: &[KnownAs]) {
        self.known_as.extend(names);
    }

    /// Names from the literature that are settings.
    pub fn known_as(&self) -> &[KnownAs] {
        &self.known_as
    }

    /// Names the folder of scenarios whose cards and claims belong to what was added.
    pub fn add_folder(&mut self, folder: &'static str) {
        self.folders.push(folder);
    }

    /// The names of the folders of scenarios, in the order in which they were added.
    pub fn folders(&self) -> &[&'static str] {
        &self.folders
    }

    /// Adds the cards and claims of those folders that were named, claims in the order of
    /// [`add_folder`](Self::add_folder).
    ///
    /// # Errors
    ///
    /// When the name of a card is taken.
    pub fn embed(&mut self, scenarios: &[Scenarios]) -> Result<(), DuplicateName> {
        for name in self.folders.clone() {
            for of in scenarios.iter().filter(|of| of.folder == name) {
                of.cards.iter().try_for_each(|(name, text)| self.add_card(name, text))?;
                self.costs.extend(of.costs.lines().skip(1).filter_map(cost));
                self.claims.extend(of.claims);
            }
        }
        Ok(())
    }

    /// What a card costs, where that was measured.
    pub fn cost(&self, card: &str) -> Option<Cost> {
        self.costs.get(card).copied()
    }

    /// The files of claims, in the order of their folders.
    pub fn claims(&self) -> &[ClaimsFile] {
        &self.claims
    }

    /// Adds a figure of runs or sweeps.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_figure(&mut self, source: impl FigureSource + 'static) -> Result<(), DuplicateName> {
        let name = source.known().name;
        self.figures.add(source).then_some(()).ok_or(DuplicateName(name))
    }

    /// The figures that a card can name.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Adds tables that runs leave below `artifacts/`, so that `explain` knows their columns.
    pub fn add_artifact_tables(&mut self, tables: &[ArtifactTable]) {
        self.artifact_tables.extend(tables);
    }

    /// Every table that runs may leave below `artifacts/`.
    pub fn artifact_tables(&self) -> &[ArtifactTable] {
        &self.artifact_tables
    }

    /// Adds a file of claims with its record.
    pub fn add_claims(&mut self, claims: ClaimsFile) {
        self.claims.push(claims);
    }

    /// Adds an algorithm by its settings.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add<P: Algorithm>(&mut self) -> Result<(), DuplicateName> {
        self.strategies.add(Runnable::of::<P>)?;
        let mut glossary = Glossary::of::<P>();
        let added = self.strategies.parts().last();
        for (what, terms) in &self.terms_inside {
            glossary.add(added.is_some_and(|added| lists(&added.shape, what)), terms);
        }
        self.glossaries.push(glossary);
        Ok(())
    }

    /// Says what the numbers mean that parts of the kind `T` write, for all algorithms whose
    /// settings hold a list of such parts.
    pub fn add_terms<T: ComponentType + ?Sized>(&mut self, terms: Vec<Term>) {
        for glossary in &mut self.glossaries {
            let mut parts = self.strategies.parts();
            let part = parts.find(|part| part.name == glossary.strategy);
            glossary.add(part.is_some_and(|part| lists(&part.shape, T::WHAT)), &terms);
        }
        self.terms_inside.push((T::WHAT, terms));
    }

    /// Adds an evaluator to the algorithm `P`, which must have been added before.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    ///
    /// # Panics
    ///
    /// Without that algorithm.
    pub fn add_evaluator<P: Algorithm, E: Evaluates<P>>(&mut self) -> Result<(), DuplicateName> {
        self.evaluators.add::<E>(Added::of::<P, E>)?;
        let glossary = self.glossaries.iter_mut().find(|glossary| glossary.strategy == P::NAME);
        glossary
            .unwrap_or_else(|| panic!("{} is added before its evaluator {}", P::NAME, E::NAME))
            .add(true, &E::terms());
        Ok(())
    }

    pub fn evaluators(&self) -> &Axis<Added> {
        &self.evaluators
    }

    /// What each strategy says of its numbers and messages.
    pub fn glossaries(&self) -> &[Glossary] {
        &self.glossaries
    }

    pub fn strategies(&self) -> &Axis<Runnable> {
        &self.strategies
    }

    /// Adds a data set or a generator.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_dataset<P: Component + DataSource>(&mut self) -> Result<(), DuplicateName> {
        self.datasets.add::<P>(|part| Box::new(part))?;
        self.catalogue.insert(P::NAME, P::entries());
        Ok(())
    }

    /// All of that kind.
    pub fn datasets(&self) -> &Axis<dyn DataSource> {
        &self.datasets
    }

    /// The lines that lists have for the data set of this name; none if it has no special ones.
    pub fn entries(&self, dataset: &str) -> &[CatalogueEntry] {
        self.catalogue.get(dataset).map_or(&[], Vec::as_slice)
    }

    adds! {
        /// Adds a way to share data out.
        add_partition, partitions: partitions of Partitioner;
        /// Adds a way to select the clients of a round.
        add_selection, selections: selections of ClientSelection;
    }

    adds_model! {
        /// Adds a network.
        add_network, add_made_network, networks: networks of Network;
        /// Adds a model of how fast clients compute.
        add_devices, add_made_devices, devices: devices of Devices;
        /// Adds a model of when clients are online.
        add_availability, add_made_availability, availabilities: availabilities of Availability;
    }

    /// Adds a part of the kind `T` that settings name: `add_component::<dyn Rule, Middle>()`. The
    /// kind may be one's own.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add_component<T, P>(&mut self) -> Result<(), DuplicateName>
    where
        T: Holds<P> + ?Sized,
        P: Component,
    {
        let at = self.inner.iter().position(|axis| axis.what() == T::WHAT);
        let at = at.unwrap_or_else(|| {
            self.inner.push(Axis::new(T::WHAT, T::WHAT));
            self.inner.len() - 1
        });
        self.inner[at].add::<P>(|part| Box::new(T::hold(part)))
    }

    /// Every list of what may be named inside settings, in the order in which their first parts
    /// were added.
    pub fn inside(&self) -> &[InnerAxis] {
        &self.inner
    }

    /// The list of the kind that is called so.
    pub(crate) fn inner(&self, what: &str) -> Option<&InnerAxis> {
        self.inner.iter().find(|axis| axis.what() == what)
    }

    /// The settings of one part, read from text as the card's field would hold them behind the
    /// name: `(walk_length: 3)`.
    ///
    /// # Errors
    ///
    /// Every problem of shape and value.
    pub fn settings<P: Component>(&self, text: &str) -> Result<P, Problems> {
        read_part(&text::Source::new(P::NAME, text)?, self)
    }

    /// What every part says of itself, axis by axis.
    pub fn parts(&self) -> impl Iterator<Item = &Described> {
        let world = self
            .networks
            .parts()
            .chain(self.devices.parts())
            .chain(self.availabilities.parts())
            .chain(self.selections.parts())
            .chain(self.evaluators.parts());
        let data = self.datasets.parts().chain(self.partitions.parts());
        let inside = self.inner.iter().flat_map(Axis::parts);
        self.strategies.parts().chain(data).chain(world).chain(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_write_every_data_set_as_cards_do() {
        let registry = Registry::base();
        let read = |text: &str| {
            let source = text::Source::new("card", text).unwrap();
            registry.datasets().read(&source, &registry).unwrap()
        };
        for part in registry.datasets().parts() {
            assert!(!registry.entries(part.name).is_empty(), "{}", part.name);
            for entry in registry.entries(part.name) {
                let picked = read(&entry.name.replace("PATH", "\"some/file.txt\""));
                assert_eq!(read(picked.text()).text(), picked.text());
                assert_eq!(picked.build().is_generated(), entry.about.starts_with("generated"));
            }
        }
    }
}
