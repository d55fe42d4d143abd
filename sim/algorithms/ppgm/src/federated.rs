//! PPGM trained over the devices themselves: federated averaging in place of one place that holds
//! all raw pairs.
//!
//! The paper trains centrally. Here a device makes pairs of its own graphs, where they are of two
//! classes or more, and the weights travel in rounds ([`folkmoot_rounds`] has the message table),
//! so that no graph leaves a device in training either. What the model gives away once deployed is
//! measured as for the central one.

use super::algorithm::{Facts, Ppgm};
use super::data::Data;
use super::learned::Measured;
use super::matcher::Input;
use super::options::{Attack, Distillation, Model, Size, Split, Training};
use super::params::Params as Central;
use super::scores;
use super::train::Trainer;
use super::view::View;
use folkmoot_draws::Rng;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::PairSampler;
use folkmoot_learning::Layout;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Protocol, RoundEnd, RoundEvaluator, Rounds, Task, Trained, Trains, Watched};
use folkmoot_scenarios::algorithm::{About, Algorithm, Shared, Source, split_of};
use std::sync::Arc;

/// The parameters of [`Federated`].
#[component(
    name = "FederatedPpgm",
    about = "PPGM trained by federated averaging over the devices",
    rules
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Matching model.
    pub model: Model,
    /// Model sizes.
    pub size: Size,
    /// Training, validation and test classes.
    pub split: Split,
    /// Local training: epochs, batch size, optimiser.
    pub training: Local,
    /// Property that the eavesdropper infers; by default all properties jointly.
    pub property: Option<String>,
    /// Rounds: aggregation, server optimizer, privacy, codecs.
    #[component(default = Protocol { rounds: 50, ..Protocol::default() })]
    pub protocol: Protocol,
}

/// Local training in one round.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    /// Local epochs; each graph is in one matching and one non-matching pair per epoch.
    #[component(default = 1, in = 1..=100_000)]
    pub epochs: u32,
    /// Batch size in pairs.
    #[component(default = 10, in = 1..=10_000)]
    pub batch_pairs: u32,
    /// Learning rate (Adam).
    #[component(default = 0.0005, above = 0, in = 1e-8..=10, alias = "rate")]
    pub learning_rate: f64,
}

impl Params {
    /// What ties several settings.
    fn rules(&self, rules: &mut Rules) {
        let trains = Trains {
            sends_model_alone: Ok(()),
            ..Trains::default()
        };
        self.protocol.suits(&trains, rules);
    }

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
                learning_rate: self.training.learning_rate,
                ..Training::default()
            },
            attack,
            ..Central::default()
        }
    }
}

impl Algorithm for Params {
    type Facts = Facts;
    type Strategy = Rounds<Federated>;

    fn about(&self) -> About {
        About {
            results_version: self.model.results_version(),
            rounds: Some(self.protocol.rounds),
            lints: self.protocol.without_effect(),
            terms: [super::terms::TERMS, folkmoot_rounds::TERMS].concat(),
            split: Some(split_of(&self.split, "the whole set")),
            headline: &["similarity_auc", "attack_auc", "payload_bytes"],
            ..About::default()
        }
    }

    fn facts(&self, source: &Source<'_>) -> Result<Facts, StrategyError> {
        self.central().facts(source)
    }

    fn build(&self, facts: &Facts) -> Result<Rounds<Federated>, StrategyError> {
        if self.model.distillation() != Distillation::None {
            return Err(StrategyError(
                "model.distillation: clients have no teacher to learn from; set model: EgscStudent(distillation: None)"
                    .to_owned(),
            ));
        }
        let task = Federated {
            ppgm: Ppgm::new(self.central(), facts)?,
            local: self.training,
        };
        Rounds::new(task, self.protocol.clone())
            .sending_model_alone(Ok(()))
            .checked()
    }

    fn share(
        &self,
        _: &Facts,
        _: &Rounds<Federated>,
        source: &Source<'_>,
    ) -> Result<Shared<Rounds<Federated>>, StrategyError> {
        // The card has the eavesdropper's property at its top.
        let at_the_top = |StrategyError(why)| StrategyError(why.strip_prefix("attack.").unwrap_or(&why).to_owned());
        let data = Arc::new(Data::new(&self.central(), source).map_err(at_the_top)?);
        let owners = Owners {
            owned: (0..source.n_clients())
                .map(|id| OwnPairs::new(&data, source, id))
                .collect(),
            sizes: source.sizes(),
        };
        if owners.owned.iter().all(|own| own.sampler.is_none()) {
            return Err(StrategyError(
                "no client has training graphs of two classes; use fewer clients, as in partition: Iid(n_clients: 10)"
                    .to_owned(),
            ));
        }
        let n_with_pairs = owners.owned.iter().filter(|own| own.sampler.is_some()).count();
        Ok(Shared {
            shards: Box::new(owners),
            evaluator: Box::new(Watched(Leak {
                data,
                streams: source.streams,
                n_with_pairs,
            })),
        })
    }
}

/// All that one device holds: its training graphs, and how it draws pairs of them, if they are of
/// two classes or more.
pub struct OwnPairs {
    graphs: Vec<Input>,
    sampler: Option<PairSampler>,
}

