//! Whole directories, drawn.

#[path = "../examples/gallery/synthetic.rs"]
pub(crate) mod synthetic;

use crate::font;
use crate::scene::{Anchor, Scene, Shape};
use folkmoot_metrics::figure::Figure;
mod drawing;

use crate::{Drawing, Look};
use crate::{PlotError, draw, draw_run, draw_sweep};
use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::run_dir::Manifest;
use folkmoot_metrics::{RunDir, RunResult, RunWriter, SweepDir, SweepWriter, Tables};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed when dropped.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "folkmoot-plots-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run_of(result: &RunResult, finished: bool) -> RunDir {
    let result = result.clone();
    RunDir {
        path: PathBuf::new(),
        scenario: String::new(),
        manifest: Manifest {
            finished,
            ..synthetic::manifest("a run", 1)
        },
        tables: result.tables,
        summary: result.summary,
        artifacts: Vec::new(),
    }
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}

fn stems(figures: &[Figure]) -> Vec<&str> {
    figures.iter().map(|figure| figure.name.as_str()).collect()
}

/// Width and height of a PNG file's bytes.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (word(16), word(20))
}

/// Checks that tags are closed in order and that text holds no bare `&`.
fn check_xml(text: &str) {
    let mut open = Vec::new();
    for tag in text.split('<').skip(1) {
        let (tag, after) = tag.split_once('>').unwrap();
        let entity = |rest: &str| {
            ["amp;", "lt;", "gt;", "quot;", "apos;"]
                .iter()
                .any(|name| rest.starts_with(name))
        };
        assert!(after.split('&').skip(1).all(entity), "{after}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.extend(tag.split_whitespace().next()),
        }
    }
    assert!(open.is_empty());
}

/// The boxes of all texts: left, top, right, bottom, of the height of small letters with their
/// strokes.
fn text_boxes<'a>(scene: &'a Scene) -> Vec<(f64, f64, f64, f64, &'a str)> {
    let text_box = |shape: &Shape| -> Option<(f64, f64, f64, f64)> {
        let Shape::Text {
            at: (x, y),
            anchor,
            size,
            upwards,
            text,
            ..
        } = shape
        else {
            return None;
        };
        let (length, half) = (font::width(text, *size), size * 0.5);
        let start = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -length / 2.0,
            Anchor::End => -length,
        };
        Some(match upwards {
            false => (x + start, y - half, x + start + length, y + half),
            true => (x - half, y - start - length, x + half, y - start),
        })
    };
    let text = |shape: &'a Shape| match shape {
        Shape::Text { text, .. } => text.as_str(),
        _ => "",
    };
    scene
        .shapes
        .iter()
        .filter_map(|shape| text_box(shape).map(|(a, b, c, d)| (a, b, c, d, text(shape))))
        .collect()
}

/// Asserts that no text overlaps another and that all lie within the figure.
fn assert_legible(figure: &Figure) {
    let scene = draw::lay_out(figure, &Look::default());
    let boxes = text_boxes(&scene);
    let (width, height) = (f64::from(scene.width), f64::from(scene.height));
    for (i, a) in boxes.iter().enumerate() {
        let inside = a.0 >= 0.0 && a.1 >= 0.0 && a.2 <= width && a.3 <= height;
        assert!(
            inside,
            "{}: {:?} leaves the figure of {width} x {height}: {a:?}",
            figure.name, a.4
        );
        for b in &boxes[i + 1..] {
            let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
            assert!(apart, "{}: {:?} overlaps {:?}", figure.name, a.4, b.4);
        }
    }
}

fn all_runs() -> Vec<RunResult> {
    use synthetic::{averaging, twelve_kinds, walks};
    vec![
        walks(),
        averaging(1_000),
        averaging(1),
        averaging(2),
        twelve_kinds(30),
        twelve_kinds(1),
    ]
}

