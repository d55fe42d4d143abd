//! One rule for names in cards: brackets around nothing and quotes around a name may be written or
//! left out.
//!
//! `Karate` and `Karate()` are the same, `EmailEuCore` and `EmailEuCore()`, `Planetoid(name: Cora)`
//! and `Planetoid(name: "Cora")`, `TuDataset(name: MUTAG)` and `TuDataset(name: "MUTAG")`. What a
//! value's type wants, its shape says; the text is brought into that form before it is read, and
//! all else keeps its place in the card.

use super::source::Source;
use super::tree::{Kind, Node, Span, Tree, bare_key};
use folkmoot_parts::{Body, Field, Shape};

/// A card with more names in another form is read as it is, and says so.
const MAX_EDITS: usize = 500;

/// The text with every name in the form that `shape` wants.
#[must_use]
pub fn formed(source: &Source, shape: &Shape) -> Source {
    let Ok(tree) = source.tree() else { return source.clone() };
    let mut reading = Reading {
        tree,
        text: source.text(),
        edits: Vec::new(),
    };
    reading.value(0, shape);
    let mut edits = reading.edits;
    if edits.len() > MAX_EDITS {
        return source.clone();
    }
    edits.sort_by_key(|(span, _)| *span);
    // From the end, so that no offset moves before it is used.
    edits.iter().rev().fold(source.clone(), |source, (span, new)| {
        source.spliced(*span, new, "the form of a name")
    })
}

struct Reading<'a> {
    tree: &'a Tree,
    text: &'a str,
    edits: Vec<(Span, &'static str)>,
}

impl<'a> Reading<'a> {
    fn node(&self, id: usize) -> &'a Node {
        &self.tree.nodes[self.tree.content(self.text, id)]
    }

    fn value(&mut self, id: usize, shape: &Shape) {
        let node = self.node(id);
        match shape {
            Shape::Optional(inner) => self.value(id, inner),
            Shape::List(item) if node.kind == Kind::List => self.each(node, |_| Some(&**item)),
            Shape::Map(item) if node.kind == Kind::Map => self.each(node, |_| Some(&**item)),
            Shape::Tuple(items) if node.kind == Kind::Parens => self.each(node, |place| items.get(place)),
            Shape::Fields(fields) => self.fields(node, fields),
            Shape::Text if node.kind == Kind::Word && node.value.of(self.text) != "None" => {
                let Span { start, end } = node.value;
                self.edits.push((Span::new(start, start), "\""));
                self.edits.push((Span::new(end, end), "\""));
            }
            Shape::Choice(variants) => {
                let whole = node.value.of(self.text);
                let quoted = bare_key(whole);
                let name = match node.name {
                    Some(name) => name.of(self.text),
                    None if node.kind == Kind::Text => &quoted,
                    None => whole,
                };
                let Some(variant) = variants.iter().find(|variant| variant.name == name) else {
                    return;
                };
                let Span { start, end } = node.value;
                match (node.kind, &variant.body) {
                    (Kind::Text, Body::Nothing) => {
                        self.edits.push((Span::new(start, start + 1), ""));
                        self.edits.push((Span::new(end - 1, end), ""));
                    }
                    (Kind::Word, Body::Fields(_)) => self.edits.push((Span::new(end, end), "()")),
                    (Kind::Parens, Body::Nothing) if node.children.is_empty() => {
                        self.edits.push((Span::new(node.open, end), ""));
                    }
                    (Kind::Parens, Body::Fields(fields)) => self.fields(node, fields),
                    (Kind::Parens, Body::One(field)) => match (&field.shape, node.children.as_slice()) {
                        (Shape::Fields(fields), _) => self.fields(node, fields),
                        (shape, &[only]) => self.value(only, shape),
                        _ => {}
                    },
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, node: &'a Node, fields: &[Field]) {
        for &child in &node.children {
            let Some(key) = self.tree.nodes[child].key else {
                continue;
            };
            let key = bare_key(key.of(self.text));
            if let Some(field) = fields.iter().find(|field| *field.name == *key) {
                self.value(child, &field.shape);
            }
        }
    }

    fn each<'s>(&mut self, node: &'a Node, shape: impl Fn(usize) -> Option<&'s Shape>) {
        for (place, &child) in node.children.iter().enumerate() {
            if let Some(shape) = shape(place) {
                self.value(child, shape);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::check;
    use crate::text::Source;

    #[test]
    fn brackets_around_nothing_and_quotes_around_a_name_may_be_left_out_or_written() {
        let registry = crate::toy::registry();
        let resolved = |dataset: &str, more: &str| {
            let card = format!("(dataset: {dataset}, strategy: Idle(), {more})");
            let scenario = check("card", &Source::new("card", &card).unwrap(), &registry);
            scenario.map_err(|problems| problems.to_string()).unwrap().resolved()
        };
        for (a, b) in [
            ("Karate", "Karate()"),
            ("EmailEuCore", "EmailEuCore( )"),
            ("Planetoid(name: Cora)", "Planetoid(name: \"Cora\")"),
            ("TuDataset(name: MUTAG)", "TuDataset(name: \"MUTAG\")"),
            ("DcSbm", "DcSbm()"),
        ] {
            assert_eq!(resolved(a, ""), resolved(b, ""), "{a}");
        }
        assert_eq!(resolved("Karate", "cohort: All"), resolved("Karate", "cohort: All()"));
    }

    #[test]
    fn what_is_wrong_keeps_its_place_behind_a_name_in_another_form() {
        let registry = crate::toy::registry();
        let said = |card: &str| {
            let source = Source::new("c.ron", card).unwrap();
            check("card", &source, &registry).map(|_| ()).unwrap_err().to_string()
        };
        let wrong = said("(dataset: Planetoid(name: \"Cora\"), strategy: Idle(stesp: 3))");
        assert!(wrong.contains("1:51 strategy.stesp"), "{wrong}");
        let wrong = said("(dataset: Planetoid(name: \"Corra\"), strategy: Idle())");
        assert!(wrong.contains("dataset.name"), "{wrong}");
        let wrong = said("(dataset: TuDataset(nam: MUTAG), strategy: Idle())");
        assert!(wrong.contains("1:21 dataset.nam"), "{wrong}");
        let wrong = said("(dataset: EdgeList, strategy: Idle())");
        assert!(wrong.contains("1:11 dataset") && wrong.contains("edges"), "{wrong}");
    }
}
