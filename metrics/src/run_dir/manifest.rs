//! `manifest.json` and `summary.json`, and the fingerprint of a result.

use super::ARTIFACTS;
use super::canonical::{CANONICAL, Canonical};
use super::error::ReadError;
use crate::artifacts::KEPT;
use crate::metric::Unit;
use crate::table::{bare_cells, number_text, parse_number};
use crate::term::Meaning;
use crate::words::count;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// What `manifest.json` says of a run: what was run, by what, and whether it came to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    /// The target it was built for; results are promised equal within one target.
    pub target: String,
    pub seed: u64,
    /// The version of the results of its algorithm: raised whenever a change of the program moves a
    /// number.
    #[serde(default = "first")]
    pub results_version: u32,
    /// Whether it was a dry run: every message simulated, nothing learned.
    #[serde(default)]
    pub dry_run: bool,
    /// The fingerprint of each data set, in hexadecimal.
    pub data_fingerprints: BTreeMap<String, String>,
    /// The fingerprint of the result, in hexadecimal, once finished: see [`fingerprint`].
    pub result_fingerprint: Option<String>,
    /// Whether the run came to its end.
    pub finished: bool,
    /// The command that repeats the run.
    pub command: String,
    /// What everybody knew of the data before the run, by name: all that the strategy itself was
    /// made of besides its settings.
    #[serde(default)]
    pub public_facts: BTreeMap<String, serde_json::Value>,
    /// What the metrics of the summary and the scores are measured in, by name; those that are
    /// missing are plain numbers.
    #[serde(default)]
    pub units: BTreeMap<String, Unit>,
    /// What they mean, by name; those that are missing say nothing of themselves.
    #[serde(default)]
    pub terms: BTreeMap<String, Meaning>,
    /// The question that the card asks.
    #[serde(default)]
    pub question: String,
    /// The summary names that answer it, in their order.
    #[serde(default)]
    pub headline: Vec<String>,
    /// The names of the figures that answer the card's question, `*` standing for anything; without
    /// any, those that answer most questions.
    #[serde(default)]
    pub figures: Vec<String>,
    /// What the data come to and how much of them no client sees, where that is known;
    /// `partition.csv` has the clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<Division>,
    /// The programs of the user's own that the run calls, by the paths in the card, with their
    /// files; `program/` has copies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// The programs that were changed before the run was resumed, by the paths in the card, with
    /// the fingerprints from then on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_programs: BTreeMap<String, String>,
    /// The names of the summary that are no part of the fingerprint: they say what other files say
    /// already, and came later than many recorded prints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unhashed: Vec<String>,
    /// After how many rows of `scores.csv` the result hash has those of `readings.csv`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub readings_after: u64,
    /// The form of Laplace and Gaussian noise of privacy mechanisms: `Discrete` or `Float`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub noise: String,
    /// The largest step of the grid of discrete noise, in scales of the noise: the standard
    /// deviation of Gaussian noise, the scale of Laplace noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_granularity: Option<f64>,
    /// What trusted parties who see all data did before the run.
    #[serde(default)]
    pub trusted: Vec<String>,
    /// The state that it began with, where it did not begin afresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What a reader of the numbers should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What went otherwise than the scenario hoped.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What was shared out among the clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    /// What the items are: `nodes` or `graphs`.
    pub of: String,
    /// How many there are.
    pub items: u64,
    /// Among how many clients.
    pub clients: u64,
    /// Edges of the data; arcs, if they are directed.
    pub edges: u64,
    /// Those that lie in no shard whole.
    pub cut_edges: u64,
    /// Items that several clients have.
    #[serde(default, skip_serializing_if = "is_none")]
    pub shared_items: u64,
    /// Items that no client has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub spare_items: u64,
}

impl Division {
    /// The edges that are cut where nodes of one graph are shared out in pieces. Where each client
    /// has a node of its own, all are.
    pub fn cut_of_pieces(&self) -> Option<u64> {
        (self.of == "nodes" && self.clients < self.items).then_some(self.cut_edges)
    }

    /// What to say of one graph of which most edges lie between clients.
    pub fn cut_note(&self) -> Option<String> {
        let cut = self.cut_of_pieces().filter(|cut| 2 * cut > self.edges)?;
        let share = 100.0 * cut as f64 / self.edges as f64;
        Some(format!(
            "{share:.0} % of the edges ({} of {}) lie between clients: no shard has both of their ends",
            count(cut),
            count(self.edges)
        ))
    }
}

