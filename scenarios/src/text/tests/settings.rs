//! `--set` and its messages.

use super::{Card, FedWalk, Network, WHOLE, lines, source};
use crate::text::{apply, apply_axis, apply_default, apply_setting, parse, recover, variant_of};

fn set(text: &str, settings: &[&str]) -> crate::text::Source {
    settings
        .iter()
        .fold(source(text), |source, setting| apply_setting(&source, setting).unwrap())
}

fn refused(text: &str, setting: &str) -> String {
    lines(&apply_setting(&source(text), setting).unwrap_err()).join("\n")
}

fn problems(text: &str, settings: &[&str]) -> Vec<String> {
    lines(&recover::<Card>(&set(text, settings)).1)
}

#[test]
fn values_are_replaced_inserted_and_nested() {
    let card: Card = parse(&set(
        WHOLE,
        &[
            "seed=7",
            "cohort.size=3",
            "cohort.is_uniform=true",
            "deadline_ms=Some(5)",
        ],
    ))
    .unwrap();
    assert_eq!(
        (card.seed, card.cohort.size, card.cohort.is_uniform, card.deadline_ms),
        (7, 3, true, Some(5.0))
    );
    let card: Card = parse(&set(WHOLE, &["network.latency=Fixed(2)", "network.loss_prob=0.5"])).unwrap();
    assert_eq!(
        card.network,
        Network::Links {
            latency: crate::text::tests::Latency::Fixed(2.0),
            loss_prob: 0.5
        }
    );
    let card: Card = parse(&set("()", &["cohort.size=3", "seed=2 // why"])).unwrap();
    assert_eq!((card.seed, card.cohort.size), (2, 3));
    let card: Card = parse(&set("(seed: 1 // last, without a comma\n)", &["cohort=(size: 4)"])).unwrap();
    assert_eq!((card.seed, card.cohort.size), (1, 4));
    let card: Card = parse(&set(WHOLE, &["sweep.seeds.1=9"])).unwrap();
    assert_eq!(card.sweep.seeds, [1, 9]);
    let changed = set(WHOLE, &["sweep.axes.\"cohort.size\"=[6, 7]", "sweep.axes.seed=[1]"]);
    let card: Card = parse(&changed).unwrap();
    assert_eq!(card.sweep.axes["cohort.size"].len(), 2);
    assert_eq!(card.sweep.axes["seed"].len(), 1);
    // Maps that the card does not write are written as maps.
    let card: Card = parse(&set("()", &["sweep.axes.\"cohort.size\"=[6, 7]"])).unwrap();
    assert_eq!(card.sweep.axes["cohort.size"].len(), 2);
    let text = |setting: &str| set("()", &[setting]).text().split_whitespace().collect::<String>();
    assert_eq!(text("targets.test_accuracy=0.6"), "(targets:{\"test_accuracy\":0.6})");
    assert_eq!(text("targets.\"a b\"=1"), "(targets:{\"ab\":1})");
    let arm = text("sweep.arms.FedProx.\"strategy.training.fedprox_mu\"=0.1");
    assert_eq!(
        arm,
        "(sweep:(arms:{\"FedProx\":{\"strategy.training.fedprox_mu\":0.1}}))"
    );
}

#[test]
fn settings_reach_into_variants_and_through_some() {
    let changed = set(WHOLE, &["strategy.predictor_prob=0.7", "strategy.walk_length=9"]);
    let body = variant_of(&changed.within("strategy").unwrap()).unwrap().body;
    assert_eq!(
        parse::<FedWalk>(&body).unwrap(),
        FedWalk {
            walk_length: 9,
            predictor_prob: 0.7
        }
    );
    let changed = set("(strategy: Some(FedWalk))", &["strategy.walk_length=9"]);
    let variant = variant_of(&changed.within("strategy").unwrap()).unwrap();
    assert_eq!(
        (
            variant.name.as_str(),
            parse::<FedWalk>(&variant.body).unwrap().walk_length
        ),
        ("FedWalk", 9)
    );
}

