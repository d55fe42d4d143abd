//! How long the ClientApp takes on this machine: the ServerApp is played until it trains, without
//! a network, and each client then has its message several times.

use super::process::{Answer, Conversation, Log, Pushed, Request, bytes};
use super::strategy::App;
use super::{message, whole};
use crate::app::{seed, told};
use crate::flower::message::{AppMessage, Head};
use crate::pool::Trouble;
use crate::protocol::Frame;
use folkmoot_engine::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const CALIBRATE: Purpose = Purpose(*b"flwr-cpu");
/// Requests of a ServerApp before its first training.
const MOST_REQUESTS: usize = 100_000;

/// A call of the ClientApp outside of a run.
fn call(app: &App, pushed: &Pushed, client: u32, rng: String) -> Result<Frame<'static>, StrategyError> {
    let header = json!({
        "client": client,
        "number": 1,
        "type": pushed.kind,
        "group": pushed.group,
        "created_at": 0,
        "ttl": pushed.ttl,
        "now": 0,
        "seed": rng,
        "timed": true,
    });
    let request = Frame::new("message", header).with(vec![bytes("content".to_owned(), &pushed.content)]);
    let failed =
        |trouble: Trouble| StrategyError(format!("the ClientApp of client {client} failed: {}", told(&trouble)));
    app.pool().ask(&request, None).map(|(_, reply)| reply).map_err(failed)
}

/// The processor time of a `train` message at each client, in seconds: the median of `repeats`.
pub(super) fn calibrate(
    app: &App,
    n_clients: u32,
    streams: Streams,
    repeats: usize,
) -> Result<Vec<f64>, StrategyError> {
    let rng = |client: u32, at: usize| {
        let party = Party::Client(ClientId(client));
        seed(streams.party(CALIBRATE, party, Round(at as u32)))
    };
    let pushed = first_training(app, n_clients, &rng)?;
    let of_client = |client: u32| -> Result<f64, StrategyError> {
        let mut times = Vec::with_capacity(repeats);
        for at in 0..repeats.max(1) {
            let reply = call(app, &pushed, client, rng(client, at))?;
            let seconds = reply.header.get("cpu_s").and_then(Value::as_f64);
            times.push(seconds.ok_or_else(|| StrategyError("the worker's time cannot be read".to_owned()))?);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    };
    (0..n_clients).map(of_client).collect()
}

/// The first `train` message of the ServerApp.
fn first_training(app: &App, n_clients: u32, rng: &dyn Fn(u32, usize) -> String) -> Result<Pushed, StrategyError> {
    let mut conversation = Conversation::default();
    let log = Log::default();
    let (mut now, mut n_sent) = (0, 0);
    let mut replies: BTreeMap<u64, AppMessage> = BTreeMap::new();
    let mut answer = None;
    for _ in 0..MOST_REQUESTS {
        let asked = conversation.ask((app.pool(), &app.started), answer.as_ref(), (&log, app.log_gb))?;
        answer = Some(match asked.request {
            Request::Nodes => Answer::Nodes((0..n_clients).collect()),
            Request::Sleep(until) => {
                now = until.0.max(now);
                Answer::Slept(now)
            }
            Request::Push(all) => {
                let n = all.len();
                for pushed in all {
                    if message::category(&pushed.kind) == "train" {
                        return Ok(pushed);
                    }
                    n_sent += 1;
                    let mut reply = call(app, &pushed, pushed.client, rng(pushed.client, 0))?;
                    let error = reply.header.get("error").cloned().unwrap_or_default();
                    let head = Head {
                        number: n_sent,
                        kind: pushed.kind,
                        group: pushed.group,
                        created_at: now,
                        ttl: pushed.ttl,
                        error: serde_json::from_value(error).unwrap_or_default(),
                        bytes: whole(&reply.header, "bytes").unwrap_or_default(),
                    };
                    let content = reply.take("content").map(|array| Arc::from(&*array.bytes));
                    replies.insert(n_sent, AppMessage { head, content });
                }
                Answer::Pushed(vec![0; n])
            }
            Request::Pull { numbers, .. } => Answer::Pulled {
                now,
                replies: numbers.iter().filter_map(|number| replies.remove(number)).collect(),
                expired: Vec::new(),
            },
            Request::Done => break,
        });
    }
    Err(StrategyError(
        "the ServerApp sends no train message, so there is nothing to measure".to_owned(),
    ))
}
