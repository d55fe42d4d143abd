//! Training that hides single graphs: what it costs, and where it is refused.

use super::{everything, graphs, iid, node_params, nodes, params, play, unlike};
use folkmoot_classifiers::classifier::graph_layers::{Gcn, GinBatchNorm};
use folkmoot_classifiers::classifier::{Split, Training};
use folkmoot_classifiers::fed_avg::Params;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{DataDirs, DataSource, Dataset, datasets};
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Aggregation, Discount, Private, Secure};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

/// One client of 100 graphs, one a step on average, 1 000 steps of noise 1: what `dp-accounting`
/// 0.6.0 says of that, 2.107753 (`RdpAccountant`, orders 2 to 256, delta 1e-5), is what the ledger
/// says, of a run that learns and of a dry one, in the clear and under masks.
#[test]
fn hidden_graphs_cost_what_a_published_accountant_says() {
    let spec = datasets::GraphClasses {
        n_graphs: 100,
        n_classes: 2,
        min_nodes: 5,
        max_nodes: 7,
    };
    let dataset = Arc::new(
        spec.load(&DataDirs::new(), &mut Streams::new(1).global(Purpose(*b"dataset ")))
            .unwrap(),
    );
    let partition = iid(&dataset, 1);
    let (clip, noise_multiplier) = (Some(1.0), 1.0);
    let mut params = params(10);
    params.model.encoder = Chosen::new(Gcn {});
    params.split = Split::All;
    params.training = Training {
        epochs: 1,
        batch_size: Some(1),
        ..Training::default()
    };
    params.protocol.private = Private::Items { clip, noise_multiplier };
    let play = |params: &Params, dry_run| {
        let system = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(3)))
            .unwrap();
        let options = Options {
            dry_run,
            ..Options::default()
        };
        run(system.system(), &World::ideal(), 3, options, &mut Unobserved).unwrap()
    };
    for (secure, dry_run) in [
        (Secure::Off, false),
        (Secure::Off, true),
        (Secure::Pairwise { threshold: 0.6 }, true),
    ] {
        params.protocol.secure = secure;
        let outcome = play(&params, dry_run);
        let row = &outcome.tables.privacy[0];
        let is_named =
            (row.mechanism.as_str(), row.unit.as_str()) == ("Gaussian noise: sums of gradients", "one graph");
        assert!(is_named && row.releases == 1000, "{row:?}");
        let epsilon = row.epsilon_renyi.unwrap();
        // dp-accounting 0.6.0 proves this by its own orders, which are fewer.
        assert!((2.10136..2.1013671).contains(&epsilon), "{epsilon}");
        assert_eq!(outcome.tables.privacy.len(), 1);
    }
    // Without noise updates are what they always are.
    params.protocol.secure = Secure::Off;
    params.protocol.private = Private::Items {
        clip,
        noise_multiplier: 0.0,
    };
    let row = &play(&params, true).tables.privacy[0];
    assert_eq!(
        (row.mechanism.as_str(), row.epsilon_max_client),
        ("none: weights", f64::INFINITY)
    );
}

/// All graphs in each step, no limit and no noise: no bit of a model, and nothing of a result, is
/// another.
#[test]
fn without_a_limit_and_noise_a_whole_run_is_the_plain_one_to_the_bit() {
    let with = |clip, batch_size| {
        let mut params = params(4);
        params.model.dropout = 0.2;
        params.training.batch_size = batch_size;
        params.protocol.private = Private::Items {
            clip,
            noise_multiplier: 0.0,
        };
        params
    };
    let hidden = with(None, None);
    let mut plain = hidden.clone();
    plain.protocol.private = Private::Off;
    let model = |params: &Params| unlike::averaged(params, &World::ideal(), 4);
    let of_plain = model(&plain);
    assert!(model(&hidden) == of_plain);
    assert!(everything(&play(&graphs(), &hidden)) == everything(&play(&graphs(), &plain)));
    // A limit, or coins, make another training of it.
    assert!(model(&with(Some(1e-3), None)) != of_plain);
    plain.training.batch_size = Some(8);
    assert!(model(&with(None, Some(8))) != model(&plain));
}

#[test]
fn graphs_are_hidden_only_where_a_gradient_is_of_one_graph() {
    let private = Private::Items {
        clip: Some(1.0),
        noise_multiplier: 1.0,
    };
    let refused = |dataset: &Arc<Dataset>, mut params: Params| {
        params.protocol.private = private;
        let partition = iid(dataset, 6);
        let made = params.prepare(&Source::new(dataset, &partition, Streams::new(3)));
        made.err().unwrap().to_string()
    };
    let said = refused(&nodes(), node_params(1));
    assert!(
        said.contains("protocol.private: must be Off here: nodes of one graph"),
        "{said}"
    );
    let mut normalised = params(1);
    normalised.model.encoder = Chosen::new(GinBatchNorm {});
    let said = refused(&graphs(), normalised);
    assert!(
        said.contains("a batch normalisation mixes the items of a step"),
        "{said}"
    );
    let mut buffered = params(1);
    buffered.protocol.aggregation = Aggregation::Buffered {
        size: 2,
        discount: Discount::default(),
    };
    assert!(refused(&graphs(), buffered).contains("needs aggregation: Synchronous"));
}
