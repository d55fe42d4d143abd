//! Rounds whose models and updates are packed.

use super::job::Memory;
use super::tests::{Toy, everything, firsts, number, play, protocol, slow, toy, try_play};
use super::*;
use folkmoot_codecs::{Bfloat, Codec, Half, Qsgd, RandomK, Sign, TopK, Uniform};
use folkmoot_draws::{StreamName, unit};
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::network::{AccessRates, Link, Network, Verdict};
use folkmoot_engine::world::{Rate, devices};
use folkmoot_parts::Value as _;
use folkmoot_parts::{Chosen, Component, Holds};
use std::sync::Arc;

fn up<P: Component>(codec: P, rounds: u32) -> Protocol
where
    dyn Codec: Holds<P>,
{
    Protocol {
        uplink_codec: Chosen::new(codec),
        ..protocol(rounds)
    }
}

/// The toy's model and its changes are whole numbers that f16 holds, until they are divided by the
/// weights.
#[test]
fn what_a_codec_holds_exactly_changes_nothing_but_the_bytes() {
    let plain = play(toy(4), protocol(1), &World::ideal());
    let packed = play(toy(4), up(Half {}, 1), &World::ideal());
    assert_eq!(firsts(&plain), firsts(&packed));
    let row = |outcome: &Outcome, name: &str| {
        let mut rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == name);
        rows.next().map(|(.., cell)| (cell.sent, cell.payload_bytes))
    };
    // Two numbers of two bytes, and the samples.
    assert_eq!(row(&packed, "packed_update"), Some((4, 4 * (2 * 2 + 4))));
    assert_eq!((row(&packed, "update"), row(&packed, "packed_model")), (None, None));
    assert_eq!(row(&packed, "model"), row(&plain, "model"));
    assert_eq!(number(&packed, "compression_up"), 12.0 / 8.0);
}

#[test]
fn models_are_packed_once_a_round_and_for_all_alike() {
    let down = Protocol {
        downlink_codec: Chosen::new(Qsgd::default()),
        ..protocol(3)
    };
    let outcome = play(toy(4), down, &World::ideal());
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "packed_model");
    // The toy's order is a byte; a norm, and two symbols of four bits.
    assert!(
        rows.map(|(.., cell)| (cell.sent, cell.payload_bytes))
            .all(|row| row == (4, 4 * (1 + 4 + 1)))
    );
    assert_eq!(number(&outcome, "compression_down"), 8.0 / 6.0);
}

/// Of two numbers one is sent; the other waits, and comes with the next.
#[test]
fn what_is_not_sent_is_sent_later() {
    let with = |feedback| {
        up(
            TopK {
                share: 0.5,
                feedback,
                ..TopK::default()
            },
            6,
        )
    };
    let sum = |protocol| {
        let outcome = play(toy(2), protocol, &World::ideal());
        // Only client 1 counts: it adds 2 to both a round.
        (firsts(&outcome), number(&outcome, "second"))
    };
    assert_eq!(sum(with(false)), (vec![2.0, 4.0, 6.0, 8.0, 10.0, 12.0], 10.0));
    // 2, then 2 and the 2 from before of the other, and so in turns.
    assert_eq!(sum(with(true)), (vec![2.0, 2.0, 6.0, 6.0, 10.0, 10.0], 22.0));
}

#[test]
fn packed_rounds_are_the_same_for_threads_and_on_the_wire() {
    let codecs: Vec<Protocol> = vec![
        up(Sign { feedback: true }, 5),
        up(Uniform::default(), 5),
        Protocol {
            aggregation: Aggregation::Buffered {
                size: 2,
                discount: Discount::InverseRoot,
            },
            downlink_codec: Chosen::new(Bfloat {}),
            ..up(TopK::default(), 5)
        },
        Protocol {
            aggregation: Aggregation::Mixed {
                share: 0.6,
                discount: Discount::None,
            },
            ..up(TopK::default(), 5)
        },
        Protocol {
            secure: Secure::Pairwise { threshold: 0.6 },
            ..up(RandomK::default(), 5)
        },
    ];
    for protocol in codecs {
        let with = |threads: usize, wire_check: bool| {
            let options = Options {
                threads,
                wire_check,
                ..Options::default()
            };
            everything(try_play(toy(7), protocol.clone(), &slow(), options).unwrap())
        };
        let one = with(1, false);
        assert_eq!(one, with(3, false));
        assert_eq!(one, with(2, true));
    }
}

