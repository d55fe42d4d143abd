//! A table of nodes and a table of edges, CSV or TSV with a header; columns are found by their
//! names.
//!
//! Without a table of nodes, the nodes are the ends of edges, in ascending order: numbers before
//! other texts. GraphML becomes two such tables (`graphml`). Columns that are not read are noted.

mod ids;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use ndarray::Array2;

use super::assemble::{self, Edges, Level};
use super::classes::{Class, is_missing};
use super::columns::{self, LABELS, SOURCES, SPLITS, TARGETS, WEIGHTS};
use super::limits::MAX_NODES;
use super::rows::{Row, Table};
use super::text::shown;
use crate::properties::CLIENT;
use crate::{DataError, Dataset, Features, Splits};

use ids::Ids;
pub use settings::Tables;

/// Which columns mean what; where none is named, usual names are looked for.
#[derive(Clone, Copy, Default)]
pub(super) struct Columns<'a> {
    pub(super) id: Option<&'a str>,
    /// A class per node.
    pub(super) label: Option<&'a str>,
    /// Binary labels.
    pub(super) labels: &'a [String],
    /// Numbers to predict.
    pub(super) targets: &'a [String],
    /// Features; by default all columns of numbers without a gap or another meaning.
    pub(super) features: &'a [String],
    pub(super) split: Option<&'a str>,
    pub(super) client: Option<&'a str>,
    /// Properties that partitions can use.
    pub(super) properties: &'a [String],
    pub(super) source: Option<&'a str>,
    pub(super) target: Option<&'a str>,
    pub(super) weight: Option<&'a str>,
    pub(super) edge_features: &'a [String],
    pub(super) directed: bool,
}

pub(super) fn of_tables(
    name: &str,
    nodes: Option<&Table>,
    edges: &Table,
    columns: &Columns<'_>,
) -> Result<Dataset, DataError> {
    let mut dataset = Dataset {
        name: name.to_owned(),
        ..Dataset::default()
    };
    let ends = Ends::find(edges, columns)?;
    let ids = match nodes {
        Some(table) => Ids::of_nodes(table, id_column(table, columns, &mut dataset)?)?,
        None => Ids::of_edges(edges, [ends.source, ends.target])?,
    };
    let listed = ends.read(edges, &ids, columns, &mut dataset)?;
    let n_nodes = u32::try_from(ids.names.len())
        .ok()
        .filter(|&n| u64::from(n) <= MAX_NODES);
    let n_nodes = n_nodes.ok_or_else(|| edges.error(&format!("more than {MAX_NODES} nodes are not read")))?;
    let built = assemble::add_graphs(&mut dataset, &[0, n_nodes], &listed);
    built.map_err(|rule| edges.error(&rule))?;
    if let Some(table) = nodes {
        let id = id_column(table, columns, &mut Dataset::default())?;
        let meant = Meant::find(table, id, columns)?;
        meant.read(table, &mut dataset)?;
    } else if let Some((field, column)) = stated(columns) {
        let rule = format!("`{field}: {column:?}` names a column of nodes, and there is no table of nodes");
        return Err(edges.error(&rule));
    }
    let named = assemble::add_names(&mut dataset, ids.names);
    named.map_err(|rule| nodes.unwrap_or(edges).error(&rule))?;
    Ok(dataset)
}

/// The first setting that names a column of nodes.
fn stated<'a>(columns: &Columns<'a>) -> Option<(&'static str, &'a str)> {
    let one = [
        ("label", columns.label),
        ("split", columns.split),
        (CLIENT, columns.client),
        ("id", columns.id),
    ];
    let lists = [
        ("labels", columns.labels),
        ("targets", columns.targets),
        ("features", columns.features),
        ("properties", columns.properties),
    ];
    let one = one.into_iter().find_map(|(field, column)| Some((field, column?)));
    one.or_else(|| {
        lists
            .into_iter()
            .find_map(|(field, names)| Some((field, names.first()?.as_str())))
    })
}

