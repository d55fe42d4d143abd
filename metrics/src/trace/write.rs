//! Writing a trace: lines added to a file while the run goes on, which is packed at its end.

use super::{About, Event, Fate, MOST_EVENTS, Message, What};
use crate::ids::{ClientId, Direction, Party, SimSpan, SimTime};
use crate::ledger::Kind;
use crate::run_dir::WriteError;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// How far a trace has been written: what a checkpoint knows of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    n_bytes: u64,
    n_events: u64,
    /// Events that came when there were [`MOST_EVENTS`].
    pub(crate) n_left_out: u64,
}

/// A trace that grows.
pub(crate) struct TraceFile {
    path: PathBuf,
    file: File,
    mark: Mark,
}

/// The processes of the trace.
const SERVER: u32 = 1;
const CLIENTS: u32 = 2;

/// The tracks of a party. No two in a trace have one number, since some readers name a track by its
/// number alone.
#[derive(Clone, Copy)]
pub(super) enum Track {
    Computing = 1,
    Rounds,
    Away,
    Left,
}

/// How many numbers each party has.
pub(super) const TRACKS: u32 = 8;

/// A time in microseconds, exact to the nanosecond.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / 1000)?;
        match self.0 % 1000 {
            0 => Ok(()),
            ns => write!(f, ".{ns:03}"),
        }
    }
}

/// Where an event stands: `"pid":…,"tid":…`.
struct Place(Party, Track);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pid = match self.0 {
            Party::Server => SERVER,
            Party::Client(_) => CLIENTS,
        };
        let tid = u64::from(self.0.index()) * u64::from(TRACKS) + self.1 as u64;
        write!(f, "\"pid\":{pid},\"tid\":{tid}")
    }
}

impl TraceFile {
    pub(crate) fn create(path: &Path, about: &About) -> Result<Self, WriteError> {
        let begin = || -> io::Result<TraceFile> {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            Ok(TraceFile {
                path: path.to_owned(),
                file: File::create_new(path)?,
                mark: Mark::default(),
            })
        };
        let mut trace = begin().map_err(|source| WriteError::io(path, source))?;
        trace.add(&head(about))?;
        Ok(trace)
    }

    /// Goes on with the file of a run that was stopped or killed; what came after the mark will
    /// come again.
    pub(crate) fn resume(path: &Path, mark: Mark) -> Result<Self, WriteError> {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().write(true).open(path)?;
            if file.metadata()?.len() < mark.n_bytes {
                let why = "it is shorter than when the run's state was saved; put back a copy, or run again";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            file.set_len(mark.n_bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        Ok(TraceFile {
            path: path.to_owned(),
            file: open().map_err(|source| WriteError::io(path, source))?,
            mark,
        })
    }

    /// Begins as the trace of another run, up to its mark.
    pub(crate) fn fork(from: &Path, path: &Path, mark: Mark) -> Result<Self, WriteError> {
        let copy = || -> io::Result<()> {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            fs::copy(from, path).map(|_| ())
        };
        copy().map_err(|source| WriteError::io(from, source))?;
        TraceFile::resume(path, mark)
    }

    /// Adds what has happened.
    pub(crate) fn add_events(&mut self, events: &[Event], kinds: &[Kind]) -> Result<(), WriteError> {
        let n_free = usize::try_from(MOST_EVENTS - self.mark.n_events).unwrap_or(usize::MAX);
        let (kept, left_out) = events.split_at(events.len().min(n_free));
        self.mark.n_events += kept.len() as u64;
        self.mark.n_left_out += left_out.len() as u64;
        let names: Vec<[String; 2]> = kinds.iter().map(|kind| [kind.phase, kind.name].map(json)).collect();
        for some in kept.chunks(4096) {
            let mut text = String::with_capacity(some.len() * 192);
            for event in some {
                let written = line(&mut text, event, &names);
                written.expect("a text takes all that is written to it");
            }
            self.add(&text)?;
        }
        Ok(())
    }

    fn add(&mut self, text: &str) -> Result<(), WriteError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|source| WriteError::io(&self.path, source))?;
        self.mark.n_bytes += text.len() as u64;
        Ok(())
    }

    /// How far it has come; all until there is on the disk.
    pub(crate) fn mark(&mut self) -> Result<Mark, WriteError> {
        let synced = self.file.sync_data();
        synced.map_err(|source| WriteError::io(&self.path, source))?;
        Ok(self.mark)
    }

    /// How many events were left out.
    pub(crate) fn n_left_out(&self) -> u64 {
        self.mark.n_left_out
    }

