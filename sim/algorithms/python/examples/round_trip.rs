//! Measures the round trip of a job that does nothing, by the size of its model, and of a handler
//! that answers a message, with a state as large.
//!
//! ```sh
//! cargo run --release -p folkmoot-python --example round_trip -- python3
//! ```
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures and prints"
)]

use folkmoot_python::pool::{Launch, Pool, Trouble};
use folkmoot_python::protocol::{Array, Frame};
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;

const APP: &str = "
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    return {'w': np.zeros(facts.n_features, np.float32)}

@fm.train(cost=lambda shard, config: 1.0)
def train(params, shard, ctx):
    return fm.Update(params)

class Mine(fm.Strategy):
    messages = {'model': fm.Down, 'update': fm.Up}

    def on_client(self, event, cx):
        cx.send(fm.SERVER, 'update', event.arrays)
";

/// Seconds of each of some round trips, ascending: of a job, and of a handler.
fn measured(python: &str, app: &str, n: usize) -> Result<[Vec<f64>; 2], Trouble> {
    let settings = json!({"path": app, "config": {}, "device": "cpu", "deterministic": true});
    let launch = Launch {
        python: python.into(),
        module: "folkmoot.worker",
        app: Frame::new("app", settings),
        dir: None,
        timeout: None,
    };
    let (mut pool, _) = Pool::start(launch)?;
    let facts = json!({"n_features": n, "n_clients": 1});
    let made = pool.ask_first(&Frame::new("initial", json!({"facts": facts, "seed": "00".repeat(32)})))?;
    let spec = made.header.get("spec").cloned().unwrap_or(Value::Null);
    let opening = json!({"data": null, "client": 0, "facts": facts, "spec": spec, "n_rounds": 1});
    pool.open(Frame::new("open", opening), 1)?;
    let params = vec![0.5; n];
    let request = Frame::new("train", json!({"client": 0, "round": 0, "seed": "00".repeat(32)}))
        .with(vec![Array::floats("params", &params)]);
    let event = json!({"kind": "message", "name": "model", "sender": "server", "arrays": [["w", "e0"]]});
    let handler = Frame::new(
        "handle",
        json!({
            "client": 0, "now": 0.0, "round": 0, "event_round": 0, "deadline": null, "seed": "00".repeat(32),
            "event": event, "state": {"dict": [["w", {"array": "s0"}]]},
        }),
    )
    .with(vec![Array::floats("e0", &params), Array::floats("s0", &params)]);
    Ok([timed(&pool, &request, n)?, timed(&pool, &handler, n)?])
}

fn timed(pool: &Pool, request: &Frame<'_>, n: usize) -> Result<Vec<f64>, Trouble> {
    let repeats = (20_000_000 / n).clamp(5, 500);
    let mut times = Vec::new();
    for _ in 0..repeats {
        let before = Instant::now();
        pool.ask(request, None)?;
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn main() {
    let python = std::env::args().nth(1).unwrap_or_else(|| "python3".to_owned());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let app = folder.path().join("client.py");
    fs::write(&app, APP).expect("a file in it");
    println!(
        "{:>12} {:>12} {:>12} {:>14} {:>12}",
        "bytes", "job: least", "median ms", "handler: least", "median ms"
    );
    for n in [500, 5_000, 50_000, 500_000, 5_000_000, 25_000_000] {
        match measured(&python, &app.display().to_string(), n) {
            Ok(both) => {
                let [job, handler] = both.map(|times| [1e3 * times[0], 1e3 * times[times.len() / 2]]);
                println!(
                    "{:>12} {:>12.3} {:>12.3} {:>14.3} {:>12.3}",
                    4 * n,
                    job[0],
                    job[1],
                    handler[0],
                    handler[1]
                );
            }
            Err(trouble) => return println!("{trouble}"),
        }
    }
}
