//! Claims held against runs: the shipped files, the pages written from them, and the command.

use crate::support::{TempDir, assert_golden};
use crate::trials::folders;
use folkmoot_metrics::figure::TableFigure;
use folkmoot_plots::PaperResult;
use folkmoot_scenarios::audit::{Audited, Evidence, Verdict, Wanted, pages};
use folkmoot_scenarios::claims::Claims;
use std::collections::BTreeSet;

fn shipped() -> Vec<Claims> {
    Claims::all(&folkmoot::shipped()).unwrap()
}

#[test]
fn every_shipped_claim_has_a_legal_card_and_every_erratum_a_claim() {
    let registry = folkmoot::shipped();
    let mut errata = BTreeSet::new();
    for claims in shipped() {
        claims.check(&registry).unwrap();
        for quick in [false, true] {
            let measures = claims.measures(quick, &registry).unwrap();
            let generated = |run: &folkmoot_scenarios::claims::RunKey| run.resolve(&registry).unwrap().is_generated;
            assert!(
                !quick || measures.iter().all(|measure| generated(&measure.run)),
                "{}",
                claims.name
            );
        }
        errata.extend(claims.claims.iter().map(|claim| claim.erratum.clone()));
    }
    let wanted = folders().into_values().flat_map(|file| file.errata);
    let wanted = wanted.flat_map(|(letter, n)| (1..=n).map(move |i| format!("{letter}{i}")));
    let missing: Vec<String> = wanted.filter(|erratum| !errata.contains(erratum)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Every shipped claim as the recorded numbers decide it, and those.
pub(crate) fn recorded() -> (Vec<Audited>, Evidence) {
    let registry = folkmoot::shipped();
    let mut evidence = Evidence::recorded(&registry).unwrap();
    for claims in shipped() {
        let mut measures = claims.measures(false, &registry).unwrap();
        measures.extend(claims.supporting(false));
        let wanted = Wanted::new(&measures, &registry).unwrap();
        evidence.expect(&wanted);
        assert_eq!(
            evidence.forget_changed(&wanted),
            Vec::<String>::new(),
            "recorded of other cards"
        );
    }
    let audited = shipped()
        .into_iter()
        .map(|claims| Audited::new(claims, false, &evidence));
    (audited.collect(), evidence)
}

#[test]
fn the_pages_are_those_of_the_data() {
    let registry = folkmoot::shipped();
    let (audited, evidence) = recorded();
    assert_golden("../scenarios/RESULTS.md", &pages::summary(&audited));
    let temp = TempDir::new();
    let found = audited.iter().map(|one| PaperResult {
        system: one.claims.system.clone(),
        counts: one.counts().to_vec(),
        numbers: one.numbers(),
    });
    let names = Verdict::ALL.map(|verdict| verdict.to_string());
    let mut tables: Vec<TableFigure> = Vec::new();
    let mut folders = vec![("verdicts".to_owned(), ""), ("printed".to_owned(), "")];
    for one in &audited {
        let of_one = pages::figures(one, &evidence, &registry).unwrap();
        folders.extend(
            of_one
                .iter()
                .map(|table| (table.name.clone(), one.claims.name.as_str())),
        );
        tables.extend(of_one);
    }
    folkmoot_plots::draw_audit(temp.path(), &names, &found.collect::<Vec<_>>(), &tables).unwrap();
    for (name, folder) in folders {
        let drawn = std::fs::read_to_string(temp.join(&format!("figures/{name}.svg"))).unwrap();
        assert_golden(&format!("../scenarios/{folder}/figures/{name}.svg"), &drawn);
    }
    for one in &audited {
        assert_eq!(one.findings.len(), one.claims.claims.len());
        let page = pages::system(one, &evidence, &registry).unwrap();
        assert_golden(&format!("../scenarios/{}/results.md", one.claims.name), &page);
    }
}

/// Three claims on a small federation: one that holds, one that does not, and one that nothing
/// decides.
const OWN: &str = r#"(
    system: "Mine",
    paper: "A note",
    claims: [
        (
            id: "all-answer", claim: "Where nobody leaves, each client answers in each round.", at: "page 1", printed: "60",
            card: "fed-avg/tiny", arm: { "dropout.prob": "0.0" }, metric: "update_messages", rule: Exact,
            quick: (rule: Exact),
        ),
        (
            id: "no-loss", claim: "Clients that leave cost no update.", at: "page 2",
            card: "fed-avg/tiny", set: ["sweep.seeds=[1, 2, 3]"], arm: { "dropout.prob": "0.4" },
            metric: "update_messages", against: (arm: { "dropout.prob": "0.0" }), rule: Shape(Alike(0.5)),
        ),
        (id: "more", claim: "There is more to say.", at: "page 3", rule: NotDecidable("nobody has said it")),
    ],
)"#;

#[test]
fn claims_of_ones_own_are_run_judged_and_not_run_again() {
    let temp = TempDir::new();
    temp.write("mine.ron", OWN);
    let first = temp.run(&["audit", "mine.ron"]);
    assert!(first.stderr.contains("with --from, nothing is run"), "{first:#?}");
    let text = first.done();
    let line = |id: &str| text.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
    assert!(
        line("all-answer").contains("reproduced exactly") && line("no-loss").contains("contradicted"),
        "{text}"
    );
    assert!(
        line("more").contains("nobody has said it")
            && line("Mine").split_whitespace().collect::<Vec<_>>()
                == ["Mine", "3", "1", "0", "0", "1", "0", "0", "0", "1"],
        "{text}"
    );
    let again = temp.run(&["audit", "mine.ron"]);
    assert!(!again.stderr.contains("with --from, nothing is run"), "{again:#?}");
    assert_eq!(again.done(), text);
    // The same by the finished runs alone, wherever they lie, and a folder without any.
    assert_eq!(
        temp.run(&["audit", "mine.ron", "--from", "runs", "--out", "other"])
            .done()
            .replace("other", "runs/audit"),
        text
    );
    temp.write("empty/note.txt", "");
    let none = temp.run(&["audit", "mine.ron", "--from", "empty", "--out", "none"]);
    assert!(
        none.stderr.contains("it has no finished run that a claim uses"),
        "{none:#?}"
    );
    assert!(none.done().contains("not run: fed-avg/tiny dropout.prob=0.0"));
    // A dry run learned nothing, a run of a card that is refused now is told, and what lies in
    // --out is no part of --from.
    let dry = [
        "run",
        "fed-avg/tiny",
        "--set",
        "dropout.prob=0.0",
        "--dry-run",
        "--out",
        "dry/run",
    ];
    temp.run(&[&dry[..], &["--quiet"]].concat()).done();
    let dry = temp.run(&["audit", "mine.ron", "--from", "dry"]);
    assert!(
        dry.stderr.contains("it has no finished run that a claim uses"),
        "{dry:#?}"
    );
    assert!(dry.done().contains("not run: fed-avg/tiny dropout.prob=0.0"));
    let other = temp.run(
        &[
            &["run", "fed-avg/tiny", "--set", "dropout.prob=0.0"][..],
            &["--quiet", "--out", "old/run"],
        ]
        .concat(),
    );
    other.done();
    let card = std::fs::read_to_string(temp.join("old/run/scenario.ron")).unwrap();
    temp.write("old/run/scenario.ron", card.replace("batch_size:", "size_of_batch:"));
    let old = temp.run(&["audit", "mine.ron", "--from", "old", "--out", "none"]);
    assert!(
        old.stderr
            .contains("1 run of a card that this program refuses: old/run"),
        "{old:#?}"
    );
    let quick = temp.run(&["audit", "mine.ron", "--quick", "--format", "json"]).done();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&quick).unwrap();
    let verdicts: Vec<&str> = rows.iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["reproduced exactly", "not run", "not testable"]);
    assert!(temp.join("other/figures/verdicts.svg").is_file() && !temp.join("other/figures/printed.svg").exists());
    let table = std::fs::read_to_string(temp.join("other/audit.csv")).unwrap();
    assert!(
        table.lines().count() == 4 && table.contains("mine,all-answer"),
        "{table}"
    );
}

