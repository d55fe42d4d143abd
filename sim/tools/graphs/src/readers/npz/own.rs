//! The `.npz` layout of Folkmoot: one graph or many, with all that a data set can hold.
//!
//! | member | shape and type | content |
//! |---|---|---|
//! | `folkmoot` | one integer, 1 | version of the layout |
//! | `ptr` | graphs + 1, integers | graph `g` has the nodes `ptr[g]..ptr[g + 1]`; absent for one graph |
//! | `num_nodes` | one integer | nodes of one graph; needed if no other member has a row per node |
//! | `edge_index` | 2 × edges, integers | ends of edges; nodes of all graphs are numbered through |
//! | `directed` | one bool | whether an edge has one direction; false if absent |
//! | `edge_weight` | edges, numbers | |
//! | `edge_attr` | edges × columns, finite numbers | features of edges |
//! | `x` | nodes × columns, finite numbers | features of nodes; or sparse rows, `x_data`, `x_indices`, `x_indptr`, `x_shape` |
//! | `y` | items, or items × columns | see below |
//! | `y_names` | columns, texts | names of the columns of `y` |
//! | `task` | one text | `classes`, `labels` or `numbers` |
//! | `train_mask`, `val_mask`, `test_mask` | items, bools | |
//! | `client` | items, integers from 0 or texts | the client of each item |
//! | `node_id` | nodes, texts or integers | names of nodes, each once |
//!
//! Items are graphs where there is `ptr`, else nodes; `y` may have a row per node in a set of
//! graphs, too. `task` says what `y` is: `classes`, one integer or text per item, negative or empty
//! where it is missing; `labels`, columns of 0, 1 and missing (NaN, or -1 of integers); `numbers`,
//! NaN where missing. Without `task`, integers, bools and texts of one column are classes, several
//! columns of 0, 1 and missing are labels, and other floats are numbers. A member of another name
//! is an error.

use folkmoot_metrics::npy::{Array, Values};

use super::members::{Members, Sparse};
use super::{matrix, sorted};
use crate::properties::CLIENT;
use crate::readers::assemble::{self, Edges, Level};
use crate::readers::classes::Class;
use crate::readers::limits::MAX_NODES;
use crate::{Dataset, Features, SparseRows, Splits};

/// What marks an archive as one of this layout.
pub(super) const MARK: &str = "folkmoot";
const VERSION: i64 = 1;

pub(super) const MEMBERS: &[&str] = &[
    "client",
    "directed",
    "edge_attr",
    "edge_index",
    "edge_weight",
    MARK,
    "node_id",
    "num_nodes",
    "ptr",
    "task",
    "test_mask",
    "test_masks",
    "train_mask",
    "train_masks",
    "val_mask",
    "val_masks",
    "x",
    "x_data",
    "x_indices",
    "x_indptr",
    "x_shape",
    "y",
    "y_names",
];

/// How many nodes and graphs there are.
struct Sizes {
    bounds: Vec<u32>,
    level: Level,
}

impl Sizes {
    fn n_nodes(&self) -> usize {
        self.bounds.last().map_or(0, |&n| n as usize)
    }

    fn n_items(&self, level: Level) -> usize {
        match level {
            Level::Nodes => self.n_nodes(),
            Level::Graphs => self.bounds.len() - 1,
        }
    }

    /// A member with one value per item.
    fn rows(&self, name: &str, n: usize) -> Result<(), String> {
        let (one, n_items) = (self.level.one(), self.n_items(self.level));
        match n == n_items {
            true => Ok(()),
            false => Err(format!("`{name}` must have one entry per {one} ({n_items}), got {n}")),
        }
    }
}

