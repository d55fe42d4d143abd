//! The tables of the run directory as CSV text: which columns, in which order, and how a number is
//! spelled.
//!
//! Promises: the header row is always there; reading what was written gives the same bits back; a
//! float has its shortest form that does so, and is a float for every reader (`3.0`, not `3`);
//! equal tables have equal bytes.

use crate::ids::Direction;
use crate::run_dir::canonical::present_column;
use crate::words::visible;
use std::borrow::Cow;
use std::fmt;

/// A finite number in its shortest form that reads back to the same bits, or `inf`, `-inf`, `nan`.
///
/// Whole numbers have no fraction; numbers below 1e-5 or from 1e16 on are written with an exponent.
pub fn number_text(x: f64) -> String {
    if x.is_nan() {
        // One spelling for every NaN, whatever its sign and payload: bits of a NaN are no result.
        return "nan".to_owned();
    }
    let size = x.abs();
    if x.is_infinite() || size == 0.0 || (1e-5..1e16).contains(&size) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// As [`number_text`], with `.0` behind a whole number: a cell of a column that may hold fractions,
/// so that whoever guesses a column's type by its cells guesses the same in every run.
pub fn float_text(x: f64) -> String {
    let mut text = number_text(x);
    if is_whole(text.as_bytes()) {
        text.push_str(".0");
    }
    text
}

fn is_whole(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A cell without the `.0` of [`float_text`].
pub(crate) fn bare(cell: &[u8]) -> &[u8] {
    match cell.strip_suffix(b".0") {
        Some(whole) if is_whole(whole) => whole,
        _ => cell,
    }
}

/// A table's text with every cell [`bare`], as directories were written before floats had their
/// point: what a fingerprint is taken of, so that it is one of numbers and not of how they are
/// spelled.
pub(crate) fn bare_cells(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for piece in bytes.split_inclusive(|byte| matches!(byte, b',' | b'\n')) {
        let n = piece.len() - usize::from(piece.ends_with(b",") || piece.ends_with(b"\n"));
        text.extend_from_slice(bare(&piece[..n]));
        text.extend_from_slice(&piece[n..]);
    }
    text
}

/// The inverse of [`number_text`] and [`float_text`]; also takes every other decimal form.
pub fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// A value that can stand in one cell of a table.
pub trait Field: Sized {
    /// What a cell may hold, for error messages.
    const RULE: &'static str;
    /// What a cell holds, for readers in other languages.
    const HOLDS: &'static str;
    fn to_text(&self) -> String;
    /// The value of a cell's text, if it is one.
    fn from_text(text: &str) -> Option<Self>;
}

macro_rules! whole_number {
    ($($type:ty),*) => {$(
        impl Field for $type {
            const RULE: &'static str = concat!("must be a whole number that fits ", stringify!($type));
            const HOLDS: &'static str = "a whole number";
            fn to_text(&self) -> String {
                self.to_string()
            }
            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}
whole_number!(u32, u64);

impl Field for f64 {
    const RULE: &'static str = "must be a number, inf or nan";
    const HOLDS: &'static str = "a float";
    fn to_text(&self) -> String {
        float_text(*self)
    }
    fn from_text(text: &str) -> Option<Self> {
        parse_number(text)
    }
}

impl Field for Option<f64> {
    const RULE: &'static str = "must be blank, a number, inf or nan";
    const HOLDS: &'static str = "a float or blank";
    fn to_text(&self) -> String {
        self.map(float_text).unwrap_or_default()
    }
    fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(None)
        } else {
            parse_number(text).map(Some)
        }
    }
}

impl Field for Option<u64> {
    const RULE: &'static str = "must be blank or a whole number that fits u64";
    const HOLDS: &'static str = "a whole number or blank";
    fn to_text(&self) -> String {
        self.map(|n| n.to_string()).unwrap_or_default()
    }
    fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            Some(None)
        } else {
            text.parse().ok().map(Some)
        }
    }
}

impl Field for bool {
    const RULE: &'static str = "must be true or false";
    const HOLDS: &'static str = "true or false";
    fn to_text(&self) -> String {
        self.to_string()
    }
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Field for String {
    const RULE: &'static str = "must be text";
    const HOLDS: &'static str = "text";
    fn to_text(&self) -> String {
        self.clone()
    }
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Field for Direction {
    const RULE: &'static str = "must be uplink, downlink or peer";
    const HOLDS: &'static str = "uplink, downlink or peer";
    fn to_text(&self) -> String {
        self.as_str().to_owned()
    }
    fn from_text(text: &str) -> Option<Self> {
        Direction::ALL.into_iter().find(|direction| direction.as_str() == text)
    }
}

/// A row of one of the run directory's tables.
pub trait Row: Sized {
    /// The table's file name.
    const FILE: &'static str;
    /// The names of its columns, in order.
    const COLUMNS: &'static [&'static str];
    /// How many of the last columns directories of earlier versions lack; they are read as blank.
    const ADDED: usize = 0;
    /// What each column is.
    fn columns() -> Vec<Column>;
    /// The cells, one per column.
    fn cells(&self) -> Vec<String>;
    /// The row of these cells, of which there is one per column; `Err` holds the first bad column's
    /// index and its rule.
    fn from_cells(cells: &[&str]) -> Result<Self, (usize, &'static str)>;
}

/// What a column of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    /// What its cells hold: the field's [`Field::HOLDS`].
    pub holds: &'static str,
    /// What it says: the doc comment of the field.
    pub about: &'static str,
}

pub const fn column(name: &'static str, holds: &'static str, about: &'static str) -> Column {
    Column { name, holds, about }
}

pub(crate) fn cell<F: Field>(cells: &[&str], column: &mut usize) -> Result<F, (usize, &'static str)> {
    let at = *column;
    *column += 1;
    cells.get(at).and_then(|text| F::from_text(text)).ok_or((at, F::RULE))
}

/// Declares a [`Row`] whose columns are its fields and say what their docs say, so that they cannot
/// drift apart. Behind `;` stands how many of the last columns directories of earlier versions
/// lack.
macro_rules! table {
    (
        $file:literal $(; $added:literal added)?
        $(#[$meta:meta])*
        pub struct $row:ident { $($(#[doc = $about:literal])+ pub $column:ident: $type:ty,)+ }
    ) => {
        $(#[$meta])*
        pub struct $row {
            $($(#[doc = $about])+ pub $column: $type,)+
        }

        impl $crate::table::Row for $row {
            $(const ADDED: usize = $added;)?
            const FILE: &'static str = $file;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($column)),+];
            fn columns() -> Vec<$crate::table::Column> {
                vec![$($crate::table::Column {
                    name: stringify!($column),
                    holds: <$type as $crate::table::Field>::HOLDS,
                    about: concat!($($about),+).trim_ascii(),
                }),+]
            }
            fn cells(&self) -> Vec<String> {
                vec![$($crate::table::Field::to_text(&self.$column)),+]
            }
            fn from_cells(cells: &[&str]) -> Result<Self, (usize, &'static str)> {
                let mut column = 0;
                Ok($row { $($column: $crate::table::cell(cells, &mut column)?),+ })
            }
        }
    };
}
pub(crate) use table;

table! {
    "timing.csv"; 1 added
    /// A row of `timing.csv`, the only file that may differ between two runs of one scenario.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TimingRow {
        /// The stage of the run: `load`, `share out`, `prepare`, `clients`, `first window`,
        /// `simulate` or what a strategy names, as `simulate: walks`, and `score`. Then, in no
        /// time, what the engine held: `memory: queues`, `events` in them, `outboxes`, `states` of
        /// clients without what they point to, `accounts`, `releases` by client, and the `record`
        /// of the rounds.
        pub stage: String,
        /// Wall-clock seconds it took.
        pub seconds: f64,
        /// The process's peak memory when it ended, in bytes, where the system tells.
        pub peak_memory_bytes: Option<u64>,
        /// How much of its memory was in use when it ended, in bytes, where the system tells. Pages
        /// of mapped files that were read count. Of what the engine held, how much that was at
        /// most.
        pub memory_bytes: Option<u64>,
    }
}

/// Where and how a table's text breaks the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The line, counted from 1 (the header).
    pub line: u64,
    /// The column's name, where one cell is to blame.
    pub column: Option<String>,
    /// The rule that is broken, and what was there instead.
    pub rule: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.rule)
    }
}

/// Whether a spreadsheet takes a cell for a formula, or would but for apostrophes before it. A
/// number is none.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches('\'').starts_with(|c| "=+-@".contains(c)) && cell.parse::<f64>().is_err()
}

/// The text of a table of `header` and `rows`. Hidden characters are written as in a card; a text
/// that a spreadsheet would take for a formula has an apostrophe before it.
pub(crate) fn encode_cells<I: IntoIterator<Item = Vec<String>>>(header: &[impl AsRef<str>], rows: I) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = header.iter().map(|name| name.as_ref().to_owned()).collect();
    for mut row in std::iter::once(header).chain(rows) {
        for cell in &mut row {
            if let Cow::Owned(shown) = visible(cell) {
                *cell = shown;
            }
            if is_formula(cell) {
                cell.insert(0, '\'');
            }
        }
        writer
            .write_record(&row)
            .expect("a Vec takes every byte, and every row has the header's length");
    }
    writer.into_inner().expect("a Vec takes every byte")
}

/// A table's text as its header and its rows, each with the line it starts on.
pub(crate) type Cells = (Vec<String>, Vec<(u64, csv::StringRecord)>);

/// A record with the texts that were written, of which [`encode_cells`] may have changed some.
fn plain(record: csv::StringRecord) -> csv::StringRecord {
    let text = |cell: &str| cell.strip_prefix('\'').is_some_and(is_formula);
    if !record.iter().any(text) {
        return record;
    }
    let cells = record.iter().map(|cell| if text(cell) { &cell[1..] } else { cell });
    let mut plain: csv::StringRecord = cells.collect();
    plain.set_position(record.position().cloned());
    plain
}

/// Splits a table's text into cells; every row has as many cells as the header.
pub(crate) fn decode_cells(bytes: &[u8]) -> Result<Cells, TableError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
    let mut rows = reader.records().map(|record| {
        let record = record.map_err(|error| TableError {
            line: error.position().map_or(1, csv::Position::line),
            column: None,
            rule: match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("must have {expected_len} cells as the header has, got {len}")
                }
                csv::ErrorKind::Utf8 { .. } => "must be UTF-8 text".to_owned(),
                _ => error.to_string(),
            },
        })?;
        Ok((record.position().map_or(1, csv::Position::line), plain(record)))
    });
    let header = match rows.next() {
        Some(row) => row?.1.iter().map(str::to_owned).collect(),
        None => {
            return Err(TableError {
                line: 1,
                column: None,
                rule: "must have a header row, got an empty file".to_owned(),
            });
        }
    };
    Ok((header, rows.collect::<Result<_, _>>()?))
}

