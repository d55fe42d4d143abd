//! Figures as somebody wants them for a page: some arms, in another order and under other names,
//! some panels, other ranges and kinds of axes, one arm before the others.

use crate::Drawing;
use crate::names::short;
use folkmoot_metrics::figure::{Axis, Bars, Figure, Lines, Panel, Role, Row, Series};
use std::collections::BTreeSet;

/// Which axes are logarithmic, whatever the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// None.
    Neither,
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
    /// Both of them.
    Both,
}

impl Log {
    /// As `plot --log` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Log::Neither => "none",
            Log::X => "x",
            Log::Y => "y",
            Log::Both => "xy",
        }
    }
}

impl Drawing {
    /// The figures with all that is wanted of them.
    ///
    /// # Errors
    ///
    /// An arm or a panel that no figure has, with those that there are.
    pub(crate) fn adapted(&self, mut figures: Vec<Figure>) -> Result<Vec<Figure>, String> {
        self.know(&figures)?;
        for figure in &mut figures {
            figure.panels = self.panels_of(std::mem::take(&mut figure.panels));
            for panel in &mut figure.panels {
                let notes = match panel {
                    Panel::Lines(lines) => self.adapt_lines(lines),
                    Panel::Bars(bars) => self.adapt_bars(bars),
                    Panel::Heat(_) | Panel::ClientData(_) | Panel::Timeline(_) => Vec::new(),
                };
                figure.notes.extend(notes);
            }
        }
        Ok(figures)
    }

    /// Whether every name that is given is one of some figure.
    fn know(&self, figures: &[Figure]) -> Result<(), String> {
        let panels = || figures.iter().flat_map(|figure| &figure.panels);
        let mut known: Vec<&str> = Vec::new();
        for panel in panels() {
            match panel {
                Panel::Lines(lines) => {
                    let arms = lines.series.iter().filter(|series| arm_of(series).is_some());
                    known.extend(arms.map(|series| series.label.as_str()));
                }
                Panel::Bars(bars) => {
                    known.extend(bars.rows.iter().map(|row| row.label.as_str()));
                    known.extend(bars.groups.iter().map(String::as_str));
                }
                Panel::Heat(_) | Panel::ClientData(_) | Panel::Timeline(_) => {}
            }
        }
        let mut seen = BTreeSet::new();
        known.retain(|name| !name.is_empty() && seen.insert(*name));
        let asked = self.arms.iter().map(|(name, _)| name).chain(&self.highlight);
        for name in asked {
            if !known.contains(&name.as_str()) {
                return Err(format!("no figure has an arm {name:?}; there are {}", known.join(", ")));
            }
        }
        let most = figures.iter().map(|figure| figure.panels.len()).max().unwrap_or(0);
        match self.panels.iter().find(|place| **place >= most) {
            Some(_) => Err(format!("no figure has such a panel; there are at most {most}")),
            None => Ok(()),
        }
    }

    fn panels_of(&self, panels: Vec<Panel>) -> Vec<Panel> {
        let chosen: Vec<Panel> = (self.panels.iter())
            .filter_map(|place| panels.get(*place).cloned())
            .collect();
        // A figure that has none of them stays whole.
        if chosen.is_empty() { panels } else { chosen }
    }

    /// Returns what to note of it.
    fn adapt_lines(&self, lines: &mut Lines) -> Vec<String> {
        let index_of = |name: &str| {
            let mut named = lines.series.iter().filter(|series| series.label == *name);
            named.find_map(arm_of)
        };
        let order: Vec<(usize, &String)> = (self.arms.iter())
            .filter_map(|(name, new)| Some((index_of(name)?, new)))
            .collect();
        let bright: Vec<usize> = self.highlight.iter().filter_map(|name| index_of(name)).collect();
        if !bright.is_empty() {
            for series in &mut lines.series {
                series.is_faint = arm_of(series).is_some_and(|index| !bright.contains(&index));
            }
        }
        if !order.is_empty() {
            let mut chosen: Vec<Series> = Vec::new();
            for (new_index, (index, name)) in order.iter().enumerate() {
                for series in lines.series.iter().filter(|series| arm_of(series) == Some(*index)) {
                    let mut series = series.clone();
                    series.role = match series.role {
                        Role::TheoryOf(_) => Role::TheoryOf(new_index),
                        _ => Role::Data(new_index),
                    };
                    if !series.label.is_empty() && matches!(series.role, Role::Data(_)) {
                        series.label = (*name).clone();
                    }
                    chosen.push(series);
                }
            }
            chosen.extend(lines.series.iter().filter(|series| arm_of(series).is_none()).cloned());
            lines.series = chosen;
        }
        // What is drawn last lies above.
        lines.series.sort_by_key(|series| !series.is_faint);
        let points = || lines.series.iter().flat_map(|series| &series.points);
        let (xs, ys): (Vec<f64>, Vec<f64>) = points().copied().unzip();
        let x = self.adapt_axis(&mut lines.x, (self.x_range, &xs), &[Log::X, Log::Both]);
        let y = self.adapt_axis(&mut lines.y, (self.y_range, &ys), &[Log::Y, Log::Both]);
        x.into_iter().chain(y).collect()
    }

