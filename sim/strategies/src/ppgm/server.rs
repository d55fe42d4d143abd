//! The matching service: it trains before anything else, hands out the model, and compares what devices send it.

use super::learned::Learned;
use super::matcher::Matrix;
use super::message::MatchId;
use super::{Done, Message, Ppgm, Work};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A finished match.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// Which.
    pub id: MatchId,
    /// Who was invited.
    pub invited: u32,
    /// Its score.
    pub score: f32,
}

/// The service's state.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Server {
    pub(super) learned: Option<Arc<Learned>>,
    pub(super) model: Option<Arc<[f32]>>,
    /// Representations whose match lacks the other, with who sent them.
    waiting: BTreeMap<MatchId, (u32, Matrix)>,
    pub(super) scored: Vec<Scored>,
    over: bool,
}

impl Server {
    pub(super) fn handle(
        &mut self,
        system: &Ppgm,
        event: Event<Ppgm>,
        cx: &mut ServerContext<'_, '_, Ppgm>,
    ) -> Result<(), StrategyError> {
        match event {
            Event::Start if cx.dry_run() => self.install(system.initial().into(), cx),
            Event::Start => cx.compute(Work::Learn, 0.0),
            Event::Done(Done::Learned(learned)) => {
                if let Some(epoch) = learned.diverged_in {
                    return Err(StrategyError(format!(
                        "training left a model with numbers that are not finite in epoch {epoch}; lower training.rate"
                    )));
                }
                let model = learned.parameters.as_slice().into();
                self.learned = Some(Arc::new(*learned));
                self.install(model, cx);
            }
            Event::Message {
                from: Party::Client(from),
                message: Message::Result { id, data },
            } => self.receive(system, from.0, id, data, cx)?,
            Event::Done(Done::Scored { scored }) => {
                self.scored.push(scored);
                for receiver in [scored.id.initiator, scored.invited] {
                    let (id, score) = (scored.id, scored.score);
                    cx.send(Party::Client(ClientId(receiver)), Message::Score { id, score });
                }
            }
            Event::Quiet if self.model.is_some() && !self.over => {
                self.over = true;
                // The matches that the service has heard of: from both devices, or from one alone.
                let [completed, dropped] = [self.scored.len(), self.waiting.len()].map(|n| n as u64);
                cx.round_done(RoundReport {
                    cohort: completed + dropped,
                    completed,
                    dropped,
                    staleness_mean: 0.0,
                });
                cx.finish();
            }
            _ => {}
        }
        Ok(())
    }

    fn install(&mut self, model: Arc<[f32]>, cx: &mut ServerContext<'_, '_, Ppgm>) {
        for client in 0..cx.n_clients() {
            cx.send(Party::Client(ClientId(client)), Message::Model(Arc::clone(&model)));
        }
        self.model = Some(model);
    }

    fn receive(
        &mut self,
        system: &Ppgm,
        from: u32,
        id: MatchId,
        data: Vec<f32>,
        cx: &mut ServerContext<'_, '_, Ppgm>,
    ) -> Result<(), StrategyError> {
        let n_columns = system.matcher.result_shape(0).1 as u32;
        if n_columns == 0 || !data.len().is_multiple_of(n_columns as usize) {
            return Err(StrategyError(format!(
                "client {from} sent {} numbers to the service, which are no rows of {n_columns}",
                data.len()
            )));
        }
        let result = Matrix { n_columns, data };
        let Some((other, waiting)) = self.waiting.remove(&id) else {
            self.waiting.insert(id, (from, result));
            return Ok(());
        };
        let (invited, first, second) = match from == id.initiator {
            true => (other, result, waiting),
            false => (from, waiting, result),
        };
        let Some(model) = self.model.clone() else { return Ok(()) };
        let work = Work::Score {
            id,
            invited,
            sent: Box::new([first, second]),
            model: (!cx.dry_run()).then_some(model),
        };
        cx.compute(work, 0.0);
        Ok(())
    }
}
