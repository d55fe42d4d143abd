//! Random-walk SGD: clients take gradient steps on a model and pass it to a neighbour; no server.
//!
//! E. Cyffers, A. Bellet, J. Upadhyay. Differentially Private Decentralized Learning with Random
//! Walks. ICML 2024 (max-degree chain, noise at every step). <https://arxiv.org/abs/2402.07471>
//!
//! | exchange | direction | payload                                                        | bytes            |
//! |----------|-----------|----------------------------------------------------------------|------------------|
//! | `token`  | peer      | step, which token and hops of its jump, then the weights in `f32` | 4 × n_params + 8 |
//! | `packed_token` | peer, with a `codec` | the same, with the weights that learn as it packs them, then the others in `f32` | its encoding + 4 × n_others + 8 |
//! | `report` | uplink    | nothing that counts: it is for measurement                     | 0                |
//!
//! - **A step** is one gradient over all training items of the client that holds the token, clipped
//!   and under noise where `noise` says so. The gradient counts `1 / (n π_v)` where clients are
//!   visited in proportion to `π`, so that on average it is that of all clients.
//! - **Where it goes** says [`Chain`]; staying is a step on the same client's items and no message.
//!   With [`Jumps`] it leaves for good: a jump of r hops is r messages. Jumps change what is
//!   visited in the long run, which the weights of gradients then do not make up for.
//! - **Several walks** share nothing: each token has its own model. What is scored is the mean of
//!   the models as they were last reported.
//! - **Codecs.** A model is packed when it is handed on after a step; in a jump, and another way
//!   round a client that is away, it goes on as it came, so that nothing is lost twice. What noise
//!   has made safe stays so however it is packed. A model with a number that is not finite cannot
//!   be packed, and its walk ends.
//! - **Too many visits.** A client that has given so many gradients adds noise alone, hands the
//!   token on, or ends the walk ([`Then`]).
//! - **Nodes that leave.** A token for a client that is away comes back to its sender after
//!   `timeout_s`, who draws another way. Where that fails more than `tries` times in a row the walk
//!   is stuck, and the run ends with an error. A token whose holder leaves while it computes, and
//!   does not come back, is lost: nobody else has it. The run ends when every token has made its
//!   steps, has been ended or is lost.
//! - **No server** sends anything: whoever measures hears of every `report_every`-th step.
//!
//! Deviations: W adds noise before it clips, which bounds nothing where gradients may be long; here
//! the gradient is clipped and then gets its noise. Not modelled: tokens that meet. A card's
//! `cohort` and `deadline` mean nothing here.

mod chain;
pub(crate) mod evaluator;
mod message;
mod params;
pub mod theory;
mod token;

pub use chain::{Chain, Importance, Jumps, any_neighbour};
pub use message::{Peer, Seen, Up};
pub use params::{Noise, Params, Then, Visits};

use folkmoot_classifiers::attacks::{self, Models, Victim};
use folkmoot_classifiers::classifier::{self, Classifier, Handed, Held, Shard, Training};
use folkmoot_draws::bernoulli;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Graph, measures};
use folkmoot_metrics::term::{Answering, Scored};
use folkmoot_parts::Broken;
use folkmoot_privacy::{Gaussian, Mechanism};
use folkmoot_rounds::packed::{self, Sent};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use token::Token;

const START: Purpose = Purpose(*b"wk-start");
const LINKS: Purpose = Purpose(*b"wk-links");
const FIRST: Purpose = Purpose(*b"wk-first");
const NEXT: Purpose = Purpose(*b"wk-next ");
const JUMP: Purpose = Purpose(*b"wk-jump ");
const LOCAL: Purpose = Purpose(*b"wk-local");
const IDLE: Purpose = Purpose(*b"wk-idle ");
const GRADIENT: Channel = Channel::new(0, Purpose(*b"wk-noise"));

