//! Golden vectors: expected values that trusted libraries computed, checked against ours.
//!
//! `FOLKMOOT_GOLDEN` names a folder, relative paths from the workspace root; the default is `tests/golden/`. Every
//! `*.json` in it is read by the schema of [`schema`], and every case of a topic in [`TOPICS`] is computed and
//! compared. Anything that is not understood fails: an unknown topic, an `op` its topic does not know, a key
//! nobody reads, a file that does not parse, a folder without a known topic. A new topic is one line in [`TOPICS`].

mod attention;
mod classical;
mod codecs;
mod compare;
mod dtw;
mod edge_guesses;
mod embedding_metric;
mod fedwalk_messages;
mod fgw;
mod graph_measures;
mod gw;
mod gw_barycenter;
mod gw_proximal;
mod hierarchical_clustering;
mod inference;
mod layers;
mod losses;
mod lstm;
mod metrics;
mod model;
mod models;
mod modularity;
mod optim;
mod ot_linear;
mod privacy;
#[cfg(test)]
mod runner;
mod schema;
mod subgraphs;
mod system_egsc;
mod system_fgcl;
mod system_ppgm;
mod tsne;

use std::fs;
use std::path::{Path, PathBuf};

use compare::Mismatch;
use schema::{Case, File};

/// Computes a case and compares every expected value; an error if the case is not understood or we refuse its input.
type Check = fn(&Case) -> Result<Vec<Mismatch>, String>;

/// The topics checked now.
const TOPICS: &[(&str, Check)] = &[
    ("attention", attention::check),
    ("classical", classical::check),
    ("codecs", codecs::check),
    ("dtw", dtw::check),
    ("edge_guesses", edge_guesses::check),
    ("embedding_metric", embedding_metric::check),
    ("fedwalk_messages", fedwalk_messages::check),
    ("fgw", fgw::check),
    ("graph_measures", graph_measures::check),
    ("gw", gw::check),
    ("gw_barycenter", gw_barycenter::check),
    ("gw_proximal", gw_proximal::check),
    ("hierarchical_clustering", hierarchical_clustering::check),
    ("inference", inference::check),
    ("layer_gat", layers::gat),
    ("layer_gcn", layers::gcn),
    ("layer_gin", layers::gin),
    ("layer_graphconv", layers::graph_conv),
    ("layer_lg", layers::light),
    ("layer_sage", layers::sage),
    ("layer_tag", layers::tag),
    ("losses", losses::check),
    ("lstm", lstm::check),
    ("metrics", metrics::check),
    ("model_graph_classifier", models::graphs),
    ("model_node_classifier", models::nodes),
    ("modularity", modularity::check),
    ("optim", optim::check),
    ("ot_linear", ot_linear::check),
    ("privacy", privacy::check),
    ("subgraphs", subgraphs::check),
    ("system_egsc", system_egsc::check),
    ("system_fgcl", system_fgcl::check),
    ("system_ppgm", system_ppgm::check),
    ("tsne", tsne::check),
];

/// The folder to check.
fn folder() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    match std::env::var_os("FOLKMOOT_GOLDEN") {
        Some(folder) => root.join(folder),
        None => root.join("tests/golden"),
    }
}

/// Checks every golden file of `folder`, in the order of their names: the topics, whose cases all agree, with the number of cases;
/// or all that is wrong, one line each.
fn check_folder(folder: &Path) -> Result<Vec<(String, usize)>, Vec<String>> {
    let cannot = |what: String| move |error: std::io::Error| vec![format!("{what}: {error}")];
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot(folder.display().to_string()))? {
        paths.push(entry.map_err(cannot(folder.display().to_string()))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut checked = Vec::new();
    let mut problems = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for path in paths {
        let file = match read(&path) {
            Ok(file) => file,
            Err(error) => {
                problems.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        if seen.contains(&file.topic) {
            problems.push(format!(
                "{}: topic {:?} occurs in two files",
                path.display(),
                file.topic
            ));
        } else if let Some((_, check)) = TOPICS.iter().find(|(topic, _)| *topic == file.topic) {
            problems.extend(check_file(&file, *check));
            checked.push((file.topic.clone(), file.cases.len()));
        } else {
            problems.push(format!("{}: unknown topic {:?}", path.display(), file.topic));
        }
        seen.push(file.topic);
    }
    if checked.is_empty() && problems.is_empty() {
        problems.push(format!("{}: no file of a known topic", folder.display()));
    }
    if problems.is_empty() {
        Ok(checked)
    } else {
        Err(problems)
    }
}

/// Reads and checks the form of one file.
fn read(path: &Path) -> Result<File, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    File::parse(&text)
}

/// One line for each value or case that fails.
fn check_file(file: &File, check: Check) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &file.cases {
        let here = format!("{}: case {:?}, op {:?}", file.topic, case.name, case.op);
        match check(case) {
            Ok(mismatches) => lines.extend(mismatches.into_iter().map(|mismatch| format!("{here}: {mismatch}"))),
            Err(error) => lines.push(format!("{here}: {error}")),
        }
    }
    lines
}

#[test]
fn golden_vectors_agree() {
    let checked = check_folder(&folder()).unwrap_or_else(|problems| panic!("\n{}", problems.join("\n")));
    for (topic, n_cases) in checked {
        println!("golden: {topic}: {n_cases} cases agree");
    }
}