/// The version of results before there were any others.
fn first() -> u32 {
    1
}

fn is_none(n: &u64) -> bool {
    *n == 0
}

/// Where a forked run comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The run directory, as it was named.
    pub dir: String,
    /// The fingerprint of the state that was saved there.
    pub checkpoint: String,
}

/// `value` as indented JSON with a line feed at the end; keys in the order of the fields.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain structs with text keys always have a JSON form");
    text.push(b'\n');
    text
}

/// The value of a JSON file's bytes; `path` is named in the error.
pub(crate) fn from_json<T: for<'de> Deserialize<'de>>(path: &Path, bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| ReadError::json(path, &error))
}

/// The text of `summary.json`: one number a line, sorted by name; `inf`, `-inf` and `nan` as
/// strings, since JSON has no such numbers.
pub fn encode_summary(summary: &BTreeMap<String, f64>) -> Vec<u8> {
    let lines: Vec<String> = summary
        .iter()
        .map(|(name, &value)| {
            let name = serde_json::Value::from(name.as_str());
            let number = number_text(value);
            if value.is_finite() {
                format!("  {name}: {number}")
            } else {
                format!("  {name}: \"{number}\"")
            }
        })
        .collect();
    if lines.is_empty() {
        b"{}\n".to_vec()
    } else {
        format!("{{\n{}\n}}\n", lines.join(",\n")).into_bytes()
    }
}

/// The inverse of [`encode_summary`]; `path` is named in the error.
pub(crate) fn decode_summary(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, f64>, ReadError> {
    let values: BTreeMap<String, serde_json::Value> = from_json(path, bytes)?;
    values
        .into_iter()
        .map(|(name, value)| {
            let number = match &value {
                serde_json::Value::Number(number) => number.as_f64(),
                serde_json::Value::String(text) => parse_number(text).filter(|number| !number.is_finite()),
                _ => None,
            };
            match number {
                Some(number) => Ok((name, number)),
                None => {
                    let key = serde_json::Value::from(name.as_str()).to_string();
                    let text = String::from_utf8_lossy(bytes);
                    let line = text
                        .lines()
                        .position(|line| line.contains(&key))
                        .map_or(1, |idx| idx + 1);
                    let rule = format!("{name}: must be a number, \"inf\", \"-inf\" or \"nan\", got {value}");
                    Err(ReadError::Json {
                        path: path.to_owned(),
                        line,
                        rule,
                    })
                }
            }
        })
        .collect()
}

/// The hash of a result: BLAKE3, in hexadecimal, over its files in the order given, under the names
/// that were in use when the record began.
///
/// The order is `rounds.csv`, `messages.csv`, `scores.csv` with the rows of `readings.csv`,
/// `privacy.csv`, `clients.csv`, `summary.json`, then every file below `artifacts/` except
/// [`KEPT`], sorted by path (bytewise, with `/`). Each file is preceded by its name and its size,
/// and the name by its length (both `u64`, little-endian), so that no byte can move from one file
/// to the next unnoticed. In tables a cell such as `3.0` counts as `3`, so that the hash does not
/// depend on how a number is spelled. Not hashed are
///
/// - `timing.csv`, which may differ;
/// - `partition.csv` and `absences.csv`, which follow from the data and the card;
/// - `client_scores.csv`, `controls.csv`, the last columns of `privacy.csv` (`epsilon_pld`,
///   `epsilon_total` and `accountant`), and the numbers that the manifest calls unhashed, which came
///   after the record began;
/// - figures and the report, which are drawn from these files;
/// - the checkpoint and the trace, which a run may or may not leave;
/// - `scenario.ron` and `manifest.json`, which state what was asked for.
pub fn fingerprint<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    hash(&CANONICAL, files)
}

