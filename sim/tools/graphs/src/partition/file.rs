//! Partitions that somebody has published: a text file with a line for each item.

use std::collections::BTreeMap;
use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::component;

use super::{Partition, PartitionError, Partitioner, checked};
use crate::readers::{Text, fields};
use crate::{DataDirs, DataError, Dataset};

/// Published partition: a comma-separated text file with a header and one line per item. Column
/// `node` (`graph` for a set of graphs) holds the id, a number or text, from the data set's own
/// files, `client` the client from 0 without gaps. Lines that begin with `#` and other columns
/// are ignored.
#[component(name = "File")]
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The file, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
    /// Whether every item must belong to exactly one client.
    pub cover: Cover,
}

/// Required coverage of a published partition.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Every item belongs to exactly one client.
    #[default]
    Exact,
    /// An item may belong to several clients or none; duplicate lines count once.
    Any,
}

impl Partitioner for File {
    fn partition(&self, dataset: &Dataset, dirs: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let text = opened(&self.path, dirs)?;
        let (shards, n_repeated) = parse(&text, self.cover, dataset).map_err(wrong)?;
        let mut partition = Partition::from_shards(shards)?;
        if n_repeated > 0 {
            partition.notes.push(format!(
                "{n_repeated} lines of the partition's file say again what another says"
            ));
        }
        partition.source = Some((file_name(&self.path), text.fingerprint()));
        Ok(partition)
    }
}

/// A partition file of METIS (`gpmetis`): line `i` has the part of item `i`, from 0 without
/// gaps. Each part is a client.
#[component(name = "Metis")]
#[derive(Clone, Debug, PartialEq)]
pub struct Metis {
    /// The file, relative to the card or a data folder, or absolute.
    #[component(required)]
    pub path: String,
}

impl Partitioner for Metis {
    fn partition(&self, dataset: &Dataset, dirs: &DataDirs, _: &mut SimRng) -> Result<Partition, PartitionError> {
        checked(self)?;
        let text = opened(&self.path, dirs)?;
        let mut partition = Partition::from_shards(parts(&text, dataset).map_err(wrong)?)?;
        partition.source = Some((file_name(&self.path), text.fingerprint()));
        Ok(partition)
    }
}

fn opened(path: &str, dirs: &DataDirs) -> Result<Text, PartitionError> {
    Text::open(&dirs.locate_own(path).map_err(wrong)?).map_err(wrong)
}

fn wrong(error: DataError) -> PartitionError {
    PartitionError::File(error.to_string())
}

/// The items of each part.
fn parts(text: &Text, dataset: &Dataset) -> Result<Vec<Vec<u32>>, DataError> {
    let n_items = dataset.n_items();
    let items = if dataset.is_graph_level() { "graphs" } else { "nodes" };
    let mut shards: Vec<Vec<u32>> = Vec::new();
    let mut n_lines = 0;
    for line in text.data_lines() {
        let (number, line) = line?;
        let part: u32 = text.whole(number, line, "a part, counted from 0")?;
        if part as usize >= n_items {
            return Err(text.error(
                number,
                format!("part {part} must be below the number of {items}, {n_items}"),
            ));
        }
        if shards.len() <= part as usize {
            shards.resize(part as usize + 1, Vec::new());
        }
        shards[part as usize].push(n_lines);
        n_lines += 1;
    }
    let whole = |message: String| Err(DataError::format(&text.path, message));
    if n_lines as usize != n_items {
        return whole(format!(
            "the file has {n_lines} lines, one for each of the {items}, and the data set has {n_items}"
        ));
    }
    match shards.iter().position(Vec::is_empty) {
        Some(part) => whole(format!(
            "part {part} has no item; parts are numbered from 0 without a gap"
        )),
        None => Ok(shards),
    }
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or(path.into(), |name| name.to_string_lossy()).into_owned()
}

