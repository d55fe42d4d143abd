//! What a card's field `dataset:` may say, and how it becomes a [`Dataset`].

mod catalogue;
mod check;
mod functions;
mod generate;
mod load;
mod molecules;
mod musae;
mod own;

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

pub use catalogue::CatalogueEntry;
pub use functions::Functions;
pub use molecules::{Invalid, MoleculeSet};
pub use musae::MusaeSet;

use crate::{CountScaling, DataDirs, DataError, Dataset};

/// Data set of a card (field `dataset:`).
///
/// Sets with options need brackets even with default options: `EmailEuCore()`. Generated graphs
/// except `ControlFlow` are simple and undirected. With `min_degree` (default 1), nodes with too
/// few edges get more, in ascending order. Each added edge goes to a node drawn by the model
/// (uniformly if it has no rule), or to the next free id. Added edges are on top of `mean_degree`;
/// a note reports their number.
#[component(rules)]
#[derive(Clone, Debug, PartialEq)]
pub enum DatasetSpec {
    /// Zachary's karate club, built in: 34 nodes, 78 edges, 2 classes.
    Karate,
    /// BlogCatalog3, from `blogcatalog/blogcatalog.mat`: 10,312 nodes, 333,983 edges, 39 classes,
    /// several per node.
    BlogCatalog,
    /// SNAP's e-mail network of a research institution, from `small-graphs/email-eu-core/`: 1,005
    /// nodes, 42 departments.
    EmailEuCore {
        /// Keep edge directions (sender to recipient); otherwise 16,064 undirected edges.
        directed: bool,
        /// Keep only the largest component, of 986 nodes.
        largest_component: bool,
        /// Whether to keep the 19 nodes whose only edge is a self-loop.
        isolated: Isolated,
    },
    /// A citation graph with bag-of-words features and the public split, from `planetoid/NAME.npz`.
    Planetoid {
        /// Name of the data set.
        #[component(required)]
        name: Citation,
        /// Keep only the largest component, as most papers count.
        #[component(default = true)]
        largest_component: bool,
    },
    /// Social networks of web pages or users with bag-of-words features, from `musae/`.
    Musae {
        /// Name of the data set.
        #[component(required)]
        name: MusaeSet,
        /// Keep only the largest component; no effect, since both sets are connected.
        largest_component: bool,
    },
    /// A set of labelled graphs, from `tudataset/NAME/`.
    TuDataset {
        /// Folder name, such as `"MUTAG"`.
        #[component(required)]
        name: String,
        /// Append the node labels, one-hot, to the node attributes: MUTAG then has 7 features,
        /// PROTEINS_full 32.
        #[component(default = true)]
        label_features: bool,
    },
    /// Several sets of labelled graphs combined, from `tudataset/NAME/` each. The graph property
    /// `set` names the source, so `ByProperty(property: Facet("set"))` makes each set a client.
    /// Features and classes of each set have their own columns. Node and edge labels are dropped,
    /// except as features.
    TuDatasets {
        /// Folder names, each once, in the order of columns and classes.
        #[component(required)]
        names: Vec<String>,
        /// Start the features with the node attributes of sets that have them, such as atom
        /// coordinates.
        #[component(default = true)]
        attributes: bool,
        /// Append the node labels, one-hot.
        #[component(default = true)]
        label_features: bool,
    },
    /// Control-flow graphs of functions in several binaries, from `acfg/`: the class is the
    /// function, the property the binary.
    FunctionGraphs {
        /// Data set: `OpenSSL` or `FFmpeg`.
        #[component(required)]
        name: Functions,
        /// Minimum and maximum number of nodes (basic blocks), within 20..=200.
        #[component(default = (50, 200))]
        n_nodes: (u32, u32),
        /// Scaling of the six count features per node; by default raw counts.
        scaling: CountScaling,
    },
    /// A MoleculeNet set: molecules with one or more binary tasks, from `moleculenet/`.
    Molecules {
        /// Name of the data set.
        #[component(required)]
        name: MoleculeSet,
        /// Handling of rows with an invalid SMILES string.
        invalid: Invalid,
        /// Read the file in `moleculenet/chemprop-cleaned/` with the row counts of the papers:
        /// 2,039 for BBBP and 1,478 for ClinTox; not available for other sets.
        cleaned: bool,
    },
    /// A CSV file with a header, one molecule per row as SMILES, and label columns with 0 and 1 or
    /// two other values, or empty; or columns with numbers to predict.
    MoleculeTable {
        /// File, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Name of the SMILES column.
        #[component(default = "smiles")]
        smiles: String,
        /// Names of the label columns; by default all named columns except the SMILES column.
        tasks: Vec<String>,
        /// Columns with numbers to predict, instead of `tasks`.
        targets: Vec<String>,
        /// Handling of rows with an invalid SMILES string.
        invalid: Invalid,
    },
    /// Text files with one edge per line, and optionally one label per line. Blanks, commas or
    /// semicolons separate fields; the first line may be a header.
    EdgeList {
        /// Edge file, relative to the card or a data folder, or absolute.
        #[component(required)]
        edges: String,
        /// Label file (`node class`, numbers or words); none by default. Nodes that occur only
        /// there have no edges.
        labels: Option<String>,
        /// Feature file: `.npy`, `.npz` (dense or `scipy.sparse.save_npz`), or text with one row of
        /// numbers per node in ascending order of ids, or with a header whose first column is `id`.
        features: Option<String>,
        /// Split file (`node part`, where the part is `train`, `valid` or `test`), used by `split:
        /// Published`.
        split: Option<String>,
        /// Whether edges are directed.
        directed: bool,
        /// Whether a third column contains edge weights.
        weighted: bool,
        /// Smallest node id.
        first_id: u32,
        /// Renumber the ids that occur from 0 in ascending order; ids may then have up to 64 bits.
        renumber: bool,
        /// Keep only the largest component.
        largest_component: bool,
        /// Handling of isolated nodes.
        isolated: Isolated,
    },
    /// Tables of nodes and edges: CSV, TSV or semicolon-separated files with a header. Ids may be
    /// text. Columns with the usual names are found without settings.
    Tables {
        /// Edge table, relative to the card or a data folder, or absolute.
        #[component(required)]
        edges: String,
        /// Node table; by default the nodes are the ends of the edges.
        nodes: Option<String>,
        /// Column with the node id; by default `id`, `node`, `node_id` or `name`, else the first.
        id: Option<String>,
        /// Column with the class of a node; by default `label`, `class` or `y`, if present.
        label: Option<String>,
        /// Columns with binary labels (0, 1 or empty), instead of `label`.
        labels: Vec<String>,
        /// Columns with numbers to predict, instead of `label`.
        targets: Vec<String>,
        /// Feature columns; columns with words are one-hot encoded. By default all other columns
        /// with numbers and no gap.
        features: Vec<String>,
        /// Column with `train`, `valid` or `test`; by default `split`, if present.
        split: Option<String>,
        /// Column with the client, for `partition: Given()`; by default `client`, if present.
        client: Option<String>,
        /// Columns for `partition: ByProperty(property: Facet(…))`.
        properties: Vec<String>,
        /// Edge column with the first end; by default `source`, `src`, `from` or `u`, else the
        /// first.
        source: Option<String>,
        /// Edge column with the second end; by default `target`, `dst`, `to` or `v`, else the
        /// second.
        target: Option<String>,
        /// Edge column with the weight; by default `weight`, if present.
        weight: Option<String>,
        /// Edge columns to keep as features.
        edge_features: Vec<String>,
        /// Whether edges are directed.
        directed: bool,
        /// Keep only the largest component.
        largest_component: bool,
        /// Handling of isolated nodes.
        isolated: Isolated,
    },
    /// A GraphML file with one graph. Data of nodes and edges are columns, as of `Tables`; edge
    /// directions are those of the file.
    GraphMl {
        /// File, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Data with the class of a node; by default `label`, `class` or `y`, if present.
        label: Option<String>,
        /// Data with binary labels, instead of `label`.
        labels: Vec<String>,
        /// Data with numbers to predict, instead of `label`.
        targets: Vec<String>,
        /// Data with features; words are one-hot encoded. By default all other numbers without a
        /// gap.
        features: Vec<String>,
        /// Data with `train`, `valid` or `test`; by default `split`, if present.
        split: Option<String>,
        /// Data with the client, for `partition: Given()`; by default `client`, if present.
        client: Option<String>,
        /// Data for `partition: ByProperty(property: Facet(…))`.
        properties: Vec<String>,
        /// Edge data with the weight; by default `weight`, if present.
        weight: Option<String>,
        /// Edge data to keep as features.
        edge_features: Vec<String>,
        /// Keep only the largest component.
        largest_component: bool,
        /// Handling of isolated nodes.
        isolated: Isolated,
    },
    /// A folder of the Open Graph Benchmark with `raw/` and `split/`: node or graph level, one type
    /// of nodes and edges.
    Ogb {
        /// Folder, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Folder in `split/`, such as `"time"`; by default the only one.
        split: Option<String>,
        /// Whether edges are directed.
        directed: bool,
        /// Keep only the largest component.
        largest_component: bool,
    },
    /// A graph file of METIS: counts on the first line, then the neighbours of each node from 1.
    Metis {
        /// File, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Label file (`node class`); nodes are counted from 1, as in the graph.
        labels: Option<String>,
        /// Feature file, as of `EdgeList`.
        features: Option<String>,
        /// Split file, as of `EdgeList`.
        split: Option<String>,
        /// Keep only the largest component.
        largest_component: bool,
    },
    /// A MATLAB 5 file in BlogCatalog's layout.
    Mat {
        /// File, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Variable with the square adjacency matrix.
        #[component(default = "network")]
        network: String,
        /// Variable with the classes, if any: one row per node and one column per class, or one
        /// column of class numbers.
        #[component(default = "group")]
        group: String,
        /// Whether the adjacency matrix is directed.
        directed: bool,
        /// Keep only the largest component.
        largest_component: bool,
    },
    /// A NumPy archive (`numpy.savez`), or a zip file containing one. Archives with the member
    /// `folkmoot` hold one or many graphs in the layout of the page *Use your own graph*, which
    /// `folkmoot.save` writes from Python. Others hold one graph in one of three layouts. PyTorch
    /// Geometric: `edge_index`, `x`, `y`, `edge_weight`, `num_nodes`. gnn-benchmark: `adj_data`,
    /// `adj_indices`, `adj_indptr`, `adj_shape`; features `attr_*` or a dense `attr_matrix`;
    /// classes `labels` or `labels_*`. Heterophilous graphs: `edges`, `node_features`,
    /// `node_labels`. All may have `train_mask`, `val_mask` and `test_mask`, used by
    /// `split: Published`.
    Npz {
        /// File, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
        /// Keep only the largest component.
        largest_component: bool,
    },
    /// A data set written by `folkmoot data` as one memory-mapped file: only the arcs, features and
    /// labels in use are read. Results are identical to those of the original set.
    Mapped {
        /// File, relative to the card or a data folder, or absolute.
        #[component(required)]
        path: String,
    },
    /// Degree-corrected stochastic block model with labels (Karrer & Newman 2011).
    DcSbm {
        /// Number of nodes.
        #[component(default = 1_000, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Number of classes of equal size, 1..=n_nodes.
        #[component(default = 10)]
        n_classes: u32,
        /// Mean degree (edges × 2 / nodes), in 0..=(n_nodes − 1) / 2.
        #[component(default = 10.0)]
        mean_degree: f64,
        /// Expected fraction of edges within a class.
        #[component(default = 0.7, in = 0..=1)]
        assortativity: f64,
        /// Exponent of the power law of degrees.
        #[component(default = 2.5, in = 1.5..=100)]
        degree_exponent: f64,
        /// Maximum expected degree, as a fraction of the nodes.
        #[component(default = 0.2, above = 0, at_most = 1)]
        max_degree_share: f64,
        /// Probability that a node has a second class.
        #[component(default = 0.0, in = 0..=1)]
        second_label_prob: f64,
        /// Minimum degree, at most 64.
        #[component(default = 1)]
        min_degree: u32,
    },
    /// Contextual stochastic block model with binary features instead of Gaussian ones (Deshpande,
    /// Sen, Montanari & Mossel 2018). Feature `j` marks class `j` modulo `n_classes`.
    ContextualSbm {
        /// Number of nodes.
        #[component(default = 400, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Number of classes of equal size, 2..=n_nodes.
        #[component(default = 4)]
        n_classes: u32,
        /// Mean degree (edges × 2 / nodes), in 0..=(n_nodes − 1) / 2.
        #[component(default = 8.0)]
        mean_degree: f64,
        /// Expected fraction of edges within a class.
        #[component(default = 0.8, in = 0..=1)]
        assortativity: f64,
        /// Number of features per node.
        #[component(default = 32, in = 1..=100_000)]
        n_features: u32,
        /// Probability of a 1 in a feature that marks the node's class.
        #[component(default = 0.3, in = 0..=1)]
        mark_prob: f64,
        /// Probability of a 1 in a feature that marks another class.
        #[component(default = 0.1, in = 0..=1)]
        other_prob: f64,
    },
    /// Preferential attachment (Barabási & Albert 1999); the minimum degree is `edges_per_node`.
    BarabasiAlbert {
        /// Number of nodes.
        #[component(default = 1_000, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Number of edges of each new node, 1..=1024 and below `n_nodes`.
        #[component(default = 5)]
        edges_per_node: u32,
    },
    /// G(n, p) with p = mean_degree / (n_nodes − 1).
    ErdosRenyi {
        /// Number of nodes.
        #[component(default = 1_000, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Expected degree, in 0..=n_nodes − 1.
        #[component(default = 10.0)]
        mean_degree: f64,
        /// Minimum degree, at most 64.
        #[component(default = 1)]
        min_degree: u32,
    },
    /// Small-world graph: a rewired ring (Watts & Strogatz 1998); the minimum degree is `neighbours
    /// / 2`.
    WattsStrogatz {
        /// Number of nodes.
        #[component(default = 1_000, in = 3..=67_108_864)]
        n_nodes: u32,
        /// Number of neighbours on the ring, even, 2..=1024 and below `n_nodes`.
        #[component(default = 10)]
        neighbours: u32,
        /// Probability that an edge is rewired.
        #[component(default = 0.1, in = 0..=1)]
        rewire_prob: f64,
    },
    /// R-MAT, recursive matrix model (Chakrabarti, Zhan & Faloutsos 2004), for graphs of a million
    /// nodes; any number of nodes.
    Rmat {
        /// Number of nodes.
        #[component(default = 1_048_576, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Mean degree (edges × 2 / nodes), in 0..=(n_nodes − 1) / 2.
        #[component(default = 16.0)]
        mean_degree: f64,
        /// Probability of the first quadrant.
        #[component(default = 0.57, in = 0..=1)]
        a: f64,
        /// Probability of the second quadrant.
        #[component(default = 0.19, in = 0..=1)]
        b: f64,
        /// Probability of the third quadrant; the fourth has the rest.
        #[component(default = 0.19, in = 0..=1)]
        c: f64,
        /// Minimum degree, at most 64.
        #[component(default = 1)]
        min_degree: u32,
    },
    /// Synthetic graph classes without features, mean degree near 4. Class 0: Watts & Strogatz (4
    /// neighbours, rewiring 0.1); class 1: Barabási & Albert (2 edges); class 2: independent edges.
    /// Graph `i` has the class `i` modulo `n_classes`.
    GraphClasses {
        /// Number of graphs, `n_classes`..=1000000.
        #[component(default = 200)]
        n_graphs: u32,
        /// Number of classes.
        #[component(default = 2, in = 2..=3)]
        n_classes: u32,
        /// Minimum number of nodes per graph.
        #[component(default = 12, in = 5..=10_000)]
        min_nodes: u32,
        /// Maximum number of nodes per graph, `min_nodes`..=10000; sizes are uniform in between.
        #[component(default = 28)]
        max_nodes: u32,
    },
    /// Synthetic control-flow graphs with functions, variants and properties: the counterpart of
    /// `FunctionGraphs` without files.
    ControlFlow {
        /// Number of functions, which are the classes.
        #[component(default = 100, in = 2..=1_000_000)]
        n_functions: u32,
        /// Minimum and maximum number of blocks of a function before compilation, within 2..=10000;
        /// a variant has at most twice as many nodes.
        #[component(default = (20, 60))]
        n_nodes: (u32, u32),
        /// Number of compilers.
        #[component(default = 2, in = 1..=16)]
        n_compilers: u32,
        /// Number of optimisation levels; with `n_compilers` they give the properties, at least 2.
        #[component(default = 4, in = 1..=16)]
        n_levels: u32,
        /// Probability that a binary contains a function; each function has at least one variant.
        #[component(default = 0.9, in = 0..=1)]
        variant_prob: f64,
        /// Effect of the property on graphs and counts, from 0 (none) to 1.
        #[component(default = 0.5, in = 0..=1)]
        property_effect: f64,
        /// Scaling of the six count features per node.
        scaling: CountScaling,
    },
}

