//! GraphML: one graph whose nodes and edges have `data`, read as a table of nodes and a table of
//! edges.
//!
//! The columns are the keys by `attr.name` (or `id`, where there is none), with their defaults. Ids
//! are those of the nodes. Nested graphs, several graphs, hyperedges and ports are errors, and so
//! are edges that state another direction than the graph. Elements of other vocabularies, such as
//! the drawings of yEd, are left out with a note.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::format::{decoded, in_utf8, read_bytes};
use super::rows::Table;
use super::tables::{Columns, of_tables};
use crate::data_source::{CatalogueEntry, DataSource, Isolated, checked, is_path, own, stem};
use crate::{DataDirs, DataError, Dataset};

/// A GraphML file with one graph. Data of nodes and edges are columns, as of `Tables`; edge
/// directions are those of the file.
#[component(name = "GraphMl", rules)]
#[derive(Clone, Debug, PartialEq)]
pub struct GraphMl {
    /// File, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Data with the class of a node; by default `label`, `class` or `y`, if present.
    pub label: Option<String>,
    /// Data with binary labels, instead of `label`.
    pub labels: Vec<String>,
    /// Data with numbers to predict, instead of `label`.
    pub targets: Vec<String>,
    /// Data with features; words are one-hot encoded. By default all other numbers without a
    /// gap.
    pub features: Vec<String>,
    /// Data with `train`, `valid` or `test`; by default `split`, if present.
    pub split: Option<String>,
    /// Data with the client, for `partition: Given()`; by default `client`, if present.
    pub client: Option<String>,
    /// Data for `partition: ByProperty(property: Facet(…))`.
    pub properties: Vec<String>,
    /// Edge data with the weight; by default `weight`, if present.
    pub weight: Option<String>,
    /// Edge data to keep as features.
    pub edge_features: Vec<String>,
    /// Keep only the largest component.
    pub largest_component: bool,
    /// Handling of isolated nodes.
    pub isolated: Isolated,
}

impl GraphMl {
    fn rules(&self, rules: &mut Rules) {
        is_path("path", &self.path, rules);
    }
}

impl DataSource for GraphMl {
    fn name(&self) -> String {
        stem(&self.path)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let columns = Columns {
            label: self.label.as_deref(),
            labels: &self.labels,
            targets: &self.targets,
            features: &self.features,
            split: self.split.as_deref(),
            client: self.client.as_deref(),
            properties: &self.properties,
            weight: self.weight.as_deref(),
            edge_features: &self.edge_features,
            ..Columns::default()
        };
        let dataset = read_graphml(&self.name(), &dirs.locate_own(&self.path)?, &columns)?;
        own(dataset, self.largest_component, self.isolated)
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![CatalogueEntry::new(
            "GraphMl(path: PATH)",
            "a GraphML file of one graph",
        )]
    }
}

/// Reads the graph; directions are those that the file states.
fn read_graphml(name: &str, path: &Path, columns: &Columns<'_>) -> Result<Dataset, DataError> {
    let bytes = decoded(path, read_bytes(path)?)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| DataError::format(path, format!("not a text in UTF-8; {}", in_utf8(path))))?;
    let mut file = File::default();
    let mut reader = Reader::from_str(text);
    let mut lines = Lines {
        bytes: &bytes,
        at: 0,
        line: 1,
    };
    loop {
        let event = reader.read_event();
        let line = lines.to(reader.buffer_position() as usize);
        let event = event.map_err(|error| {
            let line = lines.to(reader.error_position() as usize);
            DataError::line(path, line, format!("the XML is damaged or cut short ({error})"))
        })?;
        if matches!(event, Event::Eof) {
            break;
        }
        file.take(event, line)
            .map_err(|rule| DataError::line(path, line, rule))?;
    }
    if !file.open.is_empty() {
        return Err(DataError::format(
            path,
            format!("the file ends within <{}>", file.open.join("> <")),
        ));
    }
    let Some(directed) = file.directed else {
        let is_gml = path.extension().is_some_and(|ending| ending == "gml");
        let why = match is_gml {
            true => "there is no <graph> in the file: GML is another format, which EdgeList reads",
            false => "there is no <graph> in the file",
        };
        return Err(DataError::format(path, why));
    };
    let (nodes, edges) = (
        file.nodes.table(path, &["id"])?,
        file.edges.table(path, &["source", "target"])?,
    );
    let columns = Columns {
        id: Some("id"),
        source: Some("source"),
        target: Some("target"),
        directed,
        ..*columns
    };
    let mut dataset = of_tables(name, Some(&nodes), &edges, &columns)?;
    if file.n_foreign > 0 {
        dataset
            .notes
            .push(format!("{} elements that are not GraphML are not read", file.n_foreign));
    }
    Ok(dataset)
}

