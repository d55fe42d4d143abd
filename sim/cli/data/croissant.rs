//! Croissant 1.0 metadata, written next to the data file: its content, size and checksum.
//!
//! The file states conformance to Croissant 1.0, but lacks properties that Croissant requires and
//! the program does not know: `license`, `url`, `creator` and `datePublished`. Add them before you
//! publish the file.

use super::file::{sum_of, with_suffix};
use folkmoot_graphs::Dataset;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Terms with the same name in Croissant.
const TERMS: [&str; 26] = [
    "citeAs",
    "column",
    "equivalentProperty",
    "extract",
    "field",
    "fileObject",
    "fileProperty",
    "fileSet",
    "format",
    "includes",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
];

/// The JSON-LD context of Croissant 1.0, as in its specification.
fn context() -> Value {
    let mut context = json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": { "@id": "cr:data", "@type": "@json" },
        "dataType": { "@id": "cr:dataType", "@type": "@vocab" },
        "examples": { "@id": "cr:examples", "@type": "@json" },
    });
    for term in TERMS {
        context[term] = json!(format!("cr:{term}"));
    }
    context
}

/// Writes the metadata of `file`, made by `command`, and returns where.
pub(super) fn write(file: &Path, dataset: &Dataset, command: &str) -> io::Result<PathBuf> {
    let to = with_suffix(file, ".croissant.json");
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sum = sum_of(&mut File::open(file)?)?;
    let metadata = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": dataset.name,
        "description": description(dataset, command),
        "version": env!("CARGO_PKG_VERSION"),
        "identifier": dataset.fingerprint().to_string(),
        "distribution": [{
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "description": "All graphs in the mapped format of Folkmoot.",
            "contentUrl": name,
            "contentSize": format!("{} B", sum.bytes),
            "encodingFormat": "application/octet-stream",
            "sha256": sum.sha256,
        }],
    });
    fs::write(&to, format!("{metadata:#}\n"))?;
    Ok(to)
}

/// The content of the set, in sentences.
fn description(dataset: &Dataset, command: &str) -> String {
    let edges: usize = dataset.graphs.iter().map(|graph| graph.n_edges()).sum();
    let graphs = match dataset.graphs.len() {
        1 => "A graph".to_owned(),
        n => format!("{n} graphs"),
    };
    let mut said = format!("{graphs} with {} nodes and {edges} edges", dataset.n_nodes());
    if let Some(features) = &dataset.features {
        said += &format!(", {} features per node", features.n_columns());
    }
    if dataset.n_classes > 0 {
        said += &format!(", {} classes", dataset.n_classes);
    }
    format!("{said}. Made by: {command}")
}
