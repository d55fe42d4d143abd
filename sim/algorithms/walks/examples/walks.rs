//! Events a second and memory a device of FedWalk's walks, by the number of devices: random graphs
//! of mean degree 16, walks of 40 without prediction, messages alone, the ledger on; 100 000 walks,
//! but at least one a device. The memory is the most that the process had, less what it had with
//! the graph alone; it says something of the first number of devices in a process only.
//!
//! `cargo run --release -p folkmoot-walks --example walks [threads] [devices…]`; CSV on stdout.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures time, and tells"
)]

use folkmoot_draws::{Purpose, Streams, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Graph, Partition};
use folkmoot_parts::Chosen;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_walks::fedwalk::encoder::Identity;
use folkmoot_walks::fedwalk::{Params, Pool, Rows};
use folkmoot_walks::node_embedding::Embedding;
use std::sync::Arc;
use std::time::Instant;

/// A random graph of mean degree 16, without loops.
fn graph(n: u32) -> Arc<Dataset> {
    let mut rng = Streams::new(1).global(Purpose(*b"bench   "));
    let mut draw = || index(&mut rng, n as usize) as u32;
    let edges: Vec<(u32, u32)> = (0..8 * n).map(|_| (draw(), draw())).filter(|(u, v)| u != v).collect();
    let graph = Graph::from_edges(n, &edges, false).expect("ids are below n");
    Arc::new(Dataset::of_graph("bench", graph))
}

/// Bytes of this process's memory: `VmRSS:` now, `VmHWM:` at most so far. What is left at the end
/// would depend on what the allocator happens to give back.
fn memory(line: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|text| text.strip_prefix(line))?;
    Some(1024 * kib.split_whitespace().next()?.parse::<u64>().ok()?)
}

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let threads = numbers.first().map_or(1, |threads| *threads as usize);
    let sizes = match numbers.get(1..) {
        Some(sizes) if !sizes.is_empty() => sizes.to_vec(),
        _ => vec![1_000, 10_000, 100_000, 1_000_000],
    };
    println!("devices,threads,events,seconds,events_per_s,bytes_per_device");
    for n in sizes {
        let dataset = graph(n);
        let params = Params {
            walks_per_node: (100_000 / n).max(1),
            rows: Rows::Off,
            pool: Pool::Vector,
            predictor_prob: 0.0,
            encoder: Chosen::new(Identity {}),
            embedding: Embedding::Off,
            attacks: false,
            ..Params::default()
        };
        let before = memory("VmRSS:");
        let partition = Arc::new(Partition::one_item_each(n));
        let system = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(1)))
            .expect("the graph is undirected");
        let options = Options {
            threads,
            dry_run: true,
            ..Options::default()
        };
        let start = Instant::now();
        let outcome = run(system.system(), &World::ideal(), 1, options, &mut Unobserved).expect("an ideal run ends");
        let seconds = start.elapsed().as_secs_f64();
        let bytes = memory("VmHWM:")
            .zip(before)
            .map_or(0, |(after, before)| after.saturating_sub(before) / u64::from(n));
        let rate = outcome.handled as f64 / seconds;
        println!("{n},{threads},{},{seconds:.3},{rate:.0},{bytes}", outcome.handled);
    }
}