#[test]
fn no_text_overlaps_or_leaves_a_figure() {
    for result in all_runs() {
        for finished in [true, false] {
            crate::run::figures(&run_of(&result, finished), Vec::new())
                .iter()
                .for_each(assert_legible);
        }
    }
    let temp = TempDir::new();
    type Write = fn(&Path) -> Result<(), folkmoot_metrics::WriteError>;
    let sweeps: [(&str, Write); 8] = [
        ("a", synthetic::sweep_numbers),
        ("b", synthetic::sweep_decades),
        ("c", synthetic::sweep_words),
        ("sets", synthetic::sweep_sets),
        ("models", synthetic::sweep_models),
        ("defences", synthetic::sweep_defences),
        ("edges", synthetic::sweep_edges),
        ("frontier", synthetic::sweep_frontier),
    ];
    for (name, write) in sweeps {
        write(&temp.join(name)).unwrap();
        let mut sweep = SweepDir::open(&temp.join(name)).unwrap();
        if name == "frontier" {
            sweep.manifest.headline = vec!["node_f1".to_owned(), "pair_auc".to_owned()];
        }
        crate::sweep::figures(&sweep).iter().for_each(assert_legible);
    }
}

#[test]
fn a_run_has_its_standard_figures_as_valid_files_with_the_same_bytes_twice() {
    let temp = TempDir::new();
    let mut drawn = Vec::new();
    for name in ["a", "b"] {
        let dir = temp.join(name);
        synthetic::write_run(&dir, "walks", &synthetic::walks()).unwrap();
        let files = draw_run(&dir, &Figures::default(), &Drawing::all()).unwrap();
        assert!(files.iter().all(|file| file.starts_with(dir.join("figures"))));
        let captions = files.iter().step_by(2).map(|file| file.with_extension("caption.txt"));
        let all = files.iter().cloned().chain(captions);
        drawn.push(all.map(|file| fs::read(file).unwrap()).collect::<Vec<_>>());
        assert_eq!(draw_run(&dir, &Figures::default(), &Drawing::all()).unwrap(), files);
        let expected = [
            "messages-by-round",
            "bytes-by-round",
            "bytes-by-kind",
            "cumulative-bytes",
            "participation",
            "message-fate",
            "client-bytes",
            "client-compute-time",
            "epsilon",
        ];
        let expected: Vec<String> = expected
            .iter()
            .flat_map(|name| ["svg", "png"].map(|ending| format!("{name}.{ending}")))
            .collect();
        assert_eq!(names(&files), expected);
    }
    assert!(drawn[0] == drawn[1]);
    for forms in drawn[0][..16].chunks(2) {
        let svg = std::str::from_utf8(&forms[0]).unwrap();
        check_xml(svg);
        let (width, height) = png_size(&forms[1]);
        assert!(svg.contains(&format!("viewBox=\"0 0 {width} {height}\"")));
    }
}

#[test]
fn any_number_of_threads_draws_the_same_files() {
    let temp = TempDir::new();
    let drawn = [1, 3].map(|n_threads| {
        let dir = temp.join(&n_threads.to_string());
        synthetic::write_run(&dir, "walks", &synthetic::walks()).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let files = pool
            .install(|| draw_run(&dir, &Figures::default(), &Drawing::all()))
            .unwrap();
        let bytes: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        (names(&files), bytes)
    });
    assert!(drawn[0] == drawn[1]);
}

#[test]
fn labels_are_escaped_in_svg() {
    let temp = TempDir::new();
    synthetic::write_run(&temp.join("r"), "a < b & c", &synthetic::twelve_kinds(2)).unwrap();
    for file in draw_run(&temp.join("r"), &Figures::default(), &Drawing::all())
        .unwrap()
        .iter()
        .filter(|file| file.extension().unwrap() == "svg")
    {
        check_xml(&fs::read_to_string(file).unwrap());
    }
}

#[test]
fn absent_data_and_zeros_give_no_figure() {
    let temp = TempDir::new();
    for (name, result) in [("zeros", synthetic::nothing()), ("empty", RunResult::default())] {
        synthetic::write_run(&temp.join(name), name, &result).unwrap();
        assert_eq!(
            draw_run(&temp.join(name), &Figures::default(), &Drawing::all()).unwrap(),
            Vec::<PathBuf>::new()
        );
        assert!(!temp.join(name).join("figures").exists());
    }
    let figures = crate::run::figures(&run_of(&synthetic::averaging(3), true), Vec::new());
    assert!(stems(&figures).contains(&"score-accuracy-by-bytes"));
    assert!(
        !stems(&figures)
            .iter()
            .any(|name| name.starts_with("client") || *name == "epsilon")
    );
}

