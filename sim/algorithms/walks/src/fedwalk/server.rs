//! The server's side: the set-up of phase A, then one pass of walks a round.

use super::clustering::Published;
use super::dictionary::{self, Dictionary};
use super::message::{Budget, packed_bytes, published_bytes};
use super::{Done, Down, FedWalk, Rows, Up, Work};
use crate::node_embedding::Embedding;
use folkmoot_draws::index;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Embeddings;
use folkmoot_learning::skip_gram::Corpus;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const PLAN: Purpose = Purpose(*b"fw-plan ");

/// What the server waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// A2: degree vectors.
    Vectors,
    /// A4: ordered matrices.
    Matrices,
    /// The tree, which the server works out.
    Tree,
    /// B3: finished walks.
    Walks,
    /// The vectors, which the server works out.
    Learning,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    stage: Stage,
    n_bins: usize,
    answers: Gather,
    vectors: Vec<f32>,
    /// What devices uploaded in A4, if a tree is made of it; empty for those who did not.
    #[serde(with = "shared")]
    pub(super) matrices: Arc<[Box<[f32]>]>,
    /// Walks received over all rounds, and their entries.
    pub(super) walks: u64,
    pub(super) entries: u64,
    /// The walks themselves, as they came, if anybody will read them.
    #[serde(with = "shared")]
    pub(super) corpus: Arc<Corpus>,
    /// Who sent each of them in.
    pub(super) senders: Vec<u32>,
    /// How many of them there were when each round ended.
    pub(super) by_round: Vec<usize>,
    /// Who asked for whose row, if anybody will read it.
    pub(super) requests: Vec<(u32, u32)>,
    #[serde(with = "shared")]
    pub(super) plan: Arc<[u8]>,
    #[serde(with = "shared")]
    pub(super) dictionary: Option<Arc<Dictionary>>,
    #[serde(with = "shared")]
    pub(super) published: Option<Arc<Published>>,
    pub(super) embeddings: Option<Embeddings>,
}

impl Server {
    pub(super) fn new(n_nodes: usize, n_bins: usize) -> Self {
        Server {
            stage: Stage::Vectors,
            n_bins,
            answers: Gather::default(),
            vectors: vec![0.0; n_nodes * n_bins],
            matrices: Arc::default(),
            walks: 0,
            entries: 0,
            corpus: Arc::default(),
            senders: Vec::new(),
            by_round: Vec::new(),
            requests: Vec::new(),
            plan: Arc::new([]),
            dictionary: None,
            published: None,
            embeddings: None,
        }
    }

    pub(super) fn handle(
        &mut self,
        system: &FedWalk,
        event: ServerEvent<FedWalk>,
        cx: &mut ServerContext<'_, FedWalk>,
    ) -> Result<(), StrategyError> {
        let over = match event {
            ServerEvent::Start => {
                self.announce(system, cx);
                false
            }
            ServerEvent::Message { from, message } => self.receive(system, from, message, cx)?,
            ServerEvent::Timer(timer) => timer == self.answers.timer(),
            ServerEvent::Done(Done::Tree(published)) => {
                self.publish(system, Some(published), cx)?;
                false
            }
            ServerEvent::Done(Done::Vectors(vectors)) => {
                self.embeddings = vectors?;
                cx.finish();
                false
            }
            // What the server works out is on its way.
            ServerEvent::Quiet => !matches!(self.stage, Stage::Tree | Stage::Learning),
            ServerEvent::Done(Done::Matrix(_)) | ServerEvent::Undelivered { .. } => false,
        };
        match over {
            true => self.next_stage(system, cx),
            false => Ok(()),
        }
    }

    fn enter(&mut self, stage: Stage, cx: &mut ServerContext<'_, FedWalk>) {
        self.stage = stage;
        cx.stage(match stage {
            Stage::Vectors => "degree vectors",
            Stage::Matrices => "matrices",
            Stage::Tree => "tree",
            Stage::Walks => "walks",
            Stage::Learning => "learning",
        });
    }

