//! Models trained for comparison: one per client alone, and one on the whole graph.

use crate::data::{Held, Shard};
use crate::train::LinkTrainer;
use folkmoot_engine::prelude::*;
use rayon::prelude::*;

const LOCAL: Purpose = Purpose(*b"lk-alone");
const CENTRALISED: Purpose = Purpose(*b"lk-whole");

/// Rounds of `epochs` passes, each with a fresh optimiser, as of a client that is in every cohort.
pub(crate) struct Schedule {
    pub(crate) rounds: u32,
    pub(crate) epochs: u32,
    pub(crate) streams: Streams,
}

impl Schedule {
    fn train(&self, trainer: &LinkTrainer, shard: &Shard, first: &[f32], name: (Purpose, Party)) -> Vec<f32> {
        (0..self.rounds).fold(first.to_vec(), |parameters, round| {
            let rng = &mut self.streams.party(name.0, name.1, Round(round));
            trainer.train_on(shard, &parameters, self.epochs, rng)
        })
    }

    /// The model of each client that trains alone.
    pub(crate) fn local(&self, trainer: &LinkTrainer, held: &Held, first: &[f32]) -> Vec<Vec<f32>> {
        let of_client = |(client, shard): (usize, &Shard)| {
            let party = Party::Client(ClientId(client as u32));
            self.train(trainer, shard, first, (LOCAL, party))
        };
        held.shards().par_iter().enumerate().map(of_client).collect()
    }

    /// One model, trained on the whole graph.
    pub(crate) fn centralised(&self, trainer: &LinkTrainer, whole: &Shard, first: &[f32]) -> Vec<f32> {
        self.train(trainer, whole, first, (CENTRALISED, Party::Server))
    }
}
