use super::*;

const HOUR: u64 = 3_600_000_000_000;

#[test]
fn on_off_gives_the_same_answer_with_and_without_a_cursor() {
    let model = OnOff {
        mean_on_s: 30.0,
        mean_off_s: 90.0,
    };
    let streams = Streams::new(4);
    let mut cursor = PresenceCursor::default();
    let mut online = 0;
    for step in 0..4_000u64 {
        let at = SimTime(step * 10_000_000_000);
        let kept = model.presence(ClientId(9), Round(0), at, &mut cursor, streams);
        let fresh = model.presence(ClientId(9), Round(0), at, &mut PresenceCursor::default(), streams);
        assert_eq!(kept, fresh, "at step {step}");
        online += u32::from(kept == Presence::Online);
    }
    assert!(
        (800..1200).contains(&online),
        "a quarter of 4000 expected, got {online}"
    );
}

#[test]
fn a_periodic_client_keeps_its_hours() {
    // Nights from 6 to 10; the run begins at 3.
    let day = Periodic {
        period: SimSpan(10),
        online: SimSpan(6),
        passed: SimSpan(3),
    };
    let at = |time| day.presence(SimTime(time));
    assert_eq!([at(0), at(2), at(7), at(12)], [Presence::Online; 4]);
    let (first, second) = (Presence::Away(Some(SimTime(7))), Presence::Away(Some(SimTime(17))));
    assert_eq!([at(3), at(6), at(13)], [first, first, second]);
    for end in 0..40 {
        let online = (0..end).filter(|time| at(*time) == Presence::Online).count() as u64;
        assert_eq!(day.online(&[(Round(0), SimTime(end))]), SimSpan(online), "{end}");
    }
    assert_eq!(day.online(&[]), SimSpan::ZERO);
    for end in 0..40 {
        let mut away = Vec::new();
        day.absences(&[(Round(0), SimTime(end))], &mut |from, until| {
            away.extend(from.0..until.0);
            ControlFlow::Continue(())
        });
        let expected: Vec<u64> = (0..end).filter(|time| at(*time) != Presence::Online).collect();
        assert_eq!(away, expected, "{end}");
    }
    let never = day.presence(SimTime(u64::MAX));
    assert!(matches!(never, Presence::Online | Presence::Away(Some(_))), "{never:?}");
}

/// A client that toggles every millisecond, at the end of virtual time, in a block of its own.
#[test]
fn a_time_far_away_costs_no_more_than_a_near_one() {
    let model = OnOff {
        mean_on_s: 0.001,
        mean_off_s: 0.003,
    };
    let streams = Streams::new(4);
    let years = SimTime(500 * 365 * 24 * HOUR);
    let (mut kept, mut online) = (PresenceCursor::default(), 0);
    for step in 0..4_000 {
        let at = years + SimSpan(step * 40_000_000);
        let here = model.presence(ClientId(9), Round(0), at, &mut kept, streams);
        if step % 100 == 0 {
            let fresh = model.presence(ClientId(9), Round(0), at, &mut PresenceCursor::default(), streams);
            assert_eq!(here, fresh, "at step {step}");
        }
        assert!(kept.toggles < 20_000, "{kept:?}");
        online += u32::from(here == Presence::Online);
    }
    assert!(
        (800..1200).contains(&online),
        "a quarter of 4000 expected, got {online}"
    );
    let share = model.online(ClientId(9), &[(Round(0), years)], streams).0 as f64 / years.0 as f64;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

/// Where blocks meet, absences stay apart and neither time nor state is lost.
#[test]
fn blocks_join_without_a_seam() {
    let model = OnOff {
        mean_on_s: 0.02,
        mean_off_s: 0.02,
    };
    let first = model.block(SimTime::ZERO);
    let blocks = [0, 1, 2].map(|k| model.block(SimTime(first.end.0 + k * 10_240_000_000)));
    assert_eq!(blocks.each_ref().map(|block| block.index), [1, 2, 3]);
    assert!(blocks[0].start == first.end && blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
    let (end, streams) = (blocks[2].end, Streams::new(5));
    for client in (0..8).map(ClientId) {
        let mut told = Vec::new();
        model.absences(client, &[(Round(0), end)], streams, &mut |from, until| {
            told.push((from, until));
            ControlFlow::Continue(())
        });
        assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].0));
        let late: Vec<_> = told.iter().filter(|(_, until)| *until >= first.end).collect();
        assert!(late.len() > 500);
        for (from, until) in late {
            let presence = |at| model.presence(client, Round(0), at, &mut PresenceCursor::default(), streams);
            assert_eq!(presence(*from), Presence::Away(Some(*until)));
            assert!(*until == end || presence(*until) == Presence::Online);
        }
    }
}

