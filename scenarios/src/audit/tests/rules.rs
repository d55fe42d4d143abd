//! The noise of printed numbers, discoveries, baselines, horizons, and records that are not whole.

use super::*;

#[test]
fn a_printed_number_of_one_run_counts_with_the_noise_of_one_run() {
    let read = |head: &str| {
        let text = format!(
            r#"(system: "S", paper: "P", {head} claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, metric: "m", printed: "4.4", rule: Statistical)])"#
        );
        Claims::read("s", &text)
    };
    let judged = |head: &str| {
        let claim = read(head).unwrap().claims.remove(0);
        decide(&claim, false, &evidence(&[("0.2", &[1.0, 2.0, 3.0])]))
    };
    assert_eq!(judged("").verdict, Verdict::Refuted);
    // One run has our deviation of 1 over seeds: the standard error of the difference is 1.155.
    let single = judged("printed_runs: 1, ");
    assert_eq!(single.verdict, Verdict::NotContradicted);
    assert!(single.p.unwrap() > 0.17, "{single:?}");
    assert_eq!(judged(r#"margins: { "m": 9.0 }, "#).verdict, Verdict::Refuted);
    assert_eq!(
        judged(r#"printed_runs: 1, margins: { "m": 9.0 }, "#).verdict,
        Verdict::Statistical
    );
    for (head, why) in [
        ("printed_runs: 0, ", "must be at least 1"),
        (
            r#"margins: { "m": -1.0 }, "#,
            "the margin of m must be finite and at least 0",
        ),
    ] {
        assert!(read(head).unwrap_err().lines().concat().contains(why), "{head}");
    }
}

#[test]
fn discoveries_are_counted_by_benjamini_and_hochberg() {
    let finding = |p: Option<f64>, verdict| Finding {
        p,
        verdict,
        ..decide(&claim("rule: NoData(\"why\")"), false, &evidence(&[]))
    };
    let p = [Some(0.04), Some(0.001), None, Some(0.03), Some(0.9)];
    let mut findings: Vec<Finding> = p.into_iter().map(|p| finding(p, Verdict::Shape)).collect();
    findings[4].verdict = Verdict::Inconclusive;
    verdict::discover(&mut findings);
    // By hand: 0.001 * 4 / 1, 0.03 * 4 / 2 and 0.04 * 4 / 3, of which the least from the right,
    // 0.9.
    let q: Vec<Option<f64>> = findings.iter().map(|finding| finding.q).collect();
    let expected = [Some(0.16 / 3.0), Some(0.004), None, Some(0.16 / 3.0), Some(0.9)];
    for (q, expected) in q.iter().zip(expected) {
        assert_eq!(q.is_some(), expected.is_some());
        assert!(
            (q.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-12,
            "{q:?} {expected:?}"
        );
    }
    let survive: Vec<Option<bool>> = findings.iter().map(Finding::survives).collect();
    assert_eq!(survive, [Some(false), Some(true), None, Some(false), None]);
}

/// The numbers of a run under each seed, by name.
type Seeds<'a> = &'a [&'a [(&'a str, f64)]];

/// Runs at some p with several numbers under seeds 1, 2, …
fn numbers(runs: &[(&str, Seeds<'_>)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (p, seeds) in runs {
        for (seed, values) in (1..).zip(seeds.iter()) {
            let measured = Measured {
                values: values
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), *value))
                    .collect(),
                ..Measured::default()
            };
            evidence.add(&run(p), seed, measured);
        }
    }
    evidence
}

