//! The rules of each field of a `dataset:`; one message for each rule broken.

use super::DatasetSpec;
use super::functions::WIDEST;
use crate::generators::N_MODELS;

/// The most nodes of a generated graph.
const MAX_NODES: u32 = 1 << 26;
/// The most edges of a generated graph: 8 GiB of candidates while it is drawn.
const MAX_EDGES: f64 = (1_u64 << 30) as f64;
const MAX_MIN_DEGREE: u32 = 64;
/// Above this, the quadratic searches within one node's neighbours would be felt.
const MAX_EDGES_PER_NODE: u32 = 1_024;

const MAX_FUNCTIONS: u32 = 1_000_000;
/// The most blocks of a function before it is compiled.
const MAX_BLOCKS: u32 = 10_000;
/// The most compilers, and the most levels.
const MAX_FACET: u32 = 16;

/// Collects the problems of one data set.
struct Problems(Vec<(String, String)>);

impl Problems {
    fn require(&mut self, holds: bool, field: &str, rule: impl Into<String>) {
        if !holds {
            self.0.push((field.to_string(), rule.into()));
        }
    }

    fn path(&mut self, field: &str, path: &str) {
        self.require(!path.trim().is_empty(), field, "must name a file, got an empty text");
    }

    fn n_nodes(&mut self, n_nodes: u32, least: u32) {
        let rule = format!("must lie in {least}..={MAX_NODES}, got {n_nodes}");
        self.require((least..=MAX_NODES).contains(&n_nodes), "n_nodes", rule);
    }

    fn share(&mut self, field: &str, value: f64) {
        self.require(
            (0.0..=1.0).contains(&value),
            field,
            format!("must lie in 0..=1, got {value}"),
        );
    }

    /// `most` is the largest mean degree that the model can reach with `n_nodes`.
    fn mean_degree(&mut self, value: f64, n_nodes: u32, most: f64) {
        let rule = format!("must lie in 0..={most} with {n_nodes} nodes, got {value}");
        self.require((0.0..=most).contains(&value), "mean_degree", rule);
        let n_edges = f64::from(n_nodes) * value / 2.0;
        let rule =
            format!("gives {n_edges} edges with {n_nodes} nodes; at most {MAX_EDGES} are drawn, lower one of the two");
        self.require(n_edges.is_nan() || n_edges <= MAX_EDGES, "mean_degree", rule);
    }

    fn min_degree(&mut self, value: u32, n_nodes: u32) {
        let affordable = (MAX_EDGES / f64::from(n_nodes).max(1.0)) as u32;
        let most = MAX_MIN_DEGREE.min(n_nodes.saturating_sub(1)).min(affordable);
        let rule = format!("must lie in 0..={most} with {n_nodes} nodes, got {value}");
        self.require(value <= most, "min_degree", rule);
    }
}

