//! What ties several fields of a `dataset:`, or is no range; one message for each rule broken.

use super::DatasetSpec;
use super::functions::WIDEST;
use crate::generators::N_MODELS;
use folkmoot_parts::Rules;

/// The most nodes of a generated graph.
const MAX_NODES: u32 = 1 << 26;
/// The most edges of a generated graph: 8 GiB of candidates while it is drawn.
const MAX_EDGES: f64 = (1_u64 << 30) as f64;
const MAX_MIN_DEGREE: u32 = 64;
/// Above this, the quadratic searches within one node's neighbours would be felt.
const MAX_EDGES_PER_NODE: u32 = 1_024;

/// The most features of all nodes of a generated graph together.
const MAX_VALUES: u64 = 1 << 30;

/// The most blocks of a function before it is compiled.
const MAX_BLOCKS: u32 = 10_000;

fn is_path(field: &str, path: &str, rules: &mut Rules) {
    rules.require(!path.trim().is_empty(), field, "must name a file, got an empty text");
}

/// `most` is the largest mean degree that the model can reach with `n_nodes`.
fn mean_degree(value: f64, n_nodes: u32, most: f64, rules: &mut Rules) {
    let rule = format!("must lie in 0..={most} with {n_nodes} nodes, got {value}");
    rules.require((0.0..=most).contains(&value), "mean_degree", rule);
    let n_edges = f64::from(n_nodes) * value / 2.0;
    let rule =
        format!("gives {n_edges} edges with {n_nodes} nodes; at most {MAX_EDGES} are drawn, lower one of the two");
    rules.require(n_edges.is_nan() || n_edges <= MAX_EDGES, "mean_degree", rule);
}

fn min_degree(value: u32, n_nodes: u32, rules: &mut Rules) {
    let affordable = (MAX_EDGES / f64::from(n_nodes).max(1.0)) as u32;
    let most = MAX_MIN_DEGREE.min(n_nodes.saturating_sub(1)).min(affordable);
    let rule = format!("must lie in 0..={most} with {n_nodes} nodes, got {value}");
    rules.require(value <= most, "min_degree", rule);
}

const FOLDER: &str = "must be a folder of the TUDataset collection, such as \"MUTAG\" (letters, digits, `-` and `_`)";

/// A name is a folder and the beginning of file names: nothing that could lead elsewhere.
fn is_folder(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().all(plain)
}

/// Nodes that are drawn, at most; `None` for what is read or built in.
pub(super) fn n_generated(spec: &DatasetSpec) -> Option<u64> {
    let product = |all: &[u32]| all.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    match *spec {
        DatasetSpec::DcSbm { n_nodes, .. }
        | DatasetSpec::ContextualSbm { n_nodes, .. }
        | DatasetSpec::BarabasiAlbert { n_nodes, .. }
        | DatasetSpec::ErdosRenyi { n_nodes, .. }
        | DatasetSpec::WattsStrogatz { n_nodes, .. }
        | DatasetSpec::Rmat { n_nodes, .. } => Some(n_nodes.into()),
        DatasetSpec::GraphClasses {
            n_graphs, max_nodes, ..
        } => Some(product(&[n_graphs, max_nodes])),
        DatasetSpec::ControlFlow {
            n_functions,
            n_nodes,
            n_compilers,
            n_levels,
            ..
        } => Some(product(&[n_functions, n_nodes.1, n_compilers, n_levels])),
        _ => None,
    }
}

/// An estimate of what they take as they are drawn: of a node and its features, and of an edge as a
/// pair of nodes, in both lists of neighbours and while it is sorted.
pub(super) fn n_bytes(spec: &DatasetSpec) -> Option<u64> {
    let n_nodes = n_generated(spec)? as f64;
    let (mean_degree, n_features) = match *spec {
        DatasetSpec::ContextualSbm {
            mean_degree,
            n_features,
            ..
        } => (mean_degree, n_features),
        DatasetSpec::DcSbm { mean_degree, .. }
        | DatasetSpec::ErdosRenyi { mean_degree, .. }
        | DatasetSpec::Rmat { mean_degree, .. } => (mean_degree, 0),
        DatasetSpec::BarabasiAlbert { edges_per_node, .. } => (2.0 * f64::from(edges_per_node), 0),
        DatasetSpec::WattsStrogatz { neighbours, .. } => (f64::from(neighbours), 0),
        _ => (4.0, 0),
    };
    Some((n_nodes * (32.0 + 4.0 * f64::from(n_features) + 16.0 * mean_degree)) as u64)
}