#[test]
fn a_baseline_at_or_below_the_constant_answer_supports_no_verdict() {
    let fields = |rest: &str| {
        format!(r#"metric: "test_own_accuracy", against: (arm: {{ "{AXIS}": "0.0" }}), rule: Shape(More){rest}"#)
            .replace("metric: \"m\", ", "")
    };
    let own = |rest: &str| {
        let text = format!(
            r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, {})])"#,
            fields(rest)
        );
        Claims::read("s", &text).unwrap().claims.remove(0)
    };
    let run = |score: f64, constant: f64| {
        [
            ("test_own_accuracy", score),
            ("test_own_accuracy@client_majority", constant),
        ]
    };
    let method = [run(0.8, 0.7), run(0.81, 0.71), run(0.79, 0.7)];
    let method: Vec<&[(&str, f64)]> = method.iter().map(|seed| &seed[..]).collect();
    let judged = |claim: &Claim, seeds: &[[(&str, f64); 2]]| {
        let baseline: Vec<&[(&str, f64)]> = seeds.iter().map(|seed| &seed[..]).collect();
        decide(claim, false, &numbers(&[("0.2", &method), ("0.0", &baseline)]))
    };
    let learned = [run(0.75, 0.7), run(0.76, 0.71), run(0.74, 0.7)];
    assert_eq!(judged(&own(""), &learned).verdict, Verdict::Shape);
    let failed = [run(0.6, 0.7), run(0.61, 0.71), run(0.59, 0.7)];
    let found = judged(&own(""), &failed);
    assert_eq!(found.verdict, Verdict::NotDecidable);
    assert!(
        found.why.contains("does not beat the constant answer (0.703)"),
        "{found:?}"
    );
    // Where a claim is about a run that fails, it says so.
    assert_eq!(judged(&own(r#", may_fail: "noise""#), &failed).verdict, Verdict::Shape);
    // A gain that three seeds do not show to be one is none, and so is one against an unknown
    // constant.
    let undecided = [run(0.75, 0.7), run(0.61, 0.71), run(0.74, 0.7)];
    assert_eq!(judged(&own(""), &undecided).verdict, Verdict::Inconclusive);
    let unknown = learned.map(|[score, _]| [score, ("other", 0.0)]);
    let found = judged(&own(""), &unknown);
    assert!(
        found.verdict == Verdict::NotDecidable && found.why.contains("lacks the constant answer"),
        "{found:?}"
    );
    assert!(
        supporting(&own("").test)
            .iter()
            .all(|measure| measure.metric.ends_with("@client_majority"))
    );
}

/// F1 and loss have no constant answer of their own; the accuracy of the same run does.
#[test]
fn a_baseline_in_f1_has_to_beat_the_majority_class_by_its_accuracy() {
    let text = format!(
        r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, metric: "test_macro_f1", against: (arm: {{ "{AXIS}": "0.0" }}), rule: Shape(More))])"#
    );
    let claim = Claims::read("s", &text).unwrap().claims.remove(0);
    let method: &[&[(&str, f64)]] = &[
        &[("test_macro_f1", 0.8)],
        &[("test_macro_f1", 0.81)],
        &[("test_macro_f1", 0.79)],
    ];
    let judged = |accuracy: Option<f64>| {
        let of = |f1: f64| {
            let accuracy = accuracy.map(|accuracy| accuracy + 0.1 * f1);
            let both = accuracy.map(|accuracy| [("test_accuracy", accuracy), ("test_accuracy@majority_class", 0.5)]);
            [("test_macro_f1", f1)]
                .into_iter()
                .chain(both.into_iter().flatten())
                .collect::<Vec<_>>()
        };
        let baseline = [of(0.3), of(0.31), of(0.29)];
        let baseline: Vec<&[(&str, f64)]> = baseline.iter().map(|seed| &seed[..]).collect();
        decide(&claim, false, &numbers(&[("0.2", method), ("0.0", &baseline)])).verdict
    };
    assert_eq!(judged(Some(0.6)), Verdict::Shape);
    assert_eq!(judged(Some(0.3)), Verdict::NotDecidable);
    assert_eq!(judged(None), Verdict::Shape, "the record lacks the accuracy");
}

