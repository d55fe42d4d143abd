//! How an embedding leaves its device.

use super::EMBEDDINGS;
use crate::classifier::GraphRows;
use folkmoot_engine::prelude::*;
use folkmoot_parts::part;
use folkmoot_privacy::multi_bit::recommended_entries;
use folkmoot_privacy::{Additive, Entries, Gaussian, MultiBit, NoPrivacy, ParameterError, ReleaseError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What becomes of an embedding before it is sent.
#[part]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Release {
    /// Nothing: it is sent as it is.
    Plain,
    /// The multi-bit encoder (Algorithm 1 of the paper): some entries become random signs, the others 0. Needs values in 0..=1.
    #[default]
    MultiBit {
        /// Which entries are sampled, and what each may spend.
        entries: Sampled,
        /// The budget.
        epsilon: Epsilon,
        /// Sampled entries, of each row or of the whole; where it is left out `max(1, min(width, floor(epsilon / 2.18)))`, the
        /// paper's choice.
        #[part(at_least = 1, hint = "leave it out for the paper's choice")]
        n_sampled: Option<u32>,
        /// Whether the server turns signs into unbiased estimates before it compares, which is not printed.
        rectify: bool,
    },
    /// Uniform noise within `radius` on every value: what the paper's figures show. It protects nothing.
    Additive {
        /// The most that a value is moved.
        #[part(required, above = 0, in = 1e-12..=1e12)]
        radius: f64,
    },
    /// Normal noise on every value, as the authors' code has it, without a sensitivity: it guarantees nothing.
    Gaussian {
        /// The standard deviation; where it is left out 1 over the number of nodes of the first graph.
        #[part(above = 0, in = 1e-12..=1e12)]
        std: Option<f64>,
    },
}

/// Which entries the encoder samples.
#[part]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// `m` in every row, `epsilon / (m n)` each, as in the paper's proof: a graph spends `epsilon`.
    #[default]
    Row,
    /// `m` in the whole matrix, `epsilon / m` each: a graph spends `epsilon`.
    Total,
    /// `m` in the whole matrix, `epsilon / (m n)` each, as in the paper's algorithm: a graph spends `epsilon / n`.
    TotalAsPrinted,
}

/// The budget of the encoder.
#[part]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Epsilon {
    /// Of a graph: 1 over its number of nodes.
    #[default]
    InverseSize,
    /// Of a graph: the same for all.
    Graph(#[part(required, above = 0, in = 1e-12..=1e12)] f64),
    /// Of a node: a graph of n nodes spends n times as much.
    Node(#[part(required, above = 0, in = 1e-12..=1e12)] f64),
}

/// An embedding as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sent {
    /// -1, 0 or +1 for every entry.
    Signs(Vec<i8>),
    /// The values.
    Reals(Vec<f32>),
}

/// An embedding of one graph at the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// Which graph: its place in a set of graphs; for part of one graph, the client's number.
    pub id: u32,
    /// Columns, at least 1.
    pub width: u32,
    /// Row-major, of shape `(n_nodes, width)`.
    pub sent: Sent,
}

impl Embedding {
    /// The number of nodes.
    pub fn n_nodes(&self) -> usize {
        let len = match &self.sent {
            Sent::Signs(signs) => signs.len(),
            Sent::Reals(reals) => reals.len(),
        };
        len / self.width as usize
    }
}

/// Why an embedding stays where it is.
#[derive(Debug)]
pub(super) enum Withheld {
    Parameter(ParameterError),
    Value(ReleaseError),
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Withheld::Parameter(error) => error.fmt(f),
            Withheld::Value(error) => error.fmt(f),
        }
    }
}

impl From<ParameterError> for Withheld {
    fn from(error: ParameterError) -> Self {
        Withheld::Parameter(error)
    }
}

impl From<ReleaseError> for Withheld {
    fn from(error: ReleaseError) -> Self {
        Withheld::Value(error)
    }
}

