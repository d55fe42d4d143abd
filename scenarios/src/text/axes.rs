//! The axes of a sweep: reading them off a card, and everything that can be wrong with them.
//!
//! Laying the points out belongs to the sweep directory,
//! [`folkmoot_metrics::SweepManifest::points`]. Axes come in the order in which the card writes
//! them. A typed map would sort them by name, so [`axes_of`] reads them from the text: the author
//! decides which axis is the slowest, and thereby how the points are numbered.

use std::collections::BTreeSet;
use thiserror::Error;

use super::quote;
use super::source::Source;
use super::tree::{Node, bare_key, quoted_part, split_path};

/// A sweep may have this many points: a day of half-second runs on a core or two.
pub const MAX_POINTS: usize = 100_000;
/// A sweep may have this many axes: more than [`MAX_POINTS`] leaves room for, but for axes of one
/// value.
pub const MAX_AXES: usize = 64;
/// Why a sweep cannot be laid out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AxisError {
    /// An axis has no values.
    #[error("the axis has no values; give it some or remove it")]
    NoValues {
        /// The path that the axis varies.
        axis: String,
    },
    /// Two axes vary the same path.
    #[error("the axis is written twice; put all its values into one list")]
    DuplicateAxis { axis: String },
    /// A later axis sets all of what this one varies a part of, so that its values would come to
    /// nothing.
    #[error("the axis {} comes after this one and sets it anew; write this one after it", quote(.by))]
    Overwritten {
        /// The path that the axis varies.
        axis: String,
        by: String,
    },
    /// The key of an axis is no path.
    #[error("the axis is no path: {why}")]
    BadPath {
        /// The key as written.
        axis: String,
        /// The rule it breaks.
        why: String,
    },
    /// The axis varies the seed or the sweep itself, which every point sets.
    #[error("no sweep can vary this; put seeds into sweep.seeds, and other fields into axes of their own")]
    Reserved { axis: String },
    /// One axis holds the same value twice; numbers count as the same if they are equal.
    #[error("the value {} is listed twice", quote(.value))]
    DuplicateValue {
        /// The path that the axis varies.
        axis: String,
        /// The second of the two.
        value: String,
    },
    /// There are no seeds.
    #[error("needs at least one seed, as in [1]")]
    NoSeeds,
    /// A seed stands twice.
    #[error("the seed {seed} is listed twice; its runs would be the same")]
    DuplicateSeed { seed: u64 },
    /// More than [`MAX_AXES`].
    #[error("has {n_axes} axes, at most {MAX_AXES} are allowed; write what has one value into the card itself")]
    TooManyAxes {
        /// How many there are.
        n_axes: usize,
    },
    /// More than [`MAX_POINTS`].
    #[error("has {n_points} points, at most {MAX_POINTS} are allowed; shorten an axis or the seeds")]
    TooManyPoints {
        /// How many there would be; the largest number if it cannot be counted.
        n_points: usize,
    },
}

impl AxisError {
    /// Where in the sweep's own struct the cause stands, as a path for [`super::Problems::push_at`]
    /// after the path of the sweep: `axes."strategy.p"`, `seeds`, or empty.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::NoValues { axis }
            | Self::DuplicateAxis { axis }
            | Self::Overwritten { axis, .. }
            | Self::BadPath { axis, .. }
            | Self::Reserved { axis }
            | Self::DuplicateValue { axis, .. } => format!("axes.{}", quoted_part(axis)),
            Self::NoSeeds | Self::DuplicateSeed { .. } => "seeds".to_owned(),
            Self::TooManyAxes { .. } => "axes".to_owned(),
            Self::TooManyPoints { .. } => String::new(),
        }
    }
}

/// The axes written in the map at `path`, in the order of the text, with the text of each value.
///
/// Empty if there is no such map. An axis whose value is no list counts as one without values; the
/// typed parser has the better message for it.
#[must_use]
pub fn axes_of(source: &Source, path: &str) -> Vec<(String, Vec<String>)> {
    let axes = maps_of(source, path).into_iter();
    axes.map(|(axis, values)| (axis, values.into_iter().map(|(_, value)| value).collect()))
        .collect()
}

/// An entry of a map: its key, and each item of its value with its own key, or an empty one.
pub type Entry = (String, Vec<(String, String)>);

