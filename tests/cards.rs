//! The shipped cards are legal, listed, and can be damaged in any way without a panic.

use crate::support::{TINY, TempDir, root, run_args, tiny};
use folkmoot_metrics::RunDir;
use folkmoot_scenarios::claims::Claims;
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::sweep::{Plan, plan};
use folkmoot_scenarios::text::Source;

/// Names and texts of the files below `scenarios/*/cards/`.
fn shipped() -> Vec<(String, String)> {
    let files = crate::support::files(&root().join("scenarios")).into_iter();
    let cards = files.filter_map(|(path, bytes)| {
        let (_, name) = path.split_once("/cards/")?;
        let name = name.strip_suffix(".ron").expect("a card ends in .ron").to_owned();
        Some((name, String::from_utf8(bytes).unwrap()))
    });
    cards.collect()
}

#[test]
fn every_card_on_the_disk_is_built_in_listed_and_right() {
    let temp = TempDir::new();
    let mut names: Vec<String> = shipped().into_iter().map(|(name, _)| name).collect();
    assert!(names.len() >= 4, "{names:?}");
    let list = temp.run(&["list"]).done();
    let cards = list.split("\n\n").find(|block| block.starts_with("cards ("));
    let cards = cards.unwrap().lines().skip(2);
    let mut listed: Vec<String> = cards
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    listed.sort();
    names.sort();
    assert_eq!(listed, names);
    let args: Vec<&str> = ["check"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let checked = temp.run(&args);
    // Their arms name what they change, and leave nothing to be taken over: recorded results stay
    // what they are.
    for words in ["does not name", "takes over"] {
        assert!(!checked.stderr.contains(words), "{}", checked.stderr);
    }
    let checked = checked.done();
    assert_eq!(checked.lines().count(), names.len());
    assert!(
        checked.lines().all(|line| line.contains(": OK; its sweep has ")),
        "{checked}"
    );
}

/// Recorded results were drawn in floating point: their cards say so, whatever the default is.
#[test]
fn cards_with_a_recorded_hash_state_their_form_of_noise() {
    let texts = crate::support::files(&root().join("scenarios")).into_iter();
    let tables = texts.filter(|(path, _)| path.ends_with("/hashes.csv"));
    let tables: Vec<String> = tables.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect();
    let recorded: Vec<&str> = tables.iter().flat_map(|table| table.lines().skip(1)).collect();
    let cards = shipped();
    let mut n_recorded = 0;
    for (name, text) in &cards {
        if recorded.iter().any(|row| row.split(',').next() == Some(name)) {
            assert!(text.contains("\n    noise: Float,\n"), "{name}: add noise: Float");
            n_recorded += 1;
        }
    }
    assert!(n_recorded > 100, "{n_recorded}");
}

/// Each crate of algorithms but the shared ones can be left out: what is left needs nothing of it.
#[test]
fn without_a_leaf_all_other_cards_and_claims_are_right() {
    let folder = |register: &folkmoot::Register| folkmoot::registry(&[*register]).folders().first().copied();
    let mut n_leaves = 0;
    for left_out in folkmoot::CRATES.iter().map(folder) {
        let Some(left_out) = left_out.filter(|folder| *folder != "classifiers") else {
            continue;
        };
        n_leaves += 1;
        let others = folkmoot::CRATES
            .iter()
            .filter(|register| folder(register) != Some(left_out));
        let others: Vec<folkmoot::Register> = others.copied().collect();
        let registry = folkmoot::registry(&others);
        for (name, text) in registry.cards() {
            let scenario = check(name, &Source::new(name, text).unwrap(), &registry);
            let scenario = scenario.unwrap_or_else(|problems| panic!("without {left_out}: {problems}"));
            plan(&scenario, "0", &registry, usize::MAX)
                .unwrap_or_else(|problems| panic!("without {left_out}: {problems}"));
        }
        for claims in Claims::all(&registry).unwrap() {
            claims
                .check(&registry)
                .unwrap_or_else(|problems| panic!("without {left_out}: {problems}"));
        }
    }
    assert_eq!(n_leaves, crate::tidy::leaves().len());
}

/// Of a large sweep, each value of an axis is checked with the first of the others, and some of all
/// configurations.
#[test]
fn a_large_sweep_is_checked_in_part() {
    let registry = folkmoot::shipped();
    let checked = |last: u32, most| {
        let axes =
            format!("\"strategy.protocol.rounds\": [1, 2, 3, {last}], \"strategy.training.epochs\": [4, 5, 6, 7]");
        let shape = "dataset: ContextualSbm(n_nodes: 90), partition: Multilevel(n_clients: 5), strategy: FedAvg()";
        let card = format!("({shape}, sweep: (axes: {{{axes}}}, seeds: [1, 2]))");
        let scenario = check("card", &Source::new("card", &card).unwrap(), &registry).unwrap();
        let plan = plan(&scenario, "0", &registry, most);
        plan.map(|plan| plan.checked).map_err(|problems| problems.to_string())
    };
    assert_eq!(checked(4, usize::MAX), Ok((16, 16)));
    assert_eq!(checked(4, 4), Ok((7, 16)));
    assert!(checked(0, 4).unwrap_err().contains("rounds"));
}

#[test]
fn every_card_states_its_question_and_its_headline() {
    for (name, text) in shipped() {
        for field in ["question:", "paper:", "headline:"] {
            assert!(text.contains(field), "{name} has no {field}");
        }
    }
}

/// What `show` prints of a card, written to a file of its own.
fn shown(temp: &TempDir, card: &str) -> String {
    let text = temp.run(&["show", card, "--resolved"]).done();
    let name = format!("shown/{card}.ron");
    temp.write(&name, text);
    name
}

#[test]
fn every_card_that_is_shown_is_a_card_with_the_same_sweep() {
    let temp = TempDir::new();
    let registry = folkmoot::shipped();
    for (name, text) in shipped() {
        let path = shown(&temp, &name);
        let plan = |source: &Source| {
            let scenario = check("card", source, &registry).map_err(|problems| problems.to_string());
            plan(&scenario?, "0", &registry, usize::MAX).map_err(|problems| problems.to_string())
        };
        let (card, again) = (
            Source::new(&name, &text).unwrap(),
            Source::read(&temp.join(&path)).unwrap(),
        );
        let (card, again) = (plan(&card).unwrap(), plan(&again).unwrap());
        assert_eq!(again.manifest, card.manifest, "{name}");
        for i in 0..card.points.len() {
            let resolved = |plan: &Plan<'_>| plan.scenario(i).unwrap().resolved();
            assert_eq!(resolved(&again), resolved(&card), "{name}, point {i}");
        }
        assert_eq!(
            temp.run(&["show", &name]).done(),
            text,
            "{name} is shown as it is written"
        );
    }
}

#[test]
fn a_card_that_is_shown_runs_to_the_same_fingerprint() {
    let temp = TempDir::new();
    let path = shown(&temp, TINY);
    temp.run(&run_args(&[&path], "out", &[])).done();
    let again = RunDir::open(&temp.join("out")).unwrap();
    assert_eq!(
        again.manifest.result_fingerprint,
        tiny().run.manifest.result_fingerprint
    );
}

#[test]
fn a_card_is_shown_without_its_data() {
    let temp = TempDir::new();
    let shown = temp.run(&["show", "fed-avg/cuts-cora", "--resolved"]);
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    assert!(
        shown.stderr.contains("warning: the card's data cannot be described"),
        "{shown:#?}"
    );
    temp.write("c.ron", &shown.stdout);
    temp.run(&["check", "c.ron"]).done();
}

/// Nothing happens before a nanosecond has gone by, but everything is built: data, shares, server
/// and clients.
#[test]
fn every_card_that_needs_no_data_set_can_be_run_as_it_stands() {
    let temp = TempDir::new();
    let registry = folkmoot::shipped();
    let mut n_run = 0;
    for (name, text) in shipped() {
        let scenario = check(&name, &Source::new(&name, &text).unwrap(), &registry).unwrap();
        let is_measured = text.contains("Flash(");
        // Their crates' tests run them, where there is an interpreter.
        if !scenario.strategy().about.programs.is_empty() {
            continue;
        }
        if !scenario.dataset().is_generated() || is_measured || text.contains("n_nodes: 1000000") {
            continue;
        }
        temp.run(&run_args(&[&name], &name, &["--dry-run", "--set", "horizon_s=1e-9"]))
            .done();
        n_run += 1;
    }
    assert!(n_run >= 15, "{n_run}");
}

/// A small generator of its own, so that every run of the test damages the cards alike.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

const SCRAPS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "-",
    "NaN",
    "inf",
    "1e400",
    "-0",
    "99999999999999999999",
    "0x",
    "//",
    "/*",
    "None",
    "Some(",
    "\u{0}",
    "é",
    "\u{202e}",
    "r#\"",
    "#![enable(",
    "dataset",
    "seed: 7,",
    "Karate",
    "()",
    "' '",
];

