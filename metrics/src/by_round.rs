//! Something for each round, kept from the first round that was asked for to the last.

use crate::ids::Round;
use serde::{Deserialize, Serialize};

/// A value for each of some rounds that follow each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ByRound<T> {
    /// The round of the first value.
    first: u32,
    values: Vec<T>,
}

impl<T> Default for ByRound<T> {
    fn default() -> Self {
        ByRound {
            first: 0,
            values: Vec::new(),
        }
    }
}

impl<T> ByRound<T> {
    /// The value of `round`; where there is none, it is made with those of the rounds between it
    /// and the others.
    #[inline]
    pub fn at(&mut self, round: Round, blank: impl FnMut() -> T) -> &mut T {
        // Of a round before the first this is no place.
        let place = round.0.wrapping_sub(self.first) as usize;
        if place < self.values.len() {
            return &mut self.values[place];
        }
        self.grow(round, blank)
    }

    #[cold]
    fn grow(&mut self, round: Round, mut blank: impl FnMut() -> T) -> &mut T {
        if self.values.is_empty() {
            self.first = round.0;
        }
        if let Some(missing @ 1..) = self.first.checked_sub(round.0) {
            self.first = round.0;
            self.values.splice(0..0, (0..missing).map(|_| blank()));
        }
        let place = (round.0 - self.first) as usize;
        if place >= self.values.len() {
            self.values.resize_with(place + 1, blank);
        }
        &mut self.values[place]
    }

    /// The value of `round`, if there is one.
    pub fn get(&self, round: Round) -> Option<&T> {
        self.values.get(round.0.checked_sub(self.first)? as usize)
    }

    /// All values, with their rounds, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Round, &T)> {
        (self.first..).map(Round).zip(&self.values)
    }

    /// Takes all values out, with their rounds, ascending.
    pub fn drain(&mut self) -> impl Iterator<Item = (Round, T)> {
        (self.first..).map(Round).zip(self.values.drain(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_from_the_first_round_asked_for_to_the_last() {
        let mut values = ByRound::default();
        let rounds = |values: &ByRound<u32>| values.iter().map(|(round, &n)| (round.0, n)).collect::<Vec<_>>();
        assert_eq!(values.get(Round(0)), None);
        *values.at(Round(1_000_000), || 7) += 1;
        assert_eq!(rounds(&values), [(1_000_000, 8)]);
        *values.at(Round(1_000_002), || 7) += 2;
        *values.at(Round(999_999), || 7) += 3;
        assert_eq!(
            rounds(&values),
            [(999_999, 10), (1_000_000, 8), (1_000_001, 7), (1_000_002, 9)]
        );
        assert_eq!(*values.at(Round(1_000_000), || 7), 8);
        assert_eq!(values.get(Round(1_000_002)), Some(&9));
        assert_eq!((values.get(Round(999_998)), values.get(Round(1_000_003))), (None, None));
        assert_eq!(values.drain().last(), Some((Round(1_000_002), 9)));
        *values.at(Round(5), || 7) += 4;
        assert_eq!(rounds(&values), [(5, 11)]);
    }
}
