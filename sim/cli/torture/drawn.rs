//! A card as it was drawn: values with their names, so that one can be left out and the rest
//! written again.

use std::fmt::{self, Display, Formatter};

/// Fields or entries by their names, in the order of the card.
pub(super) type Fields = Vec<(String, Drawn)>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Drawn {
    /// A value as a card writes it.
    Plain(String),
    /// A component or a variant with its fields; a group of fields has no name.
    Named(String, Fields),
    /// A variant that holds one value without a name.
    Holds(String, Box<Drawn>),
    List(Vec<Drawn>),
    Tuple(Vec<Drawn>),
    Map(Fields),
}

impl Display for Drawn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let list = |f: &mut Formatter<'_>, items: &[Drawn]| {
            items.iter().enumerate().try_for_each(|(i, item)| {
                let comma = if i > 0 { ", " } else { "" };
                write!(f, "{comma}{item}")
            })
        };
        match self {
            Drawn::Plain(text) => f.write_str(text),
            Drawn::Named(name, fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                match (name.is_empty(), fields.is_empty()) {
                    (false, true) => f.write_str(name),
                    _ => write!(f, "{name}({})", fields.join(", ")),
                }
            }
            Drawn::Holds(name, value) => write!(f, "{name}({value})"),
            Drawn::List(items) => {
                f.write_str("[")?;
                list(f, items)?;
                f.write_str("]")
            }
            Drawn::Tuple(items) => {
                f.write_str("(")?;
                list(f, items)?;
                f.write_str(")")
            }
            Drawn::Map(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(name, value)| format!("{name:?}: {value}"))
                    .collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

impl Drawn {
    /// The number of values that could be left out.
    pub(super) fn len(&self) -> usize {
        match self {
            Drawn::Plain(_) => 0,
            Drawn::Named(_, fields) | Drawn::Map(fields) => fields.iter().map(|(_, value)| 1 + value.len()).sum(),
            Drawn::Holds(_, value) => value.len(),
            Drawn::List(items) => items.iter().map(|item| 1 + item.len()).sum(),
            Drawn::Tuple(items) => items.iter().map(Drawn::len).sum(),
        }
    }

    /// The same without the value of this number, from 0 in the order of the card, each value
    /// before those in it.
    pub(super) fn without(&self, n: usize) -> Drawn {
        let mut smaller = self.clone();
        smaller.cut(&mut { n });
        smaller
    }

    /// Whether the value was found.
    fn cut(&mut self, n: &mut usize) -> bool {
        fn in_turn<T>(items: &mut Vec<T>, value: fn(&mut T) -> &mut Drawn, n: &mut usize) -> bool {
            for i in 0..items.len() {
                if *n == 0 {
                    items.remove(i);
                    return true;
                }
                *n -= 1;
                if value(&mut items[i]).cut(n) {
                    return true;
                }
            }
            false
        }
        match self {
            Drawn::Plain(_) => false,
            Drawn::Named(_, fields) | Drawn::Map(fields) => in_turn(fields, |(_, value)| value, n),
            Drawn::Holds(_, value) => value.cut(n),
            Drawn::List(items) => in_turn(items, |item| item, n),
            Drawn::Tuple(items) => items.iter_mut().any(|item| item.cut(n)),
        }
    }

    /// Every whole number, as a place to write another one.
    pub(super) fn wholes(&mut self) -> Vec<&mut String> {
        match self {
            Drawn::Plain(text) if text.parse::<u64>().is_ok() => vec![text],
            Drawn::Plain(_) => Vec::new(),
            Drawn::Named(_, fields) | Drawn::Map(fields) => {
                fields.iter_mut().flat_map(|(_, value)| value.wholes()).collect()
            }
            Drawn::Holds(_, value) => value.wholes(),
            Drawn::List(items) | Drawn::Tuple(items) => items.iter_mut().flat_map(Drawn::wholes).collect(),
        }
    }

    /// The field of this name.
    pub(super) fn field(&self, name: &str) -> Option<&Drawn> {
        match self {
            Drawn::Named(_, fields) => fields.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Leaves out the value at a path as problems of cards have them. One that is not written is
    /// left out with the value around it. What then has to be there is missing.
    pub(super) fn leave_out(&mut self, path: &[&str]) -> bool {
        let Some((name, rest)) = path.split_first() else {
            return false;
        };
        let at = |len: usize| name.parse().ok().filter(|at| *at < len);
        match self {
            Drawn::Plain(_) => false,
            Drawn::Holds(_, value) => value.leave_out(path),
            Drawn::Tuple(items) => at(items.len()).is_some_and(|at: usize| items[at].leave_out(rest)),
            Drawn::List(items) => {
                let found: Option<usize> = at(items.len());
                if let Some(at) = found
                    && !items[at].leave_out(rest)
                {
                    items.remove(at);
                }
                found.is_some()
            }
            Drawn::Named(_, fields) | Drawn::Map(fields) => {
                let name = name.trim_matches('"');
                let found = fields.iter().position(|(known, _)| known == name);
                if let Some(at) = found
                    && !fields[at].1.leave_out(rest)
                {
                    fields.remove(at);
                }
                found.is_some()
            }
        }
    }

    /// The names of components and variants, and the fields, each after what it belongs to.
    pub(super) fn visit(&self, owner: &str, seen: &mut dyn FnMut(&str, &str)) {
        match self {
            Drawn::Plain(_) => {}
            Drawn::Named(name, fields) => {
                let owner = if name.is_empty() { owner } else { name };
                if !name.is_empty() {
                    seen(name, "");
                }
                for (field, value) in fields {
                    seen(owner, field);
                    value.visit(owner, seen);
                }
            }
            Drawn::Map(entries) => entries.iter().for_each(|(_, value)| value.visit(owner, seen)),
            Drawn::Holds(name, value) => {
                seen(name, "");
                value.visit(owner, seen);
            }
            Drawn::List(items) | Drawn::Tuple(items) => items.iter().for_each(|item| item.visit(owner, seen)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Drawn {
        let plain = |text: &str| Drawn::Plain(text.to_owned());
        let group = Drawn::Named(String::new(), vec![("rounds".to_owned(), plain("9"))]);
        let strategy = Drawn::Named(
            "Some".to_owned(),
            vec![
                ("protocol".to_owned(), group),
                (
                    "attacks".to_owned(),
                    Drawn::List(vec![Drawn::Named("One".to_owned(), Vec::new())]),
                ),
            ],
        );
        Drawn::Named(
            String::new(),
            vec![("strategy".to_owned(), strategy), ("seed".to_owned(), plain("3"))],
        )
    }

    #[test]
    fn every_value_can_be_left_out_by_its_number() {
        assert_eq!(
            card().to_string(),
            "(strategy: Some(protocol: (rounds: 9), attacks: [One]), seed: 3)"
        );
        let left: Vec<String> = (0..card().len()).map(|n| card().without(n).to_string()).collect();
        assert_eq!(
            left,
            [
                "(seed: 3)",
                "(strategy: Some(attacks: [One]), seed: 3)",
                "(strategy: Some(protocol: (), attacks: [One]), seed: 3)",
                "(strategy: Some(protocol: (rounds: 9)), seed: 3)",
                "(strategy: Some(protocol: (rounds: 9), attacks: []), seed: 3)",
                "(strategy: Some(protocol: (rounds: 9), attacks: [One]))",
            ]
        );
    }

    #[test]
    fn a_path_that_is_not_written_costs_the_value_around_it() {
        let without = |path: &[&str]| {
            let mut card = card();
            (card.leave_out(path), card.to_string())
        };
        let whole = card().to_string();
        assert_eq!(without(&["dataset"]), (false, whole));
        let short = "(strategy: Some(attacks: [One]), seed: 3)".to_owned();
        assert_eq!(without(&["strategy", "protocol", "secure"]), (true, short));
        let none = "(strategy: Some(protocol: (rounds: 9), attacks: []), seed: 3)".to_owned();
        assert_eq!(without(&["strategy", "attacks", "0"]), (true, none));
    }
}
