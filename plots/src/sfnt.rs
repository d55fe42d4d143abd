//! Tables of a font file, and the file as browsers take it, WOFF: tables packed one by one.
//!
//! Formats: the OpenType specification 1.9 and <https://www.w3.org/TR/WOFF/>. Numbers are
//! big-endian.

use miniz_oxide::deflate::compress_to_vec_zlib;
use std::collections::BTreeMap;

/// How hard to pack.
const LEVEL: u8 = 9;

type Tag = [u8; 4];

/// The tables of a font file by name; none where it is damaged.
pub(crate) fn tables(file: &[u8]) -> impl Iterator<Item = (Tag, &[u8])> {
    const HEAD: usize = 12;
    const ENTRY: usize = 16;
    let entries = file.get(HEAD..).unwrap_or_default().as_chunks::<ENTRY>().0;
    let n_tables = file
        .get(4..6)
        .map_or(0, |n| usize::from(u16::from_be_bytes([n[0], n[1]])));
    entries.iter().take(n_tables).filter_map(|entry| {
        let words = entry.as_chunks::<4>().0;
        let [start, length] = [words[2], words[3]].map(|word| u32::from_be_bytes(word) as usize);
        Some((words[0], file.get(start..start.checked_add(length)?)?))
    })
}

/// Numbers of 16 bits.
fn words(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// Numbers of 32 bits.
fn longs(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// The table that maps characters, in order, to glyphs, in format 12.
pub(crate) fn cmap(characters: &[(char, u16)]) -> Vec<u8> {
    const HEAD: u32 = 16;
    const GROUP: u32 = 12;
    let mut groups: Vec<[u32; 3]> = Vec::new();
    for (c, glyph) in characters.iter().map(|(c, glyph)| (u32::from(*c), u32::from(*glyph))) {
        match groups.last_mut() {
            Some([first, last, start]) if *last + 1 == c && *start + (c - *first) == glyph => *last = c,
            _ => groups.push([c, c, glyph]),
        }
    }
    let n_groups = groups.len() as u32;
    // One subtable, for Windows, of all of Unicode, which begins behind these twelve bytes.
    let mut table = words(&[0, 1, 3, 10, 0, 12]);
    table.extend(words(&[12, 0]));
    table.extend(longs(&[HEAD + GROUP * n_groups, 0, n_groups]));
    table.extend(longs(groups.as_flattened()));
    table
}

/// The table of how far pairs of glyphs are moved together, in format 0.
pub(crate) fn kern(pairs: &BTreeMap<(u16, u16), i16>) -> Vec<u8> {
    const HEAD: u16 = 14;
    const PAIR: u16 = 6;
    let n_pairs = pairs.len() as u16;
    let power = n_pairs.checked_ilog2().unwrap_or_default();
    let range = PAIR << power;
    // One subtable, of horizontal kerning.
    let mut table = words(&[0, 1, 0, HEAD + PAIR * n_pairs, 1]);
    table.extend(words(&[n_pairs, range, power as u16, PAIR * n_pairs - range]));
    for ((left, right), moved) in pairs {
        table.extend(words(&[*left, *right, *moved as u16]));
    }
    table
}

/// The table of what a font says of itself, in American English: the number of what it says, and
/// what.
pub(crate) fn name(said: &[(u16, &str)]) -> Vec<u8> {
    const HEAD: u16 = 6;
    const ENTRY: u16 = 12;
    let n_entries = said.len() as u16;
    let mut table = words(&[0, n_entries, HEAD + ENTRY * n_entries]);
    let mut texts = Vec::new();
    for (number, text) in said {
        let text = words(&text.encode_utf16().collect::<Vec<u16>>());
        table.extend(words(&[3, 1, 0x409, *number, text.len() as u16, texts.len() as u16]));
        texts.extend(text);
    }
    table.extend(texts);
    table
}

/// The table `post` without the names of glyphs.
pub(crate) fn nameless(post: &[u8]) -> Vec<u8> {
    const HEAD: usize = 32;
    let mut table = longs(&[0x0003_0000]);
    table.extend(post.iter().take(HEAD).skip(table.len()));
    table
}

/// Tables as a WOFF file.
pub(crate) fn woff(tables: &BTreeMap<Tag, Vec<u8>>) -> Vec<u8> {
    const HEAD: usize = 44;
    const ENTRY: usize = 20;
    let padded = |length: usize| length.next_multiple_of(4);
    let mut entries = Vec::new();
    let mut data = Vec::new();
    for (name, table) in tables {
        let packed = compress_to_vec_zlib(table, LEVEL);
        let packed = if packed.len() < table.len() { &packed } else { table };
        let start = HEAD + ENTRY * tables.len() + data.len();
        entries.extend(name);
        let sizes = [start, packed.len(), table.len()].map(|n| n as u32);
        entries.extend(longs(&sizes));
        entries.extend(longs(&[sum(table)]));
        data.extend_from_slice(packed);
        data.resize(padded(data.len()), 0);
    }
    let unpacked: usize = tables.values().map(|table| 16 + padded(table.len())).sum();
    let whole = HEAD + entries.len() + data.len();
    // Of TrueType outlines, in version 1.0.
    let mut file = b"wOFF\0\x01\0\0".to_vec();
    file.extend(longs(&[whole as u32]));
    file.extend(words(&[tables.len() as u16, 0]));
    file.extend(longs(&[12 + unpacked as u32]));
    file.extend(words(&[1, 0]));
    // No metadata, and nothing of its own.
    file.extend(longs(&[0; 5]));
    file.extend(entries);
    file.extend(data);
    file
}

/// The checksum of a table: its words' sum, without the one that holds the file's own.
fn sum(table: &[u8]) -> u32 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_be_bytes(word)
    };
    table.chunks(4).map(word).fold(0, u32::wrapping_add)
}
