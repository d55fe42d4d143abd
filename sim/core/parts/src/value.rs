//! What can stand in a card: numbers, texts, lists, and whatever [`component`](crate::component)
//! declares.

use crate::{Broken, Choosing, Range, Rules, Shape};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Something that can stand in a card.
pub trait Value {
    /// What it looks like there.
    fn shape() -> Shape;

    /// Notes every rule that it breaks. By default it breaks none.
    fn check(&self, rules: &mut Rules) {
        let _ = rules;
    }

    /// Looks up the parts that it names ([`Chosen`](crate::Chosen)). By default it names none.
    fn choose(&mut self, choosing: &mut Choosing<'_>) {
        let _ = choosing;
    }

    /// Every rule that it breaks.
    fn broken(&self) -> Vec<Broken> {
        let mut rules = Rules::default();
        self.check(&mut rules);
        rules.into_broken()
    }
}

/// A value, or several, that a range can bound.
pub trait Bounded {
    /// Notes where the range does not hold.
    fn keep(&self, range: &Range, rules: &mut Rules);
}

/// Something that a card chooses by its name: `strategy: FedWalk(walk_length: 3)`.
pub trait Component: Value + Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The name in cards.
    const NAME: &'static str;
    /// An earlier name, which cards may still use.
    const ALIAS: Option<&'static str> = None;
    /// What it is, in one line, for `folkmoot list`.
    const ABOUT: &'static str;
    /// Where it is declared.
    const SOURCE: &'static str;

    /// Called once it is read, with whether the card states the field at a path: for a field that
    /// stands for several others.
    fn settle(&mut self, is_written: &dyn Fn(&str) -> bool) {
        let _ = is_written;
    }
}

macro_rules! numbers {
    ($($type:ty => $shape:ident),*) => {$(
        impl Value for $type {
            fn shape() -> Shape {
                Shape::$shape
            }
        }

        impl Bounded for $type {
            fn keep(&self, range: &Range, rules: &mut Rules) {
                range.keep(*self as f64, self, rules);
            }
        }
    )*};
}

numbers!(u8 => Whole, u16 => Whole, u32 => Whole, u64 => Whole, usize => Whole, f32 => Number, f64 => Number);

impl Value for bool {
    fn shape() -> Shape {
        Shape::Flag
    }
}

impl Value for String {
    fn shape() -> Shape {
        Shape::Text
    }
}

impl<T: Value> Value for Option<T> {
    fn shape() -> Shape {
        Shape::Optional(Box::new(T::shape()))
    }

    fn check(&self, rules: &mut Rules) {
        self.iter().for_each(|value| value.check(rules));
    }

    fn choose(&mut self, choosing: &mut Choosing<'_>) {
        self.iter_mut().for_each(|value| value.choose(choosing));
    }
}

impl<T: Bounded> Bounded for Option<T> {
    fn keep(&self, range: &Range, rules: &mut Rules) {
        self.iter().for_each(|value| value.keep(range, rules));
    }
}

impl<T: Value> Value for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }

    fn check(&self, rules: &mut Rules) {
        for (i, value) in self.iter().enumerate() {
            rules.at(&i.to_string(), |rules| value.check(rules));
        }
    }

    fn choose(&mut self, choosing: &mut Choosing<'_>) {
        for (i, value) in self.iter_mut().enumerate() {
            choosing.at(&i.to_string(), |choosing| value.choose(choosing));
        }
    }
}

impl<T: Bounded> Bounded for Vec<T> {
    fn keep(&self, range: &Range, rules: &mut Rules) {
        for (i, value) in self.iter().enumerate() {
            rules.at(&i.to_string(), |rules| value.keep(range, rules));
        }
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    fn shape() -> Shape {
        Shape::Tuple(vec![A::shape(), B::shape()])
    }

    fn check(&self, rules: &mut Rules) {
        rules.at("0", |rules| self.0.check(rules));
        rules.at("1", |rules| self.1.check(rules));
    }

    fn choose(&mut self, choosing: &mut Choosing<'_>) {
        choosing.at("0", |choosing| self.0.choose(choosing));
        choosing.at("1", |choosing| self.1.choose(choosing));
    }
}

impl<T: Value> Value for BTreeMap<String, T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }

    fn check(&self, rules: &mut Rules) {
        for (name, value) in self {
            rules.at(&format!("\"{name}\""), |rules| value.check(rules));
        }
    }

    fn choose(&mut self, choosing: &mut Choosing<'_>) {
        for (name, value) in self {
            choosing.at(&format!("\"{name}\""), |choosing| value.choose(choosing));
        }
    }
}
