//! The members of an archive: unpacked within limits, by name, and those that no reader takes with
//! their type and shape.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use folkmoot_metrics::npy::{Array, Values};
use zip::ZipArchive;

use super::own;
use crate::readers::format;
use crate::readers::limits::{MAX_NODES, MAX_UNPACKED};

/// The members that are read, if they are there.
pub(super) const MEMBERS: &[&str] = &[
    "adj_data",
    "adj_indices",
    "adj_indptr",
    "adj_shape",
    "attr_data",
    "attr_indices",
    "attr_indptr",
    "attr_matrix",
    "attr_shape",
    "edge_index",
    "edge_weight",
    "edges",
    "labels",
    "labels_data",
    "labels_indices",
    "labels_indptr",
    "labels_shape",
    "node_features",
    "node_labels",
    "num_nodes",
    "test_mask",
    "test_masks",
    "train_mask",
    "train_masks",
    "val_mask",
    "val_masks",
    "x",
    "y",
];

/// The members of a sparse matrix as SciPy writes it.
pub(super) const SPARSE: &[&str] = &["data", "indices", "indptr", "shape", "format"];

/// The most that an archive may hold, all of its members together.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Bytes as they lie in the archive, unpacked.
    pub(super) bytes: u64,
    /// Numbers: each takes eight bytes in memory, however few in the archive.
    pub(super) numbers: usize,
}

pub(super) const LIMITS: Limits = Limits {
    bytes: MAX_UNPACKED,
    numbers: 1 << 27,
};

/// The arrays of an archive by name.
pub(super) struct Members {
    pub(super) arrays: BTreeMap<&'static str, Array>,
    /// The members that are not read: name, type and shape as far as known.
    pub(super) others: Vec<(String, String, Vec<usize>)>,
    /// Whether they are those of this project's layout.
    pub(super) is_own: bool,
    /// What the archive holds, for messages.
    found: String,
}

/// Entries `(column, value)` by row.
pub(super) type EntryRows = Vec<Vec<(u32, f32)>>;

/// A sparse matrix as the archive holds it: columns within a row in any order.
pub(super) struct Sparse {
    pub(super) n_rows: u32,
    pub(super) n_columns: u32,
    pub(super) rows: EntryRows,
}

/// The one `.npz` archive that a zip file has in it, or the file as it is.
pub(super) fn unwrapped(bytes: Vec<u8>, limits: Limits) -> Result<Vec<u8>, String> {
    let mut archive = archive_of(&bytes[..])?;
    let inner = match archive.len() {
        1 => archive.by_index(0).ok(),
        _ => None,
    };
    let Some(inner) = inner.filter(|file| file.name_raw().ends_with(b".npz")) else {
        drop(archive);
        return Ok(bytes);
    };
    let mut content = Vec::new();
    let read = inner.take(limits.bytes + 1).read_to_end(&mut content);
    read.map_err(|error| format!("the .npz archive in it is damaged or cut short ({error})"))?;
    match content.len() as u64 > limits.bytes {
        true => Err(format!(
            "the .npz archive in it unpacks to more than {} bytes",
            limits.bytes
        )),
        false => Ok(content),
    }
}

fn archive_of<B: AsRef<[u8]>>(bytes: B) -> Result<ZipArchive<Cursor<B>>, String> {
    let known = format::binary(bytes.as_ref()).filter(|_| !bytes.as_ref().starts_with(b"PK"));
    ZipArchive::new(Cursor::new(bytes)).map_err(|error| match known {
        Some((name, way)) => format!("not a .npz archive but {name}; {way}"),
        None => format!("not a .npz archive ({error})"),
    })
}

pub(super) fn open(bytes: Vec<u8>, limits: Limits) -> Result<Members, String> {
    let archive = archive_of(&bytes[..])?;
    let mark = format!("{}.npy", own::MARK);
    let is_own = archive.file_names().any(|name| name.is_ok_and(|name| name == mark));
    let listed = if is_own { own::MEMBERS } else { MEMBERS };
    drop(archive);
    Ok(Members {
        is_own,
        ..open_listed(bytes, limits, listed)?
    })
}

