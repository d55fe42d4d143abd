//! The format of a file before a reader parses it: text is decoded to UTF-8 with LF line ends, and
//! a foreign format is named.
//!
//! Every text reader opens its files here, so that a byte order mark, UTF-16, gzip and old line
//! ends are understood everywhere, and a file in another format is refused with its name instead of
//! a complaint about its first line.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::limits::MAX_UNPACKED;
use crate::DataError;

/// What a message about a foreign format offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// An edge list: a command that writes one is shown.
    Edges,
    Text,
}

/// The bytes of a file that is not empty, unpacked.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    let bytes = std::fs::read(path).map_err(|source| DataError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let bytes = unpacked(path, bytes)?;
    if bytes.is_empty() {
        return Err(DataError::format(path, "the file is empty"));
    }
    Ok(bytes)
}

/// Unpacks a gzip file; other bytes stay as they are.
pub(super) fn unpacked(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, DataError> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(bytes);
    }
    let mut content = Vec::new();
    let read = MultiGzDecoder::new(&bytes[..])
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut content);
    read.map_err(|error| DataError::format(path, format!("the gzip file is damaged or cut short ({error})")))?;
    match content.len() as u64 > MAX_UNPACKED {
        true => Err(DataError::format(
            path,
            format!("the gzip file unpacks to more than {MAX_UNPACKED} bytes"),
        )),
        false => Ok(content),
    }
}

/// UTF-8 text without a byte order mark, with LF line ends.
///
/// # Errors
/// For a foreign format, and for text in UTF-16 that is damaged.
pub(super) fn text(path: &Path, bytes: Vec<u8>, wanted: Wanted) -> Result<Vec<u8>, DataError> {
    let bytes = decoded(path, bytes)?;
    let (name, reader) = match foreign(&bytes) {
        Some(found) => found,
        None => return Ok(bytes),
    };
    let message = match (wanted, reader) {
        (_, Some("read_graphml")) => format!("{name}; read it with `GraphMl(path: …)`"),
        (Wanted::Edges, Some("mmread")) => format!("{name}, not an edge list; {}", converts_matrix(path, &bytes)),
        (Wanted::Edges, Some(reader)) => format!("{name}, not an edge list; {}", converts(path, reader)),
        (Wanted::Edges, None) => format!("{name}, not an edge list; write one edge `u v` a line"),
        (Wanted::Text, _) => format!("{name}, which is not read here; save the values as plain text or CSV"),
    };
    Err(DataError::format(path, message))
}

/// As [`text`], of any text format.
///
/// # Errors
/// For a binary format, and for text in UTF-16 that is damaged.
pub(super) fn decoded(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, DataError> {
    let mut bytes = match bytes.first_chunk::<2>() {
        Some(b"\xff\xfe") => utf16(path, &bytes[2..], u16::from_le_bytes)?,
        Some(b"\xfe\xff") => utf16(path, &bytes[2..], u16::from_be_bytes)?,
        _ => bytes,
    };
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    if let Some((name, way)) = binary(&bytes) {
        return Err(DataError::format(path, format!("{name}, not a text file; {way}")));
    }
    if bytes.iter().take(1 << 12).any(|&byte| byte == 0) {
        let rule = "a binary file, or UTF-16 without a byte order mark; save it as text in UTF-8";
        return Err(DataError::format(path, rule));
    }
    line_ends(&mut bytes);
    Ok(bytes)
}

fn utf16(path: &Path, bytes: &[u8], word: fn([u8; 2]) -> u16) -> Result<Vec<u8>, DataError> {
    let words: Vec<u16> = bytes.chunks_exact(2).map(|pair| word([pair[0], pair[1]])).collect();
    let text = String::from_utf16(&words).map(String::into_bytes);
    text.map_err(|_| DataError::format(path, "the text in UTF-16 is damaged; save it in UTF-8"))
}

/// Turns every CR that no LF follows into an LF.
fn line_ends(bytes: &mut [u8]) {
    for at in 0..bytes.len() {
        if bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
            bytes[at] = b'\n';
        }
    }
}

