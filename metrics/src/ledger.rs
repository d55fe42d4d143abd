//! The ledger: every message and byte, by phase, round, kind and direction.
//!
//! It owns integer counters only, so merging ledgers is exact in any order. A message is counted in
//! the round of the event that caused it and stays in that row until it is delivered, dropped or
//! left in flight at the end.

use crate::by_round::ByRound;
use crate::ids::{Direction, Round};
use crate::records::MessageRow;
use serde::{Deserialize, Serialize};

/// A kind of message: the phase of the protocol it belongs to, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The phase, as the strategy's message table calls it.
    pub phase: &'static str,
    /// The name, unique within the phase.
    pub name: &'static str,
    /// Whether the content of messages of this kind is made in full; of the others only the size is
    /// counted.
    pub materialised: bool,
}

/// Why a message never arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DropReason {
    /// The network lost it, and every retry.
    Loss,
    /// The receiver was offline.
    Absent,
    /// The receiver had left in mid-round.
    Dropout,
}

impl DropReason {
    /// All reasons, in the order of [`Cell::dropped`].
    pub const ALL: [DropReason; 3] = [DropReason::Loss, DropReason::Absent, DropReason::Dropout];

    /// The word used in `summary.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            DropReason::Loss => "loss",
            DropReason::Absent => "absent",
            DropReason::Dropout => "dropout",
        }
    }
}

/// The counters of one (phase, round, kind, direction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Messages handed to the network, each once; a broadcast counts once per receiver.
    pub sent: u64,
    /// Messages that reached their receiver's handler.
    pub delivered: u64,
    /// Messages that never will, by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Messages still under way, or held for an absent receiver, when the run ended.
    pub in_flight: u64,
    /// Transmissions beyond the first, over all messages.
    pub retried: u64,
    /// Payload bytes put on the wire, retries included.
    pub payload_bytes: u64,
    /// Header bytes put on the wire, retries included.
    pub header_bytes: u64,
}

impl Cell {
    /// Messages dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Adds another cell's counts.
    pub fn merge(&mut self, other: &Cell) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        for (mine, theirs) in self.dropped.iter_mut().zip(other.dropped) {
            *mine += theirs;
        }
        self.in_flight += other.in_flight;
        self.retried += other.retried;
        self.payload_bytes += other.payload_bytes;
        self.header_bytes += other.header_bytes;
    }
}

/// Counters for every kind of a strategy's messages, by round.
///
/// Two are equal if their rows are.
#[derive(Clone, Debug)]
pub struct Ledger {
    kinds: Vec<Kind>,
    /// Of a round `kinds.len() * 3` cells: kinds in order, directions in [`Direction::ALL`]'s
    /// order.
    rounds: ByRound<Vec<Cell>>,
}

impl PartialEq for Ledger {
    fn eq(&self, other: &Ledger) -> bool {
        self.kinds == other.kinds && self.rows().eq(other.rows())
    }
}

impl Ledger {
    /// An empty ledger for these kinds.
    pub fn new(kinds: impl Into<Vec<Kind>>) -> Self {
        Ledger {
            kinds: kinds.into(),
            rounds: ByRound::default(),
        }
    }

    /// The kinds it counts, in row order.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The cell of `kinds[kind]` in `round`, made if missing.
    ///
    /// # Panics
    ///
    /// When `kind` is not an index into the kinds given to [`Ledger::new`]: the strategy's bug.
    #[inline]
    pub fn cell(&mut self, round: Round, kind: usize, direction: Direction) -> &mut Cell {
        let n_kinds = self.kinds.len();
        assert!(
            kind < n_kinds,
            "kind {kind} is not one of the strategy's {n_kinds} kinds"
        );
        let blank = || vec![Cell::default(); n_kinds * Direction::ALL.len()];
        &mut self.rounds.at(round, blank)[kind * Direction::ALL.len() + direction as usize]
    }

