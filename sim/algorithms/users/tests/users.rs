//! Users of one node as runs: what they send and pay, what the server learns, and what is read off
//! their reports.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

#[path = "users/own_shard.rs"]
mod own_shard;
#[path = "users/walk_attacks.rs"]
mod walk_attacks;
#[path = "users/walk_tasks.rs"]
mod walk_tasks;
#[path = "users/walks.rs"]
mod walks;

use folkmoot_engine::prelude::*;
use folkmoot_engine::run::Outcome;
use folkmoot_engine::world::availability;
use folkmoot_graphs::{DataDirs, DataSource, Dataset, Partition, datasets};
use folkmoot_scenarios::algorithm::{Algorithm, Source};
use folkmoot_users::Params;
use std::sync::Arc;

const N: u32 = 300;

/// Communities of a hundred whose features mark them; with an `assortativity` of 0 edges join
/// anybody.
fn blocks(assortativity: f64) -> Arc<Dataset> {
    let spec = datasets::ContextualSbm {
        n_nodes: N,
        n_classes: 3,
        mean_degree: 10.0,
        assortativity,
        n_features: 24,
        mark_prob: 0.3,
        other_prob: 0.1,
    };
    let rng = &mut Streams::new(4).global(Purpose(*b"testdata"));
    Arc::new(spec.load(&DataDirs::new(), rng).unwrap())
}

fn params(text: &str) -> Params {
    let training = if text.contains("training:") {
        ""
    } else {
        "training: (epochs: 60), "
    };
    let text = format!("({training}{text})");
    folkmoot_users::only().settings(&text).unwrap()
}

fn play_in(dataset: &Arc<Dataset>, params: &Params, world: &World, options: Options) -> Result<Outcome, RunError> {
    let partition = Arc::new(Partition::one_item_each(dataset.n_nodes() as u32));
    let prepared = params
        .prepare(&Source::new(dataset, &partition, Streams::new(3)))
        .unwrap();
    run(prepared.system(), world, 3, options, &mut Unobserved)
}

fn play(dataset: &Arc<Dataset>, text: &str) -> Outcome {
    play_in(dataset, &params(text), &World::ideal(), Options::default()).unwrap()
}

fn find(outcome: &Outcome, name: &str) -> Option<f64> {
    Some(outcome.summary.iter().find(|(key, _)| key == name)?.1)
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    find(outcome, name).unwrap_or_else(|| panic!("{name}: {:?}", outcome.summary))
}

const CLEAR: &str = "features: ClearFeatures(), labels: ClearLabels(), network: Gcn";

/// 300 users: 38 bytes of bits, 4 more for a degree; a multi-bit report of 24 features at epsilon 1
/// has 6 bits, and a class of three 2.
#[test]
fn reports_have_the_stated_sizes_and_an_edge_costs_every_list_that_tells_of_it() {
    let dataset = blocks(0.8);
    let bytes = |edges: &str| {
        let outcome = play(&dataset, &format!("edges: {edges}"));
        let epsilons: Vec<f64> = outcome
            .tables
            .privacy
            .iter()
            .map(|row| row.epsilon_max_client)
            .collect();
        let costs = ["feature_bytes", "edge_bytes"].map(|name| number(&outcome, name));
        (costs, find(&outcome, "edge_epsilon"), epsilons)
    };
    let outcome = play(&dataset, "edges: Blink(epsilon: 2, degree_share: 0.25)");
    let edge = outcome.tables.privacy.last().unwrap();
    assert_eq!((edge.unit.as_str(), edge.releases), ("one edge", u64::from(2 * N)));
    assert_eq!((edge.epsilon_claimed, edge.epsilon_basic), (Some(2.0), Some(4.0)));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    let (costs, epsilon, all) = bytes("EdgeResponse(epsilon: 2)");
    assert_eq!(
        (costs, epsilon, &all[..]),
        ([1.0, 38.0], Some(4.0), &[1.0, 1.0, 2.0, 4.0][..])
    );
    let (costs, epsilon, _) = bytes("EdgeResponse(epsilon: 2, lists: Triangle)");
    // Rows of 299, 298, … bits: 19 bytes and a little on average.
    let triangle: u32 = (0..N).map(|user| (N - 1 - user).div_ceil(8)).sum();
    assert_eq!((costs[1], epsilon), (f64::from(triangle) / f64::from(N), Some(2.0)));
    let (costs, epsilon, all) = bytes("Blink(epsilon: 2, degree_share: 0.25)");
    assert_eq!((costs[1], epsilon, &all[2..]), (42.0, Some(4.0), &[1.5, 0.5, 4.0][..]));
    let (costs, epsilon, all) = bytes("Dprr(epsilon: 6)");
    // About as many ids as neighbours, ten, of which noise of the degree can add none below 0.
    assert!((36.0..52.0).contains(&costs[1]), "{costs:?}");
    assert!(
        close(epsilon.unwrap(), 12.0) && close(all[2], 5.4) && close(all[3], 0.6) && all[4..] == [epsilon.unwrap()],
        "{all:?}"
    );
    let (costs, epsilon, _) = bytes("LaplaceEdges(epsilon: 2)");
    assert_eq!((costs[1], epsilon), (4.0 * 299.0, Some(4.0)));
    let (costs, epsilon, all) = bytes("PublicEdges()");
    assert_eq!((costs[1], epsilon, &all[..]), (0.0, None, &[1.0, 1.0, 0.0][..]));
    let outcome = play(&dataset, CLEAR);
    assert_eq!(outcome.tables.privacy[0].epsilon_max_client, f64::INFINITY);
    assert_eq!(find(&outcome, "feature_epsilon"), None);
    assert_eq!(outcome.ledger.total().sent, u64::from(2 * N));
}

