//! The data sets by name: what they are, where their files are expected, and how to get them.

use crate::sources::{
    BLOG_CATALOG, EMAIL_EDGES, GET_ACFG, GET_BLOG_CATALOG, GET_EMAIL, GET_MAPPED, GET_MOLECULES, GET_MUSAE, GET_OWN,
    GET_PLANETOID, GET_TU,
};

/// One line of `folkmoot list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// How a card writes it, such as `Planetoid(name: Cora)`.
    pub name: &'static str,
    /// What it is, with its size.
    pub about: &'static str,
    /// Where its file is expected below a data folder; `None` if there is none.
    pub file: Option<&'static str>,
    /// How to get it; empty if there is nothing to get.
    pub how_to_get: &'static str,
}

pub(super) fn catalogue() -> Vec<CatalogueEntry> {
    let mut entries = published();
    entries.extend(molecules());
    entries.extend(own_and_generated());
    entries
}

fn entry(
    name: &'static str,
    about: &'static str,
    file: Option<&'static str>,
    how_to_get: &'static str,
) -> CatalogueEntry {
    CatalogueEntry {
        name,
        about,
        file,
        how_to_get,
    }
}

fn published() -> Vec<CatalogueEntry> {
    vec![
        entry(
            "Karate",
            "Zachary's karate club, 34 nodes, 78 edges, 2 classes; built in",
            None,
            "",
        ),
        entry(
            "BlogCatalog",
            "friendships of bloggers, 10,312 nodes, 333,983 edges, 39 classes (several per node)",
            Some(BLOG_CATALOG),
            GET_BLOG_CATALOG,
        ),
        entry(
            "EmailEuCore()",
            "e-mails of a research institution, 1,005 nodes, 16,064 undirected edges, 42 classes",
            Some(EMAIL_EDGES),
            GET_EMAIL,
        ),
        entry(
            "Planetoid(name: Cora)",
            "citations, 2,708 nodes (largest component 2,485), 1,433 features, 7 classes",
            Some("planetoid/cora.npz"),
            GET_PLANETOID,
        ),
        entry(
            "Planetoid(name: Citeseer)",
            "citations, 3,327 nodes (largest component 2,120), 3,703 features, 6 classes",
            Some("planetoid/citeseer.npz"),
            GET_PLANETOID,
        ),
        entry(
            "Planetoid(name: Pubmed)",
            "citations, 19,717 nodes, 500 features, 3 classes",
            Some("planetoid/pubmed.npz"),
            GET_PLANETOID,
        ),
        entry(
            "Musae(name: FacebookPages)",
            "verified pages that like each other, 22,470 nodes, 170,823 edges, 4,714 features, 4 classes",
            Some("musae/facebook"),
            GET_MUSAE,
        ),
        entry(
            "Musae(name: TwitchGb)",
            "friendships of streamers, 7,126 nodes, 35,324 edges, 2 classes",
            Some("musae/ENGB"),
            GET_MUSAE,
        ),
        entry(
            "TuDataset(name: \"MUTAG\")",
            "188 molecules, 2 classes, 7 features",
            Some("tudataset/MUTAG"),
            GET_TU,
        ),
        entry(
            "TuDataset(name: \"PROTEINS\")",
            "1,113 proteins, 2 classes, 4 features",
            Some("tudataset/PROTEINS"),
            GET_TU,
        ),
        entry(
            "TuDataset(name: \"PROTEINS_full\")",
            "the same proteins, 32 features",
            Some("tudataset/PROTEINS_full"),
            GET_TU,
        ),
        entry(
            "TuDataset(name: \"IMDB-BINARY\")",
            "1,000 ego networks of actors, 2 classes, no features",
            Some("tudataset/IMDB-BINARY"),
            GET_TU,
        ),
        entry(
            "TuDatasets(names: [\"MUTAG\", \"PROTEINS\"])",
            "several of these as one, each with columns and classes of its own",
            Some("tudataset"),
            GET_TU,
        ),
        entry(
            "FunctionGraphs(name: OpenSSL)",
            "4,308 control-flow graphs of 50 to 200 nodes, 338 functions, 24 properties, 6 features",
            Some("acfg/OpenSSL_6ACFG_min50_max200"),
            GET_ACFG,
        ),
        entry(
            "FunctionGraphs(name: OpenSSL, n_nodes: (20, 200))",
            "15,800 control-flow graphs, 1,073 functions, the published split",
            Some("acfg/OpenSSL_6ACFG_min20_max200"),
            GET_ACFG,
        ),
        entry(
            "FunctionGraphs(name: FFmpeg)",
            "10,824 control-flow graphs, 8 properties; the public copy has only 7,262 graphs of 2,365 functions, 6 properties",
            Some("acfg/ffmpeg_6ACFG_min50_max200"),
            GET_ACFG,
        ),
    ]
}

