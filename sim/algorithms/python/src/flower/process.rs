//! The process of a ServerApp: its requests, the answers, and how a new process comes to where
//! another was.

use super::{Started, whole};
use crate::app::told;
use crate::flower::message::AppMessage;
use crate::pool::{Pool, Trouble, Worker, no_calls};
use crate::protocol::{Array, Frame};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The folder for files that a ServerApp writes, in the run directory.
const FILES: &str = "app_files";

/// What a ServerApp asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Which clients are online.
    Nodes,
    /// Send these.
    Push(Vec<Pushed>),
    /// The replies to these messages: those that are there, when one is there, or when all are,
    /// but no later than `until`.
    Pull {
        numbers: Vec<u64>,
        wait: Wait,
        until: Option<SimTime>,
    },
    /// Nothing until then.
    Sleep(SimTime),
    /// Nothing any more.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wait {
    None,
    Any,
    All,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pushed {
    pub(crate) client: u32,
    pub(crate) kind: String,
    pub(crate) group: String,
    pub(crate) ttl: u64,
    /// The round that it names, from 1 on.
    pub(crate) round: Option<u64>,
    pub(crate) content: Arc<[u8]>,
    pub(crate) bytes: u64,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Nodes(Vec<u32>),
    /// The round of each message.
    Pushed(Vec<u32>),
    /// Replies, and the numbers of messages whose time to live is over.
    Pulled {
        now: u64,
        replies: Vec<AppMessage>,
        expired: Vec<u64>,
    },
    Slept(u64),
}

impl Answer {
    /// The bytes of its contents.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Answer::Pulled { replies, .. } => {
                let contents = replies.iter().filter_map(|reply| reply.content.as_ref());
                contents.map(|content| content.len() as u64).sum()
            }
            _ => 0,
        }
    }

    fn frame(&self) -> Frame<'_> {
        match self {
            Answer::Nodes(clients) => Frame::new("nodes", json!({"clients": clients})),
            Answer::Pushed(rounds) => Frame::new("pushed", json!({"rounds": rounds})),
            Answer::Slept(now) => Frame::new("slept", json!({"now": now})),
            Answer::Pulled { now, replies, expired } => {
                let mut arrays = Vec::new();
                let mut listed: Vec<Value> = Vec::new();
                for reply in replies {
                    let head = &reply.head;
                    let name = reply.content.as_ref().map(|content| {
                        let name = format!("c{}", arrays.len());
                        arrays.push(bytes(name.clone(), content));
                        name
                    });
                    listed.push(json!([head.number, head.created_at, head.ttl, head.error, name]));
                }
                let none = || Value::Null;
                listed.extend(
                    expired
                        .iter()
                        .map(|number| json!([number, none(), none(), none(), none()])),
                );
                Frame::new("pulled", json!({"now": now, "replies": listed})).with(arrays)
            }
        }
    }
}

/// An array of bytes.
pub(crate) fn bytes<'a>(name: String, bytes: &'a [u8]) -> Array<'a> {
    Array {
        name: name.into(),
        dtype: "uint8".into(),
        shape: vec![bytes.len()],
        bytes: Cow::Borrowed(bytes),
    }
}

impl Request {
    /// Reads a frame of the process; `None` if it is no request.
    fn of(mut frame: Frame<'_>) -> Option<Request> {
        Some(match frame.kind() {
            "nodes" => Request::Nodes,
            "push" => {
                let header = std::mem::take(&mut frame.header);
                let listed = header.get("messages")?.as_array()?;
                let contents: Vec<(String, Arc<[u8]>)> = frame
                    .arrays
                    .iter()
                    .map(|array| (array.name.to_string(), Arc::from(&*array.bytes)))
                    .collect();
                let message = |listed: &Value| {
                    let (client, kind, group, ttl, round, name, bytes): (_, _, _, _, _, String, _) =
                        serde_json::from_value(listed.clone()).ok()?;
                    let (_, content) = contents.iter().find(|(known, _)| *known == name)?;
                    Some(Pushed {
                        client,
                        kind,
                        group,
                        ttl,
                        round,
                        content: Arc::clone(content),
                        bytes,
                    })
                };
                Request::Push(listed.iter().map(message).collect::<Option<_>>()?)
            }
            "pull" => {
                let numbers = frame.header.get("numbers")?.clone();
                Request::Pull {
                    numbers: serde_json::from_value(numbers).ok()?,
                    wait: match frame.text("wait")? {
                        "none" => Wait::None,
                        "any" => Wait::Any,
                        _ => Wait::All,
                    },
                    until: whole(&frame.header, "until").map(SimTime),
                }
            }
            "sleep" => Request::Sleep(SimTime(whole(&frame.header, "until")?)),
            "done" => Request::Done,
            _ => return None,
        })
    }
}

/// A metric that the ServerApp has: its round from 0 on, split, name, value, number of examples.
pub(crate) type Metric = (u32, String, String, f64, u64);

/// A request with what identifies it, and metrics that came with it.
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) digest: u64,
    pub(crate) metrics: Vec<Metric>,
}