#[test]
fn targets_that_are_not_reached_are_censored_at_the_horizon() {
    let metric = "virtual_s_to_target[test_accuracy=0.8]";
    let text = format!(
        r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, metric: "{metric}", against: (arm: {{ "{AXIS}": "0.0" }}), rule: Shape(Less))])"#
    );
    let claim = Claims::read("s", &text).unwrap().claims.remove(0);
    let fast: &[&[(&str, f64)]] = &[&[(metric, 10.0)], &[(metric, 11.0)], &[(metric, 9.0)]];
    // The slow arm arrives under two seeds alone, and then sooner.
    let slow: &[&[(&str, f64)]] = &[&[(metric, 9.5)], &[("virtual_s", 40.0)], &[(metric, 8.0)]];
    let found = decide(&claim, false, &numbers(&[("0.2", fast), ("0.0", slow)]));
    // 10 - 9.5, 11 - 40 and 9 - 8: over survivors alone it would be 0.75 and the slow arm the
    // faster.
    assert!(
        (found.measured.unwrap().mean - (0.5 - 29.0 + 1.0) / 3.0).abs() < 1e-12,
        "{found:?}"
    );
    assert_eq!(found.verdict, Verdict::Inconclusive);
    assert!(
        found.why.ends_with("censored at 40: 3 of 3 and 2 of 3 runs arrive"),
        "{found:?}"
    );
    let lost: &[&[(&str, f64)]] = &[&[(metric, 9.5)], &[("other", 40.0)], &[(metric, 8.0)]];
    let found = decide(&claim, false, &numbers(&[("0.2", fast), ("0.0", lost)]));
    assert_eq!(found.verdict, Verdict::NotRun);
    assert!(
        found.why.starts_with("the record lacks when the runs ended"),
        "{found:?}"
    );
    let all: &[&[(&str, f64)]] = &[&[(metric, 20.0)], &[(metric, 21.0)], &[(metric, 19.5)]];
    let found = decide(&claim, false, &numbers(&[("0.2", fast), ("0.0", all)]));
    assert_eq!((found.verdict, found.why.as_str()), (Verdict::Shape, ""));
}

