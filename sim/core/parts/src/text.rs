//! Values as cards write them.

use crate::Component;
use erased_serde::Serialize;
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;

/// A value as a card would write it, on one line.
pub fn text_of(value: &dyn Serialize) -> String {
    let pretty = PrettyConfig::new()
        .compact_structs(true)
        .compact_arrays(true)
        .compact_maps(true);
    let mut joined = String::new();
    // A part inside settings brings the lines that it was written in.
    for line in written(value, pretty).lines().map(str::trim) {
        if line.starts_with(CLOSING) {
            joined.truncate(joined.trim_end_matches(',').len());
        } else if !joined.is_empty() && !joined.ends_with(OPENING) {
            joined.push(' ');
        }
        joined += line;
    }
    joined
}

/// Settings as a card writes them, one on each line.
pub fn lines_of(value: &dyn Serialize) -> String {
    let (mut lines, mut depth) = (Vec::new(), 0_usize);
    // A part inside settings was written alone, so its lines stand too far to the left.
    for line in written(value, PrettyConfig::new()).lines().map(str::trim) {
        depth = depth.saturating_sub(usize::from(line.starts_with(CLOSING)));
        lines.push(format!("{}{line}", "    ".repeat(depth)));
        depth += usize::from(line.ends_with(OPENING));
    }
    lines.join("\n")
}

/// A part as a card writes it, its name first, one setting on each line.
pub fn named_lines_of<P: Component>(part: &P) -> String {
    match lines_of(part).as_str() {
        "()" => P::NAME.to_owned(),
        body => format!("{}{body}", P::NAME),
    }
}

const OPENING: [char; 3] = ['(', '[', '{'];
const CLOSING: [char; 3] = [')', ']', '}'];

/// The writer is compiled here, once, and not in every crate for each of its types.
fn written(value: &dyn Serialize, pretty: PrettyConfig) -> String {
    // The card that it becomes part of is read with the same extensions.
    let options =
        ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES);
    let text = options.to_string_pretty(value, pretty);
    text.expect("what a card can say is plain data")
}
