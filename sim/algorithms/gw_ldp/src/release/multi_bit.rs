//! The multi-bit encoder for embeddings (Algorithm 1 of the paper), with what it leaves open.

use super::{Release, Request, Table};
use crate::Facts;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_parts::{Chosen, component};
use folkmoot_privacy::multi_bit::recommended_entries;
use folkmoot_privacy::{self as privacy, Entries, ParameterError};

/// The multi-bit encoder (Algorithm 1 of the paper): some entries become random signs, the others
/// 0. Needs values in 0..=1.
#[component(
    name = "MultiBit",
    about = "multi-bit encoder (Algorithm 1 of the paper): sampled entries become random signs, the others 0; needs values in 0..=1"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultiBit {
    /// Sampling of entries and the epsilon of each.
    pub entries: Sampled,
    /// Privacy budget.
    pub epsilon: Epsilon,
    /// Number of sampled entries, per row or in total (see `entries`). If omitted, the paper's
    /// choice `max(1, min(width, floor(epsilon / 2.18)))`.
    #[component(at_least = 1, hint = "omit it for the paper's choice")]
    pub n_sampled: Option<u32>,
    /// Whether the server rectifies the signs to unbiased estimates before comparing graphs; not in
    /// the paper.
    pub rectify: bool,
}

/// Sampling of entries by the encoder.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// `m` entries per row with `epsilon / (m n)` each, as in the paper's proof: `epsilon` per
    /// graph.
    #[default]
    Row,
    /// `m` entries of the whole matrix with `epsilon / m` each: `epsilon` per graph.
    Total,
    /// `m` entries of the whole matrix with `epsilon / (m n)` each, as in the paper's algorithm:
    /// `epsilon / n` per graph.
    #[component(alias = "TotalAsPrinted")]
    TotalAsPublished,
}

