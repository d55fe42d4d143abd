//! Whole algorithms in Python: a class of `fm.Strategy` whose handlers are called in event order.
//!
//! [`StrategyParams`] is the component `PythonStrategy`. A handler is one request to a worker: the
//! participant's state, the event, the time and a seed go in, the new state and a list of actions
//! come back, and [`AppStrategy`] does these. While it runs, a handler may call the run, which then
//! does its actions until then and answers: to draw noise and charge for it, or to select clients.
//!
//! - **Determinism.** A handler depends on its request and the answers to its calls. Events of one
//!   participant are handled one after the other; those of others in any worker at the same time.
//! - **State** is what the worker packs: arrays, bytes, numbers and texts. Checkpoints hold it.
//! - **Failure** of a handler ends the run with the participant, the time and the round. The
//!   request and the answers to its calls stay in the run directory.

mod act;
mod declared;
mod evaluator;
mod message;
mod settings;

use message::Message;
pub use settings::StrategyParams;

use crate::Handed;
use crate::app::{Facts, Shard, Working, seed};
use crate::kept::{KeptArray, KeptState};
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::trainer::{AtWork, is_same};
use act::{Actions, Host, OfClient, OfServer};
use declared::Declared;
use evaluator::ByShown;
use folkmoot_engine::prelude::*;
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

const HANDLE: Purpose = Purpose(*b"py-event");
const WORK: Purpose = Purpose(*b"py-work ");
const CHECK: Purpose = Purpose(*b"py-check");

/// An algorithm whose handlers are an app's.
pub struct AppStrategy {
    at_work: AtWork,
    declared: Declared,
    rounds: u32,
    evaluate_every: u32,
}

/// What a participant keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    kept: KeptState,
    /// Timers that run, with their tags in JSON.
    timers: Vec<(u32, String)>,
    n_timers: u32,
}

/// What the server keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerState {
    participant: Participant,
    /// What it shows to `@fm.evaluate`, if anything yet.
    shown: Option<Vec<KeptArray>>,
}

/// Work of a method of the app.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    function: String,
    args: KeptState,
}

/// What came of it.
#[derive(Debug)]
pub struct Finished {
    function: String,
    result: Result<KeptState, StrategyError>,
}

/// An event as a worker is sent it.
struct Event<'a> {
    fields: Value,
    arrays: Vec<Array<'a>>,
}

impl Event<'static> {
    fn plain(fields: Value) -> Self {
        let arrays = Vec::new();
        Event { fields, arrays }
    }

    /// Arrays by keys that nothing else in the request has.
    fn keyed(fields: &mut Value, arrays: Vec<KeptArray>) -> Vec<Array<'static>> {
        let key = |at: usize| format!("e{at}");
        let listed: Vec<(String, String)> = (0..)
            .zip(&arrays)
            .map(|(at, array)| (array.name.clone(), key(at)))
            .collect();
        fields["arrays"] = json!(listed);
        let named = |(at, array): (usize, KeptArray)| Array {
            name: key(at).into(),
            dtype: array.dtype.into(),
            shape: array.shape,
            bytes: array.bytes.into(),
        };
        (0..).zip(arrays).map(named).collect()
    }
}

/// When and where a handler is called.
struct At {
    /// `None` at the server.
    client: Option<u32>,
    now: SimTime,
    round: Round,
    event_round: Round,
    deadline: Option<SimSpan>,
    rng: SimRng,
    checking: SimRng,
}

