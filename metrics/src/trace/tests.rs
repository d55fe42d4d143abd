use super::*;
use crate::ids::Bytes;
use crate::ledger::Kind;
use crate::run_dir::RunWriter;
use crate::testing::{TempDir, manifest, result};
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

const KINDS: &[Kind] = &[
    Kind {
        phase: "train",
        name: "model",
        materialised: true,
    },
    Kind {
        phase: "train",
        name: "an \"update\"",
        materialised: true,
    },
];

fn client(id: u32) -> Party {
    Party::Client(ClientId(id))
}

fn sent(at: u64, message: Message, Bytes(bytes): Bytes, attempts: u64) -> Event {
    let round = Round(0);
    let what = What::Sent {
        message,
        round,
        bytes,
        attempts,
    };
    let at = SimTime(at);
    Event { at, what }
}

fn ended(at: u64, message: Message, fate: Fate) -> Event {
    let what = What::Ended { message, fate };
    let at = SimTime(at);
    Event { at, what }
}

fn happens(at: u64, what: What) -> Event {
    let at = SimTime(at);
    Event { at, what }
}

/// A model to client 3, which trains and answers; another is lost; client 3 is away at the end.
fn story() -> Vec<Event> {
    let (from, to) = (Party::Server, client(3));
    let model = |seq| Message { from, to, seq, kind: 0 };
    let update = Message {
        from: to,
        to: from,
        seq: 7,
        kind: 1,
    };
    let (round, who) = (Round(0), ClientId(3));
    let job = What::Job {
        party: to,
        round,
        begins: SimTime(1_500),
        span: SimSpan(2_000_001),
    };
    let over = What::Round {
        round,
        since: SimTime(0),
        counts: [2, 1, 1],
    };
    vec![
        sent(0, model(1), Bytes(40), 1),
        sent(0, model(2), Bytes(40), 3),
        ended(0, model(2), Fate::Dropped(DropReason::Loss)),
        ended(1_500, model(1), Fate::Delivered),
        happens(1_500, job),
        sent(2_001_501, update, Bytes(44), 1),
        ended(3_000_000, update, Fate::Delivered),
        happens(3_000_000, over),
        happens(3_000_007, What::Lost { client: who, round }),
        happens(
            4_000_000,
            What::Left {
                client: who,
                round,
                since: SimTime(3_000_000),
            },
        ),
        happens(
            3_500_000,
            What::Away {
                client: who,
                until: SimTime(4_000_000),
            },
        ),
    ]
}

/// A finished run whose trace tells this, by any number of calls.
fn run_in(dir: &Path, events: &[Event], at_once: usize) {
    let mut run = RunWriter::create(dir, "s", manifest()).unwrap();
    run.begin_trace(Followed::new(5, 2)).unwrap();
    for some in events.chunks(at_once) {
        assert_eq!(run.add_events(some, KINDS).unwrap(), 0);
    }
    run.finish(&result(3)).unwrap();
}

fn text_of(dir: &Path) -> String {
    let packed = fs::read(dir.join(TRACE)).unwrap();
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_trace_is_what_chrome_reads() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    run_in(&dir, &story(), 100);
    assert_eq!(text_of(&dir), include_str!("story.json"));
}

/// What Chrome's format asks for: a phase, a place and a time, and an end for each beginning.
#[test]
fn a_trace_obeys_the_format() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    run_in(&dir, &story(), 1);
    let all: serde_json::Value = serde_json::from_str(&text_of(&dir)).unwrap();
    let (mut open, mut n_ended) = (BTreeMap::new(), 0);
    for event in all["traceEvents"].as_array().unwrap() {
        let phase = event["ph"].as_str().unwrap();
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string());
        if phase == "M" {
            continue;
        }
        let ts = event["ts"].as_f64().unwrap();
        let id = ["cat", "name", "id", "pid"].map(|name| event[name].to_string());
        match phase {
            "b" => assert_eq!(open.insert(id, ts), None),
            "e" => {
                assert!(open.remove(&id).is_some_and(|begun| begun <= ts));
                n_ended += 1;
            }
            "X" => assert!(event["dur"].as_f64().unwrap() >= 0.0),
            "i" => assert_eq!(event["s"], "t"),
            other => panic!("{other}"),
        }
    }
    assert_eq!((open.len(), n_ended), (0, 3));
}

