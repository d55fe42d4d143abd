//! What a figure shows, before it is laid out.

use crate::names::Unit;
use folkmoot_metrics::trace::Slice;

/// One file: panels side by side under a title.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// The file's name without its ending.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) notes: Vec<String>,
    pub(crate) panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
pub(crate) enum Panel {
    Lines(Lines),
    Bars(Bars),
    Heat(Heat),
    Timeline(Timeline),
    Split(Split),
}

impl Panel {
    pub(crate) fn lines(&self) -> Option<&Lines> {
        match self {
            Panel::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    pub(crate) fn bars(&self) -> Option<&Bars> {
        match self {
            Panel::Bars(bars) => Some(bars),
            _ => None,
        }
    }
}

/// Spans of time, a row for each of some clients, below the server's rounds.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) x: Axis,
    /// When the run ended, in seconds.
    pub(crate) end: f64,
    pub(crate) rounds: Vec<Span>,
    pub(crate) tracks: Vec<Track>,
}

#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) label: String,
    /// Those of a kind by ascending time.
    pub(crate) spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) slice: Slice,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// A matrix as cells whose shade is their value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heat {
    pub(crate) title: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    /// Row-major.
    pub(crate) values: Vec<f64>,
    /// What is written into cells with room for it instead of the value, row-major; empty where
    /// there is nothing else.
    pub(crate) texts: Vec<String>,
}

/// Clients side by side: a column of each has its labels as cells, and its size and edges as bars
/// below.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// Whose data it is; empty where a figure has no other.
    pub(crate) above: String,
    /// What the items are.
    pub(crate) items: String,
    pub(crate) labels: Vec<String>,
    pub(crate) columns: Vec<Column>,
    /// Clients per column; the last column may have fewer.
    pub(crate) clients: u32,
}

/// One client, or several that follow each other, whose numbers are those of a mean client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    /// The first of its clients, and how many they are.
    pub(crate) client: u32,
    pub(crate) clients: u32,
    pub(crate) items: Vec<f64>,
    pub(crate) size: f64,
    pub(crate) inner: f64,
    pub(crate) cut: f64,
}

/// What an axis measures, and how it prefers to be drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) unit: Unit,
    /// Only whole numbers make sense.
    pub(crate) whole: bool,
    /// A linear axis starts at zero.
    pub(crate) from_zero: bool,
    /// How far it goes at least: panels that go equally far can be compared.
    pub(crate) reach: Vec<f64>,
    /// Its ends, where somebody has chosen them.
    pub(crate) range: Option<(f64, f64)>,
    /// Which values are better: an arrow, or nothing.
    pub(crate) better: &'static str,
    /// What the quantity can be at least and at most, where it has such bounds: panels of such
    /// quantities have the same range.
    pub(crate) bounds: Option<(f64, f64)>,
    /// Logarithmic where the positive values span more than this many decades; never, if `None`.
    pub(crate) log_beyond: Option<f64>,
    /// Where the ticks belong, if there are natural places.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Of the axis of what is measured: what stands above the panel, if it is told from its
    /// neighbours by more than what it measures.
    pub(crate) above: String,
    /// A value that curves are to reach, with its name.
    pub(crate) goal: Option<(f64, String)>,
}

impl Axis {
    pub(crate) fn new(label: impl Into<String>, unit: Unit) -> Self {
        Axis {
            label: label.into(),
            unit,
            log_beyond: Some(3.0),
            ..Axis::default()
        }
    }

    /// A count or an amount: no less than zero, and zero is where it starts.
    pub(crate) fn amount(label: impl Into<String>, unit: Unit) -> Self {
        Axis {
            from_zero: true,
            ..Axis::new(label, unit)
        }
    }

