//! Client selections other than the four that look at nothing.

use super::tests::{firsts, play, protocol, rounds, slow, toy, try_play};
use super::*;
use crate::private::{NoiseAt, Private};
use folkmoot_draws::SimRng;
use folkmoot_engine::ranks::Alone;
use folkmoot_engine::run::{Observer, Outcome, Pause, Saved, run_among};
use folkmoot_engine::world::{Candidates, PowerOfChoice, cohort};
use folkmoot_metrics::{MessageRow, RoundRow};

fn of_all(n: u32) -> World {
    World {
        cohort: Box::new(PowerOfChoice { n, candidates: 5 }),
        ..slow()
    }
}

/// Five clients, all of them candidates. A client that has never answered counts as infinite, so
/// that the first five rounds ask each client once: 1 to 4 add 2 to 5, client 0 has no samples.
/// From then on client 4 has the largest loss.
#[test]
fn power_of_choice_asks_the_client_with_the_largest_reported_loss() {
    let outcome = play(toy(5), protocol(8), &of_all(1));
    assert_eq!(firsts(&outcome)[4..], [14.0, 19.0, 24.0, 29.0]);
    let row = |kind: &'static str| outcome.tables.messages.iter().filter(move |row| row.kind == kind);
    let sent: u64 = row("reported_update").map(|row| row.sent).sum();
    let bytes: u64 = row("reported_update").map(|row| row.payload_bytes).sum();
    // The number of metrics, the loss, the samples, and two numbers.
    assert_eq!((sent, bytes), (8, 8 * 20));
    assert_eq!(row("update").count(), 0);
    // The last round is client 4's: 5 s of training, and half of that for the loss.
    let [.., before, last] = &outcome.tables.rounds[..] else {
        panic!("8 rounds")
    };
    assert!((last.virtual_s - before.virtual_s - 7.5).abs() < 1e-6, "{last:?}");
}

/// Asks whoever was fastest, and before that whoever was never asked; counts its rounds.
struct Fastest;

impl ClientSelection for Fastest {
    fn name(&self) -> &str {
        "Fastest"
    }

    fn asked(&self, _: u32) -> u32 {
        1
    }

    fn select(&self, clients: &mut Candidates<'_>, _: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        clients.state.push(clients.round.0 as u8);
        assert_eq!(clients.state.len(), clients.round.0 as usize + 1, "it is kept");
        let seconds = |id: &ClientId| clients.known(*id).map_or(0.0, |known| known.seconds.unwrap());
        let all = (0..clients.n_clients).map(ClientId);
        let fastest = all.min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        Ok(fastest.into_iter().collect())
    }
}

fn fastest() -> World {
    World {
        cohort: Box::new(Fastest),
        ..slow()
    }
}

/// Client `c` takes `c + 1` seconds: each is asked once, and then client 0 for ever.
#[test]
fn a_selection_from_outside_sees_how_long_clients_took() {
    let outcome = play(toy(4), protocol(6), &fastest());
    let ends: Vec<f64> = outcome.tables.rounds.iter().map(|row| row.virtual_s.round()).collect();
    assert_eq!(ends, [1.0, 3.0, 6.0, 10.0, 11.0, 12.0]);
}

/// Stops after each round.
#[derive(Default)]
struct Piece(Option<Saved>);

impl Observer for Piece {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }

    fn pause(&mut self, _: SimTime, _: usize) -> Pause {
        Pause::Stop
    }

    fn checkpoint(&mut self, saved: Saved, _: Pause) -> Result<(), String> {
        self.0 = Some(saved);
        Ok(())
    }
}

#[test]
fn what_a_selection_knows_and_keeps_is_part_of_a_checkpoint() {
    let everything = |outcome: Outcome| format!("{:?} {:?}", outcome.tables.rounds, outcome.ledger);
    let whole = everything(play(toy(4), protocol(6), &fastest()));
    let strategy = rounds(toy(4), protocol(6));
    let system = System {
        strategy: &strategy,
        shards: &super::tests::Numbers(4),
        evaluator: &NoEvaluator,
    };
    let (mut saved, mut n) = (None, 0);
    let outcome = loop {
        let mut piece = Piece::default();
        let how = (Options::default(), saved.as_ref());
        let outcome = run_among(&Alone, system, &fastest(), 5, how, &mut piece);
        match piece.0 {
            Some(state) => (saved, n) = (Some(state), n + 1),
            None => break outcome.unwrap().unwrap(),
        }
    };
    assert!(n > 6, "{n} pieces");
    assert_eq!(everything(outcome), whole);
}

