//! Who worked when: the jobs and absences of clients beside the server's rounds, from the trace of
//! a run.

use crate::names::{Unit, capital};
use folkmoot_metrics::figure::{Axis, Figure, Panel, Span, Timeline, Track};
use folkmoot_metrics::trace::{Slice, TraceReader};
use folkmoot_metrics::{Party, ReadError, RunDir, has_durations};
use std::collections::BTreeMap;

/// What the figure is called.
pub(crate) const NAME: &str = "timeline";

/// So many clients are shown; more would be too thin to be told apart.
const MOST: usize = 24;

/// The timeline of a traced run in which anything took time.
pub(crate) fn of_run(run: &RunDir) -> Result<Option<Figure>, ReadError> {
    let Some(mut trace) = TraceReader::open(&run.path)? else {
        return Ok(None);
    };
    let (mut clients, mut rounds): (BTreeMap<u32, Vec<Span>>, Vec<Span>) = (BTreeMap::new(), Vec::new());
    let mut end = 0.0_f64;
    while let Some((_, event)) = trace.next_event()? {
        let Some((slice, from, to)) = event.slice() else {
            continue;
        };
        let span = Span { slice, from, to };
        match (slice, event.party()) {
            (Slice::Round, _) => {
                end = end.max(to);
                rounds.push(span);
            }
            (_, Party::Client(id)) => clients.entry(id.0).or_default().push(span),
            (_, Party::Server) => {}
        }
    }
    if !has_durations(end) || clients.is_empty() {
        return Ok(None);
    }
    let n = clients.len();
    let shown = n.min(MOST);
    // Evenly, and not the busiest: these would make all look busy.
    let chosen = |i: usize| (i + 1) * shown / n > i * shown / n;
    let mut notes = Vec::new();
    if shown < n {
        notes.push(format!(
            "{shown} of the {n} clients that worked or were away, evenly chosen."
        ));
    }
    let followed = trace.about().clients;
    if followed.n_followed < followed.n_clients {
        notes.push(format!(
            "The trace follows {} of {} clients.",
            followed.n_followed, followed.n_clients
        ));
    }
    if trace.n_left_out().is_some_and(|n| n > 0) {
        notes.push("The trace ends before the run does.".to_owned());
    }
    let tracks = clients.into_iter().enumerate().filter(|(i, _)| chosen(*i));
    let tracks = tracks.map(|(_, (id, spans))| Track {
        label: format!("client {id}"),
        spans,
    });
    let timeline = Timeline {
        x: Axis {
            log_beyond: None,
            ..Axis::amount("Virtual time", Unit::Seconds)
        },
        end,
        rounds,
        tracks: tracks.collect(),
    };
    Ok(Some(Figure {
        name: NAME.to_owned(),
        title: capital("who worked when"),
        notes,
        panels: vec![Panel::Timeline(timeline)],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::trace::{Event, Followed, What};
    use folkmoot_metrics::{ClientId, Round, RunResult, RunWriter, SimSpan, SimTime};

    /// The timeline of a run of 60 clients, of whom half are followed; each works once, for so
    /// long.
    fn of_clients(dir: &std::path::Path, span: SimSpan) -> Option<Figure> {
        let _ = std::fs::remove_dir_all(dir);
        let mut run = RunWriter::create(dir, "s", Default::default()).unwrap();
        let followed = Followed::new(60, 30);
        run.begin_trace(followed).unwrap();
        let job = |ClientId(id)| Event {
            at: SimTime(0),
            what: What::Job {
                party: Party::Client(ClientId(id)),
                round: Round(0),
                begins: SimTime(u64::from(id)),
                span,
            },
        };
        let mut events: Vec<Event> = followed.clients().map(job).collect();
        let what = What::Round {
            round: Round(0),
            since: SimTime(0),
            counts: [30, 30, 0],
        };
        let at = SimTime(0) + span;
        events.push(Event { at, what });
        run.add_events(&events, &[]).unwrap();
        run.finish(&RunResult::default()).unwrap();
        let figure = of_run(&RunDir::open(dir).unwrap()).unwrap();
        std::fs::remove_dir_all(dir).unwrap();
        figure
    }

    #[test]
    fn some_of_many_clients_are_drawn_and_none_where_nothing_takes_time() {
        let dir = std::env::temp_dir().join(format!("folkmoot-timeline-{}", std::process::id()));
        let figure = of_clients(&dir, SimSpan(5_000_000_000)).unwrap();
        assert_eq!(
            figure.notes,
            [
                "24 of the 30 clients that worked or were away, evenly chosen.",
                "The trace follows 30 of 60 clients."
            ]
        );
        let [Panel::Timeline(timeline)] = &figure.panels[..] else {
            panic!()
        };
        assert_eq!(
            (timeline.tracks.len(), timeline.rounds.len(), timeline.end),
            (MOST, 1, 5.0)
        );
        let spans = timeline.tracks.iter().flat_map(|track| &track.spans);
        assert!(
            spans
                .clone()
                .all(|span| span.slice == Slice::Job && (span.to - span.from - 5.0).abs() < 1e-9)
        );
        assert_eq!(spans.count(), MOST);
        assert!(of_clients(&dir, SimSpan(3)).is_none());
    }
}
