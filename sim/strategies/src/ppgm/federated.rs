//! PPGM trained over the devices themselves: federated averaging in place of one place that holds all raw pairs.
//!
//! The paper trains centrally. Here a device makes pairs of its own graphs, where they are of two classes or more, and the weights
//! travel in rounds ([`crate::rounds`] has the message table), so that no graph leaves a device in training either. What the model
//! gives away once deployed is measured as for the central one.

use super::attack::Attack;
use super::learned::Measured;
use super::options::{Model, Size};
use super::params::{Split, Training};
use super::train::Trainer;
use super::{Params as Central, Ppgm, scores};
use crate::rounds::{End, Protocol, RoundStrategy, Rounds, Score, Task, Trained};
use crate::settings::Settings;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, PairSampler, Partition};
use folkmoot_parts::part;
use rand_chacha::rand_core::Rng;
use std::sync::Arc;

/// The parameters of [`Federated`].
#[part(
    name = "FederatedPpgm",
    about = "PPGM trained by federated averaging over the devices"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// What is learned.
    pub model: Model,
    /// Its sizes.
    pub size: Size,
    /// Which classes train, validate and test.
    pub split: Split,
    /// A client's training in one round.
    pub training: Local,
    /// The property that the eavesdropper infers; all of them together where it is left out.
    pub property: Option<String>,
    /// How rounds go.
    pub protocol: Protocol,
}

/// A device's training in one round.
#[part]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    /// Passes over its graphs, each with one pair that matches and one that does not.
    #[part(default = 1, in = 1..=100_000)]
    pub epochs: u32,
    /// Pairs a step.
    #[part(default = 10, in = 1..=10_000)]
    pub batch_pairs: u32,
    /// The rate of Adam.
    #[part(default = 0.0005, above = 0, in = 1e-8..=10)]
    pub rate: f64,
}

impl Params {
    /// What the model and the eavesdropper are in central terms.
    fn central(&self) -> Central {
        let attack = Attack {
            property: self.property.clone(),
            ..Attack::default()
        };
        Central {
            model: self.model,
            size: self.size,
            split: self.split,
            training: Training {
                batch_pairs: self.training.batch_pairs,
                rate: self.training.rate,
                ..Training::default()
            },
            attack,
            ..Central::default()
        }
    }
}

impl Settings for Params {
    type Strategy = Rounds<Federated>;

    fn rounds(&self) -> Option<u32> {
        Some(self.protocol.rounds)
    }

    fn build(
        &self,
        dataset: &Arc<Dataset>,
        partition: &Arc<Partition>,
        streams: Streams,
    ) -> Result<Rounds<Federated>, StrategyError> {
        // The card has the eavesdropper's property at its top.
        let named = |StrategyError(why): StrategyError| {
            let why = why.strip_prefix("attack.").unwrap_or(&why);
            StrategyError(format!("FederatedPpgm: {why}"))
        };
        let ppgm = Ppgm::new(self.central(), dataset, Arc::clone(partition), streams).map_err(named)?;
        let labels = dataset.graph_labels.as_deref().unwrap_or_default();
        let sampler = |client: usize| {
            let own = partition.shard(client).iter().copied();
            let mut items: Vec<u32> = own
                .filter(|graph| ppgm.data.train.binary_search(graph).is_ok())
                .collect();
            items.sort_unstable();
            items.dedup();
            let n = items.len() as u32;
            PairSampler::new(labels, &items).ok().map(|sampler| (sampler, n))
        };
        let samplers: Vec<Option<(PairSampler, u32)>> = (0..partition.n_clients()).map(sampler).collect();
        if samplers.iter().all(Option::is_none) {
            return Err(StrategyError(
                "FederatedPpgm: no client has training graphs of two classes; use fewer clients, as in partition: Iid(n_clients: 10)"
                    .to_owned(),
            ));
        }
        let task = Federated {
            ppgm,
            samplers,
            local: self.training,
        };
        Rounds::new(task, self.protocol.clone(), streams).map_err(named)
    }
}

/// PPGM as what rounds train.
pub struct Federated {
    ppgm: Ppgm,
    /// The pairs of each client, with its number of training graphs; `None` where they are of one class.
    samplers: Vec<Option<(PairSampler, u32)>>,
    local: Local,
}

impl RoundStrategy for Federated {
    type Order = ();
    type Extra = ();
    type Collected = ();
    type Kept = ();

    fn n_parameters(&self) -> usize {
        self.ppgm.matcher.layout().len()
    }

