//! Rounds that end because nothing more comes, and events that come too late or not at all.

use super::*;
use folkmoot_engine::run::Observer;
use folkmoot_metrics::trace::{Event, MOST_EVENTS, What};
use folkmoot_metrics::{Kind, MessageRow, RoundRow};

/// A world drawn at random whose links lose messages, so that a round without a deadline may end
/// only because nothing is under way any more.
fn lossy_world(rng: &mut SimRng) -> World {
    let mut unit = || folkmoot_draws::unit(&mut *rng);
    let mut latency_ms = || match (unit() * 4.0) as u32 {
        0 => Dist::Constant(1.0 + 50.0 * unit()),
        1 => Dist::Uniform {
            low: 10.0 * unit(),
            high: 20.0 + 200.0 * unit(),
        },
        2 => Dist::Exponential {
            mean: 30.0,
            min: 20.0 * unit(),
        },
        _ => Dist::LogNormal {
            median: 40.0,
            sigma: unit(),
            min: 20.0 * unit(),
        },
    };
    let [uplink, downlink, peer] = [latency_ms(), latency_ms(), latency_ms()];
    let mut class = |latency_ms| LinkClass {
        latency_ms,
        loss_prob: 0.3 * unit(),
    };
    let links = Links {
        uplink: class(uplink),
        downlink: class(downlink),
        peer: class(peer),
        up_bytes_per_s: (unit() < 0.3).then_some(Dist::Constant(2e3)),
        down_bytes_per_s: (unit() < 0.3).then_some(Dist::Constant(2e3)),
        server_up_bytes_per_s: (unit() < 0.3).then_some(2e4),
        server_down_bytes_per_s: (unit() < 0.3).then_some(2e4),
        max_retries: (unit() * 3.0) as u32,
        retry_after_ms: 100.0 * unit(),
        ..Links::default()
    };
    let availability: Box<dyn Availability> = match (unit() * 3.0) as u32 {
        0 => Box::new(availability::Bernoulli { online_prob: 0.8 }),
        1 => Box::new(availability::OnOff {
            mean_on_s: 0.5,
            mean_off_s: 0.2,
        }),
        _ => Box::new(availability::Always {}),
    };
    let prob = if unit() < 0.3 { 0.2 } else { 0.0 };
    let after_ms = Dist::Constant(100.0);
    World {
        network: Box::new(links),
        devices: Box::new(devices::Constant { ops_per_s: 1e4 }),
        availability,
        dropout: DropoutSpec { prob, after_ms },
        horizon: if unit() < 0.2 {
            SimSpan::from_millis(400.0)
        } else {
            SimSpan::FOREVER
        },
        ..World::ideal()
    }
}

#[test]
fn a_lossy_world_without_a_deadline_ends_its_rounds_at_the_same_instant_with_windows_on_and_off() {
    let mut rng = Streams::new(23).global(Purpose(*b"worlds  "));
    for i in 0..120 {
        let world = lossy_world(&mut rng);
        let absence = [Absence::GiveUp, Absence::Wait, RELAY.absence][i % 3];
        let strategy = Relay {
            absence,
            hops: 3,
            ..RELAY
        };
        let play = |windows, threads| {
            let options = Options {
                windows,
                threads,
                ..Options::default()
            };
            let run = try_play((&strategy, 3 + i as u32 % 20), &world, i as u64, options);
            run.map(|outcome| print(&outcome))
        };
        let one_by_one = play(false, 1);
        assert!(one_by_one == play(true, 1), "world {i} differs with windows on");
        assert!(
            one_by_one == play(true, 3),
            "world {i} differs with windows on and three threads"
        );
    }
}

