//! Private rounds: what is cut, what noise there is, what is charged, and that nothing else
//! changes.

use super::private::{cut, factor};
use super::tests::{Toy, everything, firsts, number, play, protocol, rounds, slow, toy, try_play, two};
use super::*;
use folkmoot_codecs::TopK;
use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::{Candidates, ClientSelection, DropoutSpec, cohort};
use folkmoot_parts::Chosen;
use folkmoot_parts::Value as _;
use folkmoot_privacy::{Accountant, Law, Mechanism, Sampling};
use proptest::prelude::*;

fn clients(clip: Option<f64>, noise_multiplier: f64, noise_at: NoiseAt) -> Private {
    Private::Clients {
        clip,
        noise_multiplier,
        noise_at,
    }
}

fn with(private: Private, rounds: u32) -> Protocol {
    Protocol {
        weighting: Weighting::Uniform,
        private,
        ..protocol(rounds)
    }
}

fn masked(protocol: Protocol) -> Protocol {
    Protocol {
        secure: Secure::Pairwise { threshold: 0.6 },
        ..protocol
    }
}

/// Everybody has a sample.
fn samples(n_clients: u32) -> Toy {
    Toy {
        least_samples: 1,
        ..toy(n_clients)
    }
}

fn asked(cohort: impl ClientSelection + 'static) -> World {
    World {
        cohort: Box::new(cohort),
        ..World::ideal()
    }
}

fn bits(outcome: &Outcome) -> Vec<u64> {
    let mut all: Vec<u64> = firsts(outcome).iter().map(|x| x.to_bits()).collect();
    all.push(number(outcome, "second").to_bits());
    all
}

#[test]
fn without_a_limit_and_without_noise_it_is_the_uniform_mean_to_the_bit() {
    let bare = clients(None, 0.0, NoiseAt::Server);
    for world in [asked(cohort::All {}), asked(cohort::Size { n: 4, over_select: 1.0 })] {
        for secured in [|protocol| protocol, masked] {
            let plain = play(samples(7), secured(with(Private::Off, 5)), &world);
            let open = play(samples(7), secured(with(bare, 5)), &world);
            assert_eq!(bits(&plain), bits(&open));
            let row = open.tables.privacy.last().unwrap();
            assert_eq!((row.mechanism.as_str(), row.releases), ("none: sum of changes", 35));
            assert_eq!((row.epsilon_max_client, row.epsilon_renyi), (f64::INFINITY, None));
        }
    }
}

/// Client `c` changes both numbers by `c + 1`, a length of `(c + 1) sqrt(2)`; all but the first are
/// cut to `sqrt(2)`, which is 1 each.
#[test]
fn no_client_moves_the_model_by_more_than_the_clip() {
    let cut = clients(Some(2f64.sqrt()), 0.0, NoiseAt::Server);
    for secured in [|protocol| protocol, masked] {
        let outcome = play(samples(5), secured(with(cut, 3)), &World::ideal());
        for (got, expected) in firsts(&outcome).into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((got - expected).abs() < 1e-6, "{got}, not {expected}");
        }
    }
}

/// The divisor is the mean cohort, `q N = 4`, whoever was drawn: each that answers moves the model
/// by a quarter.
#[test]
fn the_divisor_is_the_mean_cohort_and_an_empty_round_passes() {
    let world = asked(cohort::Poisson { rate: 0.1 });
    let cut = clients(Some(2f64.sqrt()), 0.0, NoiseAt::Server);
    let outcome = play(samples(40), with(cut, 200), &world);
    let mut before = 0.0;
    for (row, now) in outcome.tables.rounds.iter().zip(firsts(&outcome)) {
        assert_eq!(row.completed, row.cohort);
        assert!((now - before - row.cohort as f64 / 4.0).abs() < 1e-4, "{row:?}");
        before = now;
    }
    assert!(outcome.tables.rounds.iter().any(|row| row.cohort == 0));
}

