//! Values of a sweep's axes: which are numbers, where they stand, and which curves are one.

use folkmoot_metrics::figure::Panel;

pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite())
}

/// A value of an axis as a number, its text, and what is counted: `3`, or `3 clients`.
pub(super) fn counted(text: &str) -> Option<(f64, &str, Option<&str>)> {
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(char::is_alphabetic);
    match text.split_once(' ') {
        None => Some((number(text)?, text, None)),
        Some((count, word)) => Some((number(count)?, count, Some(word).filter(is_word)?.into())),
    }
}

/// Where a value of a numeric axis stands.
pub(super) fn place(text: &str) -> f64 {
    counted(text).map_or(f64::NAN, |(value, ..)| value)
}

/// A panel with what tells it from its neighbours above it.
pub(super) fn above_it(mut panel: Panel, above: &str) -> Panel {
    match &mut panel {
        _ if above.is_empty() => {}
        Panel::Lines(lines) => lines.y.above = above.to_owned(),
        Panel::Bars(bars) => bars.x.above = above.to_owned(),
        Panel::ClientData(split) => split.above = above.to_owned(),
        Panel::Heat(heat) => heat.title = format!("{}, {above}", heat.title),
        Panel::Timeline(_) => {}
    }
    panel
}

/// Whether two curves are one in a drawing; sums over seeds in another order may differ in the last
/// bits.
pub(super) fn alike(a: &[(f64, f64)], b: &[(f64, f64)]) -> bool {
    let close = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && close(a.1, b.1))
}