/// [`fingerprint`] under the names of a table.
pub(super) fn hash<'a>(names: &Canonical, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hasher = blake3::Hasher::new();
    let hashed = files.into_iter().filter(|(name, _)| !is_kept(name));
    for (name, bytes) in hashed.map(|(name, bytes)| names.file(name, bytes)) {
        let is_table = name.ends_with(".csv") && !name.contains('/');
        let bytes = if is_table { Cow::from(bare_cells(&bytes)) } else { bytes };
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    hasher.finalize().to_hex().to_string()
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Whether a file of a run directory is one that a card has the run keep, whose result is the same
/// without.
fn is_kept(name: &str) -> bool {
    let below = name.strip_prefix(ARTIFACTS).and_then(|name| name.strip_prefix('/'));
    below.is_some_and(|name| KEPT.contains(&name))
}

/// The part of a `summary.json` that the fingerprint is taken of: all but the names that the
/// manifest calls unhashed.
///
/// # Errors
///
/// When it is no summary.
pub(crate) fn hashed_summary(path: &Path, bytes: Vec<u8>, unhashed: &[String]) -> Result<Vec<u8>, ReadError> {
    if unhashed.is_empty() {
        return Ok(bytes);
    }
    let mut summary = decode_summary(path, &bytes)?;
    summary.retain(|name, _| !unhashed.contains(name));
    Ok(encode_summary(&summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_summary_has_a_number_a_line_and_no_needless_fraction() {
        let summary = BTreeMap::from([
            ("b_s".to_owned(), 0.5),
            ("a \"x\"".to_owned(), 3.0),
            ("c".to_owned(), f64::INFINITY),
        ]);
        let text = encode_summary(&summary);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "{\n  \"a \\\"x\\\"\": 3,\n  \"b_s\": 0.5,\n  \"c\": \"inf\"\n}\n"
        );
        assert_eq!(decode_summary(Path::new("summary.json"), &text).unwrap(), summary);
        assert_eq!(
            decode_summary(Path::new("summary.json"), &encode_summary(&BTreeMap::new())).unwrap(),
            BTreeMap::new()
        );
    }

    #[test]
    fn a_summary_value_that_is_no_number_is_refused_with_its_line() {
        let error = decode_summary(Path::new("summary.json"), b"{\n \"a\": 1,\n \"b\": \"much\"\n}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "summary.json: line 3: b: must be a number, \"inf\", \"-inf\" or \"nan\", got \"much\""
        );
    }

    #[test]
    fn a_byte_cannot_move_between_files_unnoticed() {
        let whole = fingerprint([("a", b"xy".as_slice()), ("b", b"".as_slice())]);
        assert_ne!(whole, fingerprint([("a", b"x".as_slice()), ("b", b"y".as_slice())]));
        assert_ne!(whole, fingerprint([("ax", b"y".as_slice()), ("b", b"".as_slice())]));
        assert_eq!(whole.len(), 64);
    }

    #[test]
    fn what_came_later_or_is_kept_moves_no_fingerprint() {
        let path = Path::new("summary.json");
        let old = BTreeMap::from([("a".to_owned(), 0.5), ("z".to_owned(), f64::NAN)]);
        let mut new = old.clone();
        new.insert("cut_edges".to_owned(), 7.0);
        let hashed = hashed_summary(path, encode_summary(&new), &["cut_edges".to_owned()]).unwrap();
        assert_eq!(hashed, encode_summary(&old));
        // A strategy's own number of that name is part of its result.
        assert_eq!(
            hashed_summary(path, encode_summary(&new), &[]).unwrap(),
            encode_summary(&new)
        );
        let without = fingerprint([("a", b"x".as_slice())]);
        assert_eq!(
            without,
            fingerprint([("a", b"x".as_slice()), ("artifacts/model.npy", b"y".as_slice())])
        );
        assert_ne!(
            without,
            fingerprint([("a", b"x".as_slice()), ("artifacts/tree.npy", b"y".as_slice())])
        );
    }

    #[test]
    fn a_graph_of_which_most_edges_are_cut_is_noted() {
        let division = |of: &str, clients, cut_edges| Division {
            of: of.to_owned(),
            items: 100,
            clients,
            edges: 1000,
            cut_edges,
            shared_items: 0,
            spare_items: 0,
        };
        let note = division("nodes", 10, 903).cut_note().unwrap();
        assert!(
            note.starts_with("90 % of the edges (903 of 1 000) lie between clients: no shard has"),
            "{note}"
        );
        assert_eq!(division("nodes", 10, 500).cut_note(), None);
        assert_eq!(division("nodes", 100, 1000).cut_note(), None, "a node a client");
        assert_eq!(division("graphs", 10, 903).cut_note(), None);
    }

    proptest! {
        #[test]
        fn summaries_round_trip_bit_for_bit(summary in proptest::collection::btree_map(".*", any::<f64>(), 0..20)) {
            let text = encode_summary(&summary);
            let back = decode_summary(Path::new("summary.json"), &text).unwrap();
            prop_assert_eq!(text, encode_summary(&back));
            for (name, value) in &summary {
                prop_assert!(value.is_nan() || back[name].to_bits() == value.to_bits());
            }
        }
    }
}