    /// A1: everybody learns the bins.
    fn announce(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, FedWalk>) {
        self.enter(Stage::Vectors, cx);
        let mut rng = cx.rng(PLAN);
        let bins = dictionary::group_plan(system.n_nodes(), self.n_bins, |n| index(&mut rng, n));
        self.plan = bins.into();
        to_all(cx, |_| Down::GroupPlan(Arc::clone(&self.plan)));
        self.wait_for_all(cx);
    }

    fn wait_for_all(&mut self, cx: &mut ServerContext<'_, FedWalk>) {
        let n = u64::from(cx.n_clients());
        self.answers.begin(n, n, cx);
    }

    /// Takes a message in. True if it was the last that was waited for.
    fn receive(
        &mut self,
        system: &FedWalk,
        from: ClientId,
        message: Up,
        cx: &mut ServerContext<'_, FedWalk>,
    ) -> Result<bool, StrategyError> {
        let (round, event_round, at) = (cx.round(), cx.event_round(), from.0 as usize);
        let is_last = match (message, self.stage) {
            (Up::DegreeVector(row), Stage::Vectors) => {
                let row = system.open(&row, from)?;
                let own = self.vectors.chunks_exact_mut(self.n_bins).nth(at);
                own.into_iter().flatten().zip(row).for_each(|(own, count)| *own = count);
                self.answers.answered(1)
            }
            (Up::OrderedMatrix(matrix), Stage::Matrices) => {
                if let Some(mine) = Arc::get_mut(&mut self.matrices).and_then(|all| all.get_mut(at)) {
                    *mine = system.open(&matrix, from)?;
                }
                self.answers.answered(1)
            }
            (Up::RowRequest(vertex), _) => {
                let bytes = 4 + system.row_bytes();
                cx.send(from, Down::Row(Counted { content: vertex, bytes }));
                // Who was sent those of its neighbours asks for those of others.
                if system.params.rows == Rows::OnRequest {
                    self.note_requests(system, from, &[vertex]);
                }
                false
            }
            (Up::RowsWanted(vertices), _) => {
                // In the order in which they were asked for, so without their vertices.
                let bytes = vertices.len() as u64 * system.row_bytes();
                cx.send(from, Down::Rows(Counted { content: (), bytes }));
                self.note_requests(system, from, &vertices);
                false
            }
            (Up::Sequence(sequence), Stage::Walks) => {
                self.walks += 1;
                self.entries += sequence.len() as u64;
                if keeps_walks(system) {
                    Arc::make_mut(&mut self.corpus).push(sequence);
                    self.senders.push(from.0);
                }
                if event_round != round {
                    cx.late(event_round);
                    return Ok(false);
                }
                self.answers.answered(1)
            }
            // Of an earlier stage: it came after its deadline.
            _ if event_round < round => {
                cx.late(event_round);
                false
            }
            _ => false,
        };
        Ok(is_last)
    }

    fn note_requests(&mut self, system: &FedWalk, from: ClientId, vertices: &[u32]) {
        if system.params.attacks {
            self.requests.extend(vertices.iter().map(|&vertex| (from.0, vertex)));
        }
    }

    fn next_stage(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, FedWalk>) -> Result<(), StrategyError> {
        match self.stage {
            Stage::Vectors => self.send_dictionary(system, cx),
            Stage::Matrices => {
                let matrices = Arc::clone(&self.matrices);
                match self.dictionary.clone() {
                    Some(dictionary) => self.make_tree(system, Work::ClusterMatrices { matrices, dictionary }, cx),
                    None => Ok(()),
                }
            }
            Stage::Tree | Stage::Learning => Ok(()),
            Stage::Walks => self.end_round(system, cx),
        }
    }