    /// Rounds: whole numbers on a linear axis.
    pub(crate) fn rounds() -> Self {
        Axis {
            label: "Round".to_owned(),
            whole: true,
            ..Axis::default()
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// What a curve stands for, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The n-th of the measured curves: solid or dotted, with markers.
    Data(usize),
    /// What theory predicts for the n-th measured curve: dashed, in its colour.
    TheoryOf(usize),
    /// The n-th prediction for the panel as a whole: dashed, black.
    Theory(usize),
    /// The n-th control, which any result is compared with: dashed, grey.
    Control(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) role: Role,
    /// Points by ascending x; one that is not finite is a gap.
    pub(crate) points: Vec<(f64, f64)>,
    /// (x, low, high) where an interval is known.
    pub(crate) band: Vec<(f64, f64, f64)>,
    /// (y, low, high) where the interval of an x is known.
    pub(crate) across: Vec<(f64, f64, f64)>,
    /// Grey, since others are to be seen before it.
    pub(crate) is_faint: bool,
    pub(crate) path: Path,
    /// What is written beside points, in their order; empty where nothing is.
    pub(crate) marks: Vec<String>,
    /// The seeds of points, in their order, or of all; empty where they are not of one.
    pub(crate) seeds: Vec<u64>,
}

/// How the points of a series are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Path {
    /// Joined, with markers at some of them.
    #[default]
    Joined,
    /// As stairs, without markers: a distribution.
    Stairs,
    /// Each as a marker, in any order: places on a map.
    Scattered,
    /// Joined by a thin line: one of the runs that a curve is the mean of.
    Thin,
    /// Each as a small dot: what the runs say that a point is the mean of.
    Dots,
}

impl Series {
    pub(crate) fn new(label: impl Into<String>, role: Role, points: Vec<(f64, f64)>) -> Self {
        Series {
            label: label.into(),
            role,
            points,
            band: Vec::new(),
            across: Vec::new(),
            is_faint: false,
            path: Path::Joined,
            marks: Vec::new(),
            seeds: Vec::new(),
        }
    }

    /// What seeds say, beside the mean that is the curve of this index.
    pub(crate) fn of_seeds(index: usize, dots: impl Iterator<Item = (u64, (f64, f64))>) -> Option<Self> {
        let (seeds, dots): (Vec<u64>, Vec<(f64, f64)>) = dots.unzip();
        (!dots.is_empty()).then(|| Series {
            path: Path::Dots,
            seeds,
            ..Series::new("", Role::Data(index), dots)
        })
    }
}

/// Horizontal bars: rows of one bar per group, beside each other or stacked to a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bars {
    pub(crate) x: Axis,
    pub(crate) groups: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// The groups add up to one bar.
    pub(crate) stacked: bool,
    /// The names of [`Bar::references`].
    pub(crate) references: Vec<String>,
    /// Which groups are grey, since others are to be seen before them; none where it is empty.
    pub(crate) faint_groups: Vec<bool>,
    /// Points on an axis fitted to them instead of bars from zero: scores, no amounts.
    pub(crate) points: bool,
    /// From the first reference of a bar an arrow leads to its value; one that is infinite points
    /// out of the frame.
    pub(crate) arrows: bool,
    /// Remarks are differences from other rows.
    pub(crate) is_compared: bool,
    /// Of what seeds the dots of every bar are, in their order, where they are of the same.
    pub(crate) seeds: Vec<u64>,
    /// The value that others are compared with, and its name.
    pub(crate) baseline: Option<(f64, String)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
    /// Written behind the row; takes the place of the values.
    pub(crate) remark: Option<String>,
    /// What the others are compared with.
    pub(crate) is_baseline: bool,
    /// Grey, since others are to be seen before it.
    pub(crate) is_faint: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Bar {
    /// The value; none draws nothing.
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<(f64, f64)>,
    /// What the runs say that the value is the mean of, in the order of their seeds.
    pub(crate) dots: Vec<f64>,
    /// What theory predicts, one per reference.
    pub(crate) references: Vec<Option<f64>>,
}
