//! What was measured, less what theory predicts: where a curve and its theory lie on each other, only
//! their difference shows whether they agree.

use crate::names::Unit;
use folkmoot_metrics::figure::{Axis, Lines, Panel, Path, Role, Series};

/// Panels, each with that of its residuals behind it, if one measured curve has a theory.
pub(crate) fn with_residuals(panels: Vec<Panel>) -> Vec<Panel> {
    let mut all = Vec::new();
    for panel in panels {
        let residuals = panel.lines().and_then(of);
        all.push(panel);
        all.extend(residuals.map(Panel::Lines));
    }
    all
}

fn of(lines: &Lines) -> Option<Lines> {
    let is_measured = |series: &&Series| matches!(series.role, Role::Data(_)) && series.path == Path::Joined;
    let mut measured = lines.series.iter().filter(is_measured);
    let (measured, None) = (measured.next()?, measured.next()) else {
        return None;
    };
    let theories = || {
        lines
            .series
            .iter()
            .filter(|series| matches!(series.role, Role::Theory(_)))
    };
    let predicted = |theory: &Series, x: f64| {
        let at = theory.points.iter().find(|(at, _)| *at == x);
        at.map(|(_, y)| *y).filter(|y| y.is_finite())
    };
    // In per cent, unless a prediction is nothing.
    let is_relative = theories().flat_map(|theory| &theory.points).all(|(_, y)| *y != 0.0);
    let residual = |theory: &Series, (x, y): (f64, f64)| {
        let expected = predicted(theory, x)?;
        let size = if is_relative { expected.abs() / 100.0 } else { 1.0 };
        Some((x, (y - expected) / size))
    };
    let series = theories().map(|theory| {
        let of = |point: (f64, f64)| residual(theory, point);
        let band = measured
            .band
            .iter()
            .filter_map(|&(x, lo, hi)| Some((x, of((x, lo))?.1, of((x, hi))?.1)));
        Series {
            band: band.collect(),
            ..Series::new(
                theory.label.clone(),
                theory.role,
                measured.points.iter().copied().filter_map(of).collect(),
            )
        }
    });
    let series: Vec<Series> = series.filter(|series| series.points.len() > 1).collect();
    let label = match is_relative {
        true => "Simulated less theory (%)".to_owned(),
        false => format!("{}, simulated less theory", lines.y.label),
    };
    (!series.is_empty()).then(|| Lines {
        x: lines.x.clone(),
        y: Axis {
            log_beyond: None,
            goal: Some((0.0, String::new())),
            ..Axis::new(label, if is_relative { Unit::Number } else { lines.y.unit })
        },
        series,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(theory: [(f64, f64); 2], n_measured: usize) -> Panel {
        let measured = |index| Series {
            band: vec![(1.0, 9.0, 12.0)],
            ..Series::new("simulated", Role::Data(index), vec![(1.0, 11.0), (2.0, 19.0)])
        };
        let mut series: Vec<Series> = (0..n_measured).map(measured).collect();
        series.push(Series::new("theory", Role::Theory(0), theory.to_vec()));
        Panel::Lines(Lines {
            x: Axis::rounds(),
            y: Axis::new("Messages", Unit::Number),
            series,
        })
    }

    #[test]
    fn residuals_are_per_cent_of_theory_unless_it_is_zero() {
        let panels = with_residuals(vec![panel([(1.0, 10.0), (2.0, 20.0)], 1)]);
        let lines = panels[1].lines().unwrap();
        assert_eq!(lines.series[0].points, [(1.0, 10.0), (2.0, -5.0)]);
        assert_eq!(lines.series[0].band, [(1.0, -10.0, 20.0)]);
        assert_eq!(lines.y.label, "Simulated less theory (%)");
        let panels = with_residuals(vec![panel([(1.0, 0.0), (2.0, 20.0)], 1)]);
        let lines = panels[1].lines().unwrap();
        assert_eq!(lines.series[0].points, [(1.0, 11.0), (2.0, -1.0)]);
        assert_eq!(lines.y.label, "Messages, simulated less theory");
    }

    #[test]
    fn of_several_curves_there_are_none() {
        assert_eq!(with_residuals(vec![panel([(1.0, 10.0), (2.0, 20.0)], 2)]).len(), 1);
        assert_eq!(with_residuals(vec![panel([(3.0, 10.0), (4.0, 20.0)], 1)]).len(), 1);
    }
}
