//! MUSAE's collection: a CSV file of edges, a JSON object of each node's features, and a CSV file
//! of what each node is.
//!
//! The object has a member for each node, its id as text, with the columns in which the node has a
//! 1; columns may repeat and come in any order. The classes are the distinct texts of a column of
//! the last file, in ascending order. Every node from 0 on must have one row there and one member.

use std::collections::BTreeMap;
use std::path::Path;

use folkmoot_draws::SimRng;
use folkmoot_parts::component;

use super::format::read_bytes;
use super::notes::note_cleaned;
use super::rows::{Row, Table};
use crate::data_source::{CatalogueEntry, DataSource, cut};
use crate::{DataDirs, DataError, Dataset, Features, GraphBuilder, Labels, SparseRows};

/// Social networks of web pages or users with bag-of-words features, from `musae/`.
#[component(name = "Musae")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Musae {
    /// Name of the data set.
    #[component(required)]
    pub name: MusaeSet,
    /// Keep only the largest component; no effect, since both sets are connected.
    pub largest_component: bool,
}

/// Social networks (B. Rozemberczki, C. Allen, R. Sarkar. Multi-scale Attributed Node Embedding.
/// Journal of Complex Networks 2021).
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MusaeSet {
    /// Mutual likes of verified Facebook pages: 22,470 nodes, 170,823 edges, 4,714 words, 4 classes
    /// (company, government, politician, tvshow).
    FacebookPages,
    /// Friendships of English-language Twitch streamers: 7,126 nodes, 35,324 edges, 3,170 feature
    /// columns (2,545 used), 2 classes (mature or not).
    TwitchGb,
}

impl MusaeSet {
    /// The folder, the beginning of its files' names, and the columns with the node and its class.
    fn files(self) -> (&'static str, &'static str, [&'static str; 2]) {
        match self {
            MusaeSet::FacebookPages => ("musae/facebook", "facebook", ["id", "page_type"]),
            MusaeSet::TwitchGb => ("musae/ENGB", "ENGB", ["new_id", "mature"]),
        }
    }
}

const GET_MUSAE: &str = "help: folkmoot data fetch FacebookPages\n  (or TwitchGb); or put the three files of MUSAE's repository (`input/edges`, \
    `input/features`, `input/target`), such as `facebook_edges.csv`, `facebook.json` and `facebook_target.csv`, into `musae/facebook/` \
    (or `musae/ENGB/`) below a data folder";

impl DataSource for Musae {
    fn name(&self) -> String {
        format!("{:?}", self.name)
    }

    fn is_generated(&self) -> bool {
        false
    }

    fn load(&self, dirs: &DataDirs, _: &mut SimRng) -> Result<Dataset, DataError> {
        let (folder, stem, [id, class]) = self.name.files();
        let locate = |file: String| dirs.locate_set(Path::new(folder).join(file), GET_MUSAE);
        let files = MusaeFiles {
            edges: &locate(format!("{stem}_edges.csv"))?,
            features: &locate(format!("{stem}.json"))?,
            targets: &locate(format!("{stem}_target.csv"))?,
            id,
            class,
        };
        Ok(cut(read_musae(&self.name(), &files)?, self.largest_component))
    }

    fn entries() -> Vec<CatalogueEntry> {
        vec![
            CatalogueEntry::at(
                MusaeSet::FacebookPages.files().0,
                "Musae(name: FacebookPages)",
                "verified pages that like each other, 22,470 nodes, 170,823 edges, 4,714 features, 4 classes",
            ),
            CatalogueEntry::at(
                MusaeSet::TwitchGb.files().0,
                "Musae(name: TwitchGb)",
                "friendships of streamers, 7,126 nodes, 35,324 edges, 2 classes",
            ),
        ]
    }
}

/// Columns that features may have; a file of a few bytes could otherwise ask for any.
const MAX_COLUMNS: u32 = 1 << 20;

/// The files of a set, and the columns of the last that matter.
struct MusaeFiles<'a> {
    /// Two columns of ids, below a header.
    edges: &'a Path,
    /// The object of columns.
    features: &'a Path,
    /// What each node is.
    targets: &'a Path,
    /// The column of `targets` with the node's id.
    id: &'a str,
    /// The column with its class.
    class: &'a str,
}

