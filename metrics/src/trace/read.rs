//! Reading a trace back, line by line and with no more than a line in memory.

use super::write::TRACKS;
use super::{About, TRACE};
use crate::ids::Party;
use crate::run_dir::ReadError;
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// An event as the file shows it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    ph: Phase,
    #[serde(rename = "pid")]
    _pid: u32,
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default, rename = "cat")]
    category: String,
    name: String,
    #[serde(default, rename = "id")]
    _id: String,
    #[serde(default, rename = "s")]
    _scope: String,
    args: Args,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Phase {
    #[serde(rename = "M")]
    Name,
    #[serde(rename = "b")]
    Begin,
    #[serde(rename = "e")]
    End,
    #[serde(rename = "X")]
    Slice,
    #[serde(rename = "i")]
    Moment,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Args {
    name: Option<String>,
    from: String,
    to: String,
    way: String,
    round: Option<u32>,
    bytes: u64,
    attempts: u64,
    fate: String,
    cohort: u64,
    completed: u64,
    dropped: u64,
    events: Option<u64>,
    left_out: u64,
}

/// What is drawn on the track of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slice {
    /// A job is done.
    Job,
    Round,
    /// A client cannot be reached.
    Away,
    /// A client has left a round before its end.
    Left,
    /// The result of a job is lost.
    Lost,
}

impl Shown {
    /// Who it is of.
    pub fn party(&self) -> Party {
        Party::from_index(u32::try_from(self.tid / u64::from(TRACKS)).unwrap_or(u32::MAX))
    }

    /// What it stands for, if it is no message, and its first and last instant in seconds.
    pub fn slice(&self) -> Option<(Slice, f64, f64)> {
        let slice = match (self.ph, self.category.as_str()) {
            (Phase::Slice, "job") => Slice::Job,
            (Phase::Slice, "round") => Slice::Round,
            (Phase::Slice, "away") => Slice::Away,
            (Phase::Slice, "left") => Slice::Left,
            (Phase::Moment, "lost") => Slice::Lost,
            _ => return None,
        };
        Some((slice, self.ts / 1e6, (self.ts + self.dur) / 1e6))
    }

    /// The phase and kind of a message, and what becomes of it if this is its end.
    pub fn message(&self) -> Option<(&str, &str, Option<&str>)> {
        let fate = match self.ph {
            Phase::Begin => None,
            Phase::End => Some(self.args.fate.as_str()),
            _ => return None,
        };
        Some((&self.category, &self.name, fate))
    }

    /// How many events the trace has, and how many were left out, if this is its last line.
    fn end(&self) -> Option<(u64, u64)> {
        (self.ph == Phase::Name && self.name == "end").then(|| (self.args.events.unwrap_or(0), self.args.left_out))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, what, args) = (self.party(), (&self.category, &self.name), &self.args);
        let in_round = |f: &mut fmt::Formatter<'_>| args.round.map_or(Ok(()), |round| write!(f, ", round {round}"));
        write!(f, "at {} s, ", self.ts / 1e6)?;
        match self.ph {
            Phase::Begin => {
                write!(f, "{who} sends {}: {} to {}", what.0, what.1, args.to)?;
                write!(f, ", {} bytes", args.bytes)?;
                if args.attempts > 1 {
                    write!(f, " {} times", args.attempts)?;
                }
                in_round(f)
            }
            Phase::End => write!(f, "{}: {} of {who} to {} is {}", what.0, what.1, args.to, args.fate),
            Phase::Slice if self.category == "job" => {
                write!(f, "{who} begins a job of {} s", self.dur / 1e6)?;
                in_round(f)
            }
            Phase::Slice if self.category == "round" => write!(
                f,
                "{} begins, which takes {} s: {} asked, {} in time, {} given up",
                what.1,
                self.dur / 1e6,
                args.cohort,
                args.completed,
                args.dropped
            ),
            Phase::Slice if self.category == "left" => {
                write!(f, "{who} leaves for {} s", self.dur / 1e6)?;
                in_round(f)
            }
            Phase::Slice => write!(f, "{who} goes away for {} s", self.dur / 1e6),
            Phase::Moment => {
                write!(f, "a result of {who} is lost")?;
                in_round(f)
            }
            Phase::Name => write!(f, "{who}: {}", what.1),
        }
    }
}

/// A trace being read.
pub struct TraceReader {
    path: PathBuf,
    lines: BufReader<MultiGzDecoder<BufReader<File>>>,
    about: About,
    /// The line that was read last.
    line: usize,
    text: String,
    n_events: u64,
    /// What the last line says was left out.
    n_left_out: Option<u64>,
}

/// As long a line may be.
const MOST_BYTES: u64 = 1 << 16;

