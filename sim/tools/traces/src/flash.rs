//! When phones were ready to train, by FLASH's trace of real users.
//!
//! C. Yang et al. Characterizing Impacts of Heterogeneity in Federated Learning upon Large-Scale
//! Smartphone Data. WWW 2021. <https://arxiv.org/abs/2006.06983>. The timers are those that
//! FLHetBench (Zhang et al., CVPR 2024) ships.

use crate::shelf::{Read, below};
use crate::{Model, Shelf, TraceError};
use folkmoot_draws::{Purpose, Streams, index};
use folkmoot_engine::world::{Availability, Presence, PresenceCursor};
use folkmoot_graphs::DataError;
use folkmoot_metrics::{ClientId, Round, SimSpan, SimTime};
use folkmoot_parts::component;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const ROW: Purpose = Purpose(*b"flashrow");
const DAY: Purpose = Purpose(*b"flashday");
const DAY_NS: u64 = 86_400_000_000_000;

/// Availability from FLASH: phones are online while locked, charging and on Wi-Fi; 704 phones with
/// traces of 1 to 10 days. A client repeats the trace of one phone, starting on a random day of it.
/// Times of day are kept, so clients go offline and come online together. Read from
/// `fl-traces/flash/cached_timers.json` in a data folder.
#[component(
    name = "Flash",
    about = "phones of the FLASH trace: online while locked, charging and on Wi-Fi"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Sample phones with replacement. Otherwise every client has its own phone, and there are at
    /// most 704 clients.
    #[component(default = true)]
    pub replacement: bool,
    /// Hour of the day at which the run starts.
    #[component(default = 0.0, in = 0..24, unit = "h")]
    pub begins_h: f64,
}

/// An entry of the file.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "isSuccess")]
    is_success: bool,
    trace_start: Option<f64>,
    trace_end: Option<f64>,
    ready_time: Option<Vec<[f64; 2]>>,
}

/// What is known of one phone, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phone {
    /// How much of its first day had passed when its trace began.
    since_midnight: u64,
    /// How long it was watched.
    length: u64,
    /// When it was ready, from the beginning of the trace: in order, apart, none empty, at least
    /// one.
    ready: Vec<(u64, u64)>,
}

/// Reads the phones by ascending id, as texts; what was left out is noted.
fn phones(read: &Read, shelf: &mut Shelf<'_>) -> Result<Vec<Phone>, DataError> {
    let entries: BTreeMap<String, Entry> = read.json()?;
    let (n_entries, mut n_empty, mut phones) = (entries.len(), 0, Vec::new());
    for (id, entry) in entries {
        let Entry {
            is_success: true,
            trace_start: Some(start),
            trace_end: Some(end),
            ready_time: Some(ready),
        } = entry
        else {
            if entry.is_success {
                return Err(read.broken(format!("phone {id:?}: isSuccess is true, and a time is missing")));
            }
            continue;
        };
        let (length_s, most_s) = (end - start, 1e9);
        if !(0.0..=most_s).contains(&start) || !(1e-3..=most_s).contains(&length_s) {
            return Err(read.broken(format!(
                "phone {id:?}: trace_start must lie in 0..={most_s} s and trace_end after it, got {start} and {end}"
            )));
        }
        let ns = |time: f64| SimSpan::from_secs(time - start).0;
        let mut spans = Vec::with_capacity(ready.len());
        let mut last = start;
        for [from, until] in ready {
            if !(last <= from && from <= until && until <= end) {
                return Err(read.broken(format!(
                    "phone {id:?}: ready_time must be ascending and lie within the trace, got [{from}, {until}]"
                )));
            }
            last = until;
            match spans.last_mut() {
                _ if ns(from) >= ns(until) => n_empty += 1,
                Some((_, end)) if *end == ns(from) => *end = ns(until),
                _ => spans.push((ns(from), ns(until))),
            }
        }
        if !spans.is_empty() {
            phones.push(Phone {
                since_midnight: SimSpan::from_secs(start % 86_400.0).0,
                length: ns(end),
                ready: spans,
            });
        }
    }
    if phones.is_empty() {
        return Err(read.broken("no phone was ever ready".to_owned()));
    }
    shelf.note(format!(
        "FLASH's timers: {} of {n_entries} phones were ever ready; {n_empty} intervals of no length are left out",
        phones.len()
    ));
    Ok(phones)
}

