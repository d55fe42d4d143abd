//! Scores of what an app's server shows, by its `@fm.evaluate`.

use super::{AppStrategy, ServerState};
use crate::app::{Shard, seed};
use crate::evaluator::{ByApp, EVALUATE, Found, OF_APP, Scores, client_rows};
use crate::kept::KeptArray;
use crate::pool::Trouble;
use crate::protocol::Frame;
use folkmoot_engine::evaluator::{End, Ended, Evaluator};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::key::score_name;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Scores of what the server shows.
pub(super) struct ByShown {
    shards: Arc<Vec<Shard>>,
    streams: Streams,
}

impl ByShown {
    pub(super) fn new(shards: &Arc<Vec<Shard>>, streams: Streams) -> ByShown {
        ByShown {
            shards: Arc::clone(shards),
            streams,
        }
    }

    /// The scores of what is shown, if anything is and the app scores it.
    fn scores_of(
        &self,
        strategy: &AppStrategy,
        server: &ServerState,
        round: Round,
    ) -> Result<Option<Scores>, StrategyError> {
        let functions = &strategy.at_work.started().functions;
        let (Some(shown), Some(evaluates)) = (&server.shown, functions.get("evaluate")) else {
            return Ok(None);
        };
        let is_whole = evaluates.get("on").and_then(Value::as_str) == Some("whole");
        let clients: Vec<Option<u32>> = match is_whole {
            true => vec![None],
            false => self.shards.iter().map(|shard| Some(shard.client)).collect(),
        };
        let one = |client: Option<u32>| Ok((client, self.one(strategy, shown, (client, round))?));
        let each: Vec<Result<_, StrategyError>> = clients.into_par_iter().map(one).collect();
        // Of several that fail, the first client's counts.
        each.into_iter().collect::<Result<Scores, _>>().map(Some)
    }

    fn one(
        &self,
        strategy: &AppStrategy,
        shown: &[KeptArray],
        (client, round): (Option<u32>, Round),
    ) -> Result<Vec<Found>, StrategyError> {
        let working = strategy.at_work.working()?;
        let party = client.map_or(Party::Server, |client| Party::Client(ClientId(client)));
        let seed = seed(self.streams.party(EVALUATE, party, Round(0)));
        let request = Frame::new(
            "evaluate_shown",
            json!({"client": client, "round": round.0, "seed": seed}),
        )
        .with(shown.iter().map(KeptArray::as_sent).collect());
        let of = client.map_or("the whole data set".to_owned(), |client| format!("client {client}"));
        let failed = |trouble: Trouble| {
            let what = format!("evaluation on {of} after round {}", round.0);
            working.failure(&what, &request, &trouble)
        };
        let (_, reply) = working.pool.ask(&request, None).map_err(failed)?;
        Found::listed(&reply).ok_or_else(|| failed(Trouble::Pool("the worker's metrics cannot be read".to_owned())))
    }
}

impl Evaluator<AppStrategy> for ByShown {
    fn reads_clients(&self, _: &AppStrategy) -> bool {
        false
    }

    fn after_round(&self, ended: &Ended<'_, AppStrategy>, sheet: &mut Sheet) {
        let (strategy, round) = (ended.strategy, ended.round);
        let n = round.0 + 1;
        if !n.is_multiple_of(strategy.evaluate_every) && n != strategy.rounds {
            return;
        }
        match self.scores_of(strategy, ended.server, round) {
            Ok(scores) => {
                for (found, term) in ByApp::averaged(&scores.unwrap_or_default(), OF_APP) {
                    sheet.score(&found.split, found.unit.of(&found.name), found.number(), found.n);
                    sheet.term(term);
                }
            }
            Err(StrategyError(why)) => sheet.fail(why),
        }
    }

    fn scores(&self, end: &End<'_, AppStrategy>, sheet: &mut Sheet) {
        let last = Round((end.rounds.len() as u32).saturating_sub(1));
        let scores = match self.scores_of(end.strategy, end.server, last) {
            Ok(scores) => scores.unwrap_or_default(),
            Err(StrategyError(why)) => return sheet.fail(why),
        };
        for (found, term) in ByApp::averaged(&scores, OF_APP) {
            sheet.number(found.unit.of(score_name(&found.split, &found.name)), found.number());
            sheet.term(term);
        }
        sheet.client_scores(client_rows(&scores));
    }
}