/// As [`open`], with the members of these names.
pub(super) fn open_listed(bytes: Vec<u8>, limits: Limits, listed: &[&'static str]) -> Result<Members, String> {
    let mut left = limits;
    let mut archive = archive_of(bytes)?;
    let mut members = Members {
        arrays: BTreeMap::new(),
        others: Vec::new(),
        is_own: false,
        found: String::new(),
    };
    for at in 0..archive.len() {
        let file = archive
            .by_index(at)
            .map_err(|error| format!("member {at} of the archive is damaged ({error})"))?;
        let file_name = String::from_utf8_lossy(file.name_raw()).into_owned();
        let short = file_name.strip_suffix(".npy").unwrap_or(&file_name);
        if !members.found.is_empty() {
            members.found.push_str(", ");
        }
        members
            .found
            .extend(short.chars().take(40).flat_map(char::escape_debug));
        let Some(&known) = listed.iter().find(|&&member| member == short) else {
            let mut beginning = Vec::new();
            // What cannot be unpacked or has no header is not read either.
            let _ = file.take(1 << 12).read_to_end(&mut beginning);
            let (descr, shape) = Array::announced(&beginning).unwrap_or_default();
            members.others.push((short.to_owned(), descr, shape));
            continue;
        };
        let mut content = Vec::new();
        let read = file.take(left.bytes + 1).read_to_end(&mut content);
        read.map_err(|error| format!("member `{known}` is damaged or cut short ({error})"))?;
        let Some(bytes) = left.bytes.checked_sub(content.len() as u64) else {
            let most = limits.bytes;
            return Err(format!("the members up to `{known}` unpack to more than {most} bytes"));
        };
        left.bytes = bytes;
        let array = Array::parse(&content, left.numbers).map_err(|message| format!("member `{known}`: {message}"))?;
        left.numbers -= array.n_values();
        if members.arrays.insert(known, array).is_some() {
            return Err(format!("member `{known}` occurs twice"));
        }
    }
    Ok(members)
}

/// The masks for training, validation and test of one of the published splits, as far as they are
/// there, and a note if there are several splits. A mask of one split has an entry per item and
/// serves all splits; of several, `train_mask` has a column for each, as in PyTorch Geometric, or
/// `train_masks` a row for each, as in the heterophilous sets.
pub(super) type Masks = ([Option<Vec<bool>>; 3], Option<String>);

impl Members {
    /// The masks of split `split`; `item` is what an item is called.
    ///
    /// # Errors
    ///
    /// When a mask has another shape, or there is no such split.
    pub(super) fn masks(&self, (item, n_items): (&str, usize), split: u32) -> Result<Masks, String> {
        const NAMES: [[&str; 2]; 3] = [
            ["train_mask", "train_masks"],
            ["val_mask", "val_masks"],
            ["test_mask", "test_masks"],
        ];
        let mut n_splits = 1;
        let mut one = |names: &[&'static str; 2]| {
            let Some((name, array)) = self.only(names)? else {
                return Ok(None);
            };
            let Values::Bools(values) = &array.values else {
                return Err(format!("`{name}` must hold bools"));
            };
            let is_by_row = name == names[1];
            // Splits, and the distances of the entries of one split and of one item.
            let (n, by_split, by_item) = match array.shape[..] {
                [items] if items == n_items => (1, 0, 1),
                [n, items] if is_by_row && items == n_items => (n, items, 1),
                [items, n] if !is_by_row && items == n_items => (n, 1, n),
                _ => {
                    let rows = if is_by_row { "a row per split of " } else { "" };
                    return Err(format!(
                        "`{name}` must have {rows}one entry per {item} ({n_items}), got shape {:?}",
                        array.shape
                    ));
                }
            };
            if n > 1 && n_splits > 1 && n != n_splits {
                return Err(format!("`{name}` has {n} splits, and another mask {n_splits}"));
            }
            n_splits = n_splits.max(n);
            let first = if n == 1 { 0 } else { split as usize * by_split };
            let entry = |at: usize| values.get(first + at * by_item).copied();
            // A split that is not there is an error below.
            Ok(Some((0..n_items).map(|at| entry(at).unwrap_or_default()).collect()))
        };
        let masks = [one(&NAMES[0])?, one(&NAMES[1])?, one(&NAMES[2])?];
        if split as usize >= n_splits {
            return Err(match n_splits {
                1 => format!(
                    "`split: {split}` is the number of one of several splits, and the archive has one; leave `split` out"
                ),
                n => format!(
                    "`split` must be one of the {n} splits of the archive, 0 to {}, got {split}",
                    n - 1
                ),
            });
        }
        let note = || {
            format!(
                "{n_splits} published splits: split {split} of 0 to {} is used",
                n_splits - 1
            )
        };
        Ok((masks, (n_splits > 1).then(note)))
    }
}

impl Members {
    /// The first of some members that is there.
    pub(super) fn first(&self, names: &[&'static str]) -> Option<(&'static str, &Array)> {
        names.iter().find_map(|&name| Some((name, self.arrays.get(name)?)))
    }

    /// That of some members of one meaning which is there; two are an error.
    pub(super) fn only(&self, names: &[&'static str]) -> Result<Option<(&'static str, &Array)>, String> {
        let mut here = names.iter().filter(|&name| self.arrays.contains_key(name));
        match (here.next(), here.next()) {
            (Some(one), Some(other)) => Err(format!("the archive holds `{one}` and `{other}`; keep one of them")),
            _ => Ok(self.first(names)),
        }
    }

    /// A member with one integer, and the array.
    pub(super) fn scalar(&self, name: &str) -> Result<Option<(i64, &Array)>, String> {
        let Some(array) = self.arrays.get(name) else {
            return Ok(None);
        };
        match array.integers(name)?[..] {
            [value] => Ok(Some((value, array))),
            _ => Err(format!("`{name}` must hold one integer, got {}", array.n_values())),
        }
    }

    pub(super) fn missing(&self, member: &str) -> String {
        let found = if self.found.is_empty() { "nothing" } else { &self.found };
        format!("member `{member}` is missing (found {found})")
    }

    pub(super) fn require(&self, member: &str) -> Result<&Array, String> {
        self.arrays.get(member).ok_or_else(|| self.missing(member))
    }

    /// The sparse matrix `prefix_*`, or without a prefix `data` and so on: `None` if none of its
    /// members is there.
    pub(super) fn sparse(&self, prefix: &str) -> Result<Option<Sparse>, String> {
        let member = |part: &str| match prefix {
            "" => part.to_owned(),
            prefix => format!("{prefix}_{part}"),
        };
        let [of_indptr, of_indices, of_shape, of_data] = ["indptr", "indices", "shape", "data"].map(member);
        let parts = [&of_indptr, &of_indices, &of_shape, &of_data];
        if parts.iter().all(|part| !self.arrays.contains_key(part.as_str())) {
            return Ok(None);
        }
        let shape = self.require(&of_shape)?.integers(&of_shape)?;
        let bounds = self.require(&of_indptr)?.integers(&of_indptr)?;
        let indices = self.require(&of_indices)?.integers(&of_indices)?;
        let values = match self.arrays.get(of_data.as_str()) {
            Some(data) => data.floats(),
            None => vec![1.0; indices.len()],
        };
        let size = |number: i64| u32::try_from(number).ok().filter(|&size| u64::from(size) <= MAX_NODES);
        let &[n_rows, n_columns] = &shape[..] else {
            return Err(format!("`{of_shape}` must hold 2 numbers, got {}", shape.len()));
        };
        let (Some(n_rows), Some(n_columns)) = (size(n_rows), size(n_columns)) else {
            return Err(format!(
                "`{of_shape}` must lie in 0..={MAX_NODES}, got {n_rows} x {n_columns}"
            ));
        };
        if bounds.len() != n_rows as usize + 1 {
            return Err(format!(
                "`{of_indptr}` must have {} entries, got {}",
                u64::from(n_rows) + 1,
                bounds.len()
            ));
        }
        if indices.len() != values.len() {
            return Err(format!(
                "`{of_indices}` has {} entries, `{of_data}` {}",
                indices.len(),
                values.len()
            ));
        }
        let rising = bounds[0] == 0 && bounds.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising || bounds[n_rows as usize] != indices.len() as i64 {
            return Err(format!(
                "`{of_indptr}` must rise from 0 to the number of entries ({})",
                indices.len()
            ));
        }
        if let Some(index) = indices
            .iter()
            .find(|&&index| index < 0 || index >= i64::from(n_columns))
        {
            return Err(format!("`{of_indices}` must lie in 0..{n_columns}, got {index}"));
        }
        let row = |pair: &[i64]| {
            let range = pair[0] as usize..pair[1] as usize;
            indices[range.clone()]
                .iter()
                .zip(&values[range])
                .map(|(&index, &value)| (index as u32, value))
                .collect()
        };
        Ok(Some(Sparse {
            n_rows,
            n_columns,
            rows: bounds.windows(2).map(row).collect(),
        }))
    }
}
