//! `ro-crate-metadata.json`: what a run or sweep directory holds, in the vocabulary of RO-Crate 1.1.
//!
//! The files with their sizes, the program and the command that made them, the data sets with their
//! fingerprints, and the metrics of the headline: of a run with their values. The date of
//! publication is the caller's, so that equal directories and dates give equal bytes.

use crate::Unit;
use crate::key::base;
use crate::run_dir::{ReadError, RunDir, list_files};
use crate::sweep_dir::{POINTS, SWEEP, SweepDir};
use crate::tables::Tables;
use crate::term::Meaning;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name that the standard gives the file.
pub const RO_CRATE: &str = "ro-crate-metadata.json";

const PROGRAM: &str = "#folkmoot";
const ACTION: &str = "#run";

/// What files are that are no tables of a run, by how their names begin.
const ABOUT: [(&str, &str); 10] = [
    ("scenario.ron", "The resolved experiment card."),
    ("manifest.json", "What was run, by which version, and the result hash."),
    ("sweep.json", "Axes, seeds and arms of the sweep."),
    ("summary.json", "Every number of the run."),
    ("points.csv", "Every number of every run, a row per run."),
    ("trace.json.gz", "Every event of the run."),
    ("figures/", "A figure, or its caption."),
    ("artifacts/", "A file that the algorithm left."),
    ("program/", "A copy of the user's program."),
    ("checkpoint/", "The saved state of an unfinished run."),
];

/// The kinds of files, by how their names end.
const KINDS: [(&str, &str); 10] = [
    (".csv", "text/csv"),
    (".json", "application/json"),
    (".ron", "text/plain"),
    (".txt", "text/plain"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".pdf", "application/pdf"),
    (".html", "text/html"),
    (".npy", "application/octet-stream"),
    (".gz", "application/gzip"),
];

/// What is said of a directory as a whole.
struct Whole<'a> {
    name: &'a str,
    question: &'a str,
    version: &'a str,
    command: &'a str,
    is_finished: bool,
    data: &'a BTreeMap<String, String>,
    hash: Option<&'a str>,
    seeds: Vec<u64>,
    units: &'a BTreeMap<String, Unit>,
    terms: &'a BTreeMap<String, Meaning>,
    /// The headline's metrics, each with its value; of a sweep none, since a mean over its arms would
    /// say nothing.
    numbers: Vec<(&'a str, Option<f64>)>,
}

/// The metadata of the run or sweep directory `dir`, which is published on `date`, such as
/// `2026-11-29`.
///
/// # Errors
///
/// Those of [`RunDir::open`] and [`SweepDir::open`].
pub fn ro_crate(dir: &Path, date: &str) -> Result<String, ReadError> {
    let files = list_files(dir)?;
    let crates = match dir.join(SWEEP).is_file() {
        true => of_sweep(&SweepDir::open(dir)?, &files, date),
        false => of_run(&RunDir::open(dir)?, &files, date),
    };
    Ok(format!("{crates:#}\n"))
}

fn of_run(run: &RunDir, files: &[String], date: &str) -> Value {
    let manifest = &run.manifest;
    let whole = Whole {
        name: &manifest.name,
        question: &manifest.question,
        version: &manifest.version,
        command: &manifest.command,
        is_finished: manifest.finished,
        data: &manifest.data_fingerprints,
        hash: manifest.result_fingerprint.as_deref(),
        seeds: vec![manifest.seed],
        units: &manifest.units,
        terms: &manifest.terms,
        numbers: (manifest.headline.iter())
            .filter_map(|name| Some((name.as_str(), Some(*run.summary.get(name)?))))
            .collect(),
    };
    whole.described(&run.path, files, date)
}

fn of_sweep(sweep: &SweepDir, files: &[String], date: &str) -> Value {
    let manifest = &sweep.manifest;
    let whole = Whole {
        name: &manifest.name,
        question: &manifest.question,
        version: &manifest.version,
        command: &manifest.command,
        is_finished: manifest.finished,
        data: &manifest.data_fingerprints,
        hash: None,
        seeds: manifest.seeds.clone(),
        units: &manifest.units,
        terms: &manifest.terms,
        numbers: manifest.headline.iter().map(|name| (name.as_str(), None)).collect(),
    };
    whole.described(&sweep.path, files, date)
}

