//! The lines of one binary's file, unpacked and parsed one at a time.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::readers::limits::MAX_UNPACKED;
use crate::{DataError, Graph, GraphBuilder};

pub(super) const N_COLUMNS: usize = 6;

/// The longest line: some thousand times what the published sets hold, so that a file that unpacks
/// without end stops early.
const MAX_LINE: usize = 1 << 24;

/// One function as it is kept.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) graph: Graph,
    /// Six counts a node, node after node.
    pub(super) counts: Vec<f32>,
    pub(super) name: String,
    pub(super) n_repeated_arcs: usize,
}

/// One function as the file has it; other members are skipped.
#[derive(Deserialize)]
struct Record {
    n_num: u64,
    succs: Vec<Vec<i64>>,
    features: Vec<Vec<f64>>,
    fname: String,
}

/// Reads functions one after the other.
pub(super) struct Lines {
    path: PathBuf,
    input: BufReader<std::io::Take<MultiGzDecoder<BufReader<File>>>>,
    buffer: Vec<u8>,
    number: usize,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Lines, DataError> {
        let file = File::open(path).map_err(|source| DataError::Read {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Lines {
            path: path.to_path_buf(),
            input: BufReader::with_capacity(
                1 << 16,
                MultiGzDecoder::new(BufReader::new(file)).take(MAX_UNPACKED + 1),
            ),
            buffer: Vec::new(),
            number: 0,
        })
    }

    /// The next function; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Function>, DataError> {
        loop {
            self.number += 1;
            self.buffer.clear();
            let mut limited = self.input.by_ref().take(MAX_LINE as u64 + 1);
            let read = limited.read_until(b'\n', &mut self.buffer);
            let at = |message: String| DataError::line(&self.path, self.number, message);
            read.map_err(|error| self.unreadable(&error))?;
            if self.input.get_ref().limit() == 0 {
                return Err(at(format!("the file unpacks to more than {MAX_UNPACKED} bytes")));
            }
            if self.buffer.len() > MAX_LINE {
                return Err(at(format!("a line must have at most {MAX_LINE} bytes")));
            }
            if self.buffer.is_empty() {
                return Ok(None);
            }
            let line = self.buffer.trim_ascii();
            if !line.is_empty() {
                return parse(line).map(Some).map_err(at);
            }
        }
    }

    /// Decoding and the system report through one type: what the file's bytes are to blame for gets
    /// its place in the text.
    fn unreadable(&self, error: &std::io::Error) -> DataError {
        use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let damage = match error.kind() {
            UnexpectedEof if self.number == 1 && self.buffer.is_empty() => {
                "the file is empty or its gzip header cut short"
            }
            UnexpectedEof => "the gzip data end in mid-stream: the file is truncated, copy it again",
            InvalidData | InvalidInput => "the gzip data are damaged (or no gzip data at all), copy the file again",
            _ => {
                return DataError::Read {
                    path: self.path.clone(),
                    source: std::io::Error::new(error.kind(), error.to_string()),
                };
            }
        };
        DataError::line(&self.path, self.number, damage)
    }
}

/// One line, without its end; the rule it breaks if it is not a function.
pub(super) fn parse(line: &[u8]) -> Result<Function, String> {
    let record: Record = serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        // The parser counts lines within this one.
        let what = text.split(" at line ").next().unwrap_or_default();
        format!("not a function graph, column {}: {what}", error.column())
    })?;
    let n_nodes = record.succs.len();
    if record.n_num != n_nodes as u64 || record.features.len() != n_nodes {
        return Err(format!(
            "`n_num`, `succs` and `features` must agree on the number of blocks, got {}, {n_nodes} and {}",
            record.n_num,
            record.features.len()
        ));
    }
    if n_nodes == 0 {
        return Err("a function must have at least one block, got `n_num` 0".to_string());
    }
    if record.fname.is_empty() {
        return Err("`fname` is the class of the graph and must not be empty".to_string());
    }
    let mut pairs = Vec::with_capacity(record.succs.iter().map(Vec::len).sum());
    for (block, successors) in (0_u32..).zip(&record.succs) {
        for &next in successors {
            if !(0..n_nodes as i64).contains(&next) {
                return Err(format!(
                    "block {block} has successor {next}, but blocks are 0..{n_nodes}; indices start at 0"
                ));
            }
            pairs.push((block, next as u32));
        }
    }
    let builder = GraphBuilder::new(n_nodes as u32).directed(true).keep_self_loops(true);
    let (graph, cleaned) = builder.build(&pairs).map_err(|error| error.to_string())?;
    Ok(Function {
        graph,
        counts: counts(&record.features)?,
        name: record.fname,
        n_repeated_arcs: cleaned.repeated,
    })
}

fn counts(rows: &[Vec<f64>]) -> Result<Vec<f32>, String> {
    let mut counts = Vec::with_capacity(rows.len() * N_COLUMNS);
    for (block, row) in rows.iter().enumerate() {
        if row.len() != N_COLUMNS {
            return Err(format!(
                "block {block} must have {N_COLUMNS} features, got {}",
                row.len()
            ));
        }
        for &count in row {
            // Counts beyond this are not whole in `f32`, and infinite ones would poison every sum.
            if !(0.0..=16_777_216.0).contains(&count) {
                return Err(format!(
                    "block {block} has feature {count}, but a count must lie in 0..=16777216"
                ));
            }
            counts.push(count as f32);
        }
    }
    Ok(counts)
}
