//! The file of a checkpoint: what it was made of, then sections, each with its own checksum.
//!
//! ```text
//! 8 bytes   FOLKMOOT
//! u32       the format, 2
//! u64       the length of the head
//! …         the head, JSON: [`Head`]
//! 32 bytes  BLAKE3 of all so far
//! then for each section that the head names:
//! u64       its length
//! …         its content, which belongs to the engine
//! 32 bytes  BLAKE3 of its place in the head, length and content
//! ```
//!
//! Numbers are little-endian. A file that is not this to the last byte is refused with the reason:
//! a run never starts afresh where it was asked to go on.

use super::manifest::{Manifest, fingerprint};
use super::read::read_bytes;
use super::{CHECKPOINT, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use thiserror::Error;

/// The file's name below `checkpoint/`.
pub(crate) const STATE: &str = "state";

/// The section that says how far the run's trace had been written, if it has one.
pub(crate) const TRACED: &str = "trace file";

const MAGIC: &[u8; 8] = b"FOLKMOOT";
const FORMAT: u32 = 2;
const START_LEN: usize = 20;
const HASH_LEN: usize = blake3::OUT_LEN;

/// What a checkpoint was made of; nothing else can go on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub version: String,
    /// The hash of its file, in hexadecimal: two builds of one version may lay out a state in two
    /// ways.
    pub program: String,
    /// The target it was built for.
    pub target: String,
    /// Whether nothing was learned.
    pub dry_run: bool,
    /// `scenario.ron`, with the seed.
    pub scenario: String,
    /// The fingerprint of each data set.
    pub data_fingerprints: BTreeMap<String, String>,
    /// The names of the sections.
    sections: Vec<String>,
}

/// A checkpoint as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// What it was made of.
    pub head: Head,
    /// Sections with their names.
    pub sections: Vec<(String, Vec<u8>)>,
}

/// Why nothing can go on with a checkpoint.
#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("{}: has no checkpoint to resume from: a run leaves one when it is stopped by Ctrl-C or SIGTERM, or by itself with \
         --checkpoint-every; run it again with: {command}", .dir.display())]
    Missing {
        dir: PathBuf,
        /// The command of the manifest.
        command: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not the file that was written.
    #[error("{}: is damaged: {what}; the run cannot go on from it: put back a copy, or run again with: {command}", .path.display())]
    Damaged {
        path: PathBuf,
        what: String,
        /// The command of the manifest.
        command: String,
    },
    /// It was written by another program, for another card, or from other data.
    #[error("{}: is the checkpoint of another run: {what} was {then} and is {now}; {way_out}", .path.display())]
    Other {
        path: PathBuf,
        what: String,
        /// What it was made of.
        then: String,
        now: String,
        way_out: &'static str,
    },
}

/// The hash of the file of the program that runs, which is read once. Its sources would not do:
/// strategies, whose states a checkpoint is of, may come from any crate.
pub(crate) fn program() -> Result<&'static str, ReadError> {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    if let Some(known) = PROGRAM.get() {
        return Ok(known);
    }
    // Where there is this link, it leads to the file that was started, even if another has its name
    // by now.
    let link = PathBuf::from("/proc/self/exe");
    let path = match link.exists() {
        true => Ok(link),
        false => std::env::current_exe(),
    };
    let hashed = path.and_then(|path| Ok(blake3::Hasher::new().update_reader(File::open(path)?)?.finalize()));
    let hash = hashed.map_err(|source| ReadError::Io {
        path: "the program's own file".into(),
        source,
    })?;
    Ok(PROGRAM.get_or_init(|| hash.to_hex().to_string()))
}

/// The bytes of a checkpoint of the run that a manifest and a scenario name, written by the program
/// with this hash.
pub(crate) fn encode_checkpoint(
    manifest: &Manifest,
    program: &str,
    scenario: &str,
    sections: &[(&str, &[u8])],
) -> Vec<u8> {
    let head = Head {
        version: manifest.version.clone(),
        program: program.to_owned(),
        target: manifest.target.clone(),
        dry_run: manifest.dry_run,
        scenario: scenario.to_owned(),
        data_fingerprints: manifest.data_fingerprints.clone(),
        sections: sections.iter().map(|(name, _)| (*name).to_owned()).collect(),
    };
    let head = serde_json::to_vec(&head).expect("plain structs with text keys always have a JSON form");
    let content: usize = sections.iter().map(|(_, bytes)| 8 + bytes.len() + HASH_LEN).sum();
    let mut file = Vec::with_capacity(START_LEN + head.len() + HASH_LEN + content);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&FORMAT.to_le_bytes());
    file.extend_from_slice(&(head.len() as u64).to_le_bytes());
    file.extend_from_slice(&head);
    let hash = blake3::hash(&file);
    file.extend_from_slice(hash.as_bytes());
    for (place, (_, bytes)) in sections.iter().enumerate() {
        file.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        file.extend_from_slice(bytes);
        file.extend_from_slice(section_hash(place, bytes).as_bytes());
    }
    file
}

