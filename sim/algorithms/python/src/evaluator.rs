//! Scores by an app: its `evaluate`, called after rounds and at the end.

use crate::app::{Shard, seed};
use crate::artifacts;
use crate::examples::attack;
use crate::poison::tell;
use crate::pool::Trouble;
use crate::protocol::{Array, Frame};
use crate::reports::{self, AtClients};
use crate::settings::Params;
use crate::shadows::Shadows;
use crate::trainer::{App, Kept};
use folkmoot_classifiers::attacks::{Attack, Reads};
use folkmoot_classifiers::classifier::honest_scores;
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::ClientScoreRow;
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::term::{Answering, Asked, Weighed};
use folkmoot_parts::Chosen;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use folkmoot_scenarios::algorithm::{Keep, Source};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) const EVALUATE: Purpose = Purpose(*b"py-score");

/// Scores of the server's model by the app.
pub(crate) struct ByApp {
    shards: Arc<Vec<Shard>>,
    streams: Streams,
    /// The last model that was scored, with its scores: they follow from it alone.
    last: Mutex<Option<(Vec<f32>, Arc<Scores>)>>,
    attacks: Vec<Chosen<dyn Attack>>,
    shadows: Option<Shadows>,
    keep: Vec<Keep>,
    /// The malicious clients, ascending.
    malicious: Vec<u32>,
}

/// The metrics of each client, or of the whole data set alone.
pub(crate) type Scores = Vec<(Option<u32>, Vec<Found>)>;

/// A metric as the app returns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) n: u64,
    pub(crate) split: String,
    pub(crate) better: Option<String>,
    pub(crate) unit: Unit,
}

impl Found {
    /// Whether it is the metric of that name, of whichever split.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    pub(crate) fn number(&self) -> f64 {
        self.value
    }

    /// A plain number; names that end in `accuracy` or `loss` say which direction is better.
    pub(crate) fn plain(name: String, value: f64, n: u64, split: &str) -> Found {
        let ends = |ending: &str| name.split('_').next_back() == Some(ending);
        let better = match (ends("accuracy") || ends("acc"), ends("loss")) {
            (true, _) => Some("higher"),
            (_, true) => Some("lower"),
            _ => None,
        };
        Found {
            better: better.map(str::to_owned),
            split: split.to_owned(),
            unit: Unit::Number,
            name,
            value,
            n,
        }
    }

    /// What the metric means.
    pub(crate) fn term_of(&self, (answering, items, weighed): (Answering, Asked, Weighed), about: &str) -> Term {
        self.term((&self.name, items, weighed), about)
            .scored(answering, items, weighed)
    }

    fn of(listed: &Value) -> Option<Found> {
        let (name, value, n, split, better, unit): (String, f64, u64, String, Option<String>, Option<String>) =
            serde_json::from_value(listed.clone()).ok()?;
        Some(Found {
            name,
            value,
            n,
            split,
            better,
            unit: match unit.as_deref() {
                None | Some("fraction") => Unit::Number,
                Some("count") => Unit::Count,
                Some("bytes") => Unit::Bytes,
                Some("seconds") => Unit::Seconds,
                Some(_) => return None,
            },
        })
    }

    /// The metrics of an answer; `None` if they cannot be read.
    pub(crate) fn listed(reply: &Frame<'_>) -> Option<Vec<Found>> {
        let listed = reply.header.get("metrics")?.as_array()?;
        listed.iter().map(Found::of).collect()
    }

    /// What the metric means.
    fn term(&self, (name, items, weighed): (&str, Asked, Weighed), about: &str) -> Term {
        let words = name.replace('_', " ");
        let mut words = words.chars();
        let words: String = words
            .next()
            .map(|c| c.to_ascii_uppercase())
            .into_iter()
            .chain(words)
            .collect();
        let term = Term {
            name: Cow::Owned(name.to_owned()),
            words: Cow::Owned(words),
            unit: self.unit,
            about: Cow::Owned(about.to_owned()),
            ..Term::new("", "", self.unit, "", "")
        };
        let term = match self.better.as_deref() {
            Some("higher") => term.higher(),
            Some("lower") => term.lower(),
            _ => term,
        };
        term.scored(Answering::Server, items, weighed)
    }
}

