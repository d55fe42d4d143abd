//! The server's side: the set-up of phase A, then one pass of walks a round.

use super::clustering::Published;
use super::dictionary::{self, Dictionary};
use super::message::{Budget, tree_and_matrix_bytes};
use super::{Done, FedWalk, Message, Pool, Rows, SelfHop, Work, counter, theory};
use folkmoot_engine::prelude::*;
use folkmoot_engine::rng;
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
    walks: u64,
    entries: u64,
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
        }
    }

    pub(super) fn handle(&mut self, system: &FedWalk, event: Event<FedWalk>, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let over = match event {
            Event::Start => {
                self.announce(system, cx);
                false
            }
            Event::Message { from, message } => {
                self.receive(from, message, cx);
                self.came == self.needed
            }
            Event::Timer(id) => id == TimerId(self.timer),
            Event::Done(Done::Tree(published)) => {
                self.publish(system, Some(published), cx);
                false
            }
            // The tree is on its way while it is worked out.
            Event::Quiet => self.stage != Stage::Tree,
            Event::Done(Done::Matrix(_)) | Event::Undelivered { .. } => false,
        };
        if over {
            self.next_stage(system, cx);
        }
    }

    /// A1: everybody learns the bins.
    fn announce(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let mut rng = cx.rng(PLAN);
        let bins = dictionary::group_plan(system.n_nodes(), self.n_bins, |n| rng::index(&mut rng, n));
        let bins: Arc<[u8]> = bins.into();
        to_all(system, cx, || Message::GroupPlan(Arc::clone(&bins)));
        self.set_timer(cx);
    }

    fn receive(&mut self, from: Party, message: Message, cx: &mut ServerContext<'_, '_, FedWalk>) {
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
            (Message::Sequence(sequence), Stage::Walks, _) => {
                self.walks += 1;
                self.entries += sequence.len() as u64;
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
                self.make_tree(
                    system,
                    Work::ClusterMatrices {
                        matrices,
                        k: self.n_bins,
                    },
                    cx,
                );
            }
            Stage::Tree => {}
            Stage::Walks => self.end_round(system, cx),
        }
    }

    /// A3, and then what comes next: the matrices, or the tree of the vectors alone.
    fn send_dictionary(&mut self, system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>) {
        let vectors = std::mem::take(&mut self.vectors);
        let work = (!system.params.m_upload).then(|| Work::ClusterVectors {
            vectors: vectors.clone(),
            k: self.n_bins,
        });
        let dictionary = Arc::new(Dictionary::new(vectors));
        to_all(system, cx, || Message::Dictionary(Arc::clone(&dictionary)));
        if let Some(work) = work {
            self.make_tree(system, work, cx);
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
        if system.params.rows == Rows::All {
            let bytes = tree_and_matrix_bytes(system.n_nodes() as u64, system.params.m_upload);
            to_all(system, cx, || Message::TreeAndMatrix {
                published: published.clone(),
                bytes,
            });
        }
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
            cx.finish();
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

    /// The numbers of the communication study.
    pub(super) fn summary(&self, system: &FedWalk, report: &Report<'_>) -> Vec<(String, f64)> {
        let mut summary: Vec<(String, f64)> = Vec::new();
        let mut put = |name: &str, value: f64| summary.push((name.to_owned(), value));
        let kind = |name: &str| {
            let rows = report.ledger.rows().filter(|(kind, ..)| kind.name == name);
            rows.fold((0u64, 0u64), |(sent, bytes), (.., cell)| {
                (sent + cell.sent, bytes + cell.payload_bytes)
            })
        };
        let ((starts, _), (peer, peer_bytes)) = (kind("start"), kind("walk"));
        put("walks_started", starts as f64);
        put("walks_completed", self.walks as f64);
        for (name, &count) in FedWalk::COUNTERS.iter().zip(&report.counters) {
            put(name, count as f64);
        }
        let hops = report.counters[counter::PREDICTED_HOPS];
        if hops > 0 {
            put(
                "predictor_hit_rate",
                report.counters[counter::HITS] as f64 / hops as f64,
            );
        }
        if starts == 0 {
            return summary;
        }
        let (walks, messages) = (starts as f64, peer as f64 / starts as f64);
        put("peer_messages_per_walk", messages);
        put("peer_bytes_per_walk", peer_bytes as f64 / walks);
        put(
            "predicted_hops_per_walk",
            report.counters[counter::PREDICTED_HOPS] as f64 / walks,
        );
        if self.walks > 0 {
            put("entries_per_walk", self.entries as f64 / self.walks as f64);
        }
        if system.params.self_hop == SelfHop::Message {
            let (l, p) = (system.params.walk_length, system.params.predictor_prob);
            let right = system.messages_per_walk(theory::expected_messages);
            let error =
                (system.connected_share() * theory::message_variance(l, p) / system.n_walks(&report.setup)).sqrt();
            put("peer_messages_per_walk@Theorem 4.2, right form", right);
            put(
                "peer_messages_per_walk@Theorem 4.2, as printed",
                system.messages_per_walk(theory::printed_messages),
            );
            put("peer_messages_per_walk_standard_error", error);
        }
        summary
    }
}

/// Whether devices will read pools off a tree.
fn needs_tree(system: &FedWalk, cx: &ServerContext<'_, '_, FedWalk>) -> bool {
    system.params.pool != Pool::Vector && !cx.dry_run()
}

fn to_all(system: &FedWalk, cx: &mut ServerContext<'_, '_, FedWalk>, message: impl Fn() -> Message) {
    for id in 0..system.n_nodes() as u32 {
        cx.send(Party::Client(ClientId(id)), message());
    }
}
