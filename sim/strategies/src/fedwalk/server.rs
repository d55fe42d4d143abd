//! The server's side: the set-up of phase A, then one pass of walks a round.

use super::audit::Recovery;
use super::clustering::Published;
use super::dictionary::{self, Dictionary};
use super::message::{Budget, published_bytes, row_bytes};
use super::{Done, FedWalk, Message, Rows, Work};
use crate::node_embedding::Embedding;
use folkmoot_draws::{Purpose, index};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Embeddings;
use folkmoot_learning::skip_gram::Corpus;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const PLAN: Purpose = Purpose(*b"fw-plan ");
const LEARN: Purpose = Purpose(*b"fw-learn");

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

/// The server's state.
#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    stage: Stage,
    n_bins: usize,
    vectors: Vec<f32>,
    /// What devices uploaded in A4, if a tree is made of it; empty for those who did not.
    matrices: Vec<Box<[f32]>>,
    /// Results of this stage so far, and how many end it.
    came: u64,
    needed: u64,
    asked: u64,
    /// Counts the stages, so that the timer of one that is over is known for late.
    timer: u32,
    /// Walks received over all rounds, and their entries.
    pub(super) walks: u64,
    pub(super) entries: u64,
    /// The walks themselves, as they came, if anybody will read them.
    pub(super) corpus: Arc<Corpus>,
    pub(super) plan: Arc<[u8]>,
    pub(super) dictionary: Option<Arc<Dictionary>>,
    pub(super) published: Option<Arc<Published>>,
    /// How many edges the uploaded matrices gave away.
    pub(super) matched: Option<Recovery>,
    pub(super) embeddings: Option<Embeddings>,
}

impl Server {
    pub(super) fn new(n_nodes: usize, n_bins: usize) -> Self {
        let n = n_nodes as u64;
        Server {
            stage: Stage::Vectors,
            n_bins,
            vectors: vec![0.0; n_nodes * n_bins],
            matrices: Vec::new(),
            came: 0,
            needed: n,
            asked: n,
            timer: 0,
            walks: 0,
            entries: 0,
            corpus: Arc::default(),
            plan: Arc::new([]),
            dictionary: None,
            published: None,
            matched: None,
            embeddings: None,
        }
    }

    pub(super) fn handle(
        &mut self,
        system: &FedWalk,
        event: Event<FedWalk>,
        cx: &mut ServerContext<'_, '_, FedWalk>,
    ) -> Result<(), StrategyError> {
        let over = match event {
            Event::Start => {
                self.announce(system, cx);
                false
            }
            Event::Message { from, message } => {
                self.receive(system, from, message, cx);
                self.came == self.needed
            }
            Event::Timer(id) => id == TimerId(self.timer),
            Event::Done(Done::Tree(published, matched)) => {
                self.matched = matched;
                self.publish(system, Some(published), cx);
                false
            }
            Event::Done(Done::Vectors(vectors)) => {
                self.embeddings = vectors?;
                cx.finish();
                false
            }
            // What the server works out is on its way.
            Event::Quiet => !matches!(self.stage, Stage::Tree | Stage::Learning),
            Event::Done(Done::Matrix(_)) | Event::Undelivered { .. } => false,
        };
        if over {
            self.next_stage(system, cx);
        }
        Ok(())
    }

    /// A1: everybody learns the bins.
    fn announce(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let mut rng = cx.rng(PLAN);
        let bins = dictionary::group_plan(system.n_nodes(), self.n_bins, |n| index(&mut rng, n));
        self.plan = bins.into();
        to_all(system, cx, |_| Message::GroupPlan(Arc::clone(&self.plan)));
        self.set_timer(cx);
    }

    fn receive(&mut self, system: &FedWalk, from: Party, message: Message, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let (round, event_round) = (cx.round(), cx.event_round());
        match (message, self.stage, from) {
            (Message::DegreeVector(row), Stage::Vectors, Party::Client(id)) if row.len() == self.n_bins => {
                let start = id.0 as usize * self.n_bins;
                if let Some(mine) = self.vectors.get_mut(start..start + self.n_bins) {
                    mine.copy_from_slice(&row);
                    self.came += 1;
                }
            }
            (Message::OrderedMatrix(matrix), Stage::Matrices, Party::Client(id)) => {
                if let Some(mine) = self.matrices.get_mut(id.0 as usize) {
                    *mine = matrix;
                }
                self.came += 1;
            }
            (Message::RowRequest(vertex), ..) => {
                let bytes = row_bytes(system.n_nodes() as u64);
                cx.send(from, Message::Row { vertex, bytes });
            }
            (Message::Sequence(sequence), Stage::Walks, _) => {
                self.walks += 1;
                self.entries += sequence.len() as u64;
                if keeps_walks(system, cx) {
                    Arc::make_mut(&mut self.corpus).push(sequence);
                }
                if event_round == round {
                    self.came += 1
                } else {
                    cx.late(event_round)
                }
            }
            // Of an earlier stage: it came after its deadline.
            _ if event_round < round => cx.late(event_round),
            _ => {}
        }
    }