fn read_musae(name: &str, files: &MusaeFiles<'_>) -> Result<Dataset, DataError> {
    let (classes, names) = classes(files)?;
    let n_nodes = classes.len() as u32;
    let (features, n_repeated) = features(files.features, n_nodes)?;
    let edges = edges(files.edges, n_nodes)?;
    let (graph, cleaned) = GraphBuilder::new(n_nodes).build(&edges)?;
    let mut dataset = Dataset::of_graph(name, graph);
    note_cleaned(&mut dataset, cleaned);
    if n_repeated > 0 {
        let note = format!("{n_repeated} features were listed twice at a node and count once");
        dataset.notes.push(note);
    }
    dataset.notes.push(format!("classes in order: {}", names.join(", ")));
    dataset.features = Some(Features::Sparse(features));
    dataset.n_classes = names.len();
    let labels = Labels::from_single(names.len() as u32, &classes);
    dataset.node_labels = Some(labels.expect("classes are numbered by their names"));
    Ok(dataset)
}

/// A field as an id below `below`.
fn id(row: &Row<'_>, column: usize, below: u32) -> Result<u32, DataError> {
    let field = row.field(column)?.trim();
    match field.parse::<u32>() {
        Ok(id) if id < below => Ok(id),
        _ => {
            let shown: String = field.chars().take(40).collect();
            let rule = format!("expected a node id below {below}, got \"{}\"", shown.escape_debug());
            Err(row.error(column, &rule))
        }
    }
}

/// The class of each node, and what the classes are called.
fn classes(files: &MusaeFiles<'_>) -> Result<(Vec<Option<u32>>, Vec<String>), DataError> {
    let table = Table::open(files.targets)?;
    let id_column = table.column(files.id, "node ids")?;
    let class_column = table.column(files.class, "classes")?;
    let mut rows = Vec::new();
    for row in table.rows() {
        rows.push(row?);
    }
    let n_nodes = rows.len() as u32;
    if n_nodes == 0 {
        return Err(table.error("the file has no rows below its header; it must have one for each node"));
    }
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    for row in &rows {
        names.insert(row.field(class_column)?.trim().to_owned(), 0);
    }
    names.values_mut().zip(0..).for_each(|(place, at)| *place = at);
    let mut classes = vec![None; rows.len()];
    for row in &rows {
        let node = id(row, id_column, n_nodes)?;
        let class = names[row.field(class_column)?.trim()];
        if classes[node as usize].replace(class).is_some() {
            return Err(row.error(id_column, &format!("node {node} has two rows; each node must have one")));
        }
    }
    Ok((classes, names.into_keys().collect()))
}

/// The features of all nodes, and how many were listed twice.
fn features(path: &Path, n_nodes: u32) -> Result<(SparseRows, usize), DataError> {
    let bytes = read_bytes(path)?;
    let listed: BTreeMap<String, Vec<u32>> = serde_json::from_slice(&bytes)
        .map_err(|error| DataError::format(path, format!("expected an object of lists of columns: {error}")))?;
    let wrong = |rule: String| DataError::format(path, rule);
    let mut rows: Vec<Option<Vec<(u32, f32)>>> = vec![None; n_nodes as usize];
    let (mut n_columns, mut n_repeated) = (1, 0);
    for (node, mut columns) in listed {
        let place = node.parse::<u32>().ok().filter(|node| *node < n_nodes);
        let Some(place) = place else {
            let shown: String = node.chars().take(40).collect();
            return Err(wrong(format!(
                "expected node ids below {n_nodes} as names, got \"{}\"",
                shown.escape_debug()
            )));
        };
        let n_listed = columns.len();
        columns.sort_unstable();
        columns.dedup();
        n_repeated += n_listed - columns.len();
        if let Some(&last) = columns.last() {
            if last >= MAX_COLUMNS {
                return Err(wrong(format!(
                    "node {place}: columns must lie below {MAX_COLUMNS}, got {last}"
                )));
            }
            n_columns = n_columns.max(last + 1);
        }
        let ones = columns.into_iter().map(|column| (column, 1.0)).collect();
        if rows[place as usize].replace(ones).is_some() {
            return Err(wrong(format!("node {place} has two members; each node must have one")));
        }
    }
    if let Some(node) = rows.iter().position(Option::is_none) {
        return Err(wrong(format!(
            "node {node} has no member; a node without features has an empty list"
        )));
    }
    let rows: Vec<Vec<(u32, f32)>> = rows.into_iter().flatten().collect();
    let matrix = SparseRows::from_rows(n_columns, &rows);
    let matrix = matrix.ok_or_else(|| wrong(format!("holds more than {} features", u32::MAX)))?;
    Ok((matrix, n_repeated))
}

