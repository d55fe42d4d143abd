//! What mobile links carried, second by second, while people moved about.
//!
//! H. Riiser et al. Commute path bandwidth traces from 3G networks: analysis and applications.
//! MMSys 2013 (86 logs in trams, buses, trains, ferries and cars around Oslo). J. van der Hooft et
//! al. HTTP/2-Based Adaptive Streaming of HEVC Video over 4G/LTE Networks. IEEE Communications
//! Letters 20(11), 2016 (40 logs in and around Ghent). Both in the form that Sabre (Spiteri et al.,
//! MMSys 2018) has them in.

use crate::shelf::{Read, below};
use crate::{Model, Shelf, TraceError};
use folkmoot_draws::{Purpose, StreamName, Streams, index};
use folkmoot_engine::world::{AccessRates, Link, Log, Network, Rate, Replay, Verdict};
use folkmoot_graphs::DataError;
use folkmoot_metrics::{Bytes, Party, SimSpan};
use folkmoot_parts::component;
use serde::Deserialize;
use std::sync::Arc;

const ROW: Purpose = Purpose(*b"log-row ");
const OFFSET: Purpose = Purpose(*b"log-from");

/// Bandwidth logs of moving mobile users: a client's access link repeats one log from a random
/// offset. At rate 0 transfers pause and resume later. Messages have the log's latency, peer
/// messages that of both clients, and none is lost. Read from `fl-traces/bandwidth-3g/` or
/// `bandwidth-4g/` in a data folder.
#[component(
    name = "BandwidthLogs",
    about = "access link rates replayed from 3G or 4G bandwidth logs"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct BandwidthLogs {
    /// Set of logs.
    pub of: LogSet,
    /// Ratio of uplink to downlink rate; the logs contain downlink rates.
    #[component(default = 1.0, in = 0.001..=1000)]
    pub up_share: f64,
    /// Sample logs with replacement. Otherwise every client has its own log.
    #[component(default = true)]
    pub replacement: bool,
}

/// Set of bandwidth logs.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSet {
    /// 86 logs of 3G: 0 to 9 Mbit/s, median 1; latency 100 ms.
    ThreeG,
    /// 40 logs of 4G: 0 to 111 Mbit/s, median 29; latency 20 ms.
    #[default]
    FourG,
}

#[derive(Deserialize)]
struct Sample {
    duration_ms: u64,
    bandwidth_kbps: u64,
    latency_ms: u64,
}

/// A log as links are made of it.
#[derive(Debug, PartialEq, Eq)]
struct Logged {
    down: Arc<Log>,
    up: Arc<Log>,
    latency: SimSpan,
    n_samples: usize,
    /// Of those, how many say that nothing passed.
    n_idle: usize,
}

fn logged(read: &Read, up_share: f64) -> Result<Logged, DataError> {
    let samples: Vec<Sample> = read.json()?;
    let latency_ms = samples.first().map_or(0, |sample| sample.latency_ms);
    for (i, sample) in samples.iter().enumerate() {
        let rule = if sample.latency_ms != latency_ms {
            format!(
                "latency_ms must be the same in a whole log, got {} after {latency_ms}",
                sample.latency_ms
            )
        } else if sample.duration_ms > 1_000_000_000_000 || latency_ms > 1_000_000_000 {
            "duration_ms must be at most 10^12 and latency_ms at most 10^9".to_owned()
        } else {
            continue;
        };
        return Err(read.broken(format!("sample {}: {rule}", i + 1)));
    }
    let log = |share: f64| {
        let piece = |sample: &Sample| {
            // 1 kbit/s is 125 bytes/s. What is not 0 stays above it.
            let rate = sample.bandwidth_kbps.saturating_mul(125);
            let rate = if share == 1.0 {
                rate
            } else {
                ((rate as f64 * share) as u64).max(rate.min(1))
            };
            (SimSpan(sample.duration_ms * 1_000_000), rate)
        };
        let log = Log::new(samples.iter().map(piece));
        log.map(Arc::new).map_err(|error| read.broken(error.to_string()))
    };
    Ok(Logged {
        down: log(1.0)?,
        up: log(up_share)?,
        latency: SimSpan(latency_ms * 1_000_000).max(SimSpan(1)),
        n_samples: samples.len(),
        n_idle: samples.iter().filter(|sample| sample.bandwidth_kbps == 0).count(),
    })
}

