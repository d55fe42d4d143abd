//! Small multiples: where curves are too many to be told apart, a panel for each, with the others in
//! grey.

use crate::figure::{Figure, Lines, Panel, Path, Role, Series};
use crate::names::small_list;
use folkmoot_metrics::term::small;
use std::collections::BTreeSet;

/// So many curves can be told apart in one panel.
pub(crate) const MOST: usize = 6;
/// More panels than these fill more than a page.
const MOST_PANELS: usize = 18;

/// A figure of curves of more arms than can be told apart has a panel for each, over what its first
/// panel has across.
pub(crate) fn spread_out(figure: Figure) -> Figure {
    let lines: Option<Vec<&Lines>> = figure.panels.iter().map(Panel::lines).collect();
    let Some([first, others @ ..]) = lines.as_deref() else {
        return figure;
    };
    let arms = arms(first);
    let is_alone = others.iter().all(|lines| lines.y.label == first.y.label);
    let is_emphasised = first.series.iter().any(|series| series.is_faint);
    if !(MOST + 1..=MOST_PANELS).contains(&arms.len()) || !is_alone || is_emphasised {
        return figure;
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
        lines(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn many_curves_have_a_panel_each_and_few_have_one_together() {
        assert_eq!(spread_out(figure(6)).panels.len(), 2);
        let drawn = spread_out(figure(7));
        assert_eq!(drawn.panels.len(), 7);
        assert_eq!(drawn.notes, ["Against round: plot --panels b."]);
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
}
