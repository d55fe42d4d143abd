//! Which figures are drawn, and how.

use super::*;

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
        draw_sweep(&dir, &drawing).map(|files| names(&files))
    };
    assert_eq!(
        drawn(&[], false).unwrap(),
        ["messages-and-bytes.svg", "messages-and-bytes.png"]
    );
    assert_eq!(drawn(&[], true).unwrap().len(), 10);
    let some = drawn(&["*-walk", "sweep-m*", "sweep-micro-f1"], false).unwrap();
    let expected = [
        "sweep-peer-messages-per-walk.svg",
        "sweep-peer-messages-per-walk.png",
        "sweep-micro-f1.svg",
        "sweep-micro-f1.png",
    ];
    assert_eq!(some, expected);
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
    assert_eq!(
        drawn(&[], false).unwrap(),
        ["sweep-virtual-s.svg", "sweep-virtual-s.png"]
    );
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
        ..Drawing::default()
    };
    let files = draw_sweep(&dir, &drawing).unwrap();
    assert_eq!(
        names(&files),
        ["svg", "png", "pdf"].map(|ending| format!("messages-and-bytes.{ending}"))
    );
    let svg = fs::read_to_string(&files[0]).unwrap();
    check_xml(&svg);
    assert!(svg.contains("width=\"174.00mm\"") && svg.contains("aria-label=\"Epsilon\"") && !svg.contains("<text"));
    assert!(!svg.contains("aria-label=\"sweep"), "the title is left out");
    // Too narrow for two panels side by side, it has them below each other.
    let narrow = Drawing {
        look: Look {
            width_mm: Some(60.0),
            ..drawing.look.clone()
        },
        ..drawing.clone()
    };
    let [narrow, wide] =
        [&narrow, &drawing].map(|drawing| png_size(&fs::read(&draw_sweep(&dir, drawing).unwrap()[1]).unwrap()));
    assert!(narrow.0 < wide.0 / 2 && narrow.1 > wide.1, "{narrow:?} {wide:?}");
    // 42 pixels stand for 8 points, so that 174 mm are this many.
    let width = (174.0 / 25.4 * 72.0 * 42.0 / 8.0_f64) as u32;
    assert_eq!(png_size(&fs::read(&files[1]).unwrap()).0, width);
    let pdf = fs::read(&files[2]).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    assert!(
        text.starts_with("%PDF-") && text.ends_with("%%EOF") && text.contains("/MediaBox [0 0 493."),
        "{text:.400}"
    );
    assert_eq!(fs::read(&draw_sweep(&dir, &drawing).unwrap()[2]).unwrap(), pdf);
}
