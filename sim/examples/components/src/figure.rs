//! A figure of runs and sweeps: what it shows, from the tables of a directory.

use folkmoot::metrics::figure::{Axis, Figure, Lines, Panel, Role, Series};
use folkmoot::metrics::figures::{FigureSource, KnownFigure};
use folkmoot::metrics::{ReadError, RunDir};
use folkmoot::prelude::*;
use folkmoot::scenarios::axis::DuplicateName;
use folkmoot::scenarios::registry::Registry;

/// How long each round took.
struct RoundTimes;

const NAME: &str = "round-times";

impl FigureSource for RoundTimes {
    fn known(&self) -> KnownFigure {
        KnownFigure {
            name: NAME,
            of: "run",
            about: "Virtual time that each round took.",
        }
    }

    fn of_run(&self, run: &RunDir) -> Result<Vec<Figure>, ReadError> {
        let ends: Vec<(f64, f64)> = run
            .tables
            .rounds
            .iter()
            .map(|row| (f64::from(row.round), row.virtual_s))
            .collect();
        let starts = std::iter::once(0.0).chain(ends.iter().map(|(_, end)| *end));
        let times: Vec<(f64, f64)> = ends
            .iter()
            .zip(starts)
            .map(|((round, end), start)| (*round, end - start))
            .collect();
        if times.iter().all(|(_, time)| *time == 0.0) {
            return Ok(Vec::new());
        }
        let lines = Lines {
            x: Axis::rounds(),
            y: Axis::amount("Time of a round", Unit::Seconds),
            series: vec![Series::new("", Role::Data(0), times)],
        };
        Ok(vec![Figure {
            name: NAME.to_owned(),
            title: "Time of each round".to_owned(),
            notes: Vec::new(),
            panels: vec![Panel::Lines(lines)],
        }])
    }
}

pub(crate) fn register(registry: &mut Registry) -> Result<(), DuplicateName> {
    registry.add_figure(RoundTimes)?;
    registry.add_card("figure", include_str!("../cards/figure.ron"))
}
