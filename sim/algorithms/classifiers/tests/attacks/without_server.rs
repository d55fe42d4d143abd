//! Attacks on the models of clients that no server ever had.

use super::*;
use folkmoot_classifiers::gossip::{self, Attacked};

/// Four clients in a ring; networks and training as in the attacks on one model.
fn played(params: &gossip::Params, dataset: &Arc<Dataset>, threads: usize) -> Outcome {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let spec = partition::Iid { n_clients: 4 };
    let partition: Arc<Partition> = Arc::new(spec.divide(dataset, &mut rng).unwrap());
    run_on(&Runnable::of(params.clone()), dataset, &partition, threads)
}

fn gossip(rate: f64, attacked: Attacked, attacks: Vec<Chosen<dyn Attack>>) -> gossip::Params {
    let one = params(rate, attacks);
    gossip::Params {
        model: one.model,
        training: one.training,
        inputs: one.inputs,
        split: one.split,
        rounds: one.protocol.rounds,
        attacks: one.attacks,
        attacked,
        ..gossip::Params::default()
    }
}

#[test]
fn members_are_found_by_what_clients_answer_or_the_mean_would_have() {
    let dataset = nodes(false);
    let mut areas = Vec::new();
    for attacked in [Attacked::Clients, Attacked::Mean] {
        let planted = played(&gossip(0.02, attacked, membership()), &dataset, 2);
        let bare = played(&gossip(1e-30, attacked, membership()), &dataset, 2);
        for area in AREAS {
            let (found, nothing) = (number(&planted, area), number(&bare, area));
            assert!(found > 0.7, "{attacked:?}: {area} {found} of {:?}", planted.summary);
            assert!((nothing - 0.5).abs() < 0.15, "{attacked:?}: {area} {nothing}");
        }
        areas.push(AREAS.map(|area| number(&planted, area)));
        assert_eq!(
            planted.summary,
            played(&gossip(0.02, attacked, membership()), &dataset, 1).summary
        );
    }
    assert_ne!(areas[0], areas[1], "the mean is nobody's model");
}

#[test]
fn links_are_found_by_what_neighbours_have_made_of_each_other() {
    let attacks = vec![Chosen::new(LinkStealing {
        known: 0.2,
        features: true,
    }) as Chosen<dyn Attack>];
    let outcome = played(&gossip(0.01, Attacked::Clients, attacks), &nodes(true), 2);
    let area = number(&outcome, "link_correlation_auc");
    let bare = number(&outcome, "link_correlation_auc@no_graph");
    assert!(area > 0.85 && (bare - 0.5).abs() < 0.12, "{area} {bare}");
}

#[test]
fn gossip_with_attacks_goes_the_way_of_gossip_without() {
    let mut attacks = membership();
    attacks.push(Chosen::new(LinkStealing {
        known: 0.0,
        features: false,
    }));
    let (with, without) = (
        played(&gossip(0.01, Attacked::Clients, attacks), &nodes(true), 2),
        played(&gossip(0.01, Attacked::Clients, Vec::new()), &nodes(true), 2),
    );
    same_run(&with, &without);
}

#[test]
fn nobody_reads_updates_where_there_is_no_server() {
    let attacks = vec![
        Chosen::new(LossThreshold {}) as Chosen<dyn Attack>,
        Chosen::new(GradientInversion {}),
        Chosen::new(ClientLinking { rounds: 2 }),
    ];
    let broken = gossip(0.01, Attacked::Clients, attacks).broken();
    let paths: Vec<&str> = broken.iter().map(|broken| &*broken.path).collect();
    assert_eq!(paths, ["attacks.1", "attacks.2"]);
    assert!(broken[0].rule.contains("omit it"), "{broken:?}");
    let unasked = Runnable::of(gossip(0.01, Attacked::Mean, Vec::new()))
        .about
        .lints
        .clone();
    assert!(unasked.iter().any(|doubt| doubt.path == "attacked"), "{unasked:?}");
}