/// The column that `stated` names, or the first with one of the usual names.
fn found(table: &Table, stated: Option<&str>, field: &str, usual: &[&str]) -> Result<Option<usize>, DataError> {
    match stated {
        Some(name) => table.column(name, field).map(Some),
        None => Ok((0..table.n_columns()).find(|&column| columns::is_one(table.header(column), usual))),
    }
}

/// The column with the ids of nodes.
fn id_column(table: &Table, stated: &Columns<'_>, dataset: &mut Dataset) -> Result<usize, DataError> {
    if let Some(name) = stated.id {
        return table.column(name, "id");
    }
    let named = |name: &str| (0..table.n_columns()).find(|&at| columns::is_one(table.header(at), &[name]));
    if let Some(column) = columns::IDS.iter().find_map(|name| named(name)) {
        return Ok(column);
    }
    let first = table.header(0);
    let note = match first {
        "" => "the first column of the nodes has no name and was read as their ids".to_owned(),
        _ => format!(
            "the first column of the nodes, `{}`, was read as their ids",
            first.escape_debug()
        ),
    };
    dataset.notes.push(note);
    Ok(0)
}

/// The columns of the table of edges.
struct Ends {
    source: usize,
    target: usize,
    /// Whether their columns have no usual names.
    is_guessed: bool,
    weight: Option<usize>,
    features: Vec<usize>,
}

impl Ends {
    fn find(table: &Table, stated: &Columns<'_>) -> Result<Ends, DataError> {
        let named = |name: &str| (0..table.n_columns()).find(|&at| columns::is_one(table.header(at), &[name]));
        // Two names that belong together come before others: of `source`, `from` and `to` the last two.
        let pair = SOURCES.iter().zip(TARGETS);
        let pair = pair.filter(|_| stated.source.is_none() && stated.target.is_none());
        let (source, target) = match pair.filter_map(|(a, b)| named(a).zip(named(b))).next() {
            Some((source, target)) => (Some(source), Some(target)),
            None => (
                found(table, stated.source, "source", SOURCES)?,
                found(table, stated.target, "target", TARGETS)?,
            ),
        };
        let weight = found(table, stated.weight, "weight", WEIGHTS)?;
        // Columns without a usual name: two, beside an index of pandas and a weight.
        let named: Vec<usize> = (0..table.n_columns())
            .filter(|&at| !columns::is_index(table.header(at)) && weight != Some(at))
            .collect();
        let (source, target, is_guessed) = match (source, target, &named[..]) {
            (Some(source), Some(target), _) => (source, target, false),
            (None, None, &[first, second]) => (first, second, true),
            _ => {
                let rule = "the ends of edges are not found; name their columns with `source` and `target`, or `source` and \
                            `target` in the card";
                return Err(table.error(rule));
            }
        };
        if source == target {
            return Err(table.error("`source` and `target` are the same column"));
        }
        let is_data = (0..2).all(|column| table.header(column.min(table.n_columns() - 1)).parse::<f64>().is_ok());
        if is_data {
            return Err(table.error("the first line must name the columns, such as `source,target`; a list without names is read by `EdgeList(edges: …)`"));
        }
        let features = stated
            .edge_features
            .iter()
            .map(|name| table.column(name, "edge_features"));
        Ok(Ends {
            source,
            target,
            is_guessed,
            weight,
            features: features.collect::<Result<_, _>>()?,
        })
    }

    fn read(&self, table: &Table, ids: &Ids, columns: &Columns<'_>, dataset: &mut Dataset) -> Result<Edges, DataError> {
        let mut edges = Edges {
            directed: columns.directed,
            ..Edges::default()
        };
        let (mut weights, mut features) = (Vec::new(), Vec::new());
        for row in table.rows() {
            let row = row?;
            edges
                .pairs
                .push((ids.of(&row, self.source)?, ids.of(&row, self.target)?));
            if let Some(column) = self.weight {
                weights.push(row.number(column)?);
            }
            for &column in &self.features {
                features.push(row.number(column)?);
            }
        }
        self.note_guess(table, ids, dataset)?;
        edges.weights = self.weight.map(|_| weights);
        edges.features = (!self.features.is_empty()).then_some((features, self.features.len()));
        let known: Vec<usize> = [self.source, self.target].into_iter().chain(self.weight).collect();
        let is_read = |column: &usize| known.contains(column) || self.features.contains(column);
        let others: Vec<usize> = (0..table.n_columns()).filter(|column| !is_read(column)).collect();
        note_others(dataset, table, "edges", &others, "`edge_features` names those to keep");
        Ok(edges)
    }
}

