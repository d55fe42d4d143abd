//! A checked scenario: every value is legal, or all problems are reported at once.

use crate::algorithm::Keep;
use crate::algorithm::Runnable;
use crate::axis::{Axis, Picked};
use crate::contrasts;
use crate::evaluators::Added;
use crate::file::{Named, ScenarioFile, SweepFile};
use crate::glossary;
use crate::names::present;
use crate::registry::Registry;
use crate::summary::TERMS;
use crate::swept::{self, Swept};
use crate::text::{
    Problems, Source, Variant, apply, formed, quoted_part, recover, replace_if_present, suggest, variant_of,
};
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::{Availability, ClientSelection, Devices, Network, Stop};
use folkmoot_graphs::{DataSource, Partitioner};
use folkmoot_metrics::term::find;
use folkmoot_metrics::{Better, Contrast, Target};
use folkmoot_parts::{Rules, Value};
use folkmoot_privacy::NoiseForm;
use folkmoot_traces::{Model, Shelf, TraceError};
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use std::collections::BTreeSet;

/// A card in which every value is legal. Made by [`check`] alone.
pub struct Scenario {
    file: ScenarioFile,
    name: String,
    source: Source,
    dataset: Box<dyn DataSource>,
    partition: Box<dyn Partitioner>,
    strategy: Box<Runnable>,
    network: Picked<dyn Model<dyn Network>>,
    devices: Picked<dyn Model<dyn Devices>>,
    availability: Picked<dyn Model<dyn Availability>>,
    cohort: Picked<dyn ClientSelection>,
    evaluators: Vec<Added>,
    axes: Vec<Swept>,
    contrasts: Vec<Contrast>,
    targets: Vec<Target>,
    /// Definitions of the metrics of its strategy and of attacks on it.
    terms: Vec<Term>,
    lints: Vec<String>,
}

/// Checks a card called `name`.
///
/// # Errors
///
/// Every problem of shape and value, with line and column.
pub fn check(name: &str, source: &Source, registry: &Registry) -> Result<Scenario, Problems> {
    let source = &present(source, registry);
    let (file, mut problems) = recover::<ScenarioFile>(&formed(source, &ScenarioFile::shape()));
    let Some(mut file) = file else { return Err(problems) };
    for broken in file.broken() {
        problems.push_at(&broken.path, broken.rule);
    }
    let strategy = registry.strategies().parts().next();
    let strategy = strategy.map_or("STRATEGY()".to_owned(), |first| format!("{}()", first.name));
    for (field, example) in [("dataset", "Karate"), ("strategy", &strategy)] {
        if source.within(field).is_none() {
            let rule = format!("must be given, such as {field}: {example} (see folkmoot list)");
            problems.push_at(field, rule);
        }
    }
    let strategy = pick(
        registry,
        registry.strategies(),
        source,
        ("strategy", &mut file.strategy),
        &mut problems,
    );
    let dataset = pick(
        registry,
        registry.datasets(),
        source,
        ("dataset", &mut file.dataset),
        &mut problems,
    );
    let partition = pick(
        registry,
        registry.partitions(),
        source,
        ("partition", &mut file.partition),
        &mut problems,
    );
    let network = pick(
        registry,
        registry.networks(),
        source,
        ("network", &mut file.network),
        &mut problems,
    );
    let devices = pick(
        registry,
        registry.devices(),
        source,
        ("devices", &mut file.devices),
        &mut problems,
    );
    let availability = ("availability", &mut file.availability);
    let availability = pick(registry, registry.availabilities(), source, availability, &mut problems);
    let cohort = ("cohort", &mut file.cohort);
    let cohort = pick(registry, registry.selections(), source, cohort, &mut problems);
    let strategy = strategy.map(|strategy| strategy.build());
    let evaluators = evaluators(
        registry,
        source,
        (&mut file.evaluators, strategy.as_deref()),
        &mut problems,
    );
    let swept = swept::read(source, &file.sweep, &mut problems);
    let compared = match &swept {
        Some(axes) => contrasts::read(source, &file.sweep, axes, &mut problems),
        None => Vec::new(),
    };
    let terms = terms_of(source, registry);
    let targets = targets(&file, &terms, &mut problems);
    if let Some(strategy) = &strategy {
        check_observe(&file, strategy, &mut problems);
        check_keep(&file, strategy, source, &mut problems);
    }
    if let Some(axes) = &swept {
        check_headline(&file, &strategies_of(source, axes), registry, &mut problems);
    }
    check_figures(&file, registry, &mut problems);
    let (
        Some(strategy),
        Some(dataset),
        Some(partition),
        Some(network),
        Some(devices),
        Some(availability),
        Some(cohort),
        Some(axes),
    ) = (
        strategy,
        dataset,
        partition,
        network,
        devices,
        availability,
        cohort,
        swept,
    )
    else {
        return Err(problems);
    };
    problems.into_result(Scenario {
        lints: lints(source, strategy.as_ref()),
        file,
        name: name.to_owned(),
        source: source.clone(),
        dataset: dataset.build(),
        partition: partition.build(),
        strategy,
        network,
        devices,
        availability,
        cohort,
        evaluators,
        axes,
        contrasts: compared,
        targets,
        terms,
    })
}

