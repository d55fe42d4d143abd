//! What a figure shows, in sentences: for its caption in a paper, and inside its files.

use crate::Drawing;
use crate::about::{About, Source};
use crate::draw::letter;
use crate::names::{capital, small_list};
use folkmoot_metrics::figure::{Figure, Panel};
use folkmoot_metrics::shell::quoted;
use folkmoot_metrics::term::small;
use folkmoot_metrics::words::visible;

/// What the files of a figure say of it.
pub(crate) fn about<'a>(figure: &Figure, source: Option<&'a Source>) -> About<'a> {
    About {
        title: visible(&figure.title).into_owned(),
        description: visible(&described(figure, source)).into_owned(),
        source,
    }
}

/// The caption: what is drawn, of which runs, and the commands that make it again.
pub(crate) fn text(figure: &Figure, source: &Source, drawing: &Drawing) -> String {
    let Source {
        card,
        command,
        software,
        hash,
        ..
    } = source;
    let mut made = format!("{software}, card {card}");
    if let Some((name, hash)) = hash {
        made += &format!(", {} (BLAKE3) {hash}", small(name));
    }
    let mut what = described(figure, Some(source));
    // A title that names the quantity alone says nothing more.
    if !what.starts_with(&figure.title) {
        what = format!("{} {what}", sentence(&figure.title));
    }
    let what = visible(&what);
    let drawn = format!("folkmoot plot DIR --only {}{}", figure.name, options(drawing));
    let result = match command.is_empty() {
        true => String::new(),
        false => format!("Result in DIR: {command}\n"),
    };
    format!("{what}\n\n{made}.\n{result}Figure: {drawn}\n")
}

/// The options that give a figure its look and its content.
fn options(drawing: &Drawing) -> String {
    let look = &drawing.look;
    let arm = |(name, new): &(String, String)| match name == new {
        true => name.clone(),
        false => format!("{name}={new}"),
    };
    let arms: Vec<String> = drawing.arms.iter().map(arm).collect();
    let letters: Vec<String> = drawing.panels.iter().map(|panel| letter(*panel).to_string()).collect();
    let number = |number: Option<f64>| number.map(|number| number.to_string());
    let range = |range: Option<(f64, f64)>| range.map(|(low, high)| format!("{low},{high}"));
    let list = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
    let valued = [
        ("arms", list(&arms)),
        ("highlight", list(&drawing.highlight)),
        ("panels", list(&letters)),
        ("xlim", range(drawing.x_range)),
        ("ylim", range(drawing.y_range)),
        ("log", drawing.log.map(|log| log.name().to_owned())),
        ("width", number(look.width_mm)),
        ("height", number(look.height_mm)),
        ("font-size", number(look.font_pt)),
    ];
    let mut options = String::new();
    for (name, value) in valued {
        options += &value.map_or(String::new(), |value| format!(" --{name} {}", quoted(&value)));
    }
    if look.no_title {
        options += " --no-title";
    }
    options
}

/// The panels, the notes, and of which runs.
fn described(figure: &Figure, source: Option<&Source>) -> String {
    let mut sentences = vec![panels(figure)];
    sentences.extend(figure.notes.iter().cloned());
    if let Some(source) = source {
        sentences.push(runs(source));
    }
    sentences.retain(|text| !text.is_empty());
    let sentences: Vec<String> = sentences.iter().map(|text| sentence(text)).collect();
    sentences.join(" ")
}

/// What is measured, and against what.
fn panels(figure: &Figure) -> String {
    let mut plain: Vec<String> = Vec::new();
    // What is measured against an axis, and those axes.
    let mut measured: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for panel in &figure.panels {
        match panel {
            Panel::Lines(lines) if lines.x.label.is_empty() || lines.y.label.is_empty() => {}
            Panel::Lines(lines) => {
                let [x, y] = [&lines.x.label, &lines.y.label].map(|label| small(label));
                match measured.iter_mut().find(|(_, xs)| xs[0] == x) {
                    Some((ys, _)) if ys.contains(&y) => {}
                    Some((ys, _)) => ys.push(y),
                    None => measured.push((vec![y], vec![x])),
                }
            }
            Panel::Bars(bars) => plain.push(small(&bars.x.label)),
            Panel::Heat(heat) => plain.push(small(&heat.title)),
            Panel::Timeline(_) => plain.push("work and absence of clients against virtual time".to_owned()),
            Panel::ClientData(split) => plain.push(format!("{} by label and client", small(&split.items))),
        }
    }
    let mut known: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (ys, xs) in measured {
        match known.iter_mut().find(|(known, _)| *known == ys) {
            Some((_, axes)) => axes.extend(xs),
            None => known.push((ys, xs)),
        }
    }
    plain.dedup();
    let against = known
        .iter()
        .map(|(ys, xs)| format!("{} against {}", small_list(ys), small_list(xs)));
    let said: Vec<String> = plain
        .into_iter()
        .filter(|what| !what.is_empty())
        .chain(against)
        .collect();
    capital(&said.join("; "))
}

/// How many runs there are, and of which data.
fn runs(source: &Source) -> String {
    let of = match source.data.is_empty() {
        true => String::new(),
        false => format!(" on {}", source.data),
    };
    match source.seeds[..] {
        [seed] => format!("n = 1 (seed {seed}){of}"),
        _ => format!("n = {} (seeds {}){of}", source.seeds.len(), listed(&source.seeds)),
    }
}

/// Seeds as a range where they follow each other.
fn listed(seeds: &[u64]) -> String {
    match seeds {
        [first, .., last] if seeds.len() > 2 && (*first..=*last).eq(seeds.iter().copied()) => {
            format!("{first} to {last}")
        }
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// A text with a full stop, unless it ends otherwise.
fn sentence(text: &str) -> String {
    match text.ends_with(['.', '?', '!']) {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

#[cfg(test)]
mod tests;
