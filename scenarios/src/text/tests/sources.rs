//! Values parsed out of the middle of a card.

use super::{FedWalk, WHOLE, lines, source};
use crate::text::{Problems, Source, parse, variant_of};

#[test]
fn a_nested_value_keeps_the_cards_positions() {
    let text = "(\n  seed: 1,\n  strategy: FedWalk(walk_lenth: 3,\n    predictor_prob: \"x\"),\n)";
    let strategy = source(text).within("strategy").unwrap();
    let variant = variant_of(&strategy).unwrap();
    assert_eq!((variant.name.as_str(), variant.body.text().len()), ("FedWalk", 40));
    let mut problems = parse::<FedWalk>(&variant.body).unwrap_err();
    problems.push_at("walk_length", "must be even, got 3");
    let mut all = Problems::new(&source(text));
    all.push_at("strategy", "unknown strategy `FedWalk`");
    all.append(problems);
    let expected = [
        "3:13 strategy: unknown strategy `FedWalk`",
        "3:21 strategy.walk_lenth: unknown field `walk_lenth`, did you mean `walk_length`?",
        "4:21 strategy.predictor_prob: expected a number, got text",
        "strategy.walk_length: must be even, got 3",
    ];
    assert_eq!(lines(&all), expected);
}

#[test]
fn a_bare_name_has_an_empty_body_at_its_place() {
    let strategy = source("(strategy: FedWalk)").within("strategy").unwrap();
    let variant = variant_of(&strategy).unwrap();
    assert_eq!(parse::<FedWalk>(&variant.body).unwrap(), FedWalk::default());
    assert_eq!(lines(&parse::<(u8,)>(&variant.body).unwrap_err()).len(), 1);
}

#[test]
fn other_values_are_no_variants() {
    for text in [
        "(strategy: 3)",
        "(strategy: [1])",
        "(strategy: (a: 1))",
        "(strategy: true)",
    ] {
        let strategy = source(text).within("strategy").unwrap();
        let message = lines(&variant_of(&strategy).unwrap_err()).join("\n");
        assert!(
            message.starts_with("1:12 strategy: expected a name, as in Name or Name(field: value), got "),
            "{message}"
        );
    }
}

#[test]
fn values_are_found_by_path() {
    let card = source(WHOLE);
    assert_eq!(card.value("network.latency.median_ms"), Some("40"));
    assert_eq!(card.value("sweep.axes.\"strategy.predictor_prob\".1"), Some("0.1"));
    assert_eq!(card.value("sweep.seeds.01"), None);
    assert_eq!(card.value("network.nothing"), None);
    assert_eq!(
        card.within("network").unwrap().within("latency").unwrap().path(),
        "network.latency"
    );
}

#[test]
fn extensions_of_the_card_hold_for_its_parts() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Meters(f64);
    let card = source("#![enable(unwrap_newtypes)]\n(strategy: 3.5)");
    assert_eq!(parse::<Meters>(&card.within("strategy").unwrap()).unwrap(), Meters(3.5));
    let unknown = source("#![enable(everything)]\n()");
    assert_eq!(lines(&parse::<FedWalk>(&unknown).unwrap_err()).len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem() {
    let refused = Source::read(std::path::Path::new("no/such/card.ron")).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("error: no/such/card.ron has 1 problem\n  cannot be read: ")
    );
}
