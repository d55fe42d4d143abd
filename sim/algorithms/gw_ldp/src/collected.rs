//! What the server holds: the embeddings of every collection.

use super::release::Embedding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The embeddings of each round in which any came, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    rounds: BTreeMap<u32, BTreeMap<u32, Embedding>>,
}

impl Collected {
    pub(super) fn add(&mut self, round: u32, embeddings: Vec<Embedding>) {
        let of_round = self.rounds.entry(round).or_default();
        of_round.extend(embeddings.into_iter().map(|embedding| (embedding.id, embedding)));
    }

    /// The rounds in which any came.
    pub(super) fn rounds(&self) -> impl Iterator<Item = u32> + '_ {
        self.rounds.keys().copied()
    }

    /// The latest embedding of each graph by the end of `round`, with the round it is from: what a
    /// client that has left gave before stays.
    pub(super) fn by(&self, round: u32) -> BTreeMap<u32, (u32, &Embedding)> {
        let mut latest = BTreeMap::new();
        for (of_round, embeddings) in self.rounds.range(..=round) {
            latest.extend(embeddings.iter().map(|(id, embedding)| (*id, (*of_round, embedding))));
        }
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::super::release::Sent;
    use super::*;

    #[test]
    fn what_was_given_before_stays() {
        let embedding = |id, value| Embedding {
            id,
            width: 1,
            sent: Sent::Reals(vec![value]),
            degrees: None,
        };
        let mut collected = Collected::default();
        collected.add(4, vec![embedding(1, 0.1), embedding(2, 0.2)]);
        collected.add(9, vec![embedding(2, 0.9)]);
        let rounds = |round| collected.by(round).values().map(|(of, _)| *of).collect::<Vec<u32>>();
        assert_eq!((rounds(3), rounds(8), rounds(9)), (vec![], vec![4, 4], vec![4, 9]));
        assert_eq!(collected.by(9)[&2].1, &embedding(2, 0.9));
        assert_eq!(collected.rounds().collect::<Vec<u32>>(), [4, 9]);
    }
}