/// The clients' changes are cut to next to nothing: what is left is noise of `z S / (q N)` each
/// round, in empty rounds too.
#[test]
fn noise_has_its_size_whoever_comes() {
    let (clip, z) = (1e-3, 3.0);
    for (world, secured, at) in [
        (
            asked(cohort::Poisson { rate: 0.05 }),
            (|protocol| protocol) as fn(Protocol) -> Protocol,
            NoiseAt::Server,
        ),
        (asked(cohort::Poisson { rate: 0.05 }), masked, NoiseAt::Server),
        (asked(cohort::Size { n: 5, over_select: 1.0 }), masked, NoiseAt::Clients),
    ] {
        let n_rounds = 1500;
        let outcome = play(samples(20), secured(with(clients(Some(clip), z, at), n_rounds)), &world);
        let std = z * clip / world.cohort.mean_asked(20);
        let mut before = 0.0;
        let mut steps = Vec::new();
        for (row, now) in outcome.tables.rounds.iter().zip(firsts(&outcome)) {
            let drift = row.completed as f64 * clip / 2f64.sqrt() / world.cohort.mean_asked(20);
            steps.push((now - before - drift) / std);
            before = now;
        }
        let n = steps.len() as f64;
        let (mean, square) = (
            steps.iter().sum::<f64>() / n,
            steps.iter().map(|x| x * x).sum::<f64>() / n,
        );
        assert!(mean.abs() < 4.0 / n.sqrt(), "{}: mean {mean}", world.cohort.name());
        assert!(
            (square - 1.0).abs() < 4.0 * (2.0 / n).sqrt(),
            "{}: variance {square}",
            world.cohort.name()
        );
        assert!(steps.iter().all(|step| *step != 0.0));
    }
}

fn total(law: Law, n: u64) -> Option<f64> {
    let mut accountant = Accountant::new(1e-5).unwrap();
    let place = accountant.law(law);
    accountant.totals(&[(place, n)]).renyi
}

/// Every client pays for every round by the law of its cohort. A published accountant proves 2.586,
/// 4.323, 4.162 and 5.379 at whole orders.
#[test]
fn noise_at_the_server_is_charged_by_the_sample() {
    let charged = |world: World, z, rounds| {
        let outcome = play(
            samples(100),
            with(clients(Some(1.0), z, NoiseAt::Server), rounds),
            &world,
        );
        let row = outcome.tables.privacy.last().unwrap().clone();
        assert_eq!(
            (row.mechanism.as_str(), row.unit.as_str()),
            ("Gaussian noise: sum of changes", "one client")
        );
        assert_eq!(row.releases, u64::from(rounds) * 100);
        // The server sees every update.
        assert_eq!(
            (
                outcome.tables.privacy[0].mechanism.as_str(),
                outcome.tables.privacy[0].epsilon_renyi
            ),
            ("none: weights", None)
        );
        row.epsilon_renyi.unwrap()
    };
    for (rate, z, rounds, expected) in [(0.1, 2.0, 100, 2.580569), (0.5, 4.0, 50, 4.305842)] {
        let epsilon = charged(asked(cohort::Poisson { rate }), z, rounds);
        assert!((epsilon - expected).abs() < 6e-7, "{epsilon}, not {expected}");
    }
    assert!((charged(asked(cohort::All {}), 5.0, 20) - 4.161624).abs() < 6e-7);
    // Replacing one client moves the sum by twice the clip: noise of 4 clips is that of 2
    // sensitivities.
    let epsilon = charged(
        asked(cohort::Size {
            n: 10,
            over_select: 1.0,
        }),
        4.0,
        100,
    );
    assert!((epsilon - 5.379010).abs() < 6e-7, "{epsilon}");
}

