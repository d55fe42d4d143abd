//! Losses, gradients and what comes of them, by hand.

use super::super::exchange::{filled, sum};
use super::super::losses::{Comparison, Missing, Nearest};
use super::super::maker::{Frozen, comparisons, drawn_targets, gradient_for_other};
use super::super::numbers::Numbers;
use super::*;
use folkmoot_draws::normal;
use folkmoot_learning::Tape;

/// Errors of half and of two whole neighbours: (1/8 + 3/2) / 2, and slopes of a half and of one.
#[test]
fn counts_are_told_apart_by_their_smooth_distance() {
    let missing = Missing {
        targets: vec![(0, 1), (2, 3)],
    };
    let mut tape = Tape::new();
    let counts = tape.variable(3, 1, &[1.5, 9.0, 1.0]);
    let loss = tape.custom(&missing, &[counts], 1, 1);
    assert_eq!(tape.scalar(loss), 0.8125);
    tape.backward(loss);
    assert_eq!(tape.gradient(counts), [0.25, 0.0, -0.5]);
}

const D: usize = 3;

/// `share` times the sum of the least errors, in double precision.
fn nearest_by_hand(rows: &[f64], comparisons: &[Comparison], known: &[f32], share: f64) -> f64 {
    let mut total = 0.0;
    for comparison in comparisons {
        for slot in 0..comparison.n_made as usize {
            let made = &rows[comparison.row as usize * 2 * D + slot * D..][..D];
            let error = |target: &u32| {
                let known = &known[*target as usize * D..][..D];
                let squares = made.iter().zip(known).map(|(x, y)| (x - f64::from(*y)).powi(2));
                squares.sum::<f64>() / D as f64
            };
            total += comparison.targets.iter().map(error).fold(f64::INFINITY, f64::min);
        }
    }
    share * total
}

#[test]
fn made_neighbours_are_told_apart_by_the_nearest_hidden_one() {
    let rng = &mut stream(2);
    let known: Vec<f32> = (0..4 * D).map(|_| normal(rng) as f32).collect();
    let rows: Vec<f32> = (0..3 * 2 * D).map(|_| normal(rng) as f32).collect();
    let compared = vec![
        Comparison {
            row: 0,
            n_made: 2,
            targets: vec![0, 3],
        },
        Comparison {
            row: 2,
            n_made: 1,
            targets: vec![1, 2, 3],
        },
    ];
    let share = 0.125;
    let nearest = Nearest {
        comparisons: compared.clone(),
        known: &known,
        n_features: D,
        width: 2 * D,
        share,
    };
    assert_eq!(nearest.n_compared(), 3);
    let by_hand = |rows: &[f64]| nearest_by_hand(rows, &compared, &known, f64::from(share));
    let exact: Vec<f64> = rows.iter().map(|x| f64::from(*x)).collect();
    let mut tape = Tape::new();
    let made = tape.variable(3, 2 * D, &rows);
    let loss = tape.custom(&nearest, &[made], 1, 1);
    assert!((f64::from(tape.scalar(loss)) - by_hand(&exact)).abs() < 1e-7);
    tape.backward(loss);
    for at in 0..rows.len() {
        let moved = |by: f64| {
            let mut rows = exact.clone();
            rows[at] += by;
            by_hand(&rows)
        };
        let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        let got = f64::from(tape.gradient(made)[at]);
        assert!((got - expected).abs() < 1e-6, "{got}, not {expected}, at {at}");
    }
    // What equals one of the targets is no error, whichever it is.
    let equal = [&known[9..], &known[..3], &[7.0; 6][..], &known[3..6], &[9.0; 3]].concat();
    assert_eq!(nearest.sum(&equal), 0.0);
}

