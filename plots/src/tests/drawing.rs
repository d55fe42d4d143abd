//! Which figures are drawn, and how.

use super::*;
use folkmoot_metrics::ClientRow;
use folkmoot_metrics::figure::Panel;

/// By name, by the card, or the usual ones; each once, in the order asked for.
#[test]
fn figures_are_chosen_by_name() {
    let temp = TempDir::new();
    let dir = temp.join("s");
    synthetic::sweep_numbers(&dir).unwrap();
    let drawn = |only: &[&str], all| {
        let drawing = Drawing {
            all,
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            ..Drawing::default()
        };
        draw_sweep(&dir, &Figures::default(), &drawing).map(|files| names(&files))
    };
    let files_of = |name: &str| ["svg", "png"].map(|ending| format!("{name}.{ending}"));
    assert_eq!(drawn(&[], false).unwrap(), files_of("messages-and-bytes"));
    assert_eq!(drawn(&[], true).unwrap().len(), 10);
    let some = drawn(&["*-walk", "sweep-m*", "sweep-micro-f1"], false).unwrap();
    assert_eq!(
        some,
        ["sweep-peer-messages-per-walk", "sweep-micro-f1"]
            .map(files_of)
            .concat()
    );
    let error = drawn(&["sweep-f1"], false).unwrap_err().to_string();
    assert!(
        error.starts_with("there is no figure sweep-f1 here; there are messages-and-bytes, sweep-micro-f1,"),
        "{error}"
    );
    let manifest = dir.join("sweep.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(
        &manifest,
        text.replace("\"figures\": []", "\"figures\": [\"sweep-virtual-s\", \"of-runs\"]"),
    )
    .unwrap();
    assert_eq!(drawn(&[], false).unwrap(), files_of("sweep-virtual-s"));
}

/// Text keeps its size in pixels, so that the page has as many as it takes for its size in print.
#[test]
fn a_figure_has_the_size_that_is_asked_for() {
    let temp = TempDir::new();
    let dir = temp.join("s");
    synthetic::sweep_numbers(&dir).unwrap();
    let drawing = Drawing {
        only: vec!["messages-and-bytes".to_owned()],
        look: Look {
            width_mm: Some(174.0),
            height_mm: Some(30.0),
            font_pt: Some(8.0),
            no_title: true,
        },
        pdf: true,
        no_caption: true,
        ..Drawing::default()
    };
    let files = draw_sweep(&dir, &Figures::default(), &drawing).unwrap();
    assert_eq!(
        names(&files),
        ["svg", "png", "pdf"].map(|ending| format!("messages-and-bytes.{ending}"))
    );
    let svg = fs::read_to_string(&files[0]).unwrap();
    check_xml(&svg);
    assert!(svg.contains("width=\"174.00mm\"") && svg.contains(">Epsilon</text>"));
    assert!(!svg.contains(">sweep"), "the title is left out");
    assert!(!files[0].with_extension("caption.txt").exists());
    // Too narrow for two panels side by side, it has them below each other.
    let narrow = Drawing {
        look: Look {
            width_mm: Some(60.0),
            ..drawing.look.clone()
        },
        ..drawing.clone()
    };
    let [small, wide] = [&narrow, &drawing]
        .map(|drawing| png_size(&fs::read(&draw_sweep(&dir, &Figures::default(), drawing).unwrap()[1]).unwrap()));
    assert!(small.0 < wide.0 / 2 && small.1 > wide.1, "{small:?} {wide:?}");
    // 44 pixels stand for 8 points, so that 174 mm are this many.
    let width = (174.0 / 25.4 * 72.0 * 44.0 / 8.0_f64) as u32;
    assert_eq!(png_size(&fs::read(&files[1]).unwrap()).0, width);
    let pdf = fs::read(&files[2]).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    assert!(
        text.starts_with("%PDF-") && text.ends_with("%%EOF") && text.contains("/MediaBox [0 0 493."),
        "{text:.400}"
    );
    assert_eq!(
        fs::read(&draw_sweep(&dir, &Figures::default(), &drawing).unwrap()[2]).unwrap(),
        pdf
    );
    // A PDF that is there stays like the other files of its figure, and so does a caption.
    let captioned = Drawing {
        no_caption: false,
        ..drawing.clone()
    };
    draw_sweep(&dir, &Figures::default(), &captioned).unwrap();
    assert!(files[0].with_extension("caption.txt").exists());
    let again = Drawing {
        pdf: false,
        ..narrow.clone()
    };
    draw_sweep(&dir, &Figures::default(), &again).unwrap();
    assert_ne!(fs::read(&files[2]).unwrap(), pdf);
    assert!(!files[0].with_extension("caption.txt").exists());
}

