//! Where models find their files, and how rows are dealt out to clients.

use folkmoot_draws::{Purpose, Streams, index, shuffle};
use folkmoot_graphs::{DataDirs, DataError};
use folkmoot_metrics::{ClientId, Party, Round};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use thiserror::Error;

/// How to get traces.
const GET: &str = "help: folkmoot data fetch Flash\n  (or FlHetBench, Bandwidth3g, Bandwidth4g); for Venn's table of phones, which no \
    host has as a text, `folkmoot data list` says what to do; the files lie in `fl-traces/` below a data folder";

/// Why a model of the world cannot be made.
#[derive(Debug, Error)]
pub enum TraceError {
    #[error(transparent)]
    Data(#[from] DataError),
    /// A setting, once the rows and the clients are counted.
    #[error("{field}: {rule}")]
    Setting {
        /// The field of the model's settings.
        field: &'static str,
        /// What is wrong, and the way out.
        rule: String,
    },
}

/// A file that was read.
pub(crate) struct Read {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Read {
    fn open(path: PathBuf) -> Result<Read, DataError> {
        match fs::read(&path) {
            Ok(bytes) => Ok(Read { path, bytes }),
            Err(source) => Err(DataError::Read { path, source }),
        }
    }

    /// Its content as JSON.
    pub(crate) fn json<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, DataError> {
        serde_json::from_slice(&self.bytes).map_err(|error| match error.line() {
            0 => self.broken(error.to_string()),
            line => DataError::Line {
                path: self.path.clone(),
                line,
                message: error.to_string(),
            },
        })
    }

    /// What is said where it breaks a rule of its format.
    pub(crate) fn broken(&self, message: impl Into<String>) -> DataError {
        DataError::Format {
            path: self.path.clone(),
            message: message.into(),
        }
    }
}

/// The files of a run's models, and for whom they are.
pub struct Shelf<'a> {
    dirs: &'a DataDirs,
    n_clients: u32,
    streams: Streams,
    fingerprints: BTreeMap<String, String>,
    notes: Vec<String>,
}

impl<'a> Shelf<'a> {
    /// Files below `dirs` for models of `n_clients`, which draw from `streams`.
    pub fn new(dirs: &'a DataDirs, n_clients: u32, streams: Streams) -> Self {
        Shelf {
            dirs,
            n_clients,
            streams,
            fingerprints: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// How many clients there are.
    pub fn n_clients(&self) -> u32 {
        self.n_clients
    }

    /// What was read: each path below a data folder with the BLAKE3 sum of what lay there, in
    /// hexadecimal.
    pub fn fingerprints(&self) -> &BTreeMap<String, String> {
        &self.fingerprints
    }

    /// What readers left out, a sentence each, for the manifest.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(crate) fn read(&mut self, relative: &str) -> Result<Read, DataError> {
        let read = Read::open(self.dirs.locate_set(relative, GET)?)?;
        let sum = blake3::hash(&read.bytes).to_hex().to_string();
        self.fingerprints.insert(relative.to_owned(), sum);
        Ok(read)
    }

    /// Reads the files of a folder whose names end in `ending`, in the order of their names.
    pub(crate) fn read_folder(&mut self, relative: &str, ending: &str) -> Result<Vec<Read>, DataError> {
        let folder = self.dirs.locate_set(relative, GET)?;
        let failed = |source| DataError::Read {
            path: folder.clone(),
            source,
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|found| found == ending) {
                paths.push(path);
            }
        }
        paths.sort();
        if paths.is_empty() {
            return Err(DataError::Format {
                message: format!("the folder holds no file that ends in .{ending}"),
                path: folder,
            });
        }
        let files: Vec<Read> = paths.into_iter().map(Read::open).collect::<Result<_, _>>()?;
        let mut sum = blake3::Hasher::new();
        for read in &files {
            let name = read.path.file_name().unwrap_or_default().as_encoded_bytes();
            for part in [name, &read.bytes] {
                sum.update(&(part.len() as u64).to_le_bytes()).update(part);
            }
        }
        self.fingerprints
            .insert(relative.to_owned(), sum.finalize().to_hex().to_string());
        Ok(files)
    }

