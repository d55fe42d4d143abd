//! What users read.

use super::{Card, WHOLE, problems, source};
use crate::text::{MAX_CARD_BYTES, MAX_PROBLEMS, Source, parse, recover};

fn one(text: &str) -> String {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.into_iter().next().unwrap()
}

#[test]
fn a_sound_card_has_no_problems() {
    let card: Card = parse(&source(WHOLE)).unwrap();
    assert_eq!(card.seed, 1);
    assert_eq!(
        card.strategy.unwrap().get_ron(),
        "FedWalk(walk_length: 40, predictor_prob: 0.2)"
    );
}

#[test]
fn unknown_fields_get_a_suggestion_or_the_list() {
    assert_eq!(one("(sede: 1)"), "1:2 sede: unknown field `sede`, did you mean `seed`?");
    assert_eq!(
        one("(\n  network: Links(latency: Fixed(1), los_prob: 0),\n)"),
        "2:37 network.los_prob: unknown field `los_prob` of `Links`, did you mean `loss_prob`?"
    );
    assert_eq!(
        one("(cohort: (xyz: 1))"),
        "1:11 cohort.xyz: unknown field `xyz`, expected `size` or `is_uniform`"
    );
}

#[test]
fn unknown_variants_get_a_suggestion_or_the_list() {
    assert_eq!(
        one("(network: links())"),
        "1:11 network: unknown variant `links`, did you mean `Links`?"
    );
    assert_eq!(
        one("(network: Radio)"),
        "1:11 network: unknown variant `Radio`, expected `Ideal` or `Links`"
    );
}

