//! What a figure says of itself inside its files, taken from the directory that is drawn: no clock,
//! so that equal tables give equal bytes.

use crate::sweep::first_run_dir;
use folkmoot_metrics::run_dir::read_manifest;
use folkmoot_metrics::sweep_dir::POINTS;
use folkmoot_metrics::words::visible;
use folkmoot_metrics::{ReadError, RunDir, SweepDir};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Where the numbers of figures are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The name of the card.
    pub(crate) card: String,
    /// The command that makes the result, without places on this machine.
    pub(crate) command: String,
    /// The program that made it, and its version.
    pub(crate) software: String,
    /// What was hashed with BLAKE3, and its hash, once finished.
    pub(crate) hash: Option<(&'static str, String)>,
    pub(crate) seeds: Vec<u64>,
    /// The data sets, with sizes where there is one and they are known.
    pub(crate) data: String,
}

fn software(version: &str) -> String {
    format!("Folkmoot {version}")
}

fn names(data: &BTreeMap<String, String>) -> String {
    data.keys().map(|name| visible(name)).collect::<Vec<_>>().join(", ")
}

impl Source {
    pub(crate) fn of_run(run: &RunDir) -> Source {
        let manifest = &run.manifest;
        let mut data = names(&manifest.data_fingerprints);
        if let Some(division) = manifest
            .division
            .as_ref()
            .filter(|_| manifest.data_fingerprints.len() == 1)
        {
            data += &format!(" ({} {}, {} clients)", division.items, division.of, division.clients);
        }
        Source {
            card: visible(&manifest.name).into_owned(),
            command: portable(&visible(&manifest.command)),
            software: software(&manifest.version),
            hash: manifest.result_fingerprint.clone().map(|hash| ("Result hash", hash)),
            seeds: vec![manifest.seed],
            data,
        }
    }

    /// That of a sweep: its hash is that of its table, which has every number of every run.
    ///
    /// # Errors
    ///
    /// When the manifest of its first run is damaged.
    pub(crate) fn of_sweep(sweep: &SweepDir) -> Result<Source, ReadError> {
        let manifest = &sweep.manifest;
        let mut data = manifest.data_fingerprints.clone();
        // That of data which no file holds stands with each run alone, and may be another in each.
        let is_one = manifest.axes.iter().all(|axis| !axis.path.starts_with("dataset"));
        if let Some(dir) = first_run_dir(sweep).filter(|_| data.is_empty() && is_one) {
            data = read_manifest(&dir)?.data_fingerprints;
        }
        let table = fs::read(sweep.path.join(POINTS)).ok().filter(|_| manifest.finished);
        // Those of the runs that there are.
        let seeds: BTreeSet<u64> = sweep.points.iter().map(|point| point.seed).collect();
        let hash = table.map(|table| ("Hash of points.csv", blake3::hash(&table).to_hex().to_string()));
        Ok(Source {
            card: visible(&manifest.name).into_owned(),
            command: portable(&visible(&manifest.command)),
            software: software(&manifest.version),
            hash,
            seeds: seeds.into_iter().collect(),
            data: names(&data),
        })
    }
}

/// A command as it is on any machine: without the directory of data, which a fingerprint names, and
/// of absolute paths the last part.
fn portable(command: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let words = command.split(|c: char| {
        is_quoted ^= c == '\'' && !is_escaped;
        is_escaped = c == '\\' && !is_quoted;
        c == ' ' && !is_quoted
    });
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--data" {
            words.next();
            continue;
        }
        let (quote, bare) = match word.strip_prefix('\'') {
            Some(bare) => ("'", bare),
            None => ("", word),
        };
        let last = bare.rsplit('/').next().filter(|_| bare.starts_with('/'));
        kept.push(format!("{quote}{}", last.unwrap_or(bare)));
    }
    kept.join(" ")
}

/// What the files of one figure say of it.
pub(crate) struct About<'a> {
    pub(crate) title: String,
    /// The content, for screen readers.
    pub(crate) description: String,
    pub(crate) source: Option<&'a Source>,
}

impl About<'_> {
    /// By key, what is known of it.
    pub(crate) fn said(&self) -> Vec<(&'static str, &str)> {
        let mut said = vec![("Title", self.title.as_str())];
        if let Some(source) = self.source {
            said.push(("Card", &source.card));
            said.push(("Command", &source.command));
            said.push(("Software", &source.software));
            said.extend(source.hash.as_ref().map(|(name, hash)| (*name, hash.as_str())));
        }
        said.retain(|(_, text)| !text.is_empty());
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_no_place_on_a_machine() {
        let cases = [
            ("folkmoot run karate", "folkmoot run karate"),
            ("folkmoot run /cards/a/b.ron --seed 2", "folkmoot run b.ron --seed 2"),
            ("folkmoot run 'd/a b.ron' --data /tmp/x", "folkmoot run 'd/a b.ron'"),
            (
                "folkmoot run '/cards/a b/it'\\''s c.ron' --data '/d d' --set 'x=Y(\"/e f\")'",
                "folkmoot run 'it'\\''s c.ron' --set 'x=Y(\"/e f\")'",
            ),
        ];
        for (command, expected) in cases {
            assert_eq!(portable(command), expected);
        }
    }
}
