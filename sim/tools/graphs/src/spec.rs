//! What a card's field `dataset:` may say, and how it becomes a [`Dataset`].

mod catalogue;
mod check;
mod functions;
mod generate;
mod load;
mod molecules;
mod musae;

use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::{Rules, component};

pub use catalogue::CatalogueEntry;
pub use functions::Functions;
pub use molecules::{Invalid, MoleculeSet};
pub use musae::MusaeSet;

use crate::{CountScaling, DataDirs, DataError, Dataset};

/// The field `dataset:` of a card.
///
/// Sets with options are written with brackets even if all options have their defaults:
/// `EmailEuCore()`. Generated graphs but those of `ControlFlow` are simple and undirected; with
/// `min_degree` (default 1) nodes left with fewer edges get more, visited in ascending order, each
/// edge to a node drawn by the model's own law (uniformly where it has none), or the next id that
/// is free. These edges come on top of `mean_degree`, and a note says how many they are.
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
        /// Keep who wrote to whom; otherwise 16,064 undirected edges.
        directed: bool,
        /// Keep only the largest component, of 986 nodes.
        largest_component: bool,
        /// What happens to the 19 nodes whose only edge is a self loop.
        isolated: Isolated,
    },
    /// A citation graph with bag-of-words features and the public split, from `planetoid/NAME.npz`.
    Planetoid {
        /// Which one.
        #[component(required)]
        name: Citation,
        /// Keep only the largest component, as most papers count.
        #[component(default = true)]
        largest_component: bool,
    },
    /// Pages or people of a web site, with bags of what they say of themselves, from `musae/`.
    Musae {
        /// Which one.
        #[component(required)]
        name: MusaeSet,
        /// Keep only the largest component; both sets have one.
        largest_component: bool,
    },
    /// A set of labelled graphs, from `tudataset/NAME/`.
    TuDataset {
        /// The folder's name, such as `"MUTAG"`.
        #[component(required)]
        name: String,
        /// Append the node labels, one-hot, to the node attributes: MUTAG then has 7 features,
        /// PROTEINS_full 32.
        #[component(default = true)]
        label_features: bool,
    },
    /// Several sets of labelled graphs as one, from `tudataset/NAME/` each: which set a graph is of
    /// is its property `set`, by which `ByProperty(property: Facet("set"))` makes each set a
    /// client. What nodes bring stands side by side, each set's in columns of its own, and so do
    /// classes. Labels of nodes and of edges are left out but for those among the features.
    TuDatasets {
        /// The folders' names, in the order of columns and classes, each once.
        #[component(required)]
        names: Vec<String>,
        /// What nodes bring begins with their attributes, where a set has such: places of atoms,
        /// measurements.
        #[component(default = true)]
        attributes: bool,
        /// Append the node labels, one-hot.
        #[component(default = true)]
        label_features: bool,
    },
    /// Control-flow graphs of functions in several binaries, from `acfg/`: the class is the
    /// function, the property the binary.
    FunctionGraphs {
        /// Which set: `OpenSSL` or `FFmpeg`.
        #[component(required)]
        name: Functions,
        /// The least and the greatest number of nodes (basic blocks), within 20..=200.
        #[component(default = (50, 200))]
        n_nodes: (u32, u32),
        /// What becomes of the six counts a node; by default they stay as the files hold them.
        scaling: CountScaling,
    },
    /// A MoleculeNet set: molecules with one or more binary tasks, from `moleculenet/`.
    Molecules {
        /// Which one.
        #[component(required)]
        name: MoleculeSet,
        /// What happens to rows whose SMILES text is no molecule.
        invalid: Invalid,
        /// Read the file in `moleculenet/chemprop-cleaned/` with exactly the rows that papers
        /// count: 2,039 of BBBP and 1,478 of ClinTox; the other sets have none.
        cleaned: bool,
    },
    /// A CSV file with a header, one molecule a row as SMILES, and columns of labels: 0 and 1 or
    /// two other values, or empty.
    MoleculeTable {
        /// The file, relative to a data folder or absolute.
        #[component(required)]
        path: String,
        /// The column with the SMILES texts.
        #[component(default = "smiles")]
        smiles: String,
        /// The columns with labels; where none is named, all but that one and those without a name.
        tasks: Vec<String>,
        /// What happens to rows whose SMILES text is no molecule.
        invalid: Invalid,
    },
    /// Two text files: one edge a line, and optionally one label a line. Blanks, commas or
    /// semicolons separate fields, and a first line may name the columns.
    EdgeList {
        /// The edges, relative to a data folder or absolute.
        #[component(required)]
        edges: String,
        /// The labels (`node class`, numbers or words); none where it is left out. Nodes that only
        /// they name have no edge.
        labels: Option<String>,
        /// Whether `u v` is an arc only.
        directed: bool,
        /// Whether there is a third column of weights.
        weighted: bool,
        /// Where node ids start.
        first_id: u32,
        /// Number the ids that occur from 0, in ascending order; ids may then have up to 64 bits.
        renumber: bool,
        /// Keep only the largest component.
        largest_component: bool,
        /// What happens to nodes without an edge.
        isolated: Isolated,
    },
    /// A MATLAB 5 file in BlogCatalog's layout.
    Mat {
        /// The file, relative to a data folder or absolute.
        #[component(required)]
        path: String,
        /// The variable with the square matrix of edges.
        #[component(default = "network")]
        network: String,
        /// The variable with one row per node and one column per class, or one column of class
        /// numbers, if the file has it.
        #[component(default = "group")]
        group: String,
        /// Whether entry (i, j) is an arc only.
        directed: bool,
        /// Keep only the largest component.
        largest_component: bool,
    },
    /// A NumPy archive of one graph, or a zip file with one in it. Members as `numpy.savez` names
    /// them, in one of three layouts: PyTorch Geometric's (`edge_index`, `x`, `y`, `edge_weight`,
    /// `num_nodes`), gnn-benchmark's (`adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`;
    /// features `attr_*` or a dense `attr_matrix`; classes `labels` or `labels_*`), or that of the
    /// heterophilous sets (`edges`, `node_features`, `node_labels`). All may have `train_mask`,
    /// `val_mask` and `test_mask`, which `split: Published` uses.
    Npz {
        /// The file, relative to a data folder or absolute.
        #[component(required)]
        path: String,
        /// Keep only the largest component.
        largest_component: bool,
    },
    /// A data set that `folkmoot data` has written as one file, which is mapped into memory: of
    /// arcs, features and labels, of one graph or of many, only those are read that somebody looks
    /// at. It has the results of the set that was written.
    Mapped {
        /// The file, relative to a data folder or absolute.
        #[component(required)]
        path: String,
    },
    /// Degree-corrected stochastic block model with labels (Karrer & Newman 2011).
    DcSbm {
        /// Nodes.
        #[component(default = 1_000, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Classes of equal size, 1..=n_nodes.
        #[component(default = 10)]
        n_classes: u32,
        /// Edges × 2 / nodes, in 0..=(n_nodes − 1) / 2.
        #[component(default = 10.0)]
        mean_degree: f64,
        /// The share of edges that stay within a class by design.
        #[component(default = 0.7, in = 0..=1)]
        assortativity: f64,
        /// The exponent of the degrees' power law.
        #[component(default = 2.5, in = 1.5..=100)]
        degree_exponent: f64,
        /// The largest expected degree as a share of the nodes.
        #[component(default = 0.2, above = 0, at_most = 1)]
        max_degree_share: f64,
        /// The probability that a node has a second class.
        #[component(default = 0.0, in = 0..=1)]
        second_label_prob: f64,
        /// The least degree, at most 64.
        #[component(default = 1)]
        min_degree: u32,
    },
    /// A block model whose nodes have features too, each a 1 or a 0: feature `j` marks class `j`
    /// modulo `n_classes` (contextual stochastic block model; Deshpande, Sen, Montanari & Mossel
    /// 2018, with binary features instead of normal ones).
    ContextualSbm {
        /// Nodes.
        #[component(default = 400, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Classes of equal size, 2..=n_nodes.
        #[component(default = 4)]
        n_classes: u32,
        /// Edges × 2 / nodes, in 0..=(n_nodes − 1) / 2.
        #[component(default = 8.0)]
        mean_degree: f64,
        /// The share of edges that stay within a class by design.
        #[component(default = 0.8, in = 0..=1)]
        assortativity: f64,
        /// Features of a node.
        #[component(default = 32, in = 1..=100_000)]
        n_features: u32,
        /// The probability of a 1 in a feature that marks a node's class.
        #[component(default = 0.3, in = 0..=1)]
        mark_prob: f64,
        /// The same in a feature that marks another.
        #[component(default = 0.1, in = 0..=1)]
        other_prob: f64,
    },
    /// Preferential attachment (Barabási & Albert 1999); no degree is below `edges_per_node`.
    BarabasiAlbert {
        /// Nodes.
        #[component(default = 1_000, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Edges of each new node, 1..=1024 and below `n_nodes`.
        #[component(default = 5)]
        edges_per_node: u32,
    },
    /// G(n, p) with p = mean_degree / (n_nodes − 1).
    ErdosRenyi {
        /// Nodes.
        #[component(default = 1_000, in = 2..=67_108_864)]
        n_nodes: u32,
        /// The expected degree, in 0..=n_nodes − 1.
        #[component(default = 10.0)]
        mean_degree: f64,
        /// The least degree, at most 64.
        #[component(default = 1)]
        min_degree: u32,
    },
    /// A rewired ring (Watts & Strogatz 1998); no degree is below `neighbours / 2`.
    WattsStrogatz {
        /// Nodes.
        #[component(default = 1_000, in = 3..=67_108_864)]
        n_nodes: u32,
        /// Neighbours on the ring, even, 2..=1024 and below `n_nodes`.
        #[component(default = 10)]
        neighbours: u32,
        /// The probability that an edge moves.
        #[component(default = 0.1, in = 0..=1)]
        rewire_prob: f64,
    },
    /// The recursive model (Chakrabarti, Zhan & Faloutsos 2004), for graphs of a million nodes; any
    /// number of nodes will do.
    Rmat {
        /// Nodes.
        #[component(default = 1_048_576, in = 2..=67_108_864)]
        n_nodes: u32,
        /// Edges × 2 / nodes, in 0..=(n_nodes − 1) / 2.
        #[component(default = 16.0)]
        mean_degree: f64,
        /// The share of edges in the first quarter.
        #[component(default = 0.57, in = 0..=1)]
        a: f64,
        /// The share in the second quarter.
        #[component(default = 0.19, in = 0..=1)]
        b: f64,
        /// The share in the third quarter; the fourth has the rest.
        #[component(default = 0.19, in = 0..=1)]
        c: f64,
        /// The least degree, at most 64.
        #[component(default = 1)]
        min_degree: u32,
    },
    /// A set of labelled graphs without features, a random model for each class, all of mean degree
    /// near 4: 0 a rewired ring (Watts & Strogatz, 4 neighbours, 0.1), 1 preferential attachment
    /// (Barabási & Albert, 2 edges), 2 independent edges. Graph `i` has the class `i` modulo
    /// `n_classes`.
    GraphClasses {
        /// Graphs, `n_classes`..=1000000.
        #[component(default = 200)]
        n_graphs: u32,
        /// Classes.
        #[component(default = 2, in = 2..=3)]
        n_classes: u32,
        /// The least nodes of a graph.
        #[component(default = 12, in = 5..=10_000)]
        min_nodes: u32,
        /// The most nodes of a graph, `min_nodes`..=10000; all sizes between are alike.
        #[component(default = 28)]
        max_nodes: u32,
    },
    /// Control-flow-like graphs with functions, variants and properties: the twin of
    /// `FunctionGraphs` that needs no files.
    ControlFlow {
        /// Functions, the classes.
        #[component(default = 100, in = 2..=1_000_000)]
        n_functions: u32,
        /// The least and the greatest number of a function's blocks before it is compiled, within
        /// 2..=10000; a variant has at most twice as many nodes.
        #[component(default = (20, 60))]
        n_nodes: (u32, u32),
        /// Compilers.
        #[component(default = 2, in = 1..=16)]
        n_compilers: u32,
        /// Optimisation levels; with `n_compilers` they give the properties, at least 2.
        #[component(default = 4, in = 1..=16)]
        n_levels: u32,
        /// The probability that a binary has a function; each function has a variant in one at
        /// least.
        #[component(default = 0.9, in = 0..=1)]
        variant_prob: f64,
        /// How much graphs and counts depend on the property, from 0 (not at all) to 1.
        #[component(default = 0.5, in = 0..=1)]
        property_effect: f64,
        /// What becomes of the six counts a node.
        scaling: CountScaling,
    },
}

/// What happens to nodes without any edge.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolated {
    /// They stay.
    #[default]
    Keep,
    /// They are left out, and a note counts them.
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
            DatasetSpec::EdgeList { edges, .. } => stem(edges),
            DatasetSpec::MoleculeTable { path, .. }
            | DatasetSpec::Mat { path, .. }
            | DatasetSpec::Npz { path, .. }
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
        matches!(
            self,
            DatasetSpec::DcSbm { .. }
                | DatasetSpec::ContextualSbm { .. }
                | DatasetSpec::BarabasiAlbert { .. }
                | DatasetSpec::ErdosRenyi { .. }
                | DatasetSpec::WattsStrogatz { .. }
                | DatasetSpec::Rmat { .. }
                | DatasetSpec::GraphClasses { .. }
                | DatasetSpec::ControlFlow { .. }
        )
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