pub(super) fn parse(name: &str, members: &Members, split: u32) -> Result<Dataset, String> {
    if let Some((one, _)) = members.scalar(MARK)?.filter(|(version, _)| *version != VERSION) {
        return Err(format!(
            "`{MARK}` is {one}, and this program reads version {VERSION} of the layout; write the file again with its \
             Python package"
        ));
    }
    refuse_others(members)?;
    let sizes = sizes(members)?;
    let mut dataset = Dataset {
        name: name.to_string(),
        ..Dataset::default()
    };
    assemble::add_graphs(&mut dataset, &sizes.bounds, &edges(members, sizes.n_nodes())?)?;
    add_features(&mut dataset, members, sizes.n_nodes())?;
    if let Some(y) = members.arrays.get("y") {
        add_y(&mut dataset, members, &sizes, y)?;
    }
    dataset.splits = splits(members, &sizes, split, &mut dataset.notes)?;
    if let Some(clients) = members.arrays.get(CLIENT) {
        let clients = classes_of(CLIENT, clients)?;
        sizes.rows(CLIENT, clients.len())?;
        assemble::add_properties(&mut dataset, sizes.level, &[(CLIENT.to_owned(), clients)])?;
    }
    if let Some(ids) = members.arrays.get("node_id") {
        let names = match &ids.values {
            Values::Texts(names) => names.clone(),
            _ => ids.integers("node_id")?.iter().map(i64::to_string).collect(),
        };
        if names.len() != sizes.n_nodes() {
            return Err(format!(
                "`node_id` must have one entry per node ({}), got {}",
                sizes.n_nodes(),
                names.len()
            ));
        }
        assemble::add_names(&mut dataset, names)?;
    }
    Ok(dataset)
}

fn refuse_others(members: &Members) -> Result<(), String> {
    if members.others.is_empty() {
        return Ok(());
    }
    let shown = |name: &str| name.chars().take(40).collect::<String>().escape_debug().to_string();
    let names: Vec<String> = members
        .others
        .iter()
        .take(12)
        .map(|(name, ..)| format!("`{}`", shown(name)))
        .collect();
    let verb = if names.len() == 1 {
        "is no member"
    } else {
        "are no members"
    };
    let (names, known) = (names.join(", "), MEMBERS.join(", "));
    Err(format!(
        "{names} {verb} of this layout; leave out what is none of {known}"
    ))
}

fn sizes(members: &Members) -> Result<Sizes, String> {
    let Some(ptr) = members.arrays.get("ptr") else {
        let stated = members.scalar("num_nodes")?.map(|(n, _)| n);
        let rows = members.first(&["x", "node_id", "y", "train_mask", CLIENT]);
        let sparse = members.sparse("x")?.map(|rows| i64::from(rows.n_rows));
        let known = || rows.and_then(|(_, array)| i64::try_from(*array.shape.first()?).ok());
        let n = stated.or(sparse).or_else(known);
        let n = n.ok_or("the number of nodes is unknown; add the member `num_nodes`, `x` or `y`")?;
        let n_nodes = u32::try_from(n).ok().filter(|&n| n > 0 && u64::from(n) <= MAX_NODES);
        let n_nodes = n_nodes.ok_or_else(|| format!("a graph must have 1 to {MAX_NODES} nodes, got {n}"))?;
        return Ok(Sizes {
            bounds: vec![0, n_nodes],
            level: Level::Nodes,
        });
    };
    let bounds = ptr.integers("ptr")?;
    let rises = bounds.first() == Some(&0) && bounds.windows(2).all(|pair| pair[0] < pair[1]);
    let fits = bounds
        .last()
        .is_some_and(|&n| u64::try_from(n).is_ok_and(|n| n <= MAX_NODES));
    if bounds.len() < 2 || !rises || !fits {
        return Err(format!(
            "`ptr` must rise from 0 to the number of nodes, at most {MAX_NODES}, and every graph needs a node"
        ));
    }
    if let Some((n, _)) = members.scalar("num_nodes")?.filter(|(n, _)| bounds.last() != Some(n)) {
        return Err(format!(
            "`num_nodes` is {n}, but `ptr` ends with {}",
            bounds[bounds.len() - 1]
        ));
    }
    Ok(Sizes {
        bounds: bounds.into_iter().map(|bound| bound as u32).collect(),
        level: Level::Graphs,
    })
}

