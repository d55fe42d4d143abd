//! Devices that are away: what is sent again, until when, and what comes too late.

use super::{functions, number, params, play_in};
use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::{Dist, LinkClass, Links, Network, availability, network};
use folkmoot_ppgm::Params;
use folkmoot_ppgm::options::{Deployment, Model, Training};

/// An untrained model among devices of which four in ten are away.
fn play_with_absence(model: Model, deployment: Deployment, network: impl Network + 'static) -> Outcome {
    let dataset = functions(20, 1.0, 2);
    let world = World {
        availability: Box::new(availability::OnOff {
            mean_on_s: 30.0,
            mean_off_s: 20.0,
        }),
        network: Box::new(network),
        ..World::ideal()
    };
    let params = Params {
        training: Training {
            epochs: 0,
            ..Training::default()
        },
        deployment: Deployment {
            matches_per_client: 20.0,
            ..deployment
        },
        ..params(model)
    };
    play_in(&world, &dataset, &params, Options::default())
}

/// What is begun is scored or lost; the more often a device tries, the less is lost. Where devices
/// exchange nothing, an invitation takes the place of the first message.
#[test]
fn absence_costs_scores_and_retries_win_some_back() {
    for model in [Model::Ppgm, Model::Sgnn] {
        let lost = |retries| {
            let deployment = Deployment {
                retries,
                timeout_ms: 5_000.0,
                ..Deployment::default()
            };
            let outcome = play_with_absence(model, deployment, network::Ideal {});
            let [begun, scored, lost] =
                ["matches_begun", "matches_scored", "matches_lost"].map(|name| number(&outcome, name));
            assert_eq!(begun, scored + lost, "{model:?}");
            assert_eq!(number(&outcome, "exchanges_repeated") > 0.0, retries > 0, "{model:?}");
            assert!(number(&outcome, "score_latency_p99_s") >= number(&outcome, "score_latency_median_s"));
            lost / begun
        };
        let [never, often] = [0, 6].map(lost);
        assert!(never > 0.2 && often < 0.5 * never, "{model:?}: {never} and {often}");
    }
}

/// Patience of 10 s has room for ten repeats a second apart on each side, and one that was under
/// way when it ended.
#[test]
fn nothing_is_repeated_for_a_match_that_was_given_up() {
    let deployment = Deployment {
        retries: 1000,
        timeout_ms: 1_000.0,
        patience_s: 10.0,
        ..Deployment::default()
    };
    let outcome = play_with_absence(Model::Ppgm, deployment, network::Ideal {});
    let [begun, repeated] = ["matches_begun", "exchanges_repeated"].map(|name| number(&outcome, name));
    assert!(
        repeated > begun && repeated < 5.0 * begun,
        "{repeated} for {begun} matches"
    );
}

/// A device that comes back finds its score and the end of its patience at once.
#[test]
fn a_score_that_comes_after_patience_has_ended_is_lost() {
    let network = Links {
        downlink: LinkClass {
            latency_ms: Dist::Constant(4_000.0),
            ..LinkClass::default()
        },
        ..Links::default()
    };
    let deployment = Deployment {
        patience_s: 6.0,
        ..Deployment::default()
    };
    let outcome = play_with_absence(Model::Ppgm, deployment, network);
    let [begun, scored, lost] = ["matches_begun", "matches_scored", "matches_lost"].map(|name| number(&outcome, name));
    assert_eq!(begun, scored + lost);
    assert!(scored > 0.0);
    let latest = number(&outcome, "score_latency_p99_s");
    assert!(latest <= 6.0, "{latest}");
}