    fn n_trainable(&self) -> usize {
        self.ppgm.matcher.layout().n_trainable()
    }

    fn initial(&self, rng: &mut SimRng) -> Vec<f32> {
        self.ppgm.matcher.layout().initialise(rng)
    }

    fn n_clients(&self) -> u32 {
        self.samplers.len() as u32
    }

    fn n_samples(&self, client: ClientId) -> u32 {
        self.samplers[client.0 as usize].as_ref().map_or(0, |(_, n)| *n)
    }

    fn cost(&self, client: ClientId) -> f64 {
        if self.samplers[client.0 as usize].is_none() {
            return 0.0;
        }
        let shard = self.ppgm.partition.shard(client.0 as usize).iter();
        let own = shard.filter(|graph| self.ppgm.data.train.binary_search(graph).is_ok());
        // Each graph is in two pairs and has three encodings in them; backward is twice forward.
        let once: f64 = own
            .map(|&graph| 3.0 * self.ppgm.cost(graph, 0) + 4.0 * self.ppgm.cost(graph, 1))
            .sum();
        3.0 * f64::from(self.local.epochs) * once
    }

    fn order(&self, _: Round) {}

    fn train(&self, mut task: Task<'_, Self>) -> Trained<()> {
        let sampler = match &self.samplers[task.client.0 as usize] {
            Some((sampler, _)) if !task.dry_run => sampler,
            _ => return Trained::model(task.parameters.to_vec()),
        };
        let params = &self.ppgm.params;
        let streams = Streams::new(task.rng.next_u64());
        let mut trainer = Trainer::new(
            self.ppgm.matcher.as_ref(),
            params.form,
            &params.training,
            task.parameters.to_vec(),
            streams,
        );
        for _ in 0..self.local.epochs {
            trainer.epoch(&self.ppgm.data.inputs, &sampler.epoch(&mut task.rng));
        }
        Trained::model(trainer.parameters().to_vec())
    }

    fn evaluate(&self, _: Round, parameters: &[f32]) -> Vec<Score> {
        let (data, deployed) = (&self.ppgm.data, self.ppgm.deployed(parameters));
        let parts = [("validation", &data.validation), ("test", &data.test)];
        let score = |(split, pairs): (&'static str, &Vec<_>)| {
            Some(Score {
                split,
                metric: "similarity_auc",
                value: deployed.auc(&data.inputs, pairs)?,
                n: pairs.len() as u64,
            })
        };
        parts.into_iter().filter_map(score).collect()
    }

    fn conclude(&self, end: End<'_, Self>, report: &Report<'_>, _: &mut SimRng) -> Scores {
        let mut scores = Scores::default();
        if report.setup.dry_run {
            return scores;
        }
        let measured: Measured = self.ppgm.measure(report.rounds.len() as u32, end.parameters);
        let values = scores::measures(&self.ppgm, &measured).into_iter();
        scores.summary = values.filter_map(|(name, value)| Some((name, value?))).collect();
        scores.artifacts.extend(scores::not_applicable(&self.ppgm));
        let trains = self.samplers.iter().flatten().count();
        scores.summary.push(("clients_with_pairs".to_owned(), trains as f64));
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::{CountScaling, DataDirs, DatasetSpec};

    #[test]
    fn a_device_without_pairs_is_not_charged_for_training() {
        let spec = DatasetSpec::ControlFlow {
            n_functions: 20,
            n_nodes: (4, 6),
            n_compilers: 1,
            n_levels: 2,
            variant_prob: 1.0,
            property_effect: 1.0,
            scaling: CountScaling::Raw,
        };
        let streams = Streams::new(1);
        let dataset = spec
            .load(&DataDirs::new(), &mut streams.global(Purpose(*b"dataset ")))
            .unwrap();
        let partition = Arc::new(Partition::one_item_each(dataset.graphs.len() as u32));
        let ppgm = Ppgm::new(Params::default().central(), &dataset, partition, streams).unwrap();
        let trains = ClientId(ppgm.data.train[0]);
        let sampler = ppgm.data.sampler.clone();
        let mut task = Federated {
            ppgm,
            samplers: vec![None; dataset.graphs.len()],
            local: Local::default(),
        };
        assert_eq!((task.n_samples(trains), task.cost(trains)), (0, 0.0));
        task.samplers[trains.0 as usize] = Some((sampler, 1));
        assert!(task.cost(trains) > 0.0);
    }
}