impl Model<dyn Availability> for Flash {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Availability>, TraceError> {
        let read = shelf.read(&below("flash/cached_timers.json"))?;
        let phones = phones(&read, shelf)?;
        let rows = shelf.deal(ROW, phones.len(), "phones with a trace", self.replacement)?;
        let begins = SimSpan::from_secs(self.begins_h * 3600.0).0;
        let passed = |(client, row): (u32, &u32)| {
            let phone = &phones[*row as usize];
            let days = (phone.length / DAY_NS).max(1);
            let day = index(&mut shelf.stream(DAY, client), days as usize) as u64;
            let to_hour = (begins + DAY_NS - phone.since_midnight) % DAY_NS;
            (*row, (to_hour + day * DAY_NS) % phone.length)
        };
        let clients = (0..).zip(&rows).map(passed).collect();
        Ok(Box::new(Replayed { phones, clients }))
    }
}

/// Phones whose traces repeat.
struct Replayed {
    phones: Vec<Phone>,
    /// The phone of each client, and how much of its trace has passed at time 0.
    clients: Vec<(u32, u64)>,
}

impl Replayed {
    fn of(&self, client: ClientId) -> (&Phone, u64) {
        let (row, passed) = self.clients[client.0 as usize];
        (&self.phones[row as usize], passed)
    }
}

impl Phone {
    /// Whether it is ready at a time of its trace, and how long that lasts.
    fn at(&self, time: u64) -> (bool, u64) {
        let next = self.ready.partition_point(|(_, until)| *until <= time);
        match self.ready.get(next) {
            Some((from, until)) if *from <= time => (true, until - time),
            Some((from, _)) => (false, from - time),
            // The rest of the trace, and then until it is first ready.
            None => (false, self.length - time + self.ready[0].0),
        }
    }

    /// How long it was ready until a time of its trace.
    fn ready_until(&self, time: u64) -> u64 {
        let spans = self.ready.iter().take_while(|(from, _)| *from < time);
        spans.map(|(from, until)| until.min(&time) - from).sum()
    }
}

