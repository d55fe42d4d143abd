//! The form of a golden file: strict, so that nothing in it goes unread.

use std::collections::BTreeSet;

use folkmoot_graphs::Graph;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::compare::{Got, Mismatch, compare};

/// One file: one topic.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What computes its cases.
    pub topic: String,
    about: String,
    library: Map<String, Value>,
    pub cases: Vec<Case>,
}

/// One call and what it must return.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, of which a file has one.
    pub name: String,
    pub op: String,
    #[serde(default)]
    note: Option<String>,
    params: Map<String, Value>,
    inputs: Map<String, Value>,
    /// What must come out.
    pub expected: Value,
    tol: Tolerances,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tolerances {
    f64: Tolerance,
    f32: Tolerance,
}

/// A value passes when `|got - expected| <= atol + rtol |expected|`.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tolerance {
    /// The share of the expected value, 0 to below 1.
    pub rtol: f64,
    /// The absolute part, 0 to below 1.
    pub atol: f64,
}

/// For cases without parameters or inputs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

impl File {
    /// Parses a file and checks what the types cannot: something to check, unique names, tolerances
    /// that mean something.
    ///
    /// # Errors
    ///
    /// What does not fit.
    pub fn parse(text: &str) -> Result<File, String> {
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.about.is_empty() || file.library.is_empty() {
            return Err("about and library must say where the values come from".into());
        }
        if file.cases.is_empty() {
            return Err("there are no cases".into());
        }
        let mut names = BTreeSet::new();
        for case in &file.cases {
            if !names.insert(&case.name) {
                return Err(format!("two cases are named {:?}", case.name));
            }
            let both = [case.tol.f64, case.tol.f32];
            let legal = |bound: f64| (0.0..1.0).contains(&bound);
            if !both
                .iter()
                .all(|tolerance| legal(tolerance.rtol) && legal(tolerance.atol))
            {
                return Err(format!("case {:?}: tolerances must lie in 0..1", case.name));
            }
            if case.note.as_ref().is_some_and(String::is_empty) {
                return Err(format!("case {:?}: the note is empty", case.name));
            }
            if case.expected.as_object().is_none_or(Map::is_empty) {
                return Err(format!("case {:?}: nothing is expected", case.name));
            }
        }
        Ok(file)
    }
}

impl Case {
    /// The parameters, each of which `T` must know.
    ///
    /// # Errors
    ///
    /// What does not fit.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, String> {
        decode("params", &self.params)
    }

    /// The inputs, each of which `T` must know.
    ///
    /// # Errors
    ///
    /// What does not fit.
    pub fn inputs<T: DeserializeOwned>(&self) -> Result<T, String> {
        decode("inputs", &self.inputs)
    }

    /// The inputs of a case without parameters.
    ///
    /// # Errors
    ///
    /// What does not fit.
    pub fn only_inputs<T: DeserializeOwned>(&self) -> Result<T, String> {
        self.params::<Nothing>()?;
        self.inputs()
    }

    /// Compares all that was computed with all that is expected, in double precision.
    pub fn compare(&self, got: Got) -> Vec<Mismatch> {
        compare(&got, &self.expected, self.tol.f64)
    }

    /// Compares all that was computed with all that is expected, in single precision.
    pub fn compare_single(&self, got: Got) -> Vec<Mismatch> {
        compare(&got, &self.expected, self.tol.f32)
    }

    /// The error for an operation that the topic does not know.
    pub fn unknown_op(&self) -> String {
        format!("unknown op {:?}", self.op)
    }
}

fn decode<T: DeserializeOwned>(part: &str, map: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(map.clone())).map_err(|error| format!("{part}: {error}"))
}

/// A list of rows of equal width as one row-major list, and the width.
///
/// # Errors
///
/// What does not fit.
pub fn row_major<T: Copy>(rows: &[Vec<T>]) -> Result<(Vec<T>, usize), String> {
    let width = rows.first().map_or(0, Vec::len);
    match rows.iter().all(|row| row.len() == width) {
        true => Ok((rows.concat(), width)),
        false => Err("a matrix has rows of different width".into()),
    }
}

/// Zeros and ones as truth values.
///
/// # Errors
///
/// What does not fit.
pub fn flags(bits: &[u8]) -> Result<Vec<bool>, String> {
    match bits.iter().all(|bit| *bit <= 1) {
        true => Ok(bits.iter().map(|bit| *bit == 1).collect()),
        false => Err("a label must be 0 or 1".into()),
    }
}

/// Turns the project's typed errors into the runner's text.
pub fn text(error: impl std::error::Error) -> String {
    error.to_string()
}

/// A graph by its directed pairs; an undirected edge is listed in both directions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    num_nodes: u32,
    edges: Vec<(u32, u32)>,
}

impl Pairs {
    /// The graph.
    ///
    /// # Errors
    ///
    /// When an edge leads nowhere or is listed in one direction only.
    pub fn undirected(&self) -> Result<Graph, String> {
        let listed = Graph::from_edges(self.num_nodes, &self.edges, true).map_err(text)?;
        match listed.arcs().all(|(u, v)| listed.has_edge(v, u)) {
            true => Ok(listed.undirected()),
            false => Err("an edge is listed in one direction only".into()),
        }
    }
}
