//! Graphs of three classes at clients with unlike shares of them, and what federated averaging
//! makes of them: what others are compared with.

use folkmoot_classifiers::classifier::Classified;
use folkmoot_classifiers::fed_avg;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Partition, Partitioner, datasets, partition};
use folkmoot_rounds::Rounds;
use folkmoot_scenarios::algorithm::{Algorithm, Prepared, Source};
use std::sync::{Arc, Mutex};

pub(crate) const N_CLIENTS: u32 = 8;
pub(crate) const SEED: u64 = 3;

/// A client has at least `min_size` graphs.
pub(crate) fn data(min_size: u32) -> (Arc<Dataset>, Arc<Partition>) {
    let spec = datasets::GraphClasses {
        n_graphs: 120,
        n_classes: 3,
        min_nodes: 8,
        max_nodes: 16,
    };
    let rng = |purpose: &[u8; 8]| Streams::new(1).global(Purpose(*purpose));
    let dataset = spec.load(&DataDirs::new(), &mut rng(b"dataset ")).unwrap();
    let skew = partition::LabelSkew {
        n_clients: N_CLIENTS,
        alpha: 0.3,
        min_size,
    };
    let partition = skew.divide(&dataset, &mut rng(b"partitn ")).unwrap();
    (Arc::new(dataset), Arc::new(partition))
}

pub(crate) fn prepared<P: Algorithm>(params: &P, min_size: u32) -> Prepared<P> {
    let (dataset, partition) = data(min_size);
    params
        .prepare(&Source::new(&dataset, &partition, Streams::new(SEED)))
        .unwrap()
}

/// The last model of federated averaging.
pub(crate) fn averaged(params: &fed_avg::Params, world: &World, min_size: u32) -> Vec<f32> {
    struct Model(Mutex<Vec<f32>>);
    impl Evaluator<Rounds<Classified>> for Model {
        fn at_end(&self, end: &End<'_, Rounds<Classified>>, _: &mut Sheet) {
            *self.0.lock().unwrap() = end.server.parameters().to_vec();
        }
    }
    let (prepared, model) = (prepared(params, min_size), Model(Mutex::default()));
    let watched = System {
        evaluator: &model,
        ..prepared.system()
    };
    run(watched, world, SEED, Options::default(), &mut Unobserved).unwrap();
    model.0.into_inner().unwrap()
}
