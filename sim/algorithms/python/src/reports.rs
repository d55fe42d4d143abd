//! Evaluation at clients: metrics that clients compute on what they hold, and send.
//!
//! | exchange  | direction | payload                                  | bytes                        |
//! |-----------|-----------|------------------------------------------|------------------------------|
//! | `metrics` | uplink    | of each metric its name, value, n, kinds | 18 + bytes of the name, each |
//!
//! A client evaluates the model that it receives, before it trains. Its device takes the cost of
//! the function in addition to that of the training, and a round waits for both messages.

use crate::app::{Shard, seed};
use crate::evaluator::{ByApp, Found, Scores};
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::trainer::App;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::term::{Answering, Asked, Weighed};
use folkmoot_rounds::{Extra, RoundEnd, SidePayload, Task, Trained, Trainer};
use serde::{Deserialize, Serialize};
use serde_json::json;

const REPORT: Purpose = Purpose(*b"py-repor");
const SPLITS: [&str; 3] = ["train", "validation", "test"];
const BETTER: [Option<&str>; 3] = [None, Some("higher"), Some("lower")];
const UNITS: [Unit; 4] = [Unit::Number, Unit::Count, Unit::Bytes, Unit::Seconds];

/// Metrics as a client sends them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report(pub(crate) Vec<Found>);

/// Rounds in which clients evaluate: every so many; `None` for never.
pub struct AtClients(pub(crate) Option<u32>);

/// Reports that have come.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reports(Vec<(u32, u32, Vec<Found>)>);

/// The place of a kind among all.
fn code<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|other| other == one).unwrap_or_default() as u8
}

impl Payload for Report {
    fn encoded_len(&self) -> usize {
        self.0.iter().map(|found| 18 + found.name.len()).sum()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for found in &self.0 {
            out.push(found.name.len() as u8);
            out.extend(found.name.as_bytes());
            out.extend(found.value.to_bits().to_le_bytes());
            out.extend(found.n.to_le_bytes());
            let split = code(&SPLITS, &found.split.as_str());
            let better = code(&BETTER, &found.better.as_deref());
            out.push(split + 4 * better + 16 * code(&UNITS, &found.unit));
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let mut all = Vec::new();
        while !reader.is_empty() {
            let n = reader.u8()?;
            let name: Vec<u8> = (0..n).map(|_| reader.u8()).collect::<Result<_, _>>()?;
            let name = String::from_utf8(name).map_err(|_| DecodeError::Invalid("the name of a metric is text"))?;
            let (value, n, kinds) = (f64::from_bits(reader.u64()?), reader.u64()?, reader.u8()?);
            let unknown = DecodeError::Invalid("a metric has a known split, direction and unit");
            let kinds = (
                SPLITS.get(usize::from(kinds % 4)),
                BETTER.get(usize::from(kinds / 4 % 4)),
                UNITS.get(usize::from(kinds / 16)),
            );
            let (Some(split), Some(better), Some(unit)) = kinds else {
                return Err(unknown);
            };
            all.push(Found {
                name,
                value,
                n,
                split: (*split).to_owned(),
                better: better.map(str::to_owned),
                unit: *unit,
            });
        }
        Ok(Report(all))
    }
}

impl Extra for Report {
    const NAME: &'static str = "metrics";
}

impl SidePayload<App> for AtClients {
    type Order = ();
    type Extra = Report;
    type ServerState = Reports;

    fn order(&self, _: &App, _: Round, _: &Reports) {}

    fn is_due(&self, round: Round) -> bool {
        self.0.is_some_and(|every| (round.0 + 1).is_multiple_of(every))
    }

    fn cost(&self, _: &App, shard: &Shard, round: Round) -> f64 {
        if self.is_due(round) { shard.report_cost } else { 0.0 }
    }

    fn train(&self, app: &App, task: Task<'_, '_, App>, (): &()) -> (Trained<crate::trainer::Kept>, Option<Report>) {
        if !self.is_due(task.round()) {
            return (app.train(task), None);
        }
        match app.report(&task) {
            Ok(report) => (app.train(task), Some(report)),
            Err(why) => (Trained::failed(task.parameters, why), Some(Report(Vec::new()))),
        }
    }

