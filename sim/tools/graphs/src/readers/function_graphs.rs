//! Attributed control-flow graphs of the functions of binaries, one gzipped file of JSON lines per
//! binary.
//!
//! A line is one function: `n_num` (blocks), `succs` (for each block the blocks that may follow it,
//! from 0), `features` (six counts a block) and `fname`, the function's name and so its class;
//! `src` and any other member is skipped. Arcs are directed, and a block that follows itself keeps
//! its self loop. The name of the file tells the binary, and so the property of its graphs. Files
//! are read in ascending order of their names, line by line: nothing unpacked outlives its line.

mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_metrics::npy::Array;
use folkmoot_parts::{Rules, component};
use ndarray::Array2;

use super::format::read_bytes;
use super::limits::MAX_NODES;
use crate::data_source::{CatalogueEntry, DataSource, checked};
use crate::measures::components;
use crate::{CountScaling, DataDirs, DataError, Dataset, Features, Graph, Properties, Splits};
use line::{Function, N_COLUMNS};

/// Control-flow graphs of functions in several binaries, from `acfg/`: the class is the
/// function, the property the binary.
#[component(name = "FunctionGraphs", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionGraphs {
    /// Data set: `OpenSSL` or `FFmpeg`.
    #[component(required)]
    pub name: Functions,
    /// Minimum and maximum number of nodes (basic blocks), within 20..=200.
    #[component(default = (50, 200))]
    pub n_nodes: (u32, u32),
    /// Scaling of the six count features per node; by default raw counts.
    pub scaling: CountScaling,
}

/// Control-flow graph sets used by PPGM and earlier matching networks.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// 24 binaries: version 1.0.1f or 1.0.1u, for armeb, i586 or mips, at levels O0 to O3; 4,308
    /// graphs of 50 to 200 blocks of 338 functions, 15,800 of 20 to 200 of 1,073.
    OpenSSL,
    /// 8 binaries: gcc or clang at levels O0 to O3; 10,824 graphs of 50 to 200 blocks of 3,178
    /// functions. The public copy lacks both at O0: 7,262 graphs of 2,365 functions, and notes say
    /// so.
    FFmpeg,
}

/// The sizes that folders were published for, the narrowest first.
const PUBLISHED: [(u32, u32); 2] = [(50, 200), (20, 200)];

/// The widest range that a card may ask for.
const WIDEST: (u32, u32) = PUBLISHED[1];

const LEVELS: [&str; 4] = ["O0", "O1", "O2", "O3"];

impl Functions {
    /// The folder with graphs of these sizes, below a data folder.
    fn folder(self, (least, most): (u32, u32)) -> String {
        match self {
            Functions::OpenSSL => format!("acfg/OpenSSL_6ACFG_min{least}_max{most}/acfgSSL_6"),
            Functions::FFmpeg => format!("acfg/ffmpeg_6ACFG_min{least}_max{most}"),
        }
    }

    fn facets(self) -> &'static [&'static str] {
        match self {
            Functions::OpenSSL => &["version", "architecture", "level"],
            Functions::FFmpeg => &["compiler", "level"],
        }
    }

    /// Every binary of the published set, in ascending order of file names.
    fn binaries(self) -> Vec<Binary> {
        let mut binaries = Vec::new();
        let mut add = |file: String, property: &[&str]| {
            let property = property.iter().map(|value| (*value).to_string()).collect();
            binaries.push(Binary { file, property });
        };
        match self {
            Functions::OpenSSL => {
                for version in ["1.0.1f", "1.0.1u"] {
                    for architecture in ["armeb", "i586", "mips"] {
                        for level in LEVELS {
                            let file = format!("filter_openssl-{version}-{architecture}-linux-{level}v54.json.gz");
                            add(file, &[version, architecture, level]);
                        }
                    }
                }
            }
            Functions::FFmpeg => {
                for compiler in ["clang", "gcc"] {
                    for level in LEVELS {
                        add(format!("ACFG_ffmpeg_g_{compiler}_{level}.json.gz"), &[compiler, level]);
                    }
                }
            }
        }
        binaries
    }
}

const GET_ACFG: &str = "help: folkmoot data fetch OpenSSL-50-200\n  (or OpenSSL-20-200, FFmpeg-50-200); or put the set's folder in the \
    repository of MGMN (Ling et al., `data/CFG`), such as `OpenSSL_6ACFG_min50_max200`, into `acfg/` below a data folder, \
    each file compressed by gzip as `NAME.json.gz`";

impl FunctionGraphs {
    fn rules(&self, rules: &mut Rules) {
        let (least, most) = self.n_nodes;
        let rule = format!(
            "must be a range (least, greatest) within {}..={}, the sizes that were published, got ({least}, {most})",
            WIDEST.0, WIDEST.1
        );
        let is_published = WIDEST.0 <= least && least <= most && most <= WIDEST.1;
        rules.require(is_published, "n_nodes", rule);
    }
}