impl Ends {
    /// Notes the columns of ends without usual names. A header whose names are those of nodes is
    /// refused: it is the first edge.
    fn note_guess(&self, table: &Table, ids: &Ids, dataset: &mut Dataset) -> Result<(), DataError> {
        if !self.is_guessed {
            return Ok(());
        }
        let [source, target] = [self.source, self.target].map(|column| table.header(column));
        if ids.nodes.contains_key(source) || ids.nodes.contains_key(target) {
            let rule = format!(
                "the first line, {} and {}, names nodes and no columns; write `source,target` above it",
                shown(source),
                shown(target)
            );
            return Err(table.error(&rule));
        }
        dataset.notes.push(format!(
            "the columns `{}` and `{}` were read as the ends of edges; `source` and `target` name others",
            source.escape_debug(),
            target.escape_debug()
        ));
        Ok(())
    }
}

fn note_others(dataset: &mut Dataset, table: &Table, of: &str, others: &[usize], way: &str) {
    let names = others
        .iter()
        .map(|&column| table.header(column))
        .filter(|name| !columns::is_index(name));
    let names: Vec<String> = names
        .take(12)
        .map(|name| format!("`{}`", name.escape_debug()))
        .collect();
    if !names.is_empty() {
        let (verb, names) = (
            if names.len() == 1 { "column is" } else { "columns are" },
            names.join(", "),
        );
        dataset
            .notes
            .push(format!("of the {of}, the {verb} not read: {names}; {way}"));
    }
}

/// The columns of the table of nodes.
struct Meant {
    label: Option<usize>,
    labels: Vec<usize>,
    targets: Vec<usize>,
    /// Columns of numbers, and columns of words, one-hot.
    features: Vec<(usize, Option<Vec<String>>)>,
    split: Option<usize>,
    /// Names and columns.
    properties: Vec<(String, usize)>,
    /// Columns that are not read since a number is missing.
    lacking: Vec<usize>,
    /// Columns that are not read since they are named as labels, parts of a split, or ids.
    unlike: Vec<usize>,
    /// Whether the card names no features.
    is_default: bool,
    /// Other columns that are not read.
    others: Vec<usize>,
}

