//! An app as the engine runs it.

use super::message::{AppMessage, Down, Head, Up};
use super::process::{Conversation, bytes};
use super::server::Server;
use super::{ClientErrors, Costs, Flower, MODULE, Started, whole};
use crate::app::{Left, seed};
use crate::pool::{Pool, Trouble};
use crate::protocol::Frame;
use crate::trainer::difference;
use folkmoot_draws::unit;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const CALL: Purpose = Purpose(*b"flwr-msg");
const CHECK: Purpose = Purpose(*b"flwr-chk");

/// An app of Flower.
pub struct App {
    pub(super) started: Arc<Started>,
    pub(super) pool: OnceLock<Pool>,
    pub(super) server: Mutex<Conversation>,
    pub(super) log_gb: f64,
    costs: Costs,
    client_errors: ClientErrors,
}

/// A message that a client is to answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    pub(super) client: u32,
    /// The number of the job at its client.
    pub(super) job: u32,
    pub(super) now: u64,
    pub(super) message: AppMessage,
    #[serde(with = "shared")]
    pub(super) state: Option<Arc<[u8]>>,
}

/// The answer, and the state that the client keeps.
pub struct Replied {
    job: u32,
    reply: AppMessage,
    state: Option<Arc<[u8]>>,
}

/// A client between messages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Client {
    /// `context.state`, as Flower encodes it.
    #[serde(with = "shared")]
    state: Option<Arc<[u8]>>,
    /// The job that it does, and when that is done.
    doing: Option<(u32, SimTime)>,
    n_jobs: u32,
    waiting: VecDeque<AppMessage>,
}

impl App {
    pub(super) fn new(settings: &Flower, started: Arc<Started>, costs: Costs) -> App {
        App {
            started,
            pool: OnceLock::new(),
            server: Mutex::default(),
            log_gb: settings.log_gb,
            costs,
            client_errors: settings.client_errors,
        }
    }

    pub(super) fn works(&self, pool: Pool) {
        assert!(self.pool.set(pool).is_ok(), "an app works in one run");
    }

    pub(super) fn pool(&self) -> &Pool {
        self.pool.get().expect("an app has its workers before it runs")
    }