impl ByApp {
    pub(crate) fn new(params: &Params, shards: &Arc<Vec<Shard>>, source: &Source<'_>) -> ByApp {
        let mut attacks = params.attacks.iter();
        let asks_shadows = attacks.any(|attack| attack.reads() == Reads::Shadows);
        ByApp {
            shards: Arc::clone(shards),
            streams: source.streams,
            last: Mutex::new(None),
            shadows: asks_shadows.then(|| Shadows::new(params, source)),
            attacks: params.attacks.clone(),
            keep: source.keep.to_vec(),
            malicious: params.protocol.malicious.drawn(&source.sizes(), source.streams),
        }
    }

    /// The scores of a model, after `round`.
    fn scores_of(&self, app: &App, parameters: &[f32], round: Round) -> Result<Arc<Scores>, StrategyError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scores)) = last.as_ref().filter(|(model, _)| model == parameters) {
            return Ok(Arc::clone(scores));
        }
        let is_whole = app.started().functions.pointer("/evaluate/on").and_then(Value::as_str) == Some("whole");
        let clients: Vec<Option<u32>> = match is_whole {
            true => vec![None],
            false => self.shards.iter().map(|shard| Some(shard.client)).collect(),
        };
        let one = |client: Option<u32>| Ok((client, self.one(app, parameters, (client, round))?));
        let each: Vec<Result<_, StrategyError>> = clients.into_par_iter().map(one).collect();
        // Of several that fail, the first client's counts.
        let scores: Scores = each.into_iter().collect::<Result<_, _>>()?;
        let scores = Arc::new(scores);
        *last = Some((parameters.to_vec(), Arc::clone(&scores)));
        Ok(scores)
    }

    fn one(
        &self,
        app: &App,
        parameters: &[f32],
        (client, round): (Option<u32>, Round),
    ) -> Result<Vec<Found>, StrategyError> {
        let working = app.working()?;
        let party = client.map_or(Party::Server, |client| Party::Client(ClientId(client)));
        // The same for one model, after whichever round.
        let seed = seed(self.streams.party(EVALUATE, party, Round(0)));
        let request = Frame::new("evaluate", json!({"client": client, "round": round.0, "seed": seed}))
            .with(vec![Array::floats("params", parameters)]);
        let of = client.map_or("the whole data set".to_owned(), |client| format!("client {client}"));
        let failed = |trouble: Trouble| {
            working.failure(
                &format!("evaluation on {of} after round {}", round.0),
                &request,
                &trouble,
            )
        };
        let (_, reply) = working.pool.ask(&request, None).map_err(failed)?;
        Found::listed(&reply).ok_or_else(|| failed(Trouble::Pool("the worker's metrics cannot be read".to_owned())))
    }

    /// The metrics over all clients: means weighted by `n`, and plain means over clients; `of` says
    /// whose they are.
    pub(crate) fn averaged(scores: &Scores, of: &str) -> Vec<(Found, Term)> {
        let mut names: Vec<(&str, &str)> = Vec::new();
        for found in scores.iter().flat_map(|(_, found)| found) {
            let name = (found.split.as_str(), found.name.as_str());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut all = Vec::new();
        for (split, name) in names {
            let is_it = |found: &&Found| found.split == split && found.name == name;
            let each = || {
                scores
                    .iter()
                    .filter_map(|(_, found)| found.iter().find(is_it))
                    .filter(|found| found.n > 0)
            };
            let n: u64 = each().map(|found| found.n).sum();
            let Some(first) = each().next().filter(|_| n > 0) else {
                continue;
            };
            let sum: f64 = each().map(|found| found.value * found.n as f64).sum();
            let mean = Found {
                value: sum / n as f64,
                n,
                ..first.clone()
            };
            let about = format!("Metric {name} {of}.");
            let is_whole = scores.iter().any(|(client, _)| client.is_none());
            let items = if is_whole { Asked::Whole } else { Asked::All };
            let term = mean.term((name, items, Weighed::Items), &about);
            all.push((mean, term));
            if !is_whole {
                let n_clients = each().count() as u64;
                let of_clients = Found {
                    name: format!("client_{name}"),
                    value: each().map(|found| found.value).sum::<f64>() / n_clients as f64,
                    n: n_clients,
                    ..first.clone()
                };
                let about = format!("Metric {name} {of}: unweighted mean over clients.");
                let term = first.term((&of_clients.name, Asked::Own, Weighed::Clients), &about);
                all.push((of_clients, term));
            }
        }
        all
    }

    fn is_scored(app: &App) -> bool {
        app.started().functions.get("evaluate").is_some()
    }
}