/// How much more clients that leave cost long runs than short ones, and that it were less; and one
/// of a setting that nobody ran.
const INTERACTIONS: &str = r#"(
    system: "Mine",
    paper: "A note",
    grids: [(
        id: "cost", claim: "Clients that leave cost {row} updates of long runs than of short ones.", at: "page 1",
        card: "fed-avg/tiny", set: ["sweep.seeds=[1, 2, 3]"], arm: { "dropout.prob": "0.0" },
        metric: "update_messages", against: (arm: { "dropout.prob": "0.4" }),
        rows: [
            (name: "more", rule: Interaction(More)),
            (name: "less", rule: Interaction(Less)),
        ],
        columns: [
            (name: "l", elsewhere: (set: ["sweep.seeds=[1, 2, 3]", "strategy.protocol.rounds=5"])),
        ],
        printed: [["+"], ["-"]],
    )],
)"#;

#[test]
fn an_interaction_is_run_recorded_and_judged_by_finished_runs() {
    let temp = TempDir::new();
    temp.write("mine.ron", INTERACTIONS);
    let args = ["audit", "mine.ron", "--out", "made", "--record", "kept"];
    let first = temp.run(&args);
    // Two lengths, with clients that leave and without, under three seeds each.
    assert!(first.stderr.contains("the record lacks 12 runs"), "{first:#?}");
    let text = first.done();
    let line = |id: &str| text.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
    assert!(
        line("cost/more/l").contains("as a trend") && line("cost/less/l").contains("contradicted"),
        "{text}"
    );
    let said = line("cost/more/l");
    assert!(said.contains("here 15 ") && said.contains("elsewhere 4."), "{said}");
    let table = std::fs::read_to_string(temp.join("made/audit.csv")).unwrap();
    assert!(
        table.contains(",,0,reproduced as a trend,\"here 15 ") && table.contains(",,0,contradicted,"),
        "{table}"
    );
    let kept = std::fs::read_to_string(temp.join("kept/mine/measured.csv")).unwrap();
    assert_eq!(kept.lines().count(), 1 + 12, "{kept}");
    let json = |args: &[&str]| -> Vec<serde_json::Value> {
        serde_json::from_str(&temp.run(&[args, &["--format", "json"]].concat()).done()).unwrap()
    };
    let rows = json(&["audit", "mine.ron", "--from", "made/runs", "--out", "again"]);
    assert_eq!(
        (&rows[0]["verdict"], &rows[1]["verdict"]),
        (&"reproduced as a trend".into(), &"contradicted".into())
    );
    assert!(
        rows[0]["measured"].as_f64().unwrap() > 4.0 && rows[0]["seeds"] == 3,
        "{rows:?}"
    );
    // Without the runs of one of the four numbers nothing is decided, and it says which.
    for entry in std::fs::read_dir(temp.join("made/runs")).unwrap() {
        let path = entry.unwrap().path();
        if path.display().to_string().contains("prob=0.4") && path.display().to_string().contains("rounds=5") {
            std::fs::remove_dir_all(path).unwrap();
        }
    }
    let rows = json(&["audit", "mine.ron", "--from", "made/runs", "--out", "fewer"]);
    assert_eq!(rows[0]["verdict"], "not run");
    let why = rows[0]["why"].as_str().unwrap();
    assert!(
        why.starts_with("not run: fed-avg/tiny dropout.prob=0.4") && why.ends_with("strategy.protocol.rounds=5"),
        "{why}"
    );
    temp.write("bad.ron", INTERACTIONS.replace("elsewhere: (set", "against: (set"));
    temp.run(&["audit", "bad.ron"])
        .refused(&["bad.ron", "grids.0", "cost/more/l: an interaction needs `elsewhere`"]);
}

