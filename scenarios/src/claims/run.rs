//! The runs that claims name: a card with settings, one value for each axis of its sweep, and what
//! it does.

use super::refused;
use crate::cards;
use crate::names;
use crate::registry::Registry;
use crate::scenario::{Scenario, check, strategy_variant};
use crate::text::{Problems, Source, apply, suggest};
use std::collections::BTreeMap;
use std::fmt;

/// A shipped card with settings and one value for each axis of its sweep. Written as
/// `fed-avg/tiny dropout.prob=0.2 --set strategy.protocol.rounds=10`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunKey {
    pub card: String,
    /// The value of each axis, by the name that the card gives it.
    pub arm: BTreeMap<String, String>,
    /// Settings as `--set` takes them.
    pub set: Vec<String>,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.card)?;
        self.arm
            .iter()
            .try_for_each(|(path, name)| write!(f, " {path}={name}"))?;
        self.set.iter().try_for_each(|set| write!(f, " --set {set}"))
    }
}

impl RunKey {
    /// The card with the settings, and its sweep.
    pub(super) fn card(&self, registry: &Registry) -> Result<(Scenario, Source), Problems> {
        let (name, source) = cards::find_shipped(&self.card, "no shipped card", registry.cards())?;
        let mut source = names::present(&source, registry);
        for setting in &self.set {
            source = names::set(&source, setting, registry)?;
        }
        Ok((check(&name, &source, registry)?, source))
    }

    /// The card of one run of it, with the seed of the card, and the seeds that its sweep has.
    ///
    /// # Errors
    ///
    /// When there is no such card, a setting breaks a rule, or an axis has no value or none of that
    /// name.
    pub fn resolve(&self, registry: &Registry) -> Result<Resolved, Problems> {
        let (scenario, mut source) = self.card(registry)?;
        let axes = scenario.axes();
        let known: Vec<&str> = axes.iter().map(|axis| axis.path.as_str()).collect();
        if let Some(path) = self.arm.keys().find(|path| !known.contains(&path.as_str())) {
            return Err(refused(
                &source,
                format!("the card has no axis {path}{}", suggest(path, &known)),
            ));
        }
        for axis in axes {
            let Some(name) = self.arm.get(&axis.path) else {
                let rule = format!("the axis {} needs one of {}", axis.path, axis.names.join(", "));
                return Err(refused(&source, rule));
            };
            let Some(at) = axis.names.iter().position(|other| other == name) else {
                let names: Vec<&str> = axis.names.iter().map(String::as_str).collect();
                let rule = format!("the axis {} has no value {name}{}", axis.path, suggest(name, &names));
                return Err(refused(&source, rule));
            };
            source = axis.apply(&source, at, registry)?;
        }
        let seeds = match axes.is_empty() && scenario.seeds().len() <= 1 {
            true => vec![scenario.seed()],
            false => scenario.seeds().to_vec(),
        };
        // Not every arm has all numbers that the sweep heads its table with.
        let scenario = check(&self.card, &alone(&source)?, registry)?;
        let is_generated = scenario.dataset().is_generated();
        Ok(Resolved {
            strategy: strategy_variant(&source).map_or_else(String::new, |variant| variant.name),
            results_version: scenario.strategy().about.results_version,
            source,
            seeds,
            is_generated,
        })
    }
}

/// A card without its sweep.
fn alone(source: &Source) -> Result<Source, Problems> {
    match source.value("sweep") {
        Some(_) => apply(source, "sweep", "()"),
        None => Ok(source.clone()),
    }
}

/// What a run is of.
pub struct Resolved {
    /// The card with every axis at its value.
    pub source: Source,
    /// The seeds of the sweep.
    pub seeds: Vec<u64>,
    /// The name of its algorithm.
    pub strategy: String,
    /// The version of the results of its algorithm.
    pub results_version: u32,
    /// Whether its data need no file.
    pub is_generated: bool,
}

impl Resolved {
    /// The scenario under a seed.
    ///
    /// # Errors
    ///
    /// None that resolving did not find.
    pub fn scenario(&self, seed: u64, registry: &Registry) -> Result<Scenario, Problems> {
        let source = apply(&self.source, "seed", &seed.to_string())?;
        check(self.source.name(), &alone(&source)?, registry)
    }

    /// What the card says, whatever it is asked and whichever its seed, in sixteen digits: those of
    /// another card are others, and spaces, comments and what the card leaves to defaults change
    /// nothing.
    ///
    /// # Errors
    ///
    /// None that resolving did not find.
    pub fn written(&self, registry: &Registry) -> Result<String, Problems> {
        let source = names::recorded(&unasked(&self.source)?, registry);
        let lines = source
            .text()
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//"));
        let bare: String = lines.flat_map(str::split_whitespace).collect();
        // Where a card draws or keeps nothing of its own says nothing; floating-point noise was the
        // only form before there was a field for it.
        let unsaid = ["figures:[],", "keep:[],", "noise:Float,"];
        let bare = unsaid.into_iter().fold(bare, |bare, field| bare.replacen(field, "", 1));
        Ok(blake3::hash(bare.as_bytes()).to_hex()[..16].to_owned())
    }
}

/// A card without what changes nothing of what it does, and without its seed and sweep.
fn unasked(source: &Source) -> Result<Source, Problems> {
    let mut source = source.clone();
    for (field, value) in [
        ("seed", "0"),
        ("question", "\"\""),
        ("paper", "\"\""),
        ("observe", "[]"),
        ("figures", "[]"),
        ("keep", "[]"),
        ("sweep", "()"),
    ] {
        source = apply(&source, field, value)?;
    }
    Ok(source)
}

/// What a scenario does, whatever it is called and asked and whichever its seed: two cards of the
/// same text are the same.
///
/// # Errors
///
/// When the card breaks a rule.
pub fn essence(source: &Source, registry: &Registry) -> Result<String, Problems> {
    let resolved = check("", &unasked(source)?, registry)?.resolved();
    Ok(resolved
        .split_once('\n')
        .map_or(resolved.clone(), |(_, card)| card.to_owned()))
}
