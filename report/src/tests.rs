//! Pages of made-up results.

#[path = "../../plots/examples/gallery/synthetic.rs"]
#[allow(dead_code, reason = "pages need a part of it")]
mod synthetic;

use crate::{ReportError, report, side_by_side};
use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::run_dir::Manifest;
use folkmoot_metrics::sweep_dir::{Axis, Contrast, SweepManifest};
use folkmoot_metrics::{ClientRow, Division, PartitionRow, RunResult, RunWriter, SweepWriter, Term, Unit, term};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed when dropped.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("folkmoot-report-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What would be markup, if it were let.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=https://evil.example/x onerror=alert(2)>&amp;";

/// Every text of a run is `text`.
fn result(text: &str) -> (Manifest, RunResult) {
    let terms = [
        Term::new("guess_auc", "Guessed edges", Unit::Number, "Attack: how well.", "")
            .lower()
            .attack_beside(0.5),
        Term::new("accuracy", "Accuracy", Unit::Number, "Right answers.", "").higher(),
    ];
    let mut result = synthetic::walks();
    result.summary.extend([
        (text.to_owned(), 1.5),
        ("guess_auc".to_owned(), 0.75),
        (format!("guess_auc@{text}"), 0.625),
        ("accuracy".to_owned(), 0.9),
        (format!("accuracy[{text}=3]"), 0.8),
    ]);
    result.terms = term::meanings(&terms, None, result.summary.keys().map(String::as_str));
    result
        .tables
        .messages
        .iter_mut()
        .for_each(|row| row.kind.push_str(text));
    result
        .tables
        .privacy
        .iter_mut()
        .for_each(|row| row.mechanism.push_str(text));
    result.warnings = vec![text.to_owned()];
    result.notes = vec![text.to_owned()];
    let manifest = Manifest {
        question: text.to_owned(),
        headline: vec!["accuracy".to_owned(), text.to_owned()],
        command: text.to_owned(),
        data_fingerprints: [(text.to_owned(), text.to_owned())].into(),
        division: Some(Division {
            of: "nodes".to_owned(),
            items: 9,
            clients: 2,
            edges: 12,
            cut_edges: 5,
            shared_items: 0,
            spare_items: 0,
        }),
        ..synthetic::manifest(text, 1)
    };
    (manifest, result)
}

fn write(dir: &Path, (manifest, result): &(Manifest, RunResult)) {
    let run = RunWriter::create(dir, "()", manifest.clone()).unwrap();
    let row = |client, label: &str, items| PartitionRow {
        client,
        clients: 1,
        shard_size: 4,
        inner_edges: 3,
        cut_edges: 5,
        label: label.to_owned(),
        items,
    };
    run.save_partition(&[row(0, &manifest.name, 4), row(1, "1", 3), row(1, &manifest.name, 1)])
        .unwrap();
    run.finish(result).unwrap();
}

fn write_sweep(dir: &Path, text: &str) {
    let manifest = SweepManifest {
        name: text.to_owned(),
        question: text.to_owned(),
        axes: vec![Axis {
            path: "strategy.arm".to_owned(),
            values: vec![text.to_owned(), "second".to_owned()],
            with: None,
        }],
        seeds: vec![1, 2],
        contrasts: vec![Contrast {
            axis: "strategy.arm".to_owned(),
            value: "second".to_owned(),
            baseline: text.to_owned(),
        }],
        headline: vec!["accuracy".to_owned()],
        command: text.to_owned(),
        ..SweepManifest::default()
    };
    let writer = SweepWriter::create(dir, manifest.clone(), "()").unwrap();
    for point in manifest.points() {
        let (mut of_run, mut result) = result(text);
        of_run.seed = point.seed;
        let better = point.choices[0] as f64 / 100.0 + point.seed as f64 / 10_000.0;
        result.summary.insert("accuracy".to_owned(), 0.9 + better);
        result.summary.insert("target_reached[accuracy=0.5]".to_owned(), 1.0);
        result.summary.insert("rounds_to_target[accuracy=0.5]".to_owned(), 3.0);
        result.summary.insert("warnings".to_owned(), 1.0);
        write(&manifest.point_path(dir, &point), &(of_run, result));
    }
    writer.collect().unwrap();
}

/// Pages of a run, of a sweep, and of two of each, whose every text is `text`.
fn pages(temp: &TempDir, text: &str) -> Vec<String> {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| temp.join(name));
    write(&a, &result(text));
    write(&b, &result(&format!("{text} other")));
    write_sweep(&c, text);
    write_sweep(&d, text);
    let differences = [(text.to_owned(), Some(text.to_owned()), None)];
    vec![
        report(&a, &Figures::default()).unwrap(),
        report(&c, &Figures::default()).unwrap(),
        side_by_side(&a, &b, &Figures::default(), &differences).unwrap(),
        side_by_side(&c, &d, &Figures::default(), &[]).unwrap(),
    ]
}

