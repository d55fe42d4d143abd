//! Times a hybrid tree over many random vectors, and questions to it.
//!
//! `cargo run --release -p folkmoot-similarity --example hybrid_tree -- [n [part_size [threads]]]`:
//! 1,000,000 vertices, 1,024 and all cores unless said otherwise; 13 bins.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "an example that measures and prints"
)]

use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_similarity::dissimilarity::Sequences;
use folkmoot_similarity::dtw::Metric;
use folkmoot_similarity::linkage::Linkage;
use folkmoot_similarity::tree::hybrid;
use rand::RngExt;
use std::error::Error;
use std::time::Instant;

const K: usize = 13;
const QUERIES: u32 = 10_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let arg = |i: usize, default: usize| args.get(i).copied().unwrap_or(default);
    let (n, part_size, threads) = (arg(0, 1_000_000), arg(1, 1024), arg(2, 0));

    let mut rng = SimRng::seed_from_u64(1);
    let mut vectors = Vec::with_capacity(n * K);
    for _ in 0..n {
        let degree = 1.0 / rng.random_range(0.01f32..1.0);
        vectors.extend((0..K).map(|_| degree * rng.random_range(0.0f32..1.0)));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let start = Instant::now();
    let sequences = Sequences::of_vectors(&vectors, K);
    let tree = pool.install(|| {
        hybrid(&vectors, K, part_size, Linkage::Average, |part| {
            sequences.select(part).all_pairs(Metric::L1)
        })
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "vertices {n} parts of {part_size} threads {} seconds {seconds:.2}",
        pool.current_num_threads()
    );

    let vertex = |i: u32| i.wrapping_mul(0x9E37_79B9) % n as u32;
    let start = Instant::now();
    let sum: u64 = (0..QUERIES)
        .map(|i| u64::from(tree.leaves_under_lca(vertex(i), vertex(i + 1))))
        .sum();
    let ns = start.elapsed().as_secs_f64() * 1e9 / f64::from(QUERIES);
    println!("leaves under the lowest common ancestor: {ns:.1} ns a query, sum {sum}");
    Ok(())
}