    /// The counters alone, by round.
    pub fn cells(&self) -> &ByRound<Vec<Cell>> {
        &self.rounds
    }

    /// The counters alone, by round, and no ledger any more.
    pub fn into_cells(self) -> ByRound<Vec<Cell>> {
        self.rounds
    }

    /// A ledger of these kinds with counters as [`Ledger::cells`] gives them; `None` where they are
    /// those of other kinds.
    pub fn with_cells(kinds: impl Into<Vec<Kind>>, rounds: ByRound<Vec<Cell>>) -> Option<Self> {
        let kinds = kinds.into();
        let width = kinds.len() * Direction::ALL.len();
        let fits = rounds.iter().all(|(_, cells)| cells.len() == width);
        fits.then_some(Ledger { kinds, rounds })
    }

    /// Adds another ledger of the same kinds, and empties it.
    pub fn take(&mut self, other: &mut Ledger) {
        for (round, cells) in other.rounds.drain() {
            for (i, cell) in cells.iter().enumerate().filter(|(_, cell)| **cell != Cell::default()) {
                let (kind, direction) = (i / Direction::ALL.len(), Direction::ALL[i % Direction::ALL.len()]);
                self.cell(round, kind, direction).merge(cell);
            }
        }
    }

    /// Every row that counts something, ordered by phase and kind as the strategy lists them, then
    /// round, then direction.
    pub fn rows(&self) -> impl Iterator<Item = (Kind, Round, Direction, &Cell)> {
        let width = Direction::ALL.len();
        (0..self.kinds.len() * width).flat_map(move |i| {
            self.rounds.iter().filter_map(move |(round, cells)| {
                let cell = &cells[i];
                (*cell != Cell::default()).then(|| (self.kinds[i / width], round, Direction::ALL[i % width], cell))
            })
        })
    }

    /// The rows of `messages.csv`; `expected` gives the count that theory predicts for a row, if it
    /// does.
    pub fn message_rows(&self, expected: impl Fn(Kind, Round, Direction) -> Option<f64>) -> Vec<MessageRow> {
        self.rows()
            .map(|(kind, round, direction, cell)| MessageRow {
                phase: kind.phase.to_owned(),
                round: round.0,
                kind: kind.name.to_owned(),
                direction,
                sent: cell.sent,
                delivered: cell.delivered,
                dropped: cell.dropped_total(),
                in_flight: cell.in_flight,
                retried: cell.retried,
                payload_bytes: cell.payload_bytes,
                header_bytes: cell.header_bytes,
                expected_messages: expected(kind, round, direction),
                materialised: kind.materialised,
            })
            .collect()
    }

    /// The sum over all rows.
    pub fn total(&self) -> Cell {
        let mut total = Cell::default();
        self.rows().for_each(|(.., cell)| total.merge(cell));
        total
    }