/// Checks that the strategy has the counters to observe.
fn check_observe(file: &ScenarioFile, strategy: &Runnable, problems: &mut Problems) {
    for (i, name) in file.observe.iter().enumerate() {
        let known = strategy.counters;
        if !known.contains(&name.as_str()) {
            problems.push_at(
                &format!("observe.{i}"),
                format!("no such counter; there are {}", known.join(", ")),
            );
        }
    }
}

/// Checks that the strategy has models to keep.
fn check_keep(file: &ScenarioFile, strategy: &Runnable, source: &Source, problems: &mut Problems) {
    if !file.keep.is_empty() && !strategy.about.keeps {
        let name = strategy_variant(source).map_or_else(|| "this strategy".to_owned(), |variant| variant.name);
        problems.push_at(
            "keep",
            format!("has no effect with {name}, which trains no classifier among clients; leave it out"),
        );
    }
}

/// Checks that the runs of the sweep have its headline metrics and the scores of targets.
fn check_headline(file: &ScenarioFile, strategies: &[String], registry: &Registry, problems: &mut Problems) {
    for (i, name) in file.sweep.headline.iter().enumerate() {
        if let Some(why) = glossary::unknown(name, strategies, registry) {
            problems.push_at(&format!("sweep.headline.{i}"), why);
        }
    }
    for score in file.targets.keys() {
        if let Some(why) = glossary::no_score(score, strategies, registry) {
            problems.push_at(&format!("targets.{}", quoted_part(score)), why);
        }
    }
}

/// Checks that there are figures of the card's names.
fn check_figures(file: &ScenarioFile, registry: &Registry, problems: &mut Problems) {
    for (i, name) in file.figures.iter().enumerate() {
        if registry.figures().called(name).next().is_none() {
            let known: Vec<&str> = registry.figures().known().map(|known| known.name).collect();
            problems.push_at(
                &format!("figures.{i}"),
                format!("no such figure{}", suggest(name, &known)),
            );
        }
    }
}

/// The strategy that the card writes: its name and its settings.
pub(crate) fn strategy_variant(source: &Source) -> Option<Variant> {
    variant_of(&source.within("strategy")?).ok()
}

/// Definitions of the metrics of the card's strategy, and of attacks on it.
fn terms_of(source: &Source, registry: &Registry) -> Vec<Term> {
    let named = strategy_variant(source);
    let mut glossaries = registry.glossaries().iter();
    let glossary = named.and_then(|named| glossaries.find(|glossary| glossary.strategy == named.name));
    glossary.map(|glossary| glossary.terms.clone()).unwrap_or_default()
}

/// The scores to be reached.
fn targets(file: &ScenarioFile, terms: &[Term], problems: &mut Problems) -> Vec<Target> {
    for (score, value) in &file.targets {
        if !value.is_finite() {
            let rule = format!("must be a finite number, got {value}");
            problems.push_at(&format!("targets.{}", quoted_part(score)), rule);
        }
    }
    if file.stop.target_reached && file.targets.is_empty() {
        let rule = "there is no target to reach; give one, as in targets: {\"test_accuracy\": 0.6}";
        problems.push_at("stop.target_reached", rule);
    }
    let all = [terms, TERMS].concat();
    let mut target = |(score, value): (&String, &f64)| {
        let term = find(&all, score);
        if let Some((least, most)) = term.as_ref().map(|term| term.range)
            && (least.is_some_and(|least| *value < least) || most.is_some_and(|most| *value > most))
        {
            let bound = |bound: Option<f64>| bound.map_or("…".to_owned(), |bound| bound.to_string());
            let rule = format!("the score lies in {}..={}, got {value}", bound(least), bound(most));
            problems.push_at(&format!("targets.{}", quoted_part(score)), rule);
        }
        Target {
            at_most: term.is_some_and(|term| term.better == Some(Better::Lower)),
            score: score.clone(),
            value: *value,
        }
    };
    file.targets.iter().map(&mut target).collect()
}

/// The names of the strategies that the card runs, itself and by its axes and arms.
fn strategies_of(source: &Source, axes: &[Swept]) -> Vec<String> {
    let own = source.value("strategy").into_iter();
    let swept = axes.iter().flat_map(|axis| axis.values.iter().flatten());
    let swept = swept
        .filter(|(path, _)| path == "strategy")
        .map(|(_, value)| value.as_str());
    let name = |text: &str| text.split('(').next().unwrap_or_default().trim().to_owned();
    let mut names: Vec<String> = own.chain(swept).map(name).collect();
    names.sort();
    names.dedup();
    names
}

