//! What a card has a run keep: the model, its answers, and which client holds what.

use crate::examples::predicted;
use crate::poison::Version;
use crate::reports::AtClients;
use crate::trainer::App;
use folkmoot_classifiers::keep::{Left, SERVER_TABLES, assignment, models, write_answers};
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::artifacts::JOBS;
use folkmoot_rounds::RoundEnd;
use folkmoot_scenarios::algorithm::Keep;
use serde_json::Value;
use std::fmt::Write;

/// Refuses what an app leaves no way to keep.
///
/// # Errors
///
/// Why, with the way out.
pub(crate) fn suits(keep: &[Keep], functions: &Value) -> Result<(), StrategyError> {
    for what in keep {
        let why = match what {
            Keep::Model => continue,
            Keep::Predictions | Keep::Assignment if functions.get("client_data").is_some() => {
                "is of items of shards, and the app has @fm.client_data in their place; leave it out"
            }
            Keep::Predictions if functions.get("predict").is_none() => "asks the model; add @fm.predict to the app",
            Keep::Predictions | Keep::Assignment => continue,
        };
        return Err(StrategyError(format!("keep: {what:?} {why}")));
    }
    Ok(())
}

/// Leaves a digest of each training.
pub(crate) fn leave_jobs(end: &RoundEnd<'_, App, AtClients>, sheet: &mut Sheet) {
    let of_client = |client: ClientId| {
        let digests = end.kept(client).map(|kept| &kept.digests[..]).unwrap_or_default();
        digests.iter().map(move |(round, digest)| (*round, client.0, *digest))
    };
    let mut jobs: Vec<(u32, u32, u64)> = end
        .run
        .clients
        .iter()
        .flat_map(|(client, _)| of_client(client))
        .collect();
    jobs.sort_by_key(|(round, client, _)| (*round, *client));
    if jobs.is_empty() {
        return;
    }
    let mut table = JOBS.header(&[]);
    for (round, client, digest) in jobs {
        let _ = writeln!(table, "{round},{client},{digest:016x}");
    }
    sheet.artifact(JOBS.file, table.into_bytes());
}

/// Leaves what is kept.
///
/// # Errors
///
/// When a worker fails.
pub(crate) fn leave(
    keep: &[Keep],
    end: &RoundEnd<'_, App, AtClients>,
    streams: Streams,
    sheet: &mut Sheet,
) -> Result<(), StrategyError> {
    let (working, layout) = (end.trainer.working()?, &end.trainer.started().layout);
    if keep.contains(&Keep::Model) {
        let left = Left {
            server: Some(end.parameters.to_vec()),
            own: None,
        };
        models(&left, layout, sheet);
    }
    if keep.contains(&Keep::Assignment) {
        assignment(working.partition(), &working.divided()?, sheet);
    }
    if keep.contains(&Keep::Predictions) {
        let divided = working.divided()?;
        let answers = predicted(working, end.parameters, &divided, (Version::Own, streams))?;
        let outputs = (working.task(), working.n_outputs());
        write_answers(SERVER_TABLES, outputs, (&divided, &answers), sheet);
    }
    Ok(())
}
