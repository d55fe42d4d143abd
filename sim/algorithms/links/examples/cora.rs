//! Centralised link prediction on Cora, to compare with PyTorch Geometric on the same split:
//! `cora.py` beside this file reads the split that this program writes.
//!
//! Usage: `cargo run --release -p folkmoot-links --example cora DATA FOLDER`, with the data folder
//! that has `planetoid/`. For each of five seeds it writes `FOLDER/SEED.csv` with a row
//! `first,second,part` for each edge and each test pair without an edge, and prints the scores of
//! 100 epochs by Adam.
#![allow(clippy::print_stdout, reason = "the scores are the output")]

use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Citation, DataDirs, DataSource, Dataset, Partitioner, datasets, partition};
use folkmoot_links::{Division, Held, Params, Part};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

const SETTINGS: &str = "(
    model: (hidden: 128, outputs: 64),
    training: (epochs: 100, optimiser: Adam, learning_rate: 0.01),
    inputs: RowNormalised,
    split: (validation: 0.05, test: 0.1),
    protocol: (rounds: 1),
)";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let data = DataDirs::new().with("argument", arguments.next().ok_or("give the data folder")?);
    let folder = arguments.next().ok_or("give a folder for the splits")?;
    std::fs::create_dir_all(&folder)?;
    let params: Params = folkmoot_links::only().settings(SETTINGS)?;
    let spec = datasets::Planetoid {
        name: Citation::Cora,
        largest_component: false,
    };
    println!("seed,test_auc,test_average_precision");
    for seed in 1..=5 {
        let streams = Streams::new(seed);
        let dataset = Arc::new(spec.load(&data, &mut streams.global(Purpose(*b"dataset ")))?);
        let partition = partition::Iid { n_clients: 1 };
        let partition = Arc::new(partition.divide(&dataset, &mut streams.global(Purpose(*b"partitn ")))?);
        let source = Source::new(&dataset, &partition, streams);
        std::fs::write(
            Path::new(&folder).join(format!("{seed}.csv")),
            split(&params, &dataset, &source)?,
        )?;
        let prepared = params.prepare(&source)?;
        let outcome = run(
            prepared.system(),
            &World::ideal(),
            seed,
            Options::default(),
            &mut Unobserved,
        )?;
        let number = |name: &str| {
            outcome
                .summary
                .iter()
                .find(|(key, _)| key == name)
                .map_or(f64::NAN, |found| found.1)
        };
        println!("{seed},{},{}", number("test_auc"), number("test_average_precision"));
    }
    Ok(())
}

/// All edges with their parts, and the test pairs without an edge.
fn split(params: &Params, dataset: &Dataset, source: &Source<'_>) -> Result<String, StrategyError> {
    let name = |part: Part| match part {
        Part::Both | Part::Message | Part::Supervised => "train",
        Part::Validation => "validation",
        Part::Test => "test",
    };
    let edges = Division::new(params.split, source.streams).edges(dataset.graph());
    let mut rows: Vec<String> = edges
        .into_iter()
        .map(|((u, v), part)| format!("{u},{v},{}\n", name(part)))
        .collect();
    let held = Held::new(params, source)?;
    rows.extend(held.test_non_edges().map(|(u, v)| format!("{u},{v},none\n")));
    Ok(rows.concat())
}
