//! Intervals over seeds: how far they may reach, and what a reader is told of them.

use folkmoot_metrics::figure::{Bars, Panel, Path};

/// An interval as far as a metric can be there.
pub(crate) fn bounded(interval: Option<(f64, f64)>, (low, high): (f64, f64)) -> Option<(f64, f64)> {
    interval.map(|(lo, hi)| (lo.max(low), hi.min(high)))
}

/// How panels show several runs.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    bands: bool,
    whiskers: bool,
    joined_dots: bool,
    dots: bool,
    thin_lines: bool,
}

fn marks(panels: &[Panel]) -> Marks {
    let mut marks = Marks::default();
    for series in panels.iter().filter_map(Panel::lines).flat_map(|lines| &lines.series) {
        // An interval whose neighbours have none is drawn as a whisker.
        let parts = || series.band.split(|(_, low, _)| !low.is_finite());
        let has_part = |is_long: bool| parts().any(|part| !part.is_empty() && (part.len() > 1) == is_long);
        let is_scattered = series.path == Path::Scattered;
        marks.bands |= has_part(true) && !is_scattered;
        marks.whiskers |= has_part(false) || !series.across.is_empty() || (has_part(true) && is_scattered);
        marks.dots |= series.path == Path::Dots;
        marks.thin_lines |= series.path == Path::Thin;
    }
    for bars in panels.iter().filter_map(Panel::bars) {
        let drawn = || bars.rows.iter().flat_map(|row| &row.bars);
        let has_dots = drawn().any(|bar| !bar.dots.is_empty());
        marks.whiskers |= drawn().any(|bar| bar.interval.is_some());
        marks.joined_dots |= has_dots && bars.points;
        marks.dots |= has_dots && !bars.points;
    }
    marks
}

/// What the marks in panels over `n` seeds stand for, and what stands beside rows.
pub(crate) fn over_seeds(n: usize, panels: &[Panel]) -> Option<String> {
    let marks = marks(panels);
    let named = |known: &[(bool, &str)], meaning: &str| {
        let seen: Vec<&str> = (known.iter().filter(|(is_seen, _)| *is_seen))
            .map(|(_, name)| *name)
            .collect();
        match seen.is_empty() {
            true => String::new(),
            false => format!("; {}: {meaning}", seen.join(" and ")),
        }
    };
    let seeds = named(&[(marks.joined_dots, "grey dots, joined by lines")], "the seeds")
        + &named(&[(marks.dots, "dots"), (marks.thin_lines, "thin lines")], "the seeds");
    let intervals = named(
        &[(marks.bands, "bands"), (marks.whiskers, "whiskers")],
        "95 % interval (Student's t)",
    );
    let mean = (n > 1).then(|| format!("Mean over {n} seeds{seeds}{intervals}."));
    let mut rows = panels.iter().filter_map(Panel::bars);
    let compared = rows.clone().any(|bars| bars.is_compared).then(|| {
        let baseline = rows.find_map(baseline_name);
        let from = baseline.map_or("the arm that is named".to_owned(), |name| {
            format!("{name}, paired by seed")
        });
        let interval = match n {
            0 | 1 => "",
            _ => ", with its 95 % interval; * significant (p < 0.05, Holm)",
        };
        format!("At the right: difference from {from}{interval}.")
    });
    let said: Vec<String> = mean.into_iter().chain(compared).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

fn baseline_name(bars: &Bars) -> Option<&str> {
    bars.baseline.as_ref().map(|(_, name)| name.as_str())
}
