//! Reading a mapped file: everything that later code relies on is checked, at opening or before its
//! first use.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{DIGEST, DIGEST_AT, Description, ENTRY, FIXED, Facets, Kind, MAGIC, MARK, VERSION, aligned};
use crate::column::Column;
use crate::features::DenseRows;
use crate::map::Map;
use crate::readers::MAX_NODES;
use crate::section::{Section, n_blocks};
use crate::{DataError, Dataset, Features, Graph, Labels, Properties, SparseRows, Splits, Targets, TaskLabels};

/// Opens a mapped file.
pub(crate) fn read_mapped(path: &Path) -> Result<Dataset, DataError> {
    let map = Arc::new(Map::open(path)?);
    let failed = |message| DataError::format(path, message);
    let header = header(&map).map_err(failed)?;
    Reader {
        path,
        sections: header.sections,
    }
    .dataset(header.fingerprint)
}

/// Reads a mapped file from end to end and believes nothing that it says of itself.
///
/// # Errors
/// As opening such a file, and [`DataError::Format`] for whatever in it is not what was written, or
/// not a data set.
pub fn verify(path: &Path) -> Result<Dataset, DataError> {
    let mut dataset = read_mapped(path)?;
    let stated = dataset.fingerprint_on_file.take();
    let found = dataset.fingerprint();
    if let Some(damage) = dataset.damage() {
        return Err(damage);
    }
    for (at, graph) in dataset.graphs.iter().enumerate() {
        if let Some(u) = (0..graph.n_nodes() as u32).find(|&u| !is_row(graph, u)) {
            let message = format!(
                "row {u} of graph {at} does not ascend, or an edge of it is missing in the row of its other end"
            );
            return Err(DataError::format(path, message));
        }
    }
    if !dataset.features.as_ref().is_none_or(Features::hold) {
        return Err(DataError::format(
            path,
            "has features whose columns do not ascend in a row",
        ));
    }
    if !dataset.node_labels.as_ref().is_none_or(Labels::hold) {
        return Err(DataError::format(path, "has labels that do not ascend at a node"));
    }
    if stated.as_ref() != Some(&found) {
        let message = format!(
            "the content's fingerprint is {found}, but the header says {}",
            stated.unwrap_or_default()
        );
        return Err(DataError::format(path, message));
    }
    dataset.fingerprint_on_file = stated;
    Ok(dataset)
}

fn is_row(graph: &Graph, u: u32) -> bool {
    let row = graph.neighbours(u);
    row.is_sorted_by(|a, b| a < b) && (graph.is_directed() || row.iter().all(|&v| graph.has_edge(v, u)))
}

/// What a header says.
struct Header {
    fingerprint: String,
    sections: [Option<Section>; Kind::ALL.len()],
}

fn header(map: &Arc<Map>) -> Result<Header, String> {
    if cfg!(target_endian = "big") {
        return Err("mapped files are little-endian, and this machine is not".to_owned());
    }
    let bytes = map.bytes();
    if !bytes.starts_with(&MAGIC) {
        return Err("is no mapped data set: make one with `data generate` or `data convert`".to_owned());
    }
    if bytes.len() < FIXED {
        return Err(format!(
            "is cut short: {} bytes, of which the header alone takes {FIXED}",
            bytes.len()
        ));
    }
    let version = word(bytes, 8);
    if version != VERSION {
        return Err(format!(
            "has version {version} of the format, and this program reads {VERSION}: make the file again from its source"
        ));
    }
    if word(bytes, 12) != MARK {
        return Err("was written in another order of bytes".to_owned());
    }
    let (header_len, file_len) = (long(bytes, 16), long(bytes, 24));
    if file_len != bytes.len() as u64 {
        return Err(format!("has {} bytes, and its header says {file_len}", bytes.len()));
    }
    let header = usize::try_from(header_len).ok().filter(|&len| FIXED <= len);
    let Some(header) = header.and_then(|len| bytes.get(..len)) else {
        return Err(format!("says that its header has {header_len} bytes"));
    };
    let (before, after) = (&header[..DIGEST_AT], &header[DIGEST_AT + DIGEST..]);
    let digest = blake3::Hasher::new().update(before).update(after).finalize();
    if digest.as_bytes()[..] != header[DIGEST_AT..DIGEST_AT + DIGEST] {
        return Err("has a header that is not what was written; make the file again from its source".to_owned());
    }
    let fingerprint = hash(header, DIGEST_AT + DIGEST).to_hex().to_string();
    let sections = places(map, header)?;
    Ok(Header { fingerprint, sections })
}