/// With everything clear the network beats the majority by far; under hopeless noise on features it
/// is no better than chance, and KProp over public edges wins some of it back.
#[test]
fn the_network_learns_what_reports_leave_to_learn() {
    let dataset = blocks(0.9);
    let accuracy = |text: &str| number(&play(&dataset, text), "test_accuracy");
    let outcome = play(&dataset, &format!("{CLEAR}, controls: true"));
    let majority = number(&outcome, "majority_accuracy");
    let clear = number(&outcome, "test_accuracy");
    assert!(clear > majority + 0.45, "{clear} {majority}");
    // Nothing is hidden, so the ceiling is the same network from other weights.
    assert!((number(&outcome, "clear_accuracy") - clear).abs() < 0.06);
    assert!(number(&outcome, "no_graph_accuracy") < clear - 0.05);
    for network in ["Sage", "Mlp"] {
        let text = format!("features: ClearFeatures(), labels: ClearLabels(), network: {network}");
        assert!(accuracy(&text) > majority + 0.2, "{network}");
    }
    // An epsilon of 12 and five signs of 24: a perceptron on one's own row hardly sees it, means
    // over neighbours do.
    let noisy = "features: MultiBitFeatures(epsilon: 12), labels: ClearLabels()";
    let alone = accuracy(&format!("{noisy}, network: Mlp"));
    let helped = accuracy(&format!("{noisy}, network: Gcn, feature_steps: 2"));
    assert!(helped > alone + 0.08, "{helped} {alone}");
}

/// Three classes at epsilon 0.7 are told truly by half: Drop wins back nearly all of it, and taking
/// what was told for true does not. Who then weighs what was told with what was learned knows the
/// classes of those who told theirs under noise.
#[test]
fn drop_learns_more_of_noisy_classes_than_taking_them_for_true() {
    let dataset = blocks(0.9);
    let accuracy = |loss: &str| {
        let text = format!("features: ClearFeatures(), labels: LabelResponse(epsilon: 0.7), loss: {loss}");
        let outcome = play(&dataset, &text);
        let told = number(&outcome, "label_told_accuracy");
        let keep = libm::exp(0.7) / (libm::exp(0.7) + 2.0);
        assert!(
            (told - keep).abs() < 4.0 * (keep * (1.0 - keep) / 225.0).sqrt(),
            "{told}"
        );
        (
            number(&outcome, "test_accuracy"),
            number(&outcome, "label_guess_accuracy") - told,
        )
    };
    let ((plain, _), (forward, _), (drop, gained)) = (accuracy("CrossEntropy"), accuracy("Forward"), accuracy("Drop"));
    assert!(
        drop > 0.9 && drop > forward + 0.2 && forward > plain,
        "{plain} {forward} {drop}"
    );
    assert!(gained > 0.3, "{gained}");
}

