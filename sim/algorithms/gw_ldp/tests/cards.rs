//! Cards of GW-LDP on real citation graphs.
#![allow(clippy::unwrap_used, reason = "a failed run fails the test")]

use folkmoot_checks::cards::{Cards, played};
use std::path::{Path, PathBuf};

/// The networks behind the citation figures, a fifth as long trained, are 20 points above the
/// majority on nodes that train nowhere. Without the data there is nothing to run.
#[test]
fn the_citation_cards_networks_have_learned() {
    let Some(data) = std::env::var_os("FOLKMOOT_DATA").map(PathBuf::from) else {
        return;
    };
    let shipped = Cards::new(folkmoot_gw_ldp::only(), env!("CARGO_MANIFEST_DIR"), "gw_ldp");
    let cards = [
        "average",
        "average-2-hop",
        "average-cora",
        "average-cora-2-hop",
        "average-pubmed",
        "average-pubmed-2-hop",
        "average-encoder",
        "clusters",
        "clusters-2-hop",
        "clusters-cora",
        "clusters-cora-2-hop",
        "five",
        "metrics",
    ];
    let short = [
        "strategy.protocol.rounds=40",
        "strategy.evaluation.metrics=[]",
        "strategy.evaluation.restart=false",
    ];
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("citation-cards");
    let _ = std::fs::remove_dir_all(&dir);
    for card in cards {
        let scenario = shipped.scenario(&format!("gw-ldp/{card}"), &short).unwrap();
        let run = played(&scenario, std::slice::from_ref(&data), &dir.join(card), &mut ()).unwrap();
        let summary = run.summary;
        // Where every node trains, none is held out.
        let part = if card == "metrics" {
            "train_accuracy"
        } else {
            "held_out_accuracy"
        };
        let above = summary[part] - summary[&format!("{part}@majority_class")];
        assert!(above > 0.2, "{card}: {summary:?}");
    }
}
