//! What the tests share: a temporary directory of one's own, and a small result.

use crate::ids::Direction;
use crate::metric::Unit;
use crate::records::{ClientRow, MessageRow, PrivacyRow, ReadingRow, RoundRow, ScoreRow};
use crate::run_dir::{Artifact, Manifest, RunResult};
use crate::table::TimingRow;
use crate::tables::Tables;
use crate::term::{Term, meanings};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed when dropped.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "folkmoot-metrics-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn manifest() -> Manifest {
    Manifest {
        name: "smoke/test".into(),
        version: "0.1.0".into(),
        target: "x86_64-linux".into(),
        seed: 7,
        data_fingerprints: [("ring".to_owned(), "00ff".to_owned())].into(),
        command: "folkmoot run smoke/test --seed 7".into(),
        ..Manifest::default()
    }
}

pub(crate) fn round(round: u32) -> RoundRow {
    RoundRow {
        round,
        virtual_s: f64::from(round) * 0.1,
        cohort: 4,
        completed: 3,
        dropped: 1,
        late: 0,
        staleness_mean: 0.0,
    }
}

pub(crate) fn result(n_rounds: u32) -> RunResult {
    let message = |round| MessageRow {
        phase: "train".into(),
        round,
        kind: "update, dense".into(),
        direction: Direction::Uplink,
        sent: 4,
        delivered: 3,
        dropped: 1,
        in_flight: 0,
        retried: 2,
        payload_bytes: 400,
        header_bytes: 80,
        expected_messages: (round == 1).then_some(4.5),
        materialised: round != 1,
    };
    let score = |round| ScoreRow {
        round,
        virtual_s: 0.5,
        split: "test".into(),
        metric: "accuracy".into(),
        value: if round == 0 { f64::NAN } else { 1.0 / 3.0 },
        n: 100,
    };
    let reading = |round| ReadingRow {
        round,
        virtual_s: 0.5,
        metric: ReadingRow::ONLINE.into(),
        value: 0.75,
        n: 4,
    };
    RunResult {
        unhashed: Vec::new(),
        tables: Tables {
            rounds: (0..n_rounds).map(round).collect(),
            messages: (0..n_rounds).map(message).collect(),
            scores: (1..n_rounds).map(score).collect(),
            readings: (0..n_rounds).map(reading).collect(),
            privacy: vec![PrivacyRow {
                mechanism: "none".into(),
                unit: "edge".into(),
                releases: 0,
                epsilon_per_release: f64::INFINITY,
                delta_per_release: 0.0,
                epsilon_max_client: f64::INFINITY,
                epsilon_mean_client: f64::INFINITY,
                composition: "none".into(),
                epsilon_claimed: None,
                delta_total: 1e-5,
                epsilon_basic: None,
                epsilon_advanced: None,
                epsilon_renyi: Some(0.5),
                epsilon_pld: None,
                epsilon_total: Some(0.5),
                accountant: "renyi".to_owned(),
            }],
            clients: (0..3)
                .map(|client| ClientRow {
                    client,
                    shard_size: 10,
                    rounds: 2,
                    uplink_bytes: 100,
                    downlink_bytes: 50,
                    peer_bytes: 0,
                    compute_s: 0.25,
                    online_s: 1.0,
                })
                .collect(),
            timing: vec![TimingRow {
                stage: "simulate".into(),
                seconds: 1.5,
                peak_memory_bytes: None,
                memory_bytes: Some(4096),
            }],
            ..Tables::default()
        },
        readings_after: 1,
        summary: [
            ("payload_bytes".to_owned(), 800.0),
            ("accuracy_final".to_owned(), 1.0 / 3.0),
        ]
        .into(),
        units: BTreeMap::from([("payload_bytes".to_owned(), Unit::Bytes)]),
        terms: meanings(
            &[Term::new(
                "payload_bytes",
                "Payload bytes",
                Unit::Bytes,
                "All bytes.",
                "",
            )],
            None,
            ["payload_bytes"].into_iter(),
        ),
        artifacts: vec![
            Artifact {
                path: "tree.json".into(),
                bytes: b"{}".to_vec(),
            },
            Artifact {
                path: "embeddings/last.npy".into(),
                bytes: vec![1, 2, 3],
            },
        ],
        public_facts: BTreeMap::from([("n_clients".to_owned(), 3.into())]),
        trusted: vec!["a set-up".to_owned()],
        notes: vec!["a note".into()],
        warnings: vec![],
    }
}