/// Lints: settings of a strategy that are allowed and probably not intended, a line each.
fn lints(source: &Source, strategy: &Runnable) -> Vec<String> {
    let body = strategy_variant(source);
    let mut lints = Problems::new(&body.map_or_else(|| source.clone(), |variant| variant.body));
    for lint in &strategy.about.lints {
        lints.push_at(&lint.path, lint.rule.clone());
    }
    lints.lines()
}

/// What the card names in one field, or its default; the file then holds it with every setting
/// explicit.
fn pick<T: ?Sized + 'static>(
    registry: &Registry,
    axis: &Axis<T>,
    source: &Source,
    (field, named): (&str, &mut Named),
    problems: &mut Problems,
) -> Option<Picked<T>> {
    let picked = match source.within(field) {
        Some(value) => axis.read(&value, registry),
        None if problems.is_doubtful(field) => return None,
        None => Source::new(field, named.text()).and_then(|default| axis.read(&default, registry)),
    };
    match picked {
        Ok(picked) => {
            *named = Named::of(&picked.text().replace('\n', "\n    "));
            Some(picked)
        }
        Err(more) => {
            if source.within(field).is_some() {
                problems.append(more);
            }
            None
        }
    }
}

/// The evaluators of a card, each for its algorithm.
fn evaluators(
    registry: &Registry,
    source: &Source,
    (named, strategy): (&mut [Named], Option<&Runnable>),
    problems: &mut Problems,
) -> Vec<Added> {
    let mut evaluators = Vec::new();
    for (i, named) in named.iter_mut().enumerate() {
        let field = format!("evaluators.{i}");
        let picked = pick(registry, registry.evaluators(), source, (&field, named), problems);
        let Some(evaluator) = picked.map(|picked| picked.build()) else {
            continue;
        };
        if let Some(strategy) = strategy.filter(|strategy| strategy.name != evaluator.strategy) {
            let rule = format!(
                "is an evaluator of {}, and the algorithm is {}",
                evaluator.strategy, strategy.name
            );
            problems.push_at(&field, rule);
        }
        evaluators.push(*evaluator);
    }
    evaluators
}

impl Scenario {
    /// The name: a built-in card's, or the file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form of Laplace and Gaussian noise.
    pub(crate) fn noise(&self) -> NoiseForm {
        self.file.noise
    }

    /// The question it answers.
    pub fn question(&self) -> &str {
        &self.file.question
    }

