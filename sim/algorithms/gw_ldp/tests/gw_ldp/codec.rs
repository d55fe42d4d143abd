//! Embeddings that a codec packs on their way: their bytes, their price, and what cannot be packed.

use super::*;
use folkmoot_codecs::{Codec, Half, TopK, Uniform};
use folkmoot_gw_ldp::release::Additive;

fn with(codec: Chosen<dyn Codec>) -> Params {
    Params {
        release: Chosen::new(Additive { radius: 0.1 }),
        codec,
        ..params(2)
    }
}

/// Payload bytes of embeddings, and what each client has spent.
fn cost(outcome: &Outcome) -> (u64, String) {
    let of_kind = outcome.ledger.rows().filter(|(kind, ..)| kind.name == "embeddings");
    let bytes = of_kind.map(|(.., cell)| cell.payload_bytes).sum();
    (bytes, format!("{:?}", outcome.tables.privacy))
}

#[test]
fn released_numbers_are_packed_at_no_price() {
    let dataset = graphs();
    let n_nodes: u64 = dataset.graphs.iter().map(|graph| graph.n_nodes() as u64).sum();
    let plain = play(&with(Chosen::default()), &dataset);
    let (bytes, spent) = cost(&plain);
    assert_eq!(bytes, 60 * 11 + 4 * 3 * n_nodes);
    let halves = play(&with(Chosen::new(Half {})), &dataset);
    assert_eq!(cost(&halves), (60 * (11 + 4) + 2 * 3 * n_nodes, spent));
    // Nobody's training saw it, and what is compared is what came.
    assert_eq!(
        number(&plain, "test_accuracy").to_bits(),
        number(&halves, "test_accuracy").to_bits()
    );
    let distances = |outcome| matrix(outcome, "distances.npy");
    let (exact, rounded) = (distances(&plain), distances(&halves));
    assert_ne!(exact, rounded);
    let apart = exact
        .iter()
        .zip(&rounded)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(apart < 1e-3, "{apart}");
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let leaves_out = with(Chosen::new(TopK {
        share: 0.1,
        ..TopK::default()
    }));
    let broken = leaves_out.broken();
    assert!(
        broken
            .iter()
            .any(|broken| broken.path == "codec" && broken.rule.contains("every value")),
        "{broken:?}"
    );
    let signs = Params {
        release: Chosen::new(MultiBit::default()),
        ..with(Chosen::new(Uniform::default()))
    };
    let dataset = graphs();
    let prepared = signs.prepare(&Source::new(&dataset, &iid(&dataset), Streams::new(5)));
    let why = prepared.map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("codec: packs numbers"), "{why}");
}