pub(crate) const OF_APP: &str = "of the app";

impl RoundEvaluator<App, AtClients> for ByApp {
    fn after_round(&self, app: &App, round: Round, parameters: &[f32], sheet: &mut Sheet) {
        let attacked = app.working().and_then(|working| match working.poisoned() {
            Some(poisoned) => poisoned.score(working, parameters, self.streams, sheet),
            None => Ok(()),
        });
        if let Err(StrategyError(why)) = attacked {
            return sheet.fail(why);
        }
        if !Self::is_scored(app) {
            return;
        }
        match self.scores_of(app, parameters, round) {
            Ok(scores) => {
                for (found, term) in Self::averaged(&scores, OF_APP) {
                    sheet.score(&found.split, found.unit.of(&found.name), found.value, found.n);
                    sheet.term(term);
                }
            }
            Err(StrategyError(why)) => sheet.fail(why),
        }
    }

    fn scores(&self, end: &RoundEnd<'_, App, AtClients>, sheet: &mut Sheet) {
        if !self.malicious.is_empty() {
            tell(sheet);
        }
        artifacts::leave_jobs(end, sheet);
        trained(end, sheet);
        reports::written(end, sheet);
        let asked = match self.attacks.is_empty() {
            true => Ok(()),
            false => attack(
                &self.attacks,
                end,
                (&self.shards, self.streams),
                self.shadows.as_ref(),
                sheet,
            ),
        };
        let app = end.trainer;
        let asked = asked.and_then(|()| {
            let working = app.working()?;
            match working.poisoned() {
                Some(poisoned) => poisoned.conclude(working, end.parameters, self.streams, sheet),
                None => Ok(()),
            }
        });
        let left = asked.and_then(|()| artifacts::leave(&self.keep, end, self.streams, sheet));
        if let Err(StrategyError(why)) = left {
            return sheet.fail(why);
        }
        if !Self::is_scored(app) {
            return;
        }
        let last = Round(end.n_rounds().saturating_sub(1));
        let scores = match self.scores_of(app, end.parameters, last) {
            Ok(scores) => scores,
            Err(StrategyError(why)) => return sheet.fail(why),
        };
        for (found, term) in Self::averaged(&scores, OF_APP) {
            sheet.number(found.unit.of(score_name(&found.split, &found.name)), found.value);
            sheet.term(term);
        }
        let rows = client_rows(&scores);
        honest_scores(&rows, &self.malicious, sheet);
        sheet.client_scores(rows);
    }
}

/// A row for each client with an accuracy.
pub(crate) fn client_rows(scores: &Scores) -> Vec<ClientScoreRow> {
    let value = |found: &[Found], split: &str, name: &str| {
        let is_it = |found: &&Found| found.split == split && found.name == name && found.n > 0;
        found.iter().find(is_it).map(|found| (found.value, found.n))
    };
    let row = |(client, found): &(Option<u32>, Vec<Found>)| {
        let (accuracy, items) = value(found, "test", "accuracy")?;
        Some(ClientScoreRow {
            client: (*client)?,
            items,
            accuracy,
            loss: value(found, "test", "loss").map(|(loss, _)| loss),
            validation_accuracy: value(found, "validation", "accuracy").map(|(accuracy, _)| accuracy),
        })
    };
    scores.iter().filter_map(row).collect()
}

/// Writes down the metrics of trainings, as means over the clients of each round.
fn trained(end: &RoundEnd<'_, App, AtClients>, sheet: &mut Sheet) {
    let clients = || end.run.clients.iter().filter_map(|(client, _)| end.kept(client));
    for row in end.run.rounds {
        let of_round = |kept: &Kept| {
            let mut metrics = kept.metrics.iter().filter(|(round, _)| *round == row.round);
            // One that trained twice in a round sent its last.
            metrics.next_back().map(|(_, found)| (None, found.clone()))
        };
        let scores: Scores = clients().filter_map(of_round).collect();
        for (found, term) in ByApp::averaged(&scores, OF_APP) {
            let metric = found.unit.of(&found.name);
            sheet.score_of(
                (Round(row.round), row.virtual_s),
                &found.split,
                metric,
                found.value,
                found.n,
            );
            let (items, weighed) = (Asked::Own, Weighed::Items);
            sheet.term(term.scored(Answering::Trained, items, weighed));
        }
    }
}