/// Counts lines on the way through a file.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of a place that is not before the last one.
    fn to(&mut self, place: usize) -> usize {
        let place = place.clamp(self.at, self.bytes.len());
        self.line += self.bytes[self.at..place].iter().filter(|&&byte| byte == b'\n').count();
        self.at = place;
        self.line
    }
}

/// A key: for what, its name, and its default.
struct Key {
    of_nodes: bool,
    of_edges: bool,
    name: String,
    default: Option<String>,
}

/// The rows of nodes or of edges.
#[derive(Default)]
struct Rows {
    /// Ids of a row, the line, and its data by name.
    rows: Vec<(Vec<String>, usize, BTreeMap<String, String>)>,
}

impl Rows {
    /// A table whose first columns have these names, and then all names that occur.
    fn table(&self, path: &Path, first: &[&str]) -> Result<Table, DataError> {
        let mut names: Vec<&String> = self.rows.iter().flat_map(|(_, _, data)| data.keys()).collect();
        names.sort_unstable();
        names.dedup();
        // A key that is called as the ids are.
        let name = |name: &str| {
            if first.contains(&name) {
                format!("{name} (data)")
            } else {
                name.to_owned()
            }
        };
        let mut writer = csv::Writer::from_writer(Vec::new());
        let header = first
            .iter()
            .map(|name| (*name).to_owned())
            .chain(names.iter().map(|key| name(key)));
        let failed = |error: csv::Error| DataError::format(path, error.to_string());
        writer.write_record(header).map_err(failed)?;
        let mut origins = vec![1];
        for (ids, line, data) in &self.rows {
            let cells = names.iter().map(|name| data.get(*name).map_or("", String::as_str));
            writer
                .write_record(ids.iter().map(String::as_str).chain(cells))
                .map_err(failed)?;
            origins.push(*line);
        }
        let bytes = writer
            .into_inner()
            .map_err(|error| DataError::format(path, error.to_string()))?;
        Table::of_bytes(path, bytes, Some(origins))
    }
}

#[derive(Default)]
struct File {
    keys: BTreeMap<String, Key>,
    /// The id of the last key.
    key: String,
    /// The ids of keys whose data say how the graph is drawn.
    drawing: BTreeSet<String>,
    /// Of the graph, once it has begun.
    directed: Option<bool>,
    nodes: Rows,
    edges: Rows,
    /// The elements that are open.
    open: Vec<String>,
    /// The id of the key whose default, or whose data, is open, and its text so far.
    text: Option<(String, String)>,
    /// How many elements are open within one that is not read.
    skipped: usize,
    n_foreign: usize,
}

impl File {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::Start(element) => self.start(&element, line),
            Event::Empty(element) => {
                self.start(&element, line)?;
                self.end()
            }
            Event::End(_) => self.end(),
            Event::Text(text) => {
                self.add(&text);
                Ok(())
            }
            Event::CData(text) => {
                self.add(&text);
                Ok(())
            }
            Event::GeneralRef(name) => {
                let text = unescape(&format!("&{};", &*name))
                    .map_err(|error| error.to_string())?
                    .into_owned();
                self.add(&text);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, text: &str) {
        if let Some((_, all)) = self.text.as_mut().filter(|_| self.skipped == 0) {
            all.push_str(text);
        }
    }

