//! A client sees its own shard and what it is sent: see `folkmoot_checks`.

use folkmoot_checks::{data, holds};
use folkmoot_walks::{deep_walk, fedwalk, only};

#[test]
fn in_fed_walk() {
    let few = "walk_length: 6, walks_per_node: 2, embedding: Off";
    let cases = [
        "",
        ", variant: Corrected",
        ", pool: Vector, rows: Off, encoder: Identity",
        ", pool: Global, encoder: Calibrated, epsilon_matrix: 1",
        ", rows: Neighbours, encoder: Normalised, m_upload: false",
        ", encoder: RandomisedResponse, predictor_prob: 0",
        ", rows: Neighbours, pool: Random",
    ];
    let cases = cases.map(|more| format!("({few}{more})"));
    let cases: Vec<(&str, &[&str])> = cases
        .iter()
        .map(|text| (text.as_str(), &["degree_vector"][..]))
        .collect();
    holds::<fedwalk::Params>(&only(), data::vertices, &cases);
}

#[test]
fn in_deep_walk() {
    holds::<deep_walk::Params>(
        &only(),
        data::vertices,
        &[
            ("(walk_length: 6, walks_per_node: 2)", &["neighbours"]),
            ("(walk_length: 6, walks_per_node: 2, epsilon: 2)", &["neighbours"]),
        ],
    );
}
