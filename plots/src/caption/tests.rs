use super::*;
use crate::draw_sweep;
use crate::interval::over_seeds;
use crate::tests::{TempDir, synthetic};
use crate::{Log, Look, draw_run};
use folkmoot_metrics::figure::{Axis, Bar, Bars, Lines, Role, Row, Series};
use folkmoot_metrics::figures::Figures;
use std::fs;

/// The caption of the figure of a sweep with so many seeds.
fn of_sweep(dir: &std::path::Path, n_seeds: u64) -> String {
    synthetic::write_sweep(dir, "a/card", &[("x", &["1", "2"])], n_seeds, |values, seed| {
        let x: f64 = values[0].parse().unwrap();
        vec![("micro_f1", 0.5 + 0.1 * x + 0.01 * seed as f64)]
    })
    .unwrap();
    let drawing = Drawing {
        look: Look {
            width_mm: Some(84.0),
            no_title: true,
            ..Look::default()
        },
        ..Drawing::all()
    };
    let files = draw_sweep(dir, &Figures::default(), &drawing).unwrap();
    let picture = files.iter().find(|file| file.ends_with("sweep-micro-f1.svg"));
    fs::read_to_string(picture.unwrap().with_extension("caption.txt")).unwrap()
}

#[test]
fn a_caption_tells_the_kind_of_interval_that_is_drawn() {
    let temp = TempDir::new();
    let cases = [
        (1, "n = 1 (seed 1)"),
        (2, "Mean over 2 seeds; dots: the seeds. n = 2 (seeds 1, 2)"),
        (4, "Mean over 4 seeds; dots: the seeds. n = 4 (seeds 1 to 4)"),
        (
            5,
            "Mean over 5 seeds; bands: 95 % interval (Student's t). n = 5 (seeds 1 to 5)",
        ),
    ];
    for (n_seeds, said) in cases {
        let dir = temp.join(&n_seeds.to_string());
        let caption = of_sweep(&dir, n_seeds);
        let [first, _, made, figure] = &caption.lines().collect::<Vec<_>>()[..] else {
            panic!("{caption}");
        };
        assert!(first.starts_with("Micro F1 against X. "), "{caption}");
        assert!(first.contains(said), "{caption}");
        assert_eq!(caption.matches("seeds;").count(), usize::from(n_seeds > 1), "{caption}");
        let hash = blake3::hash(&fs::read(dir.join("points.csv")).unwrap()).to_hex();
        let ending = format!("card a/card, hash of points.csv (BLAKE3) {hash}.");
        assert!(made.starts_with("Folkmoot ") && made.ends_with(&ending), "{caption}");
        assert_eq!(
            *figure,
            "Figure: folkmoot plot DIR --only sweep-micro-f1 --width 84 --no-title"
        );
    }
}

#[test]
fn marks_of_several_runs_are_named() {
    let line = |change: fn(&mut Series)| {
        let mut series = Series::new("a", Role::Data(0), vec![(1.0, 2.0)]);
        change(&mut series);
        let lines = Lines {
            x: Axis::rounds(),
            y: Axis::default(),
            series: vec![series],
        };
        Panel::Lines(lines)
    };
    let bars = |bar: Bar| {
        Panel::Bars(Bars {
            rows: vec![Row {
                bars: vec![bar],
                ..Row::default()
            }],
            ..Bars::default()
        })
    };
    let plain = line(|_| {});
    let none = line(|series| series.band = vec![(1.0, f64::NAN, f64::NAN)]);
    let band = line(|series| series.band = vec![(1.0, 1.5, 2.5), (2.0, 1.5, 2.5)]);
    let end = line(|series| series.band = vec![(1.0, 1.5, 2.5)]);
    let point = line(|series| {
        series.path = folkmoot_metrics::figure::Path::Scattered;
        series.across = vec![(2.0, 0.5, 1.5)];
    });
    let thin = line(|series| series.path = folkmoot_metrics::figure::Path::Thin);
    let whiskers = bars(Bar {
        interval: Some((0.0, 1.0)),
        ..Bar::default()
    });
    let dots = bars(Bar {
        dots: vec![1.0],
        ..Bar::default()
    });
    let said = |panels: &[&Panel]| {
        let panels: Vec<Panel> = panels.iter().map(|panel| (*panel).clone()).collect();
        over_seeds(7, &panels)
    };
    let points = {
        let Panel::Bars(mut bars) = dots.clone() else {
            panic!("rows")
        };
        bars.points = true;
        bars.is_compared = true;
        Panel::Bars(bars)
    };
    let interval = "95 % interval (Student's t)";
    let cases = [
        (said(&[&plain, &none]), String::new()),
        (said(&[&none, &band]), format!("; bands: {interval}")),
        (said(&[&end]), format!("; whiskers: {interval}")),
        (said(&[&point]), format!("; whiskers: {interval}")),
        (said(&[&band, &whiskers]), format!("; bands and whiskers: {interval}")),
        (said(&[&thin, &dots]), "; dots and thin lines: the seeds".to_owned()),
        (
            said(&[&dots, &whiskers]),
            format!("; dots: the seeds; whiskers: {interval}"),
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, Some(format!("Mean over 7 seeds{expected}.")));
    }
    assert_eq!(
        said(&[&points]).unwrap(),
        "Mean over 7 seeds; grey dots, joined by lines: the seeds. At the right: difference from the arm that is named, \
         with its 95 % interval; * significant (p < 0.05, Holm)."
    );
    assert_eq!(over_seeds(1, std::slice::from_ref(&band)), None);
}

