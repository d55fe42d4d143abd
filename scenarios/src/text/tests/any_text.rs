//! Whatever the text is: no panic, positions inside it, bounded messages.

use proptest::prelude::*;

use super::{Card, FedWalk, WHOLE, source};
use crate::text::{Place, Problems, Source, apply, parse, recover, variant_of};

/// Text that looks enough like a card to get past the first bracket.
fn card_like() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just("seed".to_owned()),
        Just("cohort".to_owned()),
        Just("size: 5,".to_owned()),
        Just("network: Links(".to_owned()),
        Just("latency: Fixed(1),".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\t".to_owned()),
        Just("// x\n".to_owned()),
        Just("/* x */".to_owned()),
        Just("\"té\"".to_owned()),
        Just("r#\"a\"#".to_owned()),
        Just("'c'".to_owned()),
        Just("'\\u{e9}'".to_owned()),
        Just("b'a'".to_owned()),
        Just("-1.5e3".to_owned()),
        Just("1..=2".to_owned()),
        Just("Some(".to_owned()),
        Just("#![enable(".to_owned()),
        Just("🦀".to_owned()),
        Just("r#".to_owned()),
        Just("strategy: FedWalk(walk_length: 3),".to_owned()),
        Just("sweep: (axes: {\"a\": [1]})".to_owned()),
        ".{0,3}",
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// A sound card with a few bytes replaced: most faults in real cards are small.
fn damaged_card() -> impl Strategy<Value = String> {
    prop::collection::vec((0..WHOLE.len(), "[ -~é\n\r\t]{0,2}"), 1..4).prop_map(|edits| {
        let mut text = WHOLE.to_owned();
        for (at, new) in edits {
            let at = at.min(text.len() - 1);
            if text.is_char_boundary(at) && text.is_char_boundary(at + 1) {
                text.replace_range(at..=at, &new);
            }
        }
        text
    })
}

fn check_places(problems: &Problems, card: &str) {
    let n_lines = card.split('\n').count();
    for problem in problems.items() {
        if let Place::Card(span) = problem.place {
            assert!(
                span.start <= span.end && span.end <= card.len(),
                "{span:?} of {}",
                card.len()
            );
            assert!(card.is_char_boundary(span.start) && card.is_char_boundary(span.end));
            let position = problems.source().position(span.start);
            assert!(position.line <= n_lines);
            assert!(position.column <= 1 + card.split('\n').nth(position.line - 1).unwrap().chars().count());
        }
    }
    for shown in [problems.to_string(), problems.report(false), problems.report(true)] {
        assert!(shown.len() < 100_000, "{}", shown.len());
    }
}

fn check(text: &str) {
    let source = source(text);
    let (card, mut problems) = recover::<Card>(&source);
    assert!(card.is_some() || !problems.is_empty());
    problems.push_at("cohort.size", "must be smaller");
    check_places(&problems, source.card());
    if let Some(strategy) = source.within("strategy") {
        match variant_of(&strategy).map(|variant| recover::<FedWalk>(&variant.body).1) {
            Ok(problems) | Err(problems) => check_places(&problems, source.card()),
        }
    }
    if let Ok(changed) = apply(&source, "cohort.size", "five") {
        check_places(&recover::<Card>(&changed).1, changed.card());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        match Source::from_bytes("any.ron", &bytes) {
            Ok(source) => check(source.card()),
            Err(problems) => prop_assert!(problems.to_string().len() < 1_000),
        }
    }

    #[test]
    fn any_text_is_handled(text in ".{0,200}") {
        check(&text);
    }

    #[test]
    fn card_like_text_is_handled(text in card_like()) {
        check(&text);
    }

    #[test]
    fn damaged_cards_are_handled(text in damaged_card()) {
        check(&text);
    }

    /// The scanner must not refuse what the reader takes, except map keys with a structure of their
    /// own.
    #[test]
    fn what_ron_reads_the_scanner_reads(text in prop_oneof![card_like(), damaged_card()]) {
        let is_sound = ron::Options::default().from_str::<ron::Value>(&text).is_ok();
        if is_sound && !source(&text).card().contains('{') {
            prop_assert!(source(&text).tree().is_ok(), "{text}");
        }
    }

    #[test]
    fn applied_values_are_read_back(seed in any::<u64>(), prob in -1e9..1e9_f64, size in any::<u32>(), text in "[^\\x00-\\x1f]{0,20}") {
        let mut changed = source(WHOLE);
        let question = ron::to_string(&text).unwrap();
        let settings = [("seed", seed.to_string()), ("strategy.predictor_prob", prob.to_string()), ("cohort.size", size.to_string()), ("question", question)];
        for (path, value) in &settings {
            changed = apply(&changed, path, value).unwrap();
        }
        let card: Card = parse(&changed).unwrap();
        prop_assert_eq!((card.seed, card.cohort.size, card.question), (seed, size, text));
        let body = variant_of(&changed.within("strategy").unwrap()).unwrap().body;
        prop_assert_eq!(parse::<FedWalk>(&body).unwrap().predictor_prob.to_bits(), prob.to_bits());
        prop_assert_eq!(changed.card(), WHOLE);
    }

    #[test]
    fn any_setting_is_handled(path in "[a-z.\"0-9 ]{0,12}|.{0,8}", value in ".{0,12}|[()a-z:,\\[\\]\"/ ]{0,12}") {
        for text in [WHOLE, "()", "(network: Ideal)"] {
            match apply(&source(text), &path, &value) {
                Ok(changed) => {
                    prop_assert!(changed.tree().is_ok(), "{}", changed.text());
                    check_places(&recover::<Card>(&changed).1, changed.card());
                }
                Err(problems) => check_places(&problems, text),
            }
        }
    }
}

/// A letter that `ron` knows from a later version of Unicode than the standard library.
#[test]
fn a_letter_of_a_later_unicode_begins_a_word() {
    assert!(ron::Options::default().from_str::<ron::Value>("\u{3d000}").is_ok());
    assert!(source("\u{3d000}").tree().is_ok());
}
