//! Differences from print over whole grids.

use super::*;
use crate::audit::overall::{Difference, Overview};

const GRID: &str = r#"(
    system: "S", paper: "P", printed_runs: 1,
    grids: [(
        id: "g", claim: "{row} {column}", at: "t", metric: "m", rule: Statistical, arm: { "strategy.setting": "federated" },
        rows: [(name: "a", arm: { "strategy.model.encoder": "GCN" }), (name: "b", arm: { "strategy.model.encoder": "k-GNN" })],
        columns: [(name: "one", card: "paper/bace"), (name: "two", card: "paper/bbbp")],
        printed: [["1", "2"], ["3", "4"]],
    )],
    overall: [(id: "all", title: "all", grids: ["g"])],
)"#;

fn found(values: &[(&str, &str, &[f64])]) -> Overview {
    let claims = Claims::read("s", GRID).unwrap();
    let mut evidence = Evidence::default();
    for claim in &claims.claims {
        let run = &claim.test.measure.as_ref().unwrap().run;
        let is_of = |(card, encoder, _): &&(&str, &str, &[f64])| {
            run.card.ends_with(card) && run.arm["strategy.model.encoder"] == *encoder
        };
        let (_, _, values) = values.iter().find(is_of).unwrap();
        for (seed, value) in (1..).zip(values.iter()) {
            let measured = Measured {
                card: String::new(),
                version: 1,
                fingerprint: String::new(),
                values: BTreeMap::from([("m".to_owned(), *value)]),
            };
            evidence.add(run, seed, measured);
        }
    }
    Audited::new(claims, false, &evidence).overall.remove(0)
}

/// Of one set the cells' residuals are the same, of the other they cancel: only the first has an
/// uncertain mean.
#[test]
fn cells_that_share_splits_count_once_a_seed() {
    let overview = found(&[
        ("bace", "GCN", &[0.0, 1.0, 2.0]),
        ("bace", "k-GNN", &[2.0, 3.0, 4.0]),
        ("bbbp", "GCN", &[1.0, 2.0, 3.0]),
        ("bbbp", "k-GNN", &[5.0, 4.0, 3.0]),
    ]);
    let cards: Vec<(&str, &Difference)> = overview.sets.iter().map(|(card, one)| (card.as_str(), one)).collect();
    let [("paper/bace", bace), ("paper/bbbp", bbbp)] = cards[..] else {
        panic!("{overview:?}");
    };
    assert_eq!((bace.n_cells, bace.n_seeds, bace.mean), (2, 3, 0.0));
    assert_eq!((bbbp.mean, bbbp.half_width), (0.0, 0.0));
    // The seeds' means deviate by 1; three seeds and one printed run: sqrt(1/3 + 1), at two degrees
    // of freedom.
    assert!((bace.half_width - 4.303 * (4.0f64 / 3.0).sqrt()).abs() < 1e-9);
    // Half of it for the mean of the two sets, since the other adds nothing.
    let all = overview.all.unwrap();
    assert_eq!((all.n_cells, all.mean), (4, 0.0));
    assert!((all.half_width - bace.half_width / 2.0).abs() < 1e-9, "{all:?}");
}

/// Two seeds have an interval, a wide one; a cell with a single seed has none and is left out.
#[test]
fn two_seeds_are_the_fewest() {
    let overview = found(&[
        ("bace", "GCN", &[1.0, 3.0]),
        ("bace", "k-GNN", &[3.0, 5.0]),
        ("bbbp", "GCN", &[7.0]),
        ("bbbp", "k-GNN", &[9.0]),
    ]);
    let only = overview.all.unwrap();
    assert_eq!(
        (overview.sets.len(), only.n_cells, only.n_seeds, only.mean),
        (1, 2, 2, 1.0)
    );
    // The seeds' means are 0 and 2, of variance 2, one degree of freedom; one printed run.
    assert!((only.half_width - 12.706 * 3.0f64.sqrt()).abs() < 1e-9, "{only:?}");
}

/// The interval covers the true difference as often as it says, however strongly cells of a set are
/// correlated.
#[test]
fn the_interval_covers_the_planted_difference() {
    // A fixed sequence of normal numbers by the sum of twelve uniform ones.
    let mut state = 1u64;
    let mut normal = move || {
        let mut uniform = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    };
    let (mut covered, n_tries) = (0, 400);
    for _ in 0..n_tries {
        let mut values: Vec<(&str, &str, Vec<f64>)> = Vec::new();
        for (card, printed) in [("bace", [1.0, 3.0]), ("bbbp", [2.0, 4.0])] {
            // The printed run's split is drawn like ours; its deviation is taken off instead of
            // added to the printed number.
            let splits: Vec<f64> = (0..4).map(|_| normal()).collect();
            for (encoder, printed) in ["GCN", "k-GNN"].into_iter().zip(printed) {
                let of_print = splits[3] + 0.2 * normal();
                let seeds = splits[..3]
                    .iter()
                    .map(|split| printed + 0.5 + split + 0.2 * normal() - of_print);
                values.push((card, encoder, seeds.collect()));
            }
        }
        let values: Vec<(&str, &str, &[f64])> = values.iter().map(|(a, b, c)| (*a, *b, c.as_slice())).collect();
        let all = found(&values).all.unwrap();
        covered += usize::from((all.mean - 0.5).abs() <= all.half_width);
    }
    // 95 % of 400 is 380, with a standard deviation of 4.4; at few degrees of freedom the interval
    // is a little too wide.
    assert!((362..=398).contains(&covered), "{covered} of {n_tries}");
}
