//! The text of a scenario card: where its values are written, what is wrong with it, and how
//! `--set` changes it.
//!
//! It owns everything that needs the letters of a card and nothing that needs its meaning: the
//! typed format is a type parameter. A [`Source`] is a card, a part of one, or a card with settings
//! applied; [`parse`] and [`recover`] turn it into a value with `ron` and report every problem of
//! shape at once; [`Problems::push_at`] gives later checks the same positions; [`apply`] splices a
//! setting in; [`variant_of`] opens a value whose type is looked up by name; [`check_axes`] tells
//! what is wrong with a sweep.
//!
//! It promises that no text makes it panic or recurse, that time and messages stay bounded, and
//! that every position it prints lies in the file the user wrote. The only input is
//! [`Source::read`], and nothing is printed.
//!
//! ```
//! use folkmoot_scenarios::text::{Source, apply, recover};
//!
//! #[derive(Debug, PartialEq, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Card {
//!     seed: u64,
//! }
//!
//! let source = Source::new("small.ron", "(seed: 1)").unwrap();
//! let source = apply(&source, "seed", "7").unwrap();
//! let (card, mut problems) = recover::<Card>(&source);
//! assert_eq!(card, Some(Card { seed: 7 }));
//! problems.push_at("seed", "must be even, got 7");
//! assert_eq!(problems.to_string(), "error: small.ron has 1 problem\n  --set seed: must be even, got 7");
//! ```

mod axes;
mod differences;
mod explain;
mod forms;
mod names;
mod parse;
mod problems;
mod report;
mod scan;
mod set;
mod source;
mod suggest;
mod synonyms;
#[cfg(test)]
mod tests;
mod tree;

use folkmoot_metrics::words::visible;

pub use axes::{AxisError, Entry, MAX_AXES, MAX_POINTS, axes_of, check_axes, check_points, maps_of};
pub(crate) use axes::{check_setting, is_part};
pub use differences::{Difference, differences};
pub use forms::formed;
pub(crate) use names::Names;
pub use parse::{MAX_PROBLEMS, parse, recover};
pub use problems::{MAX_ITEMS, Place, Problem, Problems};
pub use report::MAX_EXCERPTS;
pub use scan::MAX_DEPTH;
pub use set::{apply, apply_arm, apply_axis, apply_default, apply_labelled, apply_setting, replace_if_present};
pub(crate) use source::as_struct;
pub use source::{MAX_CARD_BYTES, Position, Source, Variant, variant_of};
pub use suggest::suggest;
pub use synonyms::meant;
pub use tree::Span;
pub(crate) use tree::{quoted_part, split_path};

/// A quoted piece of a user's text is cut to this many characters.
const MAX_QUOTE: usize = 48;
/// One message is cut to this many characters.
const MAX_MESSAGE: usize = 400;

/// `text` in backticks, on one line, without hidden characters and cut to a bounded length.
fn quote(text: &str) -> String {
    format!("`{}`", clip(text, MAX_QUOTE))
}

/// `text` on one line, without hidden characters and with at most `max` characters.
fn clip(text: &str, max: usize) -> String {
    let blank = |c: char| if c.is_ascii_whitespace() { ' ' } else { c };
    let clipped: String = text.chars().take(max).map(blank).collect();
    let mut clipped = visible(&clipped).into_owned();
    if text.chars().nth(max).is_some() {
        clipped.push('…');
    }
    clipped
}