    fn start(&mut self, element: &BytesStart<'_>, line: usize) -> Result<(), String> {
        let full = element.name().as_ref().to_owned();
        let name = full.rsplit(':').next().unwrap_or_default().to_owned();
        if self.skipped > 0 {
            self.skipped += 1;
            return Ok(());
        }
        let attributes = attributes(element)?;
        let required = |what: &str| {
            let value = attributes.get(what).cloned();
            value.ok_or_else(|| format!("<{name}> has no attribute `{what}`"))
        };
        let within = self.open.last().map(String::as_str).unwrap_or_default();
        match (name.as_str(), within) {
            ("graphml", "") => {}
            (_, "") => return Err(format!("a file of <{name}>, and GraphML begins with <graphml>")),
            // How an editor draws the graph.
            ("key", "graphml") if attributes.contains_key("yfiles.type") => {
                self.drawing.insert(required("id")?);
                self.n_foreign += 1;
                self.skipped = 1;
            }
            ("data", _) if attributes.get("key").is_some_and(|key| self.drawing.contains(key)) => self.skipped = 1,
            ("key", "graphml") => {
                let of = attributes.get("for").map_or("all", String::as_str);
                let id = required("id")?;
                let key = Key {
                    of_nodes: ["all", "node"].contains(&of),
                    of_edges: ["all", "edge"].contains(&of),
                    name: attributes.get("attr.name").unwrap_or(&id).clone(),
                    default: None,
                };
                let is_second = |other: &Key| {
                    other.name == key.name && (other.of_nodes && key.of_nodes || other.of_edges && key.of_edges)
                };
                if self.keys.values().any(is_second) {
                    let name = key.name.escape_debug();
                    return Err(format!(
                        "a second key has the name `{name}`; give each a name of its own"
                    ));
                }
                self.key.clone_from(&id);
                self.keys.insert(id, key);
            }
            ("default", "key") => {
                self.text = Some((self.key.clone(), String::new()));
            }
            ("graph", "graphml") if self.directed.is_some() => {
                return Err(
                    "a second <graph>: one graph per file is read; write them with folkmoot.save from Python"
                        .to_owned(),
                );
            }
            ("graph", "graphml") => {
                self.directed = Some(match required("edgedefault")?.as_str() {
                    "directed" => true,
                    "undirected" => false,
                    other => return Err(format!("`edgedefault` must be directed or undirected, got {other:?}")),
                });
            }
            ("graph", _) => return Err("a graph within a node: nested graphs are not read".to_owned()),
            ("hyperedge", _) => return Err("a hyperedge: only edges between two nodes are read".to_owned()),
            ("port", _) => return Err("a port: edges between ports of nodes are not read".to_owned()),
            ("node", "graph") => {
                let data = self.defaults(|key| key.of_nodes);
                self.nodes.rows.push((vec![required("id")?], line, data));
            }
            ("edge", "graph") => {
                let stated = attributes.get("directed").map(|text| text == "true" || text == "1");
                if stated.is_some() && stated != self.directed {
                    return Err(
                        "an edge of another direction than `edgedefault`: a graph is directed or is not".to_owned(),
                    );
                }
                let data = self.defaults(|key| key.of_edges);
                self.edges
                    .rows
                    .push((vec![required("source")?, required("target")?], line, data));
            }
            ("data", "node" | "edge") => self.text = Some((required("key")?, String::new())),
            ("data", _) | ("desc", _) => self.skipped = 1,
            _ => {
                self.n_foreign += 1;
                self.skipped = 1;
            }
        }
        if self.skipped == 0 {
            self.open.push(name);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(());
        }
        let name = self.open.pop().unwrap_or_default();
        let Some((id, text)) = self.text.take_if(|_| ["default", "data"].contains(&name.as_str())) else {
            return Ok(());
        };
        let text = text.trim().replace(['\n', '\r'], " ");
        let Some(key) = self.keys.get_mut(&id) else {
            return Err(format!("there is no <key id={id:?}> for this data"));
        };
        if name == "default" {
            key.default = Some(text);
            return Ok(());
        }
        let rows = match self.open.last().map(String::as_str) {
            Some("node") => &mut self.nodes,
            _ => &mut self.edges,
        };
        if let Some((.., data)) = rows.rows.last_mut() {
            data.insert(key.name.clone(), text);
        }
        Ok(())
    }

    fn defaults(&self, wanted: fn(&Key) -> bool) -> BTreeMap<String, String> {
        let of = self.keys.values().filter(|key| wanted(key));
        of.filter_map(|key| Some((key.name.clone(), key.default.clone()?)))
            .collect()
    }
}

fn attributes(element: &BytesStart<'_>) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let name = attribute.key.as_ref().to_owned();
        let value = unescape(&attribute.value).map_err(|error| error.to_string())?;
        found.insert(name, value.into_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