    /// Arms are rows, or bars beside each other in every row. Returns what to note of it.
    fn adapt_bars(&self, bars: &mut Bars) -> Vec<String> {
        if bars.rows.iter().any(|row| self.highlight.contains(&row.label)) {
            let is_bright = |label: &String| self.highlight.contains(label);
            bars.rows
                .iter_mut()
                .for_each(|row| row.is_faint = !is_bright(&row.label));
        }
        if bars.groups.iter().any(|group| self.highlight.contains(group)) {
            bars.faint_groups = bars
                .groups
                .iter()
                .map(|group| !self.highlight.contains(group))
                .collect();
        }
        let chosen = |labels: &[String]| -> Vec<(usize, String)> {
            let place = |name: &String| labels.iter().position(|label| label == name);
            self.arms
                .iter()
                .filter_map(|(name, new)| Some((place(name)?, new.clone())))
                .collect()
        };
        let rows = chosen(&bars.rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>());
        if !rows.is_empty() {
            let row = |(at, label): (usize, String)| Row {
                label,
                ..bars.rows[at].clone()
            };
            bars.rows = rows.into_iter().map(row).collect();
        }
        let groups = chosen(&bars.groups);
        if !groups.is_empty() {
            for row in &mut bars.rows {
                row.bars = groups.iter().map(|(at, _)| row.bars[*at].clone()).collect();
            }
            let is_faint = |(at, _): &(usize, String)| bars.faint_groups.get(*at).copied().unwrap_or(false);
            bars.faint_groups = groups.iter().map(is_faint).collect();
            bars.groups = groups.into_iter().map(|(_, name)| name).collect();
        }
        let all = bars.rows.iter().flat_map(|row| &row.bars);
        let values: Vec<f64> = all.filter_map(|bar| bar.value).collect();
        let note = self.adapt_axis(&mut bars.x, (self.x_range, &values), &[Log::X, Log::Both]);
        note.into_iter().collect()
    }

    /// An axis none of whose values lies between the ends keeps its own, which is noted: one range
    /// is given for panels of different quantities.
    fn adapt_axis(
        &self,
        axis: &mut Axis,
        (range, values): (Option<(f64, f64)>, &[f64]),
        logs: &[Log],
    ) -> Option<String> {
        if let Some(log) = self.log {
            axis.log_beyond = logs.contains(&log).then_some(0.0);
        }
        let (from, to) = range?;
        if values.iter().any(|value| (from..=to).contains(value)) {
            axis.range = range;
            return None;
        }
        Some(format!(
            "{} has no value from {} to {}, and its own range.",
            axis.label,
            short(from),
            short(to)
        ))
    }
}

