//! What is seen from above: how good the network is, what reports cost, and what they give away.

use crate::attacks;
use crate::edges::{EdgeRelease, PublicEdges};
use crate::features::Estimate;
use crate::local_gnn::LocalGnn;
use crate::matrix::Matrix;
use crate::network::Network;
use crate::train::{Course, Learned, Sample};
use crate::users::{Role, Users};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::MAJORITY_CLASS;
use serde_bytes::ByteBuf;
use std::sync::Arc;

const PAIRS: Purpose = Purpose(*b"us-pairs");
const COLUMNS: Purpose = Purpose(*b"us-colum");
const CONTROLS: Purpose = Purpose(*b"us-contr");

pub(crate) struct Worth(pub(crate) Arc<Users>);

impl Worth {
    /// The share of those who test whose class is predicted, and how many they are.
    fn accuracy(&self, predictions: &[u32]) -> (f64, u64) {
        let (mut right, mut n) = (0, 0);
        for (user, prediction) in (0_u32..).zip(predictions) {
            if let (Role::Tests, Some(class)) = (self.0.roles[user as usize], self.0.class(user)) {
                right += u64::from(*prediction == class);
                n += 1;
            }
        }
        (if n > 0 { right as f64 / n as f64 } else { 0.0 }, n)
    }

    /// What always saying the commonest class of those who tell theirs would come to.
    fn majority(&self) -> (f64, u64) {
        let mut counts = vec![0_u64; self.0.dataset.n_classes];
        let tells = |user: &u32| self.0.roles[*user as usize] == Role::Tells;
        let n = self.0.roles.len() as u32;
        (0..n)
            .filter(tells)
            .filter_map(|user| self.0.class(user))
            .for_each(|class| counts[class as usize] += 1);
        let most = counts.iter().copied().max().unwrap_or(0);
        let commonest = counts.iter().position(|count| *count == most).unwrap_or(0) as u32;
        self.accuracy(&vec![commonest; n as usize])
    }

    /// The network on what users would tell without privacy, and on what they told without its
    /// edges.
    fn controls(&self, end: &End<'_, LocalGnn>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let (system, told) = (end.strategy, end.server.told());
        let n_users = self.0.roles.len() as u32;
        let list = |user: u32| {
            let mut list = Vec::new();
            put_u32s(&mut list, self.0.dataset.graph().neighbours(user));
            Some(ByteBuf::from(list))
        };
        let lists: Vec<Option<ByteBuf>> = (0..n_users).map(list).collect();
        let links = PublicEdges {}.links(crate::edges::Reports(&lists))?;
        let clear = |user: u32| {
            let values = (0_u32..).zip(self.0.features(user).0);
            Estimate {
                base: 0.0,
                others: values
                    .filter(|(_, x)| *x != 0.0)
                    .map(|(column, x)| (column, x as f32))
                    .collect(),
            }
        };
        let mut rng = end.streams.global(CONTROLS);
        let n_features = system.facts.n_features as usize;
        let noisy = told.sample(&system.params, n_features, &mut rng)?;
        let rows: Vec<Estimate> = (0..n_users).map(clear).collect();
        let labels = (0..n_users).map(|user| self.0.class(user).unwrap_or(0)).collect();
        let sample = Sample {
            rows: Matrix::new(&rows, n_features),
            labels,
            ..noisy.clone()
        };
        let course = Course {
            keep: 1.0,
            ..system.course()
        };
        let clear = course.train(sample, &links, &mut rng);
        sheet.number("clear_accuracy", self.accuracy(&clear.predictions).0);
        let course = Course {
            network: Network::Mlp,
            ..system.course()
        };
        let alone = course.train(noisy, &links, &mut rng);
        sheet.number("no_graph_accuracy", self.accuracy(&alone.predictions).0);
        Ok(())
    }

    fn learned(&self, learned: &Learned, sheet: &mut Sheet) {
        let (accuracy, n) = self.accuracy(&learned.predictions);
        sheet.score("test", "accuracy", accuracy, n);
        sheet.number("test_accuracy", accuracy);
        sheet.number("majority_accuracy", self.majority().0);
        sheet.number("train_told_accuracy", learned.train_accuracy);
        sheet.number("kept_epoch", f64::from(learned.kept_at));
        sheet.number("held_arcs", learned.n_arcs as f64);
        if learned.diverged {
            sheet.diverged("the loss of the server's network was no finite number");
        }
    }