impl Whole<'_> {
    fn described(&self, dir: &Path, files: &[String], date: &str) -> Value {
        let own = |file: &&String| *file != RO_CRATE && !file.starts_with("points/");
        let mut parts: Vec<Value> = files.iter().filter(own).map(|file| file_entity(dir, file)).collect();
        parts.extend(runs(files));
        let data: Vec<Value> = self.data.iter().map(data_entity).collect();
        let numbers: Vec<Value> = self
            .numbers
            .iter()
            .map(|(name, value)| self.number(name, *value))
            .collect();
        let mut root = json!({
            "@id": "./",
            "@type": "Dataset",
            "name": self.name,
            "description": self.description(),
            "datePublished": date,
            "hasPart": references(&parts),
            "mentions": { "@id": ACTION },
            "variableMeasured": references(&numbers),
        });
        if let Some(hash) = self.hash {
            root["identifier"] = json!(format!("blake3:{hash}"));
        }
        let descriptor = json!({
            "@id": RO_CRATE,
            "@type": "CreativeWork",
            "conformsTo": { "@id": "https://w3id.org/ro/crate/1.1" },
            "about": { "@id": "./" },
        });
        let program = json!({
            "@id": PROGRAM,
            "@type": "SoftwareApplication",
            "name": "Folkmoot",
            "softwareVersion": self.version,
        });
        let status = match self.is_finished {
            true => "http://schema.org/CompletedActionStatus",
            false => "http://schema.org/ActiveActionStatus",
        };
        let action = json!({
            "@id": ACTION,
            "@type": "CreateAction",
            "name": self.command,
            "instrument": { "@id": PROGRAM },
            "object": references(&data),
            "result": { "@id": "./" },
            "actionStatus": { "@id": status },
        });
        let mut graph = vec![descriptor, root];
        graph.extend(parts);
        graph.extend([program, action]);
        graph.extend(data);
        graph.extend(numbers);
        json!({ "@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph })
    }

    fn description(&self) -> String {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let said = match self.seeds.len() {
            1 => format!("Simulated with seed {}.", seeds[0]),
            _ => format!("Simulated with seeds {}.", seeds.join(", ")),
        };
        format!("{} {said}", self.question).trim_start().to_owned()
    }

    /// A metric of the headline, with its value in a run.
    fn number(&self, name: &str, value: Option<f64>) -> Value {
        let term = self.terms.get(base(name));
        let unit = match self.units.get(base(name)) {
            Some(Unit::Bytes) => "byte",
            Some(Unit::Seconds) => "second",
            Some(Unit::BytesPerSecond) => "byte per second",
            Some(Unit::Count) => "count",
            Some(Unit::Share | Unit::Number) | None => "",
        };
        let about = term.map_or(String::new(), Meaning::sentences);
        let of = match value {
            Some(_) => String::new(),
            None => format!(" {POINTS} has its value in every run."),
        };
        let mut number = json!({
            "@id": format!("#number/{}", encoded(name)),
            "@type": "PropertyValue",
            "name": term.map_or(name, |term| term.words.as_str()),
            "description": format!("{about}{of}").trim(),
        });
        if let Some(value) = value {
            // Infinite numbers and those that are none have no form in JSON.
            number["value"] = match value.is_finite() {
                true => json!(value),
                false => json!(value.to_string()),
            };
        }
        if !unit.is_empty() {
            number["unitText"] = json!(unit);
        }
        number
    }
}

fn references(entities: &[Value]) -> Vec<Value> {
    entities.iter().map(|entity| json!({ "@id": entity["@id"] })).collect()
}

fn file_entity(dir: &Path, file: &str) -> Value {
    let tables = Tables::ALL.iter().map(|table| (table.file, table.about));
    let about = ABOUT.into_iter().chain(tables).find(|(name, _)| file.starts_with(name));
    let kind = KINDS.iter().find(|(ending, _)| file.ends_with(ending));
    let mut entity = json!({
        "@id": encoded(file),
        "@type": "File",
        "name": file,
        "encodingFormat": kind.map_or("application/octet-stream", |(_, kind)| kind),
    });
    if let Some((_, about)) = about {
        entity["description"] = json!(about);
    }
    if let Ok(size) = fs::metadata(dir.join(file)) {
        entity["contentSize"] = json!(size.len().to_string());
    }
    entity
}

/// The run directories of a sweep, each as a whole.
fn runs(files: &[String]) -> Vec<Value> {
    let mut names: Vec<&str> = (files.iter())
        .filter_map(|file| file.strip_prefix("points/")?.split_once('/'))
        .map(|(name, _)| name)
        .collect();
    names.sort_unstable();
    names.dedup();
    let run = |name: &&str| {
        json!({
            "@id": format!("points/{}/", encoded(name)),
            "@type": "Dataset",
            "name": name,
            "description": format!("One run of the sweep; {POINTS} has its numbers."),
        })
    };
    names.iter().map(run).collect()
}

fn data_entity((name, fingerprint): (&String, &String)) -> Value {
    json!({
        "@id": format!("#data/{}", encoded(name)),
        "@type": "Dataset",
        "name": name,
        "identifier": format!("blake3:{fingerprint}"),
    })
}

/// A path as a part of a URL.
fn encoded(path: &str) -> String {
    let sign = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunWriter;
    use crate::sweep_dir::{Axis, SweepManifest, SweepWriter};
    use crate::testing::{TempDir, manifest, result};

    #[test]
    fn a_run_directory_is_described_by_its_files_its_program_and_its_numbers() {
        let temp = TempDir::new();
        let dir = temp.path().join("a run");
        let mut result = result(2);
        result.summary.insert("ε [at=1]".to_owned(), f64::INFINITY);
        let mut manifest = manifest();
        manifest.headline = vec!["ε [at=1]".to_owned(), "no such number".to_owned()];
        RunWriter::create(&dir, "Scenario()\n", manifest)
            .unwrap()
            .finish(&result)
            .unwrap();
        fs::create_dir(dir.join("figures")).unwrap();
        fs::write(dir.join("figures/a ä.svg"), "<svg/>").unwrap();
        let text = ro_crate(&dir, "2026-11-29").unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let graph = json["@graph"].as_array().unwrap();
        let of = |id: &str| graph.iter().find(|entity| entity["@id"] == id).unwrap();
        assert_eq!(of(RO_CRATE)["about"]["@id"], "./");
        assert_eq!(of("./")["datePublished"], "2026-11-29");
        assert_eq!(of("figures/a%20%C3%A4.svg")["encodingFormat"], "image/svg+xml");
        assert_eq!(of("rounds.csv")["description"], "A row per round.");
        assert_eq!(of("#number/%CE%B5%20%5Bat%3D1%5D")["value"], "inf");
        assert_eq!(
            of(ACTION)["actionStatus"]["@id"],
            "http://schema.org/CompletedActionStatus"
        );
        let ids: Vec<&str> = graph.iter().map(|entity| entity["@id"].as_str().unwrap()).collect();
        for part in of("./")["hasPart"].as_array().unwrap() {
            assert!(ids.contains(&part["@id"].as_str().unwrap()), "{part} is not described");
        }
        // What it wrote is no part of what it describes.
        fs::write(dir.join(RO_CRATE), &text).unwrap();
        assert_eq!(ro_crate(&dir, "2026-11-29").unwrap(), text);
    }

    /// A mean over arms would be a number of nothing.
    #[test]
    fn a_sweep_names_its_metrics_without_values_and_its_runs() {
        let temp = TempDir::new();
        let sweep = SweepManifest {
            axes: vec![Axis {
                path: "arm".to_owned(),
                values: vec!["a".to_owned(), "b".to_owned()],
                with: None,
            }],
            seeds: vec![1],
            headline: vec!["accuracy".to_owned()],
            ..SweepManifest::default()
        };
        let writer = SweepWriter::create(&temp.path().join("s"), sweep, "").unwrap();
        for point in writer.manifest().points() {
            let mut result = result(1);
            result.summary.insert("accuracy".to_owned(), f64::from(point.point));
            let run = RunWriter::create(&writer.point_path(&point), "Scenario()\n", manifest());
            run.unwrap().finish(&result).unwrap();
        }
        writer.collect().unwrap();
        let text = ro_crate(&temp.path().join("s"), "2026-11-29").unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let graph = json["@graph"].as_array().unwrap();
        let number = graph.iter().find(|entity| entity["@type"] == "PropertyValue").unwrap();
        assert_eq!((&number["name"], number.get("value")), (&json!("accuracy"), None));
        let is_run = |entity: &&Value| entity["@id"].as_str().is_some_and(|id| id.starts_with("points/"));
        assert_eq!(graph.iter().filter(is_run).count(), 2);
    }
}
