//! What a sweep varies, read off its card: arms, axes, and which axes move together.

use crate::arms::inherited;
use crate::file::SweepFile;
use crate::registry::Registry;
use crate::scenario::{Scenario, check};
use crate::text::{
    Entry, MAX_AXES, Problems, Source, apply, apply_arm, apply_axis, axes_of, check_axes, check_points, check_setting,
    is_part, maps_of, quoted_part, suggest,
};
use folkmoot_metrics::Axis;
use folkmoot_metrics::words::visible;
use std::collections::{BTreeMap, BTreeSet};

/// What tables and `sweep.json` call the arms, in the place of a path.
pub const ARM: &str = "arm";

/// Of more values none is looked for that the card has: it would take long.
const MOST_TRIED: usize = 1000;

/// Something that a sweep varies: a field, or the arms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The path of the field that it varies, or [`ARM`].
    pub path: String,
    /// What each value sets: paths and values as the card writes them.
    pub values: Vec<Vec<(String, String)>>,
    /// What tables and figures call the values.
    pub names: Vec<String>,
    /// The path of an earlier axis that it moves along with.
    pub with: Option<String>,
}

impl Swept {
    /// A card with one of the values. Another strategy than the card's takes over the settings that
    /// both share and the value does not state.
    ///
    /// # Errors
    ///
    /// When the card has no such field or breaks a rule of syntax with it.
    pub fn apply(&self, source: &Source, choice: usize, registry: &Registry) -> Result<Source, Problems> {
        Ok(self.apply_with(source, choice, registry)?.0)
    }

    /// The same, with the settings that a strategy takes over from the card's own, by path below it
    /// and value.
    pub(crate) fn apply_with(
        &self,
        source: &Source,
        choice: usize,
        registry: &Registry,
    ) -> Result<(Source, Vec<(String, String)>), Problems> {
        let mut taken = Vec::new();
        let set = |source: Source, (path, value): &(String, String)| match self.is_arms() {
            true => apply_arm(&source, &self.names[choice], path, value),
            false => apply_axis(&source, path, value),
        };
        // Settings below it come after it, and count first.
        let mut card = source.clone();
        for setting in &self.values[choice] {
            let replaced = set(card.clone(), setting)?;
            card = match setting.0 == "strategy" {
                true => {
                    let label = self.label(choice);
                    let (with, of_card) = inherited(&card, replaced, &label, registry);
                    taken = of_card;
                    with
                }
                false => replaced,
            };
        }
        Ok((card, taken))
    }

    /// The axis with the names of its values, as `sweep.json` has it.
    pub fn named(&self) -> Axis {
        Axis {
            path: self.path.clone(),
            values: self.names.clone(),
            with: self.with.clone(),
        }
    }

    /// What a value is called in messages.
    pub(crate) fn label(&self, choice: usize) -> String {
        match self.is_arms() {
            true => format!("sweep arm {}", self.names[choice]),
            false => format!("sweep axis {} = {}", self.path, self.names[choice]),
        }
    }

