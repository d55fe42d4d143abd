#![allow(clippy::unwrap_used, reason = "a claim that cannot be read fails its test")]

mod overall;
mod pooled;
mod rules;

use super::*;
use crate::claims::Claims;

const CARD: &str = "toy/probs";
const AXIS: &str = "strategy.prob";

/// A claim on `toy/probs` at p = 0.2, with these fields besides.
fn claim(fields: &str) -> Claim {
    let text = format!(
        r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, metric: "m", {fields})])"#
    );
    Claims::read("s", &text).unwrap().claims.remove(0)
}

fn run(p: &str) -> RunKey {
    RunKey {
        card: CARD.to_owned(),
        arm: BTreeMap::from([(AXIS.to_owned(), p.to_owned())]),
        set: Vec::new(),
    }
}

/// Runs at some p with the values of `m` under seeds 1, 2, …
fn evidence(runs: &[(&str, &[f64])]) -> Evidence {
    let mut evidence = Evidence::default();
    for (p, values) in runs {
        for (seed, value) in (1..).zip(values.iter()) {
            let measured = Measured {
                card: format!("card {p}"),
                version: 1,
                fingerprint: format!("{p}-{seed}"),
                values: BTreeMap::from([("m".to_owned(), *value)]),
            };
            evidence.add(&run(p), seed, measured);
        }
    }
    evidence
}

fn verdict(fields: &str, runs: &[(&str, &[f64])]) -> Verdict {
    decide(&claim(fields), false, &evidence(runs)).verdict
}

#[test]
fn a_printed_number_is_exact_if_every_seed_gives_its_digits() {
    let exact = r#"printed: "32.31", rule: Exact"#;
    assert_eq!(verdict(exact, &[("0.2", &[32.3051, 32.3149])]), Verdict::Exact);
    assert_eq!(verdict(exact, &[("0.2", &[32.3051, 32.3151])]), Verdict::Refuted);
    let scaled = r#"printed: "3231", rule: Exact, scale: 100"#;
    assert_eq!(verdict(scaled, &[("0.2", &[32.31])]), Verdict::Exact);
}