#[test]
fn keys_of_an_app_may_hold_dots() {
    let app = |config: &str| format!("(strategy: App(config: {config}))");
    let with = |config: &str, setting: &str| set(&app(config), &[setting]).text().replace(' ', "");
    for (before, setting, after) in [
        ("{}", "strategy.config.deep.value=2", r#"{"deep.value":2}"#),
        (
            r#"{"deep.value": 1}"#,
            "strategy.config.deep.value=2",
            r#"{"deep.value":2}"#,
        ),
        (
            r#"{"deep.value": 1}"#,
            r#"strategy.config."deep.value"=2"#,
            r#"{"deep.value":2}"#,
        ),
        // The first part is a key of its own.
        (
            r#"{"layers": [8, 8]}"#,
            "strategy.config.layers.1=4",
            r#"{"layers":[8,4]}"#,
        ),
    ] {
        assert_eq!(with(before, setting), app(after).replace(' ', ""), "{before} {setting}");
    }
    assert_eq!(
        source(&app(r#"{"a.b": 1}"#)).value("strategy.config.a.b"),
        Some("1"),
        "it is found again"
    );
}

#[test]
fn quotes_may_be_left_out_where_only_text_fits() {
    for (value, question) in [
        ("hello", "hello"),
        ("hello, world?", "hello, world?"),
        ("dir/a-b", "dir/a-b"),
        ("\"a b\"", "a b"),
    ] {
        for text in ["()", WHOLE] {
            let card: Card = parse(&set(text, &[&format!("question={value}")])).unwrap();
            assert_eq!(card.question, question);
        }
    }
    let card: Card = parse(&set(WHOLE, &["question=FedWalk (KDD 2022)"])).unwrap();
    assert_eq!(card.question, "FedWalk (KDD 2022)");
    assert_eq!(
        problems("()", &["question=3"]),
        ["--set question: expected text in double quotes, got `3`"]
    );
    assert_eq!(
        problems("()", &["sweep.seeds=1, 2"]),
        ["--set sweep.seeds: expected a list, as in [a, b], got text"]
    );
    assert_eq!(
        problems("(question: \"x\")", &["seed=hello"]),
        ["--set seed: expected a whole number, got the name `hello`"]
    );
}

#[test]
fn problems_of_settings_carry_their_names() {
    assert_eq!(
        problems(WHOLE, &["sede=3"]),
        ["--set sede: unknown field `sede`, did you mean `seed`?"]
    );
    assert_eq!(
        problems(WHOLE, &["network=Links(latncy: Fixed(1))"]),
        [
            "--set network: network.latncy: unknown field `latncy` of `Links`, did you mean `latency`?",
            "--set network: missing field `latency` of `Links`",
        ]
    );
    assert_eq!(
        problems("()", &["cohrt.size=3"]),
        ["--set cohrt.size: cohrt: unknown field `cohrt`, did you mean `cohort`?"]
    );
    assert_eq!(
        problems("()", &["network.loss_prob=0.1"]),
        [
            "--set network.loss_prob: network: expected a name, as in Name or Name(field: value), got fields in parentheses; give the whole value, with the name before the parentheses"
        ]
    );
    let (_, mut found) = recover::<Card>(&set(WHOLE, &["cohort.size=300", "seed=2"]));
    found.push_at("cohort.size", "must lie in 1..=200 (n_clients), got 300");
    assert_eq!(
        lines(&found),
        ["--set cohort.size: must lie in 1..=200 (n_clients), got 300"]
    );
    let body = variant_of(&set(WHOLE, &["strategy.predicter_prob=0.2"]).within("strategy").unwrap())
        .unwrap()
        .body;
    assert_eq!(
        lines(&parse::<FedWalk>(&body).unwrap_err()),
        ["--set strategy.predicter_prob: unknown field `predicter_prob`, did you mean `predictor_prob`?"]
    );
    let swept = apply_axis(&source(WHOLE), "seed", "x").unwrap();
    assert_eq!(
        lines(&recover::<Card>(&swept).1),
        ["sweep axis seed = x: expected a whole number, got the name `x`"]
    );
}

#[test]
fn positions_are_those_of_the_file_whatever_is_spliced_before() {
    let text = "(question: \"x\", seed: \"y\",\n cohort: (size: z))";
    let shifted = problems(
        text,
        &[
            "question=\"much longer than before\nand on two lines\"",
            "deadline_ms=1",
        ],
    );
    let plain = problems(text, &[]);
    assert_eq!(shifted, plain);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    assert_eq!(
        refused(WHOLE, "seed"),
        "--set seed: needs a value after the path, as in seed=1"
    );
    assert_eq!(
        refused(WHOLE, "seed="),
        "--set seed: needs a value after the `=`; for an empty text write '\"\"'"
    );
    assert_eq!(refused(WHOLE, "=3"), "--set : needs the path of a field, as in seed=1");
    assert_eq!(
        refused(WHOLE, "a..b=3"),
        "--set a..b: a path is field names joined by single dots, as in network.loss_prob"
    );
    assert_eq!(
        refused(WHOLE, "seed.x=3"),
        "--set seed.x: `seed` is `1` and has no field `x`"
    );
    assert_eq!(
        refused(WHOLE, "sweep.seeds.5=3"),
        "--set sweep.seeds.5: `sweep.seeds` has 2 items, counted from 0, and no `5`"
    );
    assert_eq!(refused(WHOLE, "a b=3"), "--set a b: `a b` is no name of a field");
    assert_eq!(
        refused(WHOLE, "network=Links(latency: 3"),
        "--set network: the value `Links(latency: 3` is not valid: `(` is never closed; add `)`"
    );
    assert_eq!(
        refused(WHOLE, "seed=(1) (2)"),
        "--set seed: the value `(1) (2)` is not valid: nothing may follow the value; is a bracket closed too early?"
    );
    assert_eq!(refused("(seed: 1", "seed=2"), "1:1 `(` is never closed; add `)`");
    let deep = "a.".repeat(1_000) + "a=1";
    assert!(refused(WHOLE, &deep).ends_with("the path has too many parts"));
    assert!(apply(&source(WHOLE), "question", &"x".repeat(2_000_000)).is_err());
}

#[test]
fn what_is_laid_under_a_card_takes_only_the_room_that_is_left() {
    let card = source("(seed: 1, cohort: (size: 3))");
    let laid = |path: &str, value: &str| apply_default(&card, "variant: Wide", path, value);
    for path in ["seed", "cohort.size", "seed.x", "cohort.size.x"] {
        assert_eq!(laid(path, "7").text(), card.text(), "{path}");
    }
    let (wide, problems) = recover::<Card>(&laid("cohort.is_uniform", "true"));
    let cohort = wide.unwrap().cohort;
    assert!(problems.is_empty() && cohort.is_uniform && cohort.size == 3);
    let said = lines(&recover::<Card>(&laid("drop_prob", "2")).1);
    assert_eq!(said, ["variant: Wide: drop_prob: must lie in 0..=1, got 2"]);
}