#[test]
fn online_time_is_the_share_of_the_law() {
    let model = OnOff {
        mean_on_s: 30.0,
        mean_off_s: 90.0,
    };
    let total: u64 = (0..200)
        .map(|c| {
            model
                .online(ClientId(c), &[(Round(0), SimTime(HOUR))], Streams::new(1))
                .0
        })
        .sum();
    let share = total as f64 / (200.0 * HOUR as f64);
    assert!((share - 0.25).abs() < 0.02, "share {share}");
}

/// Absences come in order of time, their sum is the time offline, and no client is online during
/// one of its absences.
#[test]
fn absences_are_the_times_that_are_not_online() {
    let rounds: Vec<(Round, SimTime)> = (0..9)
        .map(|i| (Round(i), SimTime(u64::from(i + 1) * 40_000_000_000)))
        .collect();
    let end = SimTime(360_000_000_000);
    let (on_off, coin) = (
        OnOff {
            mean_on_s: 30.0,
            mean_off_s: 20.0,
        },
        Bernoulli { online_prob: 0.5 },
    );
    let days = Diurnal {
        day_s: 50.0,
        online_share: Dist::Uniform { low: 0.1, high: 0.9 },
        begins: 0.9,
        spread: 0.5,
    };
    let models: [&dyn Availability; 4] = [&on_off, &coin, &days, &Always {}];
    for (client, model) in (0..20)
        .map(ClientId)
        .flat_map(|client| models.map(|model| (client, model)))
    {
        let (streams, mut told) = (Streams::new(3), Vec::new());
        model.absences(client, &rounds, streams, &mut |from, until| {
            told.push((from, until));
            ControlFlow::Continue(())
        });
        let away: u64 = told.iter().map(|(from, until)| until.0 - from.0).sum();
        assert_eq!(away, end.0 - model.online(client, &rounds, streams).0);
        assert!(told.iter().all(|(from, until)| from < until && *until <= end));
        assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].0), "{told:?}");
        for (from, until) in told {
            for at in [from, SimTime(until.0 - 1)] {
                let round = Round(rounds.partition_point(|(_, end)| *end <= at) as u32);
                let presence = model.presence(client, round, at, &mut PresenceCursor::default(), streams);
                assert!(matches!(presence, Presence::Away(_)), "{client:?} at {at:?}");
            }
        }
    }
}

#[test]
fn days_are_alike_and_time_zones_spread_them() {
    let day = |spread| Diurnal {
        day_s: 1_000.0,
        online_share: Dist::Constant(0.25),
        begins: 0.5,
        spread,
    };
    let online = |model: Diurnal, second: u64| {
        let at = SimTime(second * 1_000_000_000);
        let is_online = |c: &u32| {
            let mut cursor = PresenceCursor::default();
            model.presence(ClientId(*c), Round(0), at, &mut cursor, Streams::new(2)) == Presence::Online
        };
        (0..1_000).filter(is_online).count()
    };
    let counts = |spread, seconds: [u64; 5]| seconds.map(|second| online(day(spread), second));
    assert_eq!(counts(0.0, [0, 499, 500, 749, 750]), [0, 0, 1_000, 1_000, 0]);
    let around = counts(1.0, [0, 300, 550, 1_300, 7_300]);
    assert!(around.iter().all(|n| (200..300).contains(n)), "{around:?}");
    assert_eq!((around[1], around[1]), (around[3], around[4]), "every day is alike");
    let half = counts(0.25, [499, 625, 749, 900, 1_000]);
    assert!((420..580).contains(&half[1]) && half[2] > 980, "{half:?}");
    assert_eq!((half[0], half[4]), (0, 0));
}

#[test]
fn bernoulli_is_fixed_within_a_round() {
    let model = Bernoulli { online_prob: 0.3 };
    let streams = Streams::new(1);
    let is_online = |c, r| {
        let mut cursor = PresenceCursor::default();
        model.presence(ClientId(c), Round(r), SimTime(7), &mut cursor, streams) == Presence::Online
    };
    let online = (0..10_000).filter(|&c| is_online(c, 5)).count();
    assert!((2_800..3_200).contains(&online), "{online}");
    assert!((0..100).any(|r| is_online(1, r)) && (0..100).any(|r| !is_online(1, r)));
    let rounds = [(Round(0), SimTime(10)), (Round(1), SimTime(30))];
    let expected = 10 * u64::from(is_online(2, 0)) + 20 * u64::from(is_online(2, 1));
    assert_eq!(model.online(ClientId(2), &rounds, streams), SimSpan(expected));
}