#[test]
fn what_a_card_says_is_text_and_never_markup() {
    let temp = TempDir::new();
    let hostile = pages(&temp, HOSTILE);
    let control = TempDir::new();
    let elements = |page: &str| -> BTreeSet<String> {
        let names = page
            .split('<')
            .skip(1)
            .map(|rest| rest.split([' ', '>', '\n']).next().unwrap_or_default());
        names.map(str::to_owned).collect()
    };
    for (page, plain) in hostile.iter().zip(pages(&control, "plain words")) {
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(elements(page), elements(&plain));
        assert!(
            page.contains("alert(1)") && page.contains("alert(2)"),
            "it is there as text"
        );
        assert!(!page.contains("onerror=alert(2)>"), "no tag ends with it");
    }
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let temp = TempDir::new();
    for page in pages(&temp, "plain") {
        // The name of a language, which nobody fetches.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        // The font lies in the page itself, once.
        assert_eq!(page.matches("@font-face").count(), 1);
        let page = page.replace("url(data:font/woff;base64,", "");
        for ask in ["http:", "https:", "src=", "url(", "@import", "<link", "<img", "<iframe"] {
            assert!(!page.contains(ask), "{ask}");
        }
        assert!(page.contains("default-src 'none'"));
        let hrefs = page
            .match_indices("href=\"")
            .map(|(at, found)| &page[at + found.len()..]);
        assert!(hrefs.clone().count() > 4);
        assert!(hrefs.into_iter().all(|href| href.starts_with('#')));
    }
}

#[test]
fn no_two_elements_have_one_id() {
    let temp = TempDir::new();
    for page in pages(&temp, "plain") {
        let ids: Vec<&str> = page
            .match_indices(" id=\"")
            .filter_map(|(at, found)| page[at + found.len()..].split('"').next())
            .collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert!(ids.len() > 8, "sections and their titles have ids: {}", ids.len());
    }
}

#[test]
fn the_same_directory_gives_the_same_bytes() {
    let temp = TempDir::new();
    let pages = pages(&temp, "plain");
    assert_eq!(report(&temp.join("a"), &Figures::default()).unwrap(), pages[0]);
    assert_eq!(report(&temp.join("c"), &Figures::default()).unwrap(), pages[1]);
}

#[test]
fn a_run_has_its_answer_its_messages_its_privacy_and_its_data() {
    let temp = TempDir::new();
    let pages = pages(&temp, "plain");
    for id in [
        "answer", "warnings", "figures", "messages", "privacy", "data", "numbers", "repeat",
    ] {
        assert!(pages[0].contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    // An attack that reaches 0.75 where a blind guess reaches 0.5.
    for text in ["Guessed edges", "0.7500", "+0.250", "plain: 0.6250", "5 (41.7 %)"] {
        assert!(pages[0].contains(text), "{text}");
    }
    for id in ["answer", "warnings", "messages", "privacy", "data", "repeat"] {
        assert!(pages[1].contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    for said in [" minus ", "is +0.0100 (2 seeds: no interval).", "+0.0100<"] {
        assert!(pages[1].contains(said), "{said} in {}", pages[1]);
    }
    assert!(pages[1].contains("To accuracy 0.5") && pages[1].contains("2 of 2 seeds"));
}

#[test]
fn many_clients_are_summed_up_and_what_is_left_out_is_said() {
    let temp = TempDir::new();
    let (manifest, mut result) = result("plain");
    let client = |client: u32| ClientRow {
        client,
        shard_size: u64::from(client % 7),
        rounds: 1,
        uplink_bytes: u64::from(client),
        downlink_bytes: 5,
        peer_bytes: 0,
        compute_s: 0.0,
        online_s: 1.0,
    };
    result.tables.clients = (0..50_000).map(client).collect();
    result
        .summary
        .extend((0..500).map(|n| (format!("number_{n:03}"), f64::from(n))));
    write(&temp.join("run"), &(manifest, result));
    let page = report(&temp.join("run"), &Figures::default()).unwrap();
    assert!(page.len() < 1_500_000, "{}", page.len());
    assert!(page.contains("The 20 of 50 000 clients that sent most bytes"));
    assert!(page.contains("data-key=\"49999\"") && !page.contains("data-key=\"49979\""));
    assert!(page.contains("The first 200 of 5") && !page.contains("number_499"));
}

#[test]
fn a_run_that_is_not_finished_says_so() {
    let temp = TempDir::new();
    let (manifest, result) = result("plain");
    let mut run = RunWriter::create(&temp.join("run"), "()", manifest).unwrap();
    run.save_progress(&result.tables.rounds, &result.tables.messages, &result.tables.scores)
        .unwrap();
    drop(run);
    let page = report(&temp.join("run"), &Figures::default()).unwrap();
    assert!(page.contains(&format!("Not finished: {} rounds so far", result.tables.rounds.len())));
}

#[test]
fn what_is_no_result_is_refused() {
    let temp = TempDir::new();
    assert!(matches!(
        report(&temp.0, &Figures::default()),
        Err(ReportError::Neither(_))
    ));
    pages(&temp, "plain");
    let [a, c] = ["a", "c"].map(|name| temp.join(name));
    assert!(matches!(
        side_by_side(&a, &c, &Figures::default(), &[]),
        Err(ReportError::Unlike(..))
    ));
    fs::write(a.join("messages.csv"), "phase\n").unwrap();
    let error = report(&a, &Figures::default()).unwrap_err().to_string();
    assert!(error.contains("messages.csv: line 1"), "{error}");
}
