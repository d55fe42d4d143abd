//! Made-up results in real directories: every figure, and the edges that figures trip over.

use folkmoot_metrics::Tables;
use folkmoot_metrics::records::{ClientRow, MessageRow, PrivacyRow, RoundRow, ScoreRow};
use folkmoot_metrics::run_dir::Manifest;
use folkmoot_metrics::sweep_dir::{Axis, SweepManifest, SweepWriter};
use folkmoot_metrics::term::Term;
use folkmoot_metrics::{Direction, RunResult, RunWriter, Unit, WriteError};
use std::collections::BTreeMap;
use std::path::Path;

/// A number in 0..1 that looks random and is the same everywhere.
pub(crate) fn noise(seed: u64) -> f64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A row of messages that all arrived.
pub(crate) fn message(phase: &str, kind: &str, round: u32, direction: Direction, sent: u64, size: u64) -> MessageRow {
    MessageRow {
        phase: phase.into(),
        round,
        kind: kind.into(),
        direction,
        sent,
        delivered: sent,
        dropped: 0,
        in_flight: 0,
        retried: 0,
        payload_bytes: sent * size,
        header_bytes: sent * 20,
        expected_messages: None,
        materialised: true,
    }
}

/// Moves a share of a row's messages from delivered to dropped and in flight.
pub(crate) fn lossy(mut row: MessageRow, dropped: f64, in_flight: f64) -> MessageRow {
    row.dropped = (row.sent as f64 * dropped) as u64;
    row.in_flight = (row.sent as f64 * in_flight) as u64;
    row.delivered = row.sent - row.dropped - row.in_flight;
    row.retried = row.dropped * 3;
    row
}

/// A manifest of that name.
pub(crate) fn manifest(name: &str, seed: u64) -> Manifest {
    Manifest {
        name: name.into(),
        version: "0.1.0".into(),
        target: "any".into(),
        seed,
        command: format!("folkmoot run '{name}'"),
        ..Manifest::default()
    }
}

/// Random walks: a set-up round, then walks with what theory expects of them.
pub(crate) fn walks() -> RunResult {
    let mut result = RunResult::default();
    for round in 0..=12u32 {
        if round == 0 {
            result
                .tables
                .messages
                .push(message("setup", "degree", 0, Direction::Uplink, 10_312, 4));
            result
                .tables
                .messages
                .push(message("setup", "plan", 0, Direction::Downlink, 10_312, 64));
            continue;
        }
        let walks = 10_312.0;
        let steps = walks * 40.0 * (1.0 + 0.2 * noise(u64::from(round)));
        let mut step = lossy(
            message("walk", "step", round, Direction::Peer, steps as u64, 48),
            0.03,
            0.01,
        );
        step.expected_messages = Some(walks * 44.0);
        result.tables.messages.push(step);
        let returned = (walks * (0.9 + 0.05 * noise(u64::from(round) + 99))) as u64;
        let mut back = lossy(
            message("walk", "return", round, Direction::Uplink, returned, 328),
            0.1,
            0.0,
        );
        back.expected_messages = Some(walks);
        result.tables.messages.push(back);
        result.tables.rounds.push(RoundRow {
            round,
            virtual_s: f64::from(round) * 95.0,
            cohort: 10_312,
            completed: returned,
            dropped: 10_312 - returned,
            late: (noise(u64::from(round) + 7) * 300.0) as u64,
            staleness_mean: 0.0,
        });
    }
    for client in 0..2_000u32 {
        let x = noise(u64::from(client) + 1_000);
        result.tables.clients.push(ClientRow {
            client,
            shard_size: 1,
            rounds: 12,
            uplink_bytes: (3_000.0 + 2_000.0 * x) as u64,
            downlink_bytes: 64 + (x * 10.0) as u64,
            peer_bytes: (200.0 / (x + 0.001)) as u64,
            compute_s: x * x * 0.08,
            online_s: 0.0,
        });
    }
    let privacy = |mechanism: &str, each: f64, worst: f64, mean: f64, claimed| PrivacyRow {
        mechanism: mechanism.into(),
        unit: "edge".into(),
        releases: 10,
        epsilon_per_release: each,
        delta_per_release: 0.0,
        epsilon_max_client: worst,
        epsilon_mean_client: mean,
        composition: "basic".into(),
        epsilon_claimed: claimed,
        delta_total: 1e-5,
        epsilon_basic: Some(worst),
        epsilon_advanced: Some(0.8 * worst),
        epsilon_renyi: Some(0.5 * worst),
        epsilon_pld: None,
        epsilon_total: Some(0.5 * worst),
        accountant: "renyi".to_owned(),
    };
    result.tables.privacy = vec![
        privacy("randomised response", 1.0, 12.0, 8.5, Some(1.0)),
        privacy("Laplace on degrees", 0.5, 0.5, 0.5, Some(0.5)),
        privacy("none", f64::INFINITY, f64::INFINITY, f64::INFINITY, None),
    ];
    result
}