#[test]
fn what_is_written_is_read_back() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    run_in(&dir, &story(), 3);
    let mut trace = TraceReader::open(&dir).unwrap().unwrap();
    assert_eq!(trace.about().clients, Followed::new(5, 2));
    let (mut told, mut slices) = (Vec::new(), Vec::new());
    while let Some((_, event)) = trace.next_event().unwrap() {
        told.push(event.to_string());
        slices.extend(event.slice().map(|(slice, from, to)| (event.party(), slice, from, to)));
    }
    assert_eq!(trace.n_left_out(), Some(0));
    assert_eq!(
        told,
        [
            "at 0 s, server sends train: model to client 3, 40 bytes, round 0",
            "at 0 s, server sends train: model to client 3, 40 bytes 3 times, round 0",
            "at 0 s, train: model of server to client 3 is lost on the way",
            "at 0.0000015 s, train: model of server to client 3 is delivered",
            "at 0.0000015 s, client 3 begins a job of 0.002000001 s, round 0",
            "at 0.002001501 s, client 3 sends train: an \"update\" to server, 44 bytes, round 0",
            "at 0.003 s, train: an \"update\" of client 3 to server is delivered",
            "at 0 s, round 0 begins, which takes 0.003 s: 2 asked, 1 in time, 1 given up",
            "at 0.003000007 s, a result of client 3 is lost, round 0",
            "at 0.003 s, client 3 leaves for 0.001 s, round 0",
            "at 0.0035 s, client 3 goes away for 0.0005 s",
        ]
    );
    let parts = [Slice::Job, Slice::Round, Slice::Lost, Slice::Left, Slice::Away];
    assert_eq!(slices.iter().map(|slice| slice.1).collect::<Vec<_>>(), parts);
    let (party, _, from, to) = slices[0];
    assert_eq!((party, from), (client(3), 0.0000015));
    assert!((to - 0.002_001_501).abs() < 1e-15);
}

#[test]
fn of_two_traces_the_first_event_that_differs_is_told() {
    let temp = TempDir::new();
    let dirs = ["a", "b", "c", "d"].map(|name| temp.path().join(name));
    let told = |a: usize, b: usize| first_difference(&dirs[a], &dirs[b]).unwrap();
    run_in(&dirs[0], &story(), 100);
    let mut other = story();
    let What::Job { span, .. } = &mut other[4].what else {
        panic!()
    };
    *span = SimSpan(5_000);
    run_in(&dirs[1], &other, 100);
    other.truncate(4);
    run_in(&dirs[2], &other, 100);
    RunWriter::create(&dirs[3], "s", manifest())
        .unwrap()
        .finish(&result(3))
        .unwrap();
    assert_eq!((told(0, 0), told(3, 3)), (None, None));
    let job = "trace.json.gz: line 12: at 0.0000015 s, client 3 begins a job of 0.002000001 s, round 0";
    assert_eq!(
        told(0, 1).unwrap(),
        format!("{job} against at 0.0000015 s, client 3 begins a job of 0.000005 s, round 0")
    );
    assert_eq!(told(0, 2).unwrap(), format!("{job} against nothing"));
    assert_eq!(told(0, 3).unwrap(), "trace.json.gz: only the first run was traced");
    let mut wider = RunWriter::create(&temp.path().join("e"), "s", manifest()).unwrap();
    wider.begin_trace(Followed::new(5, 4)).unwrap();
    wider.finish(&result(3)).unwrap();
    let why = first_difference(&dirs[0], &temp.path().join("e")).unwrap().unwrap();
    assert!(why.contains("2 of 5 clients are followed against 4 of 5"), "{why}");
}

