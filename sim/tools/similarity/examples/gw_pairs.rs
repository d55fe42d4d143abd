//! Times Gromov-Wasserstein over all pairs of a set of graphs, or of every so many of them, on one
//! thread.
//!
//! `cargo run --release -p folkmoot-similarity --example gw_pairs -- ../shared/data MUTAG [every
//! [hops|signs [starts [values.bin]]]]`
//!
//! Distances are hop counts, or those between rows of random signs, as GW-LDP's encoder releases
//! them (one of two columns a row). `starts` is how many disturbed starts follow the first, or
//! `ends` for those from the ends of the graphs. The file gets everything for other programs:
//! little-endian `u32` number of graphs and their sizes, then as `f64` all matrices and the values
//! of all pairs.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "an example that measures and prints"
)]

use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_graphs::{DataDirs, DataSource, datasets};
use folkmoot_similarity::gw::{Options, Solver, Space};
use rand::RngExt;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let data = args.first().ok_or("the first argument must be the data folder")?;
    let name = args.get(1).map_or("MUTAG", String::as_str);
    let every: usize = args.get(2).map_or(Ok(1), |text| text.parse())?;
    let metric = args.get(3).map_or("hops", String::as_str);
    let starts = args.get(4).map_or("0", String::as_str);
    let end_starts = starts == "ends";
    let restarts: u32 = if end_starts { 0 } else { starts.parse()? };

    let mut rng = SimRng::seed_from_u64(1);
    let spec = datasets::TuDataset {
        name: name.to_owned(),
        label_features: true,
    };
    let dataset = spec.load(&DataDirs::new().with("data", data), &mut rng)?;
    let mut spaces = Vec::new();
    for graph in dataset.graphs.iter().step_by(every) {
        spaces.push(match metric {
            "hops" => Space::of_hops(graph)?,
            "signs" => Space::euclidean(&signs(graph.n_nodes(), &mut rng), 2)?,
            other => return Err(format!("the metric must be hops or signs, got {other}").into()),
        });
    }

    let n = spaces.len();
    let mut solver = Solver::new(Options {
        end_starts,
        restarts,
        start_jitter: if restarts > 0 { 0.1 } else { 0.0 },
        ..Options::default()
    })?;
    let mut values = Vec::with_capacity(n * (n - 1) / 2);
    let start = Instant::now();
    for (u, a) in spaces.iter().enumerate() {
        values.extend(spaces[u + 1..].iter().map(|b| solver.value(a, b)));
    }
    let seconds = start.elapsed().as_secs_f64();
    let sum: f64 = values.iter().sum();
    let nodes: usize = spaces.iter().map(Space::n).sum();
    println!(
        "graphs {n} mean_nodes {:.2} pairs {} sum {sum:.9}",
        nodes as f64 / n as f64,
        values.len()
    );
    println!("us_per_pair {:.3}", seconds * 1e6 / values.len() as f64);

    if let Some(path) = args.get(5) {
        let sizes = std::iter::once(n).chain(spaces.iter().map(Space::n));
        let mut bytes: Vec<u8> = sizes.flat_map(|size| (size as u32).to_le_bytes()).collect();
        let matrices = spaces.iter().flat_map(Space::to_matrix);
        bytes.extend(matrices.chain(values).flat_map(f64::to_le_bytes));
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

/// One random sign in one of two columns for each row.
fn signs(n: usize, rng: &mut SimRng) -> Vec<f64> {
    let mut rows = vec![0.0; 2 * n];
    for row in rows.chunks_exact_mut(2) {
        row[rng.random_range(0..2)] = if rng.random_range(0..2) == 0 { -1.0 } else { 1.0 };
    }
    rows
}
