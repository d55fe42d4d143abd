//! What a value looks like in a card: its kind, its fields, its variants.

use crate::{Value, text_of};
use serde::Serialize;

/// The kind of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Whole,
    Number,
    /// `true` or `false`.
    Flag,
    /// A text in double quotes.
    Text,
    /// A number, a flag, a text, or a list of these.
    Free,
    /// A value, or `None`.
    Optional(Box<Shape>),
    /// Any number of values of one kind.
    List(Box<Shape>),
    /// So many values, each of its kind.
    Tuple(Vec<Shape>),
    /// Values by their names.
    Map(Box<Shape>),
    Fields(Vec<Field>),
    /// One of several variants.
    Choice(Vec<Variant>),
    /// A part by its name; the field's own name says of what.
    Named,
    /// A part by its name, of the kind that is called so.
    Component(&'static str),
}

/// A field of a struct or variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: &'static str,
    pub about: &'static str,
    /// The kind of its value.
    pub shape: Shape,
    /// Its default as a card would write it; `None`: it must be given.
    pub default: Option<String>,
    /// Which numbers it takes.
    pub range: Option<&'static str>,
    /// The unit of its numbers.
    pub unit: Option<&'static str>,
    /// An earlier name, which cards may still use.
    pub alias: Option<&'static str>,
}

/// A variant of a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    pub name: &'static str,
    /// An earlier name, which cards may still use.
    pub alias: Option<&'static str>,
    pub about: &'static str,
    pub body: Body,
    /// Settings that choosing it lays under those that the card states, as `path=value`.
    pub sets: &'static [&'static str],
    /// Whether it is the default of its type.
    pub is_default: bool,
}

/// What a variant holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Nothing,
    /// One value without a name; the field's name is that of the variant.
    One(Box<Field>),
    Fields(Vec<Field>),
}

impl Field {
    /// A field whose value is a `T`.
    pub fn new<T: Value + Serialize>(
        name: &'static str,
        about: &'static str,
        default: Option<&T>,
        range: Option<&'static str>,
        unit: Option<&'static str>,
    ) -> Self {
        Field {
            name,
            about,
            shape: T::shape(),
            default: default.map(|value| text_of(value)),
            range,
            unit,
            alias: None,
        }
    }

    /// Whether cards may call it so.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }

    /// The same field, which had another name.
    #[must_use]
    pub fn formerly(mut self, alias: Option<&'static str>) -> Self {
        self.alias = alias;
        self
    }
}

impl Shape {
    /// The same, without the choice of `None`.
    pub fn inner(&self) -> &Shape {
        match self {
            Shape::Optional(inner) => inner.inner(),
            other => other,
        }
    }

    /// The fields directly below a value of this kind: those of a struct, or of all variants, each
    /// once.
    pub fn fields(&self) -> Vec<&Field> {
        match self.inner() {
            Shape::Fields(fields) => fields.iter().collect(),
            Shape::List(item) => item.fields(),
            Shape::Choice(variants) => {
                let mut all: Vec<&Field> = Vec::new();
                for field in variants.iter().flat_map(Variant::fields) {
                    if !all.iter().any(|known| known.name == field.name) {
                        all.push(field);
                    }
                }
                all
            }
            _ => Vec::new(),
        }
    }

    /// In a few words, with its article.
    pub fn words(&self) -> String {
        match self {
            Shape::Whole => "a whole number".to_owned(),
            Shape::Number => "a number".to_owned(),
            Shape::Flag => "true or false".to_owned(),
            Shape::Text => "a text".to_owned(),
            Shape::Free => "a number, a flag, a text, or a list of these".to_owned(),
            Shape::Optional(inner) => format!("{}, or None", inner.words()),
            Shape::List(inner) => format!("a list; each item: {}", inner.words()),
            Shape::Tuple(all) => format!("({})", all.iter().map(Shape::words).collect::<Vec<_>>().join(", ")),
            Shape::Map(inner) => format!("a map of names; each value: {}", inner.words()),
            Shape::Fields(_) => "fields in parentheses".to_owned(),
            Shape::Choice(variants) => {
                let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
                match names.as_slice() {
                    [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
                    _ => names.join(""),
                }
            }
            Shape::Named => "any value that the card takes there".to_owned(),
            Shape::Component(what) => format!("{}, by its name and fields", with_article(what)),
        }
    }
}

impl Variant {
    /// Whether cards may call it so.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }

    /// The fields that a card reaches through it.
    pub fn fields(&self) -> Vec<&Field> {
        match &self.body {
            Body::Nothing => Vec::new(),
            Body::One(field) => field.shape.fields(),
            Body::Fields(fields) => fields.iter().collect(),
        }
    }
}

/// `networks`, `topologies`, `releases of features`.
pub fn plural(what: &str) -> String {
    let (head, of) = what.split_at(what.find(" of ").unwrap_or(what.len()));
    match head.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies{of}"),
        _ if head.ends_with(['s', 'x', 'z']) || head.ends_with("ch") || head.ends_with("sh") => format!("{head}es{of}"),
        _ => format!("{head}s{of}"),
    }
}

/// `a network`, `an aggregation rule`.
pub fn with_article(what: &str) -> String {
    match what.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {what}"),
        false => format!("a {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn the_word_that_is_counted_takes_the_plural() {
        for (one, many) in [
            ("walk encoder", "walk encoders"),
            ("topology", "topologies"),
            ("release of features", "releases of features"),
            ("way", "ways"),
            ("loss", "losses"),
            ("branch of trees", "branches of trees"),
        ] {
            assert_eq!(plural(one), many);
        }
    }
}
