//! The server's side of an app: messages on their way, and what its process waits for.

use super::message::{AppMessage, Down, Head};
use super::process::{Answer, Asked, Conversation, Log, Pushed, Request, Wait};
use super::strategy::App;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds that a message may be ahead of the one before it.
const MOST_AHEAD: u64 = 1000;
/// Sleeps in a row with nothing under way, after which nothing will come.
const MOST_SLEEPS: u32 = 100_000;

/// The state of the server, except its process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Server {
    pub(super) log: Log,
    n_sent: u64,
    /// Messages without a reply that has been given to the app.
    open: BTreeMap<u64, Open>,
    /// Replies that have come, in their order.
    mail: Vec<AppMessage>,
    waits: Option<Waits>,
    n_timers: u32,
    /// The clients and types of messages of this round, and the clients that have answered.
    asked: BTreeSet<(u32, String)>,
    answered: BTreeSet<u32>,
    /// Of rounds before, the clients that have not.
    missing: BTreeMap<u32, BTreeSet<u32>>,
    n_sleeps: u32,
    /// By round, split and name: the value, and over how many examples.
    pub(super) metrics: BTreeMap<(u32, String, String), (f64, u64)>,
}

/// A message on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    client: u32,
    round: u32,
    expires: SimTime,
    is_answered: bool,
}

/// What the process waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Waits {
    timer: u32,
    until: SimTime,
    what: For,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum For {
    Time,
    Replies {
        numbers: Vec<u64>,
        wait: Wait,
        n_missing: usize,
    },
}

impl Server {
    pub(super) fn on(
        &mut self,
        app: &App,
        conversation: &mut Conversation,
        event: ServerEvent<App>,
        cx: &mut ServerContext<'_, App>,
    ) -> Result<(), StrategyError> {
        let answer = match event {
            ServerEvent::Start => None,
            ServerEvent::Message { from, message } => match self.receive(from, message.into_message(), cx) {
                true => self.wake(cx.now()),
                false => return Ok(()),
            },
            ServerEvent::Timer(TimerId(id)) => match self.waits.as_ref().is_some_and(|waits| waits.timer == id) {
                true => self.wake(cx.now()),
                false => return Ok(()),
            },
            ServerEvent::Quiet => {
                return Err(StrategyError(
                    "the ServerApp waits, and nothing is under way".to_owned(),
                ));
            }
            ServerEvent::Done(_) | ServerEvent::Undelivered { .. } => return Ok(()),
        };
        self.go_on(app, conversation, answer, cx)
    }

    /// Answers the process, and its requests until it waits.
    fn go_on(
        &mut self,
        app: &App,
        conversation: &mut Conversation,
        mut answer: Option<Answer>,
        cx: &mut ServerContext<'_, App>,
    ) -> Result<(), StrategyError> {
        loop {
            let on = (app.pool(), &*app.started);
            let asked = conversation.ask(on, answer.as_ref(), (&self.log, app.log_gb))?;
            if let Some(answer) = &answer {
                self.log.add(answer, app.log_gb * 1e9);
            }
            let Asked {
                request,
                digest,
                metrics,
            } = asked;
            self.log.expect(digest);
            for (round, split, name, value, n) in metrics {
                self.metrics.insert((round, split, name), (value, n));
            }
            answer = match request {
                Request::Nodes => Some(Answer::Nodes(cx.online().into_iter().map(|client| client.0).collect())),
                Request::Push(messages) => Some(Answer::Pushed(self.push(messages, cx)?)),
                Request::Pull { numbers, wait, until } => self.pull(numbers, wait, until, cx),
                Request::Sleep(until) => self.sleep(until, cx)?,
                Request::Done => {
                    if !self.asked.is_empty() {
                        self.end_round(cx);
                    }
                    cx.finish();
                    return Ok(());
                }
            };
            if answer.is_none() {
                return Ok(());
            }
        }
    }

    /// Sends messages; the round of each.
    fn push(&mut self, messages: Vec<Pushed>, cx: &mut ServerContext<'_, App>) -> Result<Vec<u32>, StrategyError> {
        let mut rounds = Vec::with_capacity(messages.len());
        self.n_sleeps = 0;
        for pushed in messages {
            let Pushed {
                client,
                kind,
                group,
                ttl,
                round,
                content,
                bytes,
            } = pushed;
            if client >= cx.n_clients() {
                return Err(StrategyError(format!(
                    "the ServerApp sends a {kind} message to a node that grid.get_node_ids() has never listed"
                )));
            }
            let key = (client, kind.clone());
            let now = u64::from(cx.round().0);
            let named = round
                .map(|round| round.saturating_sub(1))
                .filter(|round| *round <= now + MOST_AHEAD);
            // Without a name, a second message of a type to a client begins a round.
            let wanted = named.unwrap_or(now + u64::from(self.asked.contains(&key)));
            while u64::from(cx.round().0) < wanted {
                self.end_round(cx);
            }
            self.asked.insert(key);
            self.n_sent += 1;
            let head = Head {
                number: self.n_sent,
                kind,
                group,
                created_at: cx.now().0,
                ttl,
                error: None,
                bytes,
            };
            let open = Open {
                client,
                round: cx.round().0,
                expires: cx.now() + SimSpan(ttl),
                is_answered: false,
            };
            self.open.insert(self.n_sent, open);
            rounds.push(cx.round().0);
            let content = Some(content);
            cx.send(ClientId(client), Down::of(AppMessage { head, content }));
        }
        Ok(rounds)
    }