#[test]
fn wrong_scalars_are_named_in_users_words() {
    let rows = [
        (
            "(n_hops: 0)",
            "1:10 n_hops: expected a whole number, 1 or greater, got `0`",
        ),
        ("(drop_prob: 1.5)", "1:13 drop_prob: must lie in 0..=1, got 1.5"),
        ("(seed: \"one\")", "1:8 seed: expected a whole number, got text"),
        (
            "(seed: 1.5)",
            "1:8 seed: expected a whole number, written without point or exponent, got `1.5`",
        ),
        (
            "(seed: 1e3)",
            "1:8 seed: expected a whole number, written without point or exponent, got `1e3`",
        ),
        ("(seed: -1)", "1:8 seed: the number `-1` is too small for this field"),
        (
            "(cohort: (size: 5000000000))",
            "1:17 cohort.size: the number `5000000000` is too large for this field",
        ),
        (
            "(deadline_ms: \"soon\")",
            "1:15 deadline_ms: expected a number, got text",
        ),
        (
            "(deadline_ms: soon)",
            "1:15 deadline_ms: expected a number, got the name `soon`",
        ),
        (
            "(cohort: (is_uniform: 1))",
            "1:23 cohort.is_uniform: expected true or false, got `1`",
        ),
        (
            "(question: 3)",
            "1:12 question: expected text in double quotes, got `3`",
        ),
        (
            "(question: why)",
            "1:12 question: expected text, got the name `why`; write \"why\"",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(one(text), expected);
    }
}

#[test]
fn wrong_shapes_are_named_in_users_words() {
    let rows = [
        ("(area: (1))", "1:8 area: expected a tuple of size 2, got 1 value"),
        ("(area: (1, 2, 3))", "1:15 area.2: `3` is one value too many here"),
        (
            "(sweep: (seeds: 3))",
            "1:17 sweep.seeds: expected a list, as in [a, b], got `3`",
        ),
        (
            "(sweep: (axes: []))",
            "1:16 sweep.axes: expected a map, as in { \"key\": value }, got a list",
        ),
        (
            "(cohort: 3)",
            "1:10 cohort: expected fields in parentheses, as in ( name: value ), got `3`",
        ),
        (
            "(cohort: (3))",
            "1:11 cohort.0: expected a field, as in name: value, got `3`",
        ),
        (
            "(network: 3)",
            "1:11 network: expected a name, as in Name or Name(field: value), got `3`",
        ),
        (
            "(network: Links)",
            "1:11 network: `Links` needs its values, as in Links(…)",
        ),
        (
            "(network: Ideal(a: 1))",
            "1:11 network: `Ideal` takes no values; leave out the parentheses",
        ),
        (
            "(network: Links(latency: Fixed(1, 2)))",
            "1:35 network.latency.1: `2` is one value too many here",
        ),
        (
            "3",
            "1:1 expected fields in parentheses, as in ( name: value ), got `3`",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(one(text), expected);
    }
}

#[test]
fn missing_and_duplicate_fields_are_named() {
    assert_eq!(
        one("(network: Links(latency: LogNormal(median_ms: 1)))"),
        "1:26 network.latency: missing field `sigma` of `LogNormal`"
    );
    assert_eq!(
        one("(seed: 1,\n seed: 2)"),
        "2:2 seed: field `seed` is written twice; remove one"
    );
}

#[test]
fn syntax_faults_point_at_the_cause() {
    assert_eq!(one(""), "1:1 the text is empty; write its fields as ( name: value, … )");
    assert_eq!(
        one("// nothing\n/* here */\n"),
        "1:1 the text is empty; write its fields as ( name: value, … )"
    );
    assert_eq!(
        one("(\n  seed: 1\n  question: \"x\",\n)"),
        "2:10 expected a comma after the value of `seed`"
    );
    assert_eq!(one("(\n  cohort: (size: 1,\n)"), "1:1 `(` is never closed; add `)`");
    assert_eq!(one("(seed: 1))"), "1:10 `)` closes nothing; the value ended before it");
    assert_eq!(
        one("(sweep: (seeds: [1, 2)))"),
        "1:22 expected `]` to close `[`, got `)`"
    );
    assert_eq!(one("(seed 1)"), "1:6 expected a comma after the value");
    assert_eq!(
        one("(seed: 1, question \"x\")"),
        "1:11 expected `:` and a value after `question`"
    );
    assert_eq!(one("(seed: )"), "1:2 `seed` has no value");
    assert_eq!(one("(seed: 1,, )"), "1:10 a value is missing before this comma");
    assert_eq!(
        one("(question: \"abc)\n"),
        "1:12 this text is never closed; end it with \""
    );
    assert_eq!(
        one("(question: 'abc')"),
        "1:12 single quotes hold one character; text stands in double quotes"
    );
    assert_eq!(
        one("(question: “abc”)"),
        "1:12 text stands in straight double quotes, as in \"text\""
    );
    assert_eq!(
        one("(question: how-many)"),
        "1:12 `how-many` must stand in double quotes"
    );
    assert_eq!(
        one("(seed: 1) /* end"),
        "1:11 this comment is never closed; end it with */"
    );
}

#[test]
fn all_problems_come_at_once_with_later_checks() {
    let text = "(\n  sede: 1,\n  question: 5,\n  cohort: (size: 500, is_uniform: maybe),\n)";
    let (card, mut problems) = recover::<Card>(&source(text));
    assert_eq!(card.unwrap().cohort.size, 500);
    problems.push_at("cohort.size", "must lie in 1..=200 (n_clients), got 500");
    problems.push_at("dataset.n_nodes", "must be at least 20, got 10");
    // What could not be read is not judged twice.
    problems.push_at("question", "must not be empty");
    assert!(problems.is_doubtful("cohort.is_uniform") && !problems.is_doubtful("cohort"));
    let expected = "error: small.ron has 5 problems
  2:3 sede: unknown field `sede`, did you mean `seed`?
  3:13 question: expected text in double quotes, got `5`
  4:18 cohort.size: must lie in 1..=200 (n_clients), got 500
  4:35 cohort.is_uniform: expected true or false, got the name `maybe`
  dataset.n_nodes: must be at least 20, got 10";
    assert_eq!(problems.to_string(), expected);
}

#[test]
fn a_blanked_required_field_is_no_second_problem() {
    let text = "(network: Links(latency: LogNormal(median_ms: x, sigma: y), loss_prob: z), sede: 1)";
    let expected = [
        "1:47 network.latency.median_ms: expected a number, got the name `x`",
        "1:57 network.latency.sigma: expected a number, got the name `y`",
        "1:72 network.loss_prob: expected a number, got the name `z`",
        "1:76 sede: unknown field `sede`, did you mean `seed`?",
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn every_item_of_a_list_is_looked_at() {
    let expected = [
        "1:18 sweep.seeds.0: expected a whole number, got text",
        "1:26 sweep.seeds.2: expected a whole number, got a list",
    ];
    assert_eq!(problems("(sweep: (seeds: [\"a\", 2, []]))"), expected);
}

#[test]
fn the_search_ends_at_its_limit() {
    let fields: String = (0..100).map(|i| format!("unknown_{i}: 1, ")).collect();
    assert_eq!(problems(&format!("({fields})")).len(), MAX_PROBLEMS);
}

#[test]
fn excerpts_show_the_line_and_a_caret() {
    let text = "(\n\tseed: \"one\",\n  cohort: (size: 5),\n)";
    let (_, mut problems) = recover::<Card>(&source(text));
    problems.push_at("cohort.size", "must be 6");
    problems.push_at("deadline_ms", "must be given");
    let expected = "error: small.ron has 3 problems
  2:8 seed: expected a whole number, got text
  |
2 |     seed: \"one\",
  |           ^^^^^
  3:18 cohort.size: must be 6
  |
3 |   cohort: (size: 5),
  |                  ^
  deadline_ms: must be given";
    assert_eq!(problems.report(false), expected);
    assert!(problems.report(true).contains("\u{1b}["));
}

#[test]
fn excerpts_of_long_lines_are_cut() {
    let text = format!(
        "(question: \"{}\", seed: \"é\", cohort: (size: {}))",
        "ü".repeat(50_000),
        "9".repeat(50_000)
    );
    let (_, problems) = recover::<Card>(&source(&text));
    let report = problems.report(false);
    assert!(report.len() < 2_000, "{report}");
    assert!(
        report.contains("1:50022 seed: expected a whole number, got text"),
        "{report}"
    );
    assert!(
        report.lines().filter(|line| line.contains("^")).count() == 2,
        "{report}"
    );
}

#[test]
fn line_ends_tabs_marks_and_wide_characters_keep_columns() {
    assert_eq!(
        one("(\r\n  seed: \"x\",\r\n)"),
        "2:9 seed: expected a whole number, got text"
    );
    assert_eq!(
        one("(\n\t\tseed: \"x\",\n)"),
        "2:9 seed: expected a whole number, got text"
    );
    assert_eq!(
        one("(question: \"größer 🦀\", seed: \"x\")"),
        "1:30 seed: expected a whole number, got text"
    );
    assert_eq!(
        one("\u{feff}(seed: \"x\")"),
        "1:8 seed: expected a whole number, got text"
    );
    // A blanked line of wide characters must not move what comes after it.
    let both = problems("(größe: \"🦀🦀\", seed: \"x\")");
    assert_eq!(both[1], "1:21 seed: expected a whole number, got text");
    let both = problems("(cohort: \"🦀🦀\", seed: \"x\")");
    assert_eq!(both[1], "1:22 seed: expected a whole number, got text");
}

#[test]
fn huge_and_binary_files_are_refused_at_once() {
    let mut bytes = Vec::new();
    let mut state = 1_u32;
    while bytes.len() < 10_000_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.push((state >> 24) as u8);
    }
    let refused = Source::from_bytes("big.ron", &bytes).unwrap_err().to_string();
    assert_eq!(
        refused,
        "error: big.ron has 1 problem\n  is larger than 1048576 bytes (1 MiB), the most a card may have"
    );
    let refused = Source::from_bytes("bin.ron", &[b'(', b'\n', 0xff, 0xfe])
        .unwrap_err()
        .to_string();
    assert!(refused.ends_with("is not UTF-8 text: line 2 holds a byte that cannot be read; save it as UTF-8"));
    assert!(Source::from_bytes("bin.ron", &bytes[..1_000_000]).is_err());
}

#[test]
fn deep_nesting_is_a_clear_error() {
    for bracket in ["(", "[", "{1:", "Some(", "(a:"] {
        let text = bracket.repeat(MAX_CARD_BYTES / bracket.len());
        let problem = one(&text);
        assert!(problem.ends_with("brackets are nested more than 64 deep"), "{problem}");
    }
    let balanced = format!("(strategy: X({}{}))", "[".repeat(62), "]".repeat(62));
    assert!(problems(&balanced).is_empty());
    assert!(one(&"/*".repeat(MAX_CARD_BYTES / 2)).contains("this comment is never closed"));
}

#[test]
fn hostile_names_are_shown_harmless_and_short() {
    let shown = one(&format!("({}: 1)", "é".repeat(100_000)));
    assert!(shown.chars().count() < 1_200, "{}", shown.len());
    let shown = one("(a\u{202e}b: 1)");
    assert!(!shown.contains('\u{202e}'), "{shown}");
}