#[test]
fn a_wrong_audit_is_refused() {
    let temp = TempDir::new();
    temp.run(&["audit", "clasifiers"])
        .refused(&["neither a file of claims nor a system", "did you mean `classifiers`?"]);
    temp.run(&["audit", "--from", "nowhere"])
        .refused(&["--from nowhere", "no such folder"]);
    temp.run(&["audit", "--quick", "--fresh"]).refused(&["--fresh"]);
    // Every claim that cannot be tested is told, with its place.
    temp.write("bad.ron", OWN.replace("fed-avg/tiny", "fed-avg/tinyy"));
    temp.run(&["audit", "bad.ron"]).refused(&[
        "bad.ron has 2 problems",
        "claims.0: all-answer: fed-avg/tinyy: is no shipped card",
        "claims.1: no-loss: fed-avg/tinyy",
    ]);
    let refused = |said: &str, instead: &str, parts: &[&str]| {
        assert!(OWN.contains(said), "{said}");
        temp.write("bad.ron", OWN.replace(said, instead));
        temp.run(&["audit", "bad.ron"]).refused(&[&["bad.ron"], parts].concat());
    };
    refused(
        "\"0.4\"",
        "\"0.3\"",
        &["no-loss", "the axis dropout.prob has no value 0.3"],
    );
    refused("rule: Exact,", "rule: Exakt,", &["Exakt"]);
    refused(
        "quick: (rule: Exact)",
        "quick: (card: \"fed-avg/tinyy\")",
        &["claims.0", "all-answer: quick: fed-avg/tinyy"],
    );
    refused(
        "Alike(0.5)",
        "Alike(-0.5)",
        &["no-loss", "Alike takes a margin of 0 or more, got -0.5"],
    );
    refused(
        "Shape(Alike(0.5))",
        "AtMost(NaN)",
        &["no-loss", "AtMost takes a finite number, got NaN"],
    );
    refused(
        "rule: Exact,",
        "change: Percent, rule: Exact,",
        &["all-answer", "`change` needs `against`"],
    );
    refused(
        "\"0.0\" }), rule",
        "\"0.4\" }), rule",
        &["no-loss", "the very same number"],
    );
    refused(
        "rule: Shape(Alike(0.5))",
        "scale: 0, rule: Shape(Alike(0.5))",
        &["`scale`", "not 0"],
    );
    refused(
        "rule: Shape(Alike(0.5))",
        "scale: 2, change: Percent, rule: Shape(More)",
        &["per cent has no `scale`"],
    );
    let twice = "rule: Shape(Order([{ \"dropout.prob\": \"0.2\" }, { \"dropout.prob\": \"0.2\" }])),";
    refused("rule: Exact,", twice, &["the same arm twice"]);
    refused("nobody has said it", " ", &["claims.2", "words that say why"]);
    refused(
        "\"update_messages\", rule",
        "\"privacy/none: rows/epsilon\", rule",
        &["privacy.csv has no column epsilon"],
    );
    refused("paper: \"A note\"", "paper: \"\"", &["paper", "must not be empty"]);
    refused(
        "claims: [",
        "found: \"{all-answers}\", claims: [",
        &["found", "nothing has the id \"all-answers\""],
    );
    let table = "tables: [(title: \"Both\", card: \"fed-avg/tiny\", rows: \"dropout.prob\", metric: \"a\", metrics: [(\"b\", \"c\")])], claims: [";
    refused(
        "claims: [",
        table,
        &["tables.0", "fed-avg/tiny: a table has a `metric`", "or `metrics`"],
    );
    temp.write("bad.ron", "(system: \"Mine\", paper: \"A note\")");
    temp.run(&["audit", "bad.ron"])
        .refused(&["bad.ron", "at least one claim or table"]);
    refused(
        "update_messages",
        "update_massages",
        &[
            "all-answer: no run of FedAvg has a number `update_massages`",
            "no-loss: no run of FedAvg",
        ],
    );
    // A run that has not the number is made once, and not again.
    temp.write(
        "mine.ron",
        OWN.replace("update_messages", "rounds_to_target[test_accuracy=0.99]"),
    );
    let first = temp.run(&["audit", "mine.ron", "--out", "made"]);
    assert!(first.stderr.contains("the record lacks 9 runs"), "{first:#?}");
    assert!(
        first
            .done()
            .contains("the run has no number rounds_to_target[test_accuracy=0.99]")
    );
    assert!(
        !temp
            .run(&["audit", "mine.ron", "--out", "made"])
            .stderr
            .contains("with --from, nothing is run")
    );
}

/// Of a run on record a number that was not kept is made, and one that was is not.
#[test]
fn a_number_that_is_not_on_record_is_made() {
    let temp = TempDir::new();
    let claim = |metric: &str| {
        format!(
            r#"(system: "Mine", paper: "A note", claims: [(
                id: "reached", claim: "The target is reached before the run begins.", at: "page 1",
                card: "scaffold/small", set: ["targets={{\"test_accuracy\": 0.8}}"],
                arm: {{ "partition.alpha": "0.1", "strategy": "FedAvg" }},
                metric: "{metric}", rule: Shape(Below(0)),
            )])"#
        )
    };
    temp.write("kept.ron", claim("rounds_to_target[test_accuracy=0.8]"));
    let kept = temp.run(&["audit", "kept.ron", "--out", "kept"]);
    assert!(!kept.stderr.contains("with --from, nothing is run"), "{kept:#?}");
    assert!(kept.done().contains("contradicted"));
    temp.write("other.ron", claim("update_messages"));
    let other = temp.run(&["audit", "other.ron", "--out", "other"]);
    assert!(other.stderr.contains("the record lacks 3 runs"), "{other:#?}");
    assert!(other.done().contains("contradicted"));
}
