//! `folkmoot data describe`: a data set in numbers, and as a picture.

use crate::args::{DescribeArgs, Format};
use crate::context::{self, Program, quoted};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::text;
use folkmoot_graphs::{Dataset, Profile, Spread};
use folkmoot_plots::DatasetPicture;
use folkmoot_scenarios::run::{Failure, load_data};
use serde_json::{Value, json};

/// Labels that are printed; sets of functions have hundreds.
const N_LABELS: usize = 20;

/// Characters of the longest bar.
const BAR: usize = 40;

pub(crate) fn describe(program: &Program, args: &DescribeArgs) -> Result<(), Exit> {
    let scenario = context::named_dataset(program, &args.dataset, args.seed)?;
    let repeat = format!("{} data describe {}", program.name, quoted(&args.dataset));
    let failed = |failure: Failure| Exit::failure(&failure, &repeat);
    let dataset = load_data(&scenario, &data_dirs::with_current(&args.data)).map_err(failed)?;
    let profile = Profile::of(&dataset);
    // What is read of a mapped file counts only if it is undamaged.
    if let Some(damage) = dataset.damage() {
        return Err(failed(Failure::Data(damage)));
    }
    let files = match &args.to {
        Some(dir) => folkmoot_plots::draw_dataset(dir, &picture(&dataset, &profile))?,
        None => Vec::new(),
    };
    if args.format == Format::Json {
        return print_json(&as_json(&dataset, &profile));
    }
    let mut said = as_text(&dataset, &profile);
    for file in files {
        said += &format!("\n{}", file.display());
    }
    print(&said)
}

fn spread(spread: Spread) -> String {
    format!(
        "{} to {}, mean {:.2}, median {}",
        spread.min, spread.max, spread.mean, spread.median
    )
}

fn as_text(dataset: &Dataset, profile: &Profile) -> String {
    let mut rows = dataset.describe();
    let mut row = |what: &str, value: String| rows.push((what.to_owned(), value));
    if let Some((nodes, edges)) = profile.graph_sizes {
        row("nodes of a graph", spread(nodes));
        row("edges of a graph", spread(edges));
        row("degree", spread(Spread::of(profile.degrees.clone())));
    }
    row(
        "components",
        format!(
            "{}, the largest of {} nodes",
            profile.n_components, profile.largest_component
        ),
    );
    if let Some((_, filled)) = profile.features {
        row("features not zero", format!("{:.2} %", 100.0 * filled));
    }
    if let Some(share) = profile.homophily {
        row("edges within a class", format!("{:.2} %", 100.0 * share));
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(what, value)| vec![what, value]).collect();
    let steps = profile.degree_steps().into_iter().skip_while(|(_, _, n)| *n == 0);
    let steps = steps.map(|(least, most, n)| {
        let name = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        (name, n)
    });
    let mut said = text::table(&["what", "value"], &rows, 2);
    said += &format!(
        "\n\n{}",
        bars("degree", "nodes", &steps.collect::<Vec<_>>(), profile.n_nodes)
    );
    if !profile.labels.is_empty() {
        let items = if profile.graph_sizes.is_some() {
            "graphs"
        } else {
            "nodes"
        };
        let (shown, more) = largest(&profile.labels, N_LABELS);
        said += &format!("\n\n{}", bars("label", items, &shown, profile.n_labelled));
        if more > 0 {
            said += &format!("\nand {more} smaller labels");
        }
    }
    said
}

/// The largest labels, in their order, and how many more there are.
fn largest(labels: &[(String, usize)], most: usize) -> (Vec<(String, usize)>, usize) {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(labels[at].1), at));
    order.truncate(most);
    order.sort_unstable();
    let more = labels.len() - order.len();
    (order.into_iter().map(|at| labels[at].clone()).collect(), more)
}

