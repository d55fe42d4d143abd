//! Nodes by their ids, which are texts.

use std::collections::{BTreeMap, BTreeSet};

use crate::DataError;
use crate::readers::rows::{Row, Table};
use crate::readers::text::shown;

/// The nodes by their ids.
pub(super) struct Ids {
    pub(super) names: Vec<String>,
    /// Whether they are those of a table of nodes.
    are_listed: bool,
    pub(super) nodes: BTreeMap<String, u32>,
}

impl Ids {
    pub(super) fn of_nodes(table: &Table, id: usize) -> Result<Ids, DataError> {
        let (mut names, mut nodes) = (Vec::new(), BTreeMap::new());
        for row in table.rows() {
            let row = row?;
            let name = row.field(id)?.trim();
            if name.is_empty() {
                return Err(row.error(id, "the id of a node is empty"));
            }
            if nodes.insert(name.to_owned(), names.len() as u32).is_some() {
                return Err(row.error(id, &format!("a second node with the id {}", shown(name))));
            }
            names.push(name.to_owned());
        }
        match names.is_empty() {
            true => Err(table.error("there is no node below the header")),
            false => Ok(Ids {
                names,
                are_listed: true,
                nodes,
            }),
        }
    }

    pub(super) fn of_edges(table: &Table, ends: [usize; 2]) -> Result<Ids, DataError> {
        let mut known: BTreeSet<(Option<u64>, String)> = BTreeSet::new();
        for row in table.rows() {
            let row = row?;
            for column in ends {
                let name = row.field(column)?.trim();
                known.insert((name.parse().ok(), name.to_owned()));
            }
        }
        // Texts, which are no numbers, come last.
        let (texts, numbers): (Vec<_>, Vec<_>) = known.into_iter().partition(|(number, _)| number.is_none());
        let names: Vec<String> = numbers.into_iter().chain(texts).map(|(_, name)| name).collect();
        let nodes: BTreeMap<String, u32> = names.iter().cloned().zip(0..).collect();
        let has_both = |name: &&String| name.strip_suffix(".0").is_some_and(|whole| nodes.contains_key(whole));
        if let Some(float) = names.iter().find(has_both) {
            let whole = float.strip_suffix(".0").unwrap_or(float);
            return Err(table.error(&format!(
                "the ids {} and {} are of one node or of two; write each id in one form",
                shown(whole),
                shown(float)
            )));
        }
        match names.is_empty() {
            true => Err(table.error("there is no edge below the header")),
            false => Ok(Ids {
                names,
                are_listed: false,
                nodes,
            }),
        }
    }

    pub(super) fn of(&self, row: &Row<'_>, column: usize) -> Result<u32, DataError> {
        let name = row.field(column)?.trim();
        if let (Some(&node), false) = (self.nodes.get(name), name.is_empty()) {
            return Ok(node);
        }
        let rule = match (name, self.are_listed) {
            ("", _) => "the id of a node is empty".to_owned(),
            (name, _) => format!("{} is no node of the table of nodes", shown(name)),
        };
        Err(row.error(column, &rule))
    }
}
