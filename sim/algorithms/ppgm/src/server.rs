//! The matching service: it trains before anything else, hands out the model, and compares what
//! devices send it.

use super::algorithm::{Done, Ppgm, Scored, Work};
use super::learned::Learned;
use super::matcher::Matrix;
use super::message::{Down, MatchId, Up};
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Training takes the service no time.
const TRAINED: TimerId = TimerId(0);

#[derive(Debug, Serialize, Deserialize)]
pub struct Server {
    /// What training before deployment has come to.
    #[serde(with = "shared")]
    pub(super) learned: Option<Arc<Learned>>,
    #[serde(with = "shared")]
    pub(super) model: Arc<[f32]>,
    is_installed: bool,
    /// Representations whose match lacks the other, with who sent them.
    waiting: BTreeMap<MatchId, (u32, Matrix)>,
    pub(super) scored: Vec<Scored>,
    over: bool,
}

impl Server {
    pub(super) fn new(initial: Vec<f32>) -> Self {
        Server {
            learned: None,
            model: initial.into(),
            is_installed: false,
            waiting: BTreeMap::new(),
            scored: Vec::new(),
            over: false,
        }
    }

    /// The model that devices have, if they have one.
    pub(super) fn installed(&self) -> Option<&Arc<[f32]>> {
        self.is_installed.then_some(&self.model)
    }

    pub(super) fn handle(
        &mut self,
        system: &Ppgm,
        event: ServerEvent<Ppgm>,
        cx: &mut ServerContext<'_, Ppgm>,
    ) -> Result<(), StrategyError> {
        match event {
            ServerEvent::Start => cx.timer(SimSpan::ZERO, TRAINED),
            ServerEvent::Timer(TRAINED) => {
                let Some(learned) = &self.learned else { return Ok(()) };
                if let Some(epoch) = learned.diverged_in {
                    return Err(StrategyError(format!(
                        "training left a model with numbers that are not finite in epoch {epoch}; lower training.learning_rate"
                    )));
                }
                self.model = learned.parameters.as_slice().into();
                self.install(cx);
            }
            ServerEvent::Message {
                from,
                message: Up::Result(id, data),
            } => self.receive(system, from.0, id, data, cx)?,
            ServerEvent::Message {
                from,
                message: Up::PackedResult(id, n_rows, packed),
            } => {
                let n_columns = system.matcher.result_shape(0).1 as u32;
                let opened = Matrix::opened(&*system.params.codec, (n_rows, n_columns), &packed);
                let opened = opened.map_err(|why| StrategyError(format!("client {}: a result: {why}", from.0)))?;
                self.receive(system, from.0, id, opened.data, cx)?;
            }
            ServerEvent::Done(Done::Scored { scored }) => {
                self.scored.push(scored);
                for receiver in [scored.id.initiator, scored.invited] {
                    cx.send(ClientId(receiver), Down::Score(scored.id, scored.score));
                }
            }
            ServerEvent::Quiet if self.is_installed && !self.over => {
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

    fn install(&mut self, cx: &mut ServerContext<'_, Ppgm>) {
        self.is_installed = true;
        for client in (0..cx.n_clients()).map(ClientId) {
            cx.send(client, Down::Model(Arc::clone(&self.model)));
        }
    }

    fn receive(
        &mut self,
        system: &Ppgm,
        from: u32,
        id: MatchId,
        data: Vec<f32>,
        cx: &mut ServerContext<'_, Ppgm>,
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
        let work = Work::Score {
            id,
            invited,
            sent: Box::new([first, second]),
            model: Arc::clone(&self.model),
        };
        cx.compute(work);
        Ok(())
    }
}
