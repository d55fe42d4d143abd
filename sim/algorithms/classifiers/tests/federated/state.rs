//! What optimisers keep between rounds, and clients that make a part of their passes.

use super::*;

/// Full batches of steps that have a memory: no draw tells rounds apart.
const WITH_MEMORY: [&str; 3] = [
    "optimiser: Adam",
    "optimiser: AdamW, weight_decay: 0.01",
    "optimiser: Sgd(momentum: 0.9)",
];

fn with_state(method: &str, training: &str, protocol: &str) -> Params {
    Params {
        optimiser_state: OptimiserState::Kept,
        ..params(method, training, protocol)
    }
}

fn kept(params: &Params) -> Vec<Option<Vec<f32>>> {
    left(params, &World::ideal(), Options::default()).1.kept
}

#[test]
fn what_is_kept_makes_one_training_of_several_rounds() {
    for optimiser in WITH_MEMORY {
        let training = |epochs: u32| format!("epochs: {epochs}, learning_rate: 0.02, {optimiser}");
        let at_once = kept(&params("LocalOnly()", &training(6), "rounds: 1"));
        for (epochs, rounds) in [(2, "rounds: 3"), (1, "rounds: 6")] {
            let by_rounds = kept(&with_state("LocalOnly()", &training(epochs), rounds));
            assert!(by_rounds == at_once, "{optimiser}, {rounds}");
            let afresh = kept(&params("LocalOnly()", &training(epochs), rounds));
            assert!(
                afresh != at_once,
                "{optimiser}, {rounds}: an optimiser that starts afresh has no memory"
            );
        }
    }
}

#[test]
fn a_client_alone_learns_the_same_by_any_method_that_makes_nothing_of_others() {
    // What is sent comes back as it is.
    let training = "epochs: 1, learning_rate: 0.02, optimiser: Adam";
    let one = |method: &str, rounds: u32, state| {
        let params = Params {
            optimiser_state: state,
            ..params(method, training, &format!("rounds: {rounds}, {UNIFORM}"))
        };
        let (dataset, _) = unlike::data(MIN_SIZE);
        let whole = partition::Iid { n_clients: 1 };
        let partition = whole
            .divide(&dataset, &mut Streams::new(1).global(Purpose(*b"partitn ")))
            .unwrap();
        let prepared = params
            .prepare(&Source::new(&dataset, &Arc::new(partition), Streams::new(SEED)))
            .unwrap();
        let found = Arc::default();
        let look = Watched(Look(Arc::clone(&found)));
        let watched = System {
            evaluator: &look,
            ..prepared.system()
        };
        run(watched, &World::ideal(), SEED, Options::default(), &mut Unobserved).unwrap();
        std::mem::take(&mut *found.lock().unwrap()).model
    };
    let reference = one("Global()", 5, OptimiserState::Kept);
    assert!(reference != one("Global()", 5, OptimiserState::Fresh));
    for method in ["FineTuned()", "Ditto()", "Moon(weight: 0)", "Ifca(clusters: 1)"] {
        assert!(one(method, 5, OptimiserState::Kept) == reference, "{method}");
    }
}

/// Each of Ditto's models has an optimiser of its own: the one that is sent is federated
/// averaging's, whatever the other is drawn by.
#[test]
fn two_models_have_two_optimisers() {
    let training = "epochs: 2, batch_size: 4, learning_rate: 0.02, optimiser: Adam";
    let protocol = format!("rounds: 3, {UNIFORM}");
    let reference = model(&with_state("Global()", training, &protocol));
    for method in ["Ditto(strength: 0)", "Ditto(strength: 2)", "FineTuned(epochs: 3)"] {
        assert!(model(&with_state(method, training, &protocol)) == reference, "{method}");
    }
    // A model that nothing draws goes on by itself, from what its client was sent first.
    let alone = |rounds| {
        kept(&with_state(
            "Ditto(strength: 0)",
            training,
            &format!("rounds: {rounds}, {UNIFORM}"),
        ))
    };
    let afresh = kept(&params("Ditto(strength: 0)", training, &protocol));
    assert!(alone(1) != alone(3) && alone(3) != afresh);
}

#[test]
fn steps_without_memory_are_the_same_whether_it_is_kept() {
    for method in ALL.iter().filter(|method| !method.starts_with("FedNova")) {
        let (training, protocol) = (
            "epochs: 2, batch_size: 4, learning_rate: 0.05",
            format!("rounds: 2, {UNIFORM}"),
        );
        let (world, options) = (World::ideal(), Options::default);
        let (_, afresh) = left(&params(method, training, &protocol), &world, options());
        let (_, kept) = left(&with_state(method, training, &protocol), &world, options());
        assert!(afresh == kept, "{method}");
    }
    let refused = with_state("FedNova()", "", UNIFORM).broken();
    assert!(
        refused.iter().any(|broken| broken.path == "optimiser_state"),
        "{refused:?}"
    );
}

/// Who makes a part of its passes does so by whatever method, and what is federated averaging stays
/// that.
#[test]
fn partial_work_is_the_same_work_by_every_method_that_averages() {
    let protocol = format!("rounds: 3, {UNIFORM} completeness: (partial_prob: 0.7)");
    let some = |method: &str| params(method, "epochs: 4, batch_size: 4, learning_rate: 0.05", &protocol);
    let reference = averaged(&some("Global()"), &World::ideal());
    assert!(
        reference
            != averaged(
                &params("Global()", "epochs: 4, batch_size: 4, learning_rate: 0.05", UNIFORM),
                &World::ideal()
            )
    );
    for method in [
        "Global()",
        "FineTuned()",
        "Ditto()",
        "Moon(weight: 0)",
        "Ifca(clusters: 1)",
    ] {
        assert!(model(&some(method)) == reference, "{method}");
    }
}
