//! Writing a mapped file: sections from the front, and then the header, which has their digests.
//! Nothing is copied that is large.

use std::borrow::Cow;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::{ALIGN, DIGEST_AT, Description, ENTRY, FIXED, Kind, MAGIC, MARK, VERSION, aligned};
use crate::section::{BLOCK, n_blocks};
use crate::{Dataset, Features, Graph, Properties, Targets};

/// The bytes of a section, piece by piece.
type Pieces<'a> = Vec<Cow<'a, [u8]>>;

/// Writes a data set as a file that [`Mapped`](crate::datasets::Mapped) reads.
///
/// # Errors
/// What `out` says, and a big-endian machine, which such a file is not made for.
///
/// # Complexity
/// Two passes over the set, one of them for its fingerprint; no memory that grows with it, but for
/// the digests, 32 bytes for 64 KiB, and a word a node for splits.
pub fn write(dataset: &Dataset, out: impl Write + Seek) -> io::Result<()> {
    if cfg!(target_endian = "big") {
        return Err(io::Error::other(
            "mapped files are little-endian, and this machine is not",
        ));
    }
    let sections = sections(dataset)?;
    let length = |pieces: &Pieces<'_>| pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let n_digests: usize = sections.iter().map(|(_, pieces)| n_blocks(length(pieces))).sum();
    let header_len = FIXED + ENTRY * sections.len() + blake3::OUT_LEN * n_digests;

    let mut out = BufWriter::new(out);
    let mut at = aligned(header_len).ok_or_else(too_large)?;
    out.seek(SeekFrom::Start(at as u64))?;
    let mut entries = Vec::new();
    let mut digests = Vec::with_capacity(blake3::OUT_LEN * n_digests);
    for (kind, pieces) in &sections {
        let len = length(pieces);
        for word in [*kind as u64, at as u64, len as u64] {
            entries.extend(word.to_le_bytes());
        }
        at = at.checked_add(len).and_then(aligned).ok_or_else(too_large)?;
        let mut blocks = Blocks::new(&mut out, &mut digests, len);
        for piece in pieces {
            blocks.write(piece)?;
        }
        blocks.finish()?;
    }

    let mut header = Vec::with_capacity(header_len);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend(MARK.to_le_bytes());
    header.extend((header_len as u64).to_le_bytes());
    header.extend((at as u64).to_le_bytes());
    let mut rest = fingerprint(dataset)?;
    rest.extend((sections.len() as u64).to_le_bytes());
    rest.extend(entries);
    rest.extend(digests);
    let digest = blake3::Hasher::new().update(&header).update(&rest).finalize();
    debug_assert_eq!(header.len(), DIGEST_AT);
    header.extend(digest.as_bytes());
    header.extend(rest);
    header.resize(aligned(header_len).ok_or_else(too_large)?, 0);
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&header)?;
    out.flush()
}

fn too_large() -> io::Error {
    io::Error::other("the data set is too large for a file")
}

/// The fingerprint's 32 bytes.
fn fingerprint(dataset: &Dataset) -> io::Result<Vec<u8>> {
    let hash = blake3::Hash::from_hex(dataset.fingerprint()).map_err(io::Error::other)?;
    Ok(hash.as_bytes().to_vec())
}

/// Writes a section and the digests of its blocks.
struct Blocks<'a, W> {
    out: &'a mut W,
    digests: &'a mut Vec<u8>,
    hasher: blake3::Hasher,
    /// Bytes of the section, and how many of them are written.
    len: usize,
    written: usize,
}

impl<'a, W: Write> Blocks<'a, W> {
    fn new(out: &'a mut W, digests: &'a mut Vec<u8>, len: usize) -> Blocks<'a, W> {
        Blocks {
            out,
            digests,
            hasher: blake3::Hasher::new(),
            len,
            written: 0,
        }
    }

    fn write(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(BLOCK - self.written % BLOCK));
            self.hasher.update(now);
            self.out.write_all(now)?;
            self.written += now.len();
            piece = later;
            // The last block waits for the zeros after it.
            if self.written.is_multiple_of(BLOCK) && self.written < self.len {
                self.end_block();
            }
        }
        Ok(())
    }

    fn end_block(&mut self) {
        self.digests.extend(self.hasher.finalize().as_bytes());
        self.hasher.reset();
    }

    fn finish(mut self) -> io::Result<()> {
        if self.len > 0 {
            let zeros = &[0; ALIGN][..self.len.next_multiple_of(ALIGN) - self.len];
            self.hasher.update(zeros);
            self.out.write_all(zeros)?;
            self.end_block();
        }
        Ok(())
    }
}

