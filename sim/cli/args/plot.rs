//! Arguments of `plot`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct PlotArgs {
    /// A run or sweep directory
    pub(crate) dir: PathBuf,
    /// Draw all figures, not only those that the card names
    #[arg(long, conflicts_with = "only")]
    pub(crate) all: bool,
    /// Draw only these figures; * matches any text
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Draw only these arms, in this order; NAME=NEW renames one
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) arms: Vec<String>,
    /// Draw these arms in colour, the others in grey
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) highlight: Vec<String>,
    /// Draw only these panels, by their letters, such as a,c
    #[arg(long, value_name = "LETTER", value_delimiter = ',')]
    pub(crate) panels: Vec<char>,
    /// Range of horizontal axes, in base units, such as 0,20
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    pub(crate) xlim: Option<(f64, f64)>,
    /// Range of vertical axes, in base units, such as 0.5,1
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    pub(crate) ylim: Option<(f64, f64)>,
    /// Logarithmic axes [default: where values span decades]
    #[arg(long, value_enum, value_name = "AXES")]
    pub(crate) log: Option<LogArg>,
    /// Width of a printed figure in millimetres [default: 84, 174 for several panels]
    #[arg(long, value_name = "MM", value_parser = print_size)]
    pub(crate) width: Option<f64>,
    /// Height of the plotting area in millimetres [default: at least 33]
    #[arg(long, value_name = "MM", value_parser = print_size)]
    pub(crate) height: Option<f64>,
    /// Font size in points [default: 6.6]
    #[arg(long, value_name = "PT", value_parser = print_size)]
    pub(crate) font_size: Option<f64>,
    /// Omit titles
    #[arg(long)]
    pub(crate) no_title: bool,
    /// Write no caption files
    #[arg(long)]
    pub(crate) no_caption: bool,
    /// Write PDF files as well
    #[arg(long)]
    pub(crate) pdf: bool,
}

/// The logarithmic axes of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    None,
    X,
    Y,
    Xy,
}

/// Both ends of an axis.
fn range(text: &str) -> Result<(f64, f64), String> {
    let ends = text
        .split_once(',')
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    match ends {
        Some((low, high)) if f64::is_finite(low) && f64::is_finite(high) && low < high => Ok((low, high)),
        _ => Err("must be two numbers, the smaller first, such as 0,20".to_owned()),
    }
}

/// A size that can be printed.
fn print_size(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(size) if (1.0..=2000.0).contains(&size) => Ok(size),
        _ => Err("must be a number from 1 to 2000".to_owned()),
    }
}