fn edges(path: &Path, n_nodes: u32) -> Result<Vec<(u32, u32)>, DataError> {
    let table = Table::open(path)?;
    if table.n_columns() != 2 {
        return Err(table.error("the header must name two columns, the ends of an edge"));
    }
    let edge = |row: Result<Row<'_>, DataError>| {
        let row = row?;
        Ok((id(&row, 0, n_nodes)?, id(&row, 1, n_nodes)?))
    };
    table.rows().map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::test_files::{Folder, not_run, real_data};
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    const EDGES: &str = "a,b\n0,1\n1,2\n2,1\n1,1\n";
    const FEATURES: &str = r#"{"2": [4, 0, 4], "0": [], "1": [2]}"#;
    const TARGETS: &str = "id,name,kind\n1,\"b, c\",shop\n0,a,bar\n2,d,shop\n";

    fn read(folder: &Folder, [edges, features, targets]: [&[u8]; 3]) -> Result<Dataset, DataError> {
        let files = MusaeFiles {
            edges: &folder.file("e.csv", edges),
            features: &folder.file("f.json", features),
            targets: &folder.file("t.csv", targets),
            id: "id",
            class: "kind",
        };
        read_musae("Tiny", &files)
    }

    #[test]
    fn a_small_set_is_read_as_it_stands() {
        let folder = Folder::new("musae-small");
        let dataset = read(&folder, [EDGES, FEATURES, TARGETS].map(str::as_bytes)).unwrap();
        assert_eq!(
            (dataset.n_nodes(), dataset.graph().n_edges(), dataset.n_classes),
            (3, 2, 2)
        );
        let labels = dataset.node_labels.as_ref().unwrap();
        assert_eq!([0, 1, 2].map(|node| labels.single(node)), [Some(0), Some(1), Some(1)]);
        let features = dataset.features.as_ref().unwrap();
        let mut row = [9.0; 5];
        features.write_row(2, &mut row);
        assert_eq!((features.n_columns(), row), (5, [1.0, 0.0, 0.0, 0.0, 1.0]));
        let notes = dataset.notes.join("; ");
        for note in [
            "1 self loops",
            "both directions",
            "1 features were listed twice",
            "bar, shop",
        ] {
            assert!(notes.contains(note), "{note}: {notes}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let folder = Folder::new("musae-wrong");
        let cases: [([&str; 3], &str); 9] = [
            (
                ["a,b\n0,7\n", FEATURES, TARGETS],
                "expected a node id below 3, got \"7\"",
            ),
            (["a\n0\n", FEATURES, TARGETS], "must name two columns"),
            ([EDGES, r#"{"0": [1]"#, TARGETS], "expected an object of lists"),
            ([EDGES, r#"{"0": [], "1": []}"#, TARGETS], "node 2 has no member"),
            (
                [EDGES, r#"{"0": [], "1": [], "2": [], "02": []}"#, TARGETS],
                "node 2 has two members",
            ),
            (
                [EDGES, r#"{"x": []}"#, TARGETS],
                "expected node ids below 3 as names, got \"x\"",
            ),
            ([EDGES, r#"{"0": [4000000000]}"#, TARGETS], "columns must lie below"),
            ([EDGES, FEATURES, "id,kind\n0,a\n0,b\n"], "node 0 has two rows"),
            ([EDGES, FEATURES, "id,sort\n0,a\n"], "there is no column `kind`"),
        ];
        for (files, expected) in cases {
            let why = read(&folder, files.map(str::as_bytes)).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_give_a_message_or_a_set(at in 0_usize..3, cut in 0_usize..60, byte: u8) {
            let folder = Folder::new("musae-any");
            let mut files = [EDGES, FEATURES, TARGETS].map(|text| text.as_bytes().to_vec());
            let damaged = &mut files[at];
            let place = cut % damaged.len();
            damaged[place] = byte;
            damaged.truncate(place + 1 + cut % 7);
            let _ = read(&folder, [&files[0], &files[1], &files[2]]);
        }
    }

    #[test]
    fn the_real_sets_have_the_published_sizes() {
        let Some(dir) = real_data() else { return };
        if !dir.join("musae/facebook").is_dir() {
            return not_run("the real data lack musae/facebook");
        }
        let dirs = crate::DataDirs::new().with("FOLKMOOT_DATA", dir);
        for (name, nodes, edges, classes) in [
            (
                crate::MusaeSet::FacebookPages,
                22_470,
                170_823,
                vec![6495, 6880, 5768, 3327],
            ),
            (crate::MusaeSet::TwitchGb, 7_126, 35_324, vec![3238, 3888]),
        ] {
            let spec = Musae {
                name,
                largest_component: false,
            };
            let set = spec.load(&dirs, &mut folkmoot_draws::SimRng::seed_from_u64(1)).unwrap();
            assert_eq!((set.n_nodes(), set.graph().n_edges()), (nodes, edges));
            assert_eq!(set.node_labels.as_ref().unwrap().class_sizes(), classes);
        }
    }
}