/// What everybody knows before a run.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    #[serde(flatten)]
    pub data: classifier::Facts,
    /// What the first model and the first holders of tokens are drawn from.
    pub start_seed: u32,
    /// Links of the topology.
    pub n_links: u32,
    #[serde(skip)]
    graph: Graph,
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = WalkSgd;

    fn about(&self) -> About {
        About {
            rounds: Some(self.n_reports()),
            lints: lints(self),
            terms: terms(),
            split: Some(split_of(&self.split, "each client's items")),
            headline: &["test_accuracy", "visit_distance", "longest_stay", "payload_bytes"],
            keeps: true,
            edge_lists: self.topology.edge_list().map(str::to_owned).into_iter().collect(),
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        let refuse = |why: String| Err(StrategyError(format!("topology: {why}")));
        if self.topology.changes() {
            return refuse("must be one graph for the whole run; choose Ring, SmallWorld or ErdosRenyi".to_owned());
        }
        let listed = self.topology.edge_list().and_then(|path| source.files.graphs.get(path));
        let rng = &mut source.streams.global(LINKS);
        let graph = self.topology.graph_of(listed, source.n_clients(), rng)?;
        let n_parts = measures::components(&graph).sizes.len();
        if n_parts > 1 {
            return refuse(format!(
                "the topology has {n_parts} connected components, and a walk cannot leave its component; {}",
                self.topology.remedy()
            ));
        }
        Ok(Facts {
            data: classifier::Facts::new(self.inputs, self.split, source)?,
            start_seed: folkmoot_draws::Rng::next_u32(&mut source.streams.global(START)),
            n_links: graph.n_edges() as u32,
            graph,
        })
    }

    fn build(&self, facts: &Facts) -> Result<WalkSgd, StrategyError> {
        let classifier = Classifier::new(&self.model, &Training::default(), &facts.data)?;
        let noise = self.noise.map(|noise| {
            // What one client holds moves its clipped gradient by twice the clip at most.
            Gaussian::new(noise.multiplier * noise.clip, 2.0 * noise.clip, noise.delta, UNIT)
        });
        let streams = Streams::new(u64::from(facts.start_seed));
        let starts = &mut streams.global(FIRST);
        let n = facts.data.n_clients as usize;
        Ok(WalkSgd {
            first_model: classifier
                .network()
                .layout()
                .initialise(&mut streams.global(START))
                .into(),
            holders: (0..self.tokens)
                .map(|_| folkmoot_draws::index(starts, n.max(1)) as u32)
                .collect(),
            stationary: self.chain.stationary(&facts.graph),
            noise: noise
                .transpose()
                .map_err(|error| StrategyError(format!("noise: {error}")))?,
            graph: facts.graph.clone(),
            data: facts.data.clone(),
            classifier,
            params: self.clone(),
        })
    }

    fn share(&self, _: &Facts, walk: &WalkSgd, source: &Source<'_>) -> Result<Shared<WalkSgd>, StrategyError> {
        attacks::share(walk, &self.attacks, &walk.data, (self.split, source))
    }
}

/// What is allowed and hardly meant.
fn lints(params: &Params) -> Vec<Broken> {
    let rule = "change the stationary distribution, which weigh does not correct: gradients are slightly biased";
    let doubt = || Broken {
        path: "jumps".to_owned(),
        rule: rule.to_owned(),
    };
    let is_biased = params.weigh && params.jumps.is_some_and(|jumps| jumps.prob > 0.5);
    let mut lints = packed::lints("codec", &*params.codec, params.model.hidden, false);
    lints.extend(is_biased.then(doubt));
    lints
}

fn terms() -> Vec<Term> {
    // What is scored is the mean of the models that walk.
    let of_mean = |term: &Term| Term {
        about: term
            .about
            .replace("the global model", "the mean of the walking models")
            .into(),
        scored: term.scored.map(|scored| Scored {
            model: Answering::Mean,
            ..scored
        }),
        ..term.clone()
    };
    let own = evaluator::TERMS.iter().chain(attacks::TERMS).cloned();
    own.chain(classifier::TERMS.iter().map(of_mean)).collect()
}