/// What makes features, in double precision: rows, layer by layer.
fn made_by_hand(plan: &Plan, shared: &[f64], embeddings: &[f32]) -> Vec<f64> {
    let widths = [
        plan.latent,
        plan.widths[0],
        plan.widths[1],
        plan.n_made * plan.n_features,
    ];
    let mut rows: Vec<Vec<f64>> = embeddings
        .chunks_exact(plan.latent)
        .map(|row| row.iter().map(|x| f64::from(*x)).collect())
        .collect();
    let mut at = 0;
    for (layer, pair) in widths.windows(2).enumerate() {
        let (n_in, n_out) = (pair[0], pair[1]);
        let (weight, bias) = (&shared[at..at + n_in * n_out], &shared[at + n_in * n_out..][..n_out]);
        for row in &mut rows {
            let sum = |k: usize| bias[k] + (0..n_in).map(|i| row[i] * weight[i * n_out + k]).sum::<f64>();
            let all: Vec<f64> = (0..n_out).map(sum).collect();
            *row = all
                .into_iter()
                .map(|x| if layer < 2 { x.max(0.0) } else { libm::tanh(x) })
                .collect();
        }
        at += (n_in + 1) * n_out;
    }
    rows.into_iter().flatten().collect()
}

/// Embeddings and counts of some nodes, and a generator.
fn message(makers: &Makers) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let rng = &mut stream(8);
    let embeddings = (0..4 * makers.plan.latent).map(|_| normal(rng).abs() as f32).collect();
    let shared = makers.networks.initialise(rng)[..makers.networks.n_shared()].to_vec();
    (shared, embeddings, vec![2.0, 0.0, 7.0, 1.0])
}

/// The gradient that a client sends back is that of the formula, by differences in double
/// precision.
#[test]
fn a_gradient_for_another_is_that_of_the_formula() {
    at_first_of(2, still(2, 1, 1), |_, makers, pieces, _| {
        let plan = &makers.plan;
        let (shared, embeddings, counts) = message(makers);
        let shard = &pieces[1].shard;
        let rows = (&embeddings[..], &counts[..]);
        let got = gradient_for_other((plan, &makers.networks), &shared, rows, shard, &mut stream(6));
        let got = Numbers::from(got).all().into_owned();
        let targets = drawn_targets(plan, shard.nodes(), &counts, &mut stream(6));
        let lengths: Vec<(u32, usize)> = targets.iter().map(|(node, drawn)| (*node, drawn.len())).collect();
        assert_eq!(lengths, [(0, 2), (2, 2), (3, 1)], "as many as are missing, up to two");
        let live: Vec<f32> = [0, 2, 3]
            .iter()
            .flat_map(|row| &embeddings[row * plan.latent..][..plan.latent])
            .copied()
            .collect();
        let d = plan.n_features;
        let loss = |shared: &[f64]| {
            let made = made_by_hand(plan, shared, &live);
            let mut total = 0.0;
            for comparison in comparisons(&targets) {
                for slot in 0..comparison.n_made as usize {
                    let made = &made[(comparison.row as usize * plan.n_made + slot) * d..][..d];
                    let error = |target: &u32| {
                        let known = &shard.node_features()[*target as usize * d..][..d];
                        let squares = made.iter().zip(known).map(|(x, y)| (x - f64::from(*y)).powi(2));
                        squares.sum::<f64>() / d as f64
                    };
                    total += comparison.targets.iter().map(error).fold(f64::INFINITY, f64::min);
                }
            }
            // Of two clients, over four nodes of two made neighbours each.
            total / 8.0 / 2.0
        };
        let exact: Vec<f64> = shared.iter().map(|x| f64::from(*x)).collect();
        let mut largest: f64 = 0.0;
        for at in (0..shared.len()).step_by(3) {
            let moved = |by: f64| {
                let mut shared = exact.clone();
                shared[at] += by;
                loss(&shared)
            };
            let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!(
                (f64::from(got[at]) - expected).abs() < 1e-6,
                "{}, not {expected}, at {at}",
                got[at]
            );
            largest = largest.max(expected.abs());
        }
        assert!(largest > 1e-3, "there is something to learn");
    });
}

