//! A sweep by its axes: what lies along x, what makes a curve, and what parts a figure into panels.

use super::axis::{counted, number};
use crate::names::{Units, minus};
use crate::profile;
use crate::scene::MAX_CURVES;
use folkmoot_metrics::SweepDir;
use folkmoot_metrics::findings::{self, Finding};
use folkmoot_metrics::sweep_dir::PointRow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// As many points as there are different markers.
pub(super) const MAX_POINTS: usize = 12;

/// A sweep, and which of its axes goes where.
pub(super) struct View<'a> {
    pub(super) sweep: &'a SweepDir,
    pub(super) points: Vec<&'a PointRow>,
    /// The axis along x, or down the rows of bars.
    pub(super) main: usize,
    /// Whether that axis' values are numbers.
    pub(super) numeric: bool,
    /// The other axes with more than one value: a curve for each combination.
    pub(super) others: Vec<usize>,
    /// How arms compare with their baselines, where figures show it.
    pub(super) compared: Option<Arc<Compared<'a>>>,
}

/// The arms of a sweep, and how they differ from the baselines that the card names.
pub(super) struct Compared<'a> {
    arms: Vec<findings::Arm<'a>>,
    found: Vec<Finding>,
}

impl<'a> Compared<'a> {
    pub(super) fn of(sweep: &'a SweepDir) -> Self {
        let arms = findings::arms(sweep);
        let found = findings::contrasts(sweep, &arms);
        Compared { arms, found }
    }

    /// What stands behind every number of the arm that has these points, by metric.
    pub(super) fn remarks(&self, points: &[&PointRow]) -> BTreeMap<String, (String, bool)> {
        let metrics = self.found.iter().map(|finding| &finding.metric);
        metrics
            .filter_map(|metric| Some((metric.clone(), self.remark(metric, points)?)))
            .collect()
    }

    /// What stands behind the number of the arm that has these points: how it differs from its
    /// baseline, or that it is one; and whether it is.
    pub(super) fn remark(&self, metric: &str, points: &[&PointRow]) -> Option<(String, bool)> {
        let finding = self.found.iter().find(|finding| finding.metric == metric)?;
        let baseline = finding.differences.first()?.arms[1];
        let is_one = finding.differences.iter().all(|one| one.arms[1] == baseline);
        let values = points.first()?.values.as_slice();
        let own = self.arms.iter().position(|arm| arm.values == values)?;
        let difference = finding.differences.iter().find(|one| one.arms[0] == own);
        match difference {
            Some(difference) if is_one => Some((finding.cell(difference), false)),
            Some(difference) => {
                let from = difference.names[1].trim_matches('"');
                Some((format!("{} vs {from}", finding.cell(difference)), false))
            }
            None if is_one && own == baseline => Some(("baseline".to_owned(), true)),
            None => Some((String::new(), false)),
        }
    }
}

impl<'a> View<'a> {
    /// `None` where no axis has two values: then there is nothing to compare.
    pub(super) fn new(sweep: &'a SweepDir) -> Option<Self> {
        View::of(sweep, sweep.points.iter().collect())
    }

    pub(super) fn of(sweep: &'a SweepDir, points: Vec<&'a PointRow>) -> Option<Self> {
        let axes = &sweep.manifest.axes;
        let varied = |axis: &usize| {
            let values: BTreeSet<&String> = points.iter().filter_map(|point| point.values.get(*axis)).collect();
            // One that moves along with another says nothing that the other does not.
            values.len() > 1 && axes[*axis].with.is_none()
        };
        let varied: Vec<usize> = (0..axes.len()).filter(varied).collect();
        let numeric = |axis: &usize| axes[*axis].values.iter().all(|value| counted(value).is_some());
        let main = varied.iter().copied().find(numeric);
        let is_numeric = main.is_some();
        let main = main.or(varied.first().copied())?;
        let others = varied.into_iter().filter(|axis| *axis != main).collect();
        Some(View {
            sweep,
            points,
            main,
            numeric: is_numeric,
            others,
            compared: None,
        })
    }

    pub(super) fn points(&self) -> &[&'a PointRow] {
        &self.points
    }

