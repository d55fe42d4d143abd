//! How parts inside settings are read.
#![allow(clippy::unwrap_used, reason = "settings that cannot be read fail the test")]

use folkmoot_classifiers::{fed_avg, only};
use folkmoot_parts::{Chosen, component};
use folkmoot_rounds::{Adam, Rule, RuleContext, TrimmedMean, Updates};
use folkmoot_scenarios::algorithm::Algorithm;
use folkmoot_scenarios::explain;
use folkmoot_scenarios::names::{present, present_path, set};
use folkmoot_scenarios::registry::Registry;
use folkmoot_scenarios::scenario::check;
use folkmoot_scenarios::text::Source;

#[test]
fn a_part_inside_settings_is_read_where_it_stands() {
    let read = |text: &str| only().settings::<fed_avg::Params>(text);
    let adam = "(protocol: (server_optimizer: Adam(learning_rate: 0.5), aggregator: TrimmedMean()))";
    let protocol = read(adam).unwrap().protocol;
    assert_eq!(
        protocol.server_optimizer,
        Chosen::new(Adam {
            learning_rate: 0.5,
            ..Adam::default()
        })
    );
    assert_eq!(protocol.aggregator, Chosen::new(TrimmedMean { share: 0.1 }));
    let faults = |text: &str| {
        let problems = read(text).unwrap_err();
        problems
            .to_string()
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    // A rule that cannot be read breaks no other rule: there is one problem of it, and one of its
    // neighbour's value.
    assert_eq!(
        faults(
            "(protocol: (aggregator: TrimedMean(share: 9), secure: Pairwise(), server_optimizer: Yogi(learning_rate: 0, tua: 1)))"
        ),
        [
            "  1:25 protocol.aggregator: there is no aggregation rule `TrimedMean`, did you mean `TrimmedMean`?",
            "  1:105 protocol.server_optimizer.learning_rate: must be finite and greater than 0, got 0",
            "  1:108 protocol.server_optimizer.tua: unknown field `tua` of `Yogi`, did you mean `tau`?",
        ]
        .map(str::to_owned)
    );
}

/// What another rule makes of the updates, twice.
#[component(name = "Twice", about = "what another rule makes of the updates, twice")]
#[derive(Clone, Debug)]
struct Twice {
    rule: Chosen<dyn Rule>,
}

impl Rule for Twice {
    fn combine(&self, updates: &Updates<'_>, context: &mut RuleContext<'_>) -> Vec<f64> {
        self.rule.combine(updates, context).iter().map(|x| 2.0 * x).collect()
    }
}

#[test]
fn a_part_may_hold_another_of_its_kind() {
    let mut registry = only();
    registry.add_component::<dyn Rule, Twice>().unwrap();
    let read = |text: &str| registry.settings::<fed_avg::Params>(&format!("(protocol: (aggregator: {text}))"));
    let nested = read("Twice(rule: Twice(rule: TrimmedMean()))").unwrap();
    let inner = Chosen::new(Twice {
        rule: Chosen::new(TrimmedMean { share: 0.1 }),
    });
    assert_eq!(nested.protocol.aggregator, Chosen::new(Twice { rule: inner }));
    let problems = read("Twice(rule: Twice(rule: TrimmedMean(share: 2)))")
        .unwrap_err()
        .to_string();
    assert!(
        problems.contains("1:68 protocol.aggregator.rule.rule.share: must lie in 0..0.5, got 2"),
        "{problems}"
    );
    let paths = explain::paths(&registry);
    assert!(
        paths.iter().any(|path| path == "strategy.protocol.aggregator.rule"),
        "they end, too"
    );
}

#[test]
fn a_program_without_a_kind_takes_its_default_alone() {
    let read = |text: &str| Registry::empty().settings::<fed_avg::Params>(text);
    assert!(read("()").is_ok());
    let problems = read("(protocol: (aggregator: Mean))").unwrap_err().to_string();
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
    assert_eq!(lints("optimiser: Adam, learning_rate: 0.1"), ["training.learning_rate"]);
    assert_eq!(
        lints("optimiser: AdamW, learning_rate: 0.5"),
        ["training.learning_rate"]
    );
    assert_eq!(lints("optimiser: Adam, learning_rate: 0.099"), [""; 0]);
    assert_eq!(lints("learning_rate: 0.5"), [""; 0]);
    let both = lints("optimiser: Adam, learning_rate: 0.1, weight_decay: 0.001");
    assert_eq!(both, ["training.optimiser", "training.learning_rate"]);
}

/// A card as it was written before fields were renamed.
const EARLIER: &str = r#"(
    dataset: Karate,
    strategy: FedAvg(training: (rate: 0.2, proximal: 0.1), protocol: (rule: Median(), server: Adam(rate: 0.03), up: Half())),
    network: Links(uplink: (bandwidth_kbps: 100)),
    sweep: (
        axes: { "strategy.training.rate": [0.1, 0.2], "strategy.protocol.server": [Adam(rate: 0.3), Yogi()] },
        names: { "strategy.training.rate": ["low", "high"] },
    ),
)"#;