fn damaged(card: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = card.as_bytes().to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        let until = (at + 1 + dice.below(20)).min(bytes.len());
        match dice.below(6) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..until)),
            2 => bytes.truncate(at.max(1)),
            3 => {
                let piece = bytes[at..until].to_vec();
                let to = dice.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                let scrap = SCRAPS[dice.below(SCRAPS.len())];
                let over = if dice.below(2) == 0 { at } else { until };
                bytes.splice(at..over, scrap.bytes());
            }
        }
    }
    bytes
}

#[test]
fn damaged_cards_are_right_or_refused_and_never_a_panic() {
    let temp = TempDir::new();
    let cards = shipped();
    let mut dice = Dice(7);
    let (mut n_right, mut n_refused) = (0, 0);
    for i in 0..200 {
        let (name, card) = &cards[i % cards.len()];
        let bytes = damaged(card, &mut dice);
        temp.write("c.ron", &bytes);
        let ended = temp.run(&["check", "c.ron"]);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!ended.stderr.contains("panicked"), "{name}: {ended:#?}\n{text}");
        match ended.code {
            Some(0) => n_right += 1,
            Some(2) => {
                n_refused += 1;
                assert!(
                    ended.stderr.lines().any(|line| line.starts_with("error: c.ron has ")),
                    "{name}: {ended:#?}\n{text}"
                );
            }
            _ => panic!("{name}: {ended:#?}\n{text}"),
        }
    }
    assert!(n_right > 0 && n_refused > 100, "{n_right} right, {n_refused} refused");
}

/// Every cost is of a card, five cards are marked as a start, and those have a cost.
#[test]
fn costs_are_of_cards() {
    let registry = folkmoot::shipped();
    let mut starts = Vec::new();
    for folder in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let Ok(text) = std::fs::read_to_string(folder.unwrap().path().join("costs.csv")) else {
            continue;
        };
        for line in text.lines().skip(1) {
            let (card, rest) = line.split_once(',').unwrap();
            assert!(registry.cards().iter().any(|(name, _)| *name == card), "{card}");
            if rest.ends_with(",yes") {
                starts.push(registry.cost(card).unwrap_or_else(|| panic!("{card} has no cost")));
            }
        }
    }
    assert!(!starts.is_empty() && starts.len() <= 5 && starts.iter().all(|cost| cost.is_start && cost.run_s < 60.0));
}