    /// A3, and then what comes next: the matrices, or the tree of the vectors alone.
    fn send_dictionary(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, FedWalk>) -> Result<(), StrategyError> {
        let dictionary = Arc::new(Dictionary::new(std::mem::take(&mut self.vectors)));
        let codec = &*system.params.codec;
        let bytes = packed_bytes(codec, 1, self.n_bins) * system.n_nodes() as u64;
        to_all(cx, |_| {
            let content = Arc::clone(&dictionary);
            match codec.is_plain() {
                true => Down::Dictionary(content),
                false => Down::PackedDictionary(Counted { content, bytes }),
            }
        });
        self.dictionary = Some(Arc::clone(&dictionary));
        if !system.params.m_upload {
            return self.make_tree(system, Work::ClusterVectors { dictionary }, cx);
        }
        if system.params.reads_tree() {
            self.matrices = vec![Box::default(); system.n_nodes()].into();
        }
        self.enter(Stage::Matrices, cx);
        self.wait_for_all(cx);
        Ok(())
    }

    /// Starts working out the tree, if anybody will read it.
    fn make_tree(
        &mut self,
        system: &FedWalk,
        work: Work,
        cx: &mut ServerContext<'_, FedWalk>,
    ) -> Result<(), StrategyError> {
        self.enter(Stage::Tree, cx);
        match system.params.reads_tree() {
            true => {
                cx.compute(work);
                Ok(())
            }
            false => self.publish(system, None, cx),
        }
    }

    /// A5, the end of the set-up.
    fn publish(
        &mut self,
        system: &FedWalk,
        published: Option<Arc<Published>>,
        cx: &mut ServerContext<'_, FedWalk>,
    ) -> Result<(), StrategyError> {
        let (rows, with_matrix) = (system.params.rows, system.params.m_upload);
        if rows != Rows::Off {
            let bytes = published_bytes(system.n_nodes(), rows, with_matrix, &*system.params.codec);
            to_all(cx, |_| {
                Down::TreeAndMatrix(Counted {
                    content: published.clone(),
                    bytes,
                })
            });
        }
        if !system.params.attacks {
            self.matrices = Arc::default();
        }
        // Kept for the scores.
        self.published = published;
        self.enter(Stage::Walks, cx);
        self.end_round(system, cx)
    }

    fn end_round(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, FedWalk>) -> Result<(), StrategyError> {
        let (asked, came) = (self.answers.asked(), self.answers.came());
        self.by_round.push(self.corpus.n_sentences());
        cx.round_done(RoundReport {
            cohort: asked,
            completed: came,
            dropped: asked - came,
            staleness_mean: 0.0,
        });
        if cx.round().0 > system.params.walks_per_node {
            self.learn(system, cx);
            return Ok(());
        }
        let cohort = cx.cohort()?;
        let asked = cohort.len() as u64;
        let needed = u64::from(cx.needed()).min(asked);
        let budget = Budget {
            left: system.params.walk_length,
            epsilon: system.params.epsilon_encoder as f32,
            predictor_prob: system.params.predictor_prob as f32,
        };
        for id in cohort {
            cx.send(id, Down::Start(budget));
        }
        self.answers.begin(asked, needed, cx);
        Ok(())
    }

    /// Phase C, if anything is to be learned.
    fn learn(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, FedWalk>) {
        if system.params.embedding == Embedding::Off {
            cx.finish();
            return;
        }
        self.enter(Stage::Learning, cx);
        let corpus = Arc::clone(&self.corpus);
        cx.compute(Work::Learn { corpus });
    }
}

/// Whether anybody will read the walks.
fn keeps_walks(system: &FedWalk) -> bool {
    system.params.embedding != Embedding::Off || system.params.attacks
}

fn to_all(cx: &mut ServerContext<'_, FedWalk>, message: impl Fn(ClientId) -> Down) {
    for id in (0..cx.n_clients()).map(ClientId) {
        cx.send(id, message(id));
    }
}
