//! One node per user: each sends once what local privacy lets it, and the server trains a graph
//! network on that.
//!
//! S. Sajadmanesh, D. Gatica-Perez. Locally Private Graph Neural Networks. CCS 2021 (features and
//! classes under noise, KProp, Drop). <https://arxiv.org/abs/2006.05535>
//!
//! X. Zhu, V. Y. F. Tan, X. Xiao. Blink. CCS 2023 (edges under noise).
//! <https://arxiv.org/abs/2309.03190>
//!
//! | exchange   | direction | payload                                          | bytes                                   |
//! |------------|-----------|--------------------------------------------------|-----------------------------------------|
//! | `features` | uplink    | as the release of features lays them out, numbers as `codec` packs them | multi-bit: ceil(m (ceil(log2 d) + 1) / 8) |
//! | `label`    | uplink    | the class that it says it has, or nothing        | ceil(ceil(log2 C) / 8), or 0             |
//! | `edges`    | uplink    | as the release of edges lays them out            | bits: ceil((n − 1) / 8); DPRR: 4 each     |
//!
//! - **Once.** Users report at the start and are done. The server waits until all reports have
//!   come, or the card's deadline, or until nothing is under way.
//! - **Who is missing** has no arc that it alone would have told of, zeros for features, and no
//!   class; the run says how many reports are missing.
//! - **Classes.** Users who train or validate release theirs, and which of both they do is drawn by
//!   the server. Who tests never tells.
//! - **Public edges** reach the server before the run, by a trusted party that the manifest names,
//!   and no message carries them.
//! - **A codec** packs released features on their way (`codec`), where they are numbers, which
//!   costs no privacy; the server opens them as they come.
//! - **What an edge costs.** A list's epsilon is of one bit of one list. The ledger's last row, and
//!   `edge_epsilon`, count every list that tells of an edge, from what was really charged.
//!
//! Deviations: relu for SELU, two layers, the range of features is a public setting and not taken
//! from all data; degrees of Blink's prior are rounded ([`prior`](crate::edges::prior)); DPRR's
//! sampling is done by the user. Not modelled: joining later, reporting again.

use crate::features::Numbers;
use crate::own::{DEGREES, EDGES, OwnEdges, OwnFeatures, OwnLabel};
use crate::settings::Params;
use crate::told::Told;
use crate::train::{Course, Learned};
use crate::users::User;
use folkmoot_codecs::Codec;
use folkmoot_engine::messages;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::sync::Arc;

const TRAIN: Purpose = Purpose(*b"us-train");
/// Streams of the server's training.
const DRAWS: Purpose = Purpose(*b"us-roles");
/// What a codec rounds at random.
const CODING: Purpose = Purpose(*b"us-coded");

/// What everybody knows before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Users, which are clients and nodes.
    pub n_users: u32,
    /// Features of a user.
    pub n_features: u32,
    pub n_classes: u32,
}

/// The system: its parameters and what everybody knows.
pub struct LocalGnn {
    pub(crate) params: Params,
    pub(crate) facts: Facts,
}

messages! {
    /// What a user tells.
    pub enum Up {
        /// A user's features as encoded by their mechanism, numbers compressed by `codec`.
        0, "collect", "features" => Features(report: Arc<[u8]>),
        /// A user's reported class; empty for test users.
        1, "collect", "label" => Label(report: Arc<[u8]>),
        /// A user's neighbours as encoded by their mechanism.
        2, "collect", "edges" => Edges(report: Arc<[u8]>),
    }
}

/// The server trains on what it was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work(#[serde(with = "shared")] Arc<Told>);

#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    #[serde(with = "shared")]
    told: Arc<Told>,
    answers: Gather,
    is_collecting: bool,
    learned: Option<Learned>,
}

impl Server {
    /// What users have told it.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// What it has learned, once it has.
    pub fn learned(&self) -> Option<&Learned> {
        self.learned.as_ref()
    }

