//! Traced runs: what the trace tells is what was counted, whatever threads play it, and tracing
//! changes nothing.

use crate::support::{ROUGH, TINY, TempDir, assert_same, result_of, run_args};
use crate::trials::{Trial, trials};
use folkmoot_metrics::trace::{Slice, TRACE, TraceReader};
use folkmoot_metrics::{Party, RunDir};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Clients that come and go, leave rounds, lose messages and wait at slow links.
const COMING: &[&str] = &[
    "fed-avg/small",
    "--dry-run",
    "--set",
    "strategy.protocol.rounds=6",
    "--set",
    "availability=OnOff(mean_on_s: 20, mean_off_s: 5)",
    "--set",
    "dropout=(prob: 0.2, after_ms: Uniform(low: 0, high: 4000))",
    "--set",
    "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 1)",
];

/// What is traced: these, and what the folders of scenarios name.
fn traced(rows: &[Trial]) -> Vec<Vec<&str>> {
    let own = [&[TINY][..], COMING, ROUGH].map(<[&str]>::to_vec);
    own.into_iter().chain(rows.iter().map(Trial::args)).collect()
}

/// Messages of a trace by phase, kind, and what became of them.
fn counted(dir: &Path) -> BTreeMap<(String, String, &'static str), u64> {
    let mut counts = BTreeMap::new();
    let mut trace = TraceReader::open(dir).unwrap().unwrap();
    while let Some((_, event)) = trace.next_event().unwrap() {
        if let Some((phase, kind, fate)) = event.message() {
            let became = match fate {
                None => "sent",
                Some("delivered") => "delivered",
                Some("in flight at the end") => "in flight",
                Some(_) => "dropped",
            };
            *counts.entry((phase.to_owned(), kind.to_owned(), became)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn the_messages_of_a_trace_are_those_of_the_ledger() {
    let temp = TempDir::new();
    let rows = trials(|file| &file.traced);
    for (card, i) in traced(&rows).iter().zip(0..) {
        let out = &format!("run-{i}");
        temp.run(&run_args(card, out, &["--trace"])).done();
        let run = RunDir::open(&temp.join(out)).unwrap();
        let mut expected = BTreeMap::new();
        for row in &run.tables.messages {
            let mut add = |became, n| {
                if n > 0 {
                    *expected
                        .entry((row.phase.clone(), row.kind.clone(), became))
                        .or_default() += n;
                }
            };
            add("sent", row.sent);
            add("delivered", row.delivered);
            add("dropped", row.dropped);
            add("in flight", row.in_flight);
        }
        assert_eq!(counted(&temp.join(out)), expected, "{card:?}");
    }
}

/// Jobs add up to what a client computed, and absences to what it was not online.
#[test]
fn the_slices_of_a_trace_are_what_clients_did() {
    let temp = TempDir::new();
    temp.run(&run_args(COMING, "out", &["--trace"])).done();
    let run = RunDir::open(&temp.join("out")).unwrap();
    let mut spans: BTreeMap<(Party, Slice), f64> = BTreeMap::new();
    let mut trace = TraceReader::open(&temp.join("out")).unwrap().unwrap();
    let mut n_rounds = 0;
    while let Some((_, event)) = trace.next_event().unwrap() {
        if let Some((slice, from, to)) = event.slice() {
            *spans.entry((event.party(), slice)).or_default() += to - from;
            n_rounds += usize::from(slice == Slice::Round);
        }
    }
    assert_eq!(n_rounds, run.tables.rounds.len());
    let end = run.summary["virtual_s"];
    let mut n_left = 0;
    for row in &run.tables.clients {
        let client = Party::Client(folkmoot_metrics::ClientId(row.client));
        let span = |slice| spans.get(&(client, slice)).copied().unwrap_or(0.0);
        assert!((span(Slice::Job) - row.compute_s).abs() < 1e-6, "{row:?}");
        assert!((span(Slice::Away) - (end - row.online_s)).abs() < 1e-6, "{row:?}");
        n_left += usize::from(span(Slice::Left) > 0.0);
    }
    assert!(n_left > 0 && spans.keys().any(|(_, slice)| *slice == Slice::Away));
}

#[test]
fn tracing_changes_nothing_and_no_thread_changes_a_trace() {
    let temp = TempDir::new();
    let rows = trials(|file| &file.traced);
    for (card, i) in traced(&rows).iter().zip(0..) {
        let run = |way: &str, more: &[&str]| {
            let out = format!("{i}-{way}");
            temp.run(&run_args(card, &out, more)).done();
            temp.join(&out)
        };
        let traced = run("traced", &["--trace", "--threads", "1"]);
        let mut without_trace = result_of(&traced);
        let trace = without_trace.remove(TRACE).unwrap();
        without_trace.retain(|name, _| !name.starts_with("figures/"));
        let mut plain = result_of(&run("plain", &[]));
        plain.retain(|name, _| !name.starts_with("figures/"));
        assert_same(&without_trace, &plain, "traced against not");
        for (way, more) in [
            ("three", ["--trace", "--threads", "3"]),
            ("one-by-one", ["--trace", "--no-windows", "--wire-check"]),
        ] {
            assert!(
                fs::read(run(way, &more).join(TRACE)).unwrap() == trace,
                "{card:?} {way}"
            );
        }
    }
}

#[test]
fn a_trace_of_some_clients_is_their_part_of_the_whole() {
    let temp = TempDir::new();
    temp.run(&run_args(COMING, "all", &["--trace"])).done();
    let said = temp.run(&[&["run"], COMING, &["--trace", "--trace-clients", "3", "--out", "some"]].concat());
    assert!(said.stderr.contains("the trace follows 3 of "), "{said:#?}");
    let told = |name: &str| -> Vec<String> {
        let mut trace = TraceReader::open(&temp.join(name)).unwrap().unwrap();
        std::iter::from_fn(|| trace.next_event().unwrap().map(|(_, event)| event.to_string())).collect()
    };
    let trace = TraceReader::open(&temp.join("some")).unwrap().unwrap();
    let followed: Vec<String> = trace
        .about()
        .clients
        .clients()
        .map(|id| format!("client {} ", id.0))
        .collect();
    let mut all = told("all");
    // A round has no client; everything else names the one whose life it is in.
    all.retain(|event| {
        let padded = event.replace([',', ':'], " ") + " ";
        !padded.contains("client ") || followed.iter().any(|name| padded.contains(name))
    });
    assert_eq!(told("some"), all);
    temp.run(&["compare", "all", "some"]).done();
    let compared = temp.run(&["compare", "all", "some"]).done();
    assert!(compared.contains("clients are followed against 3 of"), "{compared}");
}

#[test]
fn the_first_event_that_differs_is_told_before_the_first_number() {
    let temp = TempDir::new();
    temp.run(&run_args(COMING, "a", &["--trace"])).done();
    temp.run(&run_args(COMING, "b", &["--trace", "--set", "header_bytes=77"]))
        .done();
    temp.run(&run_args(COMING, "c", &[])).done();
    let told = |a: &str, b: &str| temp.run(&["compare", a, b]).stdout;
    let lines: Vec<String> = told("a", "b").lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("scenario.ron: header_bytes: "), "{lines:#?}");
    assert!(lines[1].starts_with("trace.json.gz: line "), "{lines:#?}");
    assert!(lines[1].contains("at 0 s, server sends "), "{lines:#?}");
    assert!(lines[2].starts_with("messages.csv: "), "{lines:#?}");
    assert_eq!(
        told("a", "c"),
        "no difference\ntrace.json.gz: only the first run was traced\n"
    );
    assert_eq!(told("a", "a"), "no difference\n");
}

#[test]
fn what_cannot_be_traced_is_refused_with_a_way() {
    let temp = TempDir::new();
    temp.run(&["sweep", "fed-avg/small", "--trace"]).refused(&[
        "a run can be traced, and no sweep",
        "folkmoot run fed-avg/small --trace",
    ]);
    temp.run(&["run", TINY, "--trace-clients", "5"]).refused(&["--trace"]);
    temp.run(&["run", TINY, "--trace", "--trace-clients", "0"])
        .refused(&["--trace-clients"]);
}

/// A traced run is drawn, whatever figures the card names; one that is not, and one in which
/// nothing takes time, is not.
#[test]
fn who_worked_when_is_drawn_of_a_traced_run() {
    let temp = TempDir::new();
    let figure = "figures/timeline.svg";
    temp.run(&run_args(COMING, "a", &["--trace"])).done();
    assert!(temp.join("a").join(figure).is_file());
    temp.run(&run_args(COMING, "b", &[])).done();
    temp.run(&run_args(&["fed-avg/small", "--dry-run"], "c", &["--trace"]))
        .done();
    for out in ["b", "c"] {
        assert!(!temp.join(out).join(figure).exists(), "{out}");
    }
    fs::write(temp.join("a").join(TRACE), "this is no trace").unwrap();
    temp.run(&["plot", "a"])
        .refused(&["trace.json.gz: line 1: invalid gzip header"]);
}
