//! One scale of inputs for all clients, under each method that carries it.

use super::{averaged, left};
use folkmoot_classifiers::federated::Params;
use folkmoot_engine::prelude::*;

fn settings(method: &str, scale: &str) -> Result<Params, String> {
    let text = format!(
        "(method: {method}, scale: {scale}, model: (encoder: Gin, hidden: 8, readout: Mean), inputs: Degree(most: 8),
          split: Shares(train: 0.6, validation: 0.1), training: (epochs: 2, batch_size: 4, learning_rate: 0.05),
          protocol: (rounds: 4, weighting: Uniform))"
    );
    folkmoot_classifiers::only()
        .settings(&text)
        .map_err(|problems| format!("{problems:?}"))
}

#[test]
fn a_scale_comes_with_every_model_and_stays_as_it_is() {
    let federated = |method| settings(method, "Federated").unwrap();
    let play = |params: &Params, dry_run| {
        let options = Options {
            dry_run,
            ..Options::default()
        };
        left(params, &World::ideal(), options)
    };
    let global = play(&federated("Global()"), false).1.model;
    assert!(global == averaged(&federated("Global()"), &World::ideal()));
    let scale = |model: &[f32]| model[model.len() - 18..].to_vec();
    assert!(scale(&global).iter().any(|x| *x != 0.0 && *x != 1.0 && *x < 100.0));
    for method in [
        "FineTuned(epochs: 2)",
        "Ditto()",
        "Moon()",
        "FedDyn()",
        "FedPer()",
        "FedRep()",
    ] {
        let params = federated(method);
        let (wet, now) = play(&params, false);
        assert_eq!(scale(&now.model), scale(&global), "{method}");
        assert!(now.model.iter().all(|x| x.is_finite()), "{method}");
        let (dry, _) = play(&params, true);
        assert_eq!(wet.ledger, dry.ledger, "{method}");
        let rows: Vec<_> = wet
            .ledger
            .rows()
            .filter(|(kind, ..)| kind.name == "statistics")
            .collect();
        let bytes: u64 = rows.iter().map(|(.., cell)| cell.payload_bytes).sum();
        assert_eq!(bytes, u64::from(super::N_CLIENTS) * (8 + 16 * 9), "{method}");
    }
}

#[test]
fn methods_without_a_model_for_all_cannot_carry_a_scale() {
    for method in ["LocalOnly()", "FedNova()", "Gcfl()", "Ifca()", "FedPub()", "FedGta()"] {
        let said = settings(method, "Federated").unwrap_err();
        assert!(said.contains("only with one global model"), "{method}: {said}");
    }
}
