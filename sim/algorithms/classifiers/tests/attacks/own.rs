//! Attacks on the models that clients answer with, where each has one of its own.

use super::*;
use folkmoot_classifiers::federated::{self, Attacked, FedPer, FineTuned, Global, LocalOnly, Method};

/// Networks and training as in the attacks on one model.
fn own(method: Chosen<dyn Method>, rate: f64, attacks: Vec<Chosen<dyn Attack>>) -> federated::Params {
    let one = params(rate, attacks);
    federated::Params {
        method,
        model: one.model,
        training: one.training,
        inputs: one.inputs,
        split: one.split,
        protocol: one.protocol,
        attacks: one.attacks,
        attacked: Attacked::Clients,
        ..federated::Params::default()
    }
}

fn methods() -> [(&'static str, Chosen<dyn Method>); 3] {
    [
        ("LocalOnly", Chosen::new(LocalOnly {})),
        ("FedPer", Chosen::new(FedPer::default())),
        ("FineTuned", Chosen::new(FineTuned::default())),
    ]
}

fn played(n_clients: u32, dataset: &Arc<Dataset>, params: &federated::Params, threads: usize) -> Outcome {
    let mut rng = Streams::new(1).global(Purpose(*b"partitn "));
    let spec = partition::Iid { n_clients };
    let partition: Arc<Partition> = Arc::new(spec.divide(dataset, &mut rng).unwrap());
    run_on(&Runnable::of(params.clone()), dataset, &partition, threads)
}

/// Three clients learn the classes of 40 nodes each by heart, with models of their own.
#[test]
fn members_are_found_where_clients_have_learned_their_items_by_heart() {
    let dataset = nodes(false);
    for (name, method) in methods() {
        let planted = played(3, &dataset, &own(method.clone(), 0.02, membership()), 1);
        for area in AREAS {
            let found = number(&planted, area);
            assert!(found > 0.75, "{name}: {area} {found} of {:?}", planted.summary);
        }
        for area in ["lira_online_auc@other_model", "loss_membership_auc@untrained"] {
            let found = number(&planted, area);
            assert!((found - 0.5).abs() < 0.15, "{name}: {area} {found}");
        }
        assert_eq!(number(&planted, "lira_others"), 120.0);
    }
    let (_, method) = methods().into_iter().next().unwrap();
    let params = own(method, 0.02, membership());
    assert_eq!(
        played(3, &dataset, &params, 1).summary,
        played(3, &dataset, &params, 2).summary
    );
}

/// So small a rate that no number moves: clients of methods with a public start all begin alike,
/// shadows too, so that the least step would tell.
#[test]
fn no_member_is_found_where_clients_have_learned_nothing() {
    for (name, method) in methods() {
        let bare = played(3, &nodes(false), &own(method, 1e-30, membership()), 1);
        for area in AREAS {
            let found = number(&bare, area);
            assert!((found - 0.5).abs() < 0.15, "{name}: {area} {found}");
        }
    }
}

/// Where there is one model, every client answers with it.
#[test]
fn one_model_is_given_away_alike_whoever_is_asked() {
    let mut attacks = membership();
    attacks.push(Chosen::new(LinkStealing {
        known: 0.2,
        features: true,
    }));
    let clients = own(Chosen::new(Global {}), 0.02, attacks);
    let server = federated::Params {
        attacked: Attacked::Server,
        ..clients.clone()
    };
    let dataset = nodes(true);
    assert_eq!(
        played(2, &dataset, &clients, 1).summary,
        played(2, &dataset, &server, 1).summary
    );
}

#[test]
fn links_are_found_by_what_clients_answer_and_not_without_edges() {
    for (name, method) in methods() {
        let attacks = vec![Chosen::new(LinkStealing {
            known: 0.2,
            features: true,
        }) as Chosen<dyn Attack>];
        let outcome = played(2, &nodes(true), &own(method, 0.01, attacks), 1);
        let area = number(&outcome, "link_correlation_auc");
        let bare = number(&outcome, "link_correlation_auc@no_graph");
        assert!(area > 0.85 && (bare - 0.5).abs() < 0.12, "{name}: {area} {bare}");
    }
}

#[test]
fn who_cannot_be_asked_is_said() {
    let (_, method) = methods().into_iter().next().unwrap();
    let attacks = || vec![Chosen::new(LossThreshold {}) as Chosen<dyn Attack>];
    let server = federated::Params {
        attacked: Attacked::Server,
        ..own(method.clone(), 0.01, attacks())
    };
    let outcome = played(2, &nodes(false), &server, 1);
    let warned = |text: &str| outcome.warnings.iter().any(|warning| warning.contains(text));
    assert!(
        warned("nobody was attacked") && warned("strategy.attacked: Clients"),
        "{:?}",
        outcome.warnings
    );
    let linking = vec![
        Chosen::new(LossThreshold {}) as Chosen<dyn Attack>,
        Chosen::new(ClientLinking { rounds: 2 }),
    ];
    let broken = own(method, 0.01, linking).broken();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(broken[0].path, "attacks.1");
    assert!(broken[0].rule.contains("attacked: Server"), "{broken:?}");
}