pub(super) fn check(spec: &DatasetSpec) -> Vec<(String, String)> {
    let mut problems = Problems(Vec::new());
    match spec {
        DatasetSpec::Karate
        | DatasetSpec::BlogCatalog
        | DatasetSpec::EmailEuCore { .. }
        | DatasetSpec::Planetoid { .. } => {}
        DatasetSpec::TuDataset { name, .. } => {
            // The name is a folder and the beginning of file names: nothing that could lead elsewhere.
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            let rule = "must be a folder of the TUDataset collection, such as \"MUTAG\" (letters, digits, `-` and `_`)";
            problems.require(!name.is_empty() && name.chars().all(plain), "name", rule);
        }
        DatasetSpec::FunctionGraphs {
            n_nodes: (least, most), ..
        } => {
            let rule = format!(
                "must be a range (least, greatest) within {}..={}, the sizes that were published, got ({least}, {most})",
                WIDEST.0, WIDEST.1
            );
            problems.require(
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
            problems.require(!cleaned || name.cleaned_file().is_some(), "cleaned", rule);
        }
        DatasetSpec::MoleculeTable {
            path, smiles, tasks, ..
        } => {
            problems.path("path", path);
            problems.require(!smiles.is_empty(), "smiles", "must name a column, got an empty text");
            let twice = |task: &String| tasks.iter().filter(|other| *other == task).count() > 1;
            let rule = "must name columns other than `smiles`, each once";
            problems.require(!tasks.contains(smiles) && !tasks.iter().any(twice), "tasks", rule);
        }
        DatasetSpec::EdgeList {
            edges,
            labels,
            first_id,
            renumber,
            ..
        } => {
            problems.path("edges", edges);
            if let Some(labels) = labels {
                problems.path("labels", labels);
            }
            let rule = "must be 0 (its default) with `renumber: true`, which starts at 0 whatever the ids are";
            problems.require(!renumber || *first_id == 0, "first_id", rule);
        }
        DatasetSpec::Mat {
            path, network, group, ..
        } => {
            problems.path("path", path);
            problems.require(
                !network.is_empty(),
                "network",
                "must name a variable, got an empty text",
            );
            problems.require(network != group, "group", "must differ from `network`");
        }
        DatasetSpec::Npz { path, .. } => problems.path("path", path),
        _ => check_generated(spec, &mut problems),
    }
    if problems.0.iter().any(|(field, _)| field == "n_nodes") {
        // Their ranges follow from the number of nodes: with a wrong one nothing true can be said of them.
        let follow = ["n_classes", "mean_degree", "min_degree", "edges_per_node", "neighbours"];
        problems.0.retain(|(field, _)| !follow.contains(&field.as_str()));
    }
    problems.0
}

fn check_generated(spec: &DatasetSpec, problems: &mut Problems) {
    let half = |n_nodes: u32| (f64::from(n_nodes) - 1.0) / 2.0;
    match spec {
        DatasetSpec::DcSbm { .. } => check_dc_sbm(spec, problems),
        DatasetSpec::ControlFlow { .. } => check_control_flow(spec, problems),
        DatasetSpec::BarabasiAlbert {
            n_nodes,
            edges_per_node,
        } => {
            problems.n_nodes(*n_nodes, 2);
            let most = MAX_EDGES_PER_NODE
                .min(n_nodes.saturating_sub(1))
                .min((MAX_EDGES / f64::from(*n_nodes).max(1.0)) as u32);
            let rule = format!("must lie in 1..={most} with {n_nodes} nodes, got {edges_per_node}");
            problems.require((1..=most).contains(edges_per_node), "edges_per_node", rule);
        }
        DatasetSpec::ErdosRenyi {
            n_nodes,
            mean_degree,
            min_degree,
        } => {
            problems.n_nodes(*n_nodes, 2);
            problems.mean_degree(*mean_degree, *n_nodes, f64::from(*n_nodes) - 1.0);
            problems.min_degree(*min_degree, *n_nodes);
        }
        DatasetSpec::WattsStrogatz {
            n_nodes,
            neighbours,
            rewire_prob,
        } => {
            problems.n_nodes(*n_nodes, 3);
            let most = MAX_EDGES_PER_NODE
                .min(n_nodes.saturating_sub(1))
                .min((MAX_EDGES / f64::from(*n_nodes).max(1.0)) as u32);
            let rule = format!("must be even and lie in 2..={most} with {n_nodes} nodes, got {neighbours}");
            problems.require(
                neighbours.is_multiple_of(2) && (2..=most).contains(neighbours),
                "neighbours",
                rule,
            );
            problems.share("rewire_prob", *rewire_prob);
        }
        DatasetSpec::Rmat {
            n_nodes,
            mean_degree,
            a,
            b,
            c,
            min_degree,
        } => {
            problems.n_nodes(*n_nodes, 2);
            problems.mean_degree(*mean_degree, *n_nodes, half(*n_nodes));
            problems.min_degree(*min_degree, *n_nodes);
            for (field, value) in [("a", a), ("b", b), ("c", c)] {
                problems.share(field, *value);
            }
            // Rounding may carry shares that add up to 1 in decimals a little beyond it.
            let rule = format!("with a and b must add up to at most 1, got {}", a + b + c);
            problems.require((a + b + c).is_nan() || a + b + c <= 1.0 + 1e-12, "c", rule);
        }
        DatasetSpec::GraphClasses {
            n_graphs,
            n_classes,
            min_nodes,
            max_nodes,
        } => {
            let rule = format!("must lie in 2..={N_MODELS}, got {n_classes}");
            problems.require((2..=N_MODELS).contains(n_classes), "n_classes", rule);
            let least = (*n_classes).clamp(2, N_MODELS);
            let rule = format!("must lie in {least}..=1000000, got {n_graphs}");
            problems.require((least..=1_000_000).contains(n_graphs), "n_graphs", rule);
            let rule = format!("must lie in 5..=10000, got {min_nodes}");
            problems.require((5..=10_000).contains(min_nodes), "min_nodes", rule);
            let rule = format!("must lie in {min_nodes} (min_nodes)..=10000, got {max_nodes}");
            problems.require((*min_nodes..=10_000).contains(max_nodes), "max_nodes", rule);
            let rule = format!(
                "and n_graphs give up to {max_nodes} × {n_graphs} nodes; at most {MAX_NODES} are drawn, lower one"
            );
            let n_nodes = u64::from(*n_graphs) * u64::from(*max_nodes);
            problems.require(n_nodes <= u64::from(MAX_NODES), "max_nodes", rule);
        }
        _ => {}
    }
}

fn check_dc_sbm(spec: &DatasetSpec, problems: &mut Problems) {
    let DatasetSpec::DcSbm {
        n_nodes,
        n_classes,
        mean_degree,
        assortativity,
        degree_exponent,
        max_degree_share,
        second_label_prob,
        min_degree,
    } = spec
    else {
        return;
    };
    problems.n_nodes(*n_nodes, 2);
    let rule = format!("must lie in 1..={n_nodes} (n_nodes), got {n_classes}");
    problems.require((1..=*n_nodes).contains(n_classes), "n_classes", rule);
    problems.mean_degree(*mean_degree, *n_nodes, (f64::from(*n_nodes) - 1.0) / 2.0);
    problems.share("assortativity", *assortativity);
    let rule = format!("must lie in 1.5..=100, got {degree_exponent}");
    problems.require((1.5..=100.0).contains(degree_exponent), "degree_exponent", rule);
    let rule = format!("must be greater than 0 and at most 1, got {max_degree_share}");
    problems.require(
        *max_degree_share > 0.0 && *max_degree_share <= 1.0,
        "max_degree_share",
        rule,
    );
    problems.share("second_label_prob", *second_label_prob);
    let rule = "must be 0 with a single class; there is no second one";
    problems.require(*n_classes > 1 || *second_label_prob == 0.0, "second_label_prob", rule);
    problems.min_degree(*min_degree, *n_nodes);
}

fn check_control_flow(spec: &DatasetSpec, problems: &mut Problems) {
    let DatasetSpec::ControlFlow {
        n_functions,
        n_nodes: (least, most),
        n_compilers,
        n_levels,
        variant_prob,
        property_effect,
        scaling: _,
    } = spec
    else {
        return;
    };
    let rule = format!("must lie in 2..={MAX_FUNCTIONS}, got {n_functions}");
    problems.require((2..=MAX_FUNCTIONS).contains(n_functions), "n_functions", rule);
    let rule = format!("must be a range (least, greatest) within 2..={MAX_BLOCKS}, got ({least}, {most})");
    let range_holds = 2 <= *least && least <= most && *most <= MAX_BLOCKS;
    problems.require(range_holds, "n_nodes", rule);
    for (field, value) in [("n_compilers", n_compilers), ("n_levels", n_levels)] {
        let rule = format!("must lie in 1..={MAX_FACET}, got {value}");
        problems.require((1..=MAX_FACET).contains(value), field, rule);
    }
    let rule = "must be 2 or more with a single compiler: with one property there is nothing to infer";
    problems.require(*n_compilers != 1 || *n_levels != 1, "n_levels", rule);
    problems.share("variant_prob", *variant_prob);
    problems.share("property_effect", *property_effect);
    if problems.0.is_empty() {
        let n_variants = u64::from(*n_functions) * u64::from(n_compilers * n_levels);
        let n_blocks = n_variants * u64::from(2 * most);
        let rule = format!(
            "gives up to {n_blocks} nodes in {n_variants} variants; at most {MAX_NODES} are drawn, lower it or `n_nodes`"
        );
        problems.require(n_blocks <= u64::from(MAX_NODES), "n_functions", rule);
    }
}
