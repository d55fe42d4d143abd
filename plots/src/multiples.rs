//! Where curves are too many to be told apart: small multiples, a panel for each with the others in
//! grey; where panels show several quantities, the baseline before the others.

use crate::names::small_list;
use folkmoot_metrics::figure::{Figure, Lines, Panel, Path, Role, Series};
use folkmoot_metrics::term::small;
use std::collections::BTreeSet;

/// So many curves can be told apart in one panel.
pub(crate) const MOST: usize = 6;
/// More panels than these fill more than a page.
const MOST_PANELS: usize = 18;

/// A figure of curves of more arms than can be told apart has a panel for each, over what its first
/// panel has across; if its panels show several quantities, one of the `baselines` is brought
/// forward.
pub(crate) fn spread_out(figure: Figure, baselines: &[&str]) -> Figure {
    let figure = without_repeats(figure);
    let lines: Option<Vec<&Lines>> = figure.panels.iter().map(Panel::lines).collect();
    let Some([first, others @ ..]) = lines.as_deref() else {
        return figure;
    };
    let arms = arms(first);
    let is_alone = others.iter().all(|lines| lines.y.label == first.y.label);
    let is_emphasised = first.series.iter().any(|series| series.is_faint);
    if arms.len() <= MOST || is_emphasised {
        return figure;
    }
    if !is_alone || arms.len() > MOST_PANELS {
        let known = arms.iter().map(|(_, label)| label.as_str());
        return match known.into_iter().find(|label| baselines.contains(label)) {
            Some(baseline) => brought_forward(&figure, baseline),
            None => figure,
        };
    }
    let panels = arms.iter().map(|(index, label)| of_arm(first, *index, label)).collect();
    let mut notes = figure.notes.clone();
    if !others.is_empty() {
        let letters: Vec<String> = (b'b'..).map(char::from).take(others.len()).map(String::from).collect();
        let across: Vec<String> = others.iter().map(|lines| small(&lines.x.label)).collect();
        notes.push(format!(
            "Against {}: plot --panels {}.",
            small_list(&across),
            letters.join(" or ")
        ));
    }
    Figure {
        panels,
        notes,
        ..figure
    }
}

/// Without panels whose curves are those of an earlier one, which is noted.
fn without_repeats(mut figure: Figure) -> Figure {
    let mut kept: Vec<Panel> = Vec::new();
    for panel in std::mem::take(&mut figure.panels) {
        let is_same = |earlier: &&Panel| match (earlier.lines(), panel.lines()) {
            (Some(earlier), Some(lines)) => {
                let points = |lines: &Lines| -> Vec<_> {
                    let curves = lines.series.iter().filter(|series| series.path != Path::Dots);
                    curves
                        .map(|series| (series.label.clone(), series.points.clone()))
                        .collect()
                };
                earlier.x.label == lines.x.label && points(earlier) == points(lines)
            }
            _ => false,
        };
        match (kept.iter().find(is_same).and_then(Panel::lines), panel.lines()) {
            (Some(earlier), Some(lines)) => figure.notes.push(format!(
                "{} is the same as {}, and not drawn.",
                lines.y.label,
                small(&earlier.y.label)
            )),
            _ => kept.push(panel),
        }
    }
    figure.panels = kept;
    figure
}

/// The curves of one arm before the others, which are grey and without their seeds.
fn brought_forward(figure: &Figure, arm: &str) -> Figure {
    let mut figure = figure.clone();
    for panel in &mut figure.panels {
        let Panel::Lines(lines) = panel else { continue };
        let named = lines.series.iter().find(|series| series.label == arm);
        let own = named.map(|series| series.role);
        let is_other = |series: &Series| matches!(series.role, Role::Data(_)) && Some(series.role) != own;
        lines
            .series
            .retain(|series| !is_other(series) || !matches!(series.path, Path::Thin | Path::Dots));
        for series in lines.series.iter_mut().filter(|series| is_other(series)) {
            series.is_faint = true;
            series.band.clear();
        }
        // What is drawn last lies above.
        lines.series.sort_by_key(|series| !series.is_faint);
    }
    figure.notes.push(format!(
        "In colour: the baseline, {arm}. Another arm: plot --highlight NAME."
    ));
    figure
}

/// The arms that are joined curves, by index, with their names.
fn arms(lines: &Lines) -> Vec<(usize, String)> {
    let mut seen = BTreeSet::new();
    let arm = |series: &Series| match (series.role, series.path) {
        (Role::Data(index), Path::Joined) if !series.label.is_empty() && seen.insert(index) => {
            Some((index, series.label.clone()))
        }
        _ => None,
    };
    lines.series.iter().filter_map(arm).collect()
}