/// Averaging over many rounds, with scores, a gap in them and a loss that goes wrong.
pub(crate) fn averaging(n_rounds: u32) -> RunResult {
    let mut result = RunResult::default();
    for round in 0..n_rounds {
        let asked = 50;
        let lost = (noise(u64::from(round)) * 8.0) as u64;
        result
            .tables
            .messages
            .push(message("train", "model", round, Direction::Downlink, asked, 92_000));
        result.tables.messages.push(lossy(
            message("train", "update", round, Direction::Uplink, asked - lost, 92_004),
            0.05,
            0.0,
        ));
        let t = f64::from(round) / 150.0;
        for (split, shift) in [("train", 0.06), ("validation", 0.02), ("test", 0.0)] {
            let wobble = 0.03 * (noise(u64::from(round) * 3 + split.len() as u64) - 0.5);
            let accuracy = 0.9 + shift - 0.75 / (1.0 + t) + wobble;
            let gap = split == "test" && (n_rounds / 3..n_rounds / 3 + n_rounds / 12).contains(&round);
            let mut score = |metric: &str, value: f64| {
                result.tables.scores.push(ScoreRow {
                    round,
                    virtual_s: f64::from(round) * 31.0,
                    split: split.into(),
                    metric: metric.into(),
                    value,
                    n: 1_000,
                });
            };
            score("accuracy", if gap { f64::NAN } else { accuracy });
            score("loss", 5_000.0 / (1.0 + t * t * t * t * 40.0) * (1.0 + wobble));
        }
    }
    result
}

/// Twelve kinds of messages over some rounds, with long names and counts up to 1e12.
pub(crate) fn twelve_kinds(n_rounds: u32) -> RunResult {
    let mut result = RunResult::default();
    for kind in 0..12u64 {
        for round in 0..n_rounds {
            let size = 10u64.pow(kind as u32) * (2 + (noise(kind * 100 + u64::from(round)) * 5.0) as u64);
            let name = format!("kind {kind} with a long & <curious> name");
            let mut row = message("exchange", &name, round, Direction::ALL[kind as usize % 3], size, 8);
            row.expected_messages = (kind % 4 == 0).then_some(size as f64 * 1.5);
            result.tables.messages.push(row);
        }
    }
    result
}

/// Rows that count nothing.
pub(crate) fn nothing() -> RunResult {
    RunResult {
        tables: Tables {
            messages: vec![message("train", "model", 0, Direction::Uplink, 0, 0)],
            clients: vec![ClientRow {
                client: 0,
                shard_size: 0,
                rounds: 0,
                uplink_bytes: 0,
                downlink_bytes: 0,
                peer_bytes: 0,
                compute_s: 0.0,
                online_s: 0.0,
            }],
            ..Tables::default()
        },
        ..RunResult::default()
    }
}

/// Writes a finished run directory.
pub(crate) fn write_run(dir: &Path, name: &str, result: &RunResult) -> Result<(), WriteError> {
    RunWriter::create(dir, "Scenario()\n", manifest(name, 1))?
        .finish(result)
        .map(|_| ())
}

/// What the numbers of synthetic sweeps are measured in.
const UNITS: [(&str, Unit); 8] = [
    ("peer_messages_per_walk", Unit::Count),
    ("payload_bytes", Unit::Bytes),
    ("virtual_s", Unit::Seconds),
    ("sent_messages", Unit::Count),
    ("total_bytes", Unit::Bytes),
    ("uplink_bytes", Unit::Bytes),
    ("tiny_s", Unit::Seconds),
    ("huge_bytes", Unit::Bytes),
];

