//! Metadata of a data set's file in Croissant 1.0, beside it: what it holds, its size and checksum.

use folkmoot_graphs::Dataset;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Terms that are those of Croissant under the same name.
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

/// The terms of Croissant 1.0 and where they are defined, as its specification lists them.
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
    let mut to = file.as_os_str().to_owned();
    to.push(".croissant.json");
    let to = PathBuf::from(to);
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut hasher = Sha256::new();
    let size = io::copy(&mut File::open(file)?, &mut hasher)?;
    let sum: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let metadata = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": dataset.name,
        "description": described(dataset, command),
        "version": env!("CARGO_PKG_VERSION"),
        "identifier": dataset.fingerprint().to_string(),
        "distribution": [{
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "description": "All graphs in the mapped format of Folkmoot.",
            "contentUrl": name,
            "contentSize": format!("{size} B"),
            "encodingFormat": "application/octet-stream",
            "sha256": sum,
        }],
    });
    fs::write(&to, format!("{metadata:#}\n"))?;
    Ok(to)
}

/// What the set holds, in sentences.
fn described(dataset: &Dataset, command: &str) -> String {
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
