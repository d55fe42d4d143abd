//! What is said of settings, numbers and messages.
#![allow(clippy::unwrap_used, reason = "what is not found fails the test")]

use folkmoot_classifiers::only;
use folkmoot_metrics::table::Column;
use folkmoot_scenarios::explain::{Found, ending_in, explain};
use folkmoot_scenarios::glossary::{Word, look_up, no_score, tables, unknown};

fn found(path: &str) -> Vec<String> {
    let found = explain(path, &only()).unwrap();
    let name = |found: Found| match found {
        Found::Component(component) => format!("{} {}", component.what, component.name),
        Found::Field { path, field, .. } => format!("{path} = {}", field.default.unwrap_or_default()),
        Found::Variant { path, .. } => path,
    };
    found.into_iter().map(name).collect()
}

#[test]
fn a_path_leads_to_every_part_that_has_the_field() {
    assert_eq!(
        found("strategy.training.learning_rate").len(),
        4,
        "of FedAvg, Scaffold, Federated and Gossip"
    );
    assert_eq!(found("FedAvg.model.hidden"), ["FedAvg.model.hidden = 16"]);
    assert_eq!(found("strategy.FedAvg.model.hidden"), ["FedAvg.model.hidden = 16"]);
    assert_eq!(
        found("strategy.Federated.protocol.server_optimizer.beta1"),
        ["Adam.beta1 = 0.9", "Yogi.beta1 = 0.9"]
    );
    assert_eq!(found("FedAvg.protocol.server_optimizer.Yogi.tau"), ["Yogi.tau = 0.001"]);
    assert_eq!(found("header_bytes"), ["header_bytes = 40"]);
    assert_eq!(found("cohort.Size.over_select"), ["Size.over_select = 1.0"]);
    assert_eq!(
        found("network.uplink.latency_ms"),
        ["Links.uplink.latency_ms = Constant(20.0)"]
    );
    assert_eq!(
        found("network.uplink.latency_ms.Uniform.low"),
        ["Links.uplink.latency_ms.Uniform.low = "]
    );
}

#[test]
fn a_name_leads_to_every_part_and_variant_of_that_name() {
    assert_eq!(found("FedAvg"), ["strategy FedAvg"]);
    assert_eq!(found("Ideal"), ["network Ideal", "model of devices Ideal"]);
    assert_eq!(
        found("FedAvg.protocol.aggregator.TrimmedMean"),
        ["aggregation rule TrimmedMean"]
    );
    assert_eq!(found("strategy.Gossip"), ["strategy Gossip"]);
    assert_eq!(
        found("strategy.model.encoder.Gat").len(),
        4,
        "of FedAvg, Federated, Gossip and Scaffold"
    );
}

#[test]
fn a_wrong_path_is_told_where_it_goes_wrong() {
    let wrong = |path: &str| explain(path, &only()).unwrap_err();
    assert_eq!(
        wrong("FedAgv"),
        "there is no `FedAgv` in a card, did you mean `FedAvg`?"
    );
    let said = wrong("strategy.toplogy");
    assert_eq!(said, "there is no `toplogy` in strategy, did you mean `topology`?");
    assert!(wrong("network.uplink.latency").ends_with("did you mean `latency_ms`?"));
    assert!(wrong("").starts_with("there is no `` in a card"));
    assert!(wrong("seed.x").starts_with("there is no `x` in seed"));
}

#[test]
fn a_bare_name_leads_to_the_paths_that_end_in_it() {
    let registry = only();
    let ending = |name: &str| ending_in(name, &registry);
    assert_eq!(ending("completeness"), ["strategy.protocol.completeness"]);
    assert_eq!(ending("over_select"), ["cohort.over_select"]);
    assert_eq!(ending("uplink.latency_ms"), ["network.uplink.latency_ms"]);
    let rates = ending("learning_rate");
    assert!(
        rates.len() > 1 && rates.contains(&"strategy.training.learning_rate".to_owned()),
        "{rates:?}"
    );
    assert_eq!(ending("select"), [""; 0]);
    assert_eq!(ending(""), [""; 0]);
}