/// All clients send the same half, and the server learns its sum to the bit; the other half stays
/// as it was.
#[test]
fn under_secure_aggregation_all_send_the_same_numbers() {
    let secure = |feedback| Protocol {
        secure: Secure::Pairwise { threshold: 0.6 },
        ..up(RandomK { share: 0.5, feedback }, 1)
    };
    let outcome = play(toy(4), secure(true), &World::ideal());
    let (first, second) = (firsts(&outcome)[0], number(&outcome, "second"));
    // (2 + 6 + 12) / 6, as a mean of models.
    let moved = 20.0 / 6.0;
    let is = |x: f64, y: f64| (x - y).abs() < 1e-6;
    assert!((is(first, moved) && second == 10.0) || (first == 0.0 && is(second, 10.0 + moved)));
    let scaled = play(toy(4), secure(false), &World::ideal());
    let change = firsts(&scaled)[0] + number(&scaled, "second") - 10.0;
    assert!(is(change, 2.0 * moved), "{change}");
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "masked_update");
    // One number and the weight.
    assert!(rows.map(|(.., cell)| cell.payload_bytes).eq([4 * 2 * 8]));
    assert_eq!(number(&outcome, "compression_up"), 24.0 / 16.0);
}

#[test]
fn a_number_that_is_not_finite_is_named_and_refused() {
    for aggregation in [
        Aggregation::Synchronous,
        Aggregation::Buffered {
            size: 3,
            discount: Discount::None,
        },
    ] {
        let spoilt = Toy {
            spoilt: Some(1),
            ..toy(3)
        };
        let protocol = Protocol {
            aggregation,
            ..up(Half {}, 4)
        };
        let outcome = play(spoilt, protocol, &World::ideal());
        assert!(number(&outcome, "refused_updates") >= 1.0);
        let table = outcome
            .artifacts
            .iter()
            .find(|artifact| artifact.path == "refused_updates.csv");
        let text = String::from_utf8(table.unwrap().bytes.clone()).unwrap();
        assert!(text.contains("1,1,0,NaN"), "{text}");
    }
}

/// Both numbers come from one training less what was sent, whichever ends first.
#[test]
fn what_overlapping_trainings_leave_out_adds_up() {
    let left = |before: &[f32], after: [f32; 2]| Memory {
        before: before.into(),
        after: after.to_vec(),
    };
    let none: Arc<[f32]> = Arc::default();
    let first = left(&[], [1.0, 0.0]).onto(&none);
    assert_eq!(*first, [1.0, 0.0]);
    // Two begin with (1, 0): one leaves (0, 2) of it, the other (1, 5).
    let one = left(&first, [0.0, 2.0]).onto(&first);
    assert_eq!(*one, [0.0, 2.0]);
    assert_eq!(*left(&first, [1.0, 5.0]).onto(&one), [0.0, 7.0]);
    let unchanged = Memory {
        before: Arc::clone(&none),
        after: Vec::new(),
    };
    assert_eq!(unchanged.onto(&one), one);
}

/// Half of all updates, which are the short messages of clients, are lost; an access link takes
/// some time for one.
struct LosesUpdates {
    bytes_per_s: Rate,
}

impl Network for LosesUpdates {
    fn verdict(&self, link: Link, size: Bytes, name: StreamName) -> Verdict {
        let may_be_lost = link.to == Party::Server && (1..30).contains(&size.0);
        let is_lost = may_be_lost && unit(&mut name.open()) < 0.5;
        Verdict {
            attempts: 1,
            arrives: !is_lost,
            after: SimSpan(1),
        }
    }

    fn access(&self, _: Party, _: Streams) -> AccessRates {
        AccessRates {
            up: self.bytes_per_s.clone(),
            ..AccessRates::default()
        }
    }

    fn lookahead(&self) -> SimSpan {
        SimSpan(1)
    }
}