#[test]
fn a_printed_number_agrees_within_a_margin_and_is_not_contradicted_within_four_standard_errors() {
    // Mean 2, standard error 1 / sqrt(3) = 0.577: four are 2.309, and half of the last printed
    // digit is 0.05.
    let near = r#"printed: "4.3", rule: Statistical"#;
    let far = r#"printed: "4.4", rule: Statistical"#;
    let runs: &[(&str, &[f64])] = &[("0.2", &[1.0, 2.0, 3.0])];
    // The interval is 2 ± 2.484, so that it ends 4.8 below the printed number.
    let found = decide(&claim(near), false, &evidence(runs));
    assert_eq!(
        (found.verdict, found.why.as_str()),
        (Verdict::NotContradicted, "off by 2.3; a margin of 4.8 would pass")
    );
    assert_eq!(verdict(&format!("{near}, margin: 4.7"), runs), Verdict::NotContradicted);
    let agrees = decide(&claim(&format!("{near}, margin: 4.8")), false, &evidence(runs));
    assert_eq!(
        (agrees.verdict, agrees.why.as_str()),
        (Verdict::Statistical, "off by 2.3; margin 4.8")
    );
    // Both ends of the interval lie within the margin at 2.5 % each.
    assert!(agrees.p.unwrap() < 0.025, "{agrees:?}");
    let refuted = decide(&claim(far), false, &evidence(runs));
    assert_eq!(refuted.verdict, Verdict::Refuted);
    assert!((refuted.p.unwrap() - 0.0533).abs() < 1e-4, "{refuted:?}");
    // A printed deviation of 1 over as many runs makes the standard error of the difference 0.816.
    assert_eq!(
        verdict(r#"printed: "4.4 ± 1.0", rule: Statistical"#, runs),
        Verdict::NotContradicted
    );
    assert_eq!(verdict(near, &[("0.2", &[4.0])]), Verdict::NotRun);
    assert_eq!(verdict(near, &[]), Verdict::NotRun);
}

#[test]
fn differences_are_paired_by_seed() {
    // The two runs differ by 1 under each seed, however much the seeds differ.
    let runs: &[(&str, &[f64])] = &[("0.2", &[11.0, 51.01, 90.99]), ("0.0", &[10.0, 50.0, 90.0])];
    let against = format!(r#"against: (arm: {{ "{AXIS}": "0.0" }}), "#);
    assert_eq!(verdict(&format!("{against}rule: Shape(More)"), runs), Verdict::Shape);
    assert_eq!(verdict(&format!("{against}rule: Shape(Less)"), runs), Verdict::Refuted);
    let printed = format!(r#"{against}printed: "1.0", margin: 0.1, rule: Statistical"#);
    assert_eq!(verdict(&printed, runs), Verdict::Statistical);
    let printed = format!(r#"{against}printed: "2.0", rule: Statistical"#);
    assert_eq!(verdict(&printed, runs), Verdict::Refuted);
    let per_cent = format!(r#"{against}printed: "+50", change: Percent, rule: Exact"#);
    assert_eq!(verdict(&per_cent, &[("0.2", &[3.0]), ("0.0", &[2.0])]), Verdict::Exact);
    // Seeds that only one of them has say nothing of the difference.
    let found = decide(
        &claim(&printed),
        false,
        &evidence(&[("0.2", runs[0].1), ("0.0", &[10.0])]),
    );
    assert_eq!(found.measured.unwrap().n(), 1);
}

#[test]
fn a_margin_is_for_the_whole_interval() {
    // 3 ± 2.48 by Student's interval.
    let runs: &[(&str, &[f64])] = &[("0.2", &[2.0, 3.0, 4.0])];
    for (printed, margin, verdict, why) in [
        ("3.5", "3", Verdict::Statistical, "off by 0.5, 3 would pass"),
        (
            "4.0",
            "3",
            Verdict::Inconclusive,
            "off by 1.0, 3 would pass: undecided over 3 seeds",
        ),
        ("9.0", "3", Verdict::Refuted, "off by 6.0, 3 would pass"),
        ("-3.0", "3", Verdict::Refuted, "off by 6.0, 3 would pass"),
    ] {
        let claim = claim(&format!(r#"printed: "{printed}", rule: Within({margin})"#));
        let found = decide(&claim, false, &evidence(runs));
        assert_eq!((found.verdict, found.why.as_str()), (verdict, why), "{printed}");
    }
    let shown = claim(r#"printed: "9.0", rule: Shown("why")"#);
    let found = decide(&shown, false, &evidence(runs));
    assert_eq!((found.verdict, found.why.as_str()), (Verdict::NotDecidable, "why"));
    assert_eq!(found.text(), "3 ± 2");
    let missing = decide(&shown, false, &evidence(&[]));
    assert_eq!(
        (missing.verdict, missing.why),
        (Verdict::NotRun, format!("not run: {}", run("0.2")))
    );
}

#[test]
fn a_verdict_takes_three_seeds() {
    let against = format!(r#"against: (arm: {{ "{AXIS}": "0.0" }}), "#);
    let rules = [
        ("rule: Shape(More)", Verdict::Shape),
        ("rule: Shape(Less)", Verdict::Refuted),
        ("rule: Shape(Alike(4))", Verdict::Shape),
        (
            r#"printed: "3.0", margin: 0.5, rule: Statistical"#,
            Verdict::Statistical,
        ),
        (r#"printed: "4.0", rule: Statistical"#, Verdict::Refuted),
    ];
    // Equal differences have an interval without a width, which two seeds' scores of few items are
    // too likely to give.
    for (rule, decided) in rules {
        let of = |n: usize| {
            let runs: &[(&str, &[f64])] = &[("0.2", &[4.0, 5.0, 6.0][..n]), ("0.0", &[1.0, 2.0, 3.0][..n])];
            decide(&claim(&format!("{against}{rule}")), false, &evidence(runs))
        };
        let two = of(2);
        assert_eq!(
            (two.verdict, two.why.as_str()),
            (Verdict::NotRun, "2 seeds, and a verdict takes 3")
        );
        assert_eq!(of(3).verdict, decided, "{rule}");
    }
}

#[test]
fn an_order_needs_each_of_its_steps() {
    let order = format!(r#"rule: Shape(Order([{{ "{AXIS}": "0.0" }}, {{ "{AXIS}": "0.1" }}, {{ "{AXIS}": "0.2" }}]))"#);
    let high: &[f64] = &[3.0, 3.1, 3.05];
    let middle: &[f64] = &[2.0, 2.1, 2.05];
    let low: &[f64] = &[1.0, 1.11, 1.05];
    let noisy: &[f64] = &[0.0, 4.0, 1.9];
    assert_eq!(
        verdict(&order, &[("0.0", high), ("0.1", middle), ("0.2", low)]),
        Verdict::Shape
    );
    assert_eq!(
        verdict(&order, &[("0.0", middle), ("0.1", high), ("0.2", low)]),
        Verdict::Refuted
    );
    assert_eq!(
        verdict(&order, &[("0.0", high), ("0.1", middle), ("0.2", noisy)]),
        Verdict::Inconclusive
    );
    assert_eq!(verdict(&order, &[("0.0", high), ("0.2", low)]), Verdict::NotRun);
    let alike = format!(r#"against: (arm: {{ "{AXIS}": "0.0" }}), rule: Shape(Alike(0.5))"#);
    assert_eq!(verdict(&alike, &[("0.0", low), ("0.2", low)]), Verdict::Shape);
    assert_eq!(verdict(&alike, &[("0.0", low), ("0.2", middle)]), Verdict::Refuted);
    assert_eq!(verdict(&alike, &[("0.0", low), ("0.2", noisy)]), Verdict::Inconclusive);
}

/// 0.2 less 0.0, less 0.4 less 0.3.
fn interaction(shape: &str) -> String {
    format!(
        r#"against: (arm: {{ "{AXIS}": "0.0" }}), elsewhere: (arm: {{ "{AXIS}": "0.4" }}, against: (arm: {{ "{AXIS}": "0.3" }})), rule: Interaction({shape})"#
    )
}

/// Runs whose difference is 2, 12 and 22 here and 1, 11 and 21 elsewhere: neither is decided by
/// itself, and each seed has 1 between them.
const PAIRED: [(&str, &[f64]); 4] = [
    ("0.2", &[12.0, 62.0, 112.0]),
    ("0.0", &[10.0, 50.0, 90.0]),
    ("0.4", &[8.0, 31.01, 50.99]),
    ("0.3", &[7.0, 20.0, 30.0]),
];

#[test]
fn an_interaction_is_of_four_numbers_of_each_seed() {
    let found = |shape: &str, runs: &[(&str, &[f64])]| decide(&claim(&interaction(shape)), false, &evidence(runs));
    let supported = found("More", &PAIRED);
    assert_eq!(
        (supported.verdict, supported.text().as_str(), supported.why.as_str()),
        (Verdict::Shape, "1.00 ± 0.02", "here 10 ± 20, elsewhere 10 ± 20")
    );
    assert_eq!(found("Less", &PAIRED).verdict, Verdict::Refuted);
    assert_eq!(found("Alike(1.1)", &PAIRED).verdict, Verdict::Shape);
    let apart = found("Alike(0.9)", &PAIRED);
    assert_eq!(apart.verdict, Verdict::Refuted);
    assert!(
        apart.why.ends_with("elsewhere 10 ± 20: more than 0.9 apart"),
        "{}",
        apart.why
    );
    // Elsewhere the difference is larger: what would be more than the other run is not more than
    // there.
    let [here, other, _, low] = PAIRED;
    let larger: &[(&str, &[f64])] = &[here, other, ("0.4", &[10.0, 33.01, 52.99]), low];
    assert_eq!(found("More", larger).verdict, Verdict::Refuted);
    assert_eq!(found("Less", larger).verdict, Verdict::Shape);
    // 1, 4 and -2 between the differences decide nothing.
    let noisy = found("More", &[here, other, ("0.4", &[8.0, 28.0, 54.0]), low]);
    assert_eq!(noisy.verdict, Verdict::Inconclusive);
    assert!(noisy.why.ends_with(": undecided over 3 seeds"), "{}", noisy.why);
    assert_eq!(
        found("Alike(1)", &[here, other, ("0.4", &[8.0, 28.0, 54.0]), low]).verdict,
        Verdict::Inconclusive
    );
    // Half more here, a tenth more elsewhere.
    let per_cent = format!("change: Percent, {}", interaction("More"));
    let runs: &[(&str, &[f64])] = &[
        ("0.2", &[3.0, 6.0]),
        ("0.0", &[2.0, 4.0]),
        ("0.4", &[1.1, 1100.0]),
        ("0.3", &[1.0, 1000.0]),
    ];
    let found = decide(&claim(&per_cent), false, &evidence(runs));
    assert!((found.measured.unwrap().mean - 40.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn an_interaction_takes_the_seeds_that_have_all_four_numbers() {
    let found = |runs: &[(&str, &[f64])]| decide(&claim(&interaction("More")), false, &evidence(runs));
    let [here, other, there, low] = PAIRED;
    let fewer = found(&[here, other, there, ("0.3", &low.1[..2])]);
    assert_eq!((fewer.verdict, fewer.measured.unwrap().n()), (Verdict::NotRun, 2));
    assert!(fewer.why.ends_with(": 2 seeds, and a verdict takes 3"), "{}", fewer.why);
    let one = found(&[here, ("0.0", &other.1[..1]), there, low]);
    assert_eq!(
        (one.verdict, one.why.as_str()),
        (Verdict::NotRun, "here 2, elsewhere 1: one seed, and a verdict takes 3")
    );
    for (p, _) in PAIRED {
        let without: Vec<_> = PAIRED.into_iter().filter(|(other, _)| *other != p).collect();
        let found = found(&without);
        assert_eq!(
            (found.verdict, found.why),
            (Verdict::NotRun, format!("not run: {}", run(p)))
        );
    }
    let nan = found(&[here, other, there, ("0.3", &[7.0, 20.0, f64::NAN])]);
    assert!(
        nan.verdict == Verdict::Inconclusive && nan.why.contains("NaN"),
        "{nan:?}"
    );
    // Seeds of which none is common to all.
    let mut apart = evidence(&PAIRED[..3]);
    let measured = Measured {
        values: BTreeMap::from([("m".to_owned(), 1.0)]),
        ..Measured::default()
    };
    apart.add(&run("0.3"), 9, measured);
    let apart = decide(&claim(&interaction("More")), false, &apart);
    assert_eq!(
        (apart.verdict, apart.why.as_str()),
        (Verdict::NotRun, "no seed has all of its numbers")
    );
    let no_number = interaction("More").replace("elsewhere: (", "elsewhere: (metric: \"k\", ");
    let found = decide(&claim(&no_number), false, &evidence(&PAIRED));
    assert_eq!(found.why, format!("the run has no number k: {}", run("0.4")));
}

#[test]
fn elsewhere_is_the_same_difference_but_for_what_it_says() {
    let measures = |fields: &str| -> Vec<String> {
        let measures = claim(fields).test.measures().into_iter();
        measures
            .map(|measure| format!("{} of {}", measure.metric, measure.run))
            .collect()
    };
    let against = format!(r#"against: (arm: {{ "{AXIS}": "0.0" }})"#);
    let (here, other) = (run("0.2"), run("0.0"));
    assert_eq!(
        measures(&format!(
            r#"{against}, elsewhere: (metric: "k"), rule: Interaction(Less)"#
        )),
        [
            format!("m of {here}"),
            format!("m of {other}"),
            format!("k of {here}"),
            format!("k of {other}")
        ]
    );
    let card =
        r#"elsewhere: (card: "other", arm: { "x": "1" }), against: (metric: "m@clean"), rule: Interaction(Less)"#;
    assert_eq!(
        measures(card),
        [
            format!("m of {here}"),
            format!("m@clean of {here}"),
            "m of other x=1".to_owned(),
            "m@clean of other x=1".to_owned()
        ]
    );
    let quick = format!(
        r#"{against}, elsewhere: (metric: "k"), rule: Interaction(Less), quick: (card: "small", arm: {{ "{AXIS}": "0.1" }})"#
    );
    let quick: Vec<String> = claim(&quick)
        .quick
        .unwrap()
        .measures()
        .iter()
        .map(|measure| measure.run.to_string())
        .collect();
    assert_eq!(quick, ["0.1", "0.0", "0.1", "0.0"].map(|p| format!("small {AXIS}={p}")));
}

#[test]
fn an_interaction_that_is_none_is_refused_with_its_place_and_the_way_out() {
    let refused = |fields: &str| {
        let text = format!(
            "(system: \"S\", paper: \"P\", claims: [\n(id: \"a\", claim: \"c\", at: \"t\", card: \"{CARD}\", metric: \"m\", {fields}),\n])"
        );
        let why = Claims::read("s", &text).unwrap_err().to_string();
        assert!(why.contains("s/claims.ron") && why.contains("2:"), "{why}");
        why
    };
    let both = r#"against: (metric: "n"), elsewhere: (metric: "k")"#;
    for (fields, why) in [
        (
            r#"elsewhere: (metric: "k"), rule: Interaction(More)"#.to_owned(),
            "a: an interaction needs `against`",
        ),
        (
            r#"against: (metric: "n"), rule: Interaction(More)"#.to_owned(),
            "a: an interaction needs `elsewhere`: the arm",
        ),
        (
            format!("{both}, rule: Interaction(Order([{{}}, {{}}]))"),
            "each step is a claim of its own",
        ),
        (
            format!("{both}, rule: Shape(More)"),
            "only an interaction has `elsewhere`, as in rule: Interaction(More)",
        ),
        (format!("{both}, rule: Interaction(Deeper)"), "Deeper"),
        // Two differences from the same number are the difference of two numbers.
        (
            both.to_owned() + ", rule: Interaction(More)",
            "n of toy/probs stands in both: say in `elsewhere`",
        ),
        (
            r#"against: (metric: "n"), elsewhere: (), rule: Interaction(More)"#.to_owned(),
            "m of toy/probs stands in both",
        ),
        (
            r#"against: (metric: "n"), elsewhere: (metric: "k", change: Percent), rule: Interaction(More)"#.to_owned(),
            "`elsewhere` names a run and a number: put `change` beside it",
        ),
        (
            r#"against: (metric: "n"), elsewhere: (metric: "k", against: (scale: 2)), rule: Interaction(More)"#
                .to_owned(),
            "`against` names a run and a number: put `scale` beside it",
        ),
        (
            r#"against: (metric: "n", against: (metric: "k")), rule: Shape(More)"#.to_owned(),
            "put `against` beside it",
        ),
    ] {
        let said = refused(&fields);
        assert!(said.contains(why), "{fields}: {said}");
    }
}

#[test]
fn a_mean_has_as_many_digits_as_its_interval_allows() {
    let text = |values: &[f64]| spread_text(&Spread::of(values));
    assert_eq!(text(&[32.6371, 32.6381, 32.6391]), "32.638 ± 0.002");
    assert_eq!(text(&[100.0, 101.0, 102.0]), "101 ± 2");
    assert_eq!(text(&[1.0, 1.0]), "1");
    assert_eq!(text(&[100.0, 200.0]), "200 ± 600");
    assert_eq!(
        (text(&[0.25]), text(&[3.18e11])),
        ("0.2500".to_owned(), "318 000 000 000".to_owned())
    );
}

#[test]
fn a_bound_on_what_is_drawn_has_an_interval() {
    let found = |rule: &str, values: &[f64]| verdict(&format!("rule: Shape({rule})"), &[("0.2", values)]);
    let values = [0.62, 0.60, 0.64, 0.61];
    assert_eq!(found("Above(0.55)", &values), Verdict::Shape);
    assert_eq!(found("Below(0.55)", &values), Verdict::Refuted);
    assert_eq!(found("Above(0.7)", &values), Verdict::Refuted);
    assert_eq!(found("Below(0.7)", &values), Verdict::Shape);
    // Every seed is above, and the interval is not; nor do two seeds make one.
    assert_eq!(found("Above(0.595)", &values), Verdict::Inconclusive);
    assert_eq!(found("Above(0.55)", &[0.62, 0.60]), Verdict::NotRun);
}

/// A figure is of tables that are there and have columns, and what lies along x are numbers.
#[test]
fn a_figure_is_of_tables_whose_columns_are_numbers() {
    let read = |panel: &str, columns: &str| {
        let table =
            format!(r#"(title: "t", card: "toy/probs", metric: "payload_bytes", rows: "strategy.prob", {columns})"#);
        let figure = format!(r#"(name: "f", title: "F", x: "p", panels: [(y: "y", {panel})])"#);
        Claims::read(
            "s",
            &format!(r#"(system: "S", paper: "P", tables: [{table}], figures: [{figure}])"#),
        )
    };
    let both = r#"columns: "strategy.prob""#;
    for (panel, columns) in [
        (r#"table: "u""#, both),
        (r#"table: "t""#, ""),
        (r#"table: "t", beside: ("b", "u")"#, both),
    ] {
        let said = read(panel, columns).unwrap_err().to_string();
        assert!(said.contains("there is no table with columns"), "{panel}: {said}");
    }
    let registry = crate::toy::registry();
    let claims = read(r#"table: "t""#, both).unwrap();
    assert_eq!(claims.tables[0].places(&registry).unwrap(), [0.0, 0.2, 0.4]);
    let mut named = claims.tables[0].clone();
    (named.card, named.rows, named.columns) = ("toy/arms".to_owned(), "arm".to_owned(), "arm".to_owned());
    assert!(
        named
            .places(&registry)
            .unwrap_err()
            .to_string()
            .contains("is no number")
    );
}

#[test]
fn what_no_rule_could_decide_is_refused() {
    let refused = |fields: &str| {
        let text = format!(r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", {fields})])"#);
        Claims::read("s", &text).unwrap_err().to_string()
    };
    assert!(refused("rule: AtMost(2)").contains("needs a card and a metric"));
    assert!(refused(r#"card: "c", metric: "m", rule: Exact"#).contains("needs a printed number"));
    assert!(refused(r#"card: "c", metric: "m", rule: Shape(More)"#).contains("needs `against`"));
    assert!(refused(r#"card: "c", metric: "m", rule: Shape(Order([]))"#).contains("two arms"));
    assert!(refused("printed: \"1\"").contains("needs a rule"));
    let twice = r#"(system: "S", paper: "P", claims: [
        (id: "a", claim: "c", at: "t", rule: NotDecidable("w")), (id: "a", claim: "c", at: "t", rule: NotDecidable("w"))])"#;
    assert!(
        Claims::read("s", twice)
            .unwrap_err()
            .to_string()
            .contains("given twice")
    );
}

#[test]
fn a_grid_has_a_claim_for_each_printed_cell() {
    let text = r#"(system: "S", paper: "P", grids: [(
        id: "g", claim: "{row} of {column}", at: "table", metric: "m", rule: Statistical, arm: { "x": "0" },
        rows: [(name: "r", arm: { "a": "1" }), (name: "q", arm: { "a": "2" }, rule: NotDecidable("why"))],
        columns: [(name: "k", card: "one"), (name: "l", card: "two", scale: 100)],
        printed: [["1", "2"], ["", "4"]],
        exceptions: { "q/l": (erratum: "E1") },
    )])"#;
    let claims = Claims::read("s", text).unwrap().claims;
    let ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids, ["g/r/k", "g/r/l", "g/q/l"]);
    assert_eq!(
        (
            claims[1].claim.as_str(),
            claims[1].printed.as_str(),
            claims[1].test.scale
        ),
        ("r of l", "2", 100.0)
    );
    let run = &claims[1].test.measure.as_ref().unwrap().run;
    assert_eq!(run.to_string(), "two a=1 x=0");
    assert_eq!(
        (claims[2].erratum.as_str(), &claims[2].test.rule),
        ("E1", &Rule::NotDecidable("why".to_owned()))
    );
    for (broken, why) in [
        (text.replace("[\"\", \"4\"]", "[\"4\"]"), "2 rows of 2"),
        (
            text.replace(
                "columns: [(name: \"k\", card: \"one\"), (name: \"l\", card: \"two\", scale: 100)],",
                "",
            ),
            "below claims",
        ),
        (text.replace("q/l", "q/z"), "no cell"),
    ] {
        assert!(Claims::read("s", &broken).unwrap_err().to_string().contains(why));
    }
}

#[test]
fn a_record_gives_the_same_verdicts_and_a_result_that_moved_is_told() {
    let runs: &[(&str, &[f64])] = &[("0.2", &[1.0, f64::INFINITY]), ("0.0", &[0.1 + 0.2, 1e-300])];
    let before = evidence(runs);
    let measures: BTreeSet<Measure> = ["0.0", "0.2"]
        .map(|p| Measure {
            run: run(p),
            metric: "m".to_owned(),
        })
        .into();
    let record = before.record(&measures);
    let mut after = Evidence::default();
    after.read(&record).unwrap();
    assert_eq!(after.record(&measures), record);
    assert_eq!(after.runs, before.runs);
    let measured = |fingerprint: &str| Measured {
        card: "card 0.2".to_owned(),
        version: 1,
        fingerprint: fingerprint.to_owned(),
        values: BTreeMap::from([("m".to_owned(), 7.0)]),
    };
    after.add(&run("0.2"), 1, measured("0.2-1"));
    assert!(after.moved.is_empty());
    after.add(&run("0.2"), 1, measured("other"));
    assert_eq!(after.moved.len(), 1);
    assert!(after.read("run,seed\n").is_err() && after.read(&record.replace(",2,", ",x,")).is_err());
}

/// A card that says something else gives other runs; what is recorded of it before is no answer any
/// more. Comments and spaces say nothing.
#[test]
fn what_is_recorded_of_a_card_that_was_changed_is_forgotten() {
    let registry = crate::toy::registry();
    let wanted = |set: &[&str]| {
        let mut key = run("0.2");
        key.set = set.iter().map(|setting| (*setting).to_owned()).collect();
        let resolved = key.resolve(&registry).unwrap();
        let (run, card) = (run("0.2").to_string(), resolved.written(&registry).unwrap());
        Wanted {
            by_essence: BTreeMap::new(),
            cards: BTreeMap::from([(run, card)]),
            expected: BTreeMap::new(),
        }
    };
    let (today, other) = (wanted(&[]), wanted(&["strategy.steps=3"]));
    let mut evidence = evidence(&[("0.0", &[1.0]), ("0.2", &[1.0])]);
    let key = run("0.2").to_string();
    let seeds = evidence.runs.get_mut(&key).unwrap();
    seeds
        .values_mut()
        .for_each(|measured| measured.card = today.cards[&key].clone());
    assert!(evidence.forget_changed(&today).is_empty() && evidence.runs.len() == 2);
    for unasked in ["question=\"other\"", "figures=[\"split\"]"] {
        assert_eq!(evidence.forget_changed(&wanted(&[unasked])), Vec::<String>::new());
    }
    assert_eq!(evidence.forget_changed(&other), [key]);
    assert_eq!(evidence.runs.len(), 1);
}
