//! How parts inside settings are read.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_classifiers::{fed_avg, only};
use folkmoot_parts::{Chosen, part};
use folkmoot_rounds::{Adam, Rule, TrimmedMean, Updates};
use folkmoot_scenarios::algorithm::Algorithm;
use folkmoot_scenarios::explain;
use folkmoot_scenarios::registry::Registry;

#[test]
fn a_part_inside_settings_is_read_where_it_stands() {
    let read = |text: &str| only().settings::<fed_avg::Params>(text);
    let adam = "(protocol: (server: Adam(rate: 0.5), rule: TrimmedMean()))";
    let protocol = read(adam).unwrap().protocol;
    assert_eq!(
        protocol.server,
        Chosen::new(Adam {
            rate: 0.5,
            ..Adam::default()
        })
    );
    assert_eq!(protocol.rule, Chosen::new(TrimmedMean { share: 0.1 }));
    let faults = |text: &str| {
        let problems = read(text).unwrap_err();
        problems
            .to_string()
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    // A rule that cannot be read breaks no other rule: there is one problem of it, and one of its neighbour's value.
    assert_eq!(
        faults("(protocol: (rule: TrimedMean(share: 9), secure: Pairwise(), server: Yogi(rate: 0, tua: 1)))"),
        [
            "  1:19 protocol.rule: there is no aggregation rule `TrimedMean`, did you mean `TrimmedMean`?",
            "  1:80 protocol.server.rate: must be finite and greater than 0, got 0",
            "  1:83 protocol.server.tua: unknown field `tua`, did you mean `tau`?",
        ]
        .map(str::to_owned)
    );
}

/// What another rule makes of the updates, twice.
#[part(name = "Twice", about = "what another rule makes of the updates, twice")]
#[derive(Clone, Debug)]
struct Twice {
    rule: Chosen<dyn Rule>,
}

impl Rule for Twice {
    fn combine(&self, updates: &Updates<'_>) -> Vec<f64> {
        self.rule.combine(updates).iter().map(|x| 2.0 * x).collect()
    }
}

#[test]
fn a_part_may_hold_another_of_its_kind() {
    let mut registry = only();
    registry.add_part::<dyn Rule, Twice>().unwrap();
    let read = |text: &str| registry.settings::<fed_avg::Params>(&format!("(protocol: (rule: {text}))"));
    let nested = read("Twice(rule: Twice(rule: TrimmedMean()))").unwrap();
    let inner = Chosen::new(Twice {
        rule: Chosen::new(TrimmedMean { share: 0.1 }),
    });
    assert_eq!(nested.protocol.rule, Chosen::new(Twice { rule: inner }));
    let problems = read("Twice(rule: Twice(rule: TrimmedMean(share: 2)))")
        .unwrap_err()
        .to_string();
    assert!(
        problems.contains("1:62 protocol.rule.rule.rule.share: must lie in 0..0.5, got 2"),
        "{problems}"
    );
    let paths = explain::paths(&registry);
    assert!(
        paths.iter().any(|path| path == "strategy.protocol.rule.rule"),
        "they end, too"
    );
}

#[test]
fn a_program_without_a_kind_takes_its_default_alone() {
    let read = |text: &str| Registry::empty().settings::<fed_avg::Params>(text);
    assert!(read("()").is_ok());
    let problems = read("(protocol: (rule: Mean))").unwrap_err().to_string();
    assert!(
        problems.contains("this program does not know an aggregation rule at all"),
        "{problems}"
    );
}

/// Adam's first steps move every weight by the rate itself; gradient descent's do not.
#[test]
fn a_rate_that_is_large_for_adam_is_a_lint() {
    let lints = |training: &str| -> Vec<String> {
        let text = format!("(training: ({training}))");
        let params: fed_avg::Params = only().settings(&text).unwrap();
        params.about().lints.into_iter().map(|lint| lint.path).collect()
    };
    assert_eq!(lints("optimiser: Adam, rate: 0.1"), ["training.rate"]);
    assert_eq!(lints("optimiser: AdamW, rate: 0.5"), ["training.rate"]);
    assert_eq!(lints("optimiser: Adam, rate: 0.099"), [""; 0]);
    assert_eq!(lints("rate: 0.5"), [""; 0]);
    let both = lints("optimiser: Adam, rate: 0.1, weight_decay: 0.001");
    assert_eq!(both, ["training.optimiser", "training.rate"]);
}