    /// What reports cost: of a user in bytes, and of each thing in epsilon.
    fn costs(&self, end: &End<'_, LocalGnn>, sheet: &mut Sheet) {
        let n_users = self.0.roles.len() as f64;
        for (kind, name) in [
            ("features", "feature_bytes"),
            ("label", "label_bytes"),
            ("edges", "edge_bytes"),
        ] {
            let rows = end.ledger.rows().filter(|(of, ..)| of.name == kind);
            let bytes: u64 = rows.map(|(.., cell)| cell.payload_bytes).sum();
            sheet.number(Unit::Bytes.of(name), bytes as f64 / n_users);
        }
        let worst = |at: usize| end.privacy.get(at).map_or(0.0, |row| row.epsilon_max_client);
        let finite = |epsilon: f64| epsilon.is_finite().then_some(epsilon);
        sheet.number_if("feature_epsilon", finite(worst(0)));
        sheet.number_if("label_epsilon", finite(worst(1)));
        let edge = end.privacy.get(end.strategy.mechanisms().len());
        sheet.number_if("edge_epsilon", edge.and_then(|row| finite(row.epsilon_max_client)));
    }

    fn attacks(&self, end: &End<'_, LocalGnn>, learned: &Learned, sheet: &mut Sheet) -> Result<(), StrategyError> {
        let (system, told) = (end.strategy, end.server.told());
        let edges = &system.params().edges;
        let rows = told.rows(&system.params, system.facts.n_features as usize)?;
        let most = system.params().attacked_pairs as usize;
        let (pairs, is_edge) = attacks::drawn_pairs(self.0.dataset.graph(), most, &mut end.streams.global(PAIRS));
        let suspicions = edges.suspect(told.reports(), &pairs)?;
        attacks::links(suspicions, &rows, (&pairs, &is_edge), sheet);
        let links = edges.links(told.reports())?;
        attacks::features(&self.0, &rows, &links, &mut end.streams.global(COLUMNS), sheet);
        attacks::labels(&system.course(), &self.0, told, learned, sheet);
        Ok(())
    }
}

impl Evaluator<LocalGnn> for Worth {
    fn expected_messages(&self, system: &LocalGnn, _: &Setup<'_>, kind: Kind, _: Round, _: Direction) -> Option<f64> {
        let is_told = kind.name != "edges" || system.params().edges.n_lists() > 0;
        Some(if is_told { self.0.roles.len() as f64 } else { 0.0 })
    }

    fn reads_clients(&self, _: &LocalGnn) -> bool {
        false
    }

    /// Each client is one user, so that it has no majority of its own.
    fn controls(&self, _: &LocalGnn, sheet: &mut Sheet) {
        let (majority, n) = self.majority();
        sheet.control(MAJORITY_CLASS, "test_accuracy", majority, n);
    }

    fn at_end(&self, end: &End<'_, LocalGnn>, sheet: &mut Sheet) {
        self.costs(end, sheet);
        let told = end.server.told();
        let missing = |reports: &[Option<ByteBuf>]| reports.iter().filter(|report| report.is_none()).count();
        let n_missing = missing(&told.features).max(missing(&told.edges));
        if n_missing > 0 {
            sheet.warn(format!(
                "the reports of {n_missing} users did not come in time, and the server learned without them"
            ));
        }
        let n_moved = end.counters[0];
        sheet.number(LocalGnn::COUNTERS[0], n_moved as f64);
        if n_moved > 0 {
            sheet.warn(format!(
                "{n_moved} features lay outside of the public range and were moved to its nearest end; set range"
            ));
        }
    }

    fn scores(&self, end: &End<'_, LocalGnn>, sheet: &mut Sheet) {
        let Some(learned) = end.server.learned().filter(|learned| !learned.predictions.is_empty()) else {
            return;
        };
        self.learned(learned, sheet);
        let asked = self.attacks(end, learned, sheet);
        let asked = asked.and_then(|()| match end.strategy.params().controls {
            true => self.controls(end, sheet),
            false => Ok(()),
        });
        if let Err(StrategyError(why)) = asked {
            sheet.missing("attacks and controls", &why);
        }
    }
}