#[test]
fn the_command_of_a_figure_has_all_its_options() {
    let drawing = Drawing {
        arms: vec![
            ("FedAvg".to_owned(), "FedAvg".to_owned()),
            ("keep = 0.5".to_owned(), "half".to_owned()),
        ],
        highlight: vec!["FedAvg".to_owned()],
        panels: vec![0, 2],
        x_range: Some((0.0, 20.5)),
        log: Some(Log::Both),
        ..Drawing::default()
    };
    assert_eq!(
        options(&drawing),
        " --arms 'FedAvg,keep = 0.5=half' --highlight FedAvg --panels a,c --xlim 0,20.5 --log xy"
    );
}

#[test]
fn panels_are_named_by_their_axes() {
    let panel = |y: &str, x: &str| {
        Panel::Lines(Lines {
            x: Axis::new(x, Default::default()),
            y: Axis::new(y, Default::default()),
            series: Vec::new(),
        })
    };
    let said = |panels: Vec<Panel>| {
        super::panels(&Figure {
            panels,
            ..Figure::default()
        })
    };
    assert_eq!(
        said(vec![panel("Accuracy", "Round"), panel("Accuracy", "Virtual time")]),
        "Accuracy against round and virtual time"
    );
    let recall = || panel("Recall", "Round");
    assert_eq!(
        said(vec![panel("ROC AUC", "Round"), recall(), recall(), panel("", "")]),
        "ROC AUC and recall against round"
    );
    assert_eq!(said(Vec::new()), "");
}

/// Inside its files, too, a figure says what it is and where it comes from.
#[test]
fn the_files_of_a_figure_say_what_made_them() {
    let temp = TempDir::new();
    let dir = temp.join("run");
    synthetic::write_run(&dir, "a < b & ε", &synthetic::averaging(3)).unwrap();
    let drawing = Drawing {
        pdf: true,
        ..Drawing::default()
    };
    let files = draw_run(&dir, &Figures::default(), &drawing).unwrap();
    let run = folkmoot_metrics::RunDir::open(&dir).unwrap();
    let hash = run.manifest.result_fingerprint.unwrap();
    let form = |ending: &str| {
        let file = files.iter().find(|file| file.extension().unwrap() == ending).unwrap();
        fs::read(file).unwrap()
    };
    let svg = String::from_utf8(form("svg")).unwrap();
    for said in [
        "<title>Accuracy by round",
        "<desc>Accuracy against round.",
        "<dc:subject>a &lt; b &amp; ε</dc:subject>",
        &format!("<dc:identifier>Result hash: {hash}</dc:identifier>"),
    ] {
        assert!(svg.contains(said), "{said} in {svg:.2000}");
    }
    let png = form("png");
    let has = |said: &str| png.windows(said.len()).any(|part| part == said.as_bytes());
    assert!(has(&format!("tEXtResult hash\0{hash}")));
    assert!(has("iTXtCard\0\0\0\0\0a < b & ε"));
    let pdf = form("pdf");
    let pdf = String::from_utf8_lossy(&pdf);
    assert!(
        pdf.contains(&format!("/ResultHash ({hash})")) && pdf.contains("/Creator (Folkmoot "),
        "{pdf}"
    );
    let caption = fs::read_to_string(files[0].with_extension("caption.txt")).unwrap();
    assert!(
        caption.contains("\nResult in DIR: folkmoot run 'a < b & ε'\n"),
        "{caption}"
    );
    assert!(
        caption.contains(&format!("card a < b & ε, result hash (BLAKE3) {hash}.\n")),
        "{caption}"
    );
}