pub(super) fn rules(spec: &DatasetSpec, rules: &mut Rules) {
    match spec {
        DatasetSpec::Karate
        | DatasetSpec::BlogCatalog
        | DatasetSpec::EmailEuCore { .. }
        | DatasetSpec::Planetoid { .. }
        | DatasetSpec::Musae { .. } => {}
        DatasetSpec::TuDataset { name, .. } => {
            rules.require(is_folder(name), "name", FOLDER);
        }
        DatasetSpec::TuDatasets { names, .. } => {
            rules.require(
                !names.is_empty(),
                "names",
                "must name a set, such as [\"MUTAG\", \"PROTEINS\"]",
            );
            let wrong = names.iter().find(|name| !is_folder(name));
            rules.require(
                wrong.is_none(),
                "names",
                format!("{FOLDER}, got {:?}", wrong.map_or("", String::as_str)),
            );
            let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
            let rule = twice.map(|at| format!("must name each set once, got {:?} twice", names[at]));
            rules.require(rule.is_none(), "names", rule.unwrap_or_default());
        }
        DatasetSpec::FunctionGraphs {
            n_nodes: (least, most), ..
        } => {
            let rule = format!(
                "must be a range (least, greatest) within {}..={}, the sizes that were published, got ({least}, {most})",
                WIDEST.0, WIDEST.1
            );
            rules.require(
                WIDEST.0 <= *least && least <= most && *most <= WIDEST.1,
                "n_nodes",
                rule,
            );
        }
        DatasetSpec::Molecules { name, cleaned, .. } => {
            let rule = format!(
                "must be false (its default) for {}, which has no cleaned file",
                name.name()
            );
            rules.require(!cleaned || name.cleaned_file().is_some(), "cleaned", rule);
        }
        DatasetSpec::MoleculeTable {
            path,
            smiles,
            tasks,
            targets,
            ..
        } => {
            is_path("path", path, rules);
            rules.require(!smiles.is_empty(), "smiles", "must name a column, got an empty text");
            for (field, columns) in [("tasks", tasks), ("targets", targets)] {
                let twice = |column: &String| columns.iter().filter(|other| *other == column).count() > 1;
                let rule = "must name columns other than `smiles`, each once";
                rules.require(!columns.contains(smiles) && !columns.iter().any(twice), field, rule);
            }
            let rule = "cannot be named beside `tasks`: a data set has one task";
            rules.require(tasks.is_empty() || targets.is_empty(), "targets", rule);
        }
        DatasetSpec::EdgeList {
            edges,
            labels,
            features,
            split,
            first_id,
            renumber,
            ..
        } => {
            is_path("edges", edges, rules);
            for (field, path) in [("labels", labels), ("features", features), ("split", split)] {
                path.iter().for_each(|path| is_path(field, path, rules));
            }
            let rule = "must be 0 (its default) with `renumber: true`, which starts at 0 whatever the ids are";
            rules.require(!renumber || *first_id == 0, "first_id", rule);
        }
        DatasetSpec::Mat {
            path, network, group, ..
        } => {
            is_path("path", path, rules);
            rules.require(
                !network.is_empty(),
                "network",
                "must name a variable, got an empty text",
            );
            rules.require(network != group, "group", "must differ from `network`");
        }
        DatasetSpec::Npz { path, .. } | DatasetSpec::Mapped { path } | DatasetSpec::Ogb { path, .. } => {
            is_path("path", path, rules);
        }
        DatasetSpec::Tables { edges, nodes, .. } => {
            is_path("edges", edges, rules);
            nodes.iter().for_each(|path| is_path("nodes", path, rules));
        }
        DatasetSpec::GraphMl { path, .. } => is_path("path", path, rules),
        DatasetSpec::Metis {
            path,
            labels,
            features,
            split,
            ..
        } => {
            is_path("path", path, rules);
            for (field, path) in [("labels", labels), ("features", features), ("split", split)] {
                path.iter().for_each(|path| is_path(field, path, rules));
            }
        }
        // What follows from the number of nodes: with a wrong one nothing true can be said of it.
        _ if rules.is_broken("n_nodes") => {}
        _ => check_generated(spec, rules),
    }
}

fn half(n_nodes: u32) -> f64 {
    (f64::from(n_nodes) - 1.0) / 2.0
}

