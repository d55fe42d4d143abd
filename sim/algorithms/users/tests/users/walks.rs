//! Models that walk: how far they go, what it costs, where they stay, and who hears of whom.

use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::{DropoutSpec, LinkClass, Links, availability, devices};
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Partition, Partitioner, datasets, partition};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_users::walk_sgd::{Params, Peer, WalkSgd};
use std::sync::{Arc, Mutex};

const CLIENTS: u32 = 20;

/// Graphs of three classes, dealt out by chance; all but the first client's are those of `seed`.
fn data(seed: u64) -> (Arc<Dataset>, Arc<Partition>) {
    let spec = datasets::GraphClasses {
        n_graphs: 240,
        n_classes: 3,
        min_nodes: 8,
        max_nodes: 16,
    };
    let load = |seed: u64| {
        spec.load(&DataDirs::new(), &mut Streams::new(seed).global(Purpose(*b"dataset ")))
            .unwrap()
    };
    let mut dataset = load(1);
    let partition = partition::Iid { n_clients: CLIENTS };
    let partition = partition
        .divide(&dataset, &mut Streams::new(1).global(Purpose(*b"partitn ")))
        .unwrap();
    let other = load(seed);
    for (item, graph) in other.graphs.into_iter().enumerate() {
        if !partition.shard(0).contains(&(item as u32)) {
            dataset.graphs[item] = graph;
        }
    }
    (Arc::new(dataset), Arc::new(partition))
}

fn params(more: &str) -> Params {
    let rest = "model: (encoder: Gin, hidden: 8), inputs: Degree(most: 8), split: Shares(train: 0.6, validation: 0)";
    folkmoot_users::only().settings(&format!("({rest}, {more})")).unwrap()
}

fn play_in(more: &str, world: &World, options: Options) -> Outcome {
    let (dataset, partition) = data(1);
    let prepared = params(more)
        .prepare(&Source::new(&dataset, &partition, Streams::new(7)))
        .unwrap();
    run(prepared.system(), world, 7, options, &mut Unobserved).unwrap()
}

fn play(more: &str) -> Outcome {
    play_in(more, &World::ideal(), Options::default())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.summary.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", outcome.summary)).1
}

fn tokens(outcome: &Outcome) -> (u64, u64, u64) {
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "token");
    rows.fold((0, 0, 0), |(sent, delivered, bytes), (.., cell)| {
        (sent + cell.sent, delivered + cell.delivered, bytes + cell.payload_bytes)
    })
}

/// Every step but the last is followed by a hop or a stay; a hop is the weights and 8 bytes, and
/// every token that is sent arrives.
#[test]
fn a_hop_is_the_weights_and_eight_bytes() {
    let outcome = play("steps: 500, chain: MaxDegree, topology: Ring(), tokens: 2");
    let (sent, delivered, bytes) = tokens(&outcome);
    let stays = number(&outcome, "stays") as u64;
    assert_eq!((sent, delivered), (2 * 499 - stays, sent));
    // On a ring a third stays.
    assert!((stays as f64 / 998.0 - 1.0 / 3.0).abs() < 0.06, "{stays}");
    let (dataset, partition) = data(1);
    let prepared = params("")
        .prepare(&Source::new(&dataset, &partition, Streams::new(7)))
        .unwrap();
    let n_params = prepared.strategy.classifier().network().layout().len() as u64;
    assert_eq!(bytes, sent * (4 * n_params + 8));
    let visits = String::from_utf8(outcome.artifacts[0].bytes.clone()).unwrap();
    let sum: u64 = visits
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, 1000);
}

fn packed(outcome: &Outcome) -> (u64, u64) {
    let rows = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "packed_token");
    rows.fold((0, 0), |(sent, bytes), (.., cell)| {
        (sent + cell.sent, bytes + cell.payload_bytes)
    })
}

