//! The names that a result hash is taken over.
//!
//! The hash of a recorded run is a hash of file names, column heads and metric names as well as of
//! numbers. It is taken over the names that were in use when the record began, through one table
//! from the present name to the old one, so that a rename moves no recorded hash.
//!
//! To rename a file, a column or a metric: change it where it is written and add a line to
//! [`CANONICAL`].

use super::SUMMARY;
use super::manifest::{decode_summary, encode_summary};
use crate::key::{MetricKey, base, score_name};
use crate::records::{ReadingRow, ScoreRow};
use crate::table::Row;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// The table from present names to those of the record.
pub(super) struct Canonical {
    /// Files: present name, old name. Paths below `artifacts/` are written with it.
    pub files: &'static [(&'static str, &'static str)],
    /// Columns of tables: present file, present name, old name; [`ADDED`] for one that came after
    /// the record began and is not hashed.
    pub columns: &'static [(&'static str, &'static str, &'static str)],
    /// Metrics: present name, old name, without the split in front and without `@label` or
    /// `[parameter=value]` behind.
    pub metrics: &'static [(&'static str, &'static str)],
    /// Labels of references, behind the `@` of a metric: present name, old name.
    pub labels: &'static [(&'static str, &'static str)],
    /// Words in cells of a table: present file and column, present words, old words.
    pub words: &'static [(&'static str, &'static str, &'static str, &'static str)],
}

/// The old name of a column that there was not.
const ADDED: &str = "";

/// The table. Files below `artifacts/` are hashed in the order of their present names, so a new
/// name keeps the place of the old one among those of its algorithm.
pub(super) const CANONICAL: Canonical = Canonical {
    files: &[
        ("artifacts/intercepted.csv", "artifacts/messages.csv"),
        ("artifacts/intercepted.npy", "artifacts/messages.npy"),
        ("artifacts/intercepted_columns.csv", "artifacts/messages_columns.csv"),
    ],
    columns: &[
        ("messages.csv", "materialised", "carried"),
        ("privacy.csv", "epsilon_max_client", "epsilon_worst_client"),
        ("privacy.csv", "epsilon_pld", ADDED),
        ("privacy.csv", "epsilon_total", ADDED),
        ("privacy.csv", "accountant", ADDED),
    ],
    metrics: &[],
    labels: &[
        ("Theorem 4.1, as published", "Theorem 4.1, as printed"),
        ("Theorem 4.2, as published", "Theorem 4.2, as printed"),
        ("Theorem 4.2, corrected", "Theorem 4.2, right form"),
    ],
    words: &[
        ("privacy.csv", "mechanism", "Gaussian noise", "normal noise"),
        (
            "privacy.csv",
            "mechanism",
            "exponential as published",
            "exponential as printed",
        ),
    ],
};

/// The present name of a column that the table in `file` has, which an earlier version may have
/// written.
pub(crate) fn present_column<'a>(file: &str, column: &'a str) -> &'a str {
    let mut columns = CANONICAL.columns.iter();
    let renamed = columns.find(|(table, _, old)| *table == file && *old == column);
    renamed.map_or(column, |(_, new, _)| new)
}