fn check_generated(spec: &DatasetSpec, rules: &mut Rules) {
    match spec {
        DatasetSpec::DcSbm { .. } => check_dc_sbm(spec, rules),
        DatasetSpec::ContextualSbm {
            n_nodes,
            n_classes,
            mean_degree,
            n_features,
            ..
        } => {
            let rule = format!("must lie in 2..={n_nodes} (n_nodes), got {n_classes}");
            rules.require((2..=*n_nodes).contains(n_classes), "n_classes", rule);
            self::mean_degree(*mean_degree, *n_nodes, half(*n_nodes), rules);
            let rule =
                format!("gives {n_nodes} × {n_features} values; at most {MAX_VALUES} are drawn, lower one of the two");
            let n_values = u64::from(*n_nodes) * u64::from(*n_features);
            rules.require(n_values <= MAX_VALUES, "n_features", rule);
        }
        DatasetSpec::ControlFlow { .. } => check_control_flow(spec, rules),
        DatasetSpec::BarabasiAlbert {
            n_nodes,
            edges_per_node,
        } => {
            let most = MAX_EDGES_PER_NODE
                .min(n_nodes.saturating_sub(1))
                .min((MAX_EDGES / f64::from(*n_nodes).max(1.0)) as u32);
            let rule = format!("must lie in 1..={most} with {n_nodes} nodes, got {edges_per_node}");
            rules.require((1..=most).contains(edges_per_node), "edges_per_node", rule);
        }
        DatasetSpec::ErdosRenyi {
            n_nodes,
            mean_degree,
            min_degree,
        } => {
            self::mean_degree(*mean_degree, *n_nodes, f64::from(*n_nodes) - 1.0, rules);
            self::min_degree(*min_degree, *n_nodes, rules);
        }
        DatasetSpec::WattsStrogatz {
            n_nodes, neighbours, ..
        } => {
            let most = MAX_EDGES_PER_NODE
                .min(n_nodes.saturating_sub(1))
                .min((MAX_EDGES / f64::from(*n_nodes).max(1.0)) as u32);
            let rule = format!("must be even and lie in 2..={most} with {n_nodes} nodes, got {neighbours}");
            rules.require(
                neighbours.is_multiple_of(2) && (2..=most).contains(neighbours),
                "neighbours",
                rule,
            );
        }
        DatasetSpec::Rmat {
            n_nodes,
            mean_degree,
            a,
            b,
            c,
            min_degree,
        } => {
            self::mean_degree(*mean_degree, *n_nodes, half(*n_nodes), rules);
            self::min_degree(*min_degree, *n_nodes, rules);
            // Rounding may carry shares that add up to 1 in decimals a little beyond it.
            let rule = format!("with a and b must add up to at most 1, got {}", a + b + c);
            rules.require((a + b + c).is_nan() || a + b + c <= 1.0 + 1e-12, "c", rule);
        }
        DatasetSpec::GraphClasses {
            n_graphs,
            n_classes,
            min_nodes,
            max_nodes,
        } => {
            let least = (*n_classes).clamp(2, N_MODELS);
            let rule = format!("must lie in {least}..=1000000, got {n_graphs}");
            rules.require((least..=1_000_000).contains(n_graphs), "n_graphs", rule);
            let rule = format!("must lie in {min_nodes} (min_nodes)..=10000, got {max_nodes}");
            rules.require((*min_nodes..=10_000).contains(max_nodes), "max_nodes", rule);
            let rule = format!(
                "and n_graphs give up to {max_nodes} × {n_graphs} nodes; at most {MAX_NODES} are drawn, lower one"
            );
            let n_nodes = u64::from(*n_graphs) * u64::from(*max_nodes);
            rules.require(n_nodes <= u64::from(MAX_NODES), "max_nodes", rule);
        }
        _ => {}
    }
}

fn check_dc_sbm(spec: &DatasetSpec, rules: &mut Rules) {
    let DatasetSpec::DcSbm {
        n_nodes,
        n_classes,
        mean_degree,
        second_label_prob,
        min_degree,
        ..
    } = spec
    else {
        return;
    };
    let rule = format!("must lie in 1..={n_nodes} (n_nodes), got {n_classes}");
    rules.require((1..=*n_nodes).contains(n_classes), "n_classes", rule);
    self::mean_degree(*mean_degree, *n_nodes, half(*n_nodes), rules);
    let rule = "must be 0 with a single class; there is no second one";
    rules.require(*n_classes > 1 || *second_label_prob == 0.0, "second_label_prob", rule);
    self::min_degree(*min_degree, *n_nodes, rules);
}

fn check_control_flow(spec: &DatasetSpec, rules: &mut Rules) {
    let DatasetSpec::ControlFlow {
        n_functions,
        n_nodes: (least, most),
        n_compilers,
        n_levels,
        ..
    } = spec
    else {
        return;
    };
    let rule = format!("must be a range (least, greatest) within 2..={MAX_BLOCKS}, got ({least}, {most})");
    let range_holds = 2 <= *least && least <= most && *most <= MAX_BLOCKS;
    rules.require(range_holds, "n_nodes", rule);
    let rule = "must be 2 or more with a single compiler: with one property there is nothing to infer";
    rules.require(*n_compilers != 1 || *n_levels != 1, "n_levels", rule);
    if !rules.is_broken("") {
        let n_variants = u64::from(*n_functions) * u64::from(n_compilers * n_levels);
        let n_blocks = n_variants * u64::from(2 * most);
        let rule = format!(
            "gives up to {n_blocks} nodes in {n_variants} variants; at most {MAX_NODES} are drawn, lower it or `n_nodes`"
        );
        rules.require(n_blocks <= u64::from(MAX_NODES), "n_functions", rule);
    }
}
