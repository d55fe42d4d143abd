//! SGNN whose vectors are private: what the ledger says, what noise hides, and what training with
//! it keeps.

use super::thorough::{play, thorough};
use super::{find, functions, number, params, system};
use folkmoot_ppgm::options::{Model, Thorough};

fn private(epsilon: f64, in_training: bool) -> Model {
    Model::SgnnPrivate { epsilon, in_training }
}

/// Each device releases a vector for each of its matches, at the budget of the card.
#[test]
fn the_ledger_has_the_budget_of_every_vector() {
    let mut params = thorough(private(50.0, false), Thorough::default());
    params.deployment.matches_per_client = 2.0;
    let outcome = play(0.3, &params);
    let row = outcome
        .tables
        .privacy
        .iter()
        .find(|row| row.mechanism.starts_with("laplace"))
        .unwrap();
    assert_eq!(row.releases, 2 * number(&outcome, "matches_begun") as u64);
    assert_eq!(row.epsilon_per_release, 50.0, "{row:?}");
}

/// Vectors have length 1, and noise the scale of two of them at their farthest in the sum of 16
/// numbers.
#[test]
fn a_vector_has_length_1_and_noise_the_scale_of_its_budget() {
    let dataset = functions(40, 0.3, 2);
    let system = system(&dataset, &params(private(8.0, false)));
    let parameters = system.initial();
    let mut deployed = system.deployed(&parameters);
    let noise = deployed.noise.take().unwrap();
    assert_eq!((noise.law.scale(), noise.epsilon), (1.0, Some(8.0)));
    let data = system.data();
    for length in deployed.observe(&data.inputs, &data.test, |_, seen| {
        seen.results[0]
            .data
            .iter()
            .map(|x| f64::from(*x) * f64::from(*x))
            .sum::<f64>()
    }) {
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

/// A budget without end hides nothing of the marks, a small one all, and with them what graphs have
/// in common.
#[test]
fn noise_hides_marks_and_likeness_alike() {
    let inferring = || Thorough {
        shadows: vec![1.0],
        ..Thorough::default()
    };
    let loud = play(1.0, &thorough(private(1e6, false), inferring()));
    assert!(
        number(&loud, "leak_auc") > 0.65 && number(&loud, "similarity_auc") > 0.7,
        "{:?}",
        loud.summary
    );
    let hushed = play(1.0, &thorough(private(0.1, false), inferring()));
    for name in ["leak_auc", "similarity_auc"] {
        assert!(
            (number(&hushed, name) - 0.5).abs() < 0.13,
            "{name}: {:?}",
            hushed.summary
        );
    }
    assert!(find(&hushed, "leak_auc_g[shadow=1]").is_none());
}

/// At a budget under which a vector is half noise, whoever has trained with it tells functions
/// apart at least as well.
#[test]
fn training_may_see_the_noise() {
    let dataset = functions(60, 0.3, 2);
    let auc = |in_training| {
        let mut params = params(private(40.0, in_training));
        params.training.epochs = 12;
        let learned = system(&dataset, &params).train();
        assert!(learned.epochs[11].loss < learned.epochs[0].loss, "{:?}", learned.epochs);
        learned.measured.last().unwrap().similarity_auc.unwrap()
    };
    let (without, with) = (auc(false), auc(true));
    assert!(without > 0.6 && with > without - 0.05, "{without} {with}");
}

/// The block has a norm before and behind a feed-forward layer: of 16 and 8 numbers here.
#[test]
fn sgnn_may_have_the_block_of_the_released_code() {
    let dataset = functions(40, 0.3, 2);
    let mut plain = params(Model::Sgnn);
    plain.form.feed_forward = 8;
    let mut block = plain.clone();
    block.form.sgnn_block = true;
    block.training.epochs = 8;
    let len = |params| system(&dataset, params).matcher().layout().len();
    assert_eq!(len(&block) - len(&plain), 2 * 2 * 16 + (16 * 8 + 8) + (8 * 16 + 16));
    let learned = system(&dataset, &block).train();
    assert!(learned.epochs[7].loss < learned.epochs[0].loss);
    assert!(learned.measured[1].similarity_auc.unwrap() > 0.6);
}