/// The name of a binary format that no text reader takes, and the way out.
pub(super) fn binary(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const KNOWN: &[(&[u8], &str, &str)] = &[
        (
            b"\x28\xb5\x2f\xfd",
            "a file packed with zstd",
            "unpack it with `zstd -d`",
        ),
        (b"\xfd7zXZ\0", "a file packed with xz", "unpack it with `xz -d`"),
        (b"BZh", "a file packed with bzip2", "unpack it with `bzip2 -d`"),
        (b"\x04\x22\x4d\x18", "a file packed with lz4", "unpack it with `lz4 -d`"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it with `7z x`"),
        (b"Rar!", "a RAR archive", "unpack it with `unrar x`"),
        (b"\x1f\x9d", "a file packed with compress", "unpack it with `gzip -d`"),
        (
            b"\x89HDF\r\n\x1a\n",
            "an HDF5 file",
            "write its arrays with h5py and numpy.savetxt or numpy.savez",
        ),
        (
            b"\x93NUMPY",
            "a single NumPy array",
            "write edges with numpy.savetxt(\"edges.txt\", edges, \"%d\"), or several arrays with numpy.savez",
        ),
        (b"MATLAB 5.0", "a MATLAB file", "read it with `Mat(path: …)`"),
        (
            b"MATLAB 7.3",
            "a MATLAB 7.3 (HDF5) file",
            "save it with `-v7` and read it with `Mat(path: …)`",
        ),
        (
            b"PAR1",
            "a Parquet file",
            "write it with pandas.read_parquet(…).to_csv(…, index=False)",
        ),
        (
            b"ARROW1",
            "an Arrow file",
            "write it with pandas.read_feather(…).to_csv(…, index=False)",
        ),
        (b"SQLite format 3\0", "an SQLite database", "export its table as CSV"),
        (b"%PDF-", "a PDF document", "download the data file itself"),
    ];
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(zipped(bytes));
    }
    if let Some(&(_, name, way)) = KNOWN.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        return Some((name, way));
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(("a tar archive", "unpack it with `tar xf`"));
    }
    let is_pickle = matches!(bytes, [0x80, 2..=5, ..]);
    is_pickle.then_some((
        "a Python pickle (pickle or torch.save)",
        "load it in Python and save its graph with folkmoot.save",
    ))
}

/// What a zip archive is, by the first names in it, and the way out.
fn zipped(bytes: &[u8]) -> (&'static str, &'static str) {
    const KNOWN: &[(&[u8], &str, &str)] = &[
        (
            b"/data.pkl",
            "a file of torch.save",
            "load it in Python and save its graph with folkmoot.save",
        ),
        (
            b"[Content_Types].xml",
            "an office document, such as an Excel sheet",
            "export its table as CSV",
        ),
        (b".npy", "a NumPy archive", "read it with `Npz(path: …)`"),
    ];
    let head = &bytes[..bytes.len().min(1 << 12)];
    let is_in = |name: &[u8]| head.windows(name.len()).any(|part| part == name);
    let known = KNOWN.iter().find(|(name, ..)| is_in(name));
    known.map_or(("a zip archive", "unpack it with `unzip`"), |&(_, name, way)| {
        (name, way)
    })
}

/// The name of a text format that no reader takes, and the function of NetworkX or SciPy that reads
/// its graph.
fn foreign(bytes: &[u8]) -> Option<(&'static str, Option<&'static str>)> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 14)]);
    let lower = head.trim_start().to_ascii_lowercase();
    let lower = match lower.starts_with("%%matrixmarket") {
        true => lower.as_str(),
        false => past_comments(&lower),
    };
    const BEGINNINGS: &[(&str, &str, Option<&str>)] = &[
        ("%%matrixmarket", "a Matrix Market file", Some("mmread")),
        ("*vertices", "a Pajek file", Some("read_pajek")),
        ("*network", "a Pajek file", Some("read_pajek")),
        ("*arcs", "a Pajek file", Some("read_pajek")),
        ("*edges", "a Pajek file", Some("read_pajek")),
        (">>graph6<<", "a graph6 file", Some("read_graph6")),
        (">>sparse6<<", "a sparse6 file", Some("read_sparse6")),
        ("leda.graph", "a LEDA file", Some("read_leda")),
        ("nodedef>", "a GDF file", None),
        ("@relation", "an ARFF file", None),
        ("{\\rtf", "a Rich Text document", None),
        (
            "version https://git-lfs",
            "a Git LFS pointer instead of the file (run `git lfs pull`)",
            None,
        ),
    ];
    if let Some(&(_, name, reader)) = BEGINNINGS.iter().find(|(word, ..)| lower.starts_with(word)) {
        return Some((name, reader));
    }
    if lower.starts_with('<') {
        let has = |word: &str| lower.contains(word);
        return match () {
            () if has("<graphml") => Some(("a GraphML file", Some("read_graphml"))),
            () if has("<gexf") => Some(("a GEXF file", Some("read_gexf"))),
            () if has("<html") || has("<!doctype") => Some(("a web page, so that the download went wrong", None)),
            () if has("<?xml") => Some(("an XML file", None)),
            () => None,
        };
    }
    let mut rest = lower.chars();
    match (rest.next(), rest.next()) {
        (Some('{'), Some('"' | '\n' | '\r' | '\t' | ' ' | '}'))
        | (Some('['), Some('[' | '{' | '"' | '\n' | '\r' | '\t' | ' ')) => {
            return Some(("a JSON file", None));
        }
        _ => {}
    }
    let mut lines = lower
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next().unwrap_or_default();
    let word = first.split([' ', '\t', '[', '{', '"']).next().unwrap_or_default();
    let opens = |bracket: char| {
        let mut after = lower
            .split('\n')
            .skip_while(|line| !line.trim_start().starts_with("graph"));
        let joined: String = after.by_ref().take(2).collect();
        joined.contains(bracket)
    };
    match word {
        "graph" | "creator" | "version" | "comment" if opens('[') => Some(("a GML file", Some("read_gml"))),
        "graph" | "digraph" | "strict" if first.contains('{') => Some(("a Graphviz (DOT) file", None)),
        "c" | "p" if is_dimacs(lower) => Some(("a DIMACS file", None)),
        "dl" if first.contains("n=") || first.contains("n =") => Some(("a UCINET DL file", None)),
        _ => None,
    }
}