    /// The whole under no name, or, where it has more curves than can be told apart, a part for
    /// each value of that axis of theirs which has fewest, parted until each can be read.
    pub(super) fn parts(&self) -> Vec<(String, View<'a>)> {
        let n_values = |axis: &usize| self.sweep.manifest.axes[*axis].values.len();
        let fewest = self.others.iter().copied().min_by_key(n_values);
        match fewest.filter(|_| self.others.len() > 1 && self.arms().len() > MAX_POINTS) {
            None => self.whole(),
            Some(axis) => self.parted(axis, View::parts),
        }
    }

    /// The same for figures in which each combination of the axes' values is a curve of its own,
    /// whatever lies along x.
    pub(super) fn parts_of_curves(&self) -> Vec<(String, View<'a>)> {
        let n_values = |axis: &usize| self.sweep.manifest.axes[*axis].values.len();
        let fewest = self.axes().min_by_key(n_values);
        match fewest.filter(|_| !self.others.is_empty() && self.labelled().len() > MAX_CURVES) {
            None => self.whole(),
            Some(axis) => self.parted(axis, View::parts_of_curves),
        }
    }

    /// A part for each value of an axis, and further parts of these.
    fn parted(&self, axis: usize, further: impl Fn(&View<'a>) -> Vec<(String, View<'a>)>) -> Vec<(String, View<'a>)> {
        let parted = |(above, part): (String, View<'a>)| {
            let named = |(more, part): (String, View<'a>)| match more.is_empty() {
                true => (above.clone(), part),
                false => (format!("{above}, {more}"), part),
            };
            further(&part).into_iter().map(named).collect::<Vec<_>>()
        };
        self.parts_by(axis).into_iter().flat_map(parted).collect()
    }

    pub(super) fn whole(&self) -> Vec<(String, View<'a>)> {
        let whole = View::of(self.sweep, self.points.clone()).map(|whole| View {
            compared: self.compared.clone(),
            ..whole
        });
        whole.map(|whole| (String::new(), whole)).into_iter().collect()
    }

    pub(super) fn parts_by(&self, axis: usize) -> Vec<(String, View<'a>)> {
        let part = |value: &String| {
            let points = self.points.iter().copied().filter(|point| point.values[axis] == *value);
            let part = View {
                compared: self.compared.clone(),
                ..View::of(self.sweep, points.collect())?
            };
            Some((self.label_of(std::iter::once(axis), &[value]), part))
        };
        self.sweep.manifest.axes[axis].values.iter().filter_map(part).collect()
    }

    /// The axis along x, and the others.
    pub(super) fn axes(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.main).chain(self.others.iter().copied())
    }

    pub(super) fn units(&self) -> Units<'_> {
        Units(&self.sweep.manifest.units, &self.sweep.manifest.terms)
    }

    /// The points of each combination of the axes' values, with a name for it.
    pub(super) fn labelled(&self) -> Vec<(String, Vec<&'a PointRow>)> {
        let mut arms: Vec<(String, Vec<&PointRow>)> = Vec::new();
        for point in self.points() {
            let values: Vec<&str> = self.axes().map(|axis| point.values[axis].as_str()).collect();
            let label = self.label_of(self.axes(), &values);
            match arms.iter_mut().find(|(known, _)| *known == label) {
                Some((_, points)) => points.push(point),
                None => arms.push((label, vec![point])),
            }
        }
        arms
    }

    /// A curve for each combination of the axes' values, for figures over a parameter within the
    /// runs.
    pub(super) fn profile_arms(&self) -> Vec<profile::Arm<'a>> {
        let arm = |(label, points): (String, Vec<&'a PointRow>)| profile::Arm {
            label,
            runs: points.into_iter().map(|point| &point.summary).collect(),
        };
        self.labelled().into_iter().map(arm).collect()
    }

    /// Values of some axes as a name: a number with its axis, a word alone.
    pub(super) fn label_of(&self, axes: impl Iterator<Item = usize>, values: &[&str]) -> String {
        let part = |(axis, value): (usize, &&str)| match number(value) {
            Some(_) => {
                let path = &self.sweep.manifest.axes[axis].path;
                format!("{} = {}", self.units().words(path).0.to_lowercase(), minus(value))
            }
            None => (*value).to_owned(),
        };
        axes.zip(values).map(part).collect::<Vec<_>>().join(", ")
    }
}