/// The sections that a header names, each where the one before ends.
fn places(map: &Arc<Map>, header: &[u8]) -> Result<[Option<Section>; Kind::ALL.len()], String> {
    let wrong = || "has a header that contradicts itself".to_owned();
    let n_sections = usize::try_from(long(header, FIXED - 8)).unwrap_or(usize::MAX);
    if n_sections > Kind::ALL.len() || header.len() < FIXED + ENTRY * n_sections {
        return Err(wrong());
    }
    let mut sections = Kind::ALL.map(|_| None);
    let mut digests = header[FIXED + ENTRY * n_sections..].chunks_exact(DIGEST);
    let mut next = aligned(header.len()).ok_or_else(wrong)?;
    if map
        .bytes()
        .get(header.len()..next)
        .is_none_or(|zeros| zeros.iter().any(|&byte| byte != 0))
    {
        return Err(wrong());
    }
    let mut last = None;
    for entry in header[FIXED..FIXED + ENTRY * n_sections].chunks_exact(ENTRY) {
        let [kind, start, len] = [0, 8, 16].map(|at| usize::try_from(long(entry, at)).unwrap_or(usize::MAX));
        let end = start.checked_add(len).filter(|_| start == next).ok_or_else(wrong)?;
        next = aligned(end)
            .filter(|&next| next <= map.bytes().len())
            .ok_or_else(wrong)?;
        if kind >= Kind::ALL.len() || last >= Some(kind) {
            return Err(wrong());
        }
        last = Some(kind);
        let digests: Vec<blake3::Hash> = digests
            .by_ref()
            .take(n_blocks(len))
            .map(|bytes| hash(bytes, 0))
            .collect();
        if digests.len() != n_blocks(len) {
            return Err(wrong());
        }
        sections[kind] = Some(Section::new(map, start..end, next, digests));
    }
    match next == map.bytes().len() && digests.len() == 0 && digests.remainder().is_empty() {
        true => Ok(sections),
        false => Err(wrong()),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytemuck::pod_read_unaligned(&bytes[at..at + 4])
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytemuck::pod_read_unaligned(&bytes[at..at + 8])
}

fn hash(bytes: &[u8], at: usize) -> blake3::Hash {
    blake3::Hash::from_bytes(bytemuck::pod_read_unaligned(&bytes[at..at + DIGEST]))
}

/// A graph's line in the first section.
struct Shape {
    n_nodes: usize,
    n_arcs: usize,
    n_edges: usize,
    directed: bool,
    weighted: bool,
}

struct Reader<'a> {
    path: &'a Path,
    sections: [Option<Section>; Kind::ALL.len()],
}