/// The gradient that is kept as factors, with noise and dropout, is the one that a tape makes of
/// all layers.
#[test]
fn a_gradient_for_another_has_the_bits_of_one_that_is_made_whole() {
    at_first_of(2, wide(2, 1, 1), |_, makers, pieces, _| {
        let (plan, networks) = (&makers.plan, &makers.networks);
        let (shared, embeddings, counts) = message(makers);
        let shard = &pieces[1].shard;
        let rows = (&embeddings[..], &counts[..]);
        let gradient = gradient_for_other((plan, networks), &shared, rows, shard, &mut stream(6));
        let numbers = Numbers::from(gradient);
        assert!(matches!(numbers, Numbers::Gradient(_)), "of three rows");
        let rng = &mut stream(6);
        let targets = drawn_targets(plan, shard.nodes(), &counts, rng);
        let nearest = Nearest {
            comparisons: comparisons(&targets),
            known: shard.node_features(),
            n_features: plan.n_features,
            width: plan.n_made * plan.n_features,
            share: 1.0 / 8.0,
        };
        let mut tape = Tape::new();
        tape.load(&networks.shared, &shared);
        let all = tape.input(4, plan.latent, &embeddings);
        let live = tape.gather_rows(all, &[0, 2, 3]);
        let made = networks.make(plan, &mut tape, live, None, Some(rng));
        let features = tape.custom(&nearest, &[made], 1, 1);
        let loss = tape.scale(0.5, features);
        tape.backward(loss);
        let whole = tape.parameters_mut().1;
        assert_eq!(bits(&numbers.all()), bits(whole));
        assert!(whole.iter().filter(|x| **x != 0.0).count() > 1_000);
    });
}

/// What the server adds up is the gradient of one loss over what all others hold.
#[test]
fn the_sum_of_gradients_is_that_of_one_pooled_loss() {
    at_first_of(4, still(2, 1, 1), |_, makers, pieces, _| {
        let plan = &makers.plan;
        let (shared, embeddings, counts) = message(makers);
        let rows = (&embeddings[..], &counts[..]);
        let of = |client: usize| {
            let shard = &pieces[client].shard;
            let both = (plan, &makers.networks);
            Told::new(
                (0, 0),
                gradient_for_other(both, &shared, rows, shard, &mut stream(client as u64)).into(),
            )
        };
        let all = sum((0, 0), vec![of(1), of(2), of(3)]);
        let all = all.values();
        // All that others hold in one table, and every drawn target in it.
        let (mut known, mut pooled) = (Vec::new(), Vec::new());
        for (client, piece) in pieces.iter().enumerate().skip(1) {
            let before = (known.len() / plan.n_features) as u32;
            let targets = drawn_targets(plan, piece.shard.nodes(), &counts, &mut stream(client as u64));
            for mut comparison in comparisons(&targets) {
                comparison.targets.iter_mut().for_each(|target| *target += before);
                pooled.push(comparison);
            }
            known.extend_from_slice(piece.shard.node_features());
        }
        let live: Vec<f32> = [0, 2, 3]
            .iter()
            .flat_map(|row| &embeddings[row * plan.latent..][..plan.latent])
            .copied()
            .collect();
        let exact: Vec<f64> = shared.iter().map(|x| f64::from(*x)).collect();
        let made: Vec<f32> = made_by_hand(plan, &exact, &live)
            .into_iter()
            .map(|x| x as f32)
            .collect();
        let nearest = Nearest {
            comparisons: pooled,
            known: &known,
            n_features: plan.n_features,
            width: plan.n_made * plan.n_features,
            share: 1.0 / 8.0 / 4.0,
        };
        // By the last layer's bias the gradient is the sum over rows of that by what is made,
        // through the tanh.
        let mut tape = Tape::new();
        let rows = tape.variable(3, plan.n_made * plan.n_features, &made);
        let loss = tape.custom(&nearest, &[rows], 1, 1);
        tape.backward(loss);
        let width = plan.n_made * plan.n_features;
        let n = all.len();
        for k in 0..width {
            let by_row = |row: usize| {
                f64::from(tape.gradient(rows)[row * width + k]) * (1.0 - f64::from(made[row * width + k]).powi(2))
            };
            let expected = (0..3).map(by_row).sum::<f64>();
            let got = f64::from(all[n - width + k]);
            assert!((got - expected).abs() < 1e-6, "{got}, not {expected}, at {k}");
        }
    });
}

