//! A dry run against the whole run.

use super::*;

#[test]
fn a_dry_run_sends_the_same_messages_at_the_same_times_whatever_the_pools_are_read_off() {
    let graph = cliques();
    for (pool, m_upload) in [
        (Pool::Tree, true),
        (Pool::Tree, false),
        (Pool::Global, true),
        (Pool::Vector, true),
        (Pool::Oracle, true),
        (Pool::Random, false),
    ] {
        let params = Params {
            walks_per_node: 3,
            predictor_prob: 0.5,
            pool,
            m_upload,
            ..counting()
        };
        let play = |dry_run| {
            let options = Options {
                dry_run,
                ..Options::default()
            };
            play(&graph, params.clone(), &World::ideal(), options)
        };
        let (wet, dry) = (play(false), play(true));
        assert!(
            wet.ledger == dry.ledger,
            "{pool:?}: {:?} against {:?}",
            wet.ledger.total(),
            dry.ledger.total()
        );
        assert_eq!((wet.tables.rounds, wet.end), (dry.tables.rounds, dry.end), "{pool:?}");
        assert!(dry.artifacts.is_empty() && !wet.artifacts.is_empty());
    }
}