/// All sections, by ascending kind, that a set has.
fn sections<'a>(dataset: &'a Dataset) -> io::Result<Vec<(Kind, Pieces<'a>)>> {
    let graphs = &dataset.graphs;
    let mut sections = vec![
        (Kind::Graphs, vec![owned(graphs.iter().flat_map(row))]),
        (
            Kind::Offsets,
            graphs.iter().map(|graph| bytes(graph.offsets())).collect(),
        ),
        (
            Kind::Targets,
            graphs.iter().map(|graph| bytes(graph.targets())).collect(),
        ),
    ];
    if graphs.iter().any(Graph::is_weighted) {
        let weights = graphs.iter().filter_map(Graph::arc_weights);
        sections.push((Kind::Weights, weights.map(bytes).collect()));
    }
    let description = serde_json::to_vec(&description(dataset)).map_err(io::Error::other)?;
    sections.push((Kind::Description, vec![description.into()]));
    match &dataset.features {
        None => {}
        Some(Features::Sparse(rows)) => {
            let (offsets, columns, values) = rows.parts();
            sections.push((Kind::FeatureOffsets, vec![bytes(offsets)]));
            sections.push((Kind::FeatureColumns, vec![bytes(columns)]));
            sections.push((Kind::FeatureValues, vec![bytes(values)]));
        }
        Some(Features::Dense(matrix)) => sections.push((Kind::FeatureValues, vec![bytes(matrix.values())])),
    }
    if let Some(labels) = &dataset.node_labels {
        let (offsets, classes) = labels.parts();
        sections.push((Kind::LabelOffsets, vec![bytes(offsets)]));
        sections.push((Kind::LabelClasses, vec![bytes(classes)]));
    }
    let mut put = |kind, words: Option<Cow<'a, [u8]>>| sections.extend(words.map(|words| (kind, vec![words])));
    put(Kind::EdgeLabels, dataset.edge_labels.as_deref().map(bytes));
    put(Kind::GraphLabels, dataset.graph_labels.as_deref().map(bytes));
    let properties = dataset.graph_properties.as_ref().map(Properties::classes);
    put(Kind::GraphProperties, properties.map(bytes));
    put(
        Kind::GraphTasks,
        dataset.graph_tasks.as_ref().map(|tasks| owned(tasks.codes())),
    );
    let splits = dataset.splits.as_ref();
    put(Kind::Splits, splits.map(|splits| owned(splits.codes())));
    put(Kind::NodeIds, dataset.node_ids.as_deref().map(bytes));
    let of_edges = dataset.edge_features.as_ref();
    put(Kind::EdgeFeatures, of_edges.map(|rows| bytes(rows.values())));
    let tasks = dataset.node_tasks.as_ref();
    put(Kind::NodeTasks, tasks.map(|tasks| owned(tasks.codes())));
    let properties = dataset.node_properties.as_ref().map(Properties::classes);
    put(Kind::NodeProperties, properties.map(bytes));
    let targets = dataset.targets.as_ref().map(Targets::values);
    put(Kind::Predicted, targets.map(bytes));
    if let Some(names) = &dataset.node_names {
        let mut end = 0_usize;
        let ends = names.iter().map(|name| {
            end += name.len();
            u32::try_from(end)
        });
        let bounds = std::iter::once(Ok(0)).chain(ends).collect::<Result<Vec<u32>, _>>();
        let bounds = bounds.map_err(|_| io::Error::other("the names of the nodes take more than 4 GiB"))?;
        put(Kind::NameBounds, Some(owned(bounds.into_iter())));
        put(Kind::Names, Some(names.concat().into_bytes().into()));
    }
    Ok(sections)
}

fn row(graph: &Graph) -> [u32; 4] {
    let flags = u32::from(graph.is_directed()) + 2 * u32::from(graph.is_weighted());
    // None has more arcs than 32-bit row bounds can say.
    [
        graph.n_nodes() as u32,
        graph.n_arcs() as u32,
        graph.n_edges() as u32,
        flags,
    ]
}

fn description(dataset: &Dataset) -> Description {
    let properties = |properties: &Properties| {
        let facets = properties.facets().map(str::to_owned).collect();
        (facets, properties.names().map(<[String]>::to_vec).collect())
    };
    Description {
        name: dataset.name.clone(),
        notes: dataset.notes.clone(),
        n_classes: dataset.n_classes,
        structural_columns: dataset.structural_columns.clone(),
        n_columns: dataset.features.as_ref().map(|features| features.n_columns() as u32),
        n_node_classes: dataset.node_labels.as_ref().map(|labels| labels.n_classes() as u32),
        properties: dataset.graph_properties.as_ref().map(properties),
        tasks: dataset
            .graph_tasks
            .as_ref()
            .map_or_else(Vec::new, |tasks| tasks.names().to_vec()),
        n_edge_columns: dataset.edge_features.as_ref().map(|rows| rows.n_columns() as u32),
        node_tasks: dataset
            .node_tasks
            .as_ref()
            .map_or_else(Vec::new, |tasks| tasks.names().to_vec()),
        node_properties: dataset.node_properties.as_ref().map(properties),
        targets: dataset
            .targets
            .as_ref()
            .map(|targets| (targets.names().to_vec(), targets.are_of_graphs())),
    }
}

fn bytes<T: bytemuck::Pod>(values: &[T]) -> Cow<'_, [u8]> {
    bytemuck::cast_slice(values).into()
}

fn owned(words: impl Iterator<Item = u32>) -> Cow<'static, [u8]> {
    words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into()
}