impl Model<dyn Network> for BandwidthLogs {
    fn make(&self, shelf: &mut Shelf<'_>) -> Result<Box<dyn Network>, TraceError> {
        let (folder, what) = match self.of {
            LogSet::ThreeG => ("bandwidth-3g", "3G"),
            LogSet::FourG => ("bandwidth-4g", "4G"),
        };
        let files = shelf.read_folder(&below(folder), "json")?;
        let logs: Vec<Logged> = files
            .iter()
            .map(|read| logged(read, self.up_share))
            .collect::<Result<_, _>>()?;
        let all = |n: fn(&Logged) -> usize| logs.iter().map(n).sum::<usize>();
        shelf.note(format!(
            "Bandwidth of {what}: {} logs; nothing passes in {} of {} samples, and transfers wait meanwhile",
            logs.len(),
            all(|logged| logged.n_idle),
            all(|logged| logged.n_samples),
        ));
        let rows = shelf.deal(ROW, logs.len(), "logs", self.replacement)?;
        let begins = |(client, row): (u32, &u32)| {
            let length = logs[*row as usize].down.length();
            let passed = index(&mut shelf.stream(OFFSET, client), length.0 as usize);
            (*row, SimSpan(passed as u64))
        };
        let clients = (0..).zip(&rows).map(begins).collect();
        Ok(Box::new(Replayed { logs, clients }))
    }
}

/// Links that replay logs.
struct Replayed {
    logs: Vec<Logged>,
    /// The log of each client, and how much of it has passed at time 0.
    clients: Vec<(u32, SimSpan)>,
}

impl Replayed {
    fn latency(&self, party: Party) -> SimSpan {
        match party {
            Party::Server => SimSpan::ZERO,
            Party::Client(id) => self.logs[self.clients[id.0 as usize].0 as usize].latency,
        }
    }
}

impl Network for Replayed {
    fn verdict(&self, link: Link, _: Bytes, _: StreamName) -> Verdict {
        let (mut after, to) = (self.latency(link.from), self.latency(link.to));
        after += to;
        Verdict {
            attempts: 1,
            arrives: true,
            after,
        }
    }

    fn access(&self, party: Party, _: Streams) -> AccessRates {
        let Party::Client(client) = party else {
            return AccessRates::default();
        };
        let (row, passed) = self.clients[client.0 as usize];
        let replay = |log: &Arc<Log>| {
            let log = Arc::clone(log);
            Rate::Replay(Arc::new(Replay { log, passed }))
        };
        let logged = &self.logs[row as usize];
        AccessRates {
            up: replay(&logged.up),
            down: replay(&logged.down),
        }
    }