impl AppStrategy {
    fn message(&self, kind: &str, message: &Message, more: Value) -> Result<Event<'static>, StrategyError> {
        let declared = self.declared.message(message.place);
        let content = declared.zip(message.arrays());
        let (declared, arrays) = content.ok_or_else(|| StrategyError("a message cannot be read".to_owned()))?;
        let mut fields = more;
        fields["kind"] = kind.into();
        fields["name"] = declared.name.as_str().into();
        let arrays = Event::keyed(&mut fields, arrays);
        Ok(Event { fields, arrays })
    }

    fn done(done: Finished) -> Result<Event<'static>, StrategyError> {
        let KeptState { form, arrays } = done.result?;
        let form: Value = form
            .map_or(Ok(Value::Null), |form| serde_json::from_str(&form))
            .unwrap_or_default();
        let mut result = json!({"form": form});
        let arrays = Event::keyed(&mut result, arrays);
        let fields = json!({"kind": "done", "name": done.function, "result": result});
        Ok(Event { fields, arrays })
    }

    fn timer(participant: &mut Participant, id: TimerId) -> Event<'static> {
        let at = participant.timers.iter().position(|(timer, _)| *timer == id.0);
        let tag = at.map(|at| participant.timers.swap_remove(at).1);
        let tag: Value = tag.and_then(|tag| serde_json::from_str(&tag).ok()).unwrap_or_default();
        Event::plain(json!({"kind": "timer", "tag": tag}))
    }

    /// Calls a handler of the app, and does what it asks for.
    fn handle(
        &self,
        participant: &mut Participant,
        event: Event<'_>,
        at: At,
        host: &mut dyn Host,
    ) -> Result<(), StrategyError> {
        let working = self.at_work.working()?;
        let kept = std::mem::take(&mut participant.kept);
        let mut request = Frame::new(
            "handle",
            json!({
                "client": at.client,
                "now": at.now.as_secs(),
                "round": at.round.0,
                "event_round": at.event_round.0,
                "deadline": at.deadline.map(SimSpan::as_secs),
                "seed": seed(at.rng),
                "event": event.fields,
            }),
        );
        request.arrays = event.arrays;
        kept.put("state", &mut request)?;
        let is_checked = self.at_work.is_checked(|| at.checking);
        let (mut calls, mut answers): (Vec<Frame<'static>>, Vec<Frame<'static>>) = (Vec::new(), Vec::new());
        let mut actions = Actions {
            declared: &self.declared,
            participant: &mut *participant,
            host,
        };
        let asked = working.pool.converse(&request, None, &mut |call| {
            if is_checked {
                calls.push(call.clone());
            }
            let refused = |StrategyError(why)| Frame::new("refused", json!({"error": why}));
            let answer = actions.answer(call).unwrap_or_else(refused);
            answers.push(answer.clone());
            answer
        });
        let failed = |trouble: Trouble| {
            let of = at
                .client
                .map_or("on_server".to_owned(), |client| format!("on_client of client {client}"));
            let what = format!("{of} at {} s in round {}", at.now.as_secs(), at.event_round.0);
            working.failure_after(&what, &request, &answers, &trouble)
        };
        let (worker, mut reply) = asked.map_err(failed)?;
        if is_checked {
            self.repeat(working, &request, worker, (&calls, &answers, &reply))
                .map_err(failed)?;
        }
        actions
            .all(&mut reply)
            .map_err(|StrategyError(why)| failed(Trouble::Pool(why)))?;
        participant.kept = KeptState::taken("state", &mut reply).unwrap_or_default();
        Ok(())
    }

    /// Has another worker handle the event once more, with the same answers.
    fn repeat(
        &self,
        working: &Working,
        request: &Frame<'_>,
        worker: usize,
        (calls, answers, reply): (&[Frame<'static>], &[Frame<'static>], &Frame<'static>),
    ) -> Result<(), Trouble> {
        let (mut n, mut differs) = (0, Ok(()));
        let (_, again) = working.pool.converse(request, Some(worker), &mut |call| {
            let (before, answer) = (calls.get(n), answers.get(n));
            n += 1;
            match (before, answer) {
                (Some(before), Some(answer)) => {
                    if differs.is_ok() {
                        differs = is_same(before, &call);
                    }
                    answer.clone()
                }
                _ => Frame::new("refused", json!({"error": "another worker calls the run more often"})),
            }
        })?;
        differs?;
        is_same(reply, &again)
    }
}

impl Strategy for AppStrategy {
    type Down = Message;
    type Up = Message;
    type Peer = Message;
    type Shard<'a> = &'a Shard;
    type Work = Work;
    type Done = Finished;
    type Server = ServerState;
    type Client = Participant;
    type Sight = ();

    fn kinds(&self) -> Vec<Kind> {
        self.declared.kinds()
    }

    fn server(&self, _: &Setup<'_>) -> Result<ServerState, StrategyError> {
        Ok(ServerState::default())
    }

    fn client(&self, _: &Shard, _: &Setup<'_>) -> Result<Participant, StrategyError> {
        Ok(Participant::default())
    }