/// Handling of isolated nodes.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolated {
    /// Keep them.
    #[default]
    Keep,
    /// Remove them; a note reports their number.
    Drop,
}

/// The citation graphs of Planetoid.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Citation {
    /// 2,708 nodes, 5,278 edges, 1,433 features, 7 classes; largest component 2,485 / 5,069.
    Cora,
    /// 3,327 nodes, 4,552 edges, 3,703 features, 6 classes, 15 nodes without one; largest component
    /// 2,120 / 3,679.
    Citeseer,
    /// 19,717 nodes, 44,324 edges, 500 features, 3 classes; one component.
    Pubmed,
}

impl Citation {
    fn file(self) -> &'static str {
        match self {
            Citation::Cora => "planetoid/cora.npz",
            Citation::Citeseer => "planetoid/citeseer.npz",
            Citation::Pubmed => "planetoid/pubmed.npz",
        }
    }
}

/// Data that a card can name: read from files, built in or drawn.
pub trait DataSource: Send + Sync {
    /// The name in run directories and figures.
    fn name(&self) -> String;

    /// Whether the data are drawn from the stream given to [`load`](Self::load), rather than read
    /// or built in.
    fn is_generated(&self) -> bool;

    /// An estimate of the memory that they take, in bytes, where it is known. Default: it is not.
    fn n_bytes(&self) -> Option<u64> {
        None
    }