/// The shards, and how many lines repeat another.
fn parse(text: &Text, cover: Cover, dataset: &Dataset) -> Result<(Vec<Vec<u32>>, usize), DataError> {
    let item_name = if dataset.is_graph_level() { "graph" } else { "node" };
    let mut lines = text.data_lines();
    let (first, header) = lines.next().transpose()?.unwrap_or((1, ""));
    let columns = fields(header);
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let (Some(item_column), Some(client_column)) = (column(item_name), column("client")) else {
        let message =
            format!("the first line must name the columns `{item_name}` and `client`, as in `{item_name},client`");
        return Err(text.error(first, message));
    };
    // The first line of each item with each of its clients.
    let mut lines_of: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let mut shards: Vec<Vec<u32>> = Vec::new();
    let mut n_repeated = 0;
    let n_items = dataset.n_items();
    let names = dataset.node_names.as_ref().filter(|_| !dataset.is_graph_level());
    let names: Option<BTreeMap<&str, u32>> = names.map(|names| names.iter().map(String::as_str).zip(0..).collect());
    for line in lines {
        let (number, line) = line?;
        let fields = fields(line);
        if fields.len() != columns.len() {
            let message = format!(
                "expected {} fields as in the first line, got {}",
                columns.len(),
                fields.len()
            );
            return Err(text.error(number, message));
        }
        let id = fields[item_column];
        let client: u32 = text.whole(number, fields[client_column], "a client, counted from 0")?;
        // Every client has an item, so there are no more clients than items in a cover, and the
        // file is to blame for gaps.
        if client as usize >= n_items.max(1) {
            let message = format!("client {client} must be below the number of {item_name}s, {n_items}");
            return Err(text.error(number, message));
        }
        let item = match &names {
            Some(names) => names.get(id).copied(),
            None => item_of(dataset, text.whole(number, id, &format!("the id of a {item_name}"))?),
        };
        let item = item.ok_or_else(|| {
            let way = "; a file for the whole set fits `largest_component: false`";
            let hint = if dataset.node_ids.is_some() { way } else { "" };
            let id = id.escape_debug();
            text.error(number, format!("{item_name} {id} is not in the data set{hint}"))
        })?;
        let known = lines_of
            .range((item, 0)..=(item, u32::MAX))
            .next()
            .map(|(&(_, client), &line)| (client, line));
        if let (Some((before, line)), Cover::Exact) = (known, cover) {
            let message = format!(
                "{item_name} {id} stands in line {line} already, with client {before}; `cover: Any` lets shards overlap"
            );
            return Err(text.error(number, message));
        }
        if lines_of.insert((item, client), number).is_some() {
            n_repeated += 1;
            continue;
        }
        if shards.len() <= client as usize {
            shards.resize(client as usize + 1, Vec::new());
        }
        shards[client as usize].push(item);
    }
    let whole = |message: String| Err(DataError::format(&text.path, message));
    if shards.is_empty() {
        return whole(format!("the file gives no {item_name} to any client"));
    }
    if let Some(client) = shards.iter().position(Vec::is_empty) {
        return whole(format!(
            "client {client} has no {item_name}; clients are numbered from 0 without a gap"
        ));
    }
    if cover == Cover::Exact {
        let mut covered = vec![false; n_items];
        shards.iter().flatten().for_each(|&item| covered[item as usize] = true);
        if let Some(first) = covered.iter().position(|is| !is) {
            let n = covered.iter().filter(|is| !**is).count();
            let id = item_id(dataset, first);
            return whole(format!(
                "{n} of {n_items} {item_name}s have no client, such as {item_name} {id}; `cover: Any` leaves them out"
            ));
        }
    }
    Ok((shards, n_repeated))
}

/// What the data set's own files call an item.
fn item_id(dataset: &Dataset, item: usize) -> String {
    match (&dataset.node_names, &dataset.node_ids) {
        (Some(names), _) if !dataset.is_graph_level() => names[item].escape_debug().to_string(),
        (_, Some(ids)) => ids[item].to_string(),
        _ => item.to_string(),
    }
}

/// The item that the data set's own files call `id`.
fn item_of(dataset: &Dataset, id: u32) -> Option<u32> {
    match &dataset.node_ids {
        Some(ids) if !dataset.is_graph_level() => ids.binary_search(&id).ok().map(|item| item as u32),
        _ => Some(id).filter(|&id| (id as usize) < dataset.n_items()),
    }
}