impl Availability for Replayed {
    fn presence(&self, client: ClientId, _: Round, at: SimTime, _: &mut PresenceCursor, _: Streams) -> Presence {
        let (phone, passed) = self.of(client);
        let time = (u128::from(at.0) + u128::from(passed)) % u128::from(phone.length);
        match phone.at(time as u64) {
            (true, _) => Presence::Online,
            (false, rest) => Presence::Away(Some(at + SimSpan(rest))),
        }
    }

    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], _: Streams) -> SimSpan {
        let (phone, passed) = self.of(client);
        let (length, all) = (u128::from(phone.length), u128::from(phone.ready_until(phone.length)));
        let until = |time: u128| time / length * all + u128::from(phone.ready_until((time % length) as u64));
        let end = rounds.last().map_or(0, |(_, end)| end.0);
        let passed = u128::from(passed);
        SimSpan((until(u128::from(end) + passed) - until(passed)) as u64)
    }

    fn absences(
        &self,
        client: ClientId,
        rounds: &[(Round, SimTime)],
        streams: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
        let (phone, passed) = self.of(client);
        let end = rounds.last().map_or(SimTime::ZERO, |(_, end)| *end);
        let (mut at, mut cursor) = (SimTime::ZERO, PresenceCursor::default());
        while at < end {
            at = match self.presence(client, Round(0), at, &mut cursor, streams) {
                Presence::Away(until) => {
                    let until = until.unwrap_or(end);
                    if tell(at, until.min(end)).is_break() {
                        return;
                    }
                    until
                }
                Presence::Online => {
                    let time = (u128::from(at.0) + u128::from(passed)) % u128::from(phone.length);
                    at + SimSpan(phone.at(time as u64).1)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::DataDirs;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn read(text: &str) -> Result<(Vec<Phone>, String), DataError> {
        let read = Read {
            path: PathBuf::from("cached_timers.json"),
            bytes: text.as_bytes().to_vec(),
        };
        let dirs = DataDirs::new();
        let mut shelf = Shelf::new(&dirs, 3, Streams::new(1));
        let phones = phones(&read, &mut shelf)?;
        Ok((phones, shelf.notes()[0].clone()))
    }

    const SMALL: &str = r#"{
        "7": {"isSuccess": true, "trace_start": 86410.0, "trace_end": 86430.0,
              "ready_time": [[86412.0, 86415.0], [86416.0, 86416.0], [86420.0, 86424.0], [86424.0, 86425.0]]},
        "8": {"isSuccess": false, "trace_start": null, "trace_end": null, "ready_time": []},
        "9": {"isSuccess": false, "trace_start": null, "trace_end": null, "ready_time": null}
    }"#;
    const S: u64 = 1_000_000_000;

    #[test]
    fn phones_without_a_trace_and_intervals_without_length_are_left_out_and_said() {
        let (phones, note) = read(SMALL).unwrap();
        let expected = Phone {
            since_midnight: 10 * S,
            length: 20 * S,
            ready: vec![(2 * S, 5 * S), (10 * S, 15 * S)],
        };
        assert_eq!(phones, [expected]);
        assert!(note.contains("1 of 3 phones") && note.contains("1 intervals"), "{note}");
    }

    #[test]
    fn a_trace_is_replayed_from_where_its_client_begins() {
        let (phones, _) = read(SMALL).unwrap();
        let model = Replayed {
            phones,
            clients: vec![(0, 0), (0, 4 * S)],
        };
        for client in [ClientId(0), ClientId(1)] {
            let is_ready = |second: u64| matches!((second + 4 * u64::from(client.0)) % 20, 2..5 | 10..15);
            for second in 0..70 {
                let at = SimTime(second * S + 7);
                let presence = model.presence(client, Round(0), at, &mut PresenceCursor::default(), Streams::new(1));
                let back = (second + 1..).find(|second| is_ready(*second)).unwrap();
                match is_ready(second) {
                    true => assert_eq!(presence, Presence::Online),
                    false => assert_eq!(presence, Presence::Away(Some(SimTime(back * S)))),
                }
                let rounds = [(Round(0), SimTime(second * S))];
                let online = (0..second).filter(|second| is_ready(*second)).count() as u64;
                assert_eq!(model.online(client, &rounds, Streams::new(1)), SimSpan(online * S));
                let mut away = 0;
                model.absences(client, &rounds, Streams::new(1), &mut |from, until| {
                    away += until.0 - from.0;
                    ControlFlow::Continue(())
                });
                assert_eq!(away, (second - online) * S);
            }
        }
    }

    #[test]
    fn what_breaks_the_format_is_named() {
        let phone = |start: &str, end: &str, ready: &str| {
            read(&format!(
                r#"{{"4": {{"isSuccess": true, "trace_start": {start}, "trace_end": {end}, "ready_time": {ready}}}}}"#
            ))
        };
        let error = |start, end, ready| phone(start, end, ready).unwrap_err().to_string();
        assert!(phone("0", "9", "[[1, 2]]").is_ok());
        for (start, end, ready, told) in [
            ("null", "9", "[[1, 2]]", "a time is missing"),
            ("9", "9", "[[9, 9]]", "trace_end after it"),
            ("-1", "9", "[[1, 2]]", "trace_start"),
            ("0", "1e300", "[[1, 2]]", "trace_end"),
            ("0", "9", "[[2, 1]]", "ascending"),
            ("0", "9", "[[1, 3], [2, 4]]", "ascending"),
            ("0", "9", "[[1, 10]]", "within the trace"),
            ("0", "9", "[[1, 1]]", "no phone was ever ready"),
            ("0", "9", "[[1]]", "cached_timers.json:1"),
        ] {
            assert!(error(start, end, ready).contains(told), "{}", error(start, end, ready));
        }
        assert!(read("").is_err() && read("[]").is_err() && read("{}").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,200}", at in 0..SMALL.len(), with in any::<char>()) {
            let _ = read(&text);
            let _ = read(&SMALL.chars().enumerate().map(|(i, c)| if i == at { with } else { c }).collect::<String>());
        }
    }
}