fn molecules() -> Vec<CatalogueEntry> {
    let set = |name, about, file| entry(name, about, Some(file), GET_MOLECULES);
    vec![
        set(
            "Molecules(name: BACE)",
            "1,513 inhibitors of an enzyme, 1 task, published split, 43 atom features",
            "moleculenet/bace.csv",
        ),
        set(
            "Molecules(name: BBBP)",
            "2,039 molecules that pass the blood-brain barrier or not, 1 task",
            "moleculenet/BBBP.csv",
        ),
        set(
            "Molecules(name: SIDER)",
            "1,427 drugs and their side effects, 27 tasks",
            "moleculenet/sider.csv",
        ),
        set(
            "Molecules(name: Tox21)",
            "7,823 molecules and their toxicity, 12 tasks, labels missing",
            "moleculenet/tox21.csv",
        ),
        set(
            "Molecules(name: ClinTox)",
            "1,480 drugs (cleaned 1,478), approved and toxic, 2 tasks",
            "moleculenet/clintox.csv",
        ),
    ]
}

fn own_and_generated() -> Vec<CatalogueEntry> {
    vec![
        entry(
            "EdgeList(edges: PATH)",
            "a text file of edges, and optionally of labels, features and a split",
            None,
            GET_OWN,
        ),
        entry(
            "Mat(path: PATH)",
            "a MATLAB 5 file with `network` and `group`",
            None,
            GET_OWN,
        ),
        entry(
            "MoleculeTable(path: PATH)",
            "a CSV file of SMILES texts and binary labels",
            None,
            GET_OWN,
        ),
        entry(
            "Tables(edges: PATH)",
            "tables of edges and nodes, CSV or TSV, with text ids",
            None,
            GET_OWN,
        ),
        entry("GraphMl(path: PATH)", "a GraphML file of one graph", None, GET_OWN),
        entry(
            "Ogb(path: PATH)",
            "a folder of the Open Graph Benchmark, one type of nodes and edges",
            None,
            GET_OWN,
        ),
        entry("Metis(path: PATH)", "a graph file of METIS", None, GET_OWN),
        entry("Npz(path: PATH)", "a NumPy archive of one graph or many", None, GET_OWN),
        entry(
            "Mapped(path: PATH)",
            "a memory-mapped file written by `folkmoot data`; for millions of nodes",
            None,
            GET_MAPPED,
        ),
        entry(
            "DcSbm()",
            "generated: degree-corrected stochastic block model with labels",
            None,
            "",
        ),
        entry(
            "ContextualSbm()",
            "generated: block model with labels and binary features",
            None,
            "",
        ),
        entry("BarabasiAlbert()", "generated: preferential attachment", None, ""),
        entry("ErdosRenyi()", "generated: independent edges", None, ""),
        entry("WattsStrogatz()", "generated: small world, a rewired ring", None, ""),
        entry("Rmat()", "generated: recursive model, for a million nodes", None, ""),
        entry(
            "GraphClasses()",
            "generated: labelled graphs, a random model for each class",
            None,
            "",
        ),
        entry(
            "ControlFlow()",
            "generated: control-flow graphs in the format of FunctionGraphs",
            None,
            "",
        ),
    ]
}