impl Release {
    /// The encoder for a graph of `n_nodes` nodes with rows of `width` values.
    ///
    /// # Errors
    ///
    /// When there is no node, or fewer entries than are to be sampled.
    pub(super) fn multi_bit(&self, n_nodes: usize, width: usize) -> Result<Option<MultiBit>, ParameterError> {
        let Release::MultiBit {
            entries,
            epsilon,
            n_sampled,
            ..
        } = *self
        else {
            return Ok(None);
        };
        let entries = match entries {
            Sampled::Row => Entries::Row,
            Sampled::Total => Entries::Total,
            Sampled::TotalAsPrinted => Entries::TotalAsPrinted,
        };
        // The number of entries goes by the budget that the card states, whatever a graph comes to spend.
        let (of_graph, stated) = match epsilon {
            Epsilon::InverseSize => (1.0 / n_nodes as f64, 1.0 / n_nodes as f64),
            Epsilon::Graph(epsilon) => (epsilon, epsilon),
            Epsilon::Node(epsilon) => (epsilon * n_nodes as f64, epsilon),
        };
        let n_sampled = n_sampled.map_or_else(|| recommended_entries(stated, width), |n| n as usize);
        let encoder = MultiBit::new(entries, of_graph, n_nodes, width)?.with_sampled(n_sampled)?;
        Ok(Some(encoder))
    }

    /// Releases a graph's rows: what is sent of it.
    ///
    /// # Errors
    ///
    /// When the rows are not finite or, for the encoder, not within 0..=1, and when there are too few entries.
    pub(super) fn release(&self, rows: &GraphRows, releases: &mut Releases<'_>) -> Result<Embedding, Withheld> {
        let values: Vec<f64> = rows.values.iter().map(|value| f64::from(*value)).collect();
        let reals = |values: Vec<f64>| Sent::Reals(values.into_iter().map(|value| value as f32).collect());
        let (id, width) = (rows.id, rows.width as usize);
        let sent = match *self {
            Release::Plain => {
                finite(&rows.values)?;
                Sent::Reals(releases.release(EMBEDDINGS, id, &NoPrivacy::<[f32]>::new(), &rows.values)?)
            }
            Release::MultiBit { .. } => {
                let encoder = self.multi_bit(rows.n_nodes(), width)?.expect("it is the encoder");
                Sent::Signs(releases.release(EMBEDDINGS, id, &encoder, &values)?)
            }
            Release::Additive { radius } => {
                reals(releases.release(EMBEDDINGS, id, &Additive::new(radius)?, &values)?)
            }
            Release::Gaussian { std } => {
                let noise = Gaussian::as_released(std.unwrap_or(1.0))?;
                reals(releases.release(EMBEDDINGS, id, &noise, &values)?)
            }
        };
        Ok(Embedding {
            id,
            width: rows.width,
            sent,
        })
    }

    /// What the server compares: the values as they came, or their unbiased estimates.
    pub(super) fn received(&self, embedding: &Embedding) -> Vec<f64> {
        let signs = match &embedding.sent {
            Sent::Reals(reals) => return reals.iter().map(|value| f64::from(*value)).collect(),
            Sent::Signs(signs) => signs,
        };
        let encoder = match self {
            Release::MultiBit { rectify: true, .. } => self.multi_bit(embedding.n_nodes(), embedding.width as usize),
            _ => Ok(None),
        };
        let value = |sign: &i8| match &encoder {
            Ok(Some(encoder)) => encoder.rectify(*sign),
            _ => f64::from(*sign),
        };
        signs.iter().map(value).collect()
    }

    /// The row of the privacy ledger.
    pub(super) fn mechanism(&self) -> MechanismInfo {
        let (name, claimed) = match *self {
            Release::Plain => ("none: embeddings", None),
            Release::MultiBit { epsilon, .. } => {
                let claimed = match epsilon {
                    Epsilon::Graph(epsilon) => Some(epsilon),
                    // As many values as graphs have sizes; for budgets of nodes nothing is claimed of graphs.
                    Epsilon::InverseSize | Epsilon::Node(_) => None,
                };
                ("multi-bit encoder", claimed)
            }
            Release::Additive { .. } => ("none: uniform noise", None),
            Release::Gaussian { .. } => ("none: normal noise without a sensitivity", None),
        };
        MechanismInfo {
            mechanism: name.to_owned(),
            unit: "one graph: of a client's graphs the one that spends most".to_owned(),
            claimed,
        }
    }
}