fn edges(members: &Members, n_nodes: usize) -> Result<Edges, String> {
    let listed = members.require("edge_index")?;
    let ids = listed.integers("edge_index")?;
    let [2, n] = listed.shape[..] else {
        return Err(format!(
            "`edge_index` must have shape (2, edges), got {:?}",
            listed.shape
        ));
    };
    let node = |id: i64| {
        let node = u32::try_from(id).ok().filter(|&node| (node as usize) < n_nodes);
        node.ok_or_else(|| format!("`edge_index` must lie in 0..{n_nodes}, got {id}"))
    };
    let pair = |at: usize| Ok((node(ids[at])?, node(ids[n + at])?));
    let pairs = (0..n).map(pair).collect::<Result<Vec<_>, String>>()?;
    let of_edges = |name: &str| -> Result<Option<(Vec<f32>, usize)>, String> {
        let Some(array) = members.arrays.get(name) else {
            return Ok(None);
        };
        let n_columns = match array.shape[..] {
            [rows] if rows == n => 1,
            [rows, columns] if rows == n && columns > 0 => columns,
            _ => {
                return Err(format!(
                    "`{name}` must have one row per edge ({n}), got shape {:?}",
                    array.shape
                ));
            }
        };
        let values = numbers(name, array)?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(format!(
                "`{name}` must be finite, got {} in row {}",
                values[at],
                at / n_columns
            )),
            None => Ok(Some((values, n_columns))),
        }
    };
    let weights = of_edges("edge_weight")?;
    if let Some((_, columns)) = weights.as_ref().filter(|(_, columns)| *columns > 1) {
        return Err(format!(
            "`edge_weight` must have one number per edge, got {columns}; several are `edge_attr`"
        ));
    }
    let directed = match members
        .arrays
        .get("directed")
        .map(|array| (&array.values, array.n_values()))
    {
        None => false,
        Some((Values::Bools(values), 1)) => values[0],
        Some(_) => return Err("`directed` must hold one bool".to_owned()),
    };
    Ok(Edges {
        pairs,
        weights: weights.map(|(values, _)| values),
        features: of_edges("edge_attr")?,
        directed,
    })
}

fn numbers(name: &str, array: &Array) -> Result<Vec<f32>, String> {
    match array.values {
        Values::Texts(_) => Err(format!("`{name}` must hold numbers, got texts")),
        _ => Ok(array.floats()),
    }
}

fn add_features(dataset: &mut Dataset, members: &Members, n_nodes: usize) -> Result<(), String> {
    let n = n_nodes as u32;
    dataset.features = match (members.arrays.get("x"), members.sparse("x")?) {
        (None, None) => None,
        (Some(_), Some(_)) => return Err("the archive holds `x` and `x_indptr`; keep one of them".to_owned()),
        (Some(x), None) => Some(Features::Dense(matrix("x", x, n)?.into())),
        (
            None,
            Some(Sparse {
                n_rows,
                n_columns,
                rows,
            }),
        ) => {
            if n_rows != n {
                return Err(format!("`x_shape` must have one row per node ({n}), got {n_rows}"));
            }
            let rows = SparseRows::from_rows(n_columns, &sorted(rows)?);
            Some(Features::Sparse(
                rows.ok_or("`x_indices` holds a column twice in one row")?,
            ))
        }
    };
    Ok(())
}