impl DataSource for FunctionGraphs {
    fn name(&self) -> String {
        let (least, most) = self.n_nodes;
        format!("{:?}-{least}-{most}", self.name)
    }

    fn is_generated(&self) -> bool {
        false
    }

    /// Reads the narrowest folder found that has all graphs of these sizes.
    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        checked(self)?;
        let n_nodes = self.n_nodes;
        let holds = |sizes: &(u32, u32)| sizes.0 <= n_nodes.0 && n_nodes.1 <= sizes.1;
        let mut first_error = None;
        for sizes in PUBLISHED.into_iter().filter(holds) {
            match dirs.locate_set(self.name.folder(sizes), GET_ACFG) {
                Ok(dir) => {
                    let options = FunctionOptions {
                        n_nodes,
                        facets: self.name.facets(),
                        binaries: &self.name.binaries(),
                        whole: sizes == n_nodes,
                    };
                    let mut dataset = read_function_graphs(&self.name(), &dir, &options)?;
                    dataset.features = dataset.features.map(|counts| self.scaling.apply(counts));
                    return Ok(dataset);
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.expect("the check allows no range that no published folder holds"))
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![
            CatalogueEntry::at(
                "acfg/OpenSSL_6ACFG_min50_max200",
                "FunctionGraphs(name: OpenSSL)",
                "4,308 control-flow graphs of 50 to 200 nodes, 338 functions, 24 properties, 6 features",
            ),
            CatalogueEntry::at(
                "acfg/OpenSSL_6ACFG_min20_max200",
                "FunctionGraphs(name: OpenSSL, n_nodes: (20, 200))",
                "15,800 control-flow graphs, 1,073 functions, the published split",
            ),
            CatalogueEntry::at(
                "acfg/ffmpeg_6ACFG_min50_max200",
                "FunctionGraphs(name: FFmpeg)",
                "10,824 control-flow graphs, 8 properties; the public copy has only 7,262 graphs of 2,365 functions, 6 properties",
            ),
        ]
    }
}

/// The published order of the classes for the split, if the folder holds one.
const ORDER: &str = "class_perm.npy";

/// One binary of a set, read or not.
struct Binary {
    /// Its file within the folder.
    file: String,
    /// The values of the set's facets.
    property: Vec<String>,
}

struct FunctionOptions<'a> {
    /// The least and the greatest number of blocks; functions outside are left out.
    n_nodes: (u32, u32),
    /// What tells the binaries apart, such as `["compiler", "level"]`.
    facets: &'a [&'a str],
    /// Every binary of the published set, in ascending order of file names.
    binaries: &'a [Binary],
    /// Whether the folder was made for `n_nodes`, so that a published order of classes belongs to
    /// what is read.
    whole: bool,
}

/// Reads the binaries of `options` that the folder `dir` holds; a note names those that it lacks.
fn read_function_graphs(name: &str, dir: &Path, options: &FunctionOptions<'_>) -> Result<Dataset, DataError> {
    let (here, missing) = options
        .binaries
        .iter()
        .partition::<Vec<&Binary>, _>(|binary| dir.join(&binary.file).exists());
    if here.len() < 2 {
        let rule = format!(
            "holds {} of the {} binaries of the set, such as `{}`; with fewer than 2 no function has a variant and all graphs \
             have one property; copy the others beside it",
            here.len(),
            options.binaries.len(),
            options.binaries[0].file
        );
        return Err(DataError::format(dir, rule));
    }
    let mut reading = Reading::default();
    for (property, binary) in (0..).zip(&here) {
        reading.read(&dir.join(&binary.file), property, options.n_nodes)?;
    }
    if reading.graphs.is_empty() {
        let (least, most) = options.n_nodes;
        let rule = format!("no function has {least} to {most} blocks; widen `n_nodes`");
        return Err(DataError::format(dir, rule));
    }
    let values = here.iter().map(|binary| binary.property.clone()).collect();
    let mut dataset = reading.into_dataset(name, options, values);
    if !missing.is_empty() {
        dataset.notes.insert(0, partial(&missing, options.binaries.len()));
    }
    let order = dir.join(ORDER);
    if options.whole && order.exists() {
        published_split(&mut dataset, &order)?;
    }
    Ok(dataset)
}

fn partial(missing: &[&Binary], n_binaries: usize) -> String {
    let names: Vec<String> = missing.iter().map(|binary| binary.property.join(" ")).collect();
    format!(
        "the set is partial: {} of its {n_binaries} binaries are not in the folder ({})",
        missing.len(),
        names.join(", ")
    )
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    graphs: Vec<Graph>,
    /// Six counts a node, graph after graph.
    counts: Vec<f32>,
    /// The function of each graph, numbered by first appearance.
    labels: Vec<u32>,
    /// The binary of each graph.
    properties: Vec<u32>,
    classes: BTreeMap<String, u32>,
    /// Hashes of successors and counts.
    seen: BTreeSet<[u8; 32]>,
    n_copies: usize,
    n_outside: usize,
    n_repeated_arcs: usize,
    n_repeated_names: usize,
    n_disconnected: usize,
}

