//! What views cost, and what no noise hides.

use super::*;
use folkmoot_graphs::{Features, SparseRows};
use folkmoot_metrics::PrivacyRow;

/// Three rounds, 36 training graphs of which 12 or so lie at each client, all of them in the queue
/// that training begins with.
#[test]
fn the_ledger_charges_every_view_to_the_graph_that_is_used_most() {
    let budget = |params: &Params| {
        let outcome = play(params);
        let dry = Options {
            dry_run: true,
            ..Options::default()
        };
        assert_eq!(
            outcome.tables.privacy,
            play_on(graphs(), params, dry).tables.privacy,
            "a dry run charges as much"
        );
        let row = &outcome.tables.privacy[1];
        assert_eq!(
            (row.unit.as_str(), row.composition.as_str()),
            ("one edge of one graph", "basic")
        );
        assert_eq!(number(&outcome, "epsilon_all_rounds"), row.epsilon_max_client);
        (row.releases, row.epsilon_max_client, row.epsilon_claimed)
    };
    // A round: both views of all 36; and once, or each time anew, the queue's.
    let mut fresh = params(NOISY);
    assert_eq!(budget(&fresh), ((3 * 2 + 1) * 36, 3.0 * 2.0 + 1.0, Some(1.0)));
    fresh.contrast.refill = true;
    assert_eq!(budget(&fresh), (3 * 3 * 36, 3.0 * 3.0, Some(1.0)));
    let mut other = fresh.clone();
    other.setting = Setting::Fgcl {
        epsilon: 1.0,
        epsilon_2: Some(10.0),
    };
    other.training.epochs = 2;
    assert_eq!(budget(&other), (3 * 5 * 36, 3.0 * (2.0 + 20.0 + 1.0), Some(10.0)));
    // A queue of two leaves most graphs out, but not the worst.
    other.contrast.queue = 2;
    assert_eq!(budget(&other), (3 * (4 * 36 + 2 * 3), 3.0 * 23.0, Some(10.0)));
    let mut fixed = fresh.clone();
    fixed.views = Views::Fixed;
    assert_eq!(budget(&fixed), (2 * 36, 2.0, Some(1.0)));
    fixed.draws = Draws::PerEntry;
    assert_eq!(budget(&fixed), (2 * 36, 4.0, Some(1.0)));
    assert_eq!(
        budget(&params(Setting::Noise { epsilon: 0.5 })),
        (3 * 36, 1.5, Some(0.5))
    );
    for clean in [
        Setting::Centralised,
        Setting::Federated,
        Setting::FgclWithoutNoise,
        Setting::NoEdges,
    ] {
        assert_eq!(
            play(&params(clean)).tables.privacy.len(),
            1,
            "weights alone, without protection"
        );
    }
}

/// Each graph of validation and test is seen through one view, of the first budget, in however many
/// rounds.
#[test]
fn looking_at_the_other_graphs_is_charged_once() {
    let setting = Setting::Fgcl {
        epsilon: 0.5,
        epsilon_2: Some(2.0),
    };
    for dry_run in [false, true] {
        let options = Options {
            dry_run,
            ..Options::default()
        };
        let outcome = play_on(graphs(), &params(setting), options);
        let row = &outcome.tables.privacy[2];
        assert_eq!(row.mechanism, "laplace: views at inference");
        assert_eq!((row.releases, row.epsilon_max_client), (24, 0.5));
    }
}

#[test]
fn compositions_stand_beside_the_claim() {
    let mut small = params(Setting::Fgcl {
        epsilon: 0.1,
        epsilon_2: None,
    });
    small.protocol.rounds = 50;
    small.attacks = false;
    let dry = Options {
        dry_run: true,
        ..Options::default()
    };
    let outcome = play_on(graphs(), &small, dry);
    let total = |name: &str| number(&outcome, name);
    assert!((total("epsilon_all_rounds") - 10.1).abs() < 1e-9);
    assert_eq!(total("epsilon_all_rounds@claimed"), 0.1);
    // 101 releases of 0.1 at a delta of 1e-5: 0.1 sqrt(202 ln 1e5) + 10.1 (e^0.1 - 1).
    assert!((total("epsilon_all_rounds@advanced") - 5.885).abs() < 0.001);
    assert!(total("epsilon_all_rounds@renyi") < total("epsilon_all_rounds@advanced"));
    assert!(outcome.summary.iter().all(|(name, _)| !name.starts_with("test_")));
}

/// Graphs whose nodes bring two numbers of their own and one that is made of their edges.
fn with_features(structural: bool) -> Dataset {
    let mut dataset = graphs();
    let n_nodes: usize = dataset.graphs.iter().map(|graph| graph.n_nodes()).sum();
    let rows: Vec<Vec<(u32, f32)>> = (0..n_nodes)
        .map(|node| vec![(node as u32 % 2, 1.0), (2, 1.0)])
        .collect();
    dataset.features = Some(Features::Sparse(SparseRows::from_rows(3, &rows).unwrap()));
    dataset.structural_columns = structural.then_some(2..3).into_iter().collect();
    dataset
}

/// What nodes bring that is made of edges has no finite budget, whatever noise there is on edges.
#[test]
fn features_that_tell_edges_are_charged_without_limit() {
    let unprotected = |structural: bool, setting: Setting, inputs: Inputs| {
        let params = Params {
            inputs,
            ..params(setting)
        };
        let outcome = play_on(with_features(structural), &params, Options::default());
        let of_edges = |row: &&PrivacyRow| row.unit == "one edge of one graph" && row.epsilon_max_client.is_infinite();
        let told: Vec<String> = outcome
            .tables
            .privacy
            .iter()
            .filter(of_edges)
            .map(|row| row.mechanism.clone())
            .collect();
        told
    };
    let told = ["none: features made of edges"];
    assert_eq!(unprotected(true, NOISY, Inputs::Features), told);
    assert_eq!(
        unprotected(true, Setting::Noise { epsilon: 1.0 }, Inputs::Features),
        told
    );
    // What all of a row is divided by is made of them, too.
    assert_eq!(unprotected(true, NOISY, Inputs::RowNormalised), told);
    // Left out, or not made of edges, or without noise that they would undo.
    assert_eq!(unprotected(true, NOISY, Inputs::Intrinsic), [""; 0]);
    assert_eq!(unprotected(true, NOISY, Inputs::Constant), [""; 0]);
    assert_eq!(unprotected(false, NOISY, Inputs::Features), [""; 0]);
    assert_eq!(unprotected(true, Setting::Federated, Inputs::Features), [""; 0]);
}
