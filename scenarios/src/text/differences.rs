//! In what two cards differ, field by field.

use super::source::Source;
use super::tree::{Kind, Tree, bare_key, quoted_part};
use std::borrow::Cow;

/// A path and what stands there in each of two cards, on one line; `None` where nothing does.
pub type Difference = (String, Option<String>, Option<String>);

/// Every field that is not the same in both, in the order of the first, then what only the second
/// has. Where two parts of different names stand, the names and settings are given whole.
pub fn differences(a: &Source, b: &Source) -> Vec<Difference> {
    let mut found = Vec::new();
    if let (Ok(left), Ok(right)) = (a.tree(), b.tree()) {
        let sides = [(left, a.text()), (right, b.text())];
        descend(sides, [Some(0), Some(0)], "", &mut found);
    }
    found
}

fn descend(sides: [(&Tree, &str); 2], at: [Option<usize>; 2], path: &str, found: &mut Vec<Difference>) {
    let content = |side: usize| at[side].map(|id| sides[side].0.content(sides[side].1, id));
    let nodes = [0, 1].map(|side| content(side).map(|id| &sides[side].0.nodes[id]));
    let texts = [0, 1].map(|side| nodes[side].map(|node| on_one_line(node.value.of(sides[side].1))));
    if texts[0] == texts[1] {
        return;
    }
    let keyed = |side: usize| -> Option<Vec<(Cow<'_, str>, usize)>> {
        let (tree, text) = sides[side];
        let node = nodes[side].filter(|node| matches!(node.kind, Kind::Parens | Kind::Map))?;
        let child = |id: &usize| Some((bare_key(tree.nodes[*id].key?.of(text)), *id));
        node.children.iter().map(child).collect()
    };
    let name = |side: usize| {
        nodes[side]
            .and_then(|node| node.name)
            .map(|name| name.of(sides[side].1))
    };
    match (keyed(0), keyed(1)) {
        (Some(left), Some(right)) if name(0) == name(1) => {
            let find =
                |all: &[(Cow<'_, str>, usize)], key: &str| all.iter().find(|(name, _)| *name == key).map(|(_, id)| *id);
            let only_right = right.iter().filter(|(key, _)| find(&left, key).is_none());
            for (key, _) in left.iter().chain(only_right) {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{}", quoted_part(key));
                descend(sides, [find(&left, key), find(&right, key)], &path, found);
            }
        }
        _ => {
            let [a, b] = texts;
            found.push((path.to_owned(), a, b));
        }
    }
}

fn on_one_line(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> Vec<String> {
        let [a, b] = [a, b].map(|text| Source::new("card", text).unwrap());
        let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let line = |(path, a, b)| format!("{path}: {} | {}", text(a), text(b));
        differences(&a, &b).into_iter().map(line).collect()
    }

    #[test]
    fn fields_that_differ_are_named_by_their_path() {
        let card = "(seed: 1, dataset: Karate, strategy: FedWalk(length: 3, encoder: (a: 1, b: [1, 2])))";
        assert_eq!(between(card, card), [""; 0]);
        // Comments and spaces are no difference.
        assert_eq!(
            between(card, &format!("// A name.\n{}", card.replace(", ", ",\n   "))),
            [""; 0]
        );
        let other =
            "(seed: 7, dataset: Karate, strategy: FedWalk(length: Some(3), encoder: (a: 1, b: [1, 3])), deadline: 4)";
        let expected = ["seed: 1 | 7", "strategy.encoder.b: [1, 2] | [1, 3]", "deadline: - | 4"];
        assert_eq!(between(card, other), expected);
        let other = card.replace("FedWalk", "DeepWalk");
        assert_eq!(between(card, &other).len(), 1);
        assert!(between(card, &other)[0].starts_with("strategy: FedWalk("));
    }
}
