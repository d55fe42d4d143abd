//! What is seen of FGCL from above: scores on common graphs, budgets, guesses of edges, and what
//! updates give away.

use super::Fgcl;
use super::data::Data;
use super::privacy::totals;
use folkmoot_classifiers::classifier::Score;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use std::sync::Arc;

/// Who knows all graphs.
pub(super) struct Audit {
    data: Arc<Data>,
    streams: Streams,
}

/// All that a look from above takes.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) fgcl: &'a Fgcl,
    pub(super) data: &'a Data,
    pub(super) streams: Streams,
}

impl Audit {
    pub(super) fn new(data: Arc<Data>, streams: Streams) -> Self {
        Audit { data, streams }
    }

    fn view<'a>(&'a self, fgcl: &'a Fgcl) -> View<'a> {
        View {
            fgcl,
            data: &self.data,
            streams: self.streams,
        }
    }
}

impl RoundEvaluator<Fgcl> for Audit {
    fn after_round(&self, fgcl: &Fgcl, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        Score::write(&self.view(fgcl).scores(parameters), sheet);
    }

    fn reads_clients(&self, fgcl: &Fgcl) -> bool {
        fgcl.params.attacks
    }

    fn at_end(&self, end: &RoundEnd<'_, Fgcl>, sheet: &mut Sheet) {
        if let Some(views) = end.privacy().first() {
            totals(views, sheet);
        }
    }

    fn scores(&self, end: &RoundEnd<'_, Fgcl>, sheet: &mut Sheet) {
        let n_rounds = u64::from(end.n_rounds());
        let view = self.view(end.trainer);
        Score::conclude(&view.scores(end.parameters), sheet);
        if end.trainer.params.attacks {
            view.attacks(n_rounds, sheet);
            view.leaks(end, sheet);
        }
    }
}