/// A hop is what the encoding has and eight bytes; walks go where they went, as neither codec nor
/// its draws have a part in that.
#[test]
fn a_packed_hop_has_the_size_of_its_encoding_and_the_identity_changes_nothing() {
    let base = "steps: 300, chain: MaxDegree, topology: Ring(), tokens: 2, jumps: (prob: 0.2)";
    let (plain, identity) = (play(base), play(&format!("{base}, codec: Plain()")));
    assert_eq!(
        format!("{:?} {:?}", plain.summary, plain.ledger),
        format!("{:?} {:?}", identity.summary, identity.ledger)
    );
    let (sent, ..) = tokens(&plain);
    for codec in ["Half()", "Bfloat()", "Uniform(bits: 5)", "Qsgd(levels: 31, bucket: 16)"] {
        let text = format!("{base}, codec: {codec}");
        let params = params(&text);
        let (dataset, partition) = data(1);
        let prepared = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(7)))
            .unwrap();
        let layout = prepared.strategy.classifier().network().layout();
        let n_others = (layout.len() - layout.n_trainable()) as u64;
        let encoded = params.codec.encoded_len(&layout.shapes()).unwrap() + 4 * n_others;
        let outcome = play(&text);
        assert_eq!(packed(&outcome), (sent, sent * (encoded + 8)), "{codec}");
        assert_eq!(tokens(&outcome), (0, 0, 0), "{codec}");
        let ratio = (4 * layout.len() as u64 + 8) as f64 / (encoded + 8) as f64;
        assert!((number(&outcome, "compression") - ratio).abs() < 1e-12, "{codec}");
        let visits = |outcome: &Outcome| outcome.artifacts[0].bytes.clone();
        assert_eq!(visits(&outcome), visits(&plain), "{codec}");
    }
}

/// Where no step changes a model, jumps and stays hand it on as it came: it is rounded once a step
/// and no more, and a model whose numbers halves hold arrives as it left.
#[test]
fn a_model_in_a_jump_is_not_packed_again() {
    let base = "steps: 2, report_every: 2, tokens: 8, learning_rate: 1e-30, topology: Complete(), codec: Half()";
    let still = |more: &str| play(&format!("{base}{more}"));
    // One hop, or one of many hops: the same rounding.
    let (hop, jump) = (still(""), still(", jumps: (prob: 1, most: 9)"));
    assert!(packed(&jump).0 > packed(&hop).0);
    assert_eq!(
        number(&hop, "test_loss").to_bits(),
        number(&jump, "test_loss").to_bits()
    );
    // With draws, a second packing would have drawn again; the control is that draws of one packing
    // differ from event to event.
    let noisy = |more: &str| {
        let text = format!(
            "steps: 2, report_every: 2, tokens: 8, learning_rate: 1e-30, topology: Complete(), codec: Qsgd(levels: 2){more}"
        );
        number(&play(&text), "test_loss")
    };
    assert_eq!(
        noisy("").to_bits(),
        noisy(", jumps: (prob: 1, most: 9)").to_bits(),
        "what was packed once goes on as it is"
    );
}

/// Fewer bytes, and about as good a model.
#[test]
fn a_packed_walk_learns() {
    let base = "steps: 1500, report_every: 500, learning_rate: 0.05, topology: SmallWorld(), tokens: 2";
    let (plain, half) = (
        play(base),
        play(&format!("{base}, codec: Uniform(bits: 8, rounding: Stochastic)")),
    );
    let bytes = packed(&half).1 as f64 / tokens(&plain).2 as f64;
    assert!(number(&half, "test_accuracy") > 0.6, "{:?}", half.summary);
    assert!(bytes < 0.4, "{bytes}");
}

/// What no codec packs ends its walk and says so; who has nothing to keep what is left out in, and
/// who has no model before, are refused.
#[test]
fn codecs_are_refused_where_they_are_not_sound() {
    let outcome = play("steps: 40, report_every: 20, learning_rate: 1e30, topology: Complete(), codec: Half()");
    assert_eq!(number(&outcome, "stopped_tokens"), 1.0, "{:?}", outcome.summary);
    assert!(outcome.warnings.iter().any(|warning| warning.contains("not finite")));
    let refused = |text: &str| {
        let settings = folkmoot_users::only().settings::<Params>(text);
        settings.unwrap_err().to_string()
    };
    assert!(refused("(codec: TopK())").contains("codec: must be Plain, Half"));
    assert!(refused("(codec: Uniform(feedback: true))").contains("codec: must be without feedback"));
}

/// Long walks visit clients as the chain says, and short ones a model that learns.
#[test]
fn walks_visit_as_their_chain_says_and_learn() {
    for chain in [
        "MaxDegree",
        "Metropolis(importance: Degree)",
        "Metropolis(importance: Few(every: 5, factor: 3))",
    ] {
        let outcome = play(&format!(
            "steps: 6000, report_every: 6000, learning_rate: 1e-6, topology: Complete(), chain: {chain}"
        ));
        assert!(
            number(&outcome, "visit_distance") < 0.05,
            "{chain}: {:?}",
            outcome.summary
        );
        assert_eq!(number(&outcome, "visited_share"), 1.0);
    }
    let outcome = play("steps: 1500, report_every: 500, learning_rate: 0.05, topology: SmallWorld(), tokens: 2");
    assert!(number(&outcome, "test_accuracy") > 0.6, "{:?}", outcome.summary);
    assert_eq!(outcome.tables.rounds.len(), 3);
}