/// Privacy budget of the encoder.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Epsilon {
    /// Epsilon per graph: 1 / number of its nodes.
    #[default]
    InverseSize,
    /// Epsilon per graph, equal for all graphs.
    Graph(#[component(required, above = 0, in = 1e-12..=1e12)] f64),
    /// Epsilon per node: a graph of n nodes spends n times as much.
    Node(#[component(required, above = 0, in = 1e-12..=1e12)] f64),
}

impl MultiBit {
    /// The encoder for a graph of `n_nodes` nodes with rows of `width` values.
    fn encoder(&self, n_nodes: usize, width: usize) -> Result<privacy::MultiBit, ParameterError> {
        let entries = match self.entries {
            Sampled::Row => Entries::Row,
            Sampled::Total => Entries::Total,
            Sampled::TotalAsPublished => Entries::TotalAsPublished,
        };
        // The number of entries goes by the budget that the card states, whatever a graph comes to
        // spend.
        let (of_graph, stated) = match self.epsilon {
            Epsilon::InverseSize => (1.0 / n_nodes as f64, 1.0 / n_nodes as f64),
            Epsilon::Graph(epsilon) => (epsilon, epsilon),
            Epsilon::Node(epsilon) => (epsilon * n_nodes as f64, epsilon),
        };
        let recommended = || recommended_entries(stated, width);
        let n_sampled = self.n_sampled.map_or_else(recommended, |n| n as usize);
        privacy::MultiBit::new(entries, of_graph, n_nodes, width)?.with_sampled(n_sampled)
    }
}

impl Release for MultiBit {
    fn mechanism(&self) -> &'static str {
        "multi-bit encoder"
    }

    fn claimed(&self) -> Option<f64> {
        match self.epsilon {
            Epsilon::Graph(epsilon) => Some(epsilon),
            // As many values as graphs have sizes; for budgets of nodes nothing is claimed of
            // graphs.
            Epsilon::InverseSize | Epsilon::Node(_) => None,
        }
    }

    fn needs_bounds(&self) -> bool {
        true
    }

    fn settled(&self, width: usize, _: &Facts) -> Result<Option<Chosen<dyn Release>>, StrategyError> {
        match self.n_sampled {
            Some(n) if self.entries == Sampled::Row && n as usize > width => Err(StrategyError(format!(
                "n_sampled: must be at most {width} (values in a row), got {n}"
            ))),
            _ => Ok(None),
        }
    }

    fn table(&self, n_nodes: usize, width: usize) -> Result<Table, ParameterError> {
        let encoder = self.encoder(n_nodes, width)?;
        let values = match self.rectify {
            true => [-1, 0, 1].map(|sign| encoder.rectify(sign)),
            false => [-1.0, 0.0, 1.0],
        };
        let mechanism = Box::new(encoder);
        Ok(Table::Signs { mechanism, values })
    }

    fn request(&self) -> Option<Request> {
        let (kind, budget) = match self.epsilon {
            Epsilon::InverseSize => (0, 0.0),
            Epsilon::Graph(epsilon) => (1, epsilon),
            Epsilon::Node(epsilon) => (2, epsilon),
        };
        let mut settings = vec![self.entries as u8, kind];
        settings.extend(budget.to_le_bytes());
        settings.extend(self.n_sampled.unwrap_or(0).to_le_bytes());
        settings.push(u8::from(self.rectify));
        Some(Request::short(1, &settings))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sent;
    use super::super::tests::{release, rows};
    use super::*;
    use folkmoot_classifiers::classifier::GraphRows;
    use folkmoot_parts::Value;

    fn multi_bit(entries: Sampled, epsilon: Epsilon) -> MultiBit {
        MultiBit {
            entries,
            epsilon,
            ..MultiBit::default()
        }
    }

    fn signs(encoder: MultiBit, rows: &GraphRows) -> (Vec<i8>, f64) {
        let (embedding, cost) = release(&encoder, rows);
        assert_eq!((embedding.id, embedding.n_nodes()), (rows.id, rows.n_nodes()));
        let Sent::Signs(signs) = embedding.sent else {
            panic!("signs are sent")
        };
        (signs, cost)
    }

    /// The printed default: one entry a row, a graph spends 1/n; in total, one entry, and 1/n².
    #[test]
    fn the_printed_budgets_are_those_of_the_specification() {
        let n_sent = |signs: &[i8]| signs.iter().filter(|sign| **sign != 0).count();
        let (all, cost) = signs(MultiBit::default(), &rows(18, 2));
        assert!(all.chunks(2).all(|row| n_sent(row) == 1));
        assert!((cost - 1.0 / 18.0).abs() < 1e-15);
        let encoder = MultiBit::default().encoder(18, 2).unwrap();
        assert!((encoder.entry_budget() - 1.0 / 324.0).abs() < 1e-15);
        let (all, cost) = signs(multi_bit(Sampled::TotalAsPublished, Epsilon::InverseSize), &rows(18, 2));
        assert_eq!(n_sent(&all), 1);
        assert!((cost - 1.0 / 324.0).abs() < 1e-15);
    }

    /// A budget per node is spent by every node, and samples as many entries as that budget pays.
    #[test]
    fn a_budget_of_nodes_adds_up_over_the_graph() {
        let encoder = multi_bit(Sampled::Row, Epsilon::Node(4.5)).encoder(10, 7).unwrap();
        assert_eq!(encoder.n_sampled(), 2);
        assert!((encoder.entry_budget() - 2.25).abs() < 1e-12);
        assert!((encoder.total_epsilon() - 45.0).abs() < 1e-12);
    }

    #[test]
    fn rectified_signs_are_centred_on_the_values() {
        let corrected = MultiBit {
            rectify: true,
            ..multi_bit(Sampled::Row, Epsilon::Node(3.0))
        };
        let mut rows = rows(4000, 2);
        rows.values
            .chunks_mut(2)
            .for_each(|row| row.copy_from_slice(&[0.9, 0.1]));
        let (embedding, _) = release(&corrected, &rows);
        let received = (&corrected as &dyn Release).received(&embedding);
        let mean = received.chunks(2).map(|row| row[0]).sum::<f64>() / 4000.0;
        // One row's estimate has a standard deviation below 1.5.
        assert!((mean - 0.9).abs() < 4.0 * 1.5 / 4000f64.sqrt(), "{mean}");
        let plain = MultiBit {
            rectify: false,
            ..corrected
        };
        let received = (&plain as &dyn Release).received(&embedding);
        assert!(received.iter().all(|value| [-1.0, 0.0, 1.0].contains(value)));
    }

    #[test]
    fn a_budget_is_above_0() {
        assert_eq!(multi_bit(Sampled::Row, Epsilon::Node(-1.0)).broken()[0].path, "epsilon");
    }
}
