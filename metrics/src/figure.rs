//! The content of a figure, before `folkmoot-plots` lays it out.

use crate::Unit;
use crate::trace::Slice;

/// One file: panels side by side under a title.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// The file's name without its ending.
    pub name: String,
    pub title: String,
    pub notes: Vec<String>,
    pub panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
pub enum Panel {
    Lines(Lines),
    Bars(Bars),
    Heat(Heat),
    Timeline(Timeline),
    ClientData(ClientDataPanel),
}

impl Panel {
    pub fn lines(&self) -> Option<&Lines> {
        match self {
            Panel::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    pub fn bars(&self) -> Option<&Bars> {
        match self {
            Panel::Bars(bars) => Some(bars),
            _ => None,
        }
    }
}

/// Spans of time, a row for each of some clients, below the server's rounds.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub x: Axis,
    /// When the run ended, in seconds.
    pub end: f64,
    pub rounds: Vec<Span>,
    pub tracks: Vec<Track>,
}

#[derive(Clone, Debug)]
pub struct Track {
    pub label: String,
    /// Those of a kind by ascending time.
    pub spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub slice: Slice,
    pub from: f64,
    pub to: f64,
}

/// A matrix as cells whose shade is their value.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    pub title: String,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Row-major.
    pub values: Vec<f64>,
    /// What is written into cells with room for it instead of the value, row-major; empty where
    /// there is nothing else.
    pub texts: Vec<String>,
}

/// The data of clients, a column each: labels as cells, size and edges as bars.
#[derive(Clone, Debug)]
pub struct ClientDataPanel {
    /// Whose data it is; empty where a figure has no other.
    pub above: String,
    /// What the items are.
    pub items: String,
    pub labels: Vec<String>,
    pub columns: Vec<Column>,
    /// Clients per column; the last column may have fewer.
    pub clients: u32,
}

/// One client, or several that follow each other, whose numbers are those of a mean client.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// The first of its clients, and how many they are.
    pub client: u32,
    pub clients: u32,
    pub items: Vec<f64>,
    pub size: f64,
    pub inner: f64,
    pub cut: f64,
}

/// What an axis measures, and how it prefers to be drawn.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
    /// Only whole numbers make sense.
    pub whole: bool,
    /// A linear axis starts at zero.
    pub from_zero: bool,
    /// How far it goes at least: panels that go equally far can be compared.
    pub reach: Vec<f64>,
    /// Its ends, where somebody has chosen them.
    pub range: Option<(f64, f64)>,
    /// Which values are better: an arrow, or nothing.
    pub better: &'static str,
    /// What the quantity can be at least and at most, where it has such bounds: panels of such
    /// quantities have the same range.
    pub bounds: Option<(f64, f64)>,
    /// Logarithmic where the positive values span more than this many decades; never, if `None`.
    pub log_beyond: Option<f64>,
    /// Where the ticks belong, if there are natural places.
    pub ticks: Vec<(f64, String)>,
    /// Of the axis of what is measured: what stands above the panel, if it is told from its
    /// neighbours by more than what it measures.
    pub above: String,
    /// A value that curves are to reach, with its name.
    pub goal: Option<(f64, String)>,
}

impl Axis {
    pub fn new(label: impl Into<String>, unit: Unit) -> Self {
        Axis {
            label: label.into(),
            unit,
            log_beyond: Some(3.0),
            ..Axis::default()
        }
    }

    /// A count or an amount: no less than zero, and zero is where it starts.
    pub fn amount(label: impl Into<String>, unit: Unit) -> Self {
        Axis {
            from_zero: true,
            ..Axis::new(label, unit)
        }
    }

    /// Rounds: whole numbers on a linear axis.
    pub fn rounds() -> Self {
        Axis {
            label: "Round".to_owned(),
            whole: true,
            ..Axis::default()
        }
    }
}

#[derive(Clone, Debug)]
pub struct Lines {
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// What a curve stands for, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
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
pub struct Series {
    pub label: String,
    pub role: Role,
    /// Points by ascending x; one that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
    /// (x, low, high) where an interval is known.
    pub band: Vec<(f64, f64, f64)>,
    /// (y, low, high) where the interval of an x is known.
    pub across: Vec<(f64, f64, f64)>,
    /// Grey, since others are to be seen before it.
    pub is_faint: bool,
    pub path: Path,
    /// What is written beside points, in their order; empty where nothing is.
    pub marks: Vec<String>,
    /// The seeds of points, in their order, or of all; empty where they are not of one.
    pub seeds: Vec<u64>,
}

/// How the points of a series are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
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
    pub fn new(label: impl Into<String>, role: Role, points: Vec<(f64, f64)>) -> Self {
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
    pub fn of_seeds(index: usize, dots: impl Iterator<Item = (u64, (f64, f64))>) -> Option<Self> {
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
pub struct Bars {
    pub x: Axis,
    pub groups: Vec<String>,
    pub rows: Vec<Row>,
    /// The groups add up to one bar.
    pub stacked: bool,
    /// The names of [`Bar::references`].
    pub references: Vec<String>,
    /// Which groups are grey, since others are to be seen before them; none where it is empty.
    pub faint_groups: Vec<bool>,
    /// Points on an axis fitted to them instead of bars from zero: scores, no amounts.
    pub points: bool,
    /// From the first reference of a bar an arrow leads to its value; one that is infinite points
    /// out of the frame.
    pub arrows: bool,
    /// Remarks are differences from other rows.
    pub is_compared: bool,
    /// Of what seeds the dots of every bar are, in their order, where they are of the same.
    pub seeds: Vec<u64>,
    /// The value that others are compared with, and its name.
    pub baseline: Option<(f64, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    pub label: String,
    pub bars: Vec<Bar>,
    /// Written behind the row; takes the place of the values.
    pub remark: Option<String>,
    /// What the others are compared with.
    pub is_baseline: bool,
    /// Grey, since others are to be seen before it.
    pub is_faint: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// The value; none draws nothing.
    pub value: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// What the runs say that the value is the mean of, in the order of their seeds.
    pub dots: Vec<f64>,
    /// What theory predicts, one per reference.
    pub references: Vec<Option<f64>>,
}

/// Tables of numbers over seeds, drawn as panels of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFigure {
    /// Its name below `figures/`.
    pub name: String,
    pub title: String,
    /// What lies along x, of all panels.
    pub x: String,
    /// A panel a table.
    pub panels: Vec<TablePanel>,
}

/// What each seed says at each x, ascending.
pub type TableCurve = Vec<(f64, Vec<f64>)>;

#[derive(Clone, Debug, PartialEq)]
pub struct TablePanel {
    pub y: String,
    /// A curve a row, with its name.
    pub rows: Vec<(String, TableCurve)>,
    /// What is the same for all rows, with its name: a dashed line.
    pub beside: Option<(String, TableCurve)>,
}
