//! Intervals over seeds: how far they may reach, and what a reader is told of them.

use crate::figure::{Panel, Path};
use folkmoot_metrics::estimate::FEW;

/// An interval as far as a metric can be there.
pub(crate) fn bounded(interval: Option<(f64, f64)>, (low, high): (f64, f64)) -> Option<(f64, f64)> {
    interval.map(|(lo, hi)| (lo.max(low), hi.min(high)))
}

/// How panels show several runs.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    bands: bool,
    whiskers: bool,
    dots: bool,
    thin_lines: bool,
}

fn marks(panels: &[Panel]) -> Marks {
    let mut marks = Marks::default();
    for panel in panels {
        match panel {
            Panel::Lines(lines) => {
                for series in &lines.series {
                    let is_seen = |band: &[(f64, f64, f64)]| band.iter().any(|(_, low, _)| low.is_finite());
                    let is_scattered = series.path == Path::Scattered;
                    marks.bands |= is_seen(&series.band) && !is_scattered;
                    marks.whiskers |= is_scattered && (is_seen(&series.band) || is_seen(&series.across));
                    marks.dots |= series.path == Path::Dots;
                    marks.thin_lines |= series.path == Path::Thin;
                }
            }
            Panel::Bars(bars) => {
                let bars = || bars.rows.iter().flat_map(|row| &row.bars);
                marks.whiskers |= bars().any(|bar| bar.interval.is_some());
                marks.dots |= bars().any(|bar| !bar.dots.is_empty());
            }
            Panel::Heat(_) | Panel::Split(_) | Panel::Timeline(_) => {}
        }
    }
    marks
}

/// What the marks in panels of so many seeds stand for; none where they have none of several runs.
pub(crate) fn over_seeds(n_seeds: usize, panels: &[Panel]) -> Option<String> {
    let marks = marks(panels);
    let of = |known: &[(bool, &'static str)]| {
        let seen: Vec<&str> = known
            .iter()
            .filter(|(is_seen, _)| *is_seen)
            .map(|(_, name)| *name)
            .collect();
        (!seen.is_empty()).then(|| seen.join(" and "))
    };
    let intervals = of(&[(marks.bands, "bands"), (marks.whiskers, "whiskers")]);
    let runs = of(&[(marks.dots, "dots"), (marks.thin_lines, "thin lines")]);
    let said = match (intervals, runs) {
        (None, None) => return None,
        (Some(marks), None) => format!("{marks}: 95 % confidence interval (Student's t)"),
        (None, Some(marks)) => format!("{marks}: the seeds, too few for an interval"),
        (Some(marks), Some(runs)) => format!(
            "{marks}: 95 % confidence interval (Student's t); {runs}: the seeds, where they are fewer than {FEW}"
        ),
    };
    (n_seeds > 1).then(|| format!("Mean over {n_seeds} seeds; {said}."))
}
