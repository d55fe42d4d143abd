//! One list of parts for each field of a card that names one: what there is, and how its settings
//! are read.

use crate::registry::Registry;
use crate::text::{Problems, Source, apply_default, as_struct, formed, recover, suggest, variant_of};
use folkmoot_parts::{Choosing, Component, Field, Shape, Value, named_lines_of, with_article};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use thiserror::Error;

/// Two parts of one axis, or two cards, of one name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is something called {} already; choose another name", .0)]
pub struct DuplicateName(pub &'static str);

/// What a field of the card may name, each a maker of `T`.
pub struct Axis<T: ?Sized> {
    field: &'static str,
    what: &'static str,
    entries: Vec<Entry<T>>,
}

/// One name of an axis.
struct Entry<T: ?Sized> {
    described: Described,
    read: Box<Reader<T>>,
}

/// Reads what a card names, given the whole value and where the parts in it are looked up.
type Reader<T> = dyn Fn(&Source, &Registry) -> Result<Picked<T>, Problems> + Send + Sync;

/// What a part says of itself.
#[derive(Clone, Debug)]
pub struct Described {
    /// The field of the card that names it; for a part inside settings what its kind is called.
    pub field: &'static str,
    /// What parts of this kind are called: `strategy`.
    pub what: &'static str,
    pub name: &'static str,
    /// An earlier name, which cards may still use.
    pub alias: Option<&'static str>,
    /// What it is, in one line.
    pub about: String,
    /// Where it is declared.
    pub source: &'static str,
    pub shape: Shape,
}

impl Described {
    /// Whether cards may call it so.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }
}

/// A part that a card has chosen, with its settings.
pub struct Picked<T: ?Sized> {
    text: String,
    make: Arc<dyn Fn() -> Box<T> + Send + Sync>,
}

impl<T: ?Sized> Picked<T> {
    /// As a card writes it, every setting explicit.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn build(&self) -> Box<T> {
        (self.make)()
    }
}

impl<T: ?Sized + 'static> Axis<T> {
    /// Nothing yet; `field` is the card's, `what` is what a part is called.
    pub(crate) fn new(field: &'static str, what: &'static str) -> Self {
        Axis {
            field,
            what,
            entries: Vec::new(),
        }
    }

    /// Adds the part `P`, of which `build` makes what the axis is of.
    pub(crate) fn add<P: Component>(&mut self, build: fn(P) -> Box<T>) -> Result<(), DuplicateName> {
        let described = Described {
            field: self.field,
            what: self.what,
            name: P::NAME,
            alias: P::ALIAS,
            about: P::ABOUT.to_owned(),
            source: P::SOURCE,
            shape: P::shape(),
        };
        let read = move |whole: &Source, registry: &Registry| {
            let part: P = read_part(&as_struct(whole, P::NAME), registry)?;
            let text = named_lines_of(&part);
            let make = Arc::new(move || build(part.clone()));
            Ok(Picked { text, make })
        };
        if self.entries.iter().any(|entry| entry.described.name == P::NAME) {
            return Err(DuplicateName(P::NAME));
        }
        let read = Box::new(read);
        self.entries.push(Entry { described, read });
        Ok(())
    }

    /// What parts of this kind are called.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// All of them, in the order in which they were added.
    pub fn parts(&self) -> impl Iterator<Item = &Described> {
        self.entries.iter().map(|entry| &entry.described)
    }

    /// Reads the card's field, and by `registry` the parts inside its settings; positions are those
    /// of the card.
    ///
    /// # Errors
    ///
    /// Every problem of the name, the shape and the values.
    pub fn read(&self, source: &Source, registry: &Registry) -> Result<Picked<T>, Problems> {
        let name = variant_of(source)?.name;
        match self.entries.iter().find(|entry| entry.described.is_called(&name)) {
            Some(entry) => (entry.read)(source, registry),
            None => {
                let known: Vec<&str> = self.parts().map(|part| part.name).collect();
                let mut problems = Problems::new(source);
                problems.push_at(
                    "",
                    format!("there is no {} `{name}`{}", self.what, suggest(&name, &known)),
                );
                Err(problems)
            }
        }
    }
}

/// Reads the settings of one part, with or without its name before them: what a variant lays under
/// them, their shape, their parts, their rules.
pub(crate) fn read_part<P: Component>(body: &Source, registry: &Registry) -> Result<P, Problems> {
    let shape = P::shape();
    let laid = with_variants(&shape, &with_groups(&shape.fields(), body));
    let (mut part, problems) = read_value::<P>(&laid, registry)?;
    part.settle(&|path| laid.value(path).is_some());
    problems.into_result(part)
}