/// A leak that is planted is found by whoever reads it, and where there is none nobody finds
/// anything: edges that join anybody, under a budget that is hardly any.
#[test]
fn links_are_read_off_reports_where_these_tell_and_nowhere_else() {
    let dataset = blocks(0.0);
    for edges in ["EdgeResponse", "Dprr", "Blink", "LaplaceEdges"] {
        let of = |epsilon: f64| play(&dataset, &format!("{CLEAR}, edges: {edges}(epsilon: {epsilon})"));
        let (loose, tight) = (of(40.0), of(1e-3));
        for name in ["link_auc", "link_lists_auc", "link_posterior_auc"] {
            let (loose, tight) = (number(&loose, name), number(&tight, name));
            assert!(loose > 0.995, "{edges} {name}: {loose}");
            // 1 500 edges and as many pairs: an area of chance has a standard error of a hundredth.
            assert!((tight - 0.5).abs() < 0.045, "{edges} {name}: {tight}");
        }
        // No edge is read off features that are nobody's neighbours'.
        assert!((number(&loose, "link_features_auc") - 0.5).abs() < 0.045);
        // Who reads more does no worse.
        let some = of(3.0);
        let [lists, posterior] = ["link_lists_auc", "link_posterior_auc"].map(|name| number(&some, name));
        assert!(posterior > lists - 0.01 && lists > 0.6, "{edges}: {lists} {posterior}");
    }
    // Where edges stay within classes, features that mark these tell of edges although no list
    // does.
    let likely = play(&blocks(1.0), &format!("{CLEAR}, edges: EdgeResponse(epsilon: 0.001)"));
    assert!(number(&likely, "link_features_auc") > 0.56);
}

/// A feature that is told as it is is known, one under a budget that is hardly any is not;
/// neighbours who are alike tell of each other.
#[test]
fn features_are_read_off_reports_where_these_tell_and_nowhere_else() {
    let clear = play(&blocks(1.0), CLEAR);
    assert_eq!(number(&clear, "feature_own_auc"), 1.0);
    assert!(number(&clear, "feature_near_auc") > 0.55);
    let apart = play(&blocks(0.0), CLEAR);
    assert!((number(&apart, "feature_near_auc") - 0.5).abs() < 0.03);
    for features in [
        "MultiBitFeatures",
        "OneBitFeatures",
        "LaplaceFeatures",
        "GaussianFeatures",
    ] {
        let of = |epsilon: f64| {
            let text = format!("features: {features}(epsilon: {epsilon}), labels: ClearLabels(), network: Mlp");
            number(&play(&blocks(0.0), &text), "feature_own_auc")
        };
        let (loose, tight) = (of(400.0), of(1e-3));
        assert!(
            loose > 0.85 && (tight - 0.5).abs() < 0.03,
            "{features}: {loose} {tight}"
        );
    }
}

/// At epsilon 2 randomised response names 12 % of all: as many arcs as that, held as bits; Blink
/// and DPRR come back to about as many as there are.
#[test]
fn graphs_have_as_many_arcs_as_their_mechanism_leaves() {
    let dataset = blocks(0.8);
    let arcs = |edges: &str| number(&play(&dataset, &format!("{CLEAR}, edges: {edges}")), "held_arcs");
    let (pairs, true_arcs) = (f64::from(N * (N - 1)), 3000.0);
    let flip = 1.0 / (1.0 + libm::exp(2.0));
    let expected = true_arcs * (1.0 - flip) + (pairs - true_arcs) * flip;
    let error = (pairs * flip * (1.0 - flip)).sqrt();
    assert!((arcs("EdgeResponse(epsilon: 2)") - expected).abs() < 4.0 * error);
    // Of a triangle each pair is two arcs.
    assert!((arcs("EdgeResponse(epsilon: 2, lists: Triangle)") - expected).abs() < 4.0 * 2.0_f64.sqrt() * error);
    let near = |arcs: f64, by: f64| assert!((arcs - true_arcs).abs() < by * true_arcs, "{arcs}");
    near(arcs("Dprr(epsilon: 4)"), 0.15);
    near(arcs("Blink(epsilon: 4, graph: Soft)"), 0.1);
    near(arcs("Blink(epsilon: 8)"), 0.02);
    near(arcs("Blink(epsilon: 8, graph: Hybrid)"), 0.05);
    near(arcs("LaplaceEdges(epsilon: 4)"), 0.3);
    assert_eq!(arcs("PublicEdges()"), true_arcs);
}