    /// How many nodes are drawn at most, where that is known. Default: it is not.
    fn n_generated(&self) -> Option<u64> {
        None
    }

    /// Reads or draws them.
    ///
    /// # Errors
    ///
    /// For what is wrong with the settings or the files.
    ///
    /// # Determinism
    ///
    /// Draws from `rng` only if [`is_generated`](Self::is_generated).
    fn load(&self, dirs: &DataDirs, rng: &mut SimRng) -> Result<Dataset, DataError>;
}

impl DataSource for DatasetSpec {
    fn name(&self) -> String {
        DatasetSpec::name(self)
    }

    fn n_bytes(&self) -> Option<u64> {
        check::n_bytes(self)
    }

    fn n_generated(&self) -> Option<u64> {
        DatasetSpec::n_generated(self)
    }

    fn is_generated(&self) -> bool {
        DatasetSpec::is_generated(self)
    }

    fn load(&self, dirs: &DataDirs, rng: &mut SimRng) -> Result<Dataset, DataError> {
        DatasetSpec::load(self, dirs, rng)
    }
}

impl DatasetSpec {
    /// The name in run directories and figures: `Karate`, `Cora`, `MUTAG`, a file's stem, or a
    /// generator's name.
    pub fn name(&self) -> String {
        let stem = |path: &str| {
            Path::new(path)
                .file_stem()
                .map_or_else(|| path.into(), |s| s.to_string_lossy().into_owned())
        };
        match self {
            DatasetSpec::Karate => "Karate".to_string(),
            DatasetSpec::BlogCatalog => "BlogCatalog".to_string(),
            DatasetSpec::EmailEuCore { .. } => "EmailEuCore".to_string(),
            DatasetSpec::Planetoid { name, .. } => format!("{name:?}"),
            DatasetSpec::TuDataset { name, .. } => name.clone(),
            DatasetSpec::TuDatasets { names, .. } => names.join(" + "),
            DatasetSpec::FunctionGraphs { name, n_nodes, .. } => name.name(*n_nodes),
            DatasetSpec::Molecules { name, .. } => name.name().to_string(),
            DatasetSpec::Musae { name, .. } => format!("{name:?}"),
            DatasetSpec::EdgeList { edges, .. } | DatasetSpec::Tables { edges, .. } => stem(edges),
            DatasetSpec::MoleculeTable { path, .. }
            | DatasetSpec::Mat { path, .. }
            | DatasetSpec::Npz { path, .. }
            | DatasetSpec::GraphMl { path, .. }
            | DatasetSpec::Ogb { path, .. }
            | DatasetSpec::Metis { path, .. }
            | DatasetSpec::Mapped { path } => stem(path),
            DatasetSpec::DcSbm { .. } => "DcSbm".to_string(),
            DatasetSpec::ContextualSbm { .. } => "ContextualSbm".to_string(),
            DatasetSpec::BarabasiAlbert { .. } => "BarabasiAlbert".to_string(),
            DatasetSpec::ErdosRenyi { .. } => "ErdosRenyi".to_string(),
            DatasetSpec::WattsStrogatz { .. } => "WattsStrogatz".to_string(),
            DatasetSpec::Rmat { .. } => "Rmat".to_string(),
            DatasetSpec::GraphClasses { .. } => "GraphClasses".to_string(),
            DatasetSpec::ControlFlow { .. } => "ControlFlow".to_string(),
        }
    }

    /// Whether the graph is drawn from the stream given to [`load`](Self::load), rather than read
    /// or built in.
    pub fn is_generated(&self) -> bool {
        self.n_generated().is_some()
    }

    /// Nodes that are drawn, at most; `None` for what is read or built in.
    pub fn n_generated(&self) -> Option<u64> {
        check::n_generated(self)
    }

    /// What ties several settings, or is no range.
    fn rules(&self, rules: &mut Rules) {
        check::rules(self, rules);
    }

    /// Every kind of data set with where its file is expected and how to get it, in the order of
    /// the card format.
    pub fn catalogue() -> Vec<CatalogueEntry> {
        catalogue::catalogue()
    }
}

#[cfg(test)]
mod tests;
