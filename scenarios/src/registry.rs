//! Every strategy there is, by name. The only place that knows them all.

use crate::cards::CARDS;
use crate::text::{Problems, Source, Variant, recover, suggest, variant_of};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::{Observer, Outcome};
use folkmoot_graphs::{Dataset, Partition};
use folkmoot_metrics::{Ledger, MessageRow};
use folkmoot_strategies::settings::Settings;
use folkmoot_strategies::{deep_walk, fed_avg, fedwalk, fgcl, gw_ldp, ppgm};
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// What the command line may name: strategies, and cards that come with the program.
pub struct Registry {
    entries: Vec<Box<dyn Entry>>,
    cards: Vec<(&'static str, &'static str)>,
}

/// Two parts, or two cards, of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateName(pub &'static str);

impl fmt::Display for DuplicateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is something called {} already; choose another name", self.0)
    }
}

impl std::error::Error for DuplicateName {}

impl Registry {
    /// Nothing.
    pub fn empty() -> Self {
        Registry {
            entries: Vec::new(),
            cards: Vec::new(),
        }
    }

    /// Those that come with Folkmoot.
    pub fn shipped() -> Self {
        let mut registry = Registry::empty();
        registry.add::<fedwalk::Params>().expect("shipped names differ");
        registry.add::<deep_walk::Params>().expect("shipped names differ");
        registry.add::<fed_avg::Params>().expect("shipped names differ");
        registry.add::<fgcl::Params>().expect("shipped names differ");
        registry.add::<gw_ldp::Params>().expect("shipped names differ");
        registry.add::<ppgm::Params>().expect("shipped names differ");
        registry.add::<ppgm::federated::Params>().expect("shipped names differ");
        registry.cards = CARDS.to_vec();
        registry
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

    /// Adds a strategy of one's own.
    ///
    /// # Errors
    ///
    /// When its name is taken.
    pub fn add<P: Settings>(&mut self) -> Result<(), DuplicateName> {
        if self.entries.iter().any(|entry| entry.name() == P::NAME) {
            return Err(DuplicateName(P::NAME));
        }
        self.entries.push(Box::new(Typed::<P>(PhantomData)));
        Ok(())
    }

    /// Names and one-line descriptions, in a fixed order.
    pub fn list(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.entries.iter().map(|entry| (entry.name(), entry.about()))
    }

    /// Every parameter with its default, as RON, of the strategy called `name`.
    pub fn defaults(&self, name: &str) -> Option<String> {
        self.entries
            .iter()
            .find(|entry| entry.name() == name)
            .map(|entry| entry.defaults())
    }

    /// Reads a card's `strategy`; positions are those of the card.
    ///
    /// # Errors
    ///
    /// Every problem of the name, the shape and the values.
    pub fn read(&self, source: &Source) -> Result<Box<dyn Chosen>, Problems> {
        let Variant { name, body } = variant_of(source)?;
        match self.entries.iter().find(|entry| entry.name() == name) {
            Some(entry) => entry.read(&body),
            None => {
                let known: Vec<&str> = self.entries.iter().map(|entry| entry.name()).collect();
                let mut problems = Problems::new(source);
                problems.push_at("", format!("there is no strategy `{name}`{}", suggest(&name, &known)));
                Err(problems)
            }
        }
    }
}

/// A strategy that a card may name.
trait Entry: Send + Sync {
    fn name(&self) -> &'static str;
    fn about(&self) -> &'static str;
    fn defaults(&self) -> String;
    fn read(&self, body: &Source) -> Result<Box<dyn Chosen>, Problems>;
}

/// A strategy with its parameters.
pub trait Chosen: Send + Sync {
    /// As a card writes it, every parameter explicit.
    fn resolved(&self) -> String;

    /// How many rounds it will have, if that is known before.
    fn rounds(&self) -> Option<u32>;

    /// The names of its counters, which a card may observe.
    fn counters(&self) -> &'static [&'static str];