    /// The first row in which sent differs from delivered + dropped + in flight, if any: always a
    /// bug of the engine.
    pub fn unbalanced(&self) -> Option<(Kind, Round, Direction)> {
        self.rows()
            .find(|(.., cell)| cell.sent != cell.delivered + cell.dropped_total() + cell.in_flight)
            .map(|(kind, round, direction, _)| (kind, round, direction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &[Kind] = &[
        Kind {
            phase: "a",
            name: "x",
            materialised: true,
        },
        Kind {
            phase: "b",
            name: "y",
            materialised: false,
        },
    ];

    #[test]
    fn merging_adds_every_counter_in_its_row() {
        let mut left = Ledger::new(KINDS);
        left.cell(Round(0), 1, Direction::Peer).sent = 2;
        let mut right = Ledger::new(KINDS);
        right.cell(Round(3), 1, Direction::Peer).sent = 5;
        right.cell(Round(0), 1, Direction::Peer).dropped[DropReason::Loss as usize] = 1;
        left.take(&mut right);
        assert_eq!(right.rows().count(), 0);
        let rows: Vec<_> = left
            .rows()
            .map(|(kind, round, _, cell)| (kind.name, round.0, cell.sent))
            .collect();
        assert_eq!(rows, [("y", 0, 2), ("y", 3, 5)]);
        assert_eq!(left.total().dropped_total(), 1);
    }

    /// Every counter another number, so that none can stand for another.
    const CELL: Cell = Cell {
        sent: 20,
        delivered: 7,
        dropped: [1, 2, 5],
        in_flight: 5,
        retried: 11,
        payload_bytes: 1300,
        header_bytes: 170,
    };

    #[test]
    fn every_counter_is_added_to_its_own() {
        let mut sum = CELL;
        sum.merge(&CELL);
        sum.merge(&CELL);
        let expected = Cell {
            sent: 60,
            delivered: 21,
            dropped: [3, 6, 15],
            in_flight: 15,
            retried: 33,
            payload_bytes: 3900,
            header_bytes: 510,
        };
        assert_eq!(sum, expected);
    }

    #[test]
    fn whatever_is_counted_has_a_row_at_its_place_and_in_its_columns() {
        let mut ledger = Ledger::new(KINDS);
        *ledger.cell(Round(1), 1, Direction::Peer) = CELL;
        ledger.cell(Round(0), 1, Direction::Downlink).in_flight = 1;
        ledger.cell(Round(0), 0, Direction::Peer).retried = 1;
        ledger.cell(Round(2), 0, Direction::Uplink).header_bytes = 1;
        let mut merged = Ledger::new(ledger.kinds());
        merged.take(&mut ledger.clone());
        assert_eq!(merged, ledger);
        let places: Vec<_> = ledger
            .rows()
            .map(|(kind, round, way, _)| (kind.name, round.0, way))
            .collect();
        let expected = [
            ("x", 2, Direction::Uplink),
            ("x", 0, Direction::Peer),
            ("y", 0, Direction::Downlink),
            ("y", 1, Direction::Peer),
        ];
        assert_eq!(places, expected);
        let rows = ledger.message_rows(|kind, round, _| (kind.name == "y").then_some(f64::from(round.0)));
        let row = MessageRow {
            phase: "b".to_owned(),
            round: 1,
            kind: "y".to_owned(),
            direction: Direction::Peer,
            sent: 20,
            delivered: 7,
            dropped: 8,
            in_flight: 5,
            retried: 11,
            payload_bytes: 1300,
            header_bytes: 170,
            expected_messages: Some(1.0),
            materialised: false,
        };
        assert_eq!(rows.last(), Some(&row));
        assert_eq!((rows[0].expected_messages, rows[0].materialised), (None, true));
    }

    #[test]
    fn a_reason_stands_at_its_own_place_under_its_own_word() {
        let words = DropReason::ALL.map(|reason| (reason as usize, reason.as_str()));
        assert_eq!(words, [(0, "loss"), (1, "absent"), (2, "dropout")]);
    }

    #[test]
    fn a_row_balances_only_if_every_message_has_one_fate() {
        for (change, balances) in [(0, true), (1, false), (-1, false)] {
            let mut ledger = Ledger::new(KINDS);
            let cell = ledger.cell(Round(0), 1, Direction::Peer);
            *cell = CELL;
            cell.sent = cell.sent.saturating_add_signed(change);
            assert_eq!(ledger.unbalanced().is_none(), balances, "{change} too many");
        }
    }

    #[test]
    fn a_row_that_loses_a_message_is_found() {
        let mut ledger = Ledger::new(KINDS);
        ledger.cell(Round(0), 0, Direction::Uplink).sent = 1;
        assert_eq!(ledger.unbalanced(), Some((KINDS[0], Round(0), Direction::Uplink)));
        ledger.cell(Round(0), 0, Direction::Uplink).in_flight = 1;
        assert_eq!(ledger.unbalanced(), None);
    }
}
