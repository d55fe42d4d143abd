//! Times the dissimilarity of all pairs of BlogCatalog's vertices, or of every so many of them, and
//! its clustering.
//!
//! `cargo run --release -p folkmoot-similarity --example all_pairs -- ../shared/data [every
//! [threads [matrices.bin]]]`
//!
//! The file gets the sequences, for other programs: little-endian `u32` n and k, n lengths, then
//! all rows as `f32`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "an example that measures and prints"
)]

use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_graphs::{DataDirs, DataSource, datasets};
use folkmoot_similarity::dissimilarity::Sequences;
use folkmoot_similarity::dtw::Metric;
use folkmoot_similarity::linkage::{Linkage, linkage};
use folkmoot_similarity::tree::Tree;
use rand::RngExt;
use std::error::Error;
use std::time::Instant;

const K: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let data = args.first().ok_or("the first argument must be the data folder")?;
    let every: usize = args.get(1).map_or(Ok(1), |text| text.parse())?;
    let threads: usize = args.get(2).map_or(Ok(0), |text| text.parse())?;

    let mut rng = SimRng::seed_from_u64(1);
    let dataset = datasets::BlogCatalog {}.load(&DataDirs::new().with("data", data), &mut rng)?;
    let graph = dataset.graph();
    let bins: Vec<usize> = (0..graph.n_nodes()).map(|_| rng.random_range(0..K)).collect();
    let mut vectors = vec![0.0f32; graph.n_nodes() * K];
    for (u, vector) in (0u32..).zip(vectors.chunks_exact_mut(K)) {
        for &v in graph.neighbours(u) {
            vector[bins[v as usize]] += 1.0;
        }
        vector.iter_mut().for_each(|count| *count += laplace(&mut rng));
    }
    let all = Sequences::of_neighbours(graph, &vectors, K);
    let sample: Vec<&[f32]> = (0..all.n() as u32).step_by(every).map(|u| all.matrix(u)).collect();
    let sequences = Sequences::new(K, sample.iter().copied());
    if let Some(path) = args.get(3) {
        let mut bytes = Vec::new();
        let lengths = sample.iter().map(|matrix| matrix.len() / K);
        for number in [sample.len(), K].into_iter().chain(lengths) {
            bytes.extend_from_slice(&(number as u32).to_le_bytes());
        }
        bytes.extend(sample.iter().copied().flatten().flat_map(|value| value.to_le_bytes()));
        std::fs::write(path, bytes)?;
    }

    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let start = Instant::now();
    let matrix = pool.install(|| sequences.all_pairs(Metric::L1));
    let seconds = start.elapsed().as_secs_f64();
    let cells = sequences.n_cells() as f64;
    let sum: f64 = matrix.values().iter().map(|&value| f64::from(value)).sum();
    println!(
        "vertices {} pairs {} cells {cells:.3e}",
        sequences.n(),
        matrix.values().len()
    );
    println!(
        "threads {} seconds {seconds:.2} sum {sum:.6e}",
        pool.current_num_threads()
    );
    println!(
        "ns_per_cell_and_thread {:.4}",
        seconds * 1e9 / cells * pool.current_num_threads() as f64
    );

    let n = sequences.n();
    let start = Instant::now();
    let mut capped = matrix;
    let cap = capped.cap_infinite();
    let tree = Tree::from_merges(n, &linkage(capped, Linkage::Average));
    println!("linkage seconds {:.2} capped {cap:?}", start.elapsed().as_secs_f64());
    let members = tree.subset(0..n as u32);
    let start = Instant::now();
    let nearest: u64 = (0..n as u32)
        .map(|u| u64::from(tree.nearest(u, &members, 10, |v| tree.leaves_under_lca(u, v) as f32)[0]))
        .sum();
    println!(
        "ten nearest of all: seconds {:.3} sum {nearest}",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A value of the Laplace law of scale 1/2: the difference of two exponential ones.
fn laplace(rng: &mut SimRng) -> f32 {
    let mut exponential = || -libm::log(1.0 - rng.random_range(0.0f64..1.0)) / 2.0;
    (exponential() - exponential()) as f32
}