/// A table of numbers with their shares, and bars as long as these.
fn bars(what: &str, items: &str, counts: &[(String, usize)], all: usize) -> String {
    let most = counts.iter().map(|(_, n)| *n).max().unwrap_or(0).max(1);
    let row = |(name, n): &(String, usize)| {
        // A node alone is still to be seen.
        let length = (n * BAR).div_ceil(most);
        let share = 100.0 * *n as f64 / all.max(1) as f64;
        vec![
            name.clone(),
            "█".repeat(length),
            text::count(*n as u64),
            format!("{share:.1} %"),
        ]
    };
    let rows: Vec<Vec<String>> = counts.iter().map(row).collect();
    text::table(&[what, "", items, "share"], &rows, 2)
}

fn as_json(dataset: &Dataset, profile: &Profile) -> Value {
    let spread =
        |spread: Spread| json!({"min": spread.min, "median": spread.median, "mean": spread.mean, "max": spread.max});
    let steps = profile.degree_steps();
    let steps = steps
        .iter()
        .map(|(least, most, n)| json!({"least": least, "most": most, "nodes": n}));
    let targets = dataset.targets.as_ref().map(|targets| {
        let target = |(at, name): (usize, &String)| {
            let known = targets.summary(at);
            let numbers = known.map(|(least, mean, most, _)| json!({"least": least, "mean": mean, "most": most}));
            let missing = targets.n_items() - known.map_or(0, |(.., known)| known);
            json!({"name": name, "of_graphs": targets.are_of_graphs(), "numbers": numbers, "missing": missing})
        };
        Value::from_iter(targets.names().iter().enumerate().map(target))
    });
    let tasks = dataset
        .graph_tasks
        .as_ref()
        .or(dataset.node_tasks.as_ref())
        .map(|tasks| {
            let task = |(at, name): (usize, &String)| {
                let (positive, negative) = tasks.counts(at);
                let missing = tasks.n_graphs() - positive - negative;
                json!({"name": name, "positive": positive, "negative": negative, "missing": missing})
            };
            Value::from_iter(tasks.names().iter().enumerate().map(task))
        });
    let splits = dataset.splits.as_ref().map(|splits| {
        let (train, validation, test) = splits.sizes();
        json!({"train": train, "validation": validation, "test": test})
    });
    let labels = profile
        .labels
        .iter()
        .map(|(name, n)| json!({"label": name, "items": n}));
    json!({
        "name": dataset.name,
        "fingerprint": dataset.fingerprint(),
        "graphs": profile.n_graphs,
        "nodes": profile.n_nodes,
        "edges": profile.n_edges,
        "directed": dataset.graphs.iter().any(|graph| graph.is_directed()),
        "degree": spread(Spread::of(profile.degrees.clone())),
        "degrees": Value::from_iter(steps),
        "components": profile.n_components,
        "largest_component": profile.largest_component,
        "nodes_of_a_graph": profile.graph_sizes.map(|(nodes, _)| spread(nodes)),
        "edges_of_a_graph": profile.graph_sizes.map(|(_, edges)| spread(edges)),
        "features": profile.features.map(|(columns, filled)| json!({"columns": columns, "share_not_zero": filled})),
        "edge_features": dataset.edge_features.as_ref().map(|rows| rows.n_columns()),
        "labels": Value::from_iter(labels),
        "tasks": tasks,
        "targets": targets,
        "clients": dataset.n_given_clients(),
        "split": splits,
        "node_ids": dataset.node_names.is_some(),
        "labelled": profile.n_labelled,
        "homophily": profile.homophily,
        "notes": dataset.notes,
    })
}

fn picture(dataset: &Dataset, profile: &Profile) -> DatasetPicture {
    let all = profile.n_labelled.max(1) as f64;
    let share = |(name, n): &(String, usize)| (name.clone(), *n as f64 / all);
    DatasetPicture {
        name: dataset.name.clone(),
        degrees: profile.degrees.clone(),
        labels: profile.labels.iter().map(share).collect(),
        labelled: if profile.graph_sizes.is_some() {
            "graphs"
        } else {
            "nodes"
        }
        .to_owned(),
    }
}
