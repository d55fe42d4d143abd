//! What FedGCN is worth, what its exchange sends and what that gives away.

use super::theory::Counts;
use super::{FedGcn, Neighbours};
use folkmoot_classifiers::classifier::Accuracy;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};

const YAO: &str = "Yao et al., NeurIPS 2023";

pub(super) const TERMS: &[Term] = terms! {
    "exchange_bytes", "Bytes exchanged before training", Bytes [from(0.0), lower]:
        "Payload bytes sent in the first round, which exchanges data and trains nothing; compared with the paper's formula.",
        YAO;
    "cut_edges", "Cut edges", Number [from(0.0)]:
        "Edges between nodes of two clients.";
    "one_hop_rows", "Rows of one hop", Number [from(0.0)]:
        "Number of partial sums: over all nodes, the clients that hold a neighbour, as the paper's code counts them.",
        YAO;
    "two_hop_rows", "Rows of two hops", Number [from(0.0)]:
        "Rows of one hop plus, over clients, the adjacent nodes of other clients.",
        YAO;
    "shown_to_server", "Nodes revealed to the server", Number [from(0.0), lower]:
        "Nodes whose features the server receives: a client's partial sum over this node alone, or raw features.";
    "shown_to_clients", "Nodes revealed to clients", Number [from(0.0), lower]:
        "Nodes whose features another client can recover from received sums minus its own data, or receives as raw features.";
    "unanswered_clients", "Clients without an answer", Number [from(0.0), lower]:
        "Clients that did not complete the exchange and train on their cut graph.";
};

/// Scores of the server's model on what clients know after the exchange, and what that came to.
pub(super) struct Worth {
    pub(super) accuracy: Accuracy,
    pub(super) counts: Counts,
}

impl RoundEvaluator<FedGcn, (), Neighbours> for Worth {
    fn after_round(&self, task: &FedGcn, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        self.accuracy.of_round(&task.classifier, parameters, sheet);
    }

    fn controls(&self, task: &FedGcn, sheet: &mut Sheet) {
        self.accuracy.of_controls(&task.classifier, sheet);
    }

    fn scores(&self, end: &RoundEnd<'_, FedGcn, (), Neighbours>, sheet: &mut Sheet) {
        self.accuracy.scores(end, sheet);
    }

    fn at_end(&self, end: &RoundEnd<'_, FedGcn, (), Neighbours>, sheet: &mut Sheet) {
        let (plan, counts) = (&end.trainer.plan, &self.counts);
        let n_clients = end.trainer.n_clients;
        sheet.number("cut_edges", counts.cut_edges as f64);
        sheet.number("one_hop_rows", counts.one_hop as f64);
        sheet.number("two_hop_rows", counts.two_hop as f64);
        sheet.number("shown_to_server", counts.shown_to_server(plan) as f64);
        sheet.number("shown_to_clients", counts.shown_to_clients(plan) as f64);
        let rows = end
            .run
            .ledger
            .rows()
            .filter(|(_, round, ..)| plan.hops > 0 && *round == Round(0));
        let bytes: u64 = rows.map(|(.., cell)| cell.payload_bytes).sum();
        sheet.number("exchange_bytes", bytes as f64);
        // The formula is of numbers as they are.
        if end.trainer.codec.is_plain() {
            let bytes = counts.bytes(plan, u64::from(n_clients));
            sheet.reference("exchange_bytes", "theory", bytes as f64);
        }
        let is_told = |client: &u32| end.kept(ClientId(*client)).is_some_and(|kept| kept.is_told());
        let missing = if plan.hops == 0 {
            0
        } else {
            (0..n_clients).filter(|id| !is_told(id)).count()
        };
        sheet.number("unanswered_clients", missing as f64);
        if missing > 0 {
            sheet.warn(format!(
                "{missing} of {n_clients} clients never got all of the exchange and train on their cut graph; scores are those of clients that did"
            ));
        }
    }
}
