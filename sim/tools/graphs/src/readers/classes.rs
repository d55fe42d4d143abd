//! Classes as files write them, and their numbers: one rule for every reader.
//!
//! The classes are the distinct values of a column, in ascending order: whole numbers by value,
//! then other texts. A reader notes the values wherever they are not the numbers already. An empty
//! field, `nan` and their like are missing labels, and numbers that are not whole are no classes.

use std::fmt;

use crate::Dataset;

/// What stands for a missing label.
const MISSING: &[&str] = &["", "nan", "na", "n/a", "none", "null", "?"];

/// Whether a field stands for a missing value.
pub(super) fn is_missing(field: &str) -> bool {
    MISSING.contains(&field.trim().to_ascii_lowercase().as_str())
}

/// A class as a file names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Number(i64),
    Text(String),
}

impl Class {
    /// The class that a field names; `None` for a missing label.
    ///
    /// # Errors
    /// A message for a number that is not whole.
    pub(super) fn parse(field: &str) -> Result<Option<Class>, String> {
        let field = field.trim().trim_matches('"').trim();
        if is_missing(field) {
            return Ok(None);
        }
        if let Ok(number) = field.parse() {
            return Ok(Some(Class::Number(number)));
        }
        match field.parse::<f64>() {
            Ok(number) => Class::of_number(number),
            Err(_) => Ok(Some(Class::Text(field.to_owned()))),
        }
    }

    /// The class of a number; `None` for NaN.
    ///
    /// # Errors
    /// A message for a number that is not whole.
    pub(super) fn of_number(number: f64) -> Result<Option<Class>, String> {
        if number.is_nan() {
            return Ok(None);
        }
        // Beyond this a float is whole whatever was meant.
        if number.fract() == 0.0 && number.abs() < 2_f64.powi(53) {
            return Ok(Some(Class::Number(number as i64)));
        }
        Err(format!(
            "{number} is a number to predict, not a class; numbers are read from the columns `targets` of Tables and from a file of fm.save"
        ))
    }

    /// As the file has it, without escapes.
    pub(super) fn plain(&self) -> String {
        match self {
            Class::Number(number) => number.to_string(),
            Class::Text(text) => text.clone(),
        }
    }

    pub(super) fn is_negative(&self) -> bool {
        matches!(self, Class::Number(number) if *number < 0)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Class::Number(number) => write!(f, "{number}"),
            Class::Text(text) => write!(f, "{}", text.escape_debug()),
        }
    }
}

/// Numbers the distinct classes from 0 in ascending order; returns the numbers and the classes they
/// stand for.
pub(super) fn ranked(classes: &[Option<Class>]) -> (Vec<Option<u32>>, Vec<Class>) {
    let mut distinct: Vec<&Class> = classes.iter().flatten().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let rank = |class: &Class| distinct.binary_search(&class).ok().map(|at| at as u32);
    let ranks = classes.iter().map(|class| class.as_ref().and_then(rank)).collect();
    (ranks, distinct.into_iter().cloned().collect())
}

/// Negative numbers are unlabelled nodes, as -1 usually is, unless fewer than two classes would be
/// left: then -1 and 1 are the classes.
pub(super) fn negative_is_unlabelled(classes: &mut [Option<Class>]) {
    let mut others: Vec<&Class> = classes.iter().flatten().filter(|class| !class.is_negative()).collect();
    others.sort_unstable();
    others.dedup();
    if others.len() >= 2 {
        for class in classes.iter_mut() {
            if class.as_ref().is_some_and(Class::is_negative) {
                *class = None;
            }
        }
    }
}

/// Notes which values became which class, unless they are the numbers from 0.
pub(super) fn note_ranks(dataset: &mut Dataset, what: &str, classes: &[Class]) {
    const MOST: usize = 12;
    if (0..).zip(classes).all(|(rank, class)| *class == Class::Number(rank)) {
        return;
    }
    let listed: Vec<String> = classes.iter().take(MOST).map(Class::to_string).collect();
    let more = if classes.len() > MOST { ", …" } else { "" };
    let (listed, last) = (listed.join(", "), classes.len() - 1);
    dataset
        .notes
        .push(format!("{what} labels {listed}{more} became classes 0 to {last}"));
}