impl TraceReader {
    /// Opens the trace of the run directory `dir`; none where there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or does not begin as it was written.
    pub fn open(dir: &Path) -> Result<Option<Self>, ReadError> {
        let path = dir.join(TRACE);
        let opened = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.and_then(|file| match file.metadata()?.is_file() {
                true => Ok(MultiGzDecoder::new(BufReader::new(file))),
                false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")),
            }),
        };
        let mut reader = TraceReader {
            lines: BufReader::new(opened.map_err(|source| ReadError::Io {
                path: path.clone(),
                source,
            })?),
            path,
            about: About::default(),
            line: 0,
            text: String::new(),
            n_events: 0,
            n_left_out: None,
        };
        if !reader.advance()? {
            return Err(reader.wrong("it is empty"));
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Head {
            #[serde(rename = "displayTimeUnit")]
            _unit: String,
            #[serde(rename = "otherData")]
            about: About,
            #[serde(rename = "traceEvents")]
            _events: [(); 0],
        }
        let head: Result<Head, _> = serde_json::from_str(&format!("{}]}}", reader.text));
        reader.about = head.map_err(|error| reader.wrong(&error.to_string()))?.about;
        Ok(Some(reader))
    }

    /// What it says of its run.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The next event, if there is one more, and its line.
    ///
    /// # Errors
    ///
    /// When the line is not as it was written, or the file ends too soon.
    pub fn next_event(&mut self) -> Result<Option<(usize, Shown)>, ReadError> {
        loop {
            if !self.advance()? {
                return Err(self.wrong("it ends before its last line"));
            }
            if self.n_left_out.is_some() {
                return match self.text == "]}" && !self.advance()? {
                    true => Ok(None),
                    false => Err(self.wrong("something stands behind its last event")),
                };
            }
            let text = self.text.strip_prefix(',').unwrap_or(&self.text);
            let shown: Shown = serde_json::from_str(text).map_err(|error| self.wrong(&error.to_string()))?;
            if let Some((n_events, n_left_out)) = shown.end() {
                if n_events != self.n_events {
                    return Err(self.wrong(&format!("it says {n_events} events, and has {}", self.n_events)));
                }
                self.n_left_out = Some(n_left_out);
            } else if shown.ph != Phase::Name {
                self.n_events += 1;
                return Ok(Some((self.line, shown)));
            }
        }
    }

    /// How many events the run had beyond those that the trace has, once it is read to its end.
    pub fn n_left_out(&self) -> Option<u64> {
        self.n_left_out
    }

    /// Takes the next line; false where there is none.
    fn advance(&mut self) -> Result<bool, ReadError> {
        self.line += 1;
        self.text.clear();
        let mut bytes = Vec::new();
        let read = (&mut self.lines).take(MOST_BYTES).read_until(b'\n', &mut bytes);
        let n = read.map_err(|error| self.wrong(&error.to_string()))?;
        if n == 0 {
            return Ok(false);
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.ends_with('\n') => self.text.push_str(text.trim_end_matches('\n')),
            Ok(_) => return Err(self.wrong("it is cut off, or longer than any that is written")),
            Err(_) => return Err(self.wrong("it is no text")),
        }
        Ok(true)
    }

    fn wrong(&self, rule: &str) -> ReadError {
        ReadError::Json {
            path: self.path.clone(),
            line: self.line,
            rule: rule.to_owned(),
        }
    }
}

/// In what the traces of two run directories differ first, in words; nothing where neither has one,
/// or they are the same.
///
/// # Errors
///
/// When a trace is damaged up to there.
pub fn first_difference(a: &Path, b: &Path) -> Result<Option<String>, ReadError> {
    let told = |what: String| Ok(Some(format!("{TRACE}: {what}")));
    let (mut a, mut b) = match (TraceReader::open(a)?, TraceReader::open(b)?) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => return Ok(None),
        (Some(_), None) => return told("only the first run was traced".to_owned()),
        (None, Some(_)) => return told("only the second run was traced".to_owned()),
    };
    let clients = [a.about.clients, b.about.clients];
    if clients[0] != clients[1] {
        let [a, b] = clients.map(|clients| format!("{} of {} clients", clients.n_followed, clients.n_clients));
        let why = format!("{a} are followed against {b}, so no event can be told to be the first that differs");
        return told(why);
    }
    loop {
        let (left, right) = (a.next_event()?, b.next_event()?);
        match (&left, &right) {
            (None, None) => return Ok(None),
            (Some((_, left)), Some((_, right))) if left == right => {}
            _ => {
                let line = left.as_ref().or(right.as_ref()).map_or(0, |(line, _)| *line);
                let text =
                    |event: Option<(usize, Shown)>| event.map_or("nothing".to_owned(), |event| event.1.to_string());
                return told(format!("line {line}: {} against {}", text(left), text(right)));
            }
        }
    }
}
