//! Differences that stand for one.

use super::*;

/// Two arms of one card and seed share its data and are one value; their noise does not shrink by
/// being counted twice.
#[test]
fn pooled_differences_are_one_value_a_card_and_seed() {
    let pooled = |shape: &str| {
        let fields = format!(
            r#"against: (metric: "k"), rule: Shape({shape}), pool: (cards: ["{CARD}"], axis: "{AXIS}", values: ["0.1", "0.2"])"#
        );
        claim(&fields)
    };
    let with = |of: &[(&str, u64, f64)]| {
        let mut evidence = Evidence::default();
        for (p, seed, value) in of {
            let values = BTreeMap::from([("m".to_owned(), *value), ("k".to_owned(), 1.0)]);
            let measured = Measured {
                card: "card".to_owned(),
                version: 1,
                fingerprint: format!("{p}-{seed}"),
                values,
            };
            evidence.add(&run(p), *seed, measured);
        }
        evidence
    };
    let all = [
        ("0.1", 1, 2.0),
        ("0.1", 2, 4.0),
        ("0.1", 3, 3.0),
        ("0.2", 1, 4.0),
        ("0.2", 2, 4.0),
        ("0.2", 3, 6.5),
    ];
    let found = decide(&pooled("More"), false, &with(&all));
    let measured = found.measured.unwrap();
    // Of both arms: 2, 3 and 3.75.
    assert_eq!((measured.n(), measured.mean), (3, 8.75 / 3.0));
    assert_eq!(found.verdict, Verdict::Shape);
    // A seed without one of the two is left out.
    let found = decide(&pooled("More"), false, &with(&all[..5]));
    assert_eq!(found.measured.unwrap().n(), 2);
    assert_eq!(found.verdict, Verdict::NotRun);
    let missing = decide(&pooled("More"), false, &with(&all[..3]));
    assert!(missing.why.starts_with("not run: "), "{}", missing.why);
    assert_eq!(pooled("Less").test.measures().len(), 4);
    // A quick twin that names a card is of that card.
    let fields = format!(
        r#"against: (metric: "k"), rule: Shape(More), pool: (cards: ["{CARD}"], axis: "{AXIS}", values: ["0.1", "0.2"]),
           quick: (card: "{CARD}", arm: {{ "{AXIS}": "0.4" }})"#
    );
    let quick = claim(&fields).quick.unwrap();
    assert!(quick.pool.is_empty());
    assert!(quick.measures().iter().all(|measure| measure.run == run("0.4")));
}

#[test]
fn pools_of_nothing_or_of_what_is_no_difference_are_refused() {
    let refused = |fields: &str| {
        let text = format!(
            r#"(system: "S", paper: "P", claims: [(id: "a", claim: "c", at: "t", card: "{CARD}", metric: "m", {fields})])"#
        );
        Claims::read("s", &text).unwrap_err().to_string()
    };
    let none = refused(r#"against: (metric: "k"), rule: Shape(More), pool: (cards: [], axis: "x", values: ["1"])"#);
    assert!(none.contains("a: `pool` needs cards and values"), "{none}");
    let exact = refused(r#"printed: "1", rule: Exact, pool: (cards: ["c"], axis: "x", values: ["1"])"#);
    assert!(
        exact.contains("a: only a shape that compares two numbers is pooled"),
        "{exact}"
    );
    let alone = refused(r#"rule: Shape(More), pool: (cards: ["c"], axis: "x", values: ["1"])"#);
    assert!(
        alone.contains("a: `pool` needs a metric, `against`, and a card"),
        "{alone}"
    );
}