impl Canonical {
    /// The old name and the bytes under old names of one file of the result.
    pub(super) fn file<'a>(&self, name: &'a str, bytes: &'a [u8]) -> (&'a str, Cow<'a, [u8]>) {
        let old = self
            .files
            .iter()
            .find(|(new, _)| *new == name)
            .map_or(name, |(_, old)| old);
        let bytes = match name {
            SUMMARY => self.summary(bytes),
            _ if name.ends_with(".csv") && !name.contains('/') => self.table(name, bytes),
            _ => None,
        }
        .map_or(Cow::Borrowed(bytes), Cow::Owned);
        (old, bytes)
    }

    /// The old name of a metric, if it is another one.
    fn metric(&self, name: &str) -> Option<String> {
        let (stem, key) = (base(name), MetricKey::parse(name));
        let of = |stem: &str| self.metrics.iter().find(|(new, _)| *new == stem).map(|(_, old)| *old);
        let of_split = || {
            let split = key.split?;
            Some(score_name(split, of(stem.strip_prefix(split)?.strip_prefix('_')?)?))
        };
        // A reading of the mean loss of a mechanism has the mechanism's words in its name.
        let of_mechanism = || {
            let plain = |words: &str| words.replace(|c: char| !c.is_alphanumeric(), "_");
            let mechanism = stem.strip_prefix(ReadingRow::EPSILON)?;
            let mut words = self.words.iter().filter(|(_, column, ..)| *column == "mechanism");
            words.find_map(|(.., new, old)| {
                let renamed = mechanism.contains(&plain(new));
                renamed.then(|| ReadingRow::EPSILON.to_owned() + &mechanism.replace(&plain(new), &plain(old)))
            })
        };
        let old = of(stem).map(str::to_owned).or_else(of_split).or_else(of_mechanism);
        let label = self.labels.iter().find(|(new, _)| key.reference == Some(*new));
        if old.is_none() && label.is_none() {
            return None;
        }
        let renamed = MetricKey {
            at: key.at,
            reference: label.map_or(key.reference, |(_, old)| Some(*old)),
            ..MetricKey::of(old.as_deref().unwrap_or(stem))
        };
        Some(renamed.to_string())
    }

    /// `summary.json` under old names, or nothing if it has them already. A file that cannot be
    /// read is taken as it is.
    fn summary(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let summary = decode_summary(Path::new(SUMMARY), bytes).ok()?;
        if summary.keys().all(|name| self.metric(name).is_none()) {
            return None;
        }
        let old: BTreeMap<String, f64> = summary
            .into_iter()
            .map(|(name, value)| (self.metric(&name).unwrap_or(name), value))
            .collect();
        Some(encode_summary(&old))
    }

    /// A table under old names, or nothing if it has them already. A file that cannot be read is
    /// taken as it is.
    fn table(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let columns: Vec<_> = self.columns.iter().filter(|(file, ..)| *file == name).collect();
        let words: Vec<_> = self.words.iter().filter(|(file, ..)| *file == name).collect();
        let has_metrics = name == ScoreRow::FILE && !(self.metrics.is_empty() && self.labels.is_empty());
        if columns.is_empty() && words.is_empty() && !has_metrics {
            return None;
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        let mut heads: Vec<String> = Vec::new();
        let is_added = |head: &str| columns.iter().any(|(_, new, old)| *new == head && *old == ADDED);
        for (row, record) in reader.records().enumerate() {
            let record = record.ok()?;
            if row == 0 {
                heads = record.iter().map(str::to_owned).collect();
            }
            let there = record
                .iter()
                .enumerate()
                .filter(|(at, _)| !heads.get(*at).is_some_and(|head| is_added(head)));
            let cells = there.map(|(at, cell)| {
                if row == 0 {
                    let old = columns.iter().find(|(_, new, _)| *new == cell);
                    return Cow::Borrowed(old.map_or(cell, |(.., old)| old));
                }
                let head = heads.get(at).map_or("", String::as_str);
                let is_metric = has_metrics && head == "metric";
                let of_column = words.iter().filter(|(_, column, ..)| *column == head);
                let old = match is_metric {
                    true => self.metric(cell),
                    false => of_column
                        .filter(|(.., new, _)| cell.contains(new))
                        .map(|(.., new, old)| cell.replace(new, old))
                        .next(),
                };
                old.map_or(Cow::Borrowed(cell), Cow::Owned)
            });
            let cells: Vec<Cow<'_, str>> = cells.collect();
            writer.write_record(cells.iter().map(|cell| cell.as_bytes())).ok()?;
        }
        writer.into_inner().ok()
    }
}