/// Writes a sweep directory; `summary` makes a point's numbers from its axes' values and its seed.
pub(crate) fn write_sweep(
    dir: &Path,
    name: &str,
    axes: &[(&str, &[&str])],
    n_seeds: u64,
    summary: impl Fn(&[String], u64) -> Vec<(&'static str, f64)>,
) -> Result<(), WriteError> {
    let axis = |(path, values): &(&str, &[&str])| Axis {
        path: (*path).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        with: None,
    };
    let manifest_of_sweep = SweepManifest {
        name: name.into(),
        version: "0.1.0".into(),
        axes: axes.iter().map(axis).collect(),
        seeds: (1..=n_seeds).collect(),
        ..SweepManifest::default()
    };
    let writer = SweepWriter::create(dir, manifest_of_sweep, "")?;
    for point in writer.manifest().points() {
        let summary: BTreeMap<String, f64> = summary(&point.values, point.seed)
            .into_iter()
            .map(|(name, x)| (name.to_owned(), x))
            .collect();
        let result = RunResult {
            summary,
            units: UNITS.iter().map(|(name, unit)| ((*name).to_owned(), *unit)).collect(),
            terms: terms().map(|term| (term.name.to_string(), term.meaning())).into(),
            ..RunResult::default()
        };
        RunWriter::create(&writer.point_path(&point), "Scenario()\n", manifest(name, point.seed))?.finish(&result)?;
    }
    writer.collect().map(|_| ())
}

/// A score, and what an attacker reaches.
fn terms() -> [Term; 2] {
    let of = |name, words, about| Term::new(name, words, Unit::Number, about, "").from(0.0).up_to(1.0);
    [
        of("node_f1", "F1 of nodes", "How well nodes are classified.").higher(),
        of("pair_auc", "ROC AUC of edge inference", "How well edges are inferred.")
            .lower()
            .attack_beside(0.5),
    ]
}

/// Messages a walk over epsilon, with two predictions, for two variants.
pub(crate) fn sweep_numbers(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 2] = [
        ("strategy.epsilon", &["0.5", "1", "2", "4", "8"]),
        ("strategy.variant", &["AsPublished", "Corrected"]),
    ];
    write_sweep(dir, "fedwalk/predictor", &axes, 5, |values, seed| {
        let epsilon: f64 = values[0].parse().unwrap_or(1.0);
        let printed = values[1] == "AsPublished";
        let jitter = 1.0 + 0.3 * (noise(seed * 31 + (epsilon * 2.0) as u64 + u64::from(printed) * 1_000) - 0.5);
        let right = 40.0 + 60.0 / epsilon;
        let messages = if printed { right * 1.4 } else { right };
        vec![
            ("peer_messages_per_walk", messages * jitter),
            ("peer_messages_per_walk@Theorem 4.2, corrected", right),
            ("peer_messages_per_walk@Theorem 4.2, as published", right * 0.6),
            ("payload_bytes", messages * 10_000.0 * 48.0 * jitter),
            ("virtual_s", 5.0 * messages * jitter),
            ("micro_f1", 0.42 - 0.2 / (1.0 + epsilon) + 0.02 * jitter),
            ("unchanged_number", 5.0),
        ]
    })
}

/// Costs over the number of clients, three decades of it and more of bytes, for four strategies;
/// some points fail.
pub(crate) fn sweep_decades(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 2] = [
        ("population.n_clients", &["100", "1000", "10000", "100000"]),
        ("strategy", &["FedAvg", "Fgcl", "Ppgm", "FedWalk", "GwLdp"]),
    ];
    write_sweep(dir, "scaling", &axes, 3, |values, seed| {
        let n: f64 = values[0].parse().unwrap_or(1.0);
        let power = [1.0, 1.2, 2.0, 1.0, 0.5][values[1].len() % 5];
        let jitter = 1.0 + 0.4 * noise(seed + n as u64);
        let failed = values[1] == "Ppgm" && n == 10_000.0;
        let mut numbers = vec![("sent_messages", libm::pow(n, power) * jitter)];
        if !failed {
            numbers.push(("total_bytes", libm::pow(n, power) * jitter * 1e4));
        }
        numbers
    })
}