    fn next_stage(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        self.timer += 1;
        match self.stage {
            Stage::Vectors => self.send_dictionary(system, cx),
            Stage::Matrices => {
                let matrices = std::mem::take(&mut self.matrices);
                if let Some(dictionary) = self.dictionary.clone() {
                    let work = Work::ClusterMatrices {
                        matrices,
                        dictionary,
                        measures: !cx.dry_run(),
                    };
                    self.make_tree(system, work, cx);
                }
            }
            Stage::Tree | Stage::Learning => {}
            Stage::Walks => self.end_round(system, cx),
        }
    }

    /// A3, and then what comes next: the matrices, or the tree of the vectors alone.
    fn send_dictionary(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let dictionary = Arc::new(Dictionary::new(std::mem::take(&mut self.vectors)));
        to_all(system, cx, |_| Message::Dictionary(Arc::clone(&dictionary)));
        self.dictionary = Some(Arc::clone(&dictionary));
        if !system.params.m_upload {
            let measures = !cx.dry_run();
            self.make_tree(system, Work::ClusterVectors { dictionary, measures }, cx);
            return;
        }
        if needs_tree(system, cx) {
            self.matrices = vec![Box::default(); system.n_nodes()];
        }
        self.stage = Stage::Matrices;
        self.came = 0;
        self.set_timer(cx);
    }

    /// Starts working out the tree, if anybody will read it.
    fn make_tree(&mut self, system: &FedWalk, work: Work, cx: &mut ServerContext<'_, '_, FedWalk>) {
        self.stage = Stage::Tree;
        match needs_tree(system, cx) {
            true => cx.compute(work, 0.0),
            false => self.publish(system, None, cx),
        }
    }

    /// A5, the end of the set-up.
    fn publish(
        &mut self,
        system: &FedWalk,
        published: Option<Arc<Published>>,
        cx: &mut ServerContext<'_, '_, FedWalk>,
    ) {
        let (rows, with_matrix) = (system.params.rows, system.params.m_upload);
        if rows != Rows::Off {
            let n_nodes = system.n_nodes() as u64;
            to_all(system, cx, |v| Message::TreeAndMatrix {
                published: published.clone(),
                bytes: published_bytes(n_nodes, system.neighbours(v).len() as u64, rows, with_matrix),
            });
        }
        // Kept for the scores.
        self.published = published.filter(|_| !cx.dry_run());
        self.stage = Stage::Walks;
        self.end_round(system, cx);
    }

    fn end_round(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let missing = self.asked - self.came;
        cx.round_done(RoundReport {
            cohort: self.asked,
            completed: self.came,
            dropped: missing,
            staleness_mean: 0.0,
        });
        if cx.round().0 > system.params.walks_per_node {
            self.learn(system, cx);
            return;
        }
        let cohort = cx.cohort();
        self.asked = cohort.len() as u64;
        self.needed = u64::from(cx.needed());
        self.came = 0;
        let budget = Budget {
            left: system.params.walk_length,
            epsilon: system.params.epsilon_encoder as f32,
            predictor_prob: system.params.predictor_prob as f32,
        };
        for id in cohort {
            cx.send(Party::Client(id), Message::Start(budget));
        }
        self.set_timer(cx);
    }

    fn set_timer(&mut self, cx: &mut ServerContext<'_, '_, FedWalk>) {
        if let Some(deadline) = cx.deadline() {
            cx.timer(deadline, TimerId(self.timer));
        }
    }

    /// Phase C, if anything is to be learned.
    fn learn(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        if system.params.embedding == Embedding::Off || cx.dry_run() {
            cx.finish();
            return;
        }
        self.stage = Stage::Learning;
        let mut key = [0; 32];
        cx.rng(LEARN).fill_bytes(&mut key);
        let corpus = Arc::clone(&self.corpus);
        cx.compute(Work::Learn { corpus, key }, 0.0);
    }
}

/// Whether devices will read the tree. In a dry run they do so for pools alone, on which the messages depend.
fn needs_tree(system: &FedWalk, cx: &ServerContext<'_, '_, FedWalk>) -> bool {
    match cx.dry_run() {
        true => system.params.draws_from_tree(),
        false => system.params.reads_tree(),
    }
}

/// Whether anybody will read the walks.
fn keeps_walks(system: &FedWalk, cx: &ServerContext<'_, '_, FedWalk>) -> bool {
    (system.params.embedding != Embedding::Off || system.params.attacks) && !cx.dry_run()
}

fn to_all(system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>, message: impl Fn(u32) -> Message) {
    for id in 0..system.n_nodes() as u32 {
        cx.send(Party::Client(ClientId(id)), message(id));
    }
}