/// A text from its first line that is no comment: of a hash, a percent sign, `//`, or `/* … */`.
fn past_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = match rest {
            _ if rest.starts_with("/*") => rest.split_once("*/"),
            _ if rest.starts_with(['#', '%']) || rest.starts_with("//") => rest.split_once('\n'),
            _ => return rest,
        };
        rest = after.map_or("", |(_, rest)| rest.trim_start());
    }
}

/// Whether some line is DIMACS' `p FORMAT NODES EDGES`.
fn is_dimacs(lower: &str) -> bool {
    lower.lines().any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        matches!(fields[..], ["p", _, n, m] if n.parse::<u64>().is_ok() && m.parse::<u64>().is_ok())
    })
}

/// A command that writes `edges.txt` from a file that a function of NetworkX reads.
pub(super) fn converts(path: &Path, reader: &str) -> String {
    // Nodes of a GML file need no label, and have ids.
    let by_id = if reader == "read_gml" { ", label='id'" } else { "" };
    format!(
        "convert it: python3 -c \"import sys, networkx as nx; \
         g = nx.convert_node_labels_to_integers(nx.{reader}(sys.argv[1]{by_id})); \
         nx.write_edgelist(g, 'edges.txt', data=False)\" {}",
        in_shell(path)
    )
}

/// The same of a Matrix Market file, with the entries as weights if there are any.
fn converts_matrix(path: &Path, bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 14)]);
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    let is_pattern = lines
        .next()
        .is_some_and(|banner| banner.to_ascii_lowercase().contains("pattern"));
    let sizes: Vec<&str> = lines
        .find(|line| !line.starts_with('%'))
        .map(|line| line.split_ascii_whitespace().collect())
        .unwrap_or_default();
    if let [rows, columns, ..] = sizes[..]
        && rows != columns
    {
        return format!(
            "and its matrix of {rows} rows and {columns} columns is none of a graph; write one edge `u v` a line"
        );
    }
    let (columns, format, state) = match is_pattern {
        true => ("m.row, m.col", "%d", ""),
        false => ("m.row, m.col, m.data", "%d %d %.9g", ", and state `weighted: true`"),
    };
    format!(
        "convert it{state}: python3 -c \"import sys, numpy as np, scipy.io, scipy.sparse; \
         m = scipy.sparse.coo_matrix(scipy.io.mmread(sys.argv[1])); np.savetxt('edges.txt', np.c_[{columns}], '{format}')\" {}",
        in_shell(path)
    )
}

/// A command that writes a text in UTF-8, for one whose bytes are not.
pub(super) fn in_utf8(path: &Path) -> String {
    let file = in_shell(path);
    format!("if it is in Latin-1, convert it: iconv -f ISO-8859-1 -t UTF-8 {file} > utf8.txt")
}

/// A path as an argument of a command.
pub(super) fn in_shell(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+=:,@%".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