    fn placeholder(
        &self,
        app: &App,
        task: Task<'_, '_, App>,
        (): &(),
    ) -> (Trained<crate::trainer::Kept>, Option<Report>) {
        let is_due = self.is_due(task.round());
        (app.placeholder(task), is_due.then(|| Report(Vec::new())))
    }

    fn collect(
        &self,
        reports: &mut Reports,
        client: ClientId,
        round: Round,
        Report(found): Report,
    ) -> Result<(), StrategyError> {
        reports.0.push((round.0, client.0, found));
        Ok(())
    }
}

impl App {
    /// The metrics of a client of the model that it received.
    fn report(&self, task: &Task<'_, '_, App>) -> Result<Report, StrategyError> {
        let working = self.working()?;
        let (client, round) = (task.shard.client, task.round().0);
        let fields = json!({"client": client, "round": round, "seed": seed(task.rng_for(REPORT))});
        let mut request = Frame::new("evaluate_at_client", fields).with(vec![Array::floats("params", task.parameters)]);
        Self::give_state(&mut request, task)?;
        let failed = |trouble: Trouble| {
            let what = format!("evaluation at client {client} in round {round}");
            working.failure(&what, &request, &trouble)
        };
        let reply = self.answered(&request, task)?.map_err(failed)?;
        let found = Found::listed(&reply);
        found
            .map(Report)
            .ok_or_else(|| failed(Trouble::Pool("the worker's metrics cannot be read".to_owned())))
    }
}

/// Writes down what clients have reported: means over the clients of each round.
pub(crate) fn written(end: &RoundEnd<'_, App, AtClients>, sheet: &mut Sheet) {
    let Reports(all) = end.collected;
    let mut last = None;
    for row in end.run.rounds {
        let of_round = all.iter().filter(|(round, ..)| *round == row.round);
        let named = |found: &Found| Found {
            name: format!("reported_{}", found.name),
            ..found.clone()
        };
        let mut scores: Scores = of_round
            .map(|(_, client, found)| (Some(*client), found.iter().map(named).collect()))
            .collect();
        // In whichever order they came, sums are over ascending clients.
        scores.sort_by_key(|(client, _)| *client);
        for (found, term) in ByApp::averaged(&scores, "as its clients report it") {
            let metric = found.unit.of(&found.name);
            let at = (Round(row.round), row.virtual_s);
            sheet.score_of(at, &found.split, metric, found.value, found.n);
            let weighed = if found.name.starts_with("client_") {
                Weighed::Clients
            } else {
                Weighed::Items
            };
            sheet.term(term.scored(Answering::Server, Asked::Own, weighed));
        }
        if !scores.is_empty() {
            last = Some(scores);
        }
    }
    for (found, term) in last
        .iter()
        .flat_map(|scores| ByApp::averaged(scores, "as its clients report it"))
    {
        sheet.number(found.unit.of(score_name(&found.split, &found.name)), found.value);
        sheet.term(term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_sent_and_has_the_bytes_of_its_table() {
        let found = |name: &str, split: &str, better: Option<&str>, unit| Found {
            name: name.to_owned(),
            value: 0.1,
            n: 3,
            split: split.to_owned(),
            better: better.map(str::to_owned),
            unit,
        };
        let report = Report(vec![
            found("accuracy", "test", Some("higher"), Unit::Number),
            found("n_seen", "train", None, Unit::Count),
        ]);
        let mut bytes = Vec::new();
        report.encode(&mut bytes);
        assert_eq!(bytes.len(), report.encoded_len());
        assert_eq!(bytes.len(), 2 * 18 + "accuracy".len() + "n_seen".len());
        assert_eq!(Report::decode(&mut WireReader::new(&bytes)), Ok(report));
        for n in 1..bytes.len() {
            let cut = Report::decode(&mut WireReader::new(&bytes[..n]));
            assert_eq!(cut.is_err(), n != 18 + "accuracy".len(), "{n} bytes");
        }
        let last = bytes.len() - 1;
        bytes[last] = 3;
        assert!(Report::decode(&mut WireReader::new(&bytes)).is_err());
    }
}