/// Where a few are a hundred times as important, a walk on a ring stays with them for hundreds of
/// steps; jumps free it.
#[test]
fn unequal_importance_traps_a_walk_on_a_ring_and_jumps_free_it() {
    let of = |chain: &str, more: &str| {
        let outcome = play(&format!(
            "steps: 4000, report_every: 4000, learning_rate: 1e-6, topology: Ring(), chain: {chain}{more}"
        ));
        ["longest_stay", "visited_share", "visit_distance"].map(|name| number(&outcome, name))
    };
    let few = "Metropolis(importance: Few(every: 10, factor: 300))";
    let [alike, ..] = of("Metropolis(importance: Uniform)", "");
    let [trapped, ..] = of(few, "");
    let [freed, visited, _] = of(few, ", jumps: (prob: 0.1)");
    assert!(trapped > 300.0 && alike < 20.0, "{trapped} {alike}");
    assert!(freed < trapped / 3.0 && visited == 1.0, "{freed} {visited}");
}

/// A jump that never happens draws from a stream of its own: not a number differs from a walk
/// without.
#[test]
fn jumps_that_never_happen_change_nothing() {
    let base = "steps: 300, chain: Metropolis(importance: Degree), topology: SmallWorld()";
    let [one, other] = ["", ", jumps: (prob: 0)"].map(|more| play(&format!("{base}{more}")));
    assert_eq!(format!("{:?}", one.summary), format!("{:?}", other.summary));
    assert_eq!(tokens(&one), tokens(&other));
    let jumping = play(&format!("{base}, jumps: (prob: 0.5, most: 3)"));
    let (sent, ..) = tokens(&jumping);
    assert!(
        number(&jumping, "jumps") > 100.0 && sent > 300,
        "a jump is several messages"
    );
}

/// A client gives as many gradients as it may, each charged by the law of its noise, and then does
/// what is asked for.
#[test]
fn visits_beyond_the_most_give_no_gradient() {
    let base = "steps: 400, topology: Complete(), noise: (multiplier: 2), visits: (most: 3, then: ";
    let of = |then: &str| play(&format!("{base}{then})"));
    for then in ["Noise", "Nothing"] {
        let outcome = of(then);
        let row = &outcome.tables.privacy[0];
        // Three gradients each, and a shift of 2 clips over a noise of 2.
        assert_eq!(row.releases, u64::from(3 * CLIENTS), "{then}");
        let one = row.epsilon_per_release;
        assert!((row.epsilon_max_client - 3.0 * one).abs() < 1e-9 && row.epsilon_renyi.unwrap() < 3.0 * one);
        assert_eq!(number(&outcome, "idle_visits"), f64::from(400 - 3 * CLIENTS), "{then}");
        assert!(number(&outcome, "near_epsilon") > 0.0);
    }
    let stopped = of("Stop");
    assert_eq!(number(&stopped, "stopped_tokens"), 1.0);
    assert!(tokens(&stopped).0 < 60);
    // Without noise nothing protects, and to add noise alone is refused.
    assert_eq!(play("steps: 20").tables.privacy[0].epsilon_max_client, f64::INFINITY);
    let refused = folkmoot_users::only()
        .settings::<Params>("(visits: (then: Noise))")
        .unwrap_err()
        .to_string();
    assert!(refused.contains("then") && refused.contains("noise: ()"), "{refused}");
}

/// On a ring those far away learn less of a client than its neighbours; in a complete graph all
/// learn alike.
#[test]
fn theory_hides_the_far_from_each_other() {
    let of = |topology: &str| {
        let outcome = play(&format!("steps: 500, noise: (multiplier: 8), topology: {topology}"));
        ["near_epsilon", "pair_epsilon"].map(|name| number(&outcome, name))
    };
    let ([near, all], [same, alike]) = (of("Ring()"), of("Complete()"));
    assert!(
        near > 1.3 * all && (same - alike).abs() < 1e-9,
        "{near} {all} {same} {alike}"
    );
}

/// A token for somebody who is away goes another way, and the walk comes to its end; one whose
/// holder leaves is lost, and the run ends without it.
#[test]
fn nodes_that_leave_hold_nobody_up() {
    let away = World {
        availability: Box::new(availability::OnOff {
            mean_on_s: 0.3,
            mean_off_s: 0.2,
        }),
        devices: Box::new(devices::Constant { ops_per_s: 1e6 }),
        ..World::ideal()
    };
    let outcome = play_in(
        "steps: 300, topology: Complete(), timeout_s: 0.1",
        &away,
        Options::default(),
    );
    assert!(
        number(&outcome, "redirected_tokens") > 5.0 && number(&outcome, "lost_tokens") == 0.0,
        "{:?}",
        outcome.summary
    );
    assert_eq!(outcome.tables.rounds.len(), 3);
    let leaving = World {
        dropout: DropoutSpec {
            prob: 0.3,
            ..DropoutSpec::default()
        },
        devices: Box::new(devices::Constant { ops_per_s: 1e6 }),
        ..World::ideal()
    };
    let outcome = play_in(
        "steps: 300, topology: Complete(), tokens: 3",
        &leaving,
        Options::default(),
    );
    assert_eq!(number(&outcome, "lost_tokens"), 3.0, "{:?}", outcome.summary);
}

