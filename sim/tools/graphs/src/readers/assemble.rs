//! A data set put together from what a user's file holds: edges with features, and classes,
//! binary labels, numbers, clients and names of its items.
//!
//! Readers of different formats parse into these types, so that rules and messages are the same for
//! all.

use std::collections::BTreeSet;

use super::classes::{self, Class};
use super::notes::{note_cleaned, note_unlabelled};
use crate::features::DenseRows;
use crate::measures::isolated_nodes;
use crate::{Cleaned, Dataset, Graph, GraphBuilder, Labels, Properties, Targets, TaskLabels};

/// What a class, a number or a client belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Nodes,
    Graphs,
}

impl Level {
    pub(super) fn one(self) -> &'static str {
        match self {
            Level::Nodes => "node",
            Level::Graphs => "graph",
        }
    }
}

/// Edges as a file lists them; nodes of several graphs are numbered through.
#[derive(Default)]
pub(super) struct Edges {
    pub(super) pairs: Vec<(u32, u32)>,
    /// One per pair.
    pub(super) weights: Option<Vec<f32>>,
    /// Rows of so many columns, one per pair.
    pub(super) features: Option<(Vec<f32>, usize)>,
    pub(super) directed: bool,
}

/// Adds the graphs whose nodes are `bounds[g]..bounds[g + 1]`, and the features of their edges.
pub(super) fn add_graphs(dataset: &mut Dataset, bounds: &[u32], edges: &Edges) -> Result<(), String> {
    let n_graphs = bounds.len() - 1;
    let mut of_graph: Vec<Vec<u32>> = vec![Vec::new(); n_graphs];
    for (at, &(u, v)) in (0..).zip(&edges.pairs) {
        let graph = bounds.partition_point(|&bound| bound <= u) - 1;
        if graph != bounds.partition_point(|&bound| bound <= v) - 1 {
            return Err(format!("the edge {u} to {v} joins two graphs"));
        }
        of_graph[graph].push(at);
    }
    // Weights that are all 1 are no weights, as in matrices.
    let weights = edges.weights.as_ref().filter(|all| all.iter().any(|&w| w != 1.0));
    let (mut all, mut n_edges, mut isolated) = (Cleaned::default(), 0, 0);
    let mut features = Vec::new();
    for (listed, bound) in of_graph.iter().zip(bounds.windows(2)) {
        let local = |&at: &u32| {
            let (u, v) = edges.pairs[at as usize];
            (u - bound[0], v - bound[0])
        };
        let pairs: Vec<(u32, u32)> = listed.iter().map(local).collect();
        let builder = GraphBuilder::new(bound[1] - bound[0]).directed(edges.directed);
        let built = match weights {
            Some(weights) => {
                let weights: Vec<f32> = listed.iter().map(|&at| weights[at as usize]).collect();
                builder.build_weighted(&pairs, &weights)
            }
            None => builder.build(&pairs),
        };
        let (graph, cleaned) = built.map_err(|error| error.to_string())?;
        if let Some((values, n_columns)) = &edges.features {
            for row in arc_rows(&graph, &pairs, listed, (values, *n_columns))? {
                let start = row as usize * n_columns;
                features.extend_from_slice(&values[start..start + n_columns]);
            }
        }
        all.self_loops += cleaned.self_loops;
        all.repeated += cleaned.repeated;
        all.mirrored += cleaned.mirrored;
        n_edges += graph.n_edges();
        isolated += isolated_nodes(&graph).len();
        dataset.graphs.push(graph);
    }
    let one_way = n_edges - all.mirrored;
    if !edges.directed && all.mirrored > 0 && one_way > 0 {
        dataset.notes.push(format!(
            "{one_way} edges were listed in one direction only and were made symmetric"
        ));
    }
    all.mirrored = 0;
    note_cleaned(dataset, all);
    if isolated > 0 {
        dataset.notes.push(format!("{isolated} nodes have no edge"));
    }
    let negative = weights.map_or(0, |all| all.iter().filter(|w| **w < 0.0).count());
    let zero = weights.map_or(0, |all| all.iter().filter(|w| **w == 0.0).count());
    if zero > 0 {
        dataset.notes.push(format!("{zero} edges have weight 0 and stay edges"));
    }
    if negative > 0 {
        let rule = "in a graph convolution a node whose weights do not sum to more than 0 receives nothing";
        dataset
            .notes
            .push(format!("{negative} edges have a negative weight; {rule}"));
    }
    if let Some((_, n_columns)) = edges.features {
        let n_rows = dataset.graphs.iter().map(Graph::n_arcs).sum();
        dataset.edge_features = Some(DenseRows::of_column(features.into(), n_rows, n_columns));
        dataset.notes.push(format!(
            "edges have {n_columns} features, which no built-in algorithm uses"
        ));
    }
    Ok(())
}