#[test]
fn a_trace_that_goes_on_from_a_state_is_the_whole_one() {
    let temp = TempDir::new();
    let [whole, stopped, forked] = ["whole", "stopped", "forked"].map(|name| temp.path().join(name));
    let story = story();
    run_in(&whole, &story, 4);
    let mut run = RunWriter::create(&stopped, "s", manifest()).unwrap();
    run.begin_trace(Followed::new(5, 2)).unwrap();
    run.add_events(&story[..4], KINDS).unwrap();
    run.save_checkpoint(&[("server".to_owned(), vec![1])]).unwrap();
    // What came after the state, before the run was killed, comes again.
    run.add_events(&story[4..7], KINDS).unwrap();
    drop(run);
    let saved = crate::run_dir::Checkpoint::read(&stopped, &manifest())
        .unwrap()
        .sections;
    let mut fork = RunWriter::create(&forked, "s", manifest()).unwrap();
    fork.go_on_with_trace(&stopped, &saved).unwrap();
    fork.save_checkpoint(&saved).unwrap();
    let mut run = RunWriter::resume(&stopped).unwrap();
    run.go_on_with_trace(&stopped, &saved).unwrap();
    for mut run in [run, fork] {
        run.add_events(&story[4..], KINDS).unwrap();
        run.finish(&result(3)).unwrap();
    }
    let bytes = |dir: &Path| fs::read(dir.join(TRACE)).unwrap();
    assert!(bytes(&stopped) == bytes(&whole) && bytes(&forked) == bytes(&whole));
}

#[test]
fn a_state_whose_trace_is_gone_or_cut_is_refused() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let mut run = RunWriter::create(&dir, "s", manifest()).unwrap();
    run.begin_trace(Followed::new(5, 2)).unwrap();
    run.save_checkpoint(&[]).unwrap();
    drop(run);
    let saved = crate::run_dir::Checkpoint::read(&dir, &manifest()).unwrap().sections;
    let growing = dir.join("checkpoint/trace.json");
    let mut run = RunWriter::resume(&dir).unwrap();
    let text = fs::read(&growing).unwrap();
    fs::write(&growing, &text[1..]).unwrap();
    let why = run.go_on_with_trace(&dir, &saved).unwrap_err().to_string();
    assert!(
        why.contains("trace.json: ") && why.contains("shorter than when"),
        "{why}"
    );
    fs::remove_file(&growing).unwrap();
    let why = run.go_on_with_trace(&dir, &saved).unwrap_err().to_string();
    assert!(why.contains("trace.json: cannot be written"), "{why}");
}

#[test]
fn beyond_its_bound_a_trace_counts_what_it_leaves_out() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    let mut run = RunWriter::create(&dir, "s", manifest()).unwrap();
    run.begin_trace(Followed::new(5, 5)).unwrap();
    let many = vec![story()[8]; 3_000];
    let calls = MOST_EVENTS.div_ceil(3_000);
    for call in 0..calls + 2 {
        let left_out = run.add_events(&many, KINDS).unwrap();
        assert_eq!(left_out, ((call + 1) * 3_000).saturating_sub(MOST_EVENTS));
    }
    run.finish(&result(3)).unwrap();
    let mut trace = TraceReader::open(&dir).unwrap().unwrap();
    let mut n = 0;
    while trace.next_event().unwrap().is_some() {
        n += 1;
    }
    assert_eq!(
        (n, trace.n_left_out()),
        (MOST_EVENTS, Some((calls + 2) * 3_000 - MOST_EVENTS))
    );
}

