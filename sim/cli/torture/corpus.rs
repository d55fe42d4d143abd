//! Values that cards have, for fields whose values no grammar describes: shipped cards, and those
//! that are given.

use folkmoot_parts::{Body, Field, Shape};
use folkmoot_scenarios::explain::components_of;
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::text::{Source, variant_of};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Corpus {
    /// The values of a field, by the component that it belongs to and its name.
    values: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Corpus {
    pub(super) fn of(registry: &Registry, card: &[&Field], given: &[String]) -> Self {
        let mut corpus = Corpus::default();
        let shipped = registry.cards().iter().copied();
        for (name, text) in shipped.chain(given.iter().map(|text| ("card", text.as_str()))) {
            let Ok(source) = Source::new(name, text) else { continue };
            corpus.harvest(registry, "", card, &source);
        }
        corpus
    }

    /// The values of a field in cards, in the order of their text.
    pub(super) fn values(&self, owner: &str, field: &str) -> Vec<&str> {
        let found = self.values.get(&(owner.to_owned(), field.to_owned()));
        found.into_iter().flatten().map(String::as_str).collect()
    }

    fn harvest(&mut self, registry: &Registry, owner: &str, fields: &[&Field], source: &Source) {
        for field in fields {
            let Some(value) = source.within(field.name) else {
                continue;
            };
            match field.shape.inner() {
                Shape::Text | Shape::Free | Shape::Map(_) | Shape::List(_) => {
                    let key = (owner.to_owned(), field.name.to_owned());
                    self.values.entry(key).or_default().insert(value.text().to_owned());
                }
                Shape::Fields(fields) => {
                    let fields: Vec<&Field> = fields.iter().collect();
                    self.harvest(registry, owner, &fields, &value);
                }
                Shape::Choice(variants) => {
                    let Ok(chosen) = variant_of(&value) else { continue };
                    let variant = variants.iter().find(|variant| variant.name == chosen.name);
                    if let Some(Body::Fields(fields)) = variant.map(|variant| &variant.body) {
                        let fields: Vec<&Field> = fields.iter().collect();
                        self.harvest(registry, owner, &fields, &chosen.body);
                    }
                }
                Shape::Named | Shape::Component(_) => {
                    let Ok(chosen) = variant_of(&value) else { continue };
                    let parts = components_of(field, registry);
                    if let Some(part) = parts.into_iter().find(|part| part.name == chosen.name) {
                        self.harvest(registry, part.name, &part.shape.fields(), &chosen.body);
                    }
                }
                _ => {}
            }
        }
    }
}