/// The rows of panels, so many each, of a figure of so many.
fn rows(n_panels: usize, width_mm: Option<f64>, font_pt: Option<f64>) -> (f64, usize, usize) {
    let panel = Panel::Lines(folkmoot_metrics::figure::Lines {
        x: folkmoot_metrics::figure::Axis::rounds(),
        y: folkmoot_metrics::figure::Axis::new("Accuracy", Default::default()),
        series: vec![folkmoot_metrics::figure::Series::new(
            "",
            folkmoot_metrics::figure::Role::Data(0),
            vec![(1.0, 2.0), (2.0, 3.0)],
        )],
    });
    let figure = Figure {
        panels: vec![panel; n_panels],
        ..Figure::default()
    };
    let look = Look {
        width_mm,
        font_pt,
        ..Look::default()
    };
    let scene = draw::lay_out(&figure, &look);
    let boxes = text_boxes(&scene);
    let labels = boxes.iter().filter(|text| text.4 == "Round");
    let mut tops: Vec<i64> = labels.map(|text| text.1 as i64).collect();
    let in_first = tops.iter().filter(|top| **top == tops[0]).count();
    tops.dedup();
    (scene.width_mm.round(), tops.len(), in_first)
}

/// As wide as a column or as the page of a journal, and at most three panels in a row.
#[test]
fn panels_fill_the_width_of_a_column_or_of_a_page() {
    let usual: Vec<_> = (1..=7).map(|n| rows(n, None, None)).collect();
    let page = |n_rows, n_columns| (174.0, n_rows, n_columns);
    let expected = [
        (84.0, 1, 1),
        page(1, 2),
        page(1, 3),
        page(2, 2),
        page(2, 3),
        page(2, 3),
        page(3, 3),
    ];
    assert_eq!(usual, expected);
    for n in 1..=4 {
        assert_eq!(rows(n, Some(84.0), None), (84.0, n, 1), "{n} below each other");
    }
    // Two and one would leave a quarter empty.
    assert_eq!(rows(3, Some(120.0), None), (120.0, 3, 1));
    assert_eq!(rows(4, Some(120.0), None), (120.0, 2, 2));
    // Larger text takes more room.
    assert_eq!(rows(3, Some(174.0), Some(9.0)), (174.0, 3, 1));
}

/// Six points is what journals ask for.
#[test]
fn text_is_at_least_six_points_high() {
    let temp = TempDir::new();
    synthetic::sweep_models(&temp.join("s")).unwrap();
    for figure in crate::sweep::figures(&SweepDir::open(&temp.join("s")).unwrap()) {
        for width_mm in [None, Some(84.0)] {
            let look = Look {
                width_mm,
                ..Look::default()
            };
            let scene = draw::lay_out(&figure, &look);
            let points = scene.width_mm / 25.4 * 72.0 / f64::from(scene.width);
            let size = |shape: &Shape| match shape {
                Shape::Text { size, .. } => *size * points,
                _ => f64::INFINITY,
            };
            let least = scene.shapes.iter().map(size).fold(f64::INFINITY, f64::min);
            assert!((5.99..7.0).contains(&least), "{least} points in {}", figure.name);
        }
    }
}

#[test]
fn stars_stand_for_anything_however_many_there_are() {
    let cases = [
        ("curves-a", "curves-*", true),
        ("curves-", "curves-*", true),
        ("curve", "curves-*", false),
        ("a-by-b-by-c", "a*by*c", true),
        ("a-by", "a*by*by", false),
        ("ab", "ab*b", false),
        ("aab", "*ab", true),
        ("x", "*", true),
        ("x", "", false),
    ];
    for (name, wanted, is_it) in cases {
        assert_eq!(crate::is_called(name, wanted), is_it, "{name} {wanted}");
    }
    // One after the other, each star would be tried at each place.
    assert!(!crate::is_called(&"a".repeat(80), &format!("{}b", "*".repeat(60))));
}

#[test]
fn sizes_that_nobody_could_read_or_draw_are_refused() {
    let size = |width_mm, height_mm, font_pt| {
        let look = Look {
            width_mm,
            height_mm,
            font_pt,
            no_title: false,
        };
        look.check()
    };
    assert_eq!(size(None, None, None), Ok(()));
    assert_eq!(size(Some(84.0), Some(40.0), Some(8.0)), Ok(()));
    let narrow = size(Some(20.0), None, Some(8.0)).unwrap_err();
    assert!(narrow.contains("in 20 mm; make figures 42 mm wide"), "{narrow}");
    assert!(size(None, None, Some(30.0)).is_err());
    for (width, height) in [(Some(2000.0), None), (None, Some(2000.0))] {
        let large = size(width, height, Some(1.0)).unwrap_err();
        assert!(large.contains("at most"), "{large}");
    }
}