impl Reading {
    fn read(&mut self, path: &Path, property: u32, (least, most): (u32, u32)) -> Result<(), DataError> {
        let mut lines = line::Lines::open(path)?;
        let mut names = BTreeSet::new();
        let mut n_functions = 0;
        while let Some(function) = lines.next()? {
            let Function {
                graph,
                counts,
                name,
                n_repeated_arcs,
            } = function;
            n_functions += 1;
            if !(least as usize..=most as usize).contains(&graph.n_nodes()) {
                self.n_outside += 1;
                continue;
            }
            if self.graphs.len() as u64 > MAX_NODES
                || (self.counts.len() + counts.len()) as u64 > MAX_NODES * N_COLUMNS as u64
            {
                let rule = format!("the set has over {} blocks; lower `n_nodes`", MAX_NODES);
                return Err(DataError::format(path, rule));
            }
            self.n_repeated_arcs += n_repeated_arcs;
            self.n_copies += usize::from(!self.seen.insert(hash(&graph, &counts)));
            self.n_disconnected += usize::from(components(&graph).sizes.len() > 1);
            let next = self.classes.len() as u32;
            let class = *self.classes.entry(name).or_insert(next);
            self.n_repeated_names += usize::from(!names.insert(class));
            self.labels.push(class);
            self.properties.push(property);
            self.counts.extend(counts);
            self.graphs.push(graph);
        }
        if n_functions == 0 {
            return Err(DataError::format(path, "the file holds no function; copy it again"));
        }
        Ok(())
    }

    fn into_dataset(self, name: &str, options: &FunctionOptions<'_>, values: Vec<Vec<String>>) -> Dataset {
        let mut variants = vec![0_u32; self.classes.len()];
        for &class in &self.labels {
            variants[class as usize] += 1;
        }
        let n_single = variants.iter().filter(|count| **count == 1).count();
        let (least, most) = options.n_nodes;
        let mut notes = Vec::new();
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(
            self.n_outside,
            &format!("functions with fewer than {least} or more than {most} blocks were left out"),
        );
        note(self.n_repeated_arcs, "repeated successors were dropped");
        note(
            self.n_repeated_names,
            "functions have the name of an earlier one of their binary and count as its variants",
        );
        note(
            n_single,
            "functions have one variant only: their matching pair is the graph with itself",
        );
        note(self.n_copies, "graphs equal an earlier one, in successors and counts");
        note(self.n_disconnected, "graphs are not connected");
        let n_nodes = self.counts.len() / N_COLUMNS;
        let counts = Array2::from_shape_vec((n_nodes, N_COLUMNS), self.counts);
        Dataset {
            name: name.to_string(),
            graphs: self.graphs,
            features: Some(Features::Dense(
                counts.expect("every node has a row of six counts").into(),
            )),
            graph_labels: Some(self.labels),
            graph_properties: Properties::new(options.facets, values, self.properties),
            n_classes: self.classes.len(),
            notes,
            ..Dataset::default()
        }
    }
}

fn hash(graph: &Graph, counts: &[f32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // The number of nodes, the last of the offsets, and so on: each part tells the length of the
    // next.
    hasher.update(&(graph.n_nodes() as u64).to_le_bytes());
    hasher.update(&words(graph.offsets()));
    hasher.update(&words(graph.targets()));
    hasher.update(&counts.iter().flat_map(|count| count.to_le_bytes()).collect::<Vec<u8>>());
    *hasher.finalize().as_bytes()
}

/// Applies the published order of classes if it fits.
///
/// The order numbers functions by first appearance in an unstated order of files; ours is that of
/// their names.
fn published_split(dataset: &mut Dataset, path: &Path) -> Result<(), DataError> {
    let refuse = |message: String| DataError::format(path, message);
    let order = Array::parse(&read_bytes(path)?, usize::MAX).map_err(refuse)?;
    let order = order.integers(ORDER).map_err(refuse)?;
    if order.len() != dataset.n_classes {
        dataset.notes.push(format!(
            "no published split: {ORDER} orders {} functions, but {} were read",
            order.len(),
            dataset.n_classes
        ));
        return Ok(());
    }
    let order: Vec<u32> = order
        .iter()
        .map(|&class| u32::try_from(class).unwrap_or(u32::MAX))
        .collect();
    let labels = dataset.graph_labels.as_deref().unwrap_or_default();
    dataset.splits = Some(Splits::by_class(labels, &order).map_err(|error| refuse(error.to_string()))?);
    dataset.notes.push(format!(
        "the split follows {ORDER}, with functions numbered in order of file names and lines; the order that its authors read \
         the files in is not known"
    ));
    Ok(())
}

#[cfg(test)]
mod tests;
