//! The mechanism by which an embedding leaves its client, a part that a card names as `release`.

mod multi_bit;
mod noise;

pub use multi_bit::{Epsilon, MultiBit, Sampled};
pub use noise::{Additive, Gaussian, Plain};

use super::message::Request;
use super::{EMBEDDINGS, Facts};
use folkmoot_classifiers::classifier::GraphRows;
use folkmoot_codecs::{Codec, Damaged, Shape};
use folkmoot_engine::prelude::*;
use folkmoot_learning::is_finite;
use folkmoot_parts::{Chosen, component_type};
use folkmoot_privacy::{Mechanism, ParameterError, ReleaseError};
use serde::{Deserialize, Serialize};
use std::error::Error;

/// A mechanism for embeddings: for graphs of any size, each a table with a row of numbers for every
/// node.
pub trait Release: Send + Sync {
    /// What `privacy.csv` calls it; it begins with `none` where nothing protects.
    fn mechanism(&self) -> &'static str;

    /// The epsilon that it claims for every graph, beside what its releases are charged. Default:
    /// none.
    fn claimed(&self) -> Option<f64> {
        None
    }

    /// Whether it takes values in 0..=1 alone. Default: any that are finite.
    fn needs_bounds(&self) -> bool {
        false
    }

    /// What takes its place for rows of `width` values, by what everybody knows; asked once before
    /// the run. Default: nothing does.
    ///
    /// # Errors
    ///
    /// When it cannot release such rows; the message begins with the setting that is at fault.
    fn settled(&self, width: usize, facts: &Facts) -> Result<Option<Chosen<dyn Release>>, StrategyError> {
        let _ = (width, facts);
        Ok(None)
    }

    /// What it does to a table of `n_nodes` rows of `width` values, both at least 1; asked for each
    /// by its client, and by the server.
    ///
    /// # Errors
    ///
    /// When there is no mechanism for such a table, which is then not sent.
    fn table(&self, n_nodes: usize, width: usize) -> Result<Table, ParameterError>;

    /// The short form by which the server asks for it, if it has one. Default: none, and it is
    /// asked for as a card would write it.
    fn request(&self) -> Option<Request> {
        None
    }
}

component_type!(Release, "mechanism", MultiBit::default());

/// A mechanism for tables of one shape, which it takes row by row and gives back as many values of.
/// What it costs is one graph's.
pub enum Table {
    Reals(Box<dyn Mechanism<Input = [f64], Release = Vec<f64>>>),
    Signs {
        /// The mechanism, which gives -1, 0 or +1.
        mechanism: Box<dyn Mechanism<Input = [f64], Release = Vec<i8>>>,
        /// What the server takes -1, 0 and +1 for.
        values: [f64; 3],
    },
}

/// An embedding as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sent {
    /// -1, 0 or +1 for every entry.
    Signs(Vec<i8>),
    Reals(Vec<f32>),
    /// The values as a codec has packed them, on their way alone.
    Packed {
        /// How many entries they are.
        n_entries: u32,
        bytes: Vec<u8>,
    },
}

impl Sent {
    /// The number of entries.
    fn len(&self) -> usize {
        match self {
            Sent::Signs(signs) => signs.len(),
            Sent::Reals(reals) => reals.len(),
            Sent::Packed { n_entries, .. } => *n_entries as usize,
        }
    }
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
    /// Those of its nodes, where they weigh by them.
    pub degrees: Option<Vec<u32>>,
}

impl Embedding {
    /// The number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.sent.len() / self.width as usize
    }

    fn shape(&self) -> Shape {
        [self.n_nodes(), self.width as usize]
    }

    /// The same with its numbers as a codec packs them. Signs, and numbers that are too great for a
    /// codec, stay as they are.
    pub(super) fn packed(self, codec: &dyn Codec, rng: &mut SimRng) -> Embedding {
        let sent = match &self.sent {
            Sent::Reals(reals) if !codec.is_plain() && is_finite(reals) => {
                let mut bytes = Vec::new();
                codec.encode(reals, &[self.shape()], rng, &mut bytes);
                let n_entries = reals.len() as u32;
                Sent::Packed { n_entries, bytes }
            }
            _ => return self,
        };
        Embedding { sent, ..self }
    }

    /// The same with its numbers as far as the codec has kept them.
    ///
    /// # Errors
    ///
    /// Where the bytes are not those of an encoding.
    pub(super) fn opened(self, codec: &dyn Codec) -> Result<Embedding, Damaged> {
        let sent = match &self.sent {
            Sent::Packed { bytes, .. } => Sent::Reals(codec.decode(bytes, &[self.shape()])?),
            Sent::Signs(_) | Sent::Reals(_) => return Ok(self),
        };
        Ok(Embedding { sent, ..self })
    }
}