    /// Ends a round: its clients are those that were sent a message.
    fn end_round(&mut self, cx: &mut ServerContext<'_, App>) {
        let cohort: BTreeSet<u32> = std::mem::take(&mut self.asked)
            .into_iter()
            .map(|(client, _)| client)
            .collect();
        let answered = std::mem::take(&mut self.answered);
        let missing: BTreeSet<u32> = cohort.difference(&answered).copied().collect();
        let report = RoundReport {
            cohort: cohort.len() as u64,
            completed: (cohort.len() - missing.len()) as u64,
            dropped: missing.len() as u64,
            staleness_mean: 0.0,
        };
        if !missing.is_empty() {
            self.missing.insert(cx.round().0, missing);
        }
        let now = cx.now();
        self.open.retain(|_, open| now < open.expires);
        let open = &self.open;
        self.mail.retain(|reply| open.contains_key(&reply.head.number));
        cx.round_done(report);
    }

    /// Takes in a reply; whether the process is to go on.
    fn receive(&mut self, from: ClientId, reply: AppMessage, cx: &mut ServerContext<'_, App>) -> bool {
        let now = cx.now();
        let Some(open) = self.open.get_mut(&reply.head.number) else {
            return false;
        };
        if open.is_answered || now > open.expires {
            return false;
        }
        open.is_answered = true;
        self.n_sleeps = 0;
        let round = open.round;
        let number = reply.head.number;
        if reply.content.is_some() {
            if round == cx.round().0 {
                self.answered.insert(from.0);
            } else if let Some(missing) = self.missing.get_mut(&round)
                && missing.remove(&from.0)
            {
                cx.late(Round(round));
            }
        }
        self.mail.push(reply);
        match &mut self.waits {
            Some(Waits {
                what:
                    For::Replies {
                        numbers,
                        wait,
                        n_missing,
                    },
                ..
            }) if numbers.binary_search(&number).is_ok() => {
                *n_missing -= 1;
                *wait == Wait::Any || *n_missing == 0
            }
            _ => false,
        }
    }

    /// What the process has waited for, as far as it has come.
    fn wake(&mut self, now: SimTime) -> Option<Answer> {
        let Waits { what, .. } = self.waits.take()?;
        Some(match what {
            For::Time => Answer::Slept(now.0),
            For::Replies { numbers, .. } => self.pulled(&numbers, now),
        })
    }

    /// The replies to these that have come, and those of them whose time to live is over.
    fn pulled(&mut self, numbers: &[u64], now: SimTime) -> Answer {
        let is_wanted = |reply: &AppMessage| numbers.binary_search(&reply.head.number).is_ok();
        let (replies, left) = std::mem::take(&mut self.mail).into_iter().partition(is_wanted);
        self.mail = left;
        let replies: Vec<AppMessage> = replies;
        let has_reply: BTreeSet<u64> = replies.iter().map(|reply| reply.head.number).collect();
        for number in &has_reply {
            self.open.remove(number);
        }
        // One that is not there has expired in an earlier round.
        let is_over = |number: &u64| self.open.get(number).is_none_or(|open| now >= open.expires);
        let is_expired = |number: &&u64| !has_reply.contains(number) && is_over(number);
        let expired: Vec<u64> = numbers.iter().filter(is_expired).copied().collect();
        for number in &expired {
            self.open.remove(number);
        }
        Answer::Pulled {
            now: now.0,
            replies,
            expired,
        }
    }

    /// The replies to these, if they have come or their time is over.
    fn pull(
        &mut self,
        mut numbers: Vec<u64>,
        wait: Wait,
        until: Option<SimTime>,
        cx: &mut ServerContext<'_, App>,
    ) -> Option<Answer> {
        numbers.sort_unstable();
        numbers.dedup();
        let now = cx.now();
        let known: Vec<&Open> = numbers.iter().filter_map(|number| self.open.get(number)).collect();
        let missing = || known.iter().filter(|open| !open.is_answered && now < open.expires);
        let n_missing = missing().count();
        let is_there = match wait {
            Wait::None => true,
            Wait::Any => n_missing < known.len(),
            Wait::All => n_missing == 0,
        };
        let expiry = match wait {
            Wait::All => missing().map(|open| open.expires).max(),
            _ => missing().map(|open| open.expires).min(),
        };
        let until = until.unwrap_or(SimTime::NEVER).min(expiry.unwrap_or(now));
        if is_there || until <= now {
            return Some(self.pulled(&numbers, now));
        }
        let what = For::Replies {
            numbers,
            wait,
            n_missing,
        };
        self.wait(until, what, cx);
        None
    }

    fn sleep(&mut self, until: SimTime, cx: &mut ServerContext<'_, App>) -> Result<Option<Answer>, StrategyError> {
        if until <= cx.now() {
            return Ok(Some(Answer::Slept(cx.now().0)));
        }
        self.n_sleeps += 1;
        if self.n_sleeps > MOST_SLEEPS {
            return Err(StrategyError(format!(
                "the ServerApp has slept {MOST_SLEEPS} times in a row, and no reply has come; {} of {} clients are online\n\
                 help: give it as many clients as it waits for (--clients, min_available_nodes)",
                cx.online().len(),
                cx.n_clients()
            )));
        }
        self.wait(until, For::Time, cx);
        Ok(None)
    }

    fn wait(&mut self, until: SimTime, what: For, cx: &mut ServerContext<'_, App>) {
        self.n_timers += 1;
        self.waits = Some(Waits {
            timer: self.n_timers,
            until,
            what,
        });
        cx.timer(until - cx.now(), TimerId(self.n_timers));
    }
}