fn add_y(dataset: &mut Dataset, members: &Members, sizes: &Sizes, y: &Array) -> Result<(), String> {
    let (n_rows, n_columns) = match y.shape[..] {
        [rows] => (rows, 1),
        [rows, columns] if columns > 0 => (rows, columns),
        _ => return Err(format!("`y` must have one or two dimensions, got shape {:?}", y.shape)),
    };
    let level = match n_rows {
        n if n == sizes.n_items(sizes.level) => sizes.level,
        n if n == sizes.n_nodes() => Level::Nodes,
        n => {
            sizes.rows("y", n)?;
            sizes.level
        }
    };
    let names = match members.arrays.get("y_names") {
        None => assemble::numbered(n_columns),
        Some(array) => match &array.values {
            Values::Texts(names) if names.len() == n_columns => names.clone(),
            _ => {
                return Err(format!(
                    "`y_names` must hold a text for each of the {n_columns} columns of `y`"
                ));
            }
        },
    };
    match task(members, y, n_columns)? {
        Task::Classes if n_columns > 1 => Err(format!(
            "`y` has {n_columns} columns, and `task` is classes, one per {}; state labels for 0 and 1",
            level.one()
        )),
        Task::Classes => assemble::add_classes(dataset, level, classes_of("y", y)?),
        Task::Numbers => assemble::add_targets(dataset, level, names, numbers("y", y)?),
        Task::Labels => {
            let label = |(at, value): (usize, f32)| match value {
                0.0 => Ok(Some(false)),
                1.0 => Ok(Some(true)),
                -1.0 => Ok(None),
                value if value.is_nan() => Ok(None),
                value => Err(format!(
                    "labels must be 0, 1 or missing (NaN, or -1 of integers), got {value} in row {}, column {}",
                    at / n_columns,
                    at % n_columns
                )),
            };
            let values = numbers("y", y)?;
            if !values.contains(&0.0) && values.contains(&-1.0) {
                return Err("labels must be 0 and 1, and -1 is missing; write 0 for no".to_owned());
            }
            let labels = values.into_iter().enumerate().map(label).collect::<Result<_, _>>()?;
            assemble::add_tasks(dataset, level, names, labels)
        }
    }
}

enum Task {
    Classes,
    Labels,
    Numbers,
}

/// What `y` is: as `task` states, or by its type.
fn task(members: &Members, y: &Array, n_columns: usize) -> Result<Task, String> {
    if let Some(stated) = members.arrays.get("task") {
        return match &stated.values {
            Values::Texts(texts) if texts.len() == 1 => match texts[0].as_str() {
                "classes" => Ok(Task::Classes),
                "labels" => Ok(Task::Labels),
                "numbers" => Ok(Task::Numbers),
                other => Err(format!(
                    "`task` must be classes, labels or numbers, got \"{}\"",
                    other.escape_debug()
                )),
            },
            _ => Err("`task` must hold one text: classes, labels or numbers".to_owned()),
        };
    }
    let is_label = |value: &f32| value.is_nan() || [0.0, 1.0, -1.0].contains(value);
    Ok(match &y.values {
        Values::Texts(_) => Task::Classes,
        Values::Bools(_) | Values::Integers(_) if n_columns == 1 => Task::Classes,
        Values::Bools(_) | Values::Integers(_) => Task::Labels,
        _ if n_columns > 1 && y.floats().iter().all(is_label) => Task::Labels,
        _ => Task::Numbers,
    })
}

/// Integers, bools, texts, or floats that are whole, as classes.
fn classes_of(name: &str, array: &Array) -> Result<Vec<Option<Class>>, String> {
    let wrong = |rule: String| format!("`{name}`: {rule}");
    let number = |value: i64| Some(Class::Number(value));
    match &array.values {
        Values::Bools(values) => Ok(values.iter().map(|&set| number(i64::from(set))).collect()),
        Values::Integers(values) => Ok(values.iter().map(|&value| number(value)).collect()),
        Values::Texts(texts) => texts.iter().map(|text| Class::parse(text).map_err(wrong)).collect(),
        Values::Floats(values) => {
            let class = |value: &f32| Class::of_number(f64::from(*value)).map_err(wrong);
            values.iter().map(class).collect()
        }
        Values::Doubles(values) => values
            .iter()
            .map(|value| Class::of_number(*value).map_err(wrong))
            .collect(),
    }
}

fn splits(members: &Members, sizes: &Sizes, split: u32, notes: &mut Vec<String>) -> Result<Option<Splits>, String> {
    let n_items = sizes.n_items(sizes.level);
    let (masks, note) = members.masks((sizes.level.one(), n_items), split)?;
    notes.extend(note);
    if masks.iter().all(Option::is_none) {
        return Ok(None);
    }
    // A split without validation is one with none that validates.
    let [train, val, test] = masks.map(|mask| mask.unwrap_or_else(|| vec![false; n_items]));
    let splits = Splits { train, val, test };
    match splits.twice() {
        Some(item) => Err(format!(
            "{} {item} is in two of the masks for training, validation and test",
            sizes.level.one()
        )),
        None => Ok(Some(splits)),
    }
}

#[cfg(test)]
mod tests;