#[test]
fn so_many_clients_are_followed_and_evenly() {
    for n_clients in 0..60 {
        for at_most in 0..70 {
            let followed = Followed::new(n_clients, at_most);
            let all: Vec<u32> = followed.clients().map(|id| id.0).collect();
            assert_eq!(all.len() as u32, at_most.min(n_clients), "{n_clients} {at_most}");
            let gaps = || all.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(
                gaps().max().unwrap_or(1) - gaps().min().unwrap_or(1) <= 1,
                "{n_clients} {at_most}"
            );
        }
    }
    let half = Followed::new(4, 2);
    assert_eq!(half.clients().collect::<Vec<_>>(), [ClientId(1), ClientId(3)]);
    assert!(half.has_either(client(1), client(2)) && half.has_either(Party::Server, client(3)));
    assert!(!half.has_either(Party::Server, client(0)) && !half.has_either(Party::Server, Party::Server));
    assert!(Followed::new(u32::MAX, 7).has(ClientId(u32::MAX - 1)));
}

/// The text packed, as the trace of a run directory.
fn hostile(dir: &Path, text: &str) -> String {
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    hostile_bytes(dir, &packed.finish().unwrap())
}

fn hostile_bytes(dir: &Path, packed: &[u8]) -> String {
    fs::write(dir.join(TRACE), packed).unwrap();
    let read = || -> Result<(), crate::ReadError> {
        if let Some(mut trace) = TraceReader::open(dir)? {
            while trace.next_event()?.is_some() {}
        }
        Ok(())
    };
    read().err().map_or("fine".to_owned(), |error| {
        let text = error.to_string();
        assert!(text.contains(TRACE), "{text}");
        text.rsplit_once(TRACE).unwrap().1.to_owned()
    })
}

#[test]
fn a_damaged_trace_is_refused_by_its_line() {
    let temp = TempDir::new();
    let dir = temp.path().join("run");
    run_in(&dir, &story(), 100);
    let packed = fs::read(dir.join(TRACE)).unwrap();
    let text = text_of(&dir);
    assert_eq!(hostile(&dir, &text), "fine");
    for at in 0..packed.len() {
        let mut flipped = packed.clone();
        flipped[at] ^= 1 << (at % 8);
        // A header's time, flags of the compressor and system (bytes 4 to 9) are not checked, and
        // the last bits before the checksum may belong to nothing.
        let says = hostile_bytes(&dir, &flipped);
        let means_nothing = (4..10).contains(&at) || at == packed.len() - 9;
        assert!(says != "fine" || means_nothing && text_of(&dir) == text, "byte {at}");
        assert_ne!(hostile_bytes(&dir, &packed[..at]), "fine", "cut at {at}");
    }
    assert_ne!(hostile_bytes(&dir, &[&packed[..], b"x"].concat()), "fine");
    let told = |from: &str, to: &str| hostile(&dir, &text.replacen(from, to, 1));
    for (from, to, says) in [
        ("\"n_followed\":2", "\"n_followed\":-2", ": line 1: invalid value"),
        ("displayTimeUnit", "unit", ": line 1: unknown field"),
        ("\"cat\":\"job\"", "\"cot\":\"job\"", ": line 12: unknown field"),
        ("\"ph\":\"X\"", "\"ph\":\"Q\"", ": line 12: unknown variant"),
        (
            "\"events\":11",
            "\"events\":12",
            ": line 21: it says 12 events, and has 11",
        ),
        ("]}\n", "", ": line 22: it ends before its last line"),
        ("]}\n", "]}\nmore\n", ": line 23: something stands behind"),
        ("]}\n", "]}", ": line 22: it is cut off"),
    ] {
        let why = told(from, to);
        assert!(why.starts_with(says), "{from} to {to}: {why}");
    }
    let long = format!("\"name\":\"{}\"", "x".repeat(1 << 17));
    assert!(told("\"name\":\"job\"", &long).starts_with(": line 12: it is cut off, or longer"));
    // A file that would unpack to far more than memory holds is read no further than its first
    // line.
    assert!(hostile(&dir, &"0".repeat(50_000_000)).starts_with(": line 1: it is cut off, or longer"));
}
