//! What a handler asks for: actions, done in their order, and calls, answered at once.

use super::declared::{Declared, Noisy, UNPROTECTED};
use super::{AppStrategy, Message, Participant, Work};
use crate::kept::{KeptArray, KeptState};
use crate::protocol::{Array, Frame};
use folkmoot_engine::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Arrays of a frame: their names, and the keys under which the frame has them.
type Placed = Vec<(String, String)>;

/// An action as a worker sends it.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Action {
    Send {
        /// Clients; `None` is the server.
        to: Vec<Option<u32>>,
        message: String,
        phase: String,
        arrays: Placed,
    },
    Compute {
        cost: f64,
        function: String,
        args: Packed,
    },
    Timer {
        after: f64,
        tag: Value,
    },
    Show {
        arrays: Placed,
    },
    RoundDone {
        cohort: u64,
        completed: u64,
        dropped: u64,
        staleness: f64,
    },
    Answered {
        client: u32,
        n_samples: Option<u32>,
        metrics: BTreeMap<String, f64>,
    },
    Finish,
}

/// A packed value in an action.
#[derive(Deserialize)]
struct Packed {
    form: Value,
    arrays: Placed,
}

/// What actions and calls come to at a participant. What the server alone can do fails at a client.
pub(super) trait Host {
    /// The word for the way to a receiver, and whether there is such a one.
    fn way(&self, to: Option<u32>) -> Option<&'static str>;

    fn send(&mut self, to: Option<u32>, message: Message, is_released: bool);

    fn compute(&mut self, work: Work, cost: f64);

    fn timer(&mut self, after: SimSpan, id: TimerId);

    fn release(&mut self, noise: &Noisy, sum: &[f64]) -> Result<Vec<f64>, StrategyError>;

    fn cohort(&mut self) -> Result<Vec<ClientId>, StrategyError> {
        Err(of_server())
    }

    fn show(&mut self, _arrays: Vec<KeptArray>) -> Result<(), StrategyError> {
        Err(of_server())
    }

    fn round_done(&mut self, _report: RoundReport) -> Result<(), StrategyError> {
        Err(of_server())
    }

    fn answered(
        &mut self,
        _client: u32,
        _n_samples: Option<u32>,
        _metrics: &BTreeMap<String, f64>,
    ) -> Result<(), StrategyError> {
        Err(of_server())
    }

    fn finish(&mut self) -> Result<(), StrategyError> {
        Err(of_server())
    }
}

fn of_server() -> StrategyError {
    StrategyError("a client asks for what the server alone can do".to_owned())
}

/// What a handler asks for is done to.
pub(super) struct Actions<'a> {
    pub(super) declared: &'a Declared,
    pub(super) participant: &'a mut Participant,
    pub(super) host: &'a mut dyn Host,
}

impl Actions<'_> {
    /// Does the actions of a frame, and takes their arrays out of it.
    pub(super) fn all(&mut self, frame: &mut Frame<'static>) -> Result<(), StrategyError> {
        let actions = frame.header.remove("actions").unwrap_or_default();
        let actions: Vec<Action> = serde_json::from_value(actions).map_err(|error| unread(&error))?;
        actions.into_iter().try_for_each(|action| self.act(action, frame))
    }

    fn act(&mut self, action: Action, frame: &mut Frame<'static>) -> Result<(), StrategyError> {
        match action {
            Action::Send {
                to,
                message: name,
                phase,
                arrays,
            } => {
                let place = self.declared.place(&name, &phase);
                let message = place.and_then(|place| Some((place, self.declared.message(place)?)));
                let (place, declared) = message.ok_or_else(|| wrong(&format!("sends no declared message, {name}")))?;
                let content = Message::new(place, &taken(frame, arrays)?);
                for to in to {
                    match self.host.way(to) {
                        Some(way) if declared.goes(way) => {
                            self.host.send(to, content.clone(), declared.is_released);
                        }
                        _ => {
                            return Err(wrong(&format!(
                                "sends message {name} to a receiver that it does not go to"
                            )));
                        }
                    }
                }
            }
            Action::Compute { cost, function, args } => {
                let form = Some(args.form.to_string());
                let arrays = taken(frame, args.arrays)?;
                let args = KeptState { form, arrays };
                self.host.compute(Work { function, args }, cost);
            }
            Action::Timer { after, tag } => {
                let id = self.participant.n_timers;
                self.participant.n_timers += 1;
                self.participant.timers.push((id, tag.to_string()));
                self.host.timer(SimSpan::from_secs(after), TimerId(id));
            }
            Action::Show { arrays } => {
                let arrays = taken(frame, arrays)?;
                self.host.show(arrays)?;
            }
            Action::RoundDone {
                cohort,
                completed,
                dropped,
                staleness,
            } => self.host.round_done(RoundReport {
                cohort,
                completed,
                dropped,
                staleness_mean: staleness,
            })?,
            Action::Answered {
                client,
                n_samples,
                metrics,
            } => self.host.answered(client, n_samples, &metrics)?,
            Action::Finish => self.host.finish()?,
        }
        Ok(())
    }

    /// Answers a call, once what was asked for before it is done.
    pub(super) fn answer(&mut self, mut call: Frame<'static>) -> Result<Frame<'static>, StrategyError> {
        self.all(&mut call)?;
        match call.text("call") {
            Some("release") => {
                let values = call.arrays.iter().find(|array| array.name == "values");
                let values = values.filter(|values| values.dtype == "float64" && values.shape.len() == 2);
                let values = values.ok_or_else(|| wrong("releases no matrix of float64"))?;
                let each = values.bytes.chunks_exact(8);
                let rows: Vec<f64> = each
                    .map(|x| f64::from_le_bytes(x.try_into().expect("8 bytes")))
                    .collect();
                let name = call.text("mechanism").unwrap_or_default();
                let (sum, noise) = self.declared.mechanism(name, &rows, values.shape[0])?;
                let released = self.host.release(&noise, &sum)?;
                Ok(Frame::new("released", json!({})).with(vec![owned("values", "float64", &released)]))
            }
            Some("cohort") => {
                let ids: Vec<i64> = self.host.cohort()?.into_iter().map(|id| id.0.into()).collect();
                Ok(Frame::new("cohort", json!({})).with(vec![owned("ids", "int64", &ids)]))
            }
            _ => Err(wrong("makes a call that there is not")),
        }
    }
}