    /// The name of the value that the card itself has, if one changes nothing.
    pub fn own<'a>(&'a self, scenario: &Scenario, registry: &Registry) -> Option<&'a str> {
        let card = apply(scenario.source(), "sweep", "()").ok()?;
        let is_own = |choice: &usize| {
            let same = self
                .apply(&card, *choice, registry)
                .and_then(|card| check(scenario.name(), &card, registry));
            same.is_ok_and(|same| same.resolved() == scenario.resolved())
        };
        let choices = 0..self.values.len().min(MOST_TRIED);
        choices
            .into_iter()
            .find(is_own)
            .map(|choice| self.names[choice].as_str())
    }

    /// Where a value stands in the card, as a problem begins that is there.
    pub(crate) fn place(&self, card: &Source, choice: usize) -> String {
        let arms = maps_of(card, "sweep.arms");
        let path = match (self.is_arms(), arms.get(choice)) {
            (true, Some((name, _))) => format!("sweep.arms.{}", quoted_part(name)),
            (true, None) => "sweep.arms".to_owned(),
            (false, _) => format!("sweep.axes.{}.{choice}", quoted_part(&self.path)),
        };
        let mut place = Problems::new(card);
        place.push_at(&path, "");
        place.lines().concat()
    }

    /// The fields of the card that it sets something in, by the first part of their paths.
    pub(crate) fn fields(&self) -> BTreeSet<&str> {
        let paths = self.values.iter().flatten();
        paths.filter_map(|(path, _)| path.split('.').next()).collect()
    }

    /// The path by which each of its values sets anew what a setting of `path` says, if each does.
    pub fn overrides(&self, path: &str) -> Option<&str> {
        let by = |other: &str| other == path || is_part(path, other);
        let sets_it = |settings: &Vec<(String, String)>| settings.iter().any(|(other, _)| by(other));
        let mut first = self
            .values
            .first()
            .into_iter()
            .flatten()
            .map(|(other, _)| other.as_str());
        first
            .find(|other| by(other))
            .filter(|_| self.values.iter().all(sets_it))
    }

    fn is_arms(&self) -> bool {
        self.path == ARM
    }
}

/// Reads a card's sweep; what is wrong with it is added to the problems. `None` if it has more axes
/// than anybody could mean.
pub(crate) fn read(source: &Source, file: &SweepFile, problems: &mut Problems) -> Option<Vec<Swept>> {
    let (arms, axes) = (maps_of(source, "sweep.arms"), axes_of(source, "sweep.axes"));
    for error in check_axes(&axes, &file.seeds) {
        let path = format!("sweep.{}", error.path());
        problems.push_at(path.trim_end_matches('.'), error.to_string());
    }
    if axes.len() > MAX_AXES {
        return None; // Their names may be as many.
    }
    for (place, why) in check_arms(&arms, &axes) {
        problems.push_at(&format!("sweep.arms{place}"), why);
    }
    for (axis, why) in check_names(&axes, &file.names) {
        problems.push_at(&format!("sweep.names.{}", quoted_part(&axis)), why);
    }
    let mut with = BTreeMap::new();
    for (i, group) in file.zip.iter().enumerate() {
        match leader(group, &axes, &with) {
            Ok(leader) => with.extend(
                group
                    .iter()
                    .filter(|path| **path != leader)
                    .map(|path| (path, leader.clone())),
            ),
            Err(why) => problems.push_at(&format!("sweep.zip.{i}"), why),
        }
    }
    let sizes = axes.iter().filter(|(path, _)| !with.contains_key(path));
    let sizes = sizes
        .map(|(_, values)| values.len())
        .chain([file.seeds.len(), arms.len().max(1)]);
    if let Err(error) = check_points(sizes) {
        problems.push_at("sweep", error.to_string());
    }
    let mut all = Vec::with_capacity(axes.len() + 1);
    if !arms.is_empty() {
        let (names, values): (Vec<String>, _) = arms.into_iter().unzip();
        all.push(Swept {
            path: ARM.to_owned(),
            values,
            names: names.iter().map(|name| visible(name).into_owned()).collect(),
            with: None,
        });
    }
    for (path, values) in axes {
        let names: Vec<String> = match file.names.get(&path) {
            Some(names) => names.iter().map(|name| visible(name).into_owned()).collect(),
            None => values.iter().map(|value| on_one_line(value)).collect(),
        };
        if let Some(name) = first_twice(&names).filter(|_| !file.names.contains_key(&path)) {
            let why = format!("the value {name:?} is listed twice but for its spaces");
            problems.push_at(&format!("sweep.axes.{}", quoted_part(&path)), why);
        }
        all.push(Swept {
            with: with.get(&path).cloned(),
            values: values.into_iter().map(|value| vec![(path.clone(), value)]).collect(),
            names,
            path,
        });
    }
    Some(all)
}

