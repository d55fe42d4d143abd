//! A panel of spans of time, a row a client, below the server's rounds.

use super::bars::filled;
use super::legend::{self, Sample};
use super::style::{EDGE, GAP, MARKER, SMALL, TEXT, data_color, x_axis};
use crate::font::{fit, width};
use crate::scale::Scale;
use crate::scene::{Anchor, BLACK, Color, Point, Scene, WHITE};
use folkmoot_metrics::figure::{Span, Timeline};
use folkmoot_metrics::trace::Slice;

/// The height of a row: what the panel has room for, within these.
const LEAST: f64 = SMALL;
const MOST: f64 = 64.0;
/// With more rounds than this, their lines would hide what they divide.
const MOST_LINES: usize = 60;
/// A job that takes no time is drawn so wide.
const INSTANT: f64 = 3.0;

const AWAY: Color = Color(215, 215, 215);
const ROUNDS: [Color; 2] = [Color(150, 150, 150), Color(205, 205, 205)];
const LINE: Color = Color(120, 120, 120);
/// The pattern of a client that has left its round.
const LEFT: usize = 2;

/// Draws the panel at `origin` and returns its height.
pub(super) fn draw(scene: &mut Scene, timeline: &Timeline, origin: Point) -> f64 {
    let scale = Scale::fit(&timeline.x, &[0.0, timeline.end], 5);
    let labels = || {
        timeline
            .tracks
            .iter()
            .map(|track| track.label.as_str())
            .chain(["server"])
    };
    let room = scene.panel * 0.25;
    let widest = labels().map(|label| width(label, SMALL)).fold(0.0, f64::max).min(room);
    let (left, right) = (origin.0 + EDGE + widest + GAP, origin.0 + scene.panel - EDGE - TEXT);
    let n_rows = timeline.tracks.len() as f64 + 1.0;
    let pitch = (scene.area * 1.3 / n_rows).clamp(LEAST, MOST);
    let top = origin.1 + GAP;
    let bottom = top + pitch * n_rows;
    let painter = Painter {
        x: |seconds: f64| left + scale.place_clamped(seconds) * (right - left),
        end: timeline.end,
    };
    for (row, label) in labels_in_order(timeline).enumerate() {
        let at = (left - GAP, top + pitch * (row as f64 + 0.5));
        scene.text(at, Anchor::End, SMALL, BLACK, fit(label, SMALL, widest));
    }
    let y = x_axis(scene, &scale, (left, top), (right, bottom));
    for (i, round) in timeline.rounds.iter().enumerate() {
        painter.bar(scene, round, ROUNDS[i % 2], (top + 4.0, top + pitch - 4.0));
    }
    if timeline.rounds.len() <= MOST_LINES {
        for round in timeline.rounds.iter().filter(|round| round.to < timeline.end) {
            let x = (painter.x)(round.to);
            scene.dashed(&[(x, top + pitch), (x, bottom)], &[6.0, 6.0], LINE, 2.0);
        }
    }
    for (row, track) in timeline.tracks.iter().enumerate() {
        let y0 = top + pitch * (row as f64 + 1.0);
        painter.track(scene, &track.spans, (y0, y0 + pitch));
    }
    scene.line(vec![(left, top + pitch), (right, top + pitch)], BLACK, 2.0);
    scene.frame((left, top), (right, bottom), BLACK, 3.0);
    legend::draw(scene, &entries(timeline), (origin.0, y), scene.panel) - origin.1
}

/// The server's label, then the clients'.
fn labels_in_order(timeline: &Timeline) -> impl Iterator<Item = &str> {
    let clients = timeline.tracks.iter().map(|track| track.label.as_str());
    std::iter::once("server").chain(clients)
}