#[test]
fn a_name_leads_to_numbers_messages_and_columns() {
    let registry = only();
    let look = |name: &str| look_up(name, &registry);
    let Word::Number(term, of) = &look("test_accuracy@majority_class")[0] else {
        panic!()
    };
    assert_eq!(
        (&*term.words, &of[..]),
        ("Test accuracy", &["FedAvg", "Scaffold", "Federated"][..])
    );
    let stale = Column {
        name: "staleness_mean",
        holds: "a float",
        about: "Mean staleness of the aggregated updates, in rounds.",
    };
    assert_eq!(look("staleness_mean"), [Word::Column("rounds.csv".to_owned(), stale)]);
    assert!(matches!(look("model")[..], [Word::Message(..), ..]));
    assert!(
        matches!(&look("payload_bytes")[..], [Word::Number(_, of), Word::Column(..), Word::Column(..)] if of.is_empty())
    );
    assert!(matches!(&look("rounds.csv")[..], [Word::Table(_, columns)] if columns.len() == 7));
    let files = |name: &str| {
        let file = |word| match word {
            Word::Table(file, _) | Word::Column(file, _) => file,
            other => panic!("{other:?}"),
        };
        look(name).into_iter().map(file).collect::<Vec<String>>()
    };
    assert_eq!(files("links.csv"), ["artifacts/links.csv"]);
    assert_eq!(files("messages.csv"), ["messages.csv"]);
    assert_eq!(look("nosuch"), []);
    assert_eq!(look("nosuch_messages"), []);
}

#[test]
fn every_message_and_column_says_what_it_is() {
    for glossary in only().glossaries() {
        for (_, known) in &glossary.kinds {
            assert!(known.about.ends_with('.'), "{}: {known:?}", glossary.strategy);
        }
    }
    for (file, columns) in tables(&only()) {
        for column in columns {
            assert!(column.about.ends_with('.'), "{file}: {column:?}");
        }
    }
}

#[test]
fn a_number_that_no_strategy_of_the_card_has_is_unknown() {
    let registry = only();
    let says = |metric: &str, of: &[&str]| {
        let of: Vec<String> = of.iter().map(|name| (*name).to_owned()).collect();
        unknown(metric, &of, &registry)
    };
    assert_eq!(says("test_accuracy", &["FedAvg"]), None);
    assert_eq!(
        says("tset_accuracy", &["FedAvg"]).unwrap(),
        "no run of FedAvg has a number `tset_accuracy`, did you mean `test_accuracy`?"
    );
    assert_eq!(
        says("nosuch", &["FedAvg"]).unwrap(),
        "no run of FedAvg has a number `nosuch`"
    );
    assert_eq!(says("consensus_distance", &["FedAvg", "Gossip"]), None);
    assert!(says("consensus_distance", &["FedAvg"]).is_some());
    assert_eq!(says("nosuch", &["FedAvg", "Elsewhere"]), None);
    assert!(says("test_rounds", &["FedAvg"]).is_some());
    assert!(says("accuracy_std_std", &["FedAvg"]).is_some());
    // Whose clients are scored one by one, and whose are not.
    for strategy in ["FedAvg", "Scaffold", "Federated", "Gossip"] {
        assert_eq!(says("test_own_worst_tenth", &[strategy]), None, "{strategy}");
    }
}

#[test]
fn a_target_is_a_score_of_a_strategy_of_the_card() {
    let registry = only();
    let says = |score: &str, of: &[&str]| {
        let of: Vec<String> = of.iter().map(|name| (*name).to_owned()).collect();
        no_score(score, &of, &registry)
    };
    assert_eq!(says("test_accuracy", &["FedAvg"]), None);
    assert_eq!(says("test_accuracy", &["Gossip", "FedAvg"]), None);
    assert_eq!(says("nosuch", &["FedAvg", "Elsewhere"]), None);
    let total = "is a total of the run, and no score of a round";
    assert_eq!(says("payload_bytes", &["FedAvg"]).unwrap(), total);
    assert!(says("test_rounds", &["FedAvg"]).is_some());
    let near = "no run of FedAvg has a score `test_acuracy`, did you mean `test_accuracy`?";
    assert_eq!(says("test_acuracy", &["FedAvg"]).unwrap(), near);
    let bare = "is scored on parts of the data; name one: `test_accuracy`";
    assert_eq!(says("accuracy", &["FedAvg"]).unwrap(), bare);
    assert_eq!(says("test_cohort_accuracy", &["Federated"]), None);
    assert!(says("cohort_accuracy", &["Federated"]).is_some());
}