impl dyn Release {
    /// Releases a graph's rows: what is sent of it.
    ///
    /// # Errors
    ///
    /// Why they stay where they are: there is no mechanism for their shape, or they are not what it
    /// takes.
    pub(super) fn released(&self, rows: &GraphRows, releases: &mut Releases<'_>) -> Result<Embedding, Box<dyn Error>> {
        let (id, width) = (rows.id, rows.width);
        let table = self.table(rows.n_nodes(), width as usize)?;
        let values: Vec<f64> = rows.values.iter().map(|value| f64::from(*value)).collect();
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let value = values[index];
            return Err(ReleaseError::Value { index, value }.into());
        }
        let sent = match table {
            Table::Reals(mechanism) => {
                let reals = releases.release(EMBEDDINGS, id, mechanism.as_ref(), &values)?;
                Sent::Reals(reals.into_iter().map(|value| value as f32).collect())
            }
            Table::Signs { mechanism, .. } => {
                Sent::Signs(releases.release(EMBEDDINGS, id, mechanism.as_ref(), &values)?)
            }
        };
        match sent.len() == values.len() {
            true => Ok(Embedding {
                id,
                width,
                sent,
                degrees: None,
            }),
            false => Err(format!("its mechanism made {} values of {}", sent.len(), values.len()).into()),
        }
    }

    /// What the server compares: the numbers as they came, or what it takes the signs for.
    pub(super) fn received(&self, embedding: &Embedding) -> Vec<f64> {
        let signs = match &embedding.sent {
            Sent::Reals(reals) => return reals.iter().map(|value| f64::from(*value)).collect(),
            Sent::Packed { .. } => unreachable!("the server opens what it collects"),
            Sent::Signs(signs) => signs,
        };
        let values = match self.table(embedding.n_nodes(), embedding.width as usize) {
            Ok(Table::Signs { values, .. }) => values,
            _ => [-1.0, 0.0, 1.0],
        };
        let value = |sign: &i8| values[(sign.signum() + 1) as usize];
        signs.iter().map(value).collect()
    }

    /// The row of the privacy ledger.
    pub(super) fn info(&self) -> MechanismInfo {
        MechanismInfo {
            mechanism: self.mechanism().to_owned(),
            unit: "one graph: of a client's graphs the one that spends most".to_owned(),
            claimed: self.claimed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn rows(n_nodes: usize, width: u32) -> GraphRows {
        GraphRows {
            id: 7,
            values: vec![0.5; n_nodes * width as usize],
            width,
        }
    }

    /// What is sent, and what it costs.
    pub(super) fn release(release: &(dyn Release + 'static), rows: &GraphRows) -> (Embedding, f64) {
        let cx = JobContext::of_test(1, ClientId(0), Round(0));
        let mut releases = cx.releases(0);
        let embedding = release.released(rows, &mut releases).unwrap();
        let receipt = releases.receipt_as_one();
        let [(0, 1, epsilon)] = receipt.charges().collect::<Vec<_>>()[..] else {
            panic!("it is one release")
        };
        (embedding, epsilon)
    }

    /// Half of what came in.
    struct Half;

    impl Mechanism for Half {
        type Input = [f64];
        type Release = Vec<f64>;

        fn release_in(
            &self,
            _: folkmoot_privacy::NoiseForm,
            input: &[f64],
            _: &mut folkmoot_draws::SimRng,
        ) -> Result<Vec<f64>, ReleaseError> {
            Ok(input[..input.len() / 2].to_vec())
        }

        fn cost(&self) -> folkmoot_privacy::PrivacyCost {
            folkmoot_privacy::PrivacyCost::UNPROTECTED
        }
    }

    impl Release for Half {
        fn mechanism(&self) -> &'static str {
            "none: half"
        }

        fn table(&self, _: usize, _: usize) -> Result<Table, ParameterError> {
            Ok(Table::Reals(Box::new(Half)))
        }
    }

    #[test]
    fn what_cannot_be_released_is_withheld_and_costs_nothing() {
        let cx = JobContext::of_test(1, ClientId(0), Round(0));
        let mut releases = cx.releases(0);
        let mut why = |release: &(dyn Release + 'static), rows: &GraphRows| {
            let error = release.released(rows, &mut releases).unwrap_err();
            error.to_string()
        };
        let mut bad = rows(3, 2);
        bad.values[4] = f32::NAN;
        let all: [&dyn Release; 3] = [&Plain {}, &MultiBit::default(), &Additive { radius: 0.1 }];
        for release in all {
            let why = why(release, &bad);
            assert!(why.contains("value 4") && why.contains("NaN"), "{why}");
        }
        bad.values[4] = 1.5;
        let said = why(&MultiBit::default(), &bad);
        assert!(said.contains("got 1.5"), "{said}");
        let many = MultiBit {
            n_sampled: Some(3),
            ..MultiBit::default()
        };
        let said = why(&many, &rows(3, 2));
        assert!(said.starts_with("n_sampled: "), "{said}");
        assert_eq!(releases.receipt(), Receipt::default(), "nothing is spent");
    }

    #[test]
    fn a_mechanism_that_changes_the_shape_is_not_sent() {
        let cx = JobContext::of_test(1, ClientId(0), Round(0));
        let half: &dyn Release = &Half;
        let why = half.released(&rows(3, 2), &mut cx.releases(0)).unwrap_err();
        assert_eq!(why.to_string(), "its mechanism made 3 values of 6");
    }
}