impl Meant {
    fn find(table: &Table, id: usize, stated: &Columns<'_>) -> Result<Meant, DataError> {
        let all = |names: &[String], field| -> Result<Vec<usize>, DataError> {
            names.iter().map(|name| table.column(name, field)).collect()
        };
        let labels = all(stated.labels, "labels")?;
        let targets = all(stated.targets, "targets")?;
        let several = !labels.is_empty() || !targets.is_empty();
        let label = match several && stated.label.is_none() {
            true => None,
            false => found(table, stated.label, "label", LABELS)?,
        };
        if several && label.is_some() || !labels.is_empty() && !targets.is_empty() {
            return Err(table.error("name one of `label`, `labels` and `targets`: a data set has one task"));
        }
        let split = found(table, stated.split, "split", SPLITS)?;
        let client = found(table, stated.client, CLIENT, &[CLIENT])?;
        // Partitions ask for the client by this name, whatever the column is called.
        let client = client.map(|column| (CLIENT.to_owned(), column));
        let named = stated
            .properties
            .iter()
            .cloned()
            .zip(all(stated.properties, "properties")?);
        let properties: Vec<(String, usize)> = client.into_iter().chain(named).collect();
        let chosen = all(stated.features, "features")?;
        let taken: Vec<usize> = [id]
            .into_iter()
            .chain(label)
            .chain(split)
            .chain(properties.iter().map(|(_, column)| *column))
            .collect();
        let is_taken = |column: &usize| taken.contains(column) || labels.contains(column) || targets.contains(column);
        let is_default = chosen.is_empty();
        let all = (0..table.n_columns()).filter(|column| !is_taken(column));
        let (unlike, free): (Vec<usize>, Vec<usize>) = match is_default {
            true => all.partition(|&column| columns::is_no_feature(table.header(column))),
            false => (Vec::new(), chosen),
        };
        let Words {
            words,
            lacking,
            mistakes,
        } = words_of(table, &free)?;
        if let (false, Some((_, mistake))) = (is_default, mistakes.into_iter().next()) {
            return Err(mistake);
        }
        let numeric = |column: &usize| !is_default || !words.contains_key(column) && !lacking.contains(column);
        let features: Vec<(usize, Option<Vec<String>>)> = free
            .iter()
            .filter(|column| numeric(column))
            .map(|column| {
                let values = words.get(column).filter(|values| !values.is_empty());
                (*column, values.map(|values| values.iter().cloned().collect()))
            })
            .collect();
        let is_feature = |column: &usize| features.iter().any(|(feature, _)| feature == column);
        let is_left = |column: &usize| !is_taken(column) && !is_feature(column) && !unlike.contains(column);
        let left = (0..table.n_columns()).filter(is_left);
        let lacks = |column: &usize| lacking.contains(column) && !words.contains_key(column);
        let (lacking, others) = left.partition(lacks);
        Ok(Meant {
            lacking,
            unlike,
            is_default,
            others,
            label,
            labels,
            targets,
            features,
            split,
            properties,
        })
    }

    fn read(&self, table: &Table, dataset: &mut Dataset) -> Result<(), DataError> {
        let mut classes = Vec::new();
        let mut tasks = Vec::new();
        let mut numbers = Vec::new();
        let mut values = Vec::new();
        let mut codes = Vec::new();
        let named = self.properties.iter().map(|(name, _)| (name.clone(), Vec::new()));
        let mut properties: Vec<(String, Vec<Option<Class>>)> = named.collect();
        let mut n_rows = 0;
        for row in table.rows() {
            let row = row?;
            n_rows += 1;
            if let Some(column) = self.label {
                classes.push(row.class(column)?);
            }
            for &column in &self.labels {
                tasks.push(match row.class(column)? {
                    Some(Class::Number(0)) => Some(false),
                    Some(Class::Number(1)) => Some(true),
                    None => None,
                    Some(other) => {
                        return Err(row.error(column, &format!("expected 0, 1 or nothing, got {other}")));
                    }
                });
            }
            for &column in &self.targets {
                numbers.push(row.number_or_missing(column)?);
            }
            for (column, words) in &self.features {
                match words {
                    None => values.push(row.number(*column)?),
                    Some(words) => {
                        let field = row.field(*column)?.trim();
                        values.extend(words.iter().map(|word| f32::from(u8::from(word == field))));
                    }
                }
            }
            if let Some(column) = self.split {
                codes.push(part(&row, column)?);
            }
            for ((_, column), (_, values)) in self.properties.iter().zip(&mut properties) {
                let field = row.field(*column)?.trim();
                let class = field
                    .parse()
                    .map_or_else(|_| Class::Text(field.to_owned()), Class::Number);
                values.push(Some(class).filter(|_| !field.is_empty()));
            }
        }
        let wrong = |rule: String| table.error(&rule);
        if self.label.is_some() {
            assemble::add_classes(dataset, Level::Nodes, classes).map_err(wrong)?;
        }
        let headers = |columns: &[usize]| columns.iter().map(|&column| table.header(column).to_owned()).collect();
        if !self.labels.is_empty() {
            assemble::add_tasks(dataset, Level::Nodes, headers(&self.labels), tasks).map_err(wrong)?;
        }
        if !self.targets.is_empty() {
            assemble::add_targets(dataset, Level::Nodes, headers(&self.targets), numbers).map_err(wrong)?;
        }
        let width = |(_, words): &(usize, Option<Vec<String>>)| words.as_ref().map_or(1, Vec::len);
        let n_columns: usize = self.features.iter().map(width).sum();
        if n_columns > 0 {
            let rows = Array2::from_shape_vec((n_rows, n_columns), values);
            let rows = rows.map_err(|error| wrong(error.to_string()))?;
            dataset.features = Some(Features::Dense(rows.into()));
        }
        for (column, words) in &self.features {
            if let Some(words) = words {
                let name = table.header(*column).escape_debug();
                dataset.notes.push(format!(
                    "the words of `{name}` became {} columns of 0 and 1",
                    words.len()
                ));
            }
        }
        if self.split.is_some() {
            dataset.splits = Some(Splits::from_codes(&codes));
        }
        assemble::add_properties(dataset, Level::Nodes, &properties).map_err(wrong)?;
        let way = "`features` names those to keep, words as columns of 0 and 1";
        note_others(dataset, table, "nodes", &self.others, way);
        let way =
            "their names are those of labels, parts of a split or ids; `features` names those to keep all the same";
        note_others(dataset, table, "nodes", &self.unlike, way);
        if self.is_default && n_columns > 0 {
            let names = self
                .features
                .iter()
                .take(12)
                .map(|(column, _)| table.header(*column).escape_debug());
            let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            let more = if n_columns > 12 { ", …" } else { "" };
            dataset.notes.push(format!(
                "features are the columns with numbers: {}{more}; `features` names others",
                names.join(", ")
            ));
        }
        let way = "values are missing, which features may not lack: fill them in";
        note_others(dataset, table, "nodes", &self.lacking, way);
        Ok(())
    }
}

