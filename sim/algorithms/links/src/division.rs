//! Training, validation and test edges.

use crate::settings::{Split, Supervision};
use folkmoot_draws::unit;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;

const SPLIT: Purpose = Purpose(*b"lk-split");

/// The use of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Messages pass along it in training, and it is predicted.
    Both,
    /// Messages pass along it; it is not predicted.
    Message,
    /// It is predicted in training; no messages pass along it.
    Supervised,
    /// To choose settings by.
    Validation,
    /// To be scored on.
    Test,
}

impl Part {
    pub fn passes_messages(self) -> bool {
        matches!(self, Part::Both | Part::Message)
    }

    pub fn is_predicted(self) -> bool {
        matches!(self, Part::Both | Part::Supervised)
    }

    /// Whether no client may train on it.
    pub fn is_held_out(self) -> bool {
        matches!(self, Part::Validation | Part::Test)
    }
}

/// The parts of the edges of a run.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    split: Split,
    streams: Streams,
}

impl Division {
    pub fn new(split: Split, streams: Streams) -> Division {
        Division { split, streams }
    }

    /// The part of an edge, which depends on the seed and its two ends alone: not on other edges,
    /// on clients, or on the order of the ends.
    pub fn part(&self, u: u32, v: u32) -> Part {
        let edge = u64::from(u.min(v)) << 32 | u64::from(u.max(v));
        let rng = &mut self.streams.counted(SPLIT, Party::Server, Round(0), edge);
        let at = unit(rng);
        if at < self.split.test {
            return Part::Test;
        }
        if at < self.split.test + self.split.validation {
            return Part::Validation;
        }
        match self.split.supervision {
            Supervision::Same => Part::Both,
            Supervision::Apart { fraction } if unit(rng) < fraction => Part::Supervised,
            Supervision::Apart { .. } => Part::Message,
        }
    }

    /// All edges between different nodes with `u < v`, in ascending order, with their parts.
    pub fn edges(&self, graph: &Graph) -> Vec<((u32, u32), Part)> {
        let edges = graph.edges().filter(|(u, v)| u != v);
        edges.map(|(u, v)| ((u, v), self.part(u, v))).collect()
    }
}