#[test]
fn a_selection_that_does_not_suit_is_named() {
    let refused = |protocol: Protocol, world: &World| {
        let error = try_play(toy(5), protocol, world, Options::default()).err();
        error.expect("it does not suit").to_string()
    };
    let private = |noise_at| Protocol {
        private: Private::Clients {
            clip: Some(1.0),
            noise_multiplier: 1.0,
            noise_at,
        },
        weighting: Weighting::Uniform,
        ..protocol(2)
    };
    let told = refused(private(NoiseAt::Server), &fastest());
    assert!(
        told.contains("protocol.private: must not be Clients with Fastest"),
        "{told}"
    );
    let told = refused(private(NoiseAt::Server), &of_all(1));
    assert!(
        told.contains("must be Off with PowerOfChoice, for which clients report their loss"),
        "{told}"
    );
    let secure = Protocol {
        secure: Secure::Pairwise { threshold: 0.6 },
        ..protocol(2)
    };
    let told = refused(secure, &of_all(1));
    assert!(told.contains("the server sees the loss of each client"), "{told}");
    let buffered = Protocol {
        aggregation: Aggregation::Buffered {
            size: 2,
            discount: Discount::None,
        },
        ..protocol(2)
    };
    let told = refused(buffered, &fastest());
    assert!(told.contains("cohort: must be All, Size or Fraction"), "{told}");
}

/// Selects clients that are none.
struct Wrong(Vec<u32>);

impl ClientSelection for Wrong {
    fn name(&self) -> &str {
        "Wrong"
    }

    fn asked(&self, _: u32) -> u32 {
        2
    }

    fn select(&self, _: &mut Candidates<'_>, _: SimRng) -> Result<Vec<ClientId>, StrategyError> {
        Ok(self.0.iter().copied().map(ClientId).collect())
    }
}

#[test]
fn clients_that_do_not_exist_and_clients_selected_twice_are_named() {
    let told = |ids: &[u32]| {
        let world = World {
            cohort: Box::new(Wrong(ids.to_vec())),
            ..slow()
        };
        let outcome = try_play(toy(5), protocol(2), &world, Options::default());
        outcome.err().expect("no such clients").to_string()
    };
    let (none, twice) = (told(&[1, 5]), told(&[3, 3]));
    assert!(
        none.contains("cohort: Wrong selects client 5; clients are 0 to 4 in round 0"),
        "{none}"
    );
    assert!(
        twice.contains("cohort: Wrong selects client 3 twice in round 0"),
        "{twice}"
    );
}

/// In an ideal world all answers of a round come at one instant: who counts is drawn, and not
/// whoever has the lowest number.
#[test]
fn of_answers_that_come_together_some_are_drawn() {
    let world = World {
        cohort: Box::new(cohort::Size {
            n: 10,
            over_select: 2.0,
        }),
        ..World::ideal()
    };
    let rounds = 400;
    let outcome = play(toy(20), protocol(rounds), &world);
    assert!(
        outcome
            .tables
            .rounds
            .iter()
            .all(|r| (r.cohort, r.completed, r.dropped, r.late) == (20, 10, 0, 10))
    );
    // Each of 20 clients is in with probability 1/2. The numbers of the cohort average 9.5, with a
    // variance of (20² − 1) / 12 / 10 · (20 − 10) / 19 under draws without repetition, and 5
    // standard errors are allowed.
    let uniform = Protocol {
        weighting: Weighting::Uniform,
        ..protocol(rounds)
    };
    let outcome = play(toy(20), uniform, &world);
    let mean = firsts(&outcome)[rounds as usize - 1] / f64::from(rounds) - 1.0;
    let error = (399.0f64 / 12.0 / 10.0 * 10.0 / 19.0 / f64::from(rounds)).sqrt();
    // Client 0 never counts, which moves the mean of those that do by less than 0.55.
    assert!((mean - 9.5).abs() < 0.55 + 5.0 * error, "{mean} ± {error}");
}
