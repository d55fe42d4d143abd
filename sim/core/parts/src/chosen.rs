//! A part inside settings: `server_optimizer: Adam(learning_rate: 0.01)`, where any crate may add
//! what can be named.

use crate::rules::enter;
use crate::{Broken, Component, Rules, Shape, Value, named_lines_of};
use ron::value::RawValue;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A kind of parts that settings name, as the trait object `dyn Trait` that they all become. Write
/// it by [`component_type!`](crate::component_type!).
pub trait ComponentType: Send + Sync + 'static {
    /// What a part of this kind is called, such as `aggregation rule`. No two kinds are called
    /// alike.
    const WHAT: &'static str;

    /// What stands where a card names none.
    fn default() -> Chosen<Self>;
}

/// A kind that the part `P` belongs to. Written by [`component_type!`](crate::component_type!) for
/// every part with the kind's trait.
pub trait Holds<P>: ComponentType {
    /// The part as its kind.
    fn hold(part: P) -> Arc<Self>;
}

/// Makes a trait a kind of parts: `component_type!(Rule, "aggregation rule", Mean {})`, of which
/// the last is the default.
///
/// The trait needs `Send + Sync`. A field of the type `Chosen<dyn Rule>` then takes every part that
/// a program's registry knows of.
#[macro_export]
macro_rules! component_type {
    ($trait:ident, $what:literal, $default:expr) => {
        impl $crate::ComponentType for dyn $trait {
            const WHAT: &'static str = $what;

            fn default() -> $crate::Chosen<Self> {
                $crate::Chosen::new($default)
            }
        }

        impl<P: $crate::Component + $trait> $crate::Holds<P> for dyn $trait {
            fn hold(part: P) -> ::std::sync::Arc<Self> {
                ::std::sync::Arc::new(part)
            }
        }
    };
}

/// The part of kind `T` that settings name.
///
/// From text it comes without its part, which whoever reads the settings then looks up
/// ([`Value::choose`]); a value that nobody has looked up breaks a rule. Two are equal if a card
/// would write them alike.
pub struct Chosen<T: ?Sized> {
    text: Arc<str>,
    part: Option<Arc<T>>,
    broken: Arc<[Broken]>,
}

impl<T: ComponentType + ?Sized> Chosen<T> {
    /// The component behind the settings, to be kept for longer.
    ///
    /// # Panics
    ///
    /// As [`deref`](Self::deref).
    pub fn shared(&self) -> Arc<T> {
        Arc::clone(self.part.as_ref().expect("settings are checked before they are used"))
    }

    pub fn new<P: Component>(part: P) -> Self
    where
        T: Holds<P>,
    {
        Chosen {
            text: named_lines_of(&part).into(),
            broken: part.broken().into(),
            part: Some(T::hold(part)),
        }
    }

    /// As a card writes it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<T: ComponentType + ?Sized> Deref for Chosen<T> {
    type Target = T;

    /// # Panics
    ///
    /// If it was read from text and nobody has looked it up, which is what [`Value::check`] says of
    /// it.
    fn deref(&self) -> &T {
        self.part.as_deref().expect("settings are checked before they are used")
    }
}

impl<T: ComponentType + ?Sized> Default for Chosen<T> {
    fn default() -> Self {
        T::default()
    }
}

impl<T: ?Sized> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        Chosen {
            text: Arc::clone(&self.text),
            part: self.part.clone(),
            broken: Arc::clone(&self.broken),
        }
    }
}

impl<T: ?Sized> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T: ?Sized> fmt::Debug for Chosen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: ?Sized> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_boxed_ron((*self.text).into()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de, T: ?Sized> Deserialize<'de> for Chosen<T> {
    /// Takes any value: what it is called is looked up later, where its place in the card is known.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Chosen {
            text: raw.get_ron().trim().into(),
            part: None,
            broken: Arc::default(),
        })
    }
}

impl<T: ComponentType + ?Sized> Value for Chosen<T> {
    fn shape() -> Shape {
        Shape::Component(T::WHAT)
    }

    fn check(&self, rules: &mut Rules) {
        for Broken { path, rule } in self.broken.iter() {
            rules.require(false, path, rule);
        }
        let rule = format!(
            "names a component that was never looked up, {}; read settings by a registry",
            self.text
        );
        rules.require(self.part.is_some(), "", rule);
    }

    fn choose(&mut self, choosing: &mut Choosing<'_>) {
        if self.part.is_some() {
            return;
        }
        let found = (choosing.look_up)(T::WHAT, &choosing.at);
        *self = match found.map(|(text, part)| (text, part.downcast::<Arc<T>>())) {
            Some((text, Ok(part))) => Chosen {
                text: text.into(),
                part: Some(*part),
                broken: Arc::default(),
            },
            // As if it were not written: whoever looked it up has said what is wrong.
            _ => T::default(),
        };
    }
}

/// Looks a part up by the name of its kind and the path of the value that names it: the value as a
/// card writes it, every setting explicit, and an `Arc` of the kind; or nothing, once what is wrong
/// with it has been noted.
type LookUp<'a> = dyn FnMut(&'static str, &str) -> Option<(String, Box<dyn Any>)> + 'a;

/// The look-up of every part that settings name. Paths are relative to wherever it has descended.
pub struct Choosing<'a> {
    at: String,
    look_up: &'a mut LookUp<'a>,
}

impl<'a> Choosing<'a> {
    /// Looks up by `look_up`, given what parts of the kind are called and the path of the value.
    pub fn new(look_up: &'a mut LookUp<'a>) -> Self {
        let at = String::new();
        Choosing { at, look_up }
    }

    /// Lets `choose` look up what is below `field`.
    pub fn at(&mut self, field: &str, choose: impl FnOnce(&mut Self)) {
        let outer = enter(&mut self.at, field);
        choose(self);
        self.at.truncate(outer);
    }
}