/// For a client alone the second phase goes on with the loss of the first.
#[test]
fn alone_a_client_has_the_same_loss_in_both_phases() {
    let own = still(3, 30, 1);
    at_first_of(1, own, |_, makers, pieces, impaired| {
        let sight = sight(makers, &pieces[0].shard, impaired);
        let start = makers.networks.initialise(&mut stream(1));
        let (learned, _) = sight.pretrain(&start, &mut stream(2));
        let (embeddings, counts) = sight.answers(&learned);
        let (shared, rest) = learned.split_at(makers.networks.n_shared());
        let frozen = Frozen {
            embeddings: &embeddings,
            counts: &counts,
            rest,
        };
        let (first, (second, gradient)) = (sight.losses(&learned), sight.own_gradient(shared, frozen, None));
        let gradient = Numbers::Gradient(gradient).all().into_owned();
        assert!(first.features > 0.0, "neighbours are made, and compared");
        for (first, second) in [
            (first.counts, second.counts),
            (first.features, second.features),
            (first.classes, second.classes),
            (first.total(&makers.plan), second.total(&makers.plan)),
        ] {
            assert!((first - second).abs() < 1e-6, "{first}, then {second}");
        }
        // The gradient of that total, the share of one client being all.
        let total = |at: usize, by: f32| {
            let mut moved = learned.clone();
            moved[at] += by;
            sight.losses(&moved).total(&makers.plan)
        };
        for at in (0..gradient.len()).rev().step_by(23) {
            let expected = (total(at, 2e-3) - total(at, -2e-3)) / 4e-3;
            assert!(
                (f64::from(gradient[at]) - expected).abs() < 2e-3,
                "{}, not {expected}",
                gradient[at]
            );
        }
        let half = Plan {
            n_clients: 2,
            ..makers.plan
        };
        let (_, halved) = Sight { plan: &half, ..sight }.own_gradient(shared, frozen, None);
        let halved = Numbers::Gradient(halved).all().into_owned();
        assert!(
            gradient
                .iter()
                .zip(&halved)
                .all(|(whole, half)| (whole - 2.0 * half).abs() < 1e-6)
        );
    });
}

#[test]
fn generators_learn_how_many_are_missing_and_what_these_bring() {
    at_first_of(1, generator(3, 150, 0), |_, makers, pieces, impaired| {
        let sight = sight(makers, &pieces[0].shard, impaired);
        let start = makers.networks.initialise(&mut stream(1));
        let (learned, last) = sight.pretrain(&start, &mut stream(2));
        let [before, after] = [sight.losses(&start), sight.losses(&learned)];
        assert!(after.counts < 0.8 * before.counts, "{before:?}, then {after:?}");
        assert!(after.classes < 0.8 * before.classes, "{before:?}, then {after:?}");
        assert!(last.is_some());
        let (embeddings, counts) = sight.answers(&learned);
        let (shared, rest) = learned.split_at(makers.networks.n_shared());
        let frozen = Frozen {
            embeddings: &embeddings,
            counts: &counts,
            rest,
        };
        let made = |shared: &[f32]| sight.fill(shared, frozen, &mut stream(3));
        let (places, features, near) = made(shared);
        let whole: usize = counts.iter().map(|count| (*count as usize).min(3)).sum();
        assert_eq!((places.len(), features.len()), (whole, 12 * whole));
        assert!(whole > 0 && features.iter().all(|x| x.abs() < 1.0));
        assert!(
            places.iter().all(|place| impaired.nodes.contains(place)),
            "hidden nodes get none"
        );
        let (.., untrained) = made(&start[..shared.len()]);
        assert!(
            near.sum < 0.9 * untrained.sum,
            "{near:?}, where they were {untrained:?}"
        );
    });
}

/// Counts below 1 make nobody, and a graph without made neighbours is the client's own.
#[test]
fn counts_below_one_leave_a_graph_as_it_is() {
    at_first_of(2, generator(3, 1, 1), |task, makers, pieces, impaired| {
        let shard = &pieces[0].shard;
        let all = makers.networks.initialise(&mut stream(1));
        let (shared, rest) = all.split_at(makers.networks.n_shared());
        let n = impaired.nodes.len();
        for low in [0.0, 0.999, f32::NAN, -3.0] {
            let frozen = Frozen {
                embeddings: &vec![1.0; n * makers.plan.latent],
                counts: &vec![low; n],
                rest,
            };
            let (places, features, _) = sight(makers, shard, impaired).fill(shared, frozen, &mut stream(3));
            assert!(places.is_empty() && features.is_empty());
        }
        let same = filled(task, shard, &[], &[]);
        let model = task.classifier.network().layout().initialise(&mut stream(1));
        let trained = |shard: &Shard| task.classifier.train(shard, &model, &mut stream(2));
        assert_eq!(trained(&same), trained(shard));
    });
}
