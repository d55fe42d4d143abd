//! Whoever measures: hears that rounds have ended, and says nothing.

use super::message::Up;
use super::{Gossip, counter};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// A report of a client's.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    round: u32,
    #[serde(with = "shared")]
    model: Option<Arc<[f32]>>,
}

/// The state of the party that no client hears: what clients have reported.
#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    /// By client: what it has reported of rounds that have not ended here, in the order in which it
    /// did.
    reports: Vec<VecDeque<Report>>,
    /// By client: the model that it was last seen with; its first before that.
    seen: Vec<Report>,
    /// How many clients have reported the present round or a later one.
    n_done: u32,
}

type Context<'a> = ServerContext<'a, Gossip>;

impl Server {
    pub(super) fn new(gossip: &Gossip, n_clients: u32) -> Server {
        let first = |client| Report {
            round: 0,
            model: Some(gossip.start(ClientId(client))),
        };
        Server {
            reports: (0..n_clients).map(|_| VecDeque::new()).collect(),
            seen: (0..n_clients).map(first).collect(),
            n_done: 0,
        }
    }

    /// Every client's model after the round that has just ended, as far as it was reported:
    /// otherwise the last that was.
    pub(super) fn models(&self) -> Vec<&[f32]> {
        self.seen.iter().filter_map(|seen| seen.model.as_deref()).collect()
    }

    pub(super) fn handle(&mut self, gossip: &Gossip, event: ServerEvent<Gossip>, cx: &mut Context<'_>) {
        match event {
            ServerEvent::Message {
                from,
                message: Up::Report(Counted { content: model, .. }),
            } => self.hear(gossip, from, model, cx),
            ServerEvent::Timer(TimerId(round)) if round == cx.round().0 => self.close(gossip, cx),
            ServerEvent::Quiet => {
                // Nobody will report any more; what was reported is seen round by round.
                if self.n_done > 0 {
                    self.end_round(cx);
                }
                match self.n_done {
                    0 => cx.finish(),
                    _ => cx.timer(SimSpan::ZERO, TimerId(cx.round().0)),
                }
            }
            _ => {}
        }
    }

    fn hear(&mut self, gossip: &Gossip, from: ClientId, model: Option<Arc<[f32]>>, cx: &mut Context<'_>) {
        let round = cx.event_round().0;
        let reports = &mut self.reports[from.0 as usize];
        if round < cx.round().0 {
            // It is seen in the next round, unless it reports that by then.
            cx.late(Round(round));
            cx.count(counter::LATE_REPORTS, 1);
        }
        let was_done = reports.back().is_some_and(|report| report.round >= cx.round().0);
        reports.push_back(Report { round, model });
        if was_done || round < cx.round().0 {
            return;
        }
        self.n_done += 1;
        if self.n_done == half(cx.n_clients()) {
            cx.timer(gossip.timeout(), TimerId(cx.round().0));
        }
        if self.n_done == cx.n_clients() {
            self.close(gossip, cx);
        }
    }

    /// Ends the round, and begins the next, which ends at this instant too if all clients have
    /// reported it already.
    fn close(&mut self, gossip: &Gossip, cx: &mut Context<'_>) {
        self.end_round(cx);
        let next = TimerId(cx.round().0);
        if next.0 >= gossip.rounds() {
            cx.finish();
        } else if self.n_done == cx.n_clients() {
            cx.timer(SimSpan::ZERO, next);
        } else if self.n_done >= half(cx.n_clients()) {
            cx.timer(gossip.timeout(), next);
        }
    }

    fn end_round(&mut self, cx: &mut Context<'_>) {
        let round = cx.round().0;
        for (reports, seen) in self.reports.iter_mut().zip(&mut self.seen) {
            while let Some(report) = reports.pop_front_if(|report| report.round <= round) {
                if report.model.is_some() {
                    *seen = report;
                }
            }
        }
        let (asked, completed) = (u64::from(cx.n_clients()), u64::from(self.n_done));
        cx.round_done(RoundReport {
            cohort: asked,
            completed,
            dropped: asked - completed,
            staleness_mean: 0.0,
        });
        self.n_done = self.reports.iter().filter(|reports| !reports.is_empty()).count() as u32;
    }
}

/// Most of the clients, after whom it is not waited for the others without end.
fn half(n_clients: u32) -> u32 {
    n_clients.div_ceil(2)
}