#[test]
fn scores_that_are_no_numbers_are_gaps() {
    let mut result = synthetic::averaging(20);
    result
        .tables
        .scores
        .retain(|row| row.split == "test" && row.metric == "accuracy");
    for row in result.tables.scores.iter_mut().filter(|row| row.round % 4 == 0) {
        row.value = if row.round % 8 == 0 { f64::NAN } else { f64::INFINITY };
    }
    let figures = crate::run::figures(&run_of(&result, true), Vec::new());
    assert!(stems(&figures).contains(&"score-accuracy-by-round"));
    figures.iter().for_each(assert_legible);
    result.tables.scores.iter_mut().for_each(|row| row.value = f64::NAN);
    let figures = crate::run::figures(&run_of(&result, true), Vec::new());
    assert!(!stems(&figures).iter().any(|name| name.starts_with("score")));
}

#[test]
fn an_unfinished_run_is_drawn_with_a_note() {
    let temp = TempDir::new();
    let (dir, result) = (temp.join("run"), synthetic::walks());
    let mut run = RunWriter::create(&dir, "s", synthetic::manifest("walks", 1)).unwrap();
    run.save_progress(&result.tables.rounds[..3], &result.tables.messages, &[])
        .unwrap();
    drop(run);
    let files = draw_run(&dir, &Figures::default(), &Drawing::all()).unwrap();
    assert!(names(&files).contains(&"messages-by-round.svg".to_owned()));
    assert!(
        fs::read_to_string(&files[0])
            .unwrap()
            .contains("The run is not finished; rounds so far: 3.")
    );
}

#[test]
fn errors_name_the_file_and_the_rule() {
    let temp = TempDir::new();
    let error = draw_run(&temp.0, &Figures::default(), &Drawing::all()).unwrap_err();
    assert!(matches!(error, PlotError::Read(_)));
    assert!(
        error
            .to_string()
            .contains("is not a run directory: it has no manifest.json"),
        "{error}"
    );
    let error = draw_sweep(&temp.0, &Figures::default(), &Drawing::all()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is not a sweep directory: it has no sweep.json"),
        "{error}"
    );
    let dir = temp.join("run");
    synthetic::write_run(&dir, "walks", &synthetic::walks()).unwrap();
    fs::write(
        dir.join("rounds.csv"),
        "round,virtual_s,cohort,completed,dropped,late,staleness_mean\n1,2,x,4,5,6,7\n",
    )
    .unwrap();
    let error = draw_run(&dir, &Figures::default(), &Drawing::all()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("rounds.csv: line 2, column cohort: must be a whole number"),
        "{error}"
    );
    synthetic::write_run(&temp.join("blocked"), "walks", &synthetic::walks()).unwrap();
    fs::write(temp.join("blocked/figures"), "in the way").unwrap();
    assert!(matches!(
        draw_run(&temp.join("blocked"), &Figures::default(), &Drawing::all()),
        Err(PlotError::Write(_))
    ));
}

/// The figures of a sweep whose manifest has another headline.
fn drawn_with(dir: &Path, headline: &str) -> Vec<folkmoot_metrics::figure::Figure> {
    let manifest = dir.join("sweep.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let at = text.find("\"headline\": [").unwrap();
    let end = at + text[at..].find(']').unwrap() + 1;
    let with = format!("{}\"headline\": [{headline}]{}", &text[..at], &text[end..]);
    assert_ne!(with, text);
    fs::write(&manifest, with).unwrap();
    crate::sweep::figures(&SweepDir::open(dir).unwrap())
}

