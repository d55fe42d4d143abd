//! Hidden graphs: what one of them can move, how large noise is, and that without a clip and noise
//! the gradient is the plain one.

use super::{Classifier, Held, Inputs, Model, Split, Training};
use crate::fed_avg::Params;
use folkmoot_draws::{Purpose, SeedableRng, SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::{DataDirs, DataSource, Partitioner, datasets, partition};
use folkmoot_rounds::HiddenItems;
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use std::sync::Arc;

const TEST: Purpose = Purpose(*b"test    ");
/// One client's training graphs.
const N: usize = 40;

/// A network and one client's graphs, with the model that it begins with.
fn one_client(training: Training) -> (Classifier, Arc<Held>, Vec<f32>) {
    let spec = datasets::GraphClasses {
        n_graphs: N as u32,
        n_classes: 2,
        min_nodes: 5,
        max_nodes: 15,
    };
    let dataset = Arc::new(spec.load(&DataDirs::new(), &mut Streams::new(1).global(TEST)).unwrap());
    let partition = partition::Iid { n_clients: 1 }.divide(&dataset, &mut Streams::new(1).global(TEST));
    let partition = Arc::new(partition.unwrap());
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let params = Params {
        inputs: Inputs::Degree { most: 8 },
        split: Split::All,
        ..Params::default()
    };
    let facts = params.facts(&source).unwrap();
    let classifier = Classifier::new(&Model::default(), &training, &facts).unwrap();
    let held = classifier.share(params.split, &source).unwrap();
    let model = classifier
        .network()
        .layout()
        .initialise(&mut Streams::new(1).global(TEST));
    (classifier, held, model)
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

fn train(classifier: &Classifier, held: &Held, model: &[f32], hidden: HiddenItems, seed: u64) -> Vec<f32> {
    let cx = JobContext::of_test(seed, ClientId(0), Round(0));
    let (mut rng, mut releases) = (SimRng::seed_from_u64(seed), cx.releases(0));
    let from = (&held.shards()[0], model, None);
    classifier.train_hidden(from, hidden, Some(&mut rng), &mut releases)
}

#[test]
fn a_graph_moves_the_sum_by_no_more_than_the_clip() {
    let (classifier, held, model) = one_client(Training::default());
    let (shard, mut rng) = (&held.shards()[0], SimRng::seed_from_u64(1));
    let all: Vec<usize> = (0..N).collect();
    let mut of = |items: &[usize], clip: f64| classifier.sum_of_cut(shard, items, &model, clip, &mut rng);
    let longest = (0..N)
        .map(|item| length(of(&[item], f64::INFINITY).into_iter()))
        .fold(0.0, f64::max);
    for clip in [0.01 * longest, 0.5 * longest, 2.0 * longest] {
        let whole = of(&all, clip);
        for left_out in 0..N {
            let others: Vec<usize> = all.iter().copied().filter(|item| *item != left_out).collect();
            let moved = length(whole.iter().zip(of(&others, clip)).map(|(a, b)| a - b));
            assert!(moved <= clip * (1.0 + 1e-9), "{moved} at {clip}");
            let alone = length(of(&[left_out], clip).into_iter());
            assert!((moved / alone - 1.0).abs() < 1e-6, "{moved}, not {alone}");
            if clip < 0.1 * longest {
                assert!(
                    (alone / clip - 1.0).abs() < 1e-6,
                    "each gradient here is longer than the clip"
                );
            }
        }
    }
}

/// All graphs in each step, no clip and no noise: no bit changes. With a clip that cuts nothing the
/// mean over graphs is what a batch of all of them has, to rounding.
#[test]
fn without_a_clip_and_noise_a_step_is_the_plain_one() {
    let training = Training {
        epochs: 3,
        learning_rate: 0.1,
        weight_decay: 0.01,
        fedprox_mu: 0.5,
        ..Training::default()
    };
    let (classifier, held, model) = one_client(training);
    let hidden = |clip| {
        let open = HiddenItems {
            clip,
            noise_multiplier: 0.0,
        };
        train(&classifier, &held, &model, open, 1)
    };
    let plain = classifier.train(&held.shards()[0], &model, &mut SimRng::seed_from_u64(1));
    assert!(hidden(f64::INFINITY) == plain);
    let (hidden, moved) = (
        hidden(1e6),
        length(plain.iter().zip(&model).map(|(a, b)| f64::from(a - b))),
    );
    let apart = length(plain.iter().zip(&hidden).map(|(a, b)| f64::from(a - b)));
    assert!(moved > 0.02 && apart < 1e-5 * moved, "{apart} of {moved}");
}

/// Gradients are cut to next to nothing: after one pass of `n / B` steps each number has moved by
/// noise of `rate z C / B` a step.
#[test]
fn noise_has_its_size_whoever_is_drawn() {
    let training = Training {
        epochs: 1,
        batch_size: Some(8),
        learning_rate: 1.0,
        ..Training::default()
    };
    let (classifier, held, model) = one_client(training);
    let (clip, noise_multiplier) = (1e-5, 50.0);
    let hidden = HiddenItems { clip, noise_multiplier };
    let n_seeds = 20;
    let mut squares = 0.0;
    for seed in 0..n_seeds {
        let trained = train(&classifier, &held, &model, hidden, seed);
        squares += trained
            .iter()
            .zip(&model)
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum::<f64>();
    }
    let n = model.len() as f64 * n_seeds as f64;
    let expected = (N as f64 / 8.0) * (noise_multiplier * clip / 8.0).powi(2);
    let ratio = squares / n / expected;
    // Five standard errors of a mean of squares, and what is left of the gradients.
    assert!((ratio - 1.0).abs() < 5.0 * (2.0 / n).sqrt() + 0.02, "{ratio}");
}