/// For each arc of a graph the row of its features: that of its pair, or in an undirected graph
/// that of the pair in the other direction, if only that is listed.
fn arc_rows(
    graph: &Graph,
    pairs: &[(u32, u32)],
    listed: &[u32],
    (values, n_columns): (&[f32], usize),
) -> Result<Vec<u32>, String> {
    let row = |at: u32| &values[at as usize * n_columns..(at as usize + 1) * n_columns];
    let arc = |u: u32, v: u32| {
        let place = graph.neighbours(u).binary_search(&v).ok()?;
        Some(graph.arc_range(u).start + place)
    };
    let mut rows: Vec<Option<u32>> = vec![None; graph.n_arcs()];
    for (&(u, v), &at) in pairs.iter().zip(listed) {
        // Self loops have no arc.
        let Some(arc) = arc(u, v) else { continue };
        match rows[arc] {
            Some(first) if row(first) != row(at) => {
                return Err(format!(
                    "the edge {u} to {v} is listed twice with different features; keep one edge per pair, for example with \
                     the mean of its features"
                ));
            }
            Some(_) => {}
            None => rows[arc] = Some(at),
        }
    }
    let mirrored: Vec<Option<u32>> = graph
        .arcs()
        .map(|(u, v)| arc(v, u).filter(|_| !graph.is_directed()).and_then(|arc| rows[arc]))
        .collect();
    let known = rows.into_iter().zip(mirrored).filter_map(|(own, other)| own.or(other));
    Ok(known.collect())
}

/// One class per item.
pub(super) fn add_classes(dataset: &mut Dataset, level: Level, mut classes: Vec<Option<Class>>) -> Result<(), String> {
    classes::negative_is_unlabelled(&mut classes);
    let (ranks, names) = classes::ranked(&classes);
    if names.is_empty() {
        return Err(format!("no {} has a class", level.one()));
    }
    match level {
        Level::Nodes => {
            let labels = Labels::from_single(names.len() as u32, &ranks).map_err(|error| error.to_string())?;
            note_unlabelled(dataset, &labels);
            dataset.node_labels = Some(labels);
        }
        Level::Graphs => match (ranks.iter().copied().collect::<Option<Vec<u32>>>(), names.len()) {
            (Some(ranks), _) => dataset.graph_labels = Some(ranks),
            (None, ..=2) => {
                let labels = ranks.iter().map(|rank| rank.map(|rank| rank == 1)).collect();
                return add_tasks(dataset, level, vec!["y".to_owned()], labels);
            }
            (None, _) => {
                let graph = ranks.iter().position(Option::is_none).unwrap_or_default();
                return Err(format!("graph {graph} has no class; leave out the graphs without one"));
            }
        },
    }
    classes::note_ranks(dataset, level.one(), &names);
    dataset.n_classes = names.len();
    Ok(())
}

