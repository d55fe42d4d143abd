//! Whole clients hidden: the methods of which all that is sent is the change of one model, and what
//! clients of the others tell besides.

use super::{Left, averaged, left, some};
use folkmoot_classifiers::fed_avg;
use folkmoot_classifiers::federated::Params;
use folkmoot_engine::prelude::*;
use folkmoot_scenarios::algorithm::Algorithm;

/// Those whose clients tell nothing besides.
const ALONE: [&str; 7] = [
    "Global()",
    "FineTuned(epochs: 2)",
    "Ditto()",
    "Moon()",
    "FedDyn()",
    "FedPer()",
    "FedRep()",
];
const BARE: &str = "Clients(noise_multiplier: 0)";

fn text(method: &str, private: &str, more: &str) -> String {
    format!(
        "({method} model: (encoder: Gin, hidden: 8, readout: Mean), inputs: Degree(most: 8), split: Shares(train: 0.6, validation: 0.1),
          training: (epochs: 2, batch_size: 4, learning_rate: 0.05), protocol: (rounds: 3, weighting: Uniform, private: {private}){more})"
    )
}

fn params(method: &str, private: &str) -> Params {
    let text = text(&format!("method: {method},"), private, "");
    folkmoot_classifiers::only()
        .settings(&text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

fn play(method: &str, private: &str, world: &World) -> Left {
    left(&params(method, private), world, Options::default()).1
}

/// With a few asked in each round, so that what clients keep is of several ages.
#[test]
fn without_a_limit_and_noise_no_bit_changes() {
    for method in ALONE {
        for world in [World::ideal(), some(4)] {
            let (open, bare) = (play(method, "Off", &world), play(method, BARE, &world));
            assert!(open.model.iter().all(|x| x.is_finite()));
            assert!(open == bare, "{method}");
        }
    }
    let open = params("Global()", BARE);
    assert!(play("Global()", BARE, &some(4)).model == averaged(&open, &some(4)));
    // A model of one's own beside the common one changes nothing of that, hidden or not.
    let noisy = "Clients(clip: 0.1, noise_multiplier: 0.5)";
    let global = play("Global()", noisy, &some(4)).model;
    for method in ["FineTuned(epochs: 2)", "Ditto()"] {
        assert!(play(method, noisy, &some(4)).model == global, "{method}");
    }
    assert!(global != play("Global()", BARE, &some(4)).model);
}

#[test]
fn it_is_charged_as_federated_averaging_is() {
    let noisy = "Clients(clip: 0.1, noise_multiplier: 2)";
    let theirs: fed_avg::Params = folkmoot_classifiers::only().settings(&text("", noisy, "")).unwrap();
    let prepared = super::prepared(&theirs);
    let expected = run(
        prepared.system(),
        &some(4),
        super::SEED,
        Options::default(),
        &mut Unobserved,
    )
    .unwrap();
    let row = expected.tables.privacy.last().unwrap();
    assert_eq!(row.mechanism, "Gaussian noise: sum of changes");
    assert!(row.epsilon_renyi.is_some_and(|epsilon| epsilon > 0.1), "{row:?}");
    for method in ALONE {
        let (outcome, _) = left(&params(method, noisy), &some(4), Options::default());
        assert_eq!(
            format!("{:?}", outcome.tables.privacy),
            format!("{:?}", expected.tables.privacy),
            "{method}"
        );
    }
}

#[test]
fn what_else_is_told_is_named() {
    fn refused<P: Algorithm>(text: &str, words: &str) {
        let problems = folkmoot_classifiers::only().settings::<P>(text).err();
        let said = format!("{:?}", problems.unwrap_or_else(|| panic!("{text} is taken")));
        assert!(
            said.contains("protocol.private") && said.contains(words),
            "{text}: {said}"
        );
    }
    for (method, words) in [
        ("FedNova()", "how far their steps reach"),
        ("Ifca()", "which model they chose"),
        ("Gcfl()", "parts clients by their updates"),
        ("FedPub()", "the mean row of a graph"),
        ("FedGta()", "moments of what their model says"),
        ("LocalOnly()", "nothing to hide"),
    ] {
        refused::<Params>(&text(&format!("method: {method},"), BARE, ""), words);
    }
    refused::<Params>(
        &text("", BARE, ", scale: Federated"),
        "statistics of what their nodes bring",
    );
    refused::<Params>(&text("", "Items(clip: 1.0)", ""), "gradient of single items");
    let normalised = text("", BARE, "").replace("Gin,", "GinBatchNorm,");
    refused::<Params>(&normalised, "running statistics");
    refused::<fed_avg::Params>(&normalised, "running statistics");
    refused::<fed_avg::Params>(
        &text("", "Items(clip: 1.0)", ", scale: Standardised"),
        "all graphs of a client",
    );
    refused::<folkmoot_classifiers::scaffold::Params>(&text("", BARE, ""), "control variate");
}
