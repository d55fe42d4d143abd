//! The components, fields and pairs of components that were drawn, and those that were not.

use super::draw::Grammar;
use super::drawn::Drawn;
use std::collections::{BTreeMap, BTreeSet};

/// So many of those not drawn are listed.
const MOST_LISTED: usize = 60;

pub(super) struct Coverage {
    /// How often each component was drawn.
    components: BTreeMap<&'static str, usize>,
    fields: BTreeMap<(&'static str, &'static str), usize>,
    /// The pairs of components that a card can have, and whether one had them.
    pairs: BTreeMap<(&'static str, &'static str), bool>,
    /// Components that cannot be had on this machine.
    lacking: Vec<String>,
}

impl Coverage {
    pub(super) fn new(grammar: &Grammar<'_>) -> Self {
        let parts = grammar.registry.parts();
        Coverage {
            components: parts
                .filter(|part| !grammar.lacking.contains(part.name))
                .map(|part| (part.name, 0))
                .collect(),
            fields: grammar.fields().into_iter().map(|field| (field, 0)).collect(),
            pairs: grammar
                .pairs()
                .iter()
                .map(|[(_, a), (_, b)]| (ordered(a, b), false))
                .collect(),
            lacking: grammar.lacking.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    pub(super) fn add(&mut self, card: &Drawn) {
        let mut here: BTreeSet<&'static str> = BTreeSet::new();
        card.visit("", &mut |owner, field| {
            if field.is_empty()
                && let Some((name, n)) = self.components.iter_mut().find(|(name, _)| **name == owner)
            {
                *n += 1;
                here.insert(name);
            }
            if let Some((_, n)) = self
                .fields
                .iter_mut()
                .find(|((of, name), _)| *of == owner && *name == field)
            {
                *n += 1;
            }
        });
        for a in &here {
            for b in &here {
                self.pairs.entry((a, b)).and_modify(|seen| *seen = true);
            }
        }
    }

    pub(super) fn report(&self) -> String {
        let missing: Vec<&str> = self
            .components
            .iter()
            .filter(|(_, n)| **n == 0)
            .map(|(name, _)| *name)
            .collect();
        let unseen: Vec<String> = self
            .fields
            .iter()
            .filter(|(_, n)| **n == 0)
            .map(|((owner, field), _)| format!("{owner}.{field}").trim_matches('.').to_owned())
            .collect();
        let all = self.components.len();
        let pairs = self.pairs.values().filter(|seen| **seen).count();
        format!(
            "drawn: {} of {all} components, {} of {} fields and variants, {} of {} pairs of components\n\
             components that this machine cannot have: {}\ncomponents not drawn: {}\nfields and variants not drawn: {}\n",
            all - missing.len(),
            self.fields.len() - unseen.len(),
            self.fields.len(),
            pairs,
            self.pairs.len(),
            listed(&self.lacking),
            listed(&missing.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>()),
            listed(&unseen),
        )
    }
}

fn ordered(a: &'static str, b: &'static str) -> (&'static str, &'static str) {
    if a < b { (a, b) } else { (b, a) }
}

fn listed(names: &[String]) -> String {
    let more = match names.len().saturating_sub(MOST_LISTED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    match names.is_empty() {
        true => "none".to_owned(),
        false => names[..names.len().min(MOST_LISTED)].join(", ") + &more,
    }
}