#[test]
fn a_sweep_draws_its_headline_and_each_number_that_varies() {
    let temp = TempDir::new();
    let dir = temp.join("s");
    synthetic::sweep_numbers(&dir).unwrap();
    let figures = crate::sweep::figures(&SweepDir::open(&dir).unwrap());
    let expected = [
        "messages-and-bytes",
        "sweep-micro-f1",
        "sweep-payload-bytes",
        "sweep-peer-messages-per-walk",
        "sweep-virtual-s",
    ];
    assert_eq!(stems(&figures), expected);
    assert_eq!(figures[0].panels.len(), 2);
    let files = draw_sweep(&dir, &Figures::default(), &Drawing::all()).unwrap();
    let svg = fs::read_to_string(&files[0]).unwrap();
    check_xml(&svg);
    for text in [
        "Theorem 4.2, as published",
        "Theorem 4.2, corrected",
        "AsPublished",
        "Payload bytes (MB)",
        "Epsilon",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    let page = (174.0 * 1600.0 / 85.0) as u32;
    assert_eq!(png_size(&fs::read(&files[1]).unwrap()).0, page);
    let figures = drawn_with(&dir, "\"micro_f1\", \"absent\"");
    assert_eq!((figures[0].name.as_str(), figures[0].panels.len()), ("headline", 1));
}

/// Fifteen curves by number of clients: a panel for each metric and set, with a curve for each arm,
/// over what is counted.
#[test]
fn more_curves_than_can_be_told_apart_stand_in_panels_of_their_own() {
    let temp = TempDir::new();
    let dir = temp.join("s");
    synthetic::sweep_sets(&dir).unwrap();
    let figures = drawn_with(&dir, "\"test_accuracy\", \"payload_bytes\"");
    let lines: Vec<_> = (figures[0].panels.iter())
        .map(|panel| match panel {
            folkmoot_metrics::figure::Panel::Lines(lines) => lines,
            panel => panic!("{panel:?}"),
        })
        .collect();
    let above: Vec<&str> = lines.iter().map(|lines| lines.y.above.as_str()).collect();
    assert_eq!(above, ["Cora", "CiteSeer", "PubMed", "Cora", "CiteSeer", "PubMed"]);
    for lines in lines {
        assert_eq!(lines.x.label, "Clients");
        let curves = lines.series.iter().filter(|series| !series.label.is_empty());
        let names: Vec<&str> = curves.clone().map(|series| series.label.as_str()).collect();
        assert_eq!(names, ["one model", "local only", "FedProx", "Ditto", "no edge"]);
        for curve in curves {
            let at: Vec<f64> = curve.points.iter().map(|(x, _)| *x).collect();
            assert_eq!(at, [1.0, 3.0, 10.0, 20.0]);
        }
    }
}

/// What is drawn of a sweep whose table nobody has written yet is what its points say, and every
/// figure says how many those are.
#[test]
fn a_sweep_that_lacks_a_point_says_so_on_every_figure() {
    let temp = TempDir::new();
    let dir = temp.join("s");
    synthetic::sweep_numbers(&dir).unwrap();
    let says = |dir: &Path| {
        let files = draw_sweep(dir, &Figures::default(), &Drawing::all()).unwrap();
        let svgs = files.iter().filter(|file| file.extension().unwrap() == "svg");
        let says = svgs.map(|file| {
            let svg = fs::read_to_string(file).unwrap();
            svg.contains("The sweep is not finished: 49 of 50 points.")
        });
        says.collect::<Vec<bool>>()
    };
    assert_eq!(says(&dir), [false; 5]);
    let writer = SweepWriter::open(&dir).unwrap();
    fs::remove_dir_all(writer.point_path(&writer.manifest().points()[7])).unwrap();
    let manifest = dir.join("sweep.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"finished\": true", "\"finished\": false")).unwrap();
    fs::remove_file(dir.join("points.csv")).unwrap();
    assert_eq!(says(&dir), [true; 5]);
}

/// Of a sweep over words with two headlines, each word is a point, with its intervals upwards and
/// across.
#[test]
fn two_headlines_over_words_are_drawn_against_each_other() {
    let temp = TempDir::new();
    let dir = temp.join("s");
    synthetic::sweep_models(&dir).unwrap();
    let drawn = |headline: &str| drawn_with(&dir, headline);
    let figures = drawn("\"similarity_auc\", \"attack_auc\"");
    assert_eq!(stems(&figures)[..2], ["headline", "scatter"]);
    let folkmoot_metrics::figure::Panel::Lines(lines) = &figures[1].panels[0] else {
        panic!("points are drawn as curves of one point");
    };
    // Three seeds are too few for an interval: each is a dot around its mean.
    assert_eq!(lines.series.len(), 8);
    for pair in lines.series.chunks(2) {
        let ([(x, y)], dots) = (&pair[0].points[..], &pair[1].points) else {
            panic!("{pair:?}");
        };
        assert!(pair[0].band.is_empty() && pair[0].across.is_empty(), "{pair:?}");
        let mean = |of: fn(&(f64, f64)) -> f64| dots.iter().map(of).sum::<f64>() / 3.0;
        assert!(
            (mean(|dot| dot.0) - x).abs() < 1e-12 && (mean(|dot| dot.1) - y).abs() < 1e-12,
            "{pair:?}"
        );
        assert!((0.9..1.0).contains(x) && dots[0] != dots[1], "{pair:?}");
    }
    assert_eq!(lines.series[6].label, "SimGnn");
    assert!(!stems(&drawn("\"similarity_auc\"")).contains(&"scatter"));
    assert!(!stems(&drawn("\"similarity_auc\", \"absent\"")).contains(&"scatter"));
}