    /// Runs it.
    ///
    /// # Errors
    ///
    /// When the data do not suit it, or the run fails.
    fn run(&self, job: &Job<'_>, observer: &mut dyn TableObserver) -> Result<Finished, RunError>;
}

/// What a strategy is run on.
pub struct Job<'a> {
    /// The data.
    pub dataset: &'a Arc<Dataset>,
    /// How they are shared out.
    pub partition: &'a Arc<Partition>,
    /// The world.
    pub world: &'a World,
    /// The seed.
    pub seed: u64,
    /// How to run.
    pub options: Options,
}

/// What a run comes to, with the theory's counts filled in.
pub struct Finished {
    /// The outcome.
    pub outcome: Outcome,
    /// The rows of `messages.csv`.
    pub messages: Vec<MessageRow>,
}

/// Told of finished rounds in the terms of the run directory.
pub trait TableObserver: Send {
    /// Called when rounds have ended: all rounds so far, and a way to get the message table.
    ///
    /// # Errors
    ///
    /// A message ends the run.
    fn rounds_done(
        &mut self,
        rounds: &[folkmoot_metrics::RoundRow],
        messages: &mut dyn FnMut() -> Vec<MessageRow>,
    ) -> Result<(), String>;
}

struct Typed<P>(PhantomData<fn() -> P>);

impl<P: Settings> Entry for Typed<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn about(&self) -> &'static str {
        P::ABOUT
    }

    fn defaults(&self) -> String {
        Loaded(P::default()).resolved()
    }

    fn read(&self, body: &Source) -> Result<Box<dyn Chosen>, Problems> {
        let (params, mut problems) = recover::<P>(body);
        let Some(params) = params else { return Err(problems) };
        for (field, rule) in params.check() {
            problems.push_at(&field, rule);
        }
        problems.into_result(Box::new(Loaded(params)) as Box<dyn Chosen>)
    }
}

struct Loaded<P>(P);

impl<P: Settings> Chosen for Loaded<P> {
    fn resolved(&self) -> String {
        // The card that it becomes part of is read with the same extensions.
        let options = ron::Options::default()
            .with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES);
        let body = options.to_string_pretty(&self.0, PrettyConfig::new());
        let body = body.expect("settings are plain data");
        format!("{}{body}", P::NAME)
    }

    fn rounds(&self) -> Option<u32> {
        self.0.rounds()
    }

    fn counters(&self) -> &'static [&'static str] {
        P::Strategy::COUNTERS
    }

    fn run(&self, job: &Job<'_>, observer: &mut dyn TableObserver) -> Result<Finished, RunError> {
        let strategy = self
            .0
            .build(job.dataset, job.partition, Streams::new(job.seed))
            .map_err(|error| RunError::Setup {
                party: Party::Server,
                error,
            })?;
        let n_clients = job.partition.n_clients() as u32;
        let (streams, dry_run) = (Streams::new(job.seed), job.options.dry_run);
        let setup = Setup {
            n_clients,
            streams,
            world: job.world,
            dry_run,
        };
        let table = |ledger: &Ledger| {
            ledger.message_rows(|kind, round, direction| strategy.expected_messages(&setup, kind, round, direction))
        };
        let mut observer = Tables {
            table: &table,
            observer,
        };
        let outcome = run(&strategy, n_clients, job.world, job.seed, job.options, &mut observer)?;
        let messages = table(&outcome.ledger);
        Ok(Finished { outcome, messages })
    }
}

/// Turns the engine's ledger into the run directory's rows.
struct Tables<'a, T> {
    table: &'a T,
    observer: &'a mut dyn TableObserver,
}

impl<T: Fn(&Ledger) -> Vec<MessageRow> + Sync> Observer for Tables<'_, T> {
    fn rounds_done(
        &mut self,
        rounds: &[folkmoot_metrics::RoundRow],
        ledger: &mut dyn FnMut() -> Ledger,
    ) -> Result<(), String> {
        self.observer.rounds_done(rounds, &mut || (self.table)(&ledger()))
    }
}