/// A token that nobody can be handed ends the run after `tries`, with the walk, the client and the
/// settings that say so.
#[test]
fn a_walk_that_cannot_move_ends_the_run() {
    let lossy = World {
        network: Box::new(Links {
            peer: LinkClass {
                loss_prob: 1.0,
                ..LinkClass::default()
            },
            ..Links::default()
        }),
        ..World::ideal()
    };
    let (dataset, partition) = data(1);
    let prepared = params("steps: 300, topology: Complete(), tries: 20, timeout_s: 0.1")
        .prepare(&Source::new(&dataset, &partition, Streams::new(7)))
        .unwrap();
    let stuck = run(prepared.system(), &lossy, 7, Options::default(), &mut Unobserved);
    let error = stuck.err().unwrap().to_string();
    for words in [
        "s of virtual time, client ",
        "the run stalls: walk 0 has made",
        "of 300 steps, and 21 hand-overs of its token in a row have failed",
        "lower network.peer.loss_prob, or raise strategy.tries or strategy.timeout_s",
    ] {
        assert!(error.contains(words), "no {words:?} in {error}");
    }
}

#[test]
fn threads_windows_and_encoding_change_no_walk() {
    for codec in [
        "Plain()",
        "Qsgd(levels: 15)",
        "Uniform(rounding: Stochastic, symbols: Range)",
    ] {
        does_not_depend_on_how_it_is_run(codec);
    }
}

fn does_not_depend_on_how_it_is_run(codec: &str) {
    let print = |options| {
        let outcome = play_in(
            &format!(
                "steps: 200, report_every: 50, tokens: 3, noise: (), jumps: (), topology: SmallWorld(), codec: {codec}"
            ),
            &World::ideal(),
            options,
        );
        format!(
            "{:?} {:?} {:?}",
            outcome.tables.scores, outcome.summary, outcome.artifacts
        )
    };
    let first = print(Options::default());
    for options in [
        Options {
            threads: 3,
            ..Options::default()
        },
        Options {
            windows: false,
            ..Options::default()
        },
        Options {
            wire_check: true,
            ..Options::default()
        },
    ] {
        assert_eq!(first, print(options));
    }
}

/// What arrives at client 0 and what it sends, in order: whether it is sent, and the bytes.
#[derive(Default)]
struct Ear(Mutex<Vec<(bool, Vec<u8>)>>);

impl Evaluator<WalkSgd> for Ear {
    fn overhear(&self, heard: &Heard<'_, WalkSgd>) {
        let party = if heard.arrives { heard.to } else { heard.from };
        if let (Party::Client(ClientId(0)), Letter::Peer(message)) = (party, heard.letter) {
            let (Peer::Token(..) | Peer::PackedToken(..)) = message;
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            self.0.lock().unwrap().push((!heard.arrives, bytes));
        }
    }
}

/// Two runs of one seed differ in what all but client 0 hold. It speaks alike until something else
/// has reached it.
#[test]
fn a_client_speaks_of_what_it_holds_and_has_heard() {
    let heard = |seed: u64, more: &str| {
        let (dataset, partition) = data(seed);
        let params = params(&format!("steps: 200, tokens: 8, topology: Complete(), {more}"));
        let prepared = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(5)))
            .unwrap();
        let ear = Ear::default();
        let system = System {
            evaluator: &ear,
            ..prepared.system()
        };
        run(
            system,
            &World::ideal(),
            5,
            Options {
                wire_check: true,
                ..Options::default()
            },
            &mut Unobserved,
        )
        .unwrap();
        ear.0.into_inner().unwrap()
    };
    for more in ["learning_rate: 0.05", "noise: ()", "jumps: ()", "codec: Qsgd()"] {
        let (one, other) = (heard(1, more), heard(2, more));
        let first = one
            .iter()
            .zip(&other)
            .position(|(a, b)| a != b)
            .expect("others' data change what reaches it");
        assert!(
            !one[first].0 && !other[first].0,
            "{more}: it tells of what it cannot know, as its event {first}"
        );
    }
}