#[test]
fn earlier_names_of_fields_are_read_as_todays() {
    let registry = only();
    let source = |text: &str| Source::new("card", text).unwrap();
    let today = EARLIER
        .replace("rate:", "learning_rate:")
        .replace(".rate", ".learning_rate")
        .replace("proximal:", "fedprox_mu:")
        .replace("rule:", "aggregator:")
        .replace("server:", "server_optimizer:")
        .replace(".server", ".server_optimizer")
        .replace(" up:", " uplink_codec:");
    assert_eq!(present(&source(EARLIER), &registry).text(), today);
    assert_eq!(present(&source(&today), &registry).text(), today);
    let whole = EARLIER.replace("network: Links(uplink: (bandwidth_kbps: 100)),", "");
    let read = |text: &str| {
        let scenario = check("card", &source(text), &registry);
        scenario.map_err(|problems| problems.to_string()).unwrap()
    };
    let (earlier, now) = (read(&whole), read(present(&source(&whole), &registry).text()));
    assert_eq!(earlier.resolved(), now.resolved());
    assert!(!earlier.resolved().contains(" rate:") && earlier.axes()[0].path == "strategy.training.learning_rate");
    // A setting may use either name, whichever the card uses.
    for card in [
        &whole,
        &today.replace("network: Links(uplink: (bandwidth_kbps: 100)),", ""),
    ] {
        for setting in ["strategy.training.rate=0.7", "strategy.training.learning_rate=0.7"] {
            let changed = set(&present(&source(card), &registry), setting, &registry).unwrap();
            assert!(
                read(changed.text()).resolved().contains("learning_rate: 0.7"),
                "{setting}"
            );
        }
    }
    let path = |path: &str| present_path(path, &registry);
    assert_eq!(
        path("strategy.protocol.server.rate"),
        "strategy.protocol.server_optimizer.learning_rate"
    );
    // What keeps its name keeps it.
    for same in [
        "cohort.rate",
        "network.uplink.latency_ms",
        "strategy.protocol.rounds",
        "a..b",
        "seed",
    ] {
        assert_eq!(path(same), same);
    }
    // What is wrong is said at its place in the card as it is written.
    let wrong = check(
        "card",
        &source("(dataset: Karate, strategy: FedAvg(training: (rate: 0)))"),
        &registry,
    );
    let wrong = wrong.map(|_| ()).unwrap_err().to_string();
    assert!(
        wrong.contains("1:53 strategy.training.learning_rate: must be"),
        "{wrong}"
    );
    let twice = check(
        "card",
        &source("(dataset: Karate, strategy: FedAvg(training: (rate: 1, learning_rate: 2)))"),
        &registry,
    );
    let twice = twice.map(|_| ()).unwrap_err().to_string();
    assert!(twice.contains("learning_rate") && twice.contains("1:"), "{twice}");
}