fn section_hash(place: usize, bytes: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(place as u64).to_le_bytes());
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

impl Checkpoint {
    /// Whether the run directory `dir` has one, whole or not.
    pub fn is_in(dir: &Path) -> bool {
        dir.join(CHECKPOINT).join(STATE).is_file()
    }

    /// Reads the checkpoint of the run directory `dir`.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not as it was written.
    pub fn read(dir: &Path, manifest: &Manifest) -> Result<Self, CheckpointError> {
        let path = dir.join(CHECKPOINT).join(STATE);
        let bytes = read_bytes(&path).map_err(|error| match error {
            ReadError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => CheckpointError::Missing {
                dir: dir.to_owned(),
                command: manifest.command.clone(),
            },
            error => error.into(),
        })?;
        decode(&bytes).map_err(|what| CheckpointError::Damaged {
            path,
            what,
            command: manifest.command.clone(),
        })
    }

    /// The fingerprint of the state, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let sections = self.sections.iter();
        fingerprint(sections.map(|(name, bytes)| (name.as_str(), bytes.as_slice())))
    }

    /// Checks that a run goes on as what it was: by the same program, with the same card and on the
    /// same data, if they are known yet.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Other`] names what differs.
    pub fn suits(
        &self,
        dir: &Path,
        (version, target): (&str, &str),
        scenario: &str,
        data: Option<&BTreeMap<String, String>>,
    ) -> Result<(), CheckpointError> {
        let head = &self.head;
        let differs = |what: &str, then: &str, now: &str, way_out| {
            Err(CheckpointError::Other {
                path: dir.join(CHECKPOINT).join(STATE),
                what: what.to_owned(),
                then: then.to_owned(),
                now: now.to_owned(),
                way_out,
            })
        };
        let way_out = "resume with the program that wrote it";
        if head.version != version {
            return differs("the program's version", &head.version, version, way_out);
        }
        if head.target != target {
            return differs("the program's target", &head.target, target, way_out);
        }
        let start = |hash: &str| hash.chars().take(16).collect::<String>();
        let now = program()?;
        if head.program != now {
            return differs(
                "the program's file (its hash)",
                &start(&head.program),
                &start(now),
                way_out,
            );
        }
        if head.scenario != scenario {
            let hash = |text: &str| start(&blake3::hash(text.as_bytes()).to_hex());
            let way_out = "put back the scenario.ron that the run was started with";
            return differs(
                "the scenario (its hash)",
                &hash(&head.scenario),
                &hash(scenario),
                way_out,
            );
        }
        for (name, now) in data.into_iter().flatten() {
            let then = head.data_fingerprints.get(name).map_or("not there", String::as_str);
            if then != now {
                let way_out = "point --data to the folder with the data of then";
                return differs(&format!("the data {name} (their fingerprint)"), then, now, way_out);
            }
        }
        Ok(())
    }
}

/// Takes bytes off a file from the front.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8], String> {
        let split = usize::try_from(n).ok().and_then(|n| self.0.split_at_checked(n));
        let (taken, rest) = split.ok_or_else(|| format!("it ends within {what}"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, what: &str) -> Result<u64, String> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8, what)?);
        Ok(u64::from_le_bytes(bytes))
    }
}