fn finite(values: &[f32]) -> Result<(), ReleaseError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(ReleaseError::Value {
            index,
            value: f64::from(values[index]),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_parts::Value;

    fn rows(n_nodes: usize, width: u32) -> GraphRows {
        GraphRows {
            id: 7,
            values: vec![0.5; n_nodes * width as usize],
            width,
        }
    }

    const CX: fn() -> JobContext = || JobContext::of_test(1, ClientId(0), Round(0));

    /// What is sent, and what it costs.
    fn release(release: Release, rows: &GraphRows) -> (Embedding, f64) {
        let cx = CX();
        let mut releases = cx.releases(0);
        let embedding = release.release(rows, &mut releases).unwrap();
        let receipt = releases.receipt_as_one();
        let [(0, 1, epsilon)] = receipt.charges().collect::<Vec<_>>()[..] else {
            panic!("it is one release")
        };
        (embedding, epsilon)
    }

    fn multi_bit(entries: Sampled, epsilon: Epsilon) -> Release {
        Release::MultiBit {
            entries,
            epsilon,
            n_sampled: None,
            rectify: false,
        }
    }

    /// The printed default: one entry a row, a graph spends 1/n; in total, one entry, and 1/n².
    #[test]
    fn the_printed_budgets_are_those_of_the_specification() {
        let (embedding, cost) = release(Release::default(), &rows(18, 2));
        let Sent::Signs(signs) = &embedding.sent else {
            panic!("signs are sent")
        };
        assert!(
            signs
                .chunks(2)
                .all(|row| row.iter().filter(|sign| **sign != 0).count() == 1)
        );
        assert_eq!((embedding.id, embedding.n_nodes()), (7, 18));
        assert!((cost - 1.0 / 18.0).abs() < 1e-15);
        let encoder = Release::default().multi_bit(18, 2).unwrap().unwrap();
        assert!((encoder.entry_budget() - 1.0 / 324.0).abs() < 1e-15);
        let (embedding, cost) = release(multi_bit(Sampled::TotalAsPrinted, Epsilon::InverseSize), &rows(18, 2));
        let Sent::Signs(signs) = embedding.sent else {
            panic!("signs are sent")
        };
        assert_eq!(signs.iter().filter(|sign| **sign != 0).count(), 1);
        assert!((cost - 1.0 / 324.0).abs() < 1e-15);
    }

    /// A budget per node is spent by every node, and samples as many entries as that budget pays.
    #[test]
    fn a_budget_of_nodes_adds_up_over_the_graph() {
        let corrected = multi_bit(Sampled::Row, Epsilon::Node(4.5));
        let encoder = corrected.multi_bit(10, 7).unwrap().unwrap();
        assert_eq!(encoder.n_sampled(), 2);
        assert!((encoder.entry_budget() - 2.25).abs() < 1e-12);
        assert!((encoder.total_epsilon() - 45.0).abs() < 1e-12);
    }

    #[test]
    fn rectified_signs_are_centred_on_the_values() {
        let corrected = Release::MultiBit {
            entries: Sampled::Row,
            epsilon: Epsilon::Node(3.0),
            n_sampled: None,
            rectify: true,
        };
        let mut rows = rows(4000, 2);
        rows.values
            .chunks_mut(2)
            .for_each(|row| row.copy_from_slice(&[0.9, 0.1]));
        let (embedding, _) = release(corrected, &rows);
        let received = corrected.received(&embedding);
        let mean = received.chunks(2).map(|row| row[0]).sum::<f64>() / 4000.0;
        // One row's estimate has a standard deviation below 1.5.
        assert!((mean - 0.9).abs() < 4.0 * 1.5 / 4000f64.sqrt(), "{mean}");
    }

    #[test]
    fn what_cannot_be_released_is_withheld() {
        let cx = CX();
        let mut releases = cx.releases(0);
        let mut bad = rows(3, 2);
        bad.values[4] = f32::NAN;
        for release in [Release::Plain, Release::default(), Release::Additive { radius: 0.1 }] {
            assert!(
                matches!(release.release(&bad, &mut releases), Err(Withheld::Value(_))),
                "{release:?}"
            );
        }
        bad.values[4] = 1.5;
        assert!(matches!(
            Release::default().release(&bad, &mut releases),
            Err(Withheld::Value(_))
        ));
        let many = Release::MultiBit {
            entries: Sampled::Row,
            epsilon: Epsilon::InverseSize,
            n_sampled: Some(3),
            rectify: false,
        };
        assert!(matches!(
            many.release(&rows(3, 2), &mut releases),
            Err(Withheld::Parameter(_))
        ));
        assert_eq!(releases.receipt(), Receipt::default(), "nothing is spent");
        assert_eq!(Release::Additive { radius: 0.0 }.broken()[0].path, "radius");
        assert_eq!(multi_bit(Sampled::Row, Epsilon::Node(-1.0)).broken()[0].path, "epsilon");
    }
}