/// The text of a table: its header, then a line a row.
pub fn encode<R: Row>(rows: &[R]) -> Vec<u8> {
    encode_cells(R::COLUMNS, rows.iter().map(Row::cells))
}

/// The rows of a table's text.
///
/// # Errors
///
/// The first line that breaks the format: other columns than [`Row::COLUMNS`], a row of another
/// length, a cell that is no value of its column.
pub fn decode<R: Row>(bytes: &[u8]) -> Result<Vec<R>, TableError> {
    let (header, rows) = decode_cells(bytes)?;
    let header: Vec<&str> = header.iter().map(|column| present_column(R::FILE, column)).collect();
    let (first, _) = R::COLUMNS.split_at(R::COLUMNS.len() - R::ADDED);
    if header != R::COLUMNS && header != first {
        let rule = format!("must be the header {}, got {}", R::COLUMNS.join(","), header.join(","));
        return Err(TableError {
            line: 1,
            column: None,
            rule,
        });
    }
    let row = |(line, record): &(u64, csv::StringRecord)| {
        let mut cells: Vec<&str> = record.iter().collect();
        cells.resize(R::COLUMNS.len(), "");
        R::from_cells(&cells).map_err(|(column, rule)| TableError {
            line: *line,
            column: R::COLUMNS.get(column).map(|name| (*name).to_owned()),
            rule: format!("{rule}, got {:?}", cells.get(column).unwrap_or(&"")),
        })
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{ClientRow, MessageRow, PartitionRow, PrivacyRow, RoundRow, ScoreRow};
    use proptest::prelude::*;

    #[test]
    fn a_text_that_a_spreadsheet_would_compute_has_an_apostrophe_and_is_read_without() {
        let cells = [
            "=1+1", "+a", "-x", "@b", "'=c", "''-d", "'e", "-1.5", "+2", "-inf", "-1e-3", "a=b", "",
        ];
        let header: Vec<String> = (0..cells.len()).map(|i| format!("c{i}")).collect();
        let bytes = encode_cells(&header, [cells.map(str::to_owned).to_vec()]);
        let line = "'=1+1,'+a,'-x,'@b,''=c,'''-d,'e,-1.5,+2,-inf,-1e-3,a=b,";
        assert_eq!(String::from_utf8_lossy(&bytes).lines().nth(1), Some(line));
        let (_, rows) = decode_cells(&bytes).unwrap();
        assert_eq!(rows[0].1.iter().collect::<Vec<_>>(), cells);
    }

    #[test]
    fn numbers_have_their_shortest_form() {
        let forms = [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (1.5e-7, "1.5e-7"),
            (1e16, "1e16"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (-f64::NAN, "nan"),
        ];
        for (x, text) in forms {
            assert_eq!(number_text(x), text);
        }
    }

    #[test]
    fn a_float_is_one_for_every_reader_and_its_fingerprint_is_of_the_number() {
        let texts = [3.0, -0.0, 0.5, 1e16, f64::INFINITY, f64::NAN].map(|x: f64| x.to_text());
        assert_eq!(texts, ["3.0", "-0.0", "0.5", "1e16", "inf", "nan"]);
        assert_eq!(
            [Some(2.0), None].map(|x: Option<f64>| x.to_text()),
            ["2.0".to_owned(), String::new()]
        );
        let table = b"a,b\n3.0,-0.0\nx.0,1.50\n.0,\"1.0\"\n10.0,7";
        let bare: &[u8] = b"a,b\n3,-0\nx.0,1.50\n.0,\"1.0\"\n10,7";
        assert_eq!(bare_cells(table), bare);
        assert_eq!(bare_cells(bare), bare);
    }

    #[test]
    fn a_count_may_be_blank() {
        let text = [None, Some(0), Some(7)].map(|count: Option<u64>| count.to_text());
        assert_eq!(text, ["", "0", "7"]);
        assert_eq!(
            ["", "7", "-1"].map(<Option<u64>>::from_text),
            [Some(None), Some(Some(7)), None]
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_their_line() {
        let error = decode_cells(b"a,b\n1,2\n\xff,2\n").unwrap_err();
        assert_eq!((error.line, error.rule.as_str()), (3, "must be UTF-8 text"));
    }

    #[test]
    fn an_empty_table_has_its_header() {
        assert_eq!(encode::<ScoreRow>(&[]), b"round,virtual_s,split,metric,value,n\n");
        assert_eq!(decode::<ScoreRow>(&encode::<ScoreRow>(&[])), Ok(Vec::new()));
    }

    #[test]
    fn the_columns_are_those_of_the_contract() {
        assert_eq!(
            RoundRow::COLUMNS.join(","),
            "round,virtual_s,cohort,completed,dropped,late,staleness_mean"
        );
        assert_eq!(
            MessageRow::COLUMNS.join(","),
            "phase,round,kind,direction,sent,delivered,dropped,in_flight,retried,payload_bytes,header_bytes,\
             expected_messages,materialised"
        );
        assert_eq!(
            PrivacyRow::COLUMNS.join(","),
            "mechanism,unit,releases,epsilon_per_release,delta_per_release,epsilon_max_client,epsilon_mean_client,composition,\
             epsilon_claimed,delta_total,epsilon_basic,epsilon_advanced,epsilon_renyi,\
             epsilon_pld,epsilon_total,accountant"
        );
        assert_eq!(
            ClientRow::COLUMNS.join(","),
            "client,shard_size,rounds,uplink_bytes,downlink_bytes,peer_bytes,compute_s,online_s"
        );
        assert_eq!(
            PartitionRow::COLUMNS.join(","),
            "client,clients,shard_size,inner_edges,cut_edges,label,items"
        );
        assert_eq!(
            TimingRow::COLUMNS.join(","),
            "stage,seconds,peak_memory_bytes,memory_bytes"
        );
    }

    #[test]
    fn columns_that_were_added_are_blank_in_a_table_from_before() {
        let rows = decode::<TimingRow>(b"stage,seconds,peak_memory_bytes\nload,1.5,7\n").unwrap();
        assert_eq!((rows[0].peak_memory_bytes, rows[0].memory_bytes), (Some(7), None));
        assert!(decode::<TimingRow>(b"stage,seconds\nload,1.5\n").is_err());
        assert!(decode::<TimingRow>(b"stage,seconds,peak_memory_bytes,memory_bytes\nload,1.5,7\n").is_err());
    }

    #[test]
    fn a_bad_cell_is_named_with_line_column_and_rule() {
        let text = "round,virtual_s,split,metric,value,n\n0,0,all,auc,0.5,10\n1,0,all,auc,high,10\n";
        let error = decode::<ScoreRow>(text.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3, column value: must be a number, inf or nan, got \"high\""
        );
        let error = decode::<ScoreRow>(b"round,virtual_s\n").unwrap_err();
        assert!(
            error.to_string().starts_with("line 1: must be the header round,"),
            "{error}"
        );
        let error = decode::<ScoreRow>(&text.as_bytes()[..text.len() - 8]).unwrap_err();
        assert_eq!(error.to_string(), "line 3: must have 6 cells as the header has, got 5");
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    proptest! {
        #[test]
        fn score_rows_round_trip(
            rows in proptest::collection::vec((any::<u32>(), any::<f64>(), ".*", "[a-z\",\n]*", any::<u64>()), 0..20),
        ) {
            let rows: Vec<ScoreRow> = rows
                .into_iter()
                .map(|(round, value, split, metric, n)| ScoreRow { round, virtual_s: -value, split, metric, value, n })
                .collect();
            let back: Vec<ScoreRow> = decode(&encode(&rows)).unwrap();
            prop_assert_eq!(back.len(), rows.len());
            for (a, b) in rows.iter().zip(&back) {
                prop_assert!(same(a.value, b.value) && same(a.virtual_s, b.virtual_s));
                let (split, metric) = (visible(&a.split), visible(&a.metric));
                prop_assert_eq!((a.round, &*split, &*metric, a.n), (b.round, &*b.split, &*b.metric, b.n));
            }
            prop_assert_eq!(encode(&rows), encode(&back));
        }

        #[test]
        fn damaged_text_is_an_error_or_rows_but_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<MessageRow>(&bytes);
            let mut table = encode::<RoundRow>(&[]);
            table.extend(bytes);
            let _ = decode::<RoundRow>(&table);
        }

        #[test]
        fn message_rows_round_trip(counts in any::<[u64; 7]>(), expected in any::<Option<u32>>(), way in 0..3usize) {
            let row = MessageRow {
                phase: "walk".into(), round: 3, kind: "step".into(), direction: Direction::ALL[way],
                sent: counts[0], delivered: counts[1], dropped: counts[2], in_flight: counts[3], retried: counts[4],
                payload_bytes: counts[5], header_bytes: counts[6], expected_messages: expected.map(|n| f64::from(n) / 7.0),
                materialised: counts[6] % 2 == 0,
            };
            prop_assert_eq!(decode::<MessageRow>(&encode(std::slice::from_ref(&row))), Ok(vec![row]));
        }
    }
}
