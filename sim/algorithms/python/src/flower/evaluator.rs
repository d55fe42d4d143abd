//! Metrics of an app: those of replies that the ServerApp has received, and of its own evaluation.

use super::server::Server;
use super::strategy::App;
use crate::evaluator::Found;
use folkmoot_engine::prelude::*;
use folkmoot_metrics::key::score_name;
use folkmoot_metrics::term::{Answering, Asked, Weighed};

/// Writes down the metrics that the server's process has sent along.
pub(super) struct Reported;

/// A name of a metric as Folkmoot writes them: `Eval-Loss` is `eval_loss`.
fn name_of(name: &str, split: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).collect();
    let short = name.strip_prefix(split).and_then(|rest| rest.strip_prefix('_'));
    short
        .filter(|short| !short.is_empty())
        .map_or(name.clone(), str::to_owned)
}

fn of_round(server: &Server, round: u32) -> impl Iterator<Item = (Found, Term)> {
    let metrics = server.metrics.iter().filter(move |((of, ..), _)| *of == round);
    metrics.map(|((_, split, name), (value, n))| {
        let found = Found::plain(name_of(name, split), *value, *n, split);
        let about = match name.strip_prefix("central_") {
            Some(name) => format!("Metric {name} of the ServerApp's own evaluation."),
            None => format!("Metric {name} of the replies that the ServerApp received: mean weighted by num-examples."),
        };
        let whose = match name.starts_with("central_") {
            true => (Answering::Server, Asked::Whole, Weighed::Items),
            false => (Answering::Server, Asked::Own, Weighed::Items),
        };
        let term = found.term_of(whose, &about);
        (found, term)
    })
}

impl Evaluator<App> for Reported {
    fn after_round(&self, ended: &Ended<'_, App>, sheet: &mut Sheet) {
        for (found, term) in of_round(ended.server, ended.round.0) {
            sheet.score(&found.split, found.unit.of(&found.name), found.value, found.n);
            sheet.term(term);
        }
    }

    fn reads_clients(&self, _: &App) -> bool {
        false
    }

    fn scores(&self, end: &End<'_, App>, sheet: &mut Sheet) {
        // Of each metric the last value counts.
        for row in end.rounds.iter() {
            for (found, term) in of_round(end.server, row.round) {
                sheet.number(found.unit.of(score_name(&found.split, &found.name)), found.value);
                sheet.term(term);
            }
        }
    }
}
