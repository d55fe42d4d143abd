//! Tables of an audit as curves.

use crate::names::Unit;
use folkmoot_metrics::Spread;
use folkmoot_metrics::estimate::FEW;
use folkmoot_metrics::figure::{Axis, Figure, Lines, Panel, Path, Role, Series, TableCurve, TableFigure, TablePanel};

/// Tables as panels of curves, means over seeds: an interval where there are seeds enough for one,
/// else the seeds themselves.
pub(crate) fn figure(table: &TableFigure) -> Figure {
    let axis = |label: &str| Axis {
        log_beyond: Some(3.0),
        ..Axis::new(label, Unit::Number)
    };
    let means = |curve: &TableCurve| -> Vec<(f64, Spread)> {
        curve.iter().map(|(x, values)| (*x, Spread::of(values))).collect()
    };
    let panel = |panel: &TablePanel| {
        let mut series = Vec::new();
        for (index, (name, curve)) in panel.rows.iter().enumerate() {
            let spreads = means(curve);
            let band = spreads.iter().map(|(x, spread)| {
                let (low, high) = spread
                    .interval_95()
                    .filter(|_| spread.n() >= FEW)
                    .unwrap_or((f64::NAN, f64::NAN));
                (*x, low, high)
            });
            let role = Role::Data(index);
            series.push(Series {
                band: band.collect(),
                ..Series::new(
                    name.clone(),
                    role,
                    spreads.iter().map(|(x, spread)| (*x, spread.mean)).collect(),
                )
            });
            let few = curve.iter().filter(|(_, values)| (2..FEW).contains(&values.len()));
            let dots: Vec<(f64, f64)> = few.flat_map(|(x, values)| values.iter().map(|y| (*x, *y))).collect();
            if !dots.is_empty() {
                series.push(Series {
                    path: Path::Dots,
                    ..Series::new("", role, dots)
                });
            }
        }
        if let Some((name, curve)) = &panel.beside {
            let line = means(curve).iter().map(|(x, spread)| (*x, spread.mean)).collect();
            series.push(Series::new(name.clone(), Role::Theory(0), line));
        }
        let (x, y) = (axis(&table.x), axis(&panel.y));
        Panel::Lines(Lines { x, y, series })
    };
    Figure {
        name: table.name.clone(),
        title: table.title.clone(),
        notes: vec![format!(
            "Means over seeds; band: 95 % interval (Student's t), dots: the seeds where there are fewer than {FEW}."
        )],
        panels: table.panels.iter().map(panel).collect(),
    }
}