/// Reads a value and looks its parts up; what could not be read is as if it were not written.
fn read_value<T: Value + DeserializeOwned>(source: &Source, registry: &Registry) -> Result<(T, Problems), Problems> {
    let source = &formed(source, &T::shape());
    let (value, mut problems) = recover::<T>(source);
    let Some(mut value) = value else { return Err(problems) };
    value.choose(&mut Choosing::new(&mut |what, path| {
        let named = source.within(path).unwrap_or_else(|| source.clone());
        let picked = match registry.inner(what) {
            Some(axis) => axis.read(&named, registry),
            None => {
                let mut problems = Problems::new(&named);
                problems.push_at("", format!("this program does not know {} at all", with_article(what)));
                Err(problems)
            }
        };
        match picked {
            Ok(picked) => Some((picked.text().to_owned(), picked.build())),
            Err(more) => {
                problems.append(more);
                problems.doubt(path);
                None
            }
        }
    }));
    for broken in value.broken() {
        problems.push_at(&broken.path, broken.rule);
    }
    Ok((value, problems))
}

/// The body with the settings of the variants that it names, or leaves to their default, laid under
/// its own.
fn with_variants(shape: &Shape, body: &Source) -> Source {
    let mut laid = body.clone();
    for field in shape.fields() {
        let Shape::Choice(variants) = field.shape.inner() else {
            continue;
        };
        let written = body
            .within(field.name)
            .map(|value| variant_of(&value).map(|variant| variant.name));
        let chosen = variants.iter().find(|variant| match &written {
            Some(name) => name.as_ref().is_ok_and(|name| name == variant.name),
            None => variant.is_default && !matches!(field.shape, Shape::Optional(_)),
        });
        for (path, value) in chosen
            .iter()
            .flat_map(|variant| variant.sets)
            .filter_map(|set| set.split_once('='))
        {
            let label = format!("{}: {}", field.name, chosen.map_or("", |variant| variant.name));
            laid = apply_default(&laid, &label, path, value);
        }
    }
    laid
}

/// Adds to every group of settings that the body writes in part the other defaults of that group
/// here, which may differ from those of its type: `GwLdp(training: (epochs: 2))` keeps the
/// optimiser of `GwLdp()`.
fn with_groups(fields: &[&Field], body: &Source) -> Source {
    let mut laid = body.clone();
    for field in fields {
        let (Shape::Fields(inner), Some(default)) = (&field.shape, &field.default) else {
            continue;
        };
        let Ok(whole) = Source::new(field.name, default) else {
            continue;
        };
        if body.within(field.name).is_none() {
            continue;
        }
        for setting in inner {
            let here = whole.value(setting.name);
            if let Some(here) = here.filter(|here| setting.default.as_deref() != Some(*here)) {
                let label = format!("the default of {}", field.name);
                laid = apply_default(&laid, &label, &format!("{}.{}", field.name, setting.name), here);
            }
        }
    }
    laid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Idle;
    use folkmoot_parts::component;

    #[test]
    fn a_fault_of_what_a_variant_lays_bears_its_name() {
        #[component(name = "Odd", about = "a part with a wrong variant")]
        #[derive(Clone, Debug)]
        struct Odd {
            variant: Variants,
            #[component(default = 1, in = 1..=3)]
            n: u32,
        }
        #[component]
        #[derive(Clone, Debug)]
        enum Variants {
            #[default]
            Plain,
            #[component(sets("n=7"))]
            Wide,
        }
        assert!(
            Registry::base()
                .settings::<Odd>("()")
                .is_ok_and(|odd| odd.n == 1 && matches!(odd.variant, Variants::Plain))
        );
        let problems = Registry::base()
            .settings::<Odd>("(variant: Wide)")
            .unwrap_err()
            .to_string();
        assert!(
            problems.contains("variant: Wide: n: must lie in 1..=3, got 7"),
            "{problems}"
        );
    }

    #[test]
    fn messages_about_fields_name_the_component_and_its_place() {
        let registry = Registry::base();
        let said = |text: &str| {
            let read = registry.datasets().read(&Source::new("card", text).unwrap(), &registry);
            read.err().unwrap().to_string()
        };
        for (text, expected) in [
            ("Planetoid()", "1:1 missing field `name` of `Planetoid`"),
            ("Mapped", "1:1 missing field `path` of `Mapped`"),
            (
                "DcSbm(nodes: 3)",
                "1:7 nodes: unknown field `nodes` of `DcSbm`, did you mean `n_nodes`?",
            ),
            (
                "Karate(x: 1)",
                "1:1 `Karate` takes no values; leave out the parentheses",
            ),
        ] {
            assert!(said(text).contains(expected), "{}", said(text));
        }
    }

    #[test]
    fn two_parts_of_one_axis_have_two_names() {
        let mut axis: Axis<dyn std::fmt::Debug> = Axis::new("strategy", "strategy");
        assert_eq!(axis.add::<Idle>(|params| Box::new(params)), Ok(()));
        assert_eq!(axis.add::<Idle>(|params| Box::new(params)), Err(DuplicateName("Idle")));
    }
}