/// Samples of what there is.
fn entries(timeline: &Timeline) -> Vec<(String, Sample<'_>)> {
    let all = || timeline.tracks.iter().flat_map(|track| &track.spans);
    let has = |slice: Slice| all().any(|span| span.slice == slice);
    let mut entries: Vec<(String, Sample<'_>)> = Vec::new();
    let inner = |(x0, y0): Point, (x1, y1): Point| ((x0, y0 + 10.0), (x1 - 10.0, y1 - 10.0));
    let rounds = move |scene: &mut Scene, from: Point, to: Point| {
        let (from, to) = inner(from, to);
        let middle = f64::midpoint(from.0, to.0);
        scene.rect(from, (middle, to.1), ROUNDS[0]);
        scene.rect((middle, from.1), to, ROUNDS[1]);
    };
    entries.push(("rounds, in turns".to_owned(), Box::new(rounds)));
    if has(Slice::Job) {
        let sample = move |scene: &mut Scene, from: Point, to: Point| {
            let (from, to) = inner(from, to);
            scene.rect(from, to, data_color(0));
        };
        entries.push(("works".to_owned(), Box::new(sample)));
    }
    if has(Slice::Away) {
        let sample = move |scene: &mut Scene, from: Point, to: Point| {
            let (from, to) = inner(from, to);
            scene.rect(from, to, AWAY);
        };
        entries.push(("is away".to_owned(), Box::new(sample)));
    }
    if has(Slice::Left) {
        let sample = move |scene: &mut Scene, from: Point, to: Point| {
            let (from, to) = inner(from, to);
            filled(scene, from, to, (LEFT, data_color(LEFT)));
        };
        entries.push(("has left the round".to_owned(), Box::new(sample)));
    }
    if has(Slice::Lost) {
        let sample = move |scene: &mut Scene, (x0, y0): Point, (x1, y1): Point| {
            lost(scene, (f64::midpoint(x0, x1), f64::midpoint(y0, y1)));
        };
        entries.push(("its result is lost".to_owned(), Box::new(sample)));
    }
    entries
}

fn lost(scene: &mut Scene, at: Point) {
    scene.marker(at, 5, BLACK, MARKER);
}

/// From seconds to pixels.
struct Painter<X: Fn(f64) -> f64> {
    x: X,
    end: f64,
}

impl<X: Fn(f64) -> f64> Painter<X> {
    fn track(&self, scene: &mut Scene, spans: &[Span], (y0, y1): (f64, f64)) {
        let of = |slice: Slice| spans.iter().filter(move |span| span.slice == slice);
        for span in of(Slice::Away) {
            self.bar(scene, span, AWAY, (y0 + 2.0, y1 - 2.0));
        }
        for span in of(Slice::Left) {
            let (from, to) = self.places(span);
            filled(
                scene,
                (from, y0 + 3.0),
                (to.max(from + INSTANT), y1 - 3.0),
                (LEFT, data_color(LEFT)),
            );
        }
        let inner = (y0 + 8.0, y1 - 8.0);
        // Jobs that cannot be told apart are one bar; between two that can there is a line.
        let mut jobs: Vec<(f64, f64)> = Vec::new();
        for (from, to) in of(Slice::Job)
            .filter(|span| span.from <= self.end)
            .map(|span| self.places(span))
        {
            match jobs.last_mut() {
                Some(last) if from - last.1 < 1.0 && (last.1 - last.0).min(to - from) < 2.0 * INSTANT => {
                    last.1 = last.1.max(to);
                }
                _ => jobs.push((from, to)),
            }
        }
        for (from, to) in jobs {
            let to = to.max(from + INSTANT);
            scene.rect((from, inner.0), (to, inner.1), data_color(0));
            if to - from > 2.0 * INSTANT {
                scene.line(vec![(to, inner.0), (to, inner.1)], WHITE, 2.0);
            }
        }
        for span in of(Slice::Lost).filter(|span| span.from <= self.end) {
            lost(scene, (self.places(span).0, f64::midpoint(y0, y1)));
        }
    }

    fn places(&self, span: &Span) -> (f64, f64) {
        ((self.x)(span.from), (self.x)(span.to.min(self.end)))
    }

    fn bar(&self, scene: &mut Scene, span: &Span, color: Color, (y0, y1): (f64, f64)) {
        let (from, to) = self.places(span);
        if to > from {
            scene.rect((from, y0), (to, y1), color);
        }
    }
}
