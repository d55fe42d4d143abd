//! Parts by hand.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use crate::ascent::project;
use crate::evaluator::distance;
use crate::fed_eraser::calibrated;
use crate::plan::Plan;
use crate::{FedEraser, Retrain, ServerState, Shards, Stored, UnlearningMethod};
use folkmoot_classifiers::classifier::Forgotten;
use folkmoot_engine::prelude::*;
use folkmoot_parts::Chosen;
use folkmoot_rounds::{Opening, OwnModel};
use std::collections::BTreeMap;

#[test]
fn a_calibrated_update_has_the_stored_length_and_the_new_direction() {
    // The new change (3, 4) is 5 long, the stored one 10.
    let model = calibrated(&[1.0, 1.0, 7.0], &[4.0, 5.0, 9.0], &[10.0, 0.0]);
    assert_eq!(model, [7.0, 9.0, 9.0]);
    assert_eq!(calibrated(&[1.0, 2.0], &[1.0, 2.0], &[3.0, 4.0]), [1.0, 2.0]);
}

#[test]
fn a_projection_is_the_nearest_point_of_the_ball() {
    let mut outside = [4.0, 5.0];
    project(&mut outside, &[1.0, 1.0], 2.5);
    assert_eq!(outside, [2.5, 3.0]);
    let mut inside = [1.5, 1.0];
    project(&mut inside, &[1.0, 1.0], 2.5);
    assert_eq!(inside, [1.5, 1.0]);
}

#[test]
fn distances_are_relative_to_the_reference() {
    assert_eq!(distance(&[3.0, 4.0], &[0.0, 0.0]), None);
    assert_eq!(distance(&[6.0, 8.0], &[3.0, 4.0]), Some(1.0));
    assert_eq!(distance(&[3.0, 4.0], &[3.0, 4.0]), Some(0.0));
}

fn plan(method: Chosen<dyn UnlearningMethod>) -> Plan {
    Plan {
        method,
        forgotten: Forgotten::new(vec![1], 1.0),
        trained: 2,
        n_clients: 4,
        n_learning: 1,
        is_reference: false,
    }
}

fn open(
    plan: &Plan,
    round: u32,
    state: &mut Vec<u8>,
    own: &mut BTreeMap<u32, OwnModel>,
) -> Result<Option<Vec<f32>>, StrategyError> {
    plan.open(Opening {
        round: Round(round),
        model: &[5.0],
        own,
        state,
    })
}

#[test]
fn stored_updates_of_clients_that_stay_begin_the_recovery() {
    let eraser = FedEraser {
        interval: 1,
        calibration_epochs: 1,
    };
    let stored = |client, weight, change| Stored {
        round: 0,
        client,
        weight,
        change: vec![change],
    };
    let state = ServerState {
        initial: vec![1.0],
        stored: vec![stored(0, 1.0, 4.0), stored(1, 9.0, 100.0), stored(2, 3.0, 8.0)],
        method: None,
    };
    let plan = plan(Chosen::new(eraser));
    let begun = eraser.begin(&plan, (&state, &[5.0]), &mut BTreeMap::new()).unwrap();
    assert_eq!(begun, Some(vec![1.0 + (4.0 + 24.0) / 4.0]));
    assert_eq!(state.stored_bytes(), 3 * 12);
    let nothing = ServerState::default();
    assert!(eraser.begin(&plan, (&nothing, &[5.0]), &mut BTreeMap::new()).is_err());
}

/// A fork may change the method before the request, and not after it.
#[test]
fn another_method_cannot_take_over_a_request() {
    let retrain = plan(Chosen::new(Retrain {}));
    let eraser = plan(Chosen::new(FedEraser {
        interval: 1,
        calibration_epochs: 1,
    }));
    let (mut state, mut own) = (Vec::new(), BTreeMap::new());
    open(&eraser, 0, &mut state, &mut own).unwrap();
    open(&eraser, 1, &mut state, &mut own).unwrap();
    assert_eq!(open(&retrain, 2, &mut state, &mut own).unwrap(), Some(vec![5.0]));
    assert_eq!(open(&retrain, 3, &mut state, &mut own).unwrap(), None);
    let refused = open(&eraser, 3, &mut state, &mut own).err().unwrap();
    assert!(refused.0.contains("was answered by Retrain"), "{}", refused.0);
    let groups = plan(Chosen::new(Shards { groups: 2 }));
    let refused = open(&groups, 1, &mut state, &mut own).err().unwrap();
    assert!(refused.0.contains("another number of models"), "{}", refused.0);
}