#[test]
fn a_sweep_of_one_arm_or_of_nothing_yet_draws_nothing() {
    let temp = TempDir::new();
    synthetic::write_sweep(
        &temp.join("one"),
        "one",
        &[("strategy.epsilon", &["1"])],
        3,
        |_, seed| vec![("micro_f1", seed as f64)],
    )
    .unwrap();
    assert_eq!(
        draw_sweep(&temp.join("one"), &Figures::default(), &Drawing::all()).unwrap(),
        Vec::<PathBuf>::new()
    );
    SweepWriter::create(&temp.join("none"), Default::default(), "").unwrap();
    assert_eq!(
        draw_sweep(&temp.join("none"), &Figures::default(), &Drawing::all()).unwrap(),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn long_names_and_large_or_tiny_numbers_stay_legible() {
    let temp = TempDir::new();
    let long = "strategy.a_parameter_with_a_name_so_long_that_it_needs_more_than_one_line_below_an_axis_of_any_figure";
    let values = ["1000000", "1000001", "1000002", "2500000", "1e15"];
    synthetic::write_sweep(
        &temp.join("s"),
        &"a long name of a card ".repeat(8),
        &[(long, &values)],
        2,
        |values, seed| {
            let x: f64 = values[0].parse().unwrap();
            let long =
                "mean_messages_of_the_clients_that_answered_in_time_over_all_rounds_after_the_first_one_per_walk";
            vec![
                (long, x * seed as f64),
                ("tiny_s", 1e-12 / x),
                ("huge_bytes", x * x),
                ("gap", if seed == 1 { f64::NAN } else { x }),
            ]
        },
    )
    .unwrap();
    let figures = crate::sweep::figures(&SweepDir::open(&temp.join("s")).unwrap());
    // The mean of `gap` over seeds is nowhere a number.
    assert_eq!(figures.len(), 3);
    figures.iter().for_each(assert_legible);
    draw_sweep(&temp.join("s"), &Figures::default(), &Drawing::all()).unwrap();
}

#[test]
fn metrics_whose_file_names_would_be_one_get_a_file_each() {
    let temp = TempDir::new();
    synthetic::write_sweep(&temp.join("s"), "s", &[("x", &["1", "2"])], 1, |_, _| {
        vec![("unchanging", 1.0)]
    })
    .unwrap();
    let table = "point,x,seed,a b,a/b\n0,1,1,1,2\n1,2,1,3,4\n";
    fs::write(temp.join("s/points.csv"), table).unwrap();
    let files = draw_sweep(&temp.join("s"), &Figures::default(), &Drawing::all()).unwrap();
    assert_eq!(
        names(&files),
        ["sweep-a-b.svg", "sweep-a-b.png", "sweep-a-b-2.svg", "sweep-a-b-2.png",]
    );
}

#[test]
fn a_hundred_kinds_are_cut_with_a_note() {
    let kinds = (0..100)
        .map(|kind| synthetic::message("p", &format!("kind {kind}"), 0, folkmoot_metrics::Direction::Peer, 5, 8));
    let result = RunResult {
        tables: Tables {
            messages: kinds.collect(),
            ..Tables::default()
        },
        ..RunResult::default()
    };
    for figure in crate::run::figures(&run_of(&result, true), Vec::new()) {
        let scene = draw::lay_out(&figure, &Look::default());
        assert!(scene.height < 5_000);
        assert!(
            text_boxes(&scene)
                .iter()
                .any(|text| text.4 == "The first 40 are drawn; 60 more are in the table.")
        );
    }
}