/// A run that does not arrive takes longer than what was measured: it can break a bound, and never
/// keep one.
#[test]
fn lower_bounds_keep_no_upper_bound() {
    let metric = "rounds_to_target[test_accuracy=0.9]";
    let some: &[&[(&str, f64)]] = &[&[(metric, 11.0)], &[("rounds", 11.0)], &[(metric, 11.0)]];
    let all: &[&[(&str, f64)]] = &[&[(metric, 11.0)], &[(metric, 11.0)], &[(metric, 11.0)]];
    let of = |seeds: &[&[(&str, f64)]], rule: &str| {
        let text = format!(
            r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, metric: "{metric}", {rule})])"#
        );
        let claim = Claims::read("s", &text).unwrap().claims.remove(0);
        decide(&claim, false, &numbers(&[("0.2", seeds)])).verdict
    };
    for (rule, arrived, censored) in [
        ("rule: AtMost(11)", Verdict::Exact, Verdict::Inconclusive),
        ("rule: AtMost(10)", Verdict::Refuted, Verdict::Refuted),
        ("rule: AtLeast(2)", Verdict::Exact, Verdict::Exact),
        ("rule: Shape(Below(50))", Verdict::Shape, Verdict::Inconclusive),
        ("rule: Shape(Below(5))", Verdict::Refuted, Verdict::Refuted),
        ("rule: Shape(Above(5))", Verdict::Shape, Verdict::Shape),
        (r#"printed: "11", rule: Exact"#, Verdict::Exact, Verdict::Inconclusive),
        (
            r#"printed: "9", rule: Within(20)"#,
            Verdict::Statistical,
            Verdict::Inconclusive,
        ),
        (r#"printed: "9", rule: Within(1)"#, Verdict::Refuted, Verdict::Refuted),
        (
            r#"printed: "40", rule: Within(1)"#,
            Verdict::Refuted,
            Verdict::Inconclusive,
        ),
    ] {
        assert_eq!((of(all, rule), of(some, rule)), (arrived, censored), "{rule}");
    }
}

/// An order is decided by its own arms, whether the claim's is one of them or not.
#[test]
fn an_order_needs_no_run_of_the_claims_own_arm() {
    let order = format!(r#"rule: Shape(Order([{{ "{AXIS}": "0.4" }}, {{ "{AXIS}": "0.0" }}]))"#);
    let runs: &[(&str, &[f64])] = &[("0.4", &[3.0, 3.1, 2.9]), ("0.0", &[1.0, 1.1, 1.2])];
    assert_eq!(verdict(&order, runs), Verdict::Shape);
}

#[test]
fn a_record_has_one_value_of_a_run() {
    let header = COLUMNS.join(",");
    let record = format!("{header}\nr,card,1,1,abc,m,0.5\nr,card,1,1,abc,n,0.5\nr,card,1,1,abc,m,0.7\n");
    let error = Evidence::default().read(&record).unwrap_err();
    assert_eq!(error, "line 4: a second m of r, seed 1; keep one of them");
}

/// For numbers that cannot be, no run is made.
#[test]
fn bounds_that_a_metric_cannot_have_are_refused() {
    let registry = crate::toy::registry();
    let refused = |fields: &str| {
        let text = format!(
            r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", arm: {{ "{AXIS}": "0.2" }}, {fields})])"#
        );
        Claims::read("s", &text)
            .unwrap()
            .check(&registry)
            .unwrap_err()
            .to_string()
    };
    let error = refused(r#"metric: "target_reached", rule: AtLeast(95)"#);
    assert!(error.contains("target_reached lies in 0..=1, got 95"), "{error}");
    let text = r#"(system: "S", paper: "P", margins: { "acuracy": 0.1 }, claims: [(id: "a", claim: "c", at: "t", metric: "accuracy", card: "c", rule: AtMost(1))])"#;
    let error = Claims::read("s", text).err().unwrap().to_string();
    assert!(error.contains("no claim is about acuracy"), "{error}");
}

#[test]
fn missing_seeds_and_stale_rows_are_found() {
    let registry = crate::toy::registry();
    let key = RunKey {
        card: CARD.to_owned(),
        arm: BTreeMap::from([(AXIS.to_owned(), "0.2".to_owned())]),
        set: Vec::new(),
    };
    let measure = Measure {
        run: key.clone(),
        metric: "peer_messages_per_walk".to_owned(),
    };
    let wanted = Wanted::new(&BTreeSet::from([measure]), &registry).unwrap();
    let resolved = key.resolve(&registry).unwrap();
    let (first, rest) = resolved.seeds.split_first().unwrap();
    let mut evidence = Evidence::default();
    let add = |evidence: &mut Evidence, seed: u64, version: u32| {
        let measured = Measured {
            version,
            values: BTreeMap::from([("peer_messages_per_walk".to_owned(), 32.0)]),
            ..Measured::default()
        };
        evidence.add(&key, seed, measured);
    };
    evidence.expect(&wanted);
    assert!(evidence.incomplete().is_empty(), "nothing is known of it");
    rest.iter()
        .for_each(|seed| add(&mut evidence, *seed, resolved.results_version));
    assert_eq!(evidence.incomplete(), [(key.to_string(), vec![*first])]);
    assert!(evidence.stale().is_empty());
    add(&mut evidence, *first, resolved.results_version - 1);
    assert!(evidence.incomplete().is_empty());
    assert_eq!(evidence.stale(), [key.to_string()]);
    let claim = claim(r#"printed: "32", rule: Statistical"#);
    let mut of_it = claim.clone();
    of_it.test.measure = Some(Measure {
        run: key,
        metric: "peer_messages_per_walk".to_owned(),
    });
    let found = decide(&of_it, false, &evidence);
    assert!(found.is_stale && found.missing.is_empty(), "{found:?}");
}

#[test]
fn bounds_hold_for_every_seed_and_reading_needs_no_run() {
    assert_eq!(verdict("rule: AtMost(2)", &[("0.2", &[1.0, 2.0])]), Verdict::Exact);
    assert_eq!(
        verdict("rule: AtMost(2)", &[("0.2", &[1.0, f64::INFINITY])]),
        Verdict::Refuted
    );
    // What is no number breaks no bound and is no number away.
    assert_eq!(
        verdict("rule: AtLeast(2)", &[("0.2", &[2.0, f64::NAN])]),
        Verdict::Inconclusive
    );
    let printed = r#"printed: "2.0", rule: Statistical"#;
    assert_eq!(
        verdict(printed, &[("0.2", &[2.0, 2.1, f64::NAN])]),
        Verdict::Inconclusive
    );
    assert_eq!(
        verdict(r#"rule: Reading(holds: false, because: "b")"#, &[]),
        Verdict::Refuted
    );
    assert_eq!(
        verdict(r#"rule: NotDecidable("why")"#, &[("0.2", &[1.0])]),
        Verdict::NotDecidable
    );
    assert_eq!(verdict(r#"rule: NoData("why")"#, &[("0.2", &[1.0])]), Verdict::NotRun);
}