    /// Ends the trace, and packs it into `packed`, which is whole or absent.
    pub(crate) fn finish(mut self, packed: &Path) -> Result<(), WriteError> {
        let (n_events, n_left_out) = (self.mark.n_events, self.mark.n_left_out);
        let place = Place(Party::Server, Track::Computing);
        self.add(&format!(
            ",{{\"ph\":\"M\",\"name\":\"end\",{place},\"args\":{{\"events\":{n_events},\"left_out\":{n_left_out}}}}}\n]}}\n"
        ))?;
        let temporary = packed.with_extension("tmp");
        let pack = || -> io::Result<()> {
            let to = BufWriter::new(File::create(&temporary)?);
            let mut gzip = GzEncoder::new(to, Compression::default());
            io::copy(&mut File::open(&self.path)?, &mut gzip)?;
            gzip.finish()?.into_inner()?.sync_all()?;
            fs::rename(&temporary, packed)
        };
        pack().map_err(|source| {
            // What is left of it is of no use to anybody.
            let _ = fs::remove_file(&temporary);
            WriteError::io(packed, source)
        })
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn head(about: &About) -> String {
    let other = serde_json::to_string(about).expect("plain structs with text keys always have a JSON form");
    let mut text = format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":[\n");
    let process = |what: &str, party: Party| {
        let place = Place(party, Track::Computing);
        format!("{{\"ph\":\"M\",\"name\":\"process_name\",{place},\"args\":{{\"name\":\"{what}\"}}}}\n")
    };
    text += &process("server", Party::Server);
    let clients: Vec<Party> = about.clients.clients().map(Party::Client).collect();
    if let Some(first) = clients.first() {
        text += &format!(",{}", process("clients", *first));
    }
    let mut name_all = || -> fmt::Result {
        name(&mut text, Party::Server, Track::Computing, "server")?;
        name(&mut text, Party::Server, Track::Rounds, "rounds")?;
        clients
            .iter()
            .try_for_each(|client| name(&mut text, *client, Track::Computing, &client.to_string()))
    };
    name_all().expect("a text takes all that is written to it");
    text
}

fn name(out: &mut String, party: Party, track: Track, name: &str) -> fmt::Result {
    let place = Place(party, track);
    writeln!(
        out,
        ",{{\"ph\":\"M\",\"name\":\"thread_name\",{place},\"args\":{{\"name\":\"{name}\"}}}}"
    )
}

/// A slice from one time to another, with the text of its arguments.
fn slice(
    out: &mut String,
    place: Place,
    category: &str,
    name: &str,
    (from, span): (SimTime, SimSpan),
    args: &str,
) -> fmt::Result {
    let (ts, dur) = (Micros(from.0), Micros(span.0));
    writeln!(
        out,
        ",{{\"ph\":\"X\",{place},\"ts\":{ts},\"dur\":{dur},\"cat\":\"{category}\",\"name\":\"{name}\",\"args\":{{{args}}}}}"
    )
}

/// The start of a message's line, up to its arguments.
fn message(out: &mut String, phase: char, at: SimTime, message: Message, names: &[[String; 2]]) -> fmt::Result {
    let (ts, place) = (Micros(at.0), Place(message.from, Track::Computing));
    let id = u64::from(message.from.index()) << 32 | u64::from(message.seq);
    let [category, name] = &names[message.kind as usize];
    let to = message.to;
    write!(
        out,
        ",{{\"ph\":\"{phase}\",{place},\"ts\":{ts},\"cat\":{category},\"name\":{name},\"id\":\"{id:#x}\",\"args\":{{\"to\":\"{to}\""
    )
}

/// One event's line, and that which names its track where others do not.
fn line(out: &mut String, event: &Event, names: &[[String; 2]]) -> fmt::Result {
    let at = event.at;
    match event.what {
        What::Sent {
            message: sent,
            round,
            bytes,
            attempts,
        } => {
            message(out, 'b', at, sent, names)?;
            let (from, way) = (sent.from, Direction::between(sent.from, sent.to).as_str());
            let round = round.0;
            writeln!(
                out,
                ",\"from\":\"{from}\",\"way\":\"{way}\",\"round\":{round},\"bytes\":{bytes},\"attempts\":{attempts}}}}}"
            )
        }
        What::Ended { message: ended, fate } => {
            message(out, 'e', at, ended, names)?;
            writeln!(out, ",\"fate\":\"{}\"}}}}", Fate::as_str(fate))
        }
        What::Job {
            party,
            round,
            begins,
            span,
        } => {
            let place = Place(party, Track::Computing);
            let args = format!("\"round\":{}", round.0);
            slice(out, place, "job", "job", (begins, span), &args)
        }
        What::Lost { client, round } => {
            let place = Place(Party::Client(client), Track::Computing);
            let (ts, round) = (Micros(at.0), round.0);
            writeln!(
                out,
                ",{{\"ph\":\"i\",\"s\":\"t\",{place},\"ts\":{ts},\"cat\":\"lost\",\"name\":\"result lost\",\"args\":{{\"round\":{round}}}}}"
            )
        }
        What::Left { client, round, since } => {
            let args = format!("\"round\":{}", round.0);
            absence(out, (client, Track::Left), "left", (since, at - since), &args)
        }
        What::Round { round, since, counts } => {
            let place = Place(Party::Server, Track::Rounds);
            let [cohort, completed, dropped] = counts;
            let args = format!("\"cohort\":{cohort},\"completed\":{completed},\"dropped\":{dropped}");
            let name = format!("round {}", round.0);
            slice(out, place, "round", &name, (since, at - since), &args)
        }
        What::Away { client, until } => absence(out, (client, Track::Away), "away", (at, until - at), ""),
    }
}

fn absence(
    out: &mut String,
    (client, track): (ClientId, Track),
    word: &str,
    span: (SimTime, SimSpan),
    args: &str,
) -> fmt::Result {
    let client = Party::Client(client);
    name(out, client, track, &format!("{client}: {word}"))?;
    slice(out, Place(client, track), word, word, span, args)
}
