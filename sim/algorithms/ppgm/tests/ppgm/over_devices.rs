//! Training over devices.

use super::{everything, functions, number, params};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{Dataset, Partition, Partitioner, partition};
use folkmoot_ppgm::federated;
use folkmoot_ppgm::options::Model;
use folkmoot_rounds::Protocol;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

/// Federated rounds get as good a model as the start is bad, and the same one with any number of
/// threads.
#[test]
fn devices_train_together() {
    let dataset = functions(60, 0.3, 2);
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let spec = partition::Iid { n_clients: 4 };
    let partition = Arc::new(spec.divide(&dataset, &mut rng).unwrap());
    let params = federated::Params {
        size: params(Model::Ppgm).size,
        training: federated::Local {
            epochs: 3,
            learning_rate: 0.003,
            ..federated::Local::default()
        },
        protocol: Protocol {
            rounds: 6,
            ..Protocol::default()
        },
        ..federated::Params::default()
    };
    let play = |dataset: &Arc<Dataset>, threads| {
        let rounds = params
            .prepare(&Source::new(dataset, &partition, Streams::new(3)))
            .unwrap();
        let options = Options {
            threads,
            ..Options::default()
        };
        run(rounds.system(), &World::ideal(), 3, options, &mut Unobserved).unwrap()
    };
    let alone = play(&dataset, 1);
    assert!(everything(&alone) == everything(&play(&dataset, 3)));
    assert_eq!(number(&alone, "clients_with_pairs"), 4.0);
    assert!(number(&alone, "similarity_auc") > 0.7, "{:?}", alone.summary);
    // What tells more of its property gives more of it away.
    let marked = play(&functions(60, 1.0, 2), 1);
    assert!(number(&marked, "attack_auc_g") > 0.65, "{:?}", marked.summary);
    assert!(number(&marked, "attack_auc_g") > number(&alone, "attack_auc_g"));

    let each = Arc::new(Partition::one_item_each(dataset.graphs.len() as u32));
    let refused = params
        .prepare(&Source::new(&dataset, &each, Streams::new(3)))
        .err()
        .unwrap()
        .0;
    assert!(refused.starts_with("FederatedPpgm: no client has training graphs of two classes; use fewer clients"));
}

#[test]
fn graphs_may_be_shared_out_to_fewer_devices() {
    let dataset = functions(20, 1.0, 2);
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let partition = Arc::new(partition::Iid { n_clients: 7 }.divide(&dataset, &mut rng).unwrap());
    let system = params(Model::Ppgm)
        .prepare(&Source::new(&dataset, &partition, Streams::new(3)))
        .unwrap();
    let outcome = run(system.system(), &World::ideal(), 3, Options::default(), &mut Unobserved).unwrap();
    assert_eq!(number(&outcome, "scores_unlike_in_memory"), 0.0);
    assert!(number(&outcome, "matches_scored") > 0.0);
}