impl Reader<'_> {
    fn wrong(&self, message: impl Into<String>) -> DataError {
        DataError::format(self.path, message)
    }

    /// A section of `n` numbers, each of four bytes.
    fn section(&mut self, kind: Kind, n: usize) -> Result<Section, DataError> {
        let section = self.sections[kind as usize].take();
        let section = section.ok_or_else(|| self.wrong(format!("lacks its section {kind:?}")))?;
        match n.checked_mul(4) == Some(section.len()) {
            true => Ok(section),
            false => {
                let len = section.len();
                Err(self.wrong(format!(
                    "has {len} bytes in its section {kind:?}, where {n} numbers should be"
                )))
            }
        }
    }

    /// The numbers of a section, read at once.
    fn numbers<T: bytemuck::Pod>(&mut self, kind: Kind, n: usize) -> Result<Vec<T>, DataError> {
        Ok(bytemuck::cast_slice(self.section(kind, n)?.whole()?).to_vec())
    }

    /// As [`numbers`](Self::numbers), as many as there are; `None` where the section is not there.
    fn some(&mut self, kind: Kind) -> Result<Option<Vec<u32>>, DataError> {
        let n = self.sections[kind as usize].as_ref().map(|section| section.len() / 4);
        n.map(|n| self.numbers(kind, n)).transpose()
    }

    /// `Some` of the numbers of a section that has one for each of `n` things, all below `below`.
    fn classes(&mut self, kind: Kind, n: usize, below: usize) -> Result<Option<Vec<u32>>, DataError> {
        let classes = self.some(kind)?;
        let holds = |classes: &Vec<u32>| classes.len() == n && classes.iter().all(|&class| (class as usize) < below);
        match classes.as_ref().is_none_or(holds) {
            true => Ok(classes),
            false => Err(self.wrong(format!("section {kind:?} must have {n} numbers below {below}"))),
        }
    }

    fn dataset(mut self, fingerprint: String) -> Result<Dataset, DataError> {
        let shapes = self.shapes()?;
        let total = |of: fn(&Shape) -> usize| shapes.iter().map(of).try_fold(0_usize, usize::checked_add);
        let sizes = (total(|shape| shape.n_nodes), total(|shape| shape.n_arcs));
        let (Some(n_nodes), Some(n_arcs)) = sizes else {
            return Err(self.wrong("has more nodes or arcs than can be numbered"));
        };
        if n_nodes as u64 > MAX_NODES {
            return Err(self.wrong(format!("has {n_nodes} nodes, and at most {MAX_NODES} are read")));
        }
        let graphs = self.graphs(&shapes, n_nodes, n_arcs)?;
        let description = self.description()?;
        self.check_classes(description.n_classes, n_nodes)?;
        let mut dataset = Dataset {
            graphs,
            features: self.features(&description, n_nodes)?,
            node_labels: self.node_labels(&description, n_nodes)?,
            edge_labels: self.classes(Kind::EdgeLabels, n_arcs, usize::MAX)?,
            graph_labels: self.classes(Kind::GraphLabels, shapes.len(), description.n_classes)?,
            edge_features: self.edge_features(&description, n_arcs)?,
            node_tasks: self.tasks((Kind::NodeTasks, &description.node_tasks), n_nodes)?,
            node_properties: self.properties((Kind::NodeProperties, &description.node_properties), n_nodes)?,
            targets: self.targets(&description, (n_nodes, shapes.len()))?,
            node_names: self.names(n_nodes)?,
            graph_properties: self.properties((Kind::GraphProperties, &description.properties), shapes.len())?,
            graph_tasks: self.tasks((Kind::GraphTasks, &description.tasks), shapes.len())?,
            node_ids: self.classes(Kind::NodeIds, n_nodes, usize::MAX)?,
            name: description.name,
            structural_columns: description.structural_columns,
            n_classes: description.n_classes,
            splits: None,
            notes: description.notes,
            fingerprint_on_file: Some(fingerprint),
        };
        let codes = self.classes(Kind::Splits, dataset.n_items(), 4)?;
        dataset.splits = codes.map(|codes| Splits::from_codes(&codes));
        Ok(dataset)
    }

    /// More classes than nodes would let a file ask for any memory.
    fn check_classes(&self, n_classes: usize, n_nodes: usize) -> Result<(), DataError> {
        match n_classes <= n_nodes.max(2) {
            true => Ok(()),
            false => Err(self.wrong(format!("says that its {n_nodes} nodes have {n_classes} classes"))),
        }
    }

    fn shapes(&mut self) -> Result<Vec<Shape>, DataError> {
        let words = self.some(Kind::Graphs)?.unwrap_or_default();
        let shape = |row: &[u32]| {
            let [n_nodes, n_arcs, n_edges] = [row[0], row[1], row[2]].map(|n| n as usize);
            let directed = row[3] & 1 == 1;
            // A self loop of an undirected graph is one arc.
            let edges = if directed {
                n_arcs..=n_arcs
            } else {
                n_arcs.div_ceil(2)..=n_arcs
            };
            (row[3] < 4 && edges.contains(&n_edges)).then_some(Shape {
                n_nodes,
                n_arcs,
                n_edges,
                directed,
                weighted: row[3] & 2 == 2,
            })
        };
        let shapes: Option<Vec<Shape>> = words.chunks_exact(4).map(shape).collect();
        let shapes = shapes.filter(|shapes| !shapes.is_empty() && shapes.len() * 4 == words.len());
        shapes.ok_or_else(|| self.wrong("says of its graphs what cannot be"))
    }

    /// Row bounds are checked here, arcs when they are read.
    fn graphs(&mut self, shapes: &[Shape], n_nodes: usize, n_arcs: usize) -> Result<Vec<Graph>, DataError> {
        let offsets = Arc::new(self.section(Kind::Offsets, n_nodes + shapes.len())?);
        let mut first_arc = 0;
        let below = shapes.iter().map(|shape| {
            let from = first_arc;
            first_arc += shape.n_arcs;
            (from, shape.n_nodes as u32)
        });
        let below = below.collect();
        let targets = Arc::new(self.section(Kind::Targets, n_arcs)?.below(below));
        let weighted = shapes.iter().filter(|shape| shape.weighted);
        let weights = match weighted.clone().next() {
            Some(_) => Some(Arc::new(
                self.section(Kind::Weights, weighted.map(|shape| shape.n_arcs).sum())?,
            )),
            None => None,
        };
        let (mut bounds_at, mut arcs_at, mut weights_at) = (0, 0, 0);
        let mut graphs = Vec::with_capacity(shapes.len());
        for (at, shape) in shapes.iter().enumerate() {
            let bounds = Column::Mapped(Arc::clone(&offsets), next(&mut bounds_at, shape.n_nodes + 1));
            let hold = are_bounds(bounds.all(), shape.n_arcs);
            if let Some(damage) = bounds.damage() {
                return Err(damage);
            }
            if !hold {
                return Err(self.wrong(format!(
                    "has row bounds of graph {at} that do not ascend to its number of arcs"
                )));
            }
            let arcs = Column::Mapped(Arc::clone(&targets), next(&mut arcs_at, shape.n_arcs));
            let weights = weights.as_ref().filter(|_| shape.weighted);
            let weights = weights.map(|all| Column::Mapped(Arc::clone(all), next(&mut weights_at, shape.n_arcs)));
            graphs.push(Graph::of_columns(
                (bounds, arcs),
                weights,
                shape.directed,
                shape.n_edges,
            ));
        }
        Ok(graphs)
    }

    /// Row bounds of nodes, checked here, and the ids of all rows, below `below`, checked when they
    /// are read.
    fn rows(&mut self, bounds: Kind, ids: Kind, n_nodes: usize, below: u32) -> Result<[Column<u32>; 2], DataError> {
        let offsets: Column<u32> = Column::mapped(self.section(bounds, n_nodes + 1)?);
        let n_ids = offsets.all().last().map_or(0, |&n| n as usize);
        let hold = are_bounds(offsets.all(), n_ids);
        if let Some(damage) = offsets.damage() {
            return Err(damage);
        }
        if !hold {
            return Err(self.wrong(format!("has row bounds in its section {bounds:?} that do not ascend")));
        }
        let ids = self.section(ids, n_ids)?.below(vec![(0, below)]);
        Ok([offsets, Column::mapped(ids)])
    }

    fn description(&mut self) -> Result<Description, DataError> {
        let section = self.sections[Kind::Description as usize].take();
        let section = section.ok_or_else(|| self.wrong("lacks its description"))?;
        serde_json::from_slice(section.whole()?)
            .map_err(|error| self.wrong(format!("has a wrong description: {error}")))
    }

    fn features(&mut self, description: &Description, n_nodes: usize) -> Result<Option<Features>, DataError> {
        let Some(n_columns) = description.n_columns else {
            return Ok(None);
        };
        let holds = |columns: &Range<u32>| columns.start <= columns.end && columns.end <= n_columns;
        if u64::from(n_columns) > MAX_NODES || !description.structural_columns.iter().all(holds) {
            return Err(self.wrong(format!("has {n_columns} features, and says of them what cannot be")));
        }
        if self.sections[Kind::FeatureOffsets as usize].is_none() {
            let n_values = n_nodes.saturating_mul(n_columns as usize);
            let values = Column::mapped(self.section(Kind::FeatureValues, n_values)?);
            let rows = DenseRows::of_column(values, n_nodes, n_columns as usize);
            return Ok(Some(Features::Dense(rows)));
        }
        let [offsets, columns] = self.rows(Kind::FeatureOffsets, Kind::FeatureColumns, n_nodes, n_columns)?;
        let values = Column::mapped(self.section(Kind::FeatureValues, columns.len())?);
        let rows = SparseRows::of_columns(n_columns, offsets, (columns, values));
        Ok(Some(Features::Sparse(rows)))
    }

    fn node_labels(&mut self, description: &Description, n_nodes: usize) -> Result<Option<Labels>, DataError> {
        let Some(n_classes) = description.n_node_classes else {
            return Ok(None);
        };
        self.check_classes(n_classes as usize, n_nodes)?;
        let [offsets, classes] = self.rows(Kind::LabelOffsets, Kind::LabelClasses, n_nodes, n_classes)?;
        Ok(Some(Labels::of_columns(offsets, classes, n_classes)))
    }

    fn edge_features(&mut self, description: &Description, n_arcs: usize) -> Result<Option<DenseRows>, DataError> {
        let Some(n_columns) = description.n_edge_columns else {
            return Ok(None);
        };
        let n_columns = n_columns as usize;
        let values = Column::mapped(self.section(Kind::EdgeFeatures, n_arcs.saturating_mul(n_columns))?);
        Ok(Some(DenseRows::of_column(values, n_arcs, n_columns)))
    }

    /// Numbers to predict of so many nodes, or graphs.
    fn targets(
        &mut self,
        description: &Description,
        (n_nodes, n_graphs): (usize, usize),
    ) -> Result<Option<Targets>, DataError> {
        let Some((names, of_graphs)) = &description.targets else {
            return Ok(None);
        };
        let n_items = if *of_graphs { n_graphs } else { n_nodes };
        let values = self.numbers(Kind::Predicted, n_items.saturating_mul(names.len()))?;
        let targets = Targets::new(names.clone(), values, *of_graphs);
        targets.map(Some).map_err(|error| self.wrong(error.to_string()))
    }

    fn names(&mut self, n_nodes: usize) -> Result<Option<Vec<String>>, DataError> {
        let Some(section) = self.sections[Kind::Names as usize].take() else {
            return Ok(None);
        };
        let bounds: Vec<u32> = self.numbers(Kind::NameBounds, n_nodes + 1)?;
        let wrong = || self.wrong("has names of nodes that are no texts");
        let text = std::str::from_utf8(section.whole()?).map_err(|_| wrong())?;
        if !are_bounds(&bounds, text.len()) {
            return Err(wrong());
        }
        let name = |pair: &[u32]| text.get(pair[0] as usize..pair[1] as usize).map(str::to_owned);
        bounds
            .windows(2)
            .map(name)
            .collect::<Option<_>>()
            .ok_or_else(wrong)
            .map(Some)
    }

    fn properties(
        &mut self,
        (kind, described): (Kind, &Option<Facets>),
        n: usize,
    ) -> Result<Option<Properties>, DataError> {
        let Some((facets, values)) = described else {
            return Ok(None);
        };
        let classes = self.numbers(kind, n)?;
        let facets: Vec<&str> = facets.iter().map(String::as_str).collect();
        let properties = Properties::new(&facets, values.clone(), classes);
        Ok(Some(properties.ok_or_else(|| {
            self.wrong("has properties that its items cannot have")
        })?))
    }

    fn tasks(&mut self, (kind, names): (Kind, &[String]), n: usize) -> Result<Option<TaskLabels>, DataError> {
        if names.is_empty() {
            return Ok(None);
        }
        let n = n.saturating_mul(names.len());
        let codes = self.classes(kind, n, 3)?.unwrap_or_default();
        let tasks = TaskLabels::from_codes(names.to_vec(), &codes);
        tasks.map(Some).map_err(|error| self.wrong(error.to_string()))
    }
}

/// Whether row bounds ascend from 0 to `n`.
fn are_bounds(bounds: &[u32], n: usize) -> bool {
    bounds.first() == Some(&0) && bounds.is_sorted() && bounds.last().is_some_and(|&last| last as usize == n)
}

/// The next `n` places, and on to those behind.
fn next(at: &mut usize, n: usize) -> Range<usize> {
    let from = *at;
    *at += n;
    from..*at
}