    fn on_server(
        &self,
        server: &mut ServerState,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let event = match event {
            ServerEvent::Start => Event::plain(json!({"kind": "start"})),
            ServerEvent::Quiet => Event::plain(json!({"kind": "quiet"})),
            ServerEvent::Message { from, message } => self.message("message", &message, json!({"sender": from.0}))?,
            ServerEvent::Done(done) => Self::done(done)?,
            ServerEvent::Timer(id) => Self::timer(&mut server.participant, id),
            ServerEvent::Undelivered { to, message, why } => {
                self.message("undelivered", &message, json!({"receiver": to.0, "why": why.as_str()}))?
            }
        };
        let at = At {
            client: None,
            now: cx.now(),
            round: cx.round(),
            event_round: cx.event_round(),
            deadline: cx.deadline(),
            rng: cx.rng(HANDLE),
            checking: cx.rng(CHECK),
        };
        let shown = &mut server.shown;
        self.handle(&mut server.participant, event, at, &mut OfServer { cx, shown })
    }

    fn on_client(
        &self,
        shard: &Shard,
        client: &mut Participant,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let event = match event {
            ClientEvent::Start => Event::plain(json!({"kind": "start"})),
            ClientEvent::Message(message) => self.message("message", &message, json!({"sender": "server"}))?,
            ClientEvent::Peer { from, message } => self.message("message", &message, json!({"sender": from.0}))?,
            ClientEvent::Done(done) => Self::done(done)?,
            ClientEvent::Timer(id) => Self::timer(client, id),
            ClientEvent::Undelivered { message, why } => self.message(
                "undelivered",
                &message,
                json!({"receiver": "server", "why": why.as_str()}),
            )?,
            ClientEvent::UndeliveredPeer { to, message, why, .. } => {
                self.message("undelivered", &message, json!({"receiver": to.0, "why": why.as_str()}))?
            }
        };
        let at = At {
            client: Some(shard.client),
            now: cx.now(),
            round: cx.round(),
            event_round: cx.event_round(),
            deadline: None,
            rng: cx.rng(HANDLE),
            checking: cx.rng(CHECK),
        };
        self.handle(client, event, at, &mut OfClient(cx))
    }

    fn perform(&self, shard: Option<&Shard>, work: &Work, cx: &JobContext) -> Finished {
        let perform = || -> Result<KeptState, StrategyError> {
            let working = self.at_work.working()?;
            let (client, round) = (shard.map(|shard| shard.client), cx.round().0);
            let mut request = Frame::new(
                "perform",
                json!({"client": client, "round": round, "seed": seed(cx.rng(WORK)), "function": work.function}),
            );
            work.args.put("args", &mut request)?;
            let failed = |trouble: Trouble| {
                let of = client.map_or("the server".to_owned(), |client| format!("client {client}"));
                working.failure(
                    &format!("{} of {of} in round {round}", work.function),
                    &request,
                    &trouble,
                )
            };
            let mut reply = self.at_work.ask(&request, || cx.rng(CHECK))?.map_err(failed)?;
            let result = KeptState::taken("result", &mut reply);
            result.ok_or_else(|| failed(Trouble::Pool("the worker's answer has no result".to_owned())))
        };
        Finished {
            function: work.function.clone(),
            result: perform(),
        }
    }

    fn absence(&self, letter: &Letter<Self>) -> Absence {
        let (Letter::Down(message) | Letter::Up(message) | Letter::Peer(message)) = letter;
        let declared = self.declared.message(message.place);
        declared.map_or(Absence::Wait, declared::DeclaredMessage::absence)
    }

    fn starts_clients(&self) -> bool {
        self.declared.starts_clients
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        self.declared.mechanisms()
    }
}

impl Algorithm for StrategyParams {
    type Facts = Facts;
    type Strategy = AppStrategy;

    fn about(&self) -> About {
        About {
            rounds: Some(self.rounds),
            split: Some(split_of(&self.split, "each client's items")),
            programs: vec![self.app.clone()],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        Facts::new(&self.app(), source, &["strategy"])
    }

    fn build(&self, facts: &Facts) -> Result<AppStrategy, StrategyError> {
        Ok(AppStrategy {
            at_work: AtWork::new(Arc::clone(&facts.app), facts.checked),
            declared: Declared::read(&facts.app.functions)?,
            rounds: self.rounds,
            evaluate_every: self.evaluate_every,
        })
    }

    fn share(
        &self,
        facts: &Facts,
        strategy: &AppStrategy,
        source: &Source<'_>,
    ) -> Result<Shared<AppStrategy>, StrategyError> {
        let (working, shards) = facts.app.open(&self.app(), (source, None), true)?;
        strategy.at_work.works(working);
        let shards = Arc::new(shards);
        Ok(Shared {
            evaluator: Box::new(ByShown::new(&shards, source.streams)),
            shards: Box::new(Handed::new(shards, source.sizes())),
        })
    }
}