/// Reads a whole file; says what is wrong with it.
fn decode(file: &[u8]) -> Result<Checkpoint, String> {
    let mut rest = Rest(file);
    if rest.take(8, "its first bytes")? != MAGIC {
        return Err("it does not begin as a checkpoint does".to_owned());
    }
    let format = rest.take(4, "its format")?;
    if format != FORMAT.to_le_bytes() {
        let bytes: Vec<String> = format.iter().map(u8::to_string).collect();
        let rule = format!(
            "its format is {}, and this program reads format {FORMAT} alone",
            bytes.join(".")
        );
        return Err(rule);
    }
    let len = rest.number("its head")?;
    let head = rest.take(len, "its head")?;
    let before = file.len() - rest.0.len();
    if rest.take(HASH_LEN as u64, "its head")? != blake3::hash(&file[..before]).as_bytes() {
        return Err("its head does not have the checksum that it was written with".to_owned());
    }
    let head: Head = serde_json::from_slice(head).map_err(|error| format!("its head: {error}"))?;
    let mut sections = Vec::with_capacity(head.sections.len());
    for (place, name) in head.sections.iter().enumerate() {
        let len = rest.number(name)?;
        let bytes = rest.take(len, name)?;
        if rest.take(HASH_LEN as u64, name)? != section_hash(place, bytes).as_bytes() {
            return Err(format!(
                "its section {name} does not have the checksum that it was written with"
            ));
        }
        sections.push((name.clone(), bytes.to_vec()));
    }
    match rest.0.len() {
        0 => Ok(Checkpoint { head, sections }),
        n => Err(format!("it has {n} bytes too many")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            version: "1.0".to_owned(),
            target: "here".to_owned(),
            data_fingerprints: BTreeMap::from([("Karate".to_owned(), "ab".to_owned())]),
            command: "folkmoot run karate".to_owned(),
            ..Manifest::default()
        }
    }

    fn encode(program: &str, card: &str, sections: &[(String, Vec<u8>)]) -> Vec<u8> {
        let sections: Vec<_> = sections
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        encode_checkpoint(&manifest(), program, card, &sections)
    }

    fn sections() -> Vec<(String, Vec<u8>)> {
        let section = |name: &str, n: u32| (name.to_owned(), (0..n).map(|i| i as u8).collect());
        vec![section("server", 900), section("clients", 5_000), section("empty", 0)]
    }

    #[test]
    fn a_checkpoint_comes_back_as_it_was_written() {
        let read = decode(&encode("me", "the card", &sections())).unwrap();
        assert_eq!(read.sections, sections());
        assert_eq!(
            (read.head.version.as_str(), read.head.scenario.as_str()),
            ("1.0", "the card")
        );
    }

    #[test]
    fn whatever_byte_is_flipped_and_wherever_it_is_cut_it_is_refused() {
        let whole = encode("me", "the card", &sections());
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(decode(&flipped).is_err(), "byte {at}");
            assert!(decode(&whole[..at]).is_err(), "cut at {at}");
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert_eq!(decode(&longer).unwrap_err(), "it has 1 bytes too many");
    }

    /// Sections of one length that changed places are whole each, and yet not those that were
    /// written.
    #[test]
    fn sections_do_not_change_places() {
        let section = |byte: u8| ("same".to_owned(), vec![byte; 10]);
        let [ab, ba] = [[1, 2], [2, 1]].map(|bytes| encode("me", "", &bytes.map(section)));
        let half = 8 + 10 + HASH_LEN;
        let start = ab.len() - 2 * half;
        let swapped = [&ab[..start], &ab[start + half..], &ab[start..start + half]].concat();
        assert!(decode(&ab).is_ok() && decode(&ba).is_ok());
        assert!(decode(&swapped).unwrap_err().contains("section same"));
    }

    #[test]
    fn what_belongs_to_another_run_is_refused_by_name() {
        let written = |program| decode(&encode(program, "the card", &sections())).unwrap();
        let read = written(program().unwrap());
        let data = |print: &str| BTreeMap::from([("Karate".to_owned(), print.to_owned())]);
        let suits = |version, target, card, print: &str| {
            let suits = read.suits(Path::new("run"), (version, target), card, Some(&data(print)));
            suits.map_err(|error| error.to_string())
        };
        assert_eq!(suits("1.0", "here", "the card", "ab"), Ok(()));
        for (wrong, word) in [
            (suits("1.1", "here", "the card", "ab"), "version was 1.0 and is 1.1"),
            (suits("1.0", "there", "the card", "ab"), "target was here and is there"),
            (suits("1.0", "here", "another", "ab"), "scenario"),
            (
                suits("1.0", "here", "the card", "cd"),
                "Karate (their fingerprint) was ab and is cd",
            ),
        ] {
            assert!(wrong.as_ref().is_err_and(|error| error.contains(word)), "{wrong:?}");
        }
        let other = written("another build").suits(Path::new("run"), ("1.0", "here"), "the card", None);
        assert!(
            other
                .unwrap_err()
                .to_string()
                .contains("file (its hash) was another build and is")
        );
    }
}
