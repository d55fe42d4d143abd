//! How far steps reach, as FedNova's clients tell it and its server rescales by it.

use super::*;
use folkmoot_classifiers::classifier::Course;
use folkmoot_classifiers::federated::FedNova;
use folkmoot_rounds::Task;

/// `x + τ Σ p_i (y_i − x) / a_i` by hand, from what each client sends.
#[test]
fn fed_nova_rescales_by_how_far_steps_reach() {
    let prepared = prepared(&small("FedNova()", 1));
    let task = prepared.strategy.trainer();
    let n = task.common().n_parameters();
    let with = |value: f32, reach: f32| {
        let mut values = vec![value; n];
        values.push(reach);
        values
    };
    let (one, other) = (with(1.0, 2.0), with(3.0, 6.0));
    let update = |client, weight, values| Update {
        client: ClientId(client),
        weight,
        discount: 1.0,
        values,
    };
    let base = vec![0.0; n];
    let combined = FedNova {}.combine(
        task,
        &Mean {},
        &Updates {
            all: vec![update(0, 3.0, &one), update(1, 1.0, &other)],
            model: &base,
            n_trainable: n - 1,
        },
        &mut RuleContext::new(
            &mut RuleMemory::default(),
            Streams::new(1).global(Purpose(*b"rd-rule ")),
        ),
    );
    // τ = 3/4 · 2 + 1/4 · 6 = 3; 3 (3/4 · 1/2 + 1/4 · 3/6) = 1.5; what does not learn is averaged.
    assert_eq!((combined[0], combined[n - 1], combined.len()), (1.5, 1.5, n));
}

/// Steps of the classifier's own optimiser, whose gradients are as good as constant: how far they
/// reach is what FedNova's clients tell.
#[test]
fn fed_nova_counts_on_the_steps_that_are_made() {
    for (momentum, proximal) in [(0.0, 0.0), (0.9, 0.0), (0.0, 1e5), (0.9, 1e5)] {
        let training =
            format!("epochs: 5, learning_rate: 1e-6, optimiser: Sgd(momentum: {momentum}), fedprox_mu: {proximal}");
        let prepared = prepared(&params("FedNova()", &training, "rounds: 1"));
        let task = prepared.strategy.trainer();
        let common = task.common();
        let (shard, start) = (prepared.shared.shards.shard(ClientId(0)), common.start());
        let n = common.classifier.network().layout().n_trainable();
        let gradient = 1e4;
        let course = Course {
            correction: &vec![gradient; n],
            ..Course::default()
        };
        let mut rng = Streams::new(SEED).global(Purpose(*b"test    "));
        let (trained, n_steps) = common.classifier.train_along(shard, &start, &course, &mut rng);
        assert_eq!(n_steps, 5);
        let cx = JobContext::of_test(SEED, ClientId(0), Round(0));
        let told = task.train(Task::new(shard, &start, &cx)).parameters;
        let told = told[prepared.strategy.n_update() - 1];
        for (x, y) in start.iter().zip(&trained).take(n) {
            let made = (x - y) / (1e-6 * gradient);
            assert!((made / told - 1.0).abs() < 1e-3, "{made} and {told} with {training}");
        }
    }
}