/// What the server has read and what the client keeps comes to all that it has learned, whichever
/// updates are lost and however late it hears of that.
#[test]
fn what_is_lost_is_sent_again() {
    let buffered = |protocol| Protocol {
        aggregation: Aggregation::Buffered {
            size: 1,
            discount: Discount::None,
        },
        ..protocol
    };
    let secure = |protocol| Protocol {
        secure: Secure::Pairwise { threshold: 0.6 },
        ..protocol
    };
    let top = TopK {
        share: 0.5,
        ..TopK::default()
    };
    let uniform = Uniform {
        bits: 1,
        rounding: folkmoot_codecs::Rounding::Stochastic,
        feedback: true,
        ..Uniform::default()
    };
    let qsgd = Qsgd {
        levels: 1,
        feedback: true,
        ..Qsgd::default()
    };
    let random = RandomK {
        share: 0.5,
        feedback: true,
    };
    let protocols = [
        up(top, 40),
        up(Sign { feedback: true }, 40),
        up(uniform, 40),
        up(qsgd, 40),
        buffered(up(top, 40)),
        secure(up(random, 40)),
    ];
    for protocol in protocols {
        for bytes_per_s in [Rate::Unlimited, Rate::Constant(8)] {
            let world = World {
                network: Box::new(LosesUpdates { bytes_per_s }),
                devices: Box::new(devices::Constant { ops_per_s: 1.0 }),
                // In buffered rounds a client is asked again before what it has sent has left its
                // link.
                deadline: (protocol.buffer().is_some()).then(|| SimSpan::from_secs(1.5)),
                ..World::ideal()
            };
            let task = Toy {
                least_samples: 1,
                ..toy(1)
            };
            let outcome = play(task, protocol.clone(), &world);
            let rows = outcome
                .ledger
                .rows()
                .filter(|(kind, ..)| ["packed_update", "masked_update"].contains(&kind.name));
            let (sent, lost) = rows.fold((0, 0), |(sent, lost), (.., cell)| {
                (sent + cell.sent, lost + cell.dropped.iter().sum::<u64>())
            });
            assert!(lost > 10 && sent > lost + 10, "{lost} of {sent}");
            let read = firsts(&outcome)[39] + number(&outcome, "second") - 10.0;
            let all = read + number(&outcome, "left_out");
            // Each time it adds 1 to both numbers; the last updates may still be on a slow link.
            let on_their_way = if protocol.buffer().is_some() { 8.0 } else { 0.0 };
            let missing = 2.0 * sent as f64 - all;
            assert!(
                (-1e-3..on_their_way + 1e-3).contains(&missing),
                "{missing} of {sent} updates, {lost} lost: {protocol:?}"
            );
        }
    }
}

/// What clients make of a model that was rounded on its way is taken in as a change of what the
/// server has.
#[test]
fn rounding_of_models_does_not_stay_in_them() {
    let with = |secure, down: Chosen<dyn Codec>| Protocol {
        secure,
        downlink_codec: down,
        ..protocol(6)
    };
    for secure in [Secure::Off, Secure::Pairwise { threshold: 0.6 }] {
        let exact = play(toy(4), with(secure, Chosen::default()), &World::ideal());
        let rounded = play(toy(4), with(secure, Chosen::new(Bfloat {})), &World::ideal());
        for (exact, rounded) in firsts(&exact).iter().zip(firsts(&rounded)) {
            assert!((exact - rounded).abs() < 1e-5, "{exact} {rounded}");
        }
    }
}

/// The same stale models are mixed in, whether they come as such or as changes of what was sent.
#[test]
fn mixed_rounds_take_packed_changes_for_the_models_that_they_come_to() {
    let mixed = |up: Chosen<dyn Codec>| Protocol {
        aggregation: Aggregation::Mixed {
            share: 0.5,
            discount: Discount::InverseRoot,
        },
        uplink_codec: up,
        ..protocol(12)
    };
    let plain = play(toy(5), mixed(Chosen::default()), &slow());
    assert!(plain.tables.rounds.iter().any(|row| row.staleness_mean > 1.0));
    // Changes are whole numbers.
    let packed = play(toy(5), mixed(Chosen::new(Half {})), &slow());
    for (plain, packed) in firsts(&plain).iter().zip(firsts(&packed)) {
        assert!((plain - packed).abs() < 1e-2, "{plain} {packed}");
    }
}

#[test]
fn codecs_are_refused_where_they_are_not_sound() {
    let broken = |protocol: Protocol| protocol.broken().iter().map(ToString::to_string).collect::<Vec<_>>();
    let down = Protocol {
        downlink_codec: Chosen::new(TopK::default()),
        ..Protocol::default()
    };
    assert!(broken(down)[0].starts_with("downlink_codec: must be Plain, Half"));
    let secure = Secure::Pairwise { threshold: 0.67 };
    let masked = Protocol {
        secure,
        ..up(Half {}, 3)
    };
    assert!(broken(masked)[0].starts_with("uplink_codec: must be Plain or RandomK with secure aggregation"));
    let sound = Protocol {
        secure,
        downlink_codec: Chosen::new(Half {}),
        ..up(RandomK::default(), 3)
    };
    assert!(broken(sound).is_empty());
}