impl OwnPairs {
    fn new(data: &Data, source: &Source<'_>, client: u32) -> Self {
        let shard = source.partition.shard(client as usize).iter().copied();
        let mut items: Vec<u32> = shard.filter(|graph| data.train.binary_search(graph).is_ok()).collect();
        items.sort_unstable();
        items.dedup();
        let classes: Vec<u32> = items.iter().map(|item| data.classes[*item as usize]).collect();
        let places: Vec<u32> = (0..items.len() as u32).collect();
        OwnPairs {
            graphs: items.iter().map(|item| data.inputs[*item as usize].clone()).collect(),
            sampler: PairSampler::new(&classes, &places).ok(),
        }
    }
}

/// The training graphs of every device.
struct Owners {
    owned: Vec<OwnPairs>,
    sizes: Vec<u64>,
}

impl Shards<Rounds<Federated>> for Owners {
    fn n_clients(&self) -> u32 {
        self.owned.len() as u32
    }

    fn shard(&self, client: ClientId) -> &OwnPairs {
        &self.owned[client.0 as usize]
    }

    fn size(&self, client: ClientId) -> u64 {
        self.sizes[client.0 as usize]
    }
}

/// PPGM as what rounds train.
pub struct Federated {
    ppgm: Ppgm,
    local: Local,
}

impl folkmoot_rounds::Trainer for Federated {
    type Shard<'a> = &'a OwnPairs;
    type ClientState = ();

    fn layout(&self) -> &Layout {
        self.ppgm.matcher.layout()
    }

    fn n_samples(&self, own: &OwnPairs) -> u32 {
        own.sampler.as_ref().map_or(0, |_| own.graphs.len() as u32)
    }

    fn cost(&self, own: &OwnPairs, _: Round) -> f64 {
        if own.sampler.is_none() {
            return 0.0;
        }
        // Each graph is in two pairs and has three encodings in them; backward is twice forward.
        let once: f64 = own
            .graphs
            .iter()
            .map(|graph| 3.0 * self.ppgm.cost(graph, 0) + 4.0 * self.ppgm.cost(graph, 1))
            .sum();
        3.0 * f64::from(self.local.epochs) * once
    }

    fn train(&self, task: Task<'_, '_, Self>) -> Trained {
        let sampler = match &task.shard.sampler {
            Some(sampler) => sampler,
            None => return Trained::model(task.parameters.to_vec()),
        };
        let (params, mut rng) = (&self.ppgm.params, task.rng());
        let mut trainer = Trainer::new(
            self.ppgm.matcher.as_ref(),
            params.form,
            &params.training,
            task.parameters.to_vec(),
            Streams::new(rng.next_u64()),
        );
        for _ in 0..self.local.epochs {
            trainer.epoch(&task.shard.graphs, &sampler.epoch(&mut rng));
        }
        Trained::model(trainer.parameters().to_vec())
    }
}

/// What the model is worth, and what it gives away once deployed.
struct Leak {
    data: Arc<Data>,
    streams: Streams,
    n_with_pairs: usize,
}

impl RoundEvaluator<Federated> for Leak {
    fn after_round(&self, task: &Federated, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        let deployed = task.ppgm.deployed(parameters, self.streams);
        for (split, pairs) in [("validation", &self.data.validation), ("test", &self.data.test)] {
            if let Some(area) = deployed.auc(&self.data.inputs, pairs) {
                sheet.score(split, "similarity_auc", area, pairs.len() as u64);
            }
        }
    }

    fn reads_clients(&self, _: &Federated) -> bool {
        false
    }

    fn scores(&self, end: &RoundEnd<'_, Federated>, sheet: &mut Sheet) {
        let view = View {
            ppgm: &end.trainer.ppgm,
            data: &self.data,
            streams: self.streams,
        };
        let measured: Measured = view.measure(end.n_rounds(), end.parameters);
        for (name, value) in scores::measures(view.ppgm, &measured) {
            sheet.number_if(name, value);
        }
        scores::not_applicable(view.ppgm, sheet);
        sheet.number("clients_with_pairs", self.n_with_pairs as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::{CountScaling, DataDirs, DataSource, Partition, datasets};
    use folkmoot_rounds::Trainer as _;

    #[test]
    fn a_device_without_pairs_is_not_charged_for_training() {
        let spec = datasets::ControlFlow {
            n_functions: 20,
            n_nodes: (4, 6),
            n_compilers: 1,
            n_levels: 2,
            variant_prob: 1.0,
            property_effect: 1.0,
            scaling: CountScaling::Raw,
        };
        let streams = Streams::new(1);
        let rng = &mut streams.global(Purpose(*b"dataset "));
        let dataset = Arc::new(spec.load(&DataDirs::new(), rng).unwrap());
        let partition = |n_clients| {
            let shards = (0..n_clients).map(|client| (client..dataset.graphs.len() as u32).step_by(n_clients as usize));
            Arc::new(Partition::from_shards(shards.map(Iterator::collect).collect()).unwrap())
        };
        let params = Params::default();
        // One graph a device makes no pair, all graphs at one do.
        for (n_clients, trains) in [(dataset.graphs.len() as u32, false), (1, true)] {
            let partition = partition(n_clients);
            let source = Source::new(&dataset, &partition, streams);
            let task = Federated {
                ppgm: Ppgm::new(params.central(), &params.facts(&source).unwrap()).unwrap(),
                local: Local::default(),
            };
            let data = Data::new(&params.central(), &source).unwrap();
            let own = OwnPairs::new(&data, &source, 0);
            assert_eq!(
                (task.n_samples(&own) > 0, task.cost(&own, Round(0)) > 0.0),
                (trains, trains)
            );
        }
    }
}