/// `scores.csv` with the rows of `readings.csv` after its first `after` rows, where they stood when
/// the record began. A file that cannot be read is taken as it is.
pub(super) fn with_readings(scores: Vec<u8>, readings: &[u8], after: u64) -> Vec<u8> {
    let merge = || -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let table = |bytes| {
            csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(bytes)
        };
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        let mut scores = table(scores.as_slice()).into_byte_records();
        for row in scores.by_ref().take(usize::try_from(after)? + 1) {
            writer.write_byte_record(&row?)?;
        }
        for row in table(readings).into_records().skip(1) {
            let row = row?;
            let cells: Vec<&str> = row.iter().collect();
            let [round, virtual_s, metric, value, n] = cells[..] else {
                return Err("a row of readings.csv has five cells".into());
            };
            let split = ReadingRow::split(metric).unwrap_or_default();
            writer.write_record([round, virtual_s, split, metric, value, n])?;
        }
        for row in scores {
            writer.write_byte_record(&row?)?;
        }
        Ok(writer.into_inner()?)
    };
    let merged = (!readings.is_empty()).then(|| merge().ok()).flatten();
    merged.unwrap_or(scores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::manifest::{fingerprint, hash};

    const RENAMED: Canonical = Canonical {
        files: &[
            ("runs.csv", "rounds.csv"),
            ("artifacts/embeddings.csv", "artifacts/vectors.csv"),
        ],
        columns: &[
            ("runs.csv", "n_selected", "cohort"),
            ("runs.csv", "n_late", ADDED),
            ("scores.csv", "part", "split"),
        ],
        metrics: &[("area", "auc"), ("own_worst_share", "own_worst_tenth")],
        labels: &[("published", "printed")],
        words: &[("privacy.csv", "mechanism", "Gaussian noise", "normal noise")],
    };

    #[test]
    fn renamed_names_move_no_hash_and_a_changed_number_does() {
        let old: [(&str, &[u8]); 4] = [
            ("rounds.csv", b"round,cohort\n0,3\n"),
            ("scores.csv", b"round,split,metric,value\n0,test,auc,0.5\n0,all,loss,1.0\n"),
            (
                "summary.json",
                b"{\n  \"other\": 1,\n  \"test_auc\": 0.5,\n  \"test_auc@chance\": 0.5,\n  \"test_own_worst_tenth\": 0.25\n}\n",
            ),
            ("artifacts/vectors.csv", b"x\n"),
        ];
        let new: [(&str, &[u8]); 4] = [
            ("runs.csv", b"round,n_selected,n_late\n0,3,9\n"),
            ("scores.csv", b"round,part,metric,value\n0,test,area,0.5\n0,all,loss,1.0\n"),
            (
                "summary.json",
                b"{\n  \"other\": 1,\n  \"test_area\": 0.5,\n  \"test_area@chance\": 0.5,\n  \"test_own_worst_share\": 0.25\n}\n",
            ),
            ("artifacts/embeddings.csv", b"x\n"),
        ];
        let recorded = fingerprint(old);
        assert_eq!(hash(&RENAMED, new), recorded);
        // The test can fail: without the table the names count, and with it the numbers do.
        assert_ne!(fingerprint(new), recorded);
        let mut changed = new;
        changed[2].1 = b"{\n  \"other\": 2,\n  \"test_area\": 0.5\n}\n";
        assert_ne!(hash(&RENAMED, changed), recorded);
        changed = new;
        changed[1].1 = b"round,part,metric,value\n0,test,area,0.75\n0,all,loss,1.0\n";
        assert_ne!(hash(&RENAMED, changed), recorded);
    }

    #[test]
    fn labels_and_words_are_hashed_as_they_were() {
        assert_eq!(RENAMED.metric("auc@published"), Some("auc@printed".to_owned()));
        assert_eq!(RENAMED.metric("area@published"), Some("auc@printed".to_owned()));
        assert_eq!(
            RENAMED.metric("test_area@published"),
            Some("test_auc@printed".to_owned())
        );
        assert_eq!(RENAMED.metric("auc@chance"), None);
        let table = |name, text: &'static str| {
            let (_, bytes) = RENAMED.file(name, text.as_bytes());
            String::from_utf8(bytes.into_owned()).unwrap()
        };
        let (new, old) = (
            "mechanism,unit\nGaussian noise: sum,Gaussian noise\n",
            "mechanism,unit\nnormal noise: sum,Gaussian noise\n",
        );
        assert_eq!(table("privacy.csv", new), old);
        assert_eq!(table("clients.csv", new), new);
        // Readings, which are hashed among the scores, have the mechanism in their names.
        let of_reading = RENAMED.metric("epsilon_mean_Gaussian_noise__sum");
        assert_eq!(of_reading, Some("epsilon_mean_normal_noise__sum".to_owned()));
        assert_eq!(RENAMED.metric("epsilon_mean_laplace__sum"), None);
        let scores = "round,metric,value\n0,auc@published,1\n";
        assert_eq!(table("scores.csv", scores), "round,metric,value\n0,auc@printed,1\n");
    }

    #[test]
    fn readings_are_hashed_where_they_stood_among_the_scores() {
        let scores = b"round,virtual_s,split,metric,value,n\n0,1,test,auc,0.5,9\n1,2,test,auc,0.75,9\n";
        let readings = b"round,virtual_s,metric,value,n\n0,1,online_share,0.5,4\n0,1,epsilon_mean_noise,2,4\n";
        let old = "round,virtual_s,split,metric,value,n\n0,1,test,auc,0.5,9\n0,1,clients,online_share,0.5,4\n\
            0,1,privacy,epsilon_mean_noise,2,4\n1,2,test,auc,0.75,9\n";
        let merged =
            |readings: &[u8], after| String::from_utf8(with_readings(scores.to_vec(), readings, after)).unwrap();
        assert_eq!(merged(readings, 1), old);
        assert!(merged(readings, u64::MAX / 2).ends_with("epsilon_mean_noise,2,4\n"));
        // Without any, or where they are no table, the scores are hashed as they are.
        for nothing in [b"".as_slice(), b"a,b\n1,2\n"] {
            assert_eq!(merged(nothing, 1).as_bytes(), scores);
        }
    }

    #[test]
    fn what_has_the_old_names_or_cannot_be_read_is_taken_as_it_is() {
        let raw: &[u8] = b"{ not json";
        assert_eq!(RENAMED.file(SUMMARY, raw), (SUMMARY, Cow::Borrowed(raw)));
        let plain: &[u8] = b"{\"a\": 1}";
        assert_eq!(RENAMED.file(SUMMARY, plain), (SUMMARY, Cow::Borrowed(plain)));
        assert_eq!(RENAMED.metric("area[gamma=2]"), Some("auc[gamma=2]".to_owned()));
        assert_eq!(RENAMED.metric("areas"), None);
    }
}
