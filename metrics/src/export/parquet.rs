//! One table as a Parquet file: no compression, floats and counts plain, text as a dictionary and runs of its places, which is small where
//! rows that share a word follow each other. No value is missing.
//!
//! The crate `parquet` without any of its features brings two dozen others for what is done here by the format's description,
//! <https://github.com/apache/parquet-format>; a test reads the file with two other programs (`sim/python/tests`).

use super::events::varint;
use std::collections::BTreeMap;

/// A column's values.
pub(super) enum Column<'a> {
    Text(Vec<&'a str>),
    /// Signed, so that differences of counts stay right.
    Count(Vec<i64>),
    Seed(Vec<u64>),
    Number(Vec<f64>),
}

/// Rows that are written together; a page of a column holds fewer than 2 GiB.
const GROUP: usize = 1 << 20;
const MAGIC: &[u8] = b"PAR1";

// Encodings, and kinds of pages.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;
const DATA_PAGE: i64 = 0;
const DICTIONARY_PAGE: i64 = 2;

/// The file of `columns` of `n_rows` values each, called as `names` says.
pub(super) fn encode(names: &[&str], columns: &[Column<'_>], n_rows: usize) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let mut groups = Vec::new();
    for start in (0..n_rows).step_by(GROUP) {
        let end = n_rows.min(start + GROUP);
        let group_at = file.len();
        let chunks: Vec<Struct> = names
            .iter()
            .zip(columns)
            .map(|(name, column)| chunk(&mut file, name, column, start..end))
            .collect();
        // RowGroup
        let size = file.len() - group_at;
        groups.push(
            Struct::default()
                .structs(1, &chunks)
                .int(2, size as i64)
                .int(3, (end - start) as i64),
        );
    }
    let root = Struct::default().text(4, "schema").int32(5, columns.len() as i64);
    let mut schema = vec![root];
    schema.extend(names.iter().zip(columns).map(|(name, column)| {
        let (kind, converted) = column.kind();
        // SchemaElement: every value is required
        let element = Struct::default().int32(1, kind).int32(3, 0).text(4, name);
        converted
            .into_iter()
            .fold(element, |element, converted| element.int32(6, converted))
    }));
    // FileMetaData
    let footer = Struct::default()
        .int32(1, 1)
        .structs(2, &schema)
        .int(3, n_rows as i64)
        .structs(4, &groups)
        .text(6, "folkmoot")
        .end();
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    file
}

impl Column<'_> {
    /// The physical type, and what it means.
    fn kind(&self) -> (i64, Option<i64>) {
        match self {
            Column::Text(_) => (6, Some(0)),
            Column::Count(_) => (2, None),
            Column::Seed(_) => (2, Some(14)),
            Column::Number(_) => (5, None),
        }
    }
}

/// Writes the pages of some rows of a column; returns what the footer says of them.
fn chunk(file: &mut Vec<u8>, name: &str, column: &Column<'_>, rows: std::ops::Range<usize>) -> Struct {
    let (at, n_rows) = (file.len(), rows.len());
    let mut dictionary_at = None;
    let plain = |bytes: Vec<[u8; 8]>| (PLAIN, bytes.concat());
    let (encoding, values) = match column {
        Column::Count(values) => plain(values[rows].iter().map(|value| value.to_le_bytes()).collect()),
        Column::Seed(values) => plain(values[rows].iter().map(|value| value.to_le_bytes()).collect()),
        Column::Number(values) => plain(values[rows].iter().map(|value| value.to_le_bytes()).collect()),
        Column::Text(values) => {
            let (words, n_words, places) = dictionary(&values[rows]);
            dictionary_at = Some(at);
            // DictionaryPageHeader
            page(
                file,
                DICTIONARY_PAGE,
                7,
                Struct::default().int32(1, n_words).int32(2, PLAIN),
                &words,
            );
            (RLE_DICTIONARY, places)
        }
    };
    let data_at = file.len();
    // DataPageHeader
    let header = Struct::default()
        .int32(1, n_rows as i64)
        .int32(2, encoding)
        .int32(3, RLE)
        .int32(4, RLE);
    page(file, DATA_PAGE, 5, header, &values);
    let size = (file.len() - at) as i64;
    // ColumnMetaData
    let about = Struct::default()
        .int32(1, column.kind().0)
        .ints(2, &[PLAIN, encoding])
        .texts(3, &[name])
        .int32(4, 0)
        .int(5, n_rows as i64)
        .int(6, size)
        .int(7, size)
        .int(9, data_at as i64);
    let about = dictionary_at
        .into_iter()
        .fold(about, |about, at| about.int(11, at as i64));
    // ColumnChunk
    Struct::default().int(2, at as i64).inner(3, about)
}