/// The answers that a ServerApp had, each with the digest of the request before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Log {
    answers: Vec<(u64, Answer)>,
    /// The digest of the request that has no answer yet.
    last: u64,
    bytes: u64,
    /// It was larger than it may be, and is empty.
    is_full: bool,
}

impl Log {
    /// Adds the answer to the last request.
    pub(crate) fn add(&mut self, answer: &Answer, most: f64) {
        self.bytes += answer.size();
        if self.is_full || self.bytes as f64 > most {
            *self = Log {
                is_full: true,
                bytes: self.bytes,
                ..Log::default()
            };
        } else {
            self.answers.push((self.last, answer.clone()));
        }
    }

    pub(crate) fn expect(&mut self, digest: u64) {
        self.last = digest;
    }
}

/// A process, once it has begun.
#[derive(Default)]
pub(crate) struct Conversation {
    process: Option<Worker>,
    has_begun: bool,
}

impl Conversation {
    /// Its next request after an answer; without one, its first. A process that has not begun is
    /// started, and gets the answers of the log before.
    pub(crate) fn ask(
        &mut self,
        (pool, started): (&Pool, &Started),
        answer: Option<&Answer>,
        (log, most_gb): (&Log, f64),
    ) -> Result<Asked, StrategyError> {
        if !self.has_begun {
            self.has_begun = true;
            self.begin(pool, started, (log, most_gb), answer.is_some())?;
        }
        let frame = match answer {
            Some(answer) => answer.frame(),
            None => serve(started),
        };
        self.say(pool, &frame)
    }

    fn say(&mut self, pool: &Pool, frame: &Frame<'_>) -> Result<Asked, StrategyError> {
        let raised = |trouble: Trouble| match trouble {
            Trouble::Raised { .. } => StrategyError(format!("the ServerApp failed: {}", told(&trouble))),
            other => StrategyError(format!("the process of the ServerApp failed: {other}")),
        };
        let frame = pool
            .ask_process(&mut self.process, frame, &mut no_calls)
            .map_err(raised)?;
        let digest = digest(&frame);
        let metrics = frame.header.get("metrics").cloned();
        let metrics = metrics.and_then(|metrics| serde_json::from_value(metrics).ok());
        let unread = || StrategyError("a request of the ServerApp's process cannot be read".to_owned());
        Ok(Asked {
            request: Request::of(frame).ok_or_else(unread)?,
            digest,
            metrics: metrics.unwrap_or_default(),
        })
    }

    /// Starts a process; where another was before, it gets the answers that the other had.
    fn begin(
        &mut self,
        pool: &Pool,
        started: &Started,
        (log, most_gb): (&Log, f64),
        is_resumed: bool,
    ) -> Result<(), StrategyError> {
        let failed = |trouble: Trouble| StrategyError(format!("the process of the ServerApp failed: {trouble}"));
        self.process = Some(pool.worker().map_err(failed)?);
        if !is_resumed {
            return Ok(());
        }
        if log.is_full {
            return Err(StrategyError(format!(
                "the ServerApp cannot be brought back to where it was: it had received more than {most_gb} GB (strategy.log_gb)\n\
                 help: run again from the start, with --set strategy.log_gb={}",
                (log.bytes as f64 / 1e9 * 2.0).ceil()
            )));
        }
        let mut asked = self.say(pool, &serve(started))?;
        for (at, (digest, answer)) in log.answers.iter().enumerate() {
            same(at, *digest, &asked)?;
            asked = self.say(pool, &answer.frame())?;
        }
        same(log.answers.len(), log.last, &asked)
    }
}

/// Checks that a process asks what the one before it asked.
fn same(at: usize, digest: u64, asked: &Asked) -> Result<(), StrategyError> {
    if asked.digest == digest {
        return Ok(());
    }
    let what = match asked.request {
        Request::Nodes => "list of nodes",
        Request::Push(_) => "messages to send",
        Request::Pull { .. } => "replies to receive",
        Request::Sleep(_) => "time to sleep",
        Request::Done => "end",
    };
    Err(StrategyError(format!(
        "the ServerApp did not repeat itself: its request {} ({what}) differs from that before the interruption; it depends on \
         something that changes, such as a file, the system's entropy or a set's order\nhelp: run again from the start",
        at + 1
    )))
}

/// The request that starts the ServerApp.
fn serve(started: &Started) -> Frame<'static> {
    let folder = started.dir.as_ref().map(|dir| dir.join(FILES));
    let folder = folder.map(|folder| std::path::absolute(&folder).unwrap_or(folder));
    Frame::new("serve", json!({"seed": started.seed, "folder": folder}))
}

/// What identifies a request.
fn digest(frame: &Frame<'_>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(Value::Object(frame.header.clone()).to_string().as_bytes());
    for array in &frame.arrays {
        hasher.update(&(array.bytes.len() as u64).to_le_bytes());
        hasher.update(&array.bytes);
    }
    let hash = hasher.finalize();
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("8 bytes"))
}