/// The values of some columns.
#[derive(Default)]
struct Words {
    /// All values of those that hold words.
    words: BTreeMap<usize, BTreeSet<String>>,
    /// Those that lack a value.
    lacking: BTreeSet<usize>,
    /// The first word of those in which most values are numbers, as an error.
    mistakes: BTreeMap<usize, DataError>,
}

fn words_of(table: &Table, columns: &[usize]) -> Result<Words, DataError> {
    let mut found = Words::default();
    let mut n_numbers: BTreeMap<usize, i64> = BTreeMap::new();
    let is_number = |field: &str| field.parse::<f32>().is_ok_and(f32::is_finite);
    for row in table.rows() {
        let row = row?;
        for &column in columns {
            let field = row.field(column)?.trim();
            let more = n_numbers.entry(column).or_default();
            if is_missing(field) {
                found.lacking.insert(column);
            } else if is_number(field) {
                *more += 1;
            } else {
                *more -= 1;
                found.words.entry(column).or_default();
                let rule = || {
                    row.error(
                        column,
                        &format!("expected a finite number, as most have, got {}", shown(field)),
                    )
                };
                found.mistakes.entry(column).or_insert_with(rule);
            }
        }
    }
    found
        .mistakes
        .retain(|column, _| n_numbers.get(column).is_some_and(|more| *more > 0));
    let has_words = !found.words.is_empty();
    for row in table.rows().filter(|_| has_words) {
        let row = row?;
        for (&column, values) in &mut found.words {
            values.insert(row.field(column)?.trim().to_owned());
        }
    }
    Ok(found)
}

/// 1 for training, 2 for validation, 3 for test, 0 for none of them.
pub(super) fn part(row: &Row<'_>, column: usize) -> Result<u32, DataError> {
    let field = row.field(column)?.trim();
    part_of(field).ok_or_else(|| {
        let rule = format!("expected train, valid, test or nothing, got {}", shown(field));
        row.error(column, &rule)
    })
}

pub(super) fn part_of(field: &str) -> Option<u32> {
    match field.to_ascii_lowercase().as_str() {
        "train" | "training" => Some(1),
        "val" | "valid" | "validate" | "validation" | "dev" => Some(2),
        "test" | "testing" => Some(3),
        field if is_missing(field) => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