/// The arm that a curve is of; none of theory and controls, which are of all.
fn arm_of(series: &Series) -> Option<usize> {
    match series.role {
        Role::Data(index) | Role::TheoryOf(index) => Some(index),
        Role::Theory(_) | Role::Control(_) => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use folkmoot_metrics::figure::{Bar, Path};

    /// Two panels with a curve and one of its seeds for each name, and a control.
    pub(crate) fn lines(names: &[&str]) -> Figure {
        let series = |(index, name): (usize, &&str)| {
            let thin = Series {
                path: Path::Thin,
                ..Series::new("", Role::Data(index), vec![(0.0, index as f64)])
            };
            [thin, Series::new(*name, Role::Data(index), vec![(0.0, 1.0)])]
        };
        let mut series: Vec<Series> = names.iter().enumerate().flat_map(series).collect();
        series.push(Series::new("control", Role::Control(0), vec![(0.0, 0.5)]));
        let lines = Lines {
            x: Axis::rounds(),
            y: Axis::default(),
            series,
        };
        Figure {
            panels: vec![Panel::Lines(lines.clone()), Panel::Lines(lines)],
            ..Figure::default()
        }
    }

    fn bars(names: &[&str]) -> Figure {
        let row = |name: &&str| Row {
            label: (*name).to_owned(),
            bars: vec![Bar::default()],
            ..Row::default()
        };
        let bars = Bars {
            rows: names.iter().map(row).collect(),
            ..Bars::default()
        };
        Figure {
            panels: vec![Panel::Bars(bars)],
            ..Figure::default()
        }
    }

    #[test]
    fn arms_are_chosen_ordered_and_renamed() {
        let drawing = Drawing {
            arms: vec![("c".to_owned(), "third".to_owned()), ("a".to_owned(), "a".to_owned())],
            ..Drawing::default()
        };
        let drawn = drawing
            .adapted(vec![lines(&["a", "b", "c"]), bars(&["a", "b", "c"])])
            .unwrap();
        let series = &drawn[0].panels[0].lines().unwrap().series;
        let named: Vec<(&str, Role)> = series
            .iter()
            .map(|series| (series.label.as_str(), series.role))
            .collect();
        let expected = [
            ("", Role::Data(0)),
            ("third", Role::Data(0)),
            ("", Role::Data(1)),
            ("a", Role::Data(1)),
            ("control", Role::Control(0)),
        ];
        assert_eq!(named, expected);
        assert_eq!(series[0].points, [(0.0, 2.0)], "the seeds of an arm go with it");
        let rows = drawn[1].panels[0]
            .bars()
            .unwrap()
            .rows
            .iter()
            .map(|row| row.label.as_str());
        assert_eq!(rows.collect::<Vec<_>>(), ["third", "a"]);
        let wrong = Drawing {
            highlight: vec!["d".to_owned()],
            ..Drawing::default()
        };
        let why = wrong.adapted(vec![lines(&["a", "b"])]).unwrap_err();
        assert_eq!(why, "no figure has an arm \"d\"; there are a, b");
    }

    #[test]
    fn arms_that_are_bars_of_every_row_are_chosen_too() {
        let bar = |value: f64| Bar {
            value: Some(value),
            ..Bar::default()
        };
        let bars = Bars {
            groups: vec!["a".to_owned(), "b".to_owned()],
            rows: vec![Row {
                label: "set".to_owned(),
                bars: vec![bar(1.0), bar(2.0)],
                ..Row::default()
            }],
            ..Bars::default()
        };
        let figure = Figure {
            panels: vec![Panel::Bars(bars)],
            ..Figure::default()
        };
        let drawing = Drawing {
            arms: vec![("b".to_owned(), "second".to_owned()), ("a".to_owned(), "a".to_owned())],
            highlight: vec!["b".to_owned()],
            ..Drawing::default()
        };
        let drawn = drawing.adapted(vec![figure]).unwrap();
        let bars = drawn[0].panels[0].bars().unwrap();
        assert_eq!(bars.groups, ["second", "a"]);
        assert_eq!(bars.faint_groups, [false, true]);
        assert_eq!(
            bars.rows[0].bars.iter().filter_map(|bar| bar.value).collect::<Vec<_>>(),
            [2.0, 1.0]
        );
    }

    #[test]
    fn one_arm_is_brought_forward_and_axes_are_set() {
        let drawing = Drawing {
            highlight: vec!["b".to_owned()],
            panels: vec![1],
            x_range: Some((-1.0, 9.0)),
            log: Some(Log::Y),
            ..Drawing::default()
        };
        let drawn = drawing.adapted(vec![lines(&["a", "b"])]).unwrap();
        assert_eq!(drawn[0].panels.len(), 1);
        let lines = drawn[0].panels[0].lines().unwrap();
        let faint: Vec<bool> = lines.series.iter().map(|series| series.is_faint).collect();
        assert_eq!(faint, [true, true, false, false, false], "faint ones lie below");
        assert_eq!((lines.x.range, lines.x.log_beyond), (Some((-1.0, 9.0)), None));
        assert_eq!((lines.y.range, lines.y.log_beyond), (None, Some(0.0)));
        let elsewhere = Drawing {
            x_range: Some((1.0, 9.0)),
            ..Drawing::default()
        };
        let drawn = elsewhere.adapted(vec![super::tests::lines(&["a"])]).unwrap();
        assert_eq!(drawn[0].panels[0].lines().unwrap().x.range, None);
        assert_eq!(drawn[0].notes[0], "Round has no value from 1 to 9, and its own range.");
        let too_many = Drawing {
            panels: vec![4],
            ..Drawing::default()
        };
        assert!(too_many.adapted(vec![bars(&["a"])]).is_err());
    }
}