/// Few clients have bars that name them, in columns on one scale; of more there is the share that
/// has at most so much.
#[test]
fn bytes_of_few_clients_are_bars_and_of_many_a_distribution() {
    let of = |n: u32| {
        let client = |client| ClientRow {
            client,
            shard_size: 1,
            rounds: 1,
            uplink_bytes: 1_000 * u64::from(client + 1),
            downlink_bytes: 500,
            peer_bytes: 0,
            compute_s: 0.0,
            online_s: 0.0,
        };
        let result = RunResult {
            tables: Tables {
                clients: (0..n).map(client).collect(),
                ..Tables::default()
            },
            ..RunResult::default()
        };
        let mut figures = crate::run::figures(&run_of(&result, true), Vec::new());
        figures.retain(|figure| figure.name == "client-bytes");
        figures.remove(0)
    };
    for (n, n_columns) in [(2, 1), (33, 1), (34, 2), (67, 3), (99, 3)] {
        let figure = of(n);
        assert_eq!(figure.panels.len(), n_columns, "{n}");
        assert_legible(&figure);
        let scene = draw::lay_out(&figure, &Look::default());
        let texts: Vec<&str> = text_boxes(&scene).into_iter().map(|text| text.4).collect();
        let times = |wanted: &str| texts.iter().filter(|text| **text == wanted).count();
        assert!(
            (0..n).all(|client| times(&format!("client {client}")) == 1),
            "{texts:?}"
        );
        assert_eq!((times("uplink"), times("downlink"), times("peer")), (1, 1, 0));
        if n > 33 {
            assert_eq!(times("20"), n_columns, "one scale: {texts:?}");
        }
    }
    let many = of(100);
    let [Panel::Lines(lines)] = many.panels.as_slice() else {
        panic!("{many:?}")
    };
    assert_eq!(lines.y.label, "Clients with at most this");
}

#[test]
fn kinds_of_figures_follow_what_a_sweep_compares() {
    let temp = TempDir::new();
    let figure = |dir: &Path, name: &str, headline: &[&str]| {
        let mut sweep = SweepDir::open(dir).unwrap();
        sweep.manifest.headline = headline.iter().map(|name| (*name).to_owned()).collect();
        let figures = crate::sweep::figures(&sweep);
        figures.into_iter().find(|figure| figure.name == name).unwrap()
    };
    let defences = temp.join("defences");
    synthetic::sweep_defences(&defences).unwrap();
    let drawn = figure(&defences, "headline", &["node_f1"]);
    let Panel::Heat(heat) = &drawn.panels[0] else {
        panic!("{drawn:?}")
    };
    assert_eq!((heat.rows.len(), heat.columns.len(), heat.values.len()), (5, 4, 20));
    assert!(
        heat.title == "F1 of nodes ↑" && heat.texts[0].contains(" ± "),
        "{heat:?}"
    );

    let edges = temp.join("edges");
    synthetic::sweep_edges(&edges).unwrap();
    let drawn = figure(&edges, "headline", &["node_f1"]);
    let lines = drawn.panels[0].lines().unwrap();
    let ends: Vec<f64> = lines.series[0].points.iter().map(|(x, _)| *x).collect();
    assert_eq!((lines.series.len(), ends), (3, vec![0.0, 1.0]));
    assert_eq!(lines.x.ticks[1].1, "with edges");
    assert!(drawn.notes[0].contains("whiskers: 95 % interval"), "{:?}", drawn.notes);

    let frontier = temp.join("frontier");
    synthetic::sweep_frontier(&frontier).unwrap();
    let drawn = figure(&frontier, "privacy-utility", &["pair_auc", "node_f1"]);
    let lines = drawn.panels[0].lines().unwrap();
    assert_eq!(
        (lines.x.label.as_str(), lines.y.label.as_str()),
        ("F1 of nodes", "ROC AUC of edge inference")
    );
    assert_eq!(lines.y.goal, Some((0.5, "blind guess".to_owned())));
    assert_eq!(lines.series.len(), 3);
    assert_eq!(lines.series[0].marks, ["0.5", "1", "2", "4", "8"]);
    assert!(
        drawn.notes.contains(&"Beside points: epsilon.".to_owned()),
        "{:?}",
        drawn.notes
    );
}