    pub(crate) fn know_edges(&mut self, user: u32, list: ByteBuf) {
        let told = Arc::get_mut(&mut self.told).expect("nobody else holds it before the run");
        told.edges[user as usize] = Some(list);
    }
}

/// The counters, in the order of [`Strategy::COUNTERS`].
const MOVED: usize = 0;

impl LocalGnn {
    pub fn params(&self) -> &Params {
        &self.params
    }

    fn is_public(&self) -> bool {
        self.params.edges.n_lists() == 0
    }

    /// The codec of features, and the form of the reports that it packs, if it packs any.
    fn packing(&self) -> Option<(&dyn Codec, Numbers)> {
        let Params { codec, features, .. } = &self.params;
        let form = features.numbers().filter(|_| !codec.is_plain())?;
        Some((&**codec, form))
    }

    /// A report on features as its release lays it out.
    fn opened(&self, user: ClientId, report: &[u8]) -> Result<ByteBuf, StrategyError> {
        let opened = match self.packing() {
            None => Ok(report.to_vec()),
            Some((codec, form)) => form.open(codec, report, self.facts.n_features as usize),
        };
        let opened = opened.map_err(|why| StrategyError(format!("the features of user {}: {why}", user.0)))?;
        Ok(ByteBuf::from(opened))
    }

    /// A class as bytes.
    fn written(&self, class: u32) -> Vec<u8> {
        let n_bytes = crate::features::bits_for(self.facts.n_classes as usize).div_ceil(8);
        class.to_le_bytes()[..n_bytes.min(4)].to_vec()
    }

    fn read(&self, report: &[u8]) -> Result<Option<u32>, StrategyError> {
        let mut class = [0; 4];
        let fits = report.len() <= 4;
        class[..report.len().min(4)].copy_from_slice(&report[..report.len().min(4)]);
        match u32::from_le_bytes(class) {
            _ if report.is_empty() => Ok(None),
            class if fits && class < self.facts.n_classes => Ok(Some(class)),
            class => Err(StrategyError(format!(
                "a report names class {class} of {}",
                self.facts.n_classes
            ))),
        }
    }

    /// What a training takes besides its data.
    pub(crate) fn course(&self) -> Course {
        Course {
            training: self.params.training,
            loss: self.params.loss,
            feature_steps: self.params.feature_steps,
            label_steps: self.params.label_steps,
            network: self.params.network,
            n_classes: self.facts.n_classes as usize,
            keep: self.params.labels.keep(self.facts.n_classes),
        }
    }
}

impl Strategy for LocalGnn {
    type Down = Never;
    type Up = Up;
    type Peer = Never;
    type Shard<'a> = User<'a>;
    type Work = Work;
    type Done = Result<Learned, StrategyError>;
    type Server = Server;
    type Client = ();
    type Sight = ();

