//! A message in any direction: its properties for the engine, and its encoding.

use crate::shared::Table;
use crate::strategy::{Letter, Strategy};
use crate::wire::{self, DecodeError, Wire};
use folkmoot_metrics::Direction;

impl<S: Strategy> Letter<S> {
    pub(crate) fn kind(&self) -> usize {
        match self {
            Letter::Down(message) => message.kind(),
            Letter::Up(message) => message.kind(),
            Letter::Peer(message) => message.kind(),
        }
    }

    pub(crate) fn payload_len(&self) -> u64 {
        match self {
            Letter::Down(message) => message.payload_len(),
            Letter::Up(message) => message.payload_len(),
            Letter::Peer(message) => message.payload_len(),
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        match self {
            Letter::Down(_) => Direction::Downlink,
            Letter::Up(_) => Direction::Uplink,
            Letter::Peer(_) => Direction::Peer,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Letter::Down(message) => message.encode(out),
            Letter::Up(message) => message.encode(out),
            Letter::Peer(message) => message.encode(out),
        }
    }

    /// Reads a letter of a kind that goes that way.
    pub(crate) fn decode(direction: Direction, kind: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        match direction {
            Direction::Downlink => S::Down::decode(kind, bytes).map(Letter::Down),
            Direction::Uplink => S::Up::decode(kind, bytes).map(Letter::Up),
            Direction::Peer => S::Peer::decode(kind, bytes).map(Letter::Peer),
        }
    }

    pub(crate) fn set_counted(&mut self, bytes: u64) {
        match self {
            Letter::Down(message) => message.set_counted(bytes),
            Letter::Up(message) => message.set_counted(bytes),
            Letter::Peer(message) => message.set_counted(bytes),
        }
    }

    /// What arrives of it where it is encoded and read back.
    pub(crate) fn recoded(&self, table: &mut Table, buffer: &mut Vec<u8>) -> Result<Letter<S>, DecodeError> {
        Ok(match self {
            Letter::Down(message) => Letter::Down(recode(message, table, buffer)?),
            Letter::Up(message) => Letter::Up(recode(message, table, buffer)?),
            Letter::Peer(message) => Letter::Peer(recode(message, table, buffer)?),
        })
    }
}

fn recode<M: Wire>(message: &M, table: &mut Table, buffer: &mut Vec<u8>) -> Result<M, DecodeError> {
    const WRONG: DecodeError = DecodeError::Invalid(wire::WRONG_LEN);
    buffer.clear();
    table.within(|| message.encode(buffer)).map_err(|_| WRONG)?;
    if buffer.len() as isize + table.take_elided() != message.encoded_len() as isize {
        return Err(WRONG);
    }
    let contents = table.take_written();
    table.learn(contents);
    let decoded = table.within(|| M::decode(message.kind(), buffer));
    decoded.map_err(|_| WRONG)?
}