impl Victim for WalkSgd {
    fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    fn shared(&self, held: &Arc<Held>, _: &Source<'_>) -> Result<Shared<WalkSgd>, StrategyError> {
        Ok(Shared {
            shards: Box::new(Handed(Arc::clone(held))),
            evaluator: Box::new(evaluator::Watch(Arc::clone(held))),
        })
    }

    fn known(&self, _: &End<'_, WalkSgd>, held: &Arc<Held>, _: &Source<'_>) -> Arc<Held> {
        Arc::clone(held)
    }

    fn asked(&self, end: &End<'_, WalkSgd>, _: &Held) -> Option<Models> {
        Some(Models::One(end.server.mean()))
    }

    fn untrained(&self, _: &End<'_, WalkSgd>) -> Option<Models> {
        Some(Models::One(self.first_model.to_vec()))
    }

    fn asks_clients(&self) -> bool {
        false
    }
}

const UNIT: &str = "all that a client holds";

/// The system: its parameters, its network, and what everybody knows.
pub struct WalkSgd {
    params: Params,
    classifier: Classifier,
    data: classifier::Facts,
    graph: Graph,
    stationary: Vec<f64>,
    first_model: Arc<[f32]>,
    /// Who holds each token first.
    holders: Vec<u32>,
    noise: Option<Gaussian>,
}

/// A step, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work(Token);

/// What comes of it: the token as it came, and the gradient.
pub struct Done(Token, Vec<f32>);

/// What a client remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// Steps that a token was here for.
    pub visits: u64,
    /// Gradients it has given.
    pub given: u32,
    /// Steps that it has held a token for without a break, and the most it ever has.
    stay: u32,
    longest_stay: u32,
}

/// What whoever measures has seen.
#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    seen: Vec<Seen>,
}

impl Server {
    /// The mean of the walks' models as they were last seen.
    pub fn mean(&self) -> Vec<f32> {
        let mut sums = vec![0.0; self.seen.first().map_or(0, |seen| seen.model.len())];
        for seen in &self.seen {
            sums.iter_mut()
                .zip(seen.model.iter())
                .for_each(|(sum, x)| *sum += f64::from(*x));
        }
        sums.iter().map(|sum| (sum / self.seen.len() as f64) as f32).collect()
    }

    /// Walks that have not been seen to end.
    fn n_open(&self) -> u64 {
        self.seen.iter().filter(|seen| !seen.is_over).count() as u64
    }
}

/// The counters, in the order of [`Strategy::COUNTERS`].
mod counter {
    pub(super) const STAYS: usize = 0;
    pub(super) const JUMPS: usize = 1;
    pub(super) const REDIRECTED: usize = 2;
    pub(super) const IDLE: usize = 3;
    pub(super) const STOPPED: usize = 4;
    pub(super) const LOST: usize = 5;
}

impl WalkSgd {
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A client gets a token: it passes it on in a jump, or begins a step.
    fn receive(
        &self,
        shard: &Shard,
        client: &mut Client,
        token: Token,
        is_new: bool,
        cx: &mut ClientContext<'_, Self>,
    ) {
        if token.jump > 0 {
            let to = any_neighbour(&self.graph, cx.me().0, &mut cx.rng(NEXT));
            let jump = token.jump - 1;
            return self.pass(to, Token { jump, ..token }, 0, cx);
        }
        client.visits += 1;
        client.stay = if is_new { 1 } else { client.stay + 1 };
        client.longest_stay = client.longest_stay.max(client.stay);
        cx.compute(Work(token), self.classifier.step_cost(shard));
    }