    /// Which of `n_rows` rows, called `rows`, each client gets: drawn from a stream of its own, or,
    /// without replacement, by one order of all rows, so that no two clients have the same.
    pub(crate) fn deal(
        &self,
        purpose: Purpose,
        n_rows: usize,
        rows: &str,
        replacement: bool,
    ) -> Result<Vec<u32>, TraceError> {
        if replacement {
            let draw = |client| index(&mut self.stream(purpose, client), n_rows) as u32;
            return Ok((0..self.n_clients).map(draw).collect());
        }
        let n_clients = self.n_clients;
        if n_clients as usize > n_rows {
            return Err(TraceError::Setting {
                field: "replacement",
                rule: format!(
                    "there are {n_rows} {rows} for {n_clients} clients, so not each can have its own; set replacement: true, \
                     or share the data out to at most {n_rows} clients"
                ),
            });
        }
        let mut order: Vec<u32> = (0..n_rows as u32).collect();
        shuffle(&mut self.streams.global(purpose), &mut order);
        order.truncate(n_clients as usize);
        Ok(order)
    }

    /// A client's own stream for `purpose`.
    pub(crate) fn stream(&self, purpose: Purpose, client: u32) -> folkmoot_draws::SimRng {
        self.streams.party(purpose, Party::Client(ClientId(client)), Round(0))
    }
}

/// Where a file or folder of traces lies below a data folder.
pub(crate) fn below(name: &str) -> String {
    format!("fl-traces/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Purpose = Purpose(*b"testrows");

    fn deal(n_clients: u32, n_rows: usize, replacement: bool) -> Result<Vec<u32>, TraceError> {
        Shelf::new(&DataDirs::new(), n_clients, Streams::new(3)).deal(ROWS, n_rows, "phones", replacement)
    }

    #[test]
    fn with_replacement_a_row_depends_on_its_client_alone() {
        let (few, many) = (deal(10, 7, true).unwrap(), deal(1_000, 7, true).unwrap());
        assert_eq!(few, many[..10]);
        let mut counts = [0; 7];
        many.iter().for_each(|row| counts[*row as usize] += 1);
        assert!(counts.iter().all(|n| (100..190).contains(n)), "{counts:?}");
    }

    #[test]
    fn without_replacement_nobody_shares_and_too_many_are_told_the_way_out() {
        let mut all = deal(50, 50, false).unwrap();
        assert_ne!(all, (0..50).collect::<Vec<u32>>());
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<u32>>());
        let error = deal(51, 50, false).unwrap_err().to_string();
        for part in ["replacement", "50 phones", "51 clients", "replacement: true"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_was_read_has_a_sum_and_what_is_missing_a_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("fl-traces/logs");
        fs::create_dir_all(&folder).unwrap();
        let dirs = DataDirs::new().with("FOLKMOOT_DATA", dir.path());
        let sum = |content: &str| {
            fs::write(folder.join("b.json"), content).unwrap();
            fs::write(folder.join("a.json"), "1").unwrap();
            fs::write(folder.join("c.txt"), content).unwrap();
            let mut shelf = Shelf::new(&dirs, 1, Streams::new(1));
            let files = shelf.read_folder(&below("logs"), "json").unwrap();
            assert_eq!((files.len(), &files[0].bytes), (2, &b"1".to_vec()));
            shelf.read(&below("logs/a.json")).unwrap();
            shelf.fingerprints().clone()
        };
        let (one, other) = (sum("2"), sum("3"));
        assert_eq!(one.len(), 2);
        assert_ne!(one, other);
        assert_eq!(one["fl-traces/logs/a.json"], other["fl-traces/logs/a.json"]);
        let mut shelf = Shelf::new(&dirs, 1, Streams::new(1));
        let missing = shelf.read(&below("flash/x.json")).err().unwrap().to_string();
        assert!(
            missing.contains("fl-traces/flash/x.json") && missing.contains("folkmoot data fetch"),
            "{missing}"
        );
        assert!(
            shelf
                .read_folder(&below("logs"), "csv")
                .err()
                .unwrap()
                .to_string()
                .contains(".csv")
        );
    }
}
