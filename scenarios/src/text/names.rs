//! The names that a card's text uses, for renaming: keys of fields and entries, and names of
//! variants.

use super::source::Source;
use super::tree::{Kind, Span, Tree, bare_key};
use std::borrow::Cow;

/// The names in a text; values are numbered, the whole text is 0.
pub(crate) struct Names<'a> {
    text: &'a str,
    tree: &'a Tree,
}

impl<'a> Names<'a> {
    /// Those of a text without a fault of syntax.
    pub(crate) fn of(source: &'a Source) -> Option<Self> {
        let (text, tree) = (source.text(), source.tree().ok()?);
        (!tree.nodes.is_empty()).then_some(Names { text, tree })
    }

    /// What stands directly inside a value; `Some(…)` is looked through.
    pub(crate) fn children(&self, node: usize) -> impl Iterator<Item = usize> + use<'a> {
        let children: &'a [usize] = &self.tree.nodes[self.tree.content(self.text, node)].children;
        children.iter().copied()
    }

    /// Whether what stands inside has keys.
    pub(crate) fn has_keys(&self, node: usize) -> bool {
        self.children(node)
            .next()
            .is_some_and(|child| self.key(child).is_some())
    }

    /// The key that a value stands under, without quotes.
    pub(crate) fn key(&self, node: usize) -> Option<Cow<'a, str>> {
        Some(bare_key(self.tree.nodes[node].key?.of(self.text)))
    }

    /// Where it stands, with quotes.
    pub(crate) fn key_span(&self, node: usize) -> Option<Span> {
        self.tree.nodes[node].key
    }

    /// The name of a variant, with or without brackets or quotes, and where it stands.
    pub(crate) fn name(&self, node: usize) -> Option<(&'a str, Span)> {
        let node = &self.tree.nodes[self.tree.content(self.text, node)];
        let Span { start, end } = node.value;
        match (node.kind, node.name) {
            (_, Some(name)) => Some((name.of(self.text), name)),
            (Kind::Word, None) => Some((node.value.of(self.text), node.value)),
            (Kind::Text, None) if end - start >= 2 => {
                let inner = Span::new(start + 1, end - 1);
                Some((inner.of(self.text), inner))
            }
            _ => None,
        }
    }
}

impl Source {
    /// The text with other names in these places; what is wrong there keeps its place in the card.
    pub(crate) fn under_names(&self, edits: &[(Span, String)]) -> Source {
        let mut edits: Vec<&(Span, String)> = edits.iter().collect();
        edits.sort_by_key(|(span, _)| *span);
        // From the end, so that no offset moves before it is used.
        let with = |source: Source, edit: &&(Span, String)| source.renamed(edit.0, &edit.1);
        edits.iter().rev().fold(self.clone(), with)
    }
}