/// Methods on sets by number of clients: more curves than can be told apart, unless each set has a
/// panel.
pub(crate) fn sweep_sets(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 3] = [
        ("arm", &["one model", "local only", "FedProx", "Ditto", "no edge"]),
        ("dataset.name", &["Cora", "CiteSeer", "PubMed"]),
        ("partition", &["1 client", "3 clients", "10 clients", "20 clients"]),
    ];
    write_sweep(dir, "communities", &axes, 3, |values, seed| {
        let n: f64 = values[2].split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(1.0);
        let base = 0.9 - 0.01 * values[0].len() as f64 - 0.02 * values[1].len() as f64 - 0.005 * n;
        vec![
            ("test_accuracy", base + 0.02 * (noise(seed * 7 + n as u64) - 0.5)),
            ("payload_bytes", n * 1e6),
        ]
    })
}

/// Scores for settings that are no numbers.
pub(crate) fn sweep_words(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 2] = [
        (
            "network",
            &[
                "Ideal",
                "Mobile(loss: 0.1)",
                "A very long name of a network that nobody would type",
            ],
        ),
        ("partition", &["Iid", "Dirichlet", "Communities", "One per node"]),
    ];
    write_sweep(dir, "settings", &axes, 4, |values, seed| {
        let base = 0.5 + 0.05 * (values[1].len() % 7) as f64 - 0.002 * values[0].len() as f64;
        let jitter = 0.1 * (noise(seed * 7 + values[0].len() as u64 * 13 + values[1].len() as u64) - 0.5);
        vec![
            ("test_auc", base + jitter),
            ("test_auc@chance", 0.5),
            ("uplink_bytes", 1e9 * (base + jitter)),
        ]
    })
}

/// What models are worth to users and to eavesdroppers.
pub(crate) fn sweep_models(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 1] = [("strategy.model", &["Ppgm", "Sgnn", "SgnnLdp(scale: 0.1)", "SimGnn"])];
    write_sweep(dir, "models", &axes, 3, |values, seed| {
        let place = (values[0].len() % 5) as f64;
        let jitter = 0.02 * (noise(seed * 5 + values[0].len() as u64) - 0.5);
        vec![
            ("similarity_auc", 0.97 - 0.01 * place + jitter),
            ("attack_auc", 0.6 + 0.07 * place - jitter),
        ]
    })
}

/// Defences against attacks: more numbers than rows of points can show.
pub(crate) fn sweep_defences(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 2] = [
        (
            "defence",
            &["Mean", "Median", "TrimmedMean(trim: 0.2)", "Krum", "NormClip"],
        ),
        ("attack", &["none", "LabelFlip", "SignFlip", "InnerProduct(scale: 2.0)"]),
    ];
    write_sweep(dir, "defences", &axes, 5, |values, seed| {
        let place = (values[0].len() * 3 + values[1].len() * 5) % 11;
        vec![(
            "node_f1",
            0.9 - 0.07 * place as f64 + 0.02 * (noise(seed * 3 + place as u64) - 0.5),
        )]
    })
}

/// Arms with and without edges.
pub(crate) fn sweep_edges(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 2] = [
        ("edges", &["without edges", "with edges"]),
        ("dataset.name", &["Cora", "Citeseer", "PubMed"]),
    ];
    write_sweep(dir, "edges", &axes, 5, |values, seed| {
        let gain = if values[0] == "with edges" {
            0.03 * values[1].len() as f64 - 0.1
        } else {
            0.0
        };
        let base = 0.5 + 0.04 * values[1].len() as f64;
        vec![(
            "node_f1",
            base + gain + 0.02 * (noise(seed * 11 + values[1].len() as u64) - 0.5),
        )]
    })
}

/// What an attacker reaches and what is learned, along epsilon.
pub(crate) fn sweep_frontier(dir: &Path) -> Result<(), WriteError> {
    let axes: [(&str, &[&str]); 2] = [
        ("strategy.epsilon", &["0.5", "1", "2", "4", "8"]),
        ("strategy.encoder", &["AsPublished", "Calibrated", "RandomisedResponse"]),
    ];
    write_sweep(dir, "frontier", &axes, 3, |values, seed| {
        let epsilon: f64 = values[0].parse().unwrap_or(1.0);
        let kind = values[1].len() as f64;
        let jitter = 0.01 * (noise(seed * 17 + kind as u64) - 0.5);
        vec![
            ("node_f1", 0.7 - 0.3 / (1.0 + epsilon) - 0.01 * kind + jitter),
            (
                "pair_auc",
                0.55 + 0.45 * epsilon / (1.0 + epsilon) - 0.005 * kind - jitter,
            ),
        ]
    })
}