    /// The model after a step, or what the step adds to it; none if the walk ends here.
    fn stepped(
        &self,
        client: &mut Client,
        token: &Token,
        mut gradient: Vec<f32>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<Option<Sent>, StrategyError> {
        let spent = self.params.visits.filter(|visits| client.given >= visits.most);
        let noisy = match spent.map(|visits| visits.then) {
            Some(Then::Stop) => return Ok(None),
            Some(Then::Nothing) => {
                cx.count(counter::IDLE, 1);
                return Ok(Some(token.model.clone()));
            }
            Some(Then::Noise) => {
                cx.count(counter::IDLE, 1);
                let zeros = vec![0.0; gradient.len()];
                // Nothing private goes in, so nothing is charged.
                let noise = self
                    .noise
                    .as_ref()
                    .map(|noise| noise.release_in(cx.noise_form(), &zeros, &mut cx.rng(IDLE)));
                noise
                    .transpose()
                    .map_err(|error| StrategyError(error.to_string()))?
                    .unwrap_or(zeros)
            }
            None => {
                client.given += 1;
                let shorten = self.params.noise.map_or(1.0, |noise| {
                    let length = gradient
                        .iter()
                        .map(|g| f64::from(*g) * f64::from(*g))
                        .sum::<f64>()
                        .sqrt();
                    if length > noise.clip { noise.clip / length } else { 1.0 }
                });
                gradient.iter_mut().for_each(|g| *g = (f64::from(*g) * shorten) as f32);
                match &self.noise {
                    Some(noise) => {
                        let values: Vec<f64> = gradient.iter().map(|g| f64::from(*g)).collect();
                        cx.release(GRADIENT, noise, &values)?
                    }
                    None => {
                        let gradient = cx.unprotected(GRADIENT, gradient);
                        gradient.into_iter().map(f64::from).collect()
                    }
                }
            }
        };
        let n = self.stationary.len() as f64;
        let share = self.stationary[cx.me().0 as usize];
        let weight = if self.params.weigh { 1.0 / (n * share) } else { 1.0 };
        let by = self.params.learning_rate * weight;
        let mut model = self.opened(&token.model).to_vec();
        // What does not learn has no gradient and stays.
        model
            .iter_mut()
            .zip(noisy)
            .for_each(|(w, g)| *w = (f64::from(*w) - by * g) as f32);
        Ok(Some(Sent::Plain(model.into())))
    }

    fn report(&self, token: &Token, is_over: bool, cx: &mut ClientContext<'_, Self>) {
        let content = Seen {
            id: token.id,
            step: token.step,
            is_over,
            model: self.opened(&token.model),
        };
        cx.send(Up::Report(Counted { content, bytes: 0 }));
    }

    /// A step has ended here: where the token goes.
    fn after_step(&self, shard: &Shard, client: &mut Client, token: Token, cx: &mut ClientContext<'_, Self>) {
        let is_over = token.step >= self.params.steps;
        if is_over || token.step.is_multiple_of(self.params.report_every) {
            self.report(&token, is_over, cx);
        }
        if is_over {
            return;
        }
        let me = cx.me().0;
        if let Some(jumps) = self.params.jumps {
            let mut rng = cx.rng(JUMP);
            if bernoulli(&mut rng, jumps.prob) {
                cx.count(counter::JUMPS, 1);
                let jump = jumps.hops(&mut rng) - 1;
                let to = any_neighbour(&self.graph, me, &mut rng);
                return self.pass(to, Token { jump, ..token }, 0, cx);
            }
        }
        let to = self.params.chain.next(&self.graph, me, &mut cx.rng(NEXT));
        match to == me {
            true => {
                cx.count(counter::STAYS, 1);
                self.receive(shard, client, token, false, cx);
            }
            false => self.pass(to, token, 0, cx),
        }
    }
}

impl Strategy for WalkSgd {
    type Down = Never;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = &'a Shard;
    type Work = Work;
    type Done = Done;
    type Server = Server;
    type Client = Client;
    type Sight = ();

    const COUNTERS: &'static [&'static str] = &[
        "stays",
        "jumps",
        "redirected_tokens",
        "idle_visits",
        "stopped_tokens",
        "lost_tokens",
    ];

    fn server(&self, setup: &Setup<'_>) -> Result<Server, StrategyError> {
        if setup.n_clients == 0 {
            return Err(StrategyError(
                "there is nobody to visit; use a partition with clients".to_owned(),
            ));
        }
        let seen = |id: u32| Seen {
            id,
            step: 0,
            is_over: false,
            model: Arc::clone(&self.first_model),
        };
        Ok(Server {
            seen: (0..self.params.tokens).map(seen).collect(),
        })
    }