    /// The text it was read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    pub fn seed(&self) -> u64 {
        self.file.seed
    }

    pub fn dataset(&self) -> &dyn DataSource {
        self.dataset.as_ref()
    }

    /// The data's settings, as a card writes them.
    pub fn dataset_text(&self) -> &str {
        self.file.dataset.text()
    }

    /// The partition of the data.
    pub fn partition(&self) -> &dyn Partitioner {
        self.partition.as_ref()
    }

    /// The partition's settings, as a card writes them.
    pub fn partition_text(&self) -> &str {
        self.file.partition.text()
    }

    /// The algorithm with its settings, as the card writes it.
    pub fn strategy_text(&self) -> &str {
        self.file.strategy.text()
    }

    pub fn strategy(&self) -> &Runnable {
        self.strategy.as_ref()
    }

    /// The evaluators next to that of its algorithm.
    pub fn evaluators(&self) -> &[Added] {
        &self.evaluators
    }

    /// What its run keeps of its models.
    pub fn keep(&self) -> &[Keep] {
        &self.file.keep
    }

    /// Counters to record by round.
    pub fn observe(&self) -> &[String] {
        &self.file.observe
    }

    /// The axes of its sweep, first the slowest.
    pub fn axes(&self) -> &[Swept] {
        &self.axes
    }

    /// The comparisons that its question asks for.
    pub fn contrasts(&self) -> &[Contrast] {
        &self.contrasts
    }

    /// The seeds of its sweep.
    pub fn seeds(&self) -> &[u64] {
        &self.file.sweep.seeds
    }

    /// The numbers its sweep is about.
    pub fn headline(&self) -> &[String] {
        &self.file.sweep.headline
    }

    /// The settings of its strategy that a fork may change.
    pub fn forkable(&self) -> &'static [&'static str] {
        self.strategy.about.forkable
    }

    /// The numbers that answer its question: those of its sweep, or else of its strategy.
    pub fn answers(&self) -> Vec<String> {
        match self.headline() {
            [] => self
                .strategy
                .about
                .headline
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            names => names.to_vec(),
        }
    }

    /// The figures that answer its question.
    pub fn figures(&self) -> &[String] {
        &self.file.figures
    }

    /// Definitions of the metrics of its strategy, and of attacks on it.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The scores to be reached.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The environment for the clients of a trace store.
    ///
    /// # Errors
    ///
    /// When a model cannot be made: the field of the card that names it, and why.
    pub fn world(&self, shelf: &mut Shelf<'_>) -> Result<World, (&'static str, TraceError)> {
        let of = |field| move |error| (field, error);
        let availability = self.availability.build().make(shelf).map_err(of("availability"))?;
        Ok(World {
            network: self.network.build().make(shelf).map_err(of("network"))?,
            devices: self.devices.build().make(shelf).map_err(of("devices"))?,
            availability: self.file.outages.over(availability, shelf.n_clients()),
            dropout: self.file.dropout,
            cohort: self.cohort.build(),
            deadline: self.file.deadline_ms.map(SimSpan::from_millis),
            horizon: self.file.horizon_s.map_or(SimSpan::FOREVER, SimSpan::from_secs),
            stop: Stop {
                at: match self.file.stop.target_reached {
                    true => self.targets.clone(),
                    false => Vec::new(),
                },
                diverged: self.file.stop.diverged,
            },
            header_bytes: self.file.header_bytes,
            delta: self.file.delta,
            noise: self.file.noise,
        })
    }

    /// A problem of one field of the card that depends on the data.
    pub(crate) fn problem(&self, field: &str, rule: String) -> Problems {
        let mut problems = Problems::new(&self.source);
        problems.push_at(field, rule);
        problems
    }

    /// Checks what depends on the number of clients.
    ///
    /// # Errors
    ///
    /// Every rule broken.
    pub fn check_clients(&self, n_clients: u32) -> Result<(), Problems> {
        let mut problems = Problems::new(&self.source);
        let mut rules = Rules::default();
        rules.at("cohort", |rules| self.cohort.build().check_clients(n_clients, rules));
        for broken in rules.into_broken() {
            problems.push_at(&broken.path, broken.rule);
        }
        problems.into_result(())
    }

    /// Lints: settings that are allowed and probably not intended, a line each with the remedy.
    pub fn lints(&self) -> &[String] {
        &self.lints
    }

    /// The card with every default explicit and with its sweep. Running it again gives the same
    /// fingerprint, and so does every point of its sweep.
    ///
    /// Where an axis varies what other defaults depend on, as a variant does, the part of the card
    /// that it lies in stands as it was written, since defaults made explicit would stay as they
    /// are.
    ///
    /// # Errors
    ///
    /// When the card and its sweep together are larger than a card may be.
    pub fn shown(&self, registry: &Registry) -> Result<String, Problems> {
        let Some(sweep) = self.source.value("sweep") else {
            return Ok(self.text(SweepFile::default()));
        };
        let mut card = replace_if_present(&Source::new(&self.name, &self.resolved())?, "sweep", sweep)?;
        let mut kept = BTreeSet::new();
        for axis in &self.axes {
            let fields = axis.fields();
            if !fields.is_subset(&kept) && !self.is_varied_alike(&card, axis, registry) {
                kept.extend(fields);
            }
        }
        for part in kept {
            if let Some(written) = self.source.value(part) {
                card = replace_if_present(&card, part, written)?;
            }
        }
        Ok(card.text().to_owned())
    }

    /// Whether each value of an axis makes the same scenario of `card` as of the card that this
    /// scenario was read from.
    fn is_varied_alike(&self, card: &Source, axis: &Swept, registry: &Registry) -> bool {
        let with = |source: &Source, choice: usize| {
            let source = apply(&axis.apply(source, choice, registry)?, "sweep", "()")?;
            Ok::<_, Problems>(check(&self.name, &source, registry)?.resolved())
        };
        // Alone, a value may break a rule that it keeps with those of other axes.
        let is_alike = |choice| matches!((with(&self.source, choice), with(card, choice)), (Ok(a), Ok(b)) if a == b);
        // More values would take long to try.
        axis.values.len() <= 1000 && (0..axis.values.len()).all(is_alike)
    }

    /// The card with every default explicit and without a sweep. Running it again gives the same
    /// fingerprint.
    pub fn resolved(&self) -> String {
        self.text(SweepFile {
            seeds: vec![self.file.seed],
            ..SweepFile::default()
        })
    }

    fn text(&self, sweep: SweepFile) -> String {
        let file = ScenarioFile {
            sweep,
            ..self.file.clone()
        };
        let pretty = PrettyConfig::new().extensions(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES);
        let text = ron::ser::to_string_pretty(&file, pretty).expect("a card is plain data");
        format!("// {}\n{text}\n", self.name.replace(['\n', '\r'], " "))
    }
}