    fn lookahead(&self) -> SimSpan {
        let least = self.logs.iter().map(|logged| logged.latency).min();
        least.unwrap_or(SimSpan(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::DataDirs;
    use folkmoot_metrics::{ClientId, SimTime};
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn read(text: &str) -> Read {
        Read {
            path: PathBuf::from("log.json"),
            bytes: text.as_bytes().to_vec(),
        }
    }

    /// One second at 8 kbit/s, that is 1,000 bytes/s, two seconds of nothing, one at 16.
    const LOG: &str = r#"[
        {"duration_ms": 1000, "bandwidth_kbps": 8, "latency_ms": 20},
        {"duration_ms": 2000, "bandwidth_kbps": 0, "latency_ms": 20},
        {"duration_ms": 1000, "bandwidth_kbps": 16, "latency_ms": 20}
    ]"#;

    #[test]
    fn zeros_stall_a_transfer_each_way() {
        let logged = logged(&read(LOG), 0.5).unwrap();
        let model = Replayed {
            clients: vec![(0, SimSpan::ZERO), (0, SimSpan::from_secs(3.0))],
            logs: vec![logged],
        };
        let through = |rate: Rate, bytes| rate.through(SimTime::ZERO, Bytes(bytes)).as_secs();
        let AccessRates { up, down } = model.access(Party::Client(ClientId(0)), Streams::new(1));
        assert_eq!(through(down.clone(), 1_000), 1.0);
        assert_eq!(through(down, 1_500), 3.25);
        assert_eq!(through(up.clone(), 500), 1.0);
        assert_eq!(through(up, 600), 3.1);
        let later = model.access(Party::Client(ClientId(1)), Streams::new(1)).down;
        assert_eq!(through(later.clone(), 3_000), 2.0);
        assert_eq!(through(later, 3_001), 4.0005);
        let link = |from, to| {
            let name = StreamName::new(Streams::new(1), ROW, from, folkmoot_metrics::Round(0), 0);
            model.verdict(Link { from, to }, Bytes(9), name).after
        };
        let client = |id| Party::Client(ClientId(id));
        assert_eq!(link(client(0), Party::Server), SimSpan::from_millis(20.0));
        assert_eq!(link(client(0), client(1)), SimSpan::from_millis(40.0));
        assert_eq!(model.lookahead(), SimSpan::from_millis(20.0));
    }

    #[test]
    fn clients_begin_apart_and_depend_on_the_seed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("fl-traces/bandwidth-3g");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.json"), LOG).unwrap();
        std::fs::write(folder.join("b.json"), LOG.replace("20}", "5}")).unwrap();
        let dirs = DataDirs::new().with("FOLKMOOT_DATA", dir.path());
        let rates = |seed, replacement, n_clients| {
            let part = BandwidthLogs {
                of: LogSet::ThreeG,
                replacement,
                ..BandwidthLogs::default()
            };
            let mut shelf = Shelf::new(&dirs, n_clients, Streams::new(seed));
            let model = part.make(&mut shelf)?;
            assert_eq!(model.lookahead(), SimSpan::from_millis(5.0));
            Ok::<_, TraceError>(
                (0..n_clients)
                    .map(|c| model.access(Party::Client(ClientId(c)), Streams::new(seed)))
                    .collect(),
            )
        };
        let one: Vec<AccessRates> = rates(1, true, 5).unwrap();
        assert!(one.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(rates(1, true, 5).unwrap(), one);
        assert_ne!(rates(2, true, 5).unwrap(), one);
        assert_eq!(rates(1, false, 2).unwrap().len(), 2);
        assert!(
            rates(1, false, 3)
                .unwrap_err()
                .to_string()
                .contains("2 logs for 3 clients")
        );
    }

    #[test]
    fn what_breaks_the_format_is_named() {
        let sample = |ms: &str, kbps: &str, latency: &str| {
            format!(r#"{{"duration_ms": {ms}, "bandwidth_kbps": {kbps}, "latency_ms": {latency}}}"#)
        };
        for (samples, told) in [
            (String::new(), "never end"),
            (sample("5", "0", "1"), "never end"),
            (sample("-5", "7", "1"), "log.json:1"),
            (sample("1.5", "7", "1"), "log.json:1"),
            (sample("5", "99999999999999999", "1"), "10^15"),
            (sample("99999999999999999", "1", "1"), "sample 1"),
            (sample("1", "1", "9999999999"), "sample 1"),
            (
                format!("{},{}", sample("1", "1", "1"), sample("1", "1", "2")),
                "sample 2",
            ),
        ] {
            let error = logged(&read(&format!("[{samples}]")), 1.0).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,100}", ms in any::<u64>(), kbps in any::<u64>(), latency in any::<u64>()) {
            let _ = logged(&read(&text), 1.0);
            let sample = format!(r#"{{"duration_ms": {ms}, "bandwidth_kbps": {kbps}, "latency_ms": {latency}}}"#);
            let _ = logged(&read(&format!("[{sample},{sample}]")), 0.3);
        }
    }
}