fn of_arm(lines: &Lines, index: usize, label: &str) -> Panel {
    let is_own = |series: &Series| matches!(series.role, Role::Data(of) | Role::TheoryOf(of) if of == index);
    let is_other_curve =
        |series: &Series| matches!(series.role, Role::Data(_)) && series.path == Path::Joined && !is_own(series);
    let grey = lines
        .series
        .iter()
        .filter(|series| is_other_curve(series))
        .map(|series| Series {
            label: String::new(),
            band: Vec::new(),
            is_faint: true,
            ..series.clone()
        });
    let own = lines
        .series
        .iter()
        .filter(|series| is_own(series))
        .map(|series| Series {
            label: String::new(),
            // Each panel has one curve, so all have the first colour.
            role: match series.role {
                Role::TheoryOf(_) => Role::TheoryOf(0),
                _ => Role::Data(0),
            },
            ..series.clone()
        });
    let common = lines
        .series
        .iter()
        .filter(|series| !matches!(series.role, Role::Data(_) | Role::TheoryOf(_)));
    let mut panel = Lines {
        series: grey.chain(own).chain(common.cloned()).collect(),
        ..lines.clone()
    };
    panel.y.above = [panel.y.above.as_str(), label]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(", ");
    Panel::Lines(panel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::tests::lines;

    fn figure(n_arms: usize) -> Figure {
        let names: Vec<String> = (0..n_arms).map(|index| format!("arm {index}")).collect();
        let mut figure = lines(&names.iter().map(String::as_str).collect::<Vec<_>>());
        if let Panel::Lines(lines) = &mut figure.panels[1] {
            lines.x.label = "Virtual time".to_owned();
        }
        figure
    }

    #[test]
    fn many_curves_have_a_panel_each_and_few_have_one_together() {
        assert_eq!(spread_out(figure(6), &[]).panels.len(), 2);
        let drawn = spread_out(figure(7), &[]);
        assert_eq!(drawn.panels.len(), 7);
        assert_eq!(drawn.notes, ["Against virtual time: plot --panels b."]);
        let lines = drawn.panels[2].lines().unwrap();
        assert_eq!(lines.y.above, "arm 2");
        let bright: Vec<(Role, Path)> = (lines.series.iter())
            .filter(|series| !series.is_faint)
            .map(|series| (series.role, series.path))
            .collect();
        let expected = [
            (Role::Data(0), Path::Thin),
            (Role::Data(0), Path::Joined),
            (Role::Control(0), Path::Joined),
        ];
        assert_eq!(bright, expected);
        assert_eq!(lines.series.len(), 6 + 3, "seeds of other arms are left out");
    }

    #[test]
    fn of_many_curves_of_several_quantities_the_baseline_is_brought_forward() {
        let of = |n_arms: usize| {
            let mut figure = figure(n_arms);
            if let [Panel::Lines(first), Panel::Lines(second)] = &mut figure.panels[..] {
                first.y.label = "Accuracy".to_owned();
                second.y.label = "Loss".to_owned();
                second.series[0].points[0].1 = 7.0;
            }
            figure
        };
        let drawn = spread_out(of(7), &["arm 3"]);
        assert_eq!(drawn.panels.len(), 2);
        assert_eq!(
            drawn.notes,
            ["In colour: the baseline, arm 3. Another arm: plot --highlight NAME."]
        );
        let series = &drawn.panels[1].lines().unwrap().series;
        let bright = series.iter().filter(|series| !series.is_faint);
        let roles: Vec<Role> = bright.map(|series| series.role).collect();
        assert_eq!(roles, [Role::Data(3), Role::Data(3), Role::Control(0)]);
        assert_eq!(series.len(), 6 + 3, "seeds of other arms are left out");
        assert!(
            spread_out(of(7), &[]).notes.is_empty(),
            "nothing is known of a baseline"
        );
        assert!(spread_out(of(6), &["arm 3"]).notes.is_empty());
    }

    #[test]
    fn a_panel_with_the_curves_of_another_is_noted_and_not_drawn() {
        let mut twice = figure(2);
        if let [Panel::Lines(first), Panel::Lines(second)] = &mut twice.panels[..] {
            first.y.label = "AUC".to_owned();
            second.y.label = "AUC from all".to_owned();
            second.x.label.clone_from(&first.x.label);
        }
        let drawn = spread_out(twice, &[]);
        assert_eq!(drawn.panels.len(), 1);
        assert_eq!(drawn.notes, ["AUC from all is the same as AUC, and not drawn."]);
    }
}