fn owned<T: bytemuck::NoUninit>(name: &'static str, dtype: &'static str, values: &[T]) -> Array<'static> {
    Array {
        name: name.into(),
        dtype: dtype.into(),
        shape: vec![values.len()],
        bytes: bytemuck::cast_slice::<T, u8>(values).to_vec().into(),
    }
}

/// Arrays of a frame, taken out of it.
fn taken(frame: &mut Frame<'static>, placed: Placed) -> Result<Vec<KeptArray>, StrategyError> {
    let one = |(name, key): (String, String)| {
        let array = frame
            .take(&key)
            .ok_or_else(|| wrong(&format!("names no array {key}")))?;
        let named = Array {
            name: name.into(),
            ..array
        };
        Ok(KeptArray::of(named))
    };
    placed.into_iter().map(one).collect()
}

fn wrong(what: &str) -> StrategyError {
    StrategyError(format!("the worker {what}"))
}

fn unread(error: &dyn std::fmt::Display) -> StrategyError {
    StrategyError(format!("the worker's actions cannot be read: {error}"))
}

/// The server's side.
pub(super) struct OfServer<'a, 'c> {
    pub(super) cx: &'a mut ServerContext<'c, AppStrategy>,
    pub(super) shown: &'a mut Option<Vec<KeptArray>>,
}

impl Host for OfServer<'_, '_> {
    fn way(&self, to: Option<u32>) -> Option<&'static str> {
        to.filter(|to| *to < self.cx.n_clients()).map(|_| "down")
    }

    fn send(&mut self, to: Option<u32>, message: Message, _: bool) {
        if let Some(to) = to {
            self.cx.send(ClientId(to), message);
        }
    }

    fn compute(&mut self, work: Work, _: f64) {
        self.cx.compute(work);
    }

    fn timer(&mut self, after: SimSpan, id: TimerId) {
        self.cx.timer(after, id);
    }

    fn release(&mut self, noise: &Noisy, sum: &[f64]) -> Result<Vec<f64>, StrategyError> {
        self.cx.release(noise.channel, noise, sum)
    }

    fn cohort(&mut self) -> Result<Vec<ClientId>, StrategyError> {
        self.cx.cohort()
    }

    fn show(&mut self, arrays: Vec<KeptArray>) -> Result<(), StrategyError> {
        *self.shown = Some(arrays);
        Ok(())
    }

    fn round_done(&mut self, report: RoundReport) -> Result<(), StrategyError> {
        self.cx.round_done(report);
        Ok(())
    }

    fn answered(
        &mut self,
        client: u32,
        n_samples: Option<u32>,
        metrics: &BTreeMap<String, f64>,
    ) -> Result<(), StrategyError> {
        let metric = |name: &String| metrics.get(name).map_or(f32::NAN, |value| *value as f32);
        let metrics = self.cx.selection().metrics().iter().map(metric).collect();
        self.cx.answered(ClientId(client), n_samples, metrics);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StrategyError> {
        self.cx.finish();
        Ok(())
    }
}

/// A client's side.
pub(super) struct OfClient<'a, 'c>(pub(super) &'a mut ClientContext<'c, AppStrategy>);

impl Host for OfClient<'_, '_> {
    fn way(&self, to: Option<u32>) -> Option<&'static str> {
        match to {
            None => Some("up"),
            Some(to) => (to < self.0.n_clients()).then_some("peer"),
        }
    }

    fn send(&mut self, to: Option<u32>, message: Message, is_released: bool) {
        if !is_released {
            self.0.unprotected(UNPROTECTED, ());
        }
        match to {
            None => self.0.send(message),
            Some(to) => self.0.send_peer(ClientId(to), message),
        }
    }

    fn compute(&mut self, work: Work, cost: f64) {
        self.0.compute(work, cost);
    }

    fn timer(&mut self, after: SimSpan, id: TimerId) {
        self.0.timer(after, id);
    }

    fn release(&mut self, noise: &Noisy, sum: &[f64]) -> Result<Vec<f64>, StrategyError> {
        self.0.release(noise.channel, noise, sum)
    }
}