/// The different words, each after its length, in order of appearance; how many; and the values' places among them as runs.
fn dictionary(values: &[&str]) -> (Vec<u8>, i64, Vec<u8>) {
    let (mut words, mut places, mut runs) = (Vec::new(), BTreeMap::new(), Vec::<(u32, u64)>::new());
    for &value in values {
        let next = places.len() as u32;
        let place = *places.entry(value).or_insert(next);
        if place == next {
            words.extend((value.len() as u32).to_le_bytes());
            words.extend(value.as_bytes());
        }
        match runs.last_mut() {
            Some((last, length)) if *last == place => *length += 1,
            _ => runs.push((place, 1)),
        }
    }
    // Places of 32 bits: a run is its length, doubled to tell it from another form, and the place once.
    let mut encoded = vec![32];
    for (place, length) in runs {
        varint(&mut encoded, length << 1);
        encoded.extend(place.to_le_bytes());
    }
    (words, places.len() as i64, encoded)
}

fn page(file: &mut Vec<u8>, kind: i64, field: u8, header: Struct, content: &[u8]) {
    let size = content.len() as i64;
    // PageHeader
    let header = Struct::default()
        .int32(1, kind)
        .int32(2, size)
        .int32(3, size)
        .inner(field, header);
    file.extend(header.end());
    file.extend(content);
}

/// A struct in Thrift's compact encoding; fields are added in ascending order.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    const INT32: u8 = 5;
    const INT64: u8 = 6;
    const TEXT: u8 = 8;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;

    fn field(mut self, number: u8, kind: u8) -> Self {
        self.bytes.push(((number - self.last) << 4) | kind);
        self.last = number;
        self
    }

    fn raw_int(mut self, value: i64) -> Self {
        varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
        self
    }

    fn raw_text(mut self, text: &str) -> Self {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
        self
    }

    fn int32(self, number: u8, value: i64) -> Self {
        self.field(number, Struct::INT32).raw_int(value)
    }

    fn int(self, number: u8, value: i64) -> Self {
        self.field(number, Struct::INT64).raw_int(value)
    }

    fn text(self, number: u8, text: &str) -> Self {
        self.field(number, Struct::TEXT).raw_text(text)
    }

    fn inner(mut self, number: u8, inner: Struct) -> Self {
        self = self.field(number, Struct::STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    fn list(mut self, number: u8, kind: u8, length: usize) -> Self {
        self = self.field(number, Struct::LIST);
        self.bytes.push(0xf0 | kind);
        varint(&mut self.bytes, length as u64);
        self
    }

    fn ints(self, number: u8, values: &[i64]) -> Self {
        let list = self.list(number, Struct::INT32, values.len());
        values.iter().fold(list, |list, &value| list.raw_int(value))
    }

    fn texts(self, number: u8, values: &[&str]) -> Self {
        let list = self.list(number, Struct::TEXT, values.len());
        values.iter().fold(list, |list, value| list.raw_text(value))
    }

    fn structs(self, number: u8, values: &[Struct]) -> Self {
        let mut list = self.list(number, Struct::STRUCT, values.len());
        for value in values {
            list.bytes.extend(&value.bytes);
            list.bytes.push(0);
        }
        list
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