/// The entries of the map of lists, or of maps, at `path`, in the order of the text. Empty if there
/// is no such map.
#[must_use]
pub fn maps_of(source: &Source, path: &str) -> Vec<Entry> {
    let (Ok(tree), Some(id)) = (source.tree(), source.node(path)) else {
        return Vec::new();
    };
    let text = source.text();
    let children = |id: usize| {
        tree.nodes[tree.content(text, id)]
            .children
            .iter()
            .map(|&id| (id, &tree.nodes[id]))
    };
    let key = |node: &Node| node.key.map(|key| bare_key(key.of(text)).into_owned());
    let items = |id: usize| {
        let items = children(id).map(|(_, item)| (key(item).unwrap_or_default(), item.value.of(text).to_owned()));
        items.collect()
    };
    children(id)
        .filter_map(|(id, node)| Some((key(node)?, items(id))))
        .collect()
}

/// Everything wrong with a sweep's axes and seeds, at once.
pub fn check_axes(axes: &[(String, Vec<String>)], seeds: &[u64]) -> Vec<AxisError> {
    if axes.len() > MAX_AXES {
        return vec![AxisError::TooManyAxes { n_axes: axes.len() }];
    }
    let mut errors = Vec::new();
    let mut paths = BTreeSet::new();
    for (at, (axis, values)) in axes.iter().enumerate() {
        if let Some((by, _)) = axes[at + 1..].iter().find(|(later, _)| is_part(axis, later)) {
            let (axis, by) = (axis.clone(), by.clone());
            errors.push(AxisError::Overwritten { axis, by });
        }
        match split_path(axis).map(|parts| (matches!(parts[0].as_str(), "seed" | "sweep"), paths.insert(parts))) {
            Ok((true, _)) => errors.push(AxisError::Reserved { axis: axis.clone() }),
            Ok((false, true)) => {}
            Ok((false, false)) => errors.push(AxisError::DuplicateAxis { axis: axis.clone() }),
            Err(why) => errors.push(AxisError::BadPath {
                axis: axis.clone(),
                why,
            }),
        }
        if values.is_empty() {
            errors.push(AxisError::NoValues { axis: axis.clone() });
        }
        let mut seen = BTreeSet::new();
        let twice = values.iter().filter(|value| !seen.insert(canonical(value)));
        errors.extend(twice.map(|value| AxisError::DuplicateValue {
            axis: axis.clone(),
            value: value.clone(),
        }));
    }
    if seeds.is_empty() {
        errors.push(AxisError::NoSeeds);
    }
    let mut seen = BTreeSet::new();
    errors.extend(
        seeds
            .iter()
            .filter(|&&seed| !seen.insert(seed))
            .map(|&seed| AxisError::DuplicateSeed { seed }),
    );
    errors
}

/// Whether a sweep of so many points is too large.
///
/// # Errors
///
/// [`AxisError::TooManyPoints`].
pub fn check_points(sizes: impl IntoIterator<Item = usize>) -> Result<(), AxisError> {
    let n_points = sizes.into_iter().fold(1_usize, usize::saturating_mul);
    match n_points > MAX_POINTS {
        true => Err(AxisError::TooManyPoints { n_points }),
        false => Ok(()),
    }
}

/// Why a setting of an arm has no place before these axes.
pub(crate) fn check_setting(path: &str, before: &[&str], axes: &[&str]) -> Option<String> {
    let is_set_by = |by: &&&str| **by == path || is_part(path, by);
    match split_path(path) {
        Err(why) => Some(format!("the setting is no path: {why}")),
        Ok(parts) if matches!(parts[0].as_str(), "seed" | "sweep") => {
            Some("no arm can set this; put seeds into sweep.seeds".to_owned())
        }
        Ok(_) if before.contains(&path) => Some("is set twice in this arm".to_owned()),
        Ok(_) => axes.iter().find(is_set_by).map(|by| {
            format!(
                "is set anew by {}, so that it would come to nothing; leave out one of the two",
                quote(by)
            )
        }),
    }
}

/// Whether a path lies below another one.
pub(crate) fn is_part(path: &str, whole: &str) -> bool {
    match (split_path(path), split_path(whole)) {
        (Ok(path), Ok(whole)) => path.len() > whole.len() && path.starts_with(&whole),
        _ => false,
    }
}

/// The same text for numbers that are equal, so that 0.1 and 0.10 count as one value.
fn canonical(value: &str) -> String {
    let value = value.trim();
    match (value.parse::<i128>(), value.parse::<f64>()) {
        (Ok(whole), _) => whole.to_string(),
        (_, Ok(number)) => number.to_string(),
        _ => value.to_owned(),
    }
}