#[test]
fn messages_that_take_longer_than_time_lasts_are_in_flight_at_the_horizon() {
    let world = |horizon| World {
        network: Box::new(Endless),
        horizon,
        ..World::ideal()
    };
    let horizon = SimSpan::from_secs(1e9);
    let outcome = play(&RELAY, &world(horizon), Options::default());
    let total = outcome.ledger.total();
    assert_eq!((outcome.ledger.unbalanced(), total.in_flight), (None, total.sent));
    assert_eq!((outcome.tables.rounds.len(), outcome.end), (0, SimTime::ZERO + horizon));
    // Without one, no round could ever end.
    let error = try_play((&RELAY, 40), &world(SimSpan::FOREVER), 11, Options::default());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("end the run before with horizon_s"), "{error}");
}

/// Counts the absences that it is told of.
#[derive(Default)]
struct CountsAbsences(u64);

impl Observer for CountsAbsences {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }

    fn traced(&mut self, events: Vec<Event>, _: &[Kind]) -> Result<(), String> {
        let absences = events.iter().filter(|event| matches!(event.what, What::Away { .. }));
        self.0 += absences.count() as u64;
        Ok(())
    }
}

/// Each of three clients is away some two and a half million times.
#[test]
fn a_trace_is_told_of_one_absence_more_than_it_has_place_for() {
    let world = World {
        network: Box::new(Endless),
        availability: Box::new(availability::OnOff {
            mean_on_s: 0.001,
            mean_off_s: 0.001,
        }),
        horizon: SimSpan::from_secs(5e3),
        ..World::ideal()
    };
    let system = System {
        strategy: &RELAY,
        shards: &NoData(3),
        evaluator: &Log,
    };
    let options = Options {
        trace: Some(3),
        ..Options::default()
    };
    let mut told = CountsAbsences::default();
    run(system, &world, 11, options, &mut told).unwrap();
    assert_eq!(told.0, MOST_EVENTS + 1);
}

#[test]
fn a_round_whose_every_message_is_lost_ends_and_the_next_one_begins() {
    let lost = LinkClass {
        loss_prob: 1.0,
        ..LinkClass::default()
    };
    let links = Links {
        downlink: lost,
        ..Links::default()
    };
    let world = World {
        network: Box::new(links),
        ..World::ideal()
    };
    let outcome = play(&RELAY, &world, Options::default());
    // Each is sent four times, and the sender waits 200 ms after each.
    assert_eq!((outcome.tables.rounds.len(), outcome.end.as_secs()), (4, 3.2));
}

#[test]
fn regions_that_fail_too_often_to_be_followed_are_refused_where_the_run_gets_there() {
    let slow = LinkClass {
        latency_ms: Dist::Constant(1e9),
        loss_prob: 0.0,
    };
    let links = Links {
        peer: slow,
        ..Links::default()
    };
    let availability = availability::OnOff {
        mean_on_s: 0.001,
        mean_off_s: 0.001,
    };
    let outages = OutageSpec {
        regions: 1,
        mean_between_s: 1e-3,
        mean_length_s: 1e-3,
        ..OutageSpec::default()
    };
    let world = |horizon| World {
        network: Box::new(links),
        availability: Box::new(availability),
        cohort: Box::new(cohort::Size { n: 1, over_select: 1.0 }),
        horizon,
        ..World::ideal()
    };
    let strategy = Relay {
        rounds: 1,
        absence: Absence::Wait,
        ..RELAY
    };
    let play = |windows, horizon| {
        let options = Options {
            windows,
            ..Options::default()
        };
        try_play((&strategy, 40), &world(horizon), 11, options)
    };
    // Clients that toggle a thousand times a second can be, however far away the next message.
    for windows in [true, false] {
        assert!(play(windows, SimSpan::FOREVER).is_ok());
    }
    let world = World {
        availability: outages.over(Box::new(availability::Always {}), 40),
        ..world(SimSpan::FOREVER)
    };
    let error = try_play((&strategy, 40), &world, 11, Options::default()).err().unwrap();
    let error = error.to_string();
    assert!(
        error.contains("raise outages.mean_between_s or outages.mean_length_s"),
        "{error}"
    );
}