    const COUNTERS: &'static [&'static str] = &["moved_features"];

    fn server(&self, _: &Setup<'_>) -> Result<Server, StrategyError> {
        Ok(Server {
            told: Arc::new(Told::new(self.facts.n_users)),
            answers: Gather::default(),
            is_collecting: true,
            learned: None,
        })
    }

    fn client(&self, _: User<'_>, _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
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
        let over = match event {
            ServerEvent::Start => {
                let n_users = u64::from(self.facts.n_users);
                let n_reports = if self.is_public() { 2 } else { 3 };
                server.answers.begin(n_users, n_reports * n_users, cx);
                false
            }
            ServerEvent::Message { from, message } => match Arc::get_mut(&mut server.told) {
                Some(told) if server.is_collecting => {
                    let at = from.0 as usize;
                    match message {
                        Up::Features(report) => told.features[at] = Some(self.opened(from, &report)?),
                        Up::Label(report) => told.labels[at] = self.read(&report)?,
                        Up::Edges(report) => told.edges[at] = Some(ByteBuf::from(report.to_vec())),
                    }
                    server.answers.answered(1)
                }
                _ => {
                    cx.late(Round(0));
                    false
                }
            },
            ServerEvent::Done(learned) => {
                server.learned = Some(learned?);
                cx.finish();
                false
            }
            ServerEvent::Timer(_) | ServerEvent::Quiet => true,
            ServerEvent::Undelivered { message, .. } => match message {},
        };
        if over && server.is_collecting {
            server.is_collecting = false;
            let completed = server.told.features.iter().flatten().count() as u64;
            let cohort = u64::from(self.facts.n_users);
            cx.round_done(RoundReport {
                cohort,
                completed,
                dropped: cohort - completed,
                staleness_mean: 0.0,
            });
            if completed == 0 {
                return Err(StrategyError(format!(
                    "no user's features came, so there is nothing to learn from; {}",
                    cx.remedy()
                )));
            }
            cx.compute(Work(Arc::clone(&server.told)));
        }
        Ok(())
    }

    fn on_client(
        &self,
        user: User<'_>,
        (): &mut (),
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let ClientEvent::Start = event else { return Ok(()) };
        let (features, n_moved) = user.features();
        if n_moved > 0 {
            cx.count(MOVED, n_moved);
        }
        let own = OwnFeatures::new(&features, self.params.range, cx);
        let mut report = self.params.features.report(own)?;
        if let Some((codec, form)) = self.packing() {
            report = form.pack(codec, &report, &mut cx.rng(CODING));
        }
        cx.send(Up::Features(report.into()));
        let report = match user.label() {
            None => Vec::new(),
            Some(class) => {
                let own = OwnLabel::new(class, self.facts.n_classes, cx);
                self.written(self.params.labels.report(own)?)
            }
        };
        cx.send(Up::Label(report.into()));
        if !self.is_public() {
            let own = OwnEdges::new(cx.me().0, user.neighbours(), self.facts.n_users, cx);
            let report = self.params.edges.report(own)?;
            cx.send(Up::Edges(report.into()));
        }
        Ok(())
    }

    fn placeholder(&self, _: Option<User<'_>>, _: &Work, _: &JobContext) -> Result<Learned, StrategyError> {
        Ok(Learned::default())
    }

    fn perform(&self, _: Option<User<'_>>, Work(told): &Work, cx: &JobContext) -> Result<Learned, StrategyError> {
        let n_features = self.facts.n_features as usize;
        let sample = told.sample(&self.params, n_features, &mut cx.rng(DRAWS))?;
        if !sample.trains.contains(&true) {
            return Err(StrategyError(
                "nobody has told its class, so there is nothing to learn from; raise split.train, and deadline_ms where the card has one"
                    .to_owned(),
            ));
        }
        let links = self.params.edges.links(told.reports())?;
        Ok(self.course().train(sample, &links, &mut cx.rng(TRAIN)))
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        let info = |mechanism: &str, unit: &str, claimed| MechanismInfo {
            mechanism: mechanism.to_owned(),
            unit: unit.to_owned(),
            claimed,
        };
        let Params {
            features,
            labels,
            edges,
            ..
        } = &self.params;
        let mut all = vec![
            info(features.mechanism(), "all features of a user", features.epsilon()),
            info(labels.mechanism(), "the class of a user", labels.epsilon()),
        ];
        all.extend(edges.mechanisms());
        all
    }

    fn together(&self) -> Vec<Together> {
        let edges = &self.params.edges;
        let all = |n_clients| Together {
            info: MechanismInfo {
                mechanism: "all that tells of an edge".to_owned(),
                unit: "one edge".to_owned(),
                claimed: edges.mechanisms().iter().map(|row| row.claimed).sum(),
            },
            of: vec![EDGES, DEGREES],
            n_clients,
        };
        let n_lists = edges.n_lists();
        (n_lists > 0).then(|| all(n_lists)).into_iter().collect()
    }
}