    fn client(&self, _: &Shard, _: &Setup<'_>) -> Result<Client, StrategyError> {
        Ok(Client::default())
    }

    fn starts_clients(&self) -> bool {
        true
    }

    fn on_server(
        &self,
        server: &mut Server,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let tokens = u64::from(self.params.tokens);
        let is_quiet = matches!(event, ServerEvent::Quiet);
        if let ServerEvent::Message {
            message: Up::Report(report),
            ..
        } = event
        {
            let at = report.content.id as usize;
            server.seen[at] = report.content;
        }
        // A round has ended when every walk has come so far, or will come no further.
        let wanted = (cx.round().0 + 1)
            .saturating_mul(self.params.report_every)
            .min(self.params.steps);
        let behind = server
            .seen
            .iter()
            .filter(|seen| !seen.is_over && seen.step < wanted)
            .count() as u64;
        if behind == 0 || is_quiet {
            if is_quiet {
                cx.count(counter::LOST, server.n_open());
            }
            cx.round_done(RoundReport {
                cohort: tokens,
                completed: tokens - behind,
                dropped: behind,
                staleness_mean: 0.0,
            });
            if server.n_open() == 0 || is_quiet {
                cx.finish();
            }
        }
        Ok(())
    }

    fn on_client(
        &self,
        shard: &Shard,
        client: &mut Client,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Start => {
                for (id, holder) in (0..).zip(&self.holders) {
                    if *holder == cx.me().0 {
                        let model = Arc::clone(&self.first_model);
                        let token = Token {
                            id,
                            step: 0,
                            jump: 0,
                            model: Sent::Plain(model),
                        };
                        self.receive(shard, client, token, true, cx);
                    }
                }
            }
            ClientEvent::Peer { message, .. } => self.receive(shard, client, Token::of(message), true, cx),
            ClientEvent::Done(Done(token, gradient)) => {
                let step = token.step + 1;
                // What is sent from here on counts for the round that it brings to an end.
                cx.continue_round(Round(token.step / self.params.report_every));
                match self.stepped(client, &token, gradient, cx)? {
                    Some(model) => self.after_step(shard, client, Token { step, model, ..token }, cx),
                    None => {
                        cx.count(counter::STOPPED, 1);
                        self.report(&token, true, cx);
                    }
                }
            }
            ClientEvent::UndeliveredPeer { message, note, .. } => self.pass_again(message, note + 1, cx)?,
            ClientEvent::Message(message) => match message {},
            ClientEvent::Undelivered { .. } | ClientEvent::Timer(_) => {}
        }
        Ok(())
    }

    fn perform(&self, shard: Option<&Shard>, Work(token): &Work, cx: &JobContext) -> Done {
        let shard = shard.expect("clients take steps");
        let n_trainable = self.classifier.network().layout().n_trainable();
        let gradient = match shard.n_train() == 0 {
            true => vec![0.0; n_trainable],
            false => {
                let model = self.opened(&token.model);
                self.classifier.loss_gradient(shard, &model, &mut cx.rng(LOCAL))
            }
        };
        Done(token.clone(), gradient)
    }

    fn placeholder(&self, _: Option<&Shard>, Work(token): &Work, _: &JobContext) -> Done {
        Done(
            token.clone(),
            vec![0.0; self.classifier.network().layout().n_trainable()],
        )
    }

    fn sized_by_values(&self) -> Vec<&'static str> {
        packed::sized_by_values(&*self.params.codec, &["packed_token"])
    }

    fn absence(&self, message: &Letter<Self>) -> Absence {
        match message {
            Letter::Peer(_) => Absence::Tell {
                after: SimSpan::from_secs(self.params.timeout_s),
            },
            Letter::Up(_) | Letter::Down(_) => Absence::Wait,
        }
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let mechanism = if self.noise.is_some() {
            "Gaussian noise: gradient"
        } else {
            "none: gradient"
        };
        vec![MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: UNIT.to_owned(),
            claimed: None,
        }]
    }
}