/// Everything wrong with arms: where below them, and why.
fn check_arms(arms: &[Entry], axes: &[(String, Vec<String>)]) -> Vec<(String, String)> {
    let axes: Vec<&str> = axes.iter().map(|(path, _)| path.as_str()).collect();
    let mut wrong = Vec::new();
    for (i, (name, settings)) in arms.iter().enumerate() {
        let place = format!(".{}", quoted_part(name));
        let mut refuse = |why: String| wrong.push((place.clone(), why));
        if name.trim().is_empty() || name.contains(['\n', '\r']) {
            refuse("the name of an arm must be a line of text".to_owned());
        }
        for (other, known) in &arms[..i] {
            match (visible(other) == visible(name), known == settings) {
                (true, _) => refuse("there are two arms of this name".to_owned()),
                (false, true) => refuse(format!("is the same as the arm {other:?}")),
                (false, false) => {}
            }
        }
        let paths: Vec<&str> = settings.iter().map(|(path, _)| path.as_str()).collect();
        for (at, path) in paths.iter().enumerate() {
            let later = [&paths[at + 1..], axes.as_slice()].concat();
            if let Some(why) = check_setting(path, &paths[..at], &later) {
                wrong.push((format!("{place}.{}", quoted_part(path)), why));
            }
        }
    }
    wrong
}

/// The first of some axes that are to move together, in the order of the card.
fn leader(
    group: &[String],
    axes: &[(String, Vec<String>)],
    with: &BTreeMap<&String, String>,
) -> Result<String, String> {
    let known: Vec<&str> = axes.iter().map(|(path, _)| path.as_str()).collect();
    if group.len() < 2 {
        return Err("needs two axes at least".to_owned());
    }
    if let Some(path) = group.iter().find(|path| !known.contains(&path.as_str())) {
        return Err(format!("there is no axis {path}{}", suggest(path, &known)));
    }
    let is_taken = |path: &&String| with.contains_key(path) || with.values().any(|leader| leader == *path);
    if let Some(path) = group.iter().find(is_taken) {
        return Err(format!("the axis {path} moves with others already"));
    }
    if let Some(path) = first_twice(group) {
        return Err(format!("names the axis {path} twice"));
    }
    let of_group: Vec<&(String, Vec<String>)> = axes.iter().filter(|(path, _)| group.contains(path)).collect();
    let sizes: BTreeSet<usize> = of_group.iter().map(|(_, values)| values.len()).collect();
    match of_group.first() {
        Some((path, _)) if sizes.len() == 1 => Ok(path.clone()),
        _ => {
            let sizes: Vec<String> = of_group
                .iter()
                .map(|(path, values)| format!("{path} has {}", values.len()))
                .collect();
            Err(format!(
                "axes that move together need as many values: {}",
                sizes.join(", ")
            ))
        }
    }
}

/// A value that is written over several lines, as a table can show it.
fn on_one_line(value: &str) -> String {
    visible(&value.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// The first text that stands in the list before.
fn first_twice(texts: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    texts.iter().find(|text| !seen.insert(text.as_str()))
}

/// Everything wrong with the names of axes' values.
fn check_names(axes: &[(String, Vec<String>)], names: &BTreeMap<String, Vec<String>>) -> Vec<(String, String)> {
    let wrong = |(path, names): (&String, &Vec<String>)| {
        let known: Vec<&str> = axes.iter().map(|(path, _)| path.as_str()).collect();
        let why = match axes.iter().find(|(axis, _)| axis == path) {
            None => format!("there is no such axis{}", suggest(path, &known)),
            Some((_, values)) if values.len() != names.len() => {
                format!(
                    "needs one name for each of {} values, got {}",
                    values.len(),
                    names.len()
                )
            }
            Some(_)
                if names
                    .iter()
                    .any(|name| name.trim().is_empty() || name.contains(['\n', '\r'])) =>
            {
                "a name must be a line of text".to_owned()
            }
            Some(_) => format!("the name {:?} is given twice", first_twice(names)?),
        };
        Some((path.clone(), why))
    };
    names.iter().filter_map(wrong).collect()
}