/// Binary labels, by item and then by task. Of nodes they are classes, of which a node may have
/// several, if each node has one and some have several; a node with none would count as unlabelled.
pub(super) fn add_tasks(
    dataset: &mut Dataset,
    level: Level,
    names: Vec<String>,
    labels: Vec<Option<bool>>,
) -> Result<(), String> {
    let n_tasks = names.len() as u32;
    let tasks = TaskLabels::new(names, labels).map_err(|error| error.to_string())?;
    let missing = tasks.n_missing();
    if missing > 0 {
        dataset.notes.push(format!("{missing} labels are missing"));
    }
    dataset.n_classes = 2;
    match level {
        Level::Graphs => {
            dataset.graph_labels = tasks.single();
            dataset.graph_tasks = Some(tasks);
        }
        Level::Nodes => {
            let n_nodes = tasks.n_graphs() as u32;
            let of = |node: u32| {
                tasks
                    .known(node)
                    .filter(|(_, is)| *is)
                    .map(move |(task, _)| (node, task as u32))
            };
            let most = (0..n_nodes).map(|node| of(node).count()).max();
            if missing > 0 || most < Some(2) || (0..n_nodes).any(|node| of(node).next().is_none()) {
                dataset.node_tasks = Some(tasks);
                return Ok(());
            }
            let pairs: Vec<(u32, u32)> = (0..n_nodes).flat_map(of).collect();
            let labels = Labels::from_pairs(n_nodes, n_tasks, &pairs).map_err(|error| error.to_string())?;
            note_unlabelled(dataset, &labels);
            dataset.n_classes = labels.n_classes();
            dataset.node_labels = Some(labels);
        }
    }
    Ok(())
}

/// Numbers to predict, by item and then by target; NaN is missing.
pub(super) fn add_targets(
    dataset: &mut Dataset,
    level: Level,
    names: Vec<String>,
    values: Vec<f32>,
) -> Result<(), String> {
    if let Some(at) = values.iter().position(|value| value.is_infinite()) {
        let (item, name) = (at / names.len().max(1), &names[at % names.len().max(1)]);
        return Err(format!(
            "a number to predict must be finite, got {} for `{}` of {} {item}",
            values[at],
            name.escape_debug(),
            level.one()
        ));
    }
    let missing = values.iter().filter(|value| value.is_nan()).count();
    if missing > 0 {
        dataset.notes.push(format!("{missing} numbers to predict are missing"));
    }
    let targets = Targets::new(names, values, level == Level::Graphs).map_err(|error| error.to_string())?;
    dataset.targets = Some(targets);
    Ok(())
}

/// Columns of words, each the property of all items: their names, and the values by column.
pub(super) fn add_properties(
    dataset: &mut Dataset,
    level: Level,
    columns: &[(String, Vec<Option<Class>>)],
) -> Result<(), String> {
    let Some((_, first)) = columns.first() else {
        return Ok(());
    };
    for (name, values) in columns {
        if let Some(item) = values.iter().position(Option::is_none) {
            let one = level.one();
            return Err(format!("{one} {item} has no {name}; every {one} needs one"));
        }
        if let Some(Some(value)) = values
            .iter()
            .find(|value| value.as_ref().is_some_and(Class::is_negative))
        {
            return Err(format!("a {name} must be a text or a number from 0, got {value}"));
        }
    }
    let row = |item: usize| -> Vec<&Class> { columns.iter().filter_map(|(_, all)| all[item].as_ref()).collect() };
    let rows: Vec<Vec<&Class>> = (0..first.len()).map(row).collect();
    let distinct: Vec<&Vec<&Class>> = rows.iter().collect::<BTreeSet<_>>().into_iter().collect();
    let class = |row: &Vec<&Class>| distinct.binary_search(&row).unwrap_or_default() as u32;
    let classes = rows.iter().map(class).collect();
    let texts = |row: &&Vec<&Class>| row.iter().map(|value| value.plain()).collect();
    let facets: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let properties = Properties::new(&facets, distinct.iter().map(texts).collect(), classes);
    let properties = properties.ok_or_else(|| format!("a number and a text of {} are the same", facets.join(", ")))?;
    match level {
        Level::Nodes => dataset.node_properties = Some(properties),
        Level::Graphs => dataset.graph_properties = Some(properties),
    }
    Ok(())
}

/// Names of nodes, each once; names that are the numbers from 0 are none.
pub(super) fn add_names(dataset: &mut Dataset, names: Vec<String>) -> Result<(), String> {
    if names.iter().enumerate().all(|(at, name)| *name == at.to_string()) {
        return Ok(());
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("two nodes have the id \"{}\"", pair[0].escape_debug()));
    }
    dataset.node_names = Some(names);
    Ok(())
}

/// The names of columns without any: `y`, or `y0`, `y1`, ….
pub(super) fn numbered(n_columns: usize) -> Vec<String> {
    match n_columns {
        1 => vec!["y".to_owned()],
        n => (0..n).map(|column| format!("y{column}")).collect(),
    }
}