/// The mean of what the server takes reports for is the mean of the features, within 4 standard
/// errors, mechanism by mechanism.
#[test]
fn estimates_are_those_of_the_features() {
    let dataset = blocks(0.8);
    let partition = Arc::new(Partition::one_item_each(N));
    let (mut truth, mut row) = ([0.0; 24], [0.0; 24]);
    for node in 0..N {
        dataset.features.as_ref().unwrap().write_row(node, &mut row);
        truth.iter_mut().zip(&row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let total: f64 = truth.iter().sum();
    for (text, variance) in [
        ("ClearFeatures()", 0.0),
        // (24 × 2.164 / 2)² a drawn coordinate, of which one of 24 is.
        ("MultiBitFeatures(epsilon: 1)", 24.0 * 1.082_f64.powi(2) * 1.01),
        ("LaplaceFeatures(epsilon: 24)", 2.0),
    ] {
        let params = params(&format!("features: {text}"));
        let prepared = params
            .prepare(&Source::new(&dataset, &partition, Streams::new(3)))
            .unwrap();
        let end = std::sync::Mutex::new(0.0);
        let evaluator = Sum(&params, &end);
        let system = System {
            evaluator: &evaluator,
            ..prepared.system()
        };
        run(system, &World::ideal(), 3, Options::default(), &mut Unobserved).unwrap();
        let sum = end.into_inner().unwrap();
        let error = (f64::from(N) * 24.0 * variance).sqrt();
        assert!(
            (sum - total).abs() < 4.0 * error + 1e-6,
            "{text}: {sum}, not {total}, error {error}"
        );
    }
}

/// Sums up all estimates.
struct Sum<'a>(&'a Params, &'a std::sync::Mutex<f64>);

impl Evaluator<folkmoot_users::LocalGnn> for Sum<'_> {
    fn at_end(&self, end: &End<'_, folkmoot_users::LocalGnn>, _: &mut Sheet) {
        let mut sum = 0.0;
        for report in &end.server.told().features {
            let estimate = self.0.features.read(report.as_ref().unwrap(), 24, (0.0, 1.0)).unwrap();
            let listed: f64 = estimate.others.iter().map(|(_, x)| f64::from(*x)).sum();
            sum += listed + f64::from(estimate.base) * (24 - estimate.others.len()) as f64;
        }
        *self.1.lock().unwrap() = sum;
    }
}

/// 24 features: 96 bytes of numbers under noise, 8 for each that is not 0 where they are clear.
/// Codecs round what was released, at the same price.
#[test]
fn released_numbers_are_packed_at_no_price() {
    let dataset = blocks(0.9);
    let with = |features: &str, codec: &str| {
        play(
            &dataset,
            &format!("features: {features}, labels: ClearLabels(), network: Gcn, codec: {codec}"),
        )
    };
    let spent = |outcome: &Outcome| format!("{:?}", outcome.tables.privacy);
    for features in ["LaplaceFeatures(epsilon: 200)", "GaussianFeatures(epsilon: 50)"] {
        let plain = with(features, "Plain()");
        assert_eq!(number(&plain, "feature_bytes"), 96.0);
        for (codec, bytes) in [("Half()", 48.0), ("Uniform(bits: 4, rounding: Stochastic)", 8.0 + 12.0)] {
            let packed = with(features, codec);
            assert_eq!(number(&packed, "feature_bytes"), bytes, "{features} {codec}");
            assert_eq!(spent(&packed), spent(&plain));
            let apart =
                ["test_accuracy", "link_features_auc"].map(|name| (number(&packed, name) - number(&plain, name)).abs());
            assert!(apart.iter().all(|apart| *apart < 0.1), "{features} {codec}: {apart:?}");
            assert!(codec == "Half()" || apart[1] > 0.0, "what is read is what came");
        }
    }
    // Marks are 1 and stay that; behind their places and how many there are they take nearly
    // nothing.
    let (plain, packed) = (with("ClearFeatures()", "Plain()"), with("ClearFeatures()", "Half()"));
    let n_marks = number(&plain, "feature_bytes") / 8.0;
    assert!((number(&packed, "feature_bytes") - (4.0 + 6.0 * n_marks)).abs() < 1e-9);
    assert_eq!(plain.tables.scores, packed.tables.scores);
}

#[test]
fn a_codec_of_features_is_refused_where_it_is_not_sound() {
    let refused = |text: &str| {
        let problems = folkmoot_users::only().settings::<Params>(text).unwrap_err();
        format!("{problems:?}")
    };
    let said = refused("(features: LaplaceFeatures(), codec: TopK())");
    assert!(said.contains("must send every number"), "{said}");
    for features in ["MultiBitFeatures()", "OneBitFeatures()"] {
        let said = refused(&format!("(features: {features}, codec: Half())"));
        assert!(said.contains("sends bits") && said.contains("codec"), "{said}");
    }
}

#[test]
fn threads_windows_and_encoding_do_not_matter() {
    let dataset = blocks(0.8);
    for edges in [
        "Blink(epsilon: 2, graph: Soft)",
        "EdgeResponse(epsilon: 1)",
        "Dprr(), features: LaplaceFeatures(), codec: Qsgd()",
    ] {
        let params = params(&format!(
            "edges: {edges}, loss: Drop, controls: true, training: (epochs: 5)"
        ));
        let print = |options| {
            let outcome = play_in(&dataset, &params, &World::ideal(), options).unwrap();
            format!("{:?} {:?}", outcome.tables.scores, outcome.summary)
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
            assert_eq!(first, print(options), "{edges}");
        }
    }
}

/// Whoever is away is left out, and the run says so; it learns from the others.
#[test]
fn the_absent_are_left_out() {
    let dataset = blocks(0.9);
    let world = World {
        availability: Box::new(availability::Bernoulli { online_prob: 0.7 }),
        deadline: Some(SimSpan::from_secs(1.0)),
        ..World::ideal()
    };
    let outcome = play_in(&dataset, &params(CLEAR), &world, Options::default()).unwrap();
    let warning = outcome.warnings.join(" ");
    assert!(warning.contains("did not come in time"), "{warning}");
    assert!(number(&outcome, "test_accuracy") > number(&outcome, "majority_accuracy") + 0.2);
}

#[test]
fn what_does_not_suit_is_refused_with_a_way_out() {
    let registry = folkmoot_users::only();
    let why = |dataset: &Arc<Dataset>, n_clients: u32, text: &str| {
        let partition = Arc::new(Partition::one_item_each(n_clients));
        let params: Params = registry.settings(text).unwrap();
        let prepared = params.prepare(&Source::new(dataset, &partition, Streams::new(3)));
        prepared.err().unwrap().0
    };
    let dataset = blocks(0.8);
    assert!(why(&dataset, 7, "()").contains("partition: NodePerClient"));
    let bare = Arc::new(Dataset {
        features: None,
        ..(*dataset).clone()
    });
    assert!(why(&bare, N, "()").contains("ContextualSbm()"));
    assert!(
        why(&dataset, N, "(features: MultiBitFeatures(n_sampled: 25))")
            .contains("features.n_sampled: must be at most 24")
    );
    for (text, path) in [
        ("(split: (train: 0.8, validation: 0.2))", "split.validation"),
        ("(range: (1, 0))", "range"),
        ("(edges: Blink(degree_share: 1))", "edges.degree_share"),
        ("(labels: LabelResponse(epsilon: 0))", "labels.epsilon"),
    ] {
        let problems = registry.settings::<Params>(text).unwrap_err().to_string();
        assert!(problems.contains(path), "{text}: {problems}");
    }
    let lints = registry
        .settings::<Params>("(labels: ClearLabels(), loss: Drop)")
        .unwrap()
        .about()
        .lints;
    assert_eq!(lints[0].path, "loss");
}

/// Features outside of the public range are moved to its ends, and the run says how many.
#[test]
fn features_outside_of_the_range_are_moved_and_counted() {
    let outcome = play(&blocks(0.8), &format!("{CLEAR}, range: (0, 0.5)"));
    assert!(outcome.warnings.join(" ").contains("were moved to its nearest end"));
    assert!(
        find(&outcome, "moved_features").is_some_and(|n| n > 500.0),
        "{:?}",
        outcome.summary
    );
}