/// Who sends pays for the noise of as few as may stay: 3 of 5 shares, and no less for being drawn.
#[test]
fn noise_at_clients_is_charged_to_who_sends_for_the_fewest_shares() {
    let world = asked(cohort::Size { n: 5, over_select: 1.0 });
    let outcome = play(
        samples(10),
        masked(with(clients(Some(1.0), 4.0, NoiseAt::Clients), 20)),
        &world,
    );
    let row = &outcome.tables.privacy[0];
    assert_eq!(
        (row.mechanism.as_str(), row.releases),
        ("Gaussian noise: shares, on the sum of changes", 100)
    );
    assert_eq!(outcome.tables.privacy.len(), 3, "and those of the toy");
    let most = (0..10)
        .map(|id| (0..20).filter(|round| drawn(&world, *round, id)).count())
        .max()
        .unwrap();
    let law = Law::sampled_normal(Sampling::Poisson, 1.0, (5.0f64 / 3.0).sqrt() / 4.0, 1e-5).unwrap();
    let expected = total(law, most as u64).unwrap();
    // The same law at other orders.
    assert!((row.epsilon_renyi.unwrap() / expected - 1.0).abs() < 2e-3, "{row:?}");
}

/// Clients drop out once the roster of ten is fixed, and take their shares of the noise along. A
/// sum of `m` has `m / 10` of the variance, none is of fewer than six, and the charge is for six.
#[test]
fn noise_of_clients_that_drop_out_is_not_relied_on() {
    let (clip, z, n_rounds) = (1e-3, 3.0, 1500);
    let world = World {
        cohort: Box::new(cohort::Size {
            n: 10,
            over_select: 1.0,
        }),
        dropout: DropoutSpec {
            prob: 0.25,
            ..DropoutSpec::default()
        },
        deadline: Some(SimSpan::from_secs(60.0)),
        ..slow()
    };
    let protocol = masked(with(clients(Some(clip), z, NoiseAt::Clients), n_rounds));
    let outcome = play(samples(20), protocol, &world);
    let (mut before, mut squares, mut fewest) = (0.0, Vec::new(), u64::MAX);
    for (row, now) in outcome.tables.rounds.iter().zip(firsts(&outcome)) {
        assert_eq!(row.cohort, 10);
        let (step, m) = (now - before, row.completed as f64);
        before = now;
        if row.completed == 0 {
            assert_eq!(step, 0.0, "a sum of too few is not reconstructed");
            continue;
        }
        fewest = fewest.min(row.completed);
        let noise = step * 10.0 - m * clip / 2f64.sqrt();
        squares.push((noise / (z * clip)).powi(2) / (m / 10.0));
    }
    let n = squares.len() as f64;
    assert!(fewest == 6 && n < 1450.0, "{fewest} {n}");
    let variance = squares.iter().sum::<f64>() / n;
    assert!((variance - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{variance}");
    // The noise of six shares, against one client.
    let least = folkmoot_privacy::Gaussian::new(z * clip * 0.6f64.sqrt(), clip, 1e-5, "one client").unwrap();
    let charged = outcome.tables.privacy[0].epsilon_per_release;
    assert!((charged / least.cost().epsilon - 1.0).abs() < 1e-9, "{charged}");
}

/// What a client sends is a multiple of the step of fixed point, which rounds nothing then.
#[test]
fn shares_of_noise_lie_on_the_grid_of_fixed_point() {
    let mut rng = SimRng::seed_from_u64(4);
    for clip in [1e-6, 1e-3, 1.0, 100.0] {
        let share = clients(Some(clip), 1.0, NoiseAt::Clients).share(50, 30).unwrap();
        let values: Vec<f64> = (0..100).map(|i| clip * f64::from(i) / 1000.0).collect();
        let released = share.release(&values, &mut rng).unwrap();
        let steps = released.iter().map(|x| x * f64::from(1 << 24));
        assert!(steps.clone().all(|x| x % 1.0 == 0.0), "{clip}");
        let fixed = super::secure::fixed_point(&released, 1.0).unwrap();
        assert!(steps.zip(fixed).all(|(x, fixed)| x == fixed as i64 as f64));
    }
}

fn drawn(world: &World, round: u32, id: u32) -> bool {
    let streams = folkmoot_draws::Streams::new(5);
    Candidates::of_none(10, Round(round))
        .select(&*world.cohort, streams)
        .unwrap()
        .contains(&ClientId(id))
}

#[test]
fn threads_and_windows_change_nothing() {
    let world = World {
        dropout: DropoutSpec {
            prob: 0.2,
            ..DropoutSpec::default()
        },
        cohort: Box::new(cohort::Poisson { rate: 0.3 }),
        deadline: Some(SimSpan::from_secs(60.0)),
        ..slow()
    };
    for at in [NoiseAt::Server, NoiseAt::Clients] {
        let protocol = || masked(with(clients(Some(1.0), 0.5, at), 6));
        let print = |options| everything(try_play(samples(30), protocol(), &world, options).unwrap());
        let first = print(Options::default());
        for (threads, windows, wire_check) in [(2, true, true), (1, false, false)] {
            let options = Options {
                threads,
                windows,
                wire_check,
                ..Options::default()
            };
            assert!(print(options) == first, "{options:?}");
        }
    }
}

#[test]
fn what_breaks_the_bound_is_refused() {
    let broken = |protocol: Protocol| {
        protocol
            .broken()
            .iter()
            .map(|broken| broken.path.clone())
            .collect::<Vec<_>>()
    };
    let server = |z| clients(Some(1.0), z, NoiseAt::Server);
    assert!(broken(with(server(1.0), 3)).is_empty());
    assert_eq!(broken(with(clients(None, 1.0, NoiseAt::Server), 3)), ["private.clip"]);
    assert_eq!(broken(with(server(1e-9), 3)), ["private.noise_multiplier"]);
    assert_eq!(
        broken(with(clients(Some(1.0), 1.0, NoiseAt::Clients), 3)),
        ["private.noise_at"]
    );
    let weighed = Protocol {
        weighting: Weighting::Samples,
        ..with(server(1.0), 3)
    };
    assert_eq!(broken(weighed), ["private"]);
    let fed_back = Protocol {
        uplink_codec: Chosen::new(TopK {
            share: 0.5,
            feedback: true,
            ..TopK::default()
        }),
        aggregator: Chosen::new(Median {}),
        min_updates: 2,
        ..with(server(1.0), 3)
    };
    assert_eq!(broken(fed_back), ["min_updates", "aggregator", "uplink_codec"]);
    let refused = |task: Toy| rounds(task, with(server(1.0), 3)).check().unwrap_err().to_string();
    let running = Toy {
        layout: two(1),
        ..samples(3)
    };
    assert!(refused(running).contains("batch normalisation"));
    let telling = Toy {
        with_extras: true,
        ..samples(3)
    };
    assert!(refused(telling).contains("also send extras"));
    let hurried = asked(cohort::Size { n: 2, over_select: 2.0 });
    let error = try_play(samples(5), with(server(1.0), 3), &hurried, Options::default());
    assert!(error.err().unwrap().to_string().contains("cohort.over_select"));
}

proptest! {
    /// However coarse `f32` is beside the clip.
    #[test]
    fn a_change_that_is_cut_is_never_longer(
        pairs in prop::collection::vec((-1e6f32..1e6, -1e3f32..1e3), 1..40), log_clip in -8f64..8.0,
    ) {
        let clip = libm::exp(log_clip);
        let model: Vec<f32> = pairs.iter().map(|(x, _)| *x).collect();
        let mut update: Vec<f32> = pairs.iter().map(|(x, add)| x + add).collect();
        let before = update.clone();
        let needs = factor(&model, &update, clip) < 1.0;
        cut(&model, &mut update, clip);
        prop_assert!(factor(&model, &update, clip) == 1.0);
        prop_assert!(needs || update == before);
    }
}