    /// Has a worker call the ClientApp.
    fn call(&self, work: &Work, cx: &JobContext) -> Result<Replied, StrategyError> {
        let head = &work.message.head;
        let header = json!({
            "client": work.client,
            "round": cx.round().0,
            "number": head.number,
            "type": head.kind,
            "group": head.group,
            "created_at": head.created_at,
            "ttl": head.ttl,
            "now": work.now,
            "seed": seed(cx.rng(CALL)),
        });
        let named = |name: &str, content: &'_ Option<Arc<[u8]>>| {
            let content = content.as_ref()?;
            Some((name.to_owned(), Arc::clone(content)))
        };
        let held: Vec<_> = [named("content", &work.message.content), named("state", &work.state)]
            .into_iter()
            .flatten()
            .collect();
        let arrays = held
            .iter()
            .map(|(name, content)| bytes(name.clone(), content))
            .collect();
        let request = Frame::new("message", header).with(arrays);
        let failed = |trouble: Trouble| self.failure(work, cx.round(), &request, &trouble);
        let (worker, mut reply) = self.pool().ask(&request, None).map_err(failed)?;
        if self.started.checked > 0.0 && unit(&mut cx.rng(CHECK)) < self.started.checked {
            let (_, again) = self.pool().ask(&request, Some(worker)).map_err(failed)?;
            if let Some(difference) = difference(&reply, &again) {
                return Err(failed(Trouble::Pool(format!(
                    "not deterministic: {difference} when another worker repeats it; it depends on module state, files or the \
                     system's entropy"
                ))));
            }
        }
        let mut array = |name: &str| reply.take(name).map(|array| Arc::from(&*array.bytes));
        let (content, state) = (array("content"), array("state"));
        let error = reply.header.get("error").cloned().unwrap_or_default();
        let field = |name: &str| {
            let unread = || failed(Trouble::Pool(format!("the worker's answer has no {name}")));
            whole(&reply.header, name).ok_or_else(unread)
        };
        let head = Head {
            created_at: field("created_at")?,
            ttl: field("ttl")?,
            error: serde_json::from_value(error).unwrap_or_default(),
            bytes: field("bytes")?,
            ..head.clone()
        };
        Ok(Replied {
            job: work.job,
            reply: AppMessage { head, content },
            state,
        })
    }

    fn failure(&self, work: &Work, round: Round, request: &Frame<'_>, trouble: &Trouble) -> StrategyError {
        let (client, kind) = (work.client, &work.message.head.kind);
        let left = Left {
            dir: self.started.dir.as_deref(),
            python: &self.started.python,
            module: MODULE,
        };
        let what = format!(
            "the ClientApp of client {client}, called with a {kind} message of round {round},",
            round = round.0
        );
        let name = format!("{kind}_client_{client}_message_{}", work.message.head.number);
        let StrategyError(told) = left.failure(
            &what,
            &name,
            &[&self.started.app, &self.started.opening, request],
            trouble,
        );
        let is_its_own = matches!(trouble, Trouble::Raised { .. }) && self.client_errors == ClientErrors::Stop;
        StrategyError(match is_its_own {
            true => {
                format!("{told}\nhelp: to have the strategy decide, as in Flower: --set strategy.client_errors=Reply")
            }
            false => told,
        })
    }

    /// Begins with a message, unless its time to live is over.
    fn begin(&self, client: &mut Client, message: AppMessage, cx: &mut ClientContext<'_, App>) -> bool {
        if message.has_expired(cx.now()) {
            return false;
        }
        let cost = self.costs.of(cx.me().0, &message.head.kind, message.head.bytes);
        let work = Work {
            client: cx.me().0,
            job: client.n_jobs,
            now: cx.now().0,
            message,
            state: client.state.clone(),
        };
        client.doing = Some((client.n_jobs, cx.compute_until(work, cost)));
        client.n_jobs += 1;
        true
    }

    /// Begins with the next message that waits, if there is one.
    fn next(&self, client: &mut Client, cx: &mut ClientContext<'_, App>) {
        while let Some(message) = client.waiting.pop_front() {
            if self.begin(client, message, cx) {
                return;
            }
        }
    }
}

impl Strategy for App {
    type Down = Down;
    type Up = Up;
    type Peer = Never;
    type Shard<'a> = ();
    type Work = Work;
    type Done = Result<Replied, StrategyError>;
    type Server = Server;
    type Client = Client;
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<Server, StrategyError> {
        Ok(Server::default())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::default())
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<App>,
        cx: &mut ServerContext<'_, App>,
    ) -> Result<(), StrategyError> {
        let mut conversation = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.on(self, &mut conversation, event, cx)
    }

    fn on_client(
        &self,
        (): (),
        client: &mut Client,
        event: ClientEvent<App>,
        cx: &mut ClientContext<'_, App>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Message(message) => {
                client.waiting.push_back(message.into_message());
                // A job whose end has passed was lost when the client dropped out.
                if client.doing.is_none_or(|(_, until)| until < cx.now()) {
                    client.doing = None;
                    self.next(client, cx);
                }
            }
            ClientEvent::Done(replied) => {
                let Replied { job, reply, state } = replied?;
                client.state = state;
                cx.send(Up::of(reply));
                if client.doing.is_some_and(|(doing, _)| doing == job) {
                    client.doing = None;
                    self.next(client, cx);
                }
            }
            ClientEvent::Start
            | ClientEvent::Timer(_)
            | ClientEvent::Peer { .. }
            | ClientEvent::Undelivered { .. }
            | ClientEvent::UndeliveredPeer { .. } => {}
        }
        Ok(())
    }

    fn perform(&self, _: Option<()>, work: &Work, cx: &JobContext) -> Self::Done {
        self.call(work, cx)
    }
}
