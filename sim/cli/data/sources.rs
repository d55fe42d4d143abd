//! Where the files of data sets come from: the table `sources.ron`, or another one of its form, and
//! `folkmoot data list`.
//!
//! Every path and address in a table is checked before anything is done with it: what is fetched
//! stays below the data folder.

use crate::args::{Format, ListArgs};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::text;
use folkmoot_graphs::DataDirs;
use folkmoot_scenarios::text::suggest;
use ron::extensions::Extensions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};

/// The table that ships.
const SHIPPED: &str = include_str!("sources.ron");

/// A data set: what it is, whose it is, and which files it needs.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Set {
    /// As in run directories, such as `Cora`.
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) source: String,
    pub(crate) licence: String,
    #[serde(default)]
    pub(crate) downloads: Vec<Download>,
    /// What the readers expect, if no host serves it.
    #[serde(default)]
    pub(crate) made: Option<Made>,
}

/// How the files that the readers expect are made of what was downloaded, or of what cannot be.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Made {
    /// By who wants them.
    ByHand { how: String, files: Vec<Content> },
    /// By the Python package: `NAME.npz` of the downloaded files `raw/ind.NAME.*` beside it.
    Planetoid {
        file: Content,
        /// Of the data set that the reader makes of the file.
        fingerprint: String,
    },
}

/// One file at a host.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Download {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) form: Form,
    /// The length of what is served, where that is not the content of the one file it becomes.
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default)]
    sha256: Option<String>,
    pub(crate) files: Vec<Content>,
}

/// What is done with a file that was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Form {
    #[default]
    Plain,
    /// It is compressed, since the readers expect that.
    Gzip,
    Gunzip,
    /// Members are unpacked, each to the path that ends in its name; no path is taken from the
    /// archive.
    Unzip,
}

/// A file below the data folder, and its uncompressed content as far as that is known.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) bytes: Option<u64>,
    #[serde(default)]
    pub(crate) sha256: Option<String>,
}

impl Set {
    /// Every file that the readers expect.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Content> {
        let (downloads, made): (&[Download], &[Content]) = match &self.made {
            None => (&self.downloads, &[]),
            Some(Made::ByHand { files, .. }) => (&[], files),
            Some(Made::Planetoid { file, .. }) => (&[], std::slice::from_ref(file)),
        };
        downloads.iter().flat_map(|download| &download.files).chain(made)
    }

    /// A pickle, which is a program, is not read unless its content is known.
    fn unpinned_pickle(&self) -> Option<String> {
        let Some(Made::Planetoid { .. }) = &self.made else {
            return None;
        };
        let mut files = self.downloads.iter().flat_map(|download| &download.files);
        let file = files.find(|file| file.bytes.is_none() || file.sha256.is_none())?;
        Some(format!(
            "{} is a pickle, and needs its bytes and sha256\nhelp: wc -c {name}; sha256sum {name} # of a copy that you trust",
            file.path,
            name = last_part(&file.path)
        ))
    }

    /// Where the files lie, and whether it is known what they must be.
    fn place(&self) -> String {
        let has_fingerprint = matches!(self.made, Some(Made::Planetoid { .. }));
        let is_pinned = has_fingerprint || self.files().all(|file| file.sha256.is_some());
        let unsure = if is_pinned {
            ""
        } else {
            "; not verified: some checksums are unknown"
        };
        let first = self.files().next().map_or("", |file| &file.path);
        match self.files().count() {
            1 => format!("at {first}{unsure}"),
            n => format!("at {first} and so on, {n} files{unsure}"),
        }
    }

    /// Whether all, some or none of the files are there.
    fn there(&self, dirs: &DataDirs) -> &'static str {
        let found = self.files().filter(|file| dirs.locate(&file.path).is_ok()).count();
        match (found, self.files().count()) {
            (0, _) => "no",
            (found, all) if found == all => "yes",
            _ => "in part",
        }
    }
}

impl Download {
    /// The length and the sum of what is served, as far as they are known.
    #[cfg(feature = "fetch")]
    pub(crate) fn served(&self) -> (Option<u64>, Option<&str>) {
        let (bytes, sha256) = match self.form {
            Form::Plain | Form::Gzip => (self.files[0].bytes, &self.files[0].sha256),
            Form::Gunzip | Form::Unzip => (self.bytes, &self.sha256),
        };
        (bytes, sha256.as_deref())
    }

    /// What is wrong with it, if anything is.
    fn broken(&self) -> Option<String> {
        if !["https://", "http://"].iter().any(|start| self.url.starts_with(start)) {
            return Some(format!("url must begin with https:// or http://, got {:?}", self.url));
        }
        let names: BTreeSet<&str> = self.files.iter().map(|file| last_part(&file.path)).collect();
        let n_files = self.files.len();
        match self.form {
            Form::Unzip if n_files == 0 => Some("files: name what is unpacked".to_owned()),
            Form::Unzip if names.len() < n_files => Some("files: two of one archive have one name".to_owned()),
            Form::Unzip => None,
            form if n_files != 1 => Some(format!("files: {form:?} makes one file, got {n_files}")),
            Form::Gunzip => None,
            form if self.bytes.is_some() || self.sha256.is_some() => {
                Some(format!("bytes and sha256 of {form:?} stand in its file"))
            }
            _ => None,
        }
    }
}

impl Content {
    fn broken(&self) -> Option<String> {
        let mut parts = Path::new(&self.path).components();
        let is_below = !self.path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return Some(format!("path must stay below the data folder, got {:?}", self.path));
        }
        let sum = self.sha256.as_ref()?;
        let is_sum = sum.len() == 64 && sum.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        (!is_sum).then(|| format!("sha256 must be 64 hexadecimal digits in lower case, got {sum:?}"))
    }
}

/// What follows the last slash.
pub(crate) fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The table in `file`, or the one that ships.
pub(crate) fn table(file: Option<&Path>) -> Result<Vec<Set>, Exit> {
    let (name, text) = match file {
        None => ("sources.ron".to_owned(), SHIPPED.to_owned()),
        Some(file) => {
            let failed = |error| Exit::usage(format!("error: {} cannot be read: {error}", file.display()));
            (file.display().to_string(), fs::read_to_string(file).map_err(failed)?)
        }
    };
    read(&text).map_err(|why| Exit::usage(format!("error: {name}: {why}")))
}

fn read(text: &str) -> Result<Vec<Set>, String> {
    let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
    let sets: Vec<Set> = options.from_str(text).map_err(|error| error.to_string())?;
    let mut names = BTreeSet::new();
    for set in &sets {
        let mut broken = set.downloads.iter().filter_map(Download::broken);
        let downloaded = set.downloads.iter().flat_map(|download| &download.files);
        let mut files = downloaded.chain(set.files()).filter_map(Content::broken);
        let twice = || (!names.insert(&set.name)).then(|| "stands there twice".to_owned());
        let unpinned = || set.unpinned_pickle();
        if let Some(why) = broken.next().or_else(|| files.next()).or_else(unpinned).or_else(twice) {
            return Err(format!("{}: {why}", set.name));
        }
    }
    Ok(sets)
}

/// A set by its own name, or as cards name it.
#[cfg(feature = "fetch")]
pub(crate) fn find<'a>(program: &Program, sets: &'a [Set], name: &str) -> Result<&'a Set, Exit> {
    let named = |name: &str| sets.iter().find(|set| set.name.eq_ignore_ascii_case(name));
    let in_cards = || {
        let scenario = context::about_dataset(program, name, None).ok()?;
        named(&scenario.dataset().name())
    };
    named(name).or_else(in_cards).ok_or_else(|| {
        let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
        Exit::usage(format!(
            "error: there is no downloadable data set {name:?}{}\nhelp: {} data list",
            suggest(name, &names),
            program.name
        ))
    })
}

pub(crate) fn list(program: &Program, args: &ListArgs) -> Result<(), Exit> {
    let sets = table(args.table.sources.as_deref())?;
    let dirs = data_dirs::from_args(&args.data);
    if args.format == Format::Json {
        let rows = sets.iter().map(|set| {
            let mut row = serde_json::to_value(set).unwrap_or_default();
            row["there"] = set.there(&dirs).into();
            row
        });
        return print_json(&serde_json::Value::from_iter(rows));
    }
    let mut rows = Vec::new();
    for set in &sets {
        let sizes: Option<Vec<u64>> = set.files().map(|file| file.bytes).collect();
        let size = sizes.map_or_else(|| "unknown".to_owned(), |sizes| text::bytes(sizes.iter().sum()));
        let name = format!("  {}", set.name);
        rows.push(vec![name, set.there(&dirs).to_owned(), size, set.about.clone()]);
        let below = |text: String| vec![String::new(), String::new(), String::new(), text];
        rows.push(below(format!("from {}; licence: {}", set.source, set.licence)));
        rows.push(below(set.place()));
        match &set.made {
            None => {}
            Some(Made::ByHand { how, .. }) => rows.push(below(format!("by hand: {how}"))),
            Some(Made::Planetoid { .. }) => rows.push(below(
                "pickles: data fetch prints the command of the Python package that converts them".to_owned(),
            )),
        }
    }
    let folders: Vec<String> = dirs.iter().map(|(_, dir)| dir.display().to_string()).collect();
    print(&format!(
        "{}\n\nLooked in {}. What is not made by hand is fetched: {name} data fetch NAME. Sets that are built in or drawn: \
         {name} list.",
        text::table(&["  name", "there", "size", "what it is"], &rows, 4),
        folders.join(", "),
        name = program.name,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_graphs::DataError;
    use folkmoot_scenarios::run::{Failure, load_data};
    use folkmoot_scenarios::scenario::check;
    use folkmoot_scenarios::text::Source;

    #[test]
    fn every_set_that_a_card_names_and_that_needs_files_has_a_source() {
        let sets = read(SHIPPED).unwrap();
        let registry = crate::shipped();
        let mut n_needing = 0;
        for (card, text) in registry.cards() {
            let scenario = check(card, &Source::new(card, text).unwrap(), &registry).unwrap();
            // Whoever draws needs no file, and some draw for minutes.
            if scenario.dataset().is_generated() {
                continue;
            }
            // What is looked for where there is nothing.
            let Err(Failure::Data(DataError::Missing { what, .. })) = load_data(&scenario, &DataDirs::new()) else {
                continue;
            };
            n_needing += 1;
            let is_known = |set: &Set| set.files().any(|file| Path::new(&file.path).starts_with(&what));
            assert!(sets.iter().any(is_known), "{card} needs {}", what.display());
        }
        assert!(n_needing > 40, "{n_needing}");
    }

    #[test]
    fn everything_in_the_table_that_ships_is_pinned() {
        for set in read(SHIPPED).unwrap() {
            assert!(set.files().count() > 0, "{}", set.name);
            let is_pinned = |file: &Content| file.bytes.is_some() && file.sha256.is_some();
            let mut files = set.downloads.iter().flat_map(|download| &download.files);
            assert!(files.all(is_pinned), "{}", set.name);
            // An archive that the Python package writes is known by its fingerprint.
            if !matches!(set.made, Some(Made::Planetoid { .. })) {
                assert!(set.files().all(is_pinned), "{}", set.name);
            }
            let is_safe = |download: &Download| download.url.starts_with("https://");
            assert!(set.downloads.iter().all(is_safe), "{}", set.name);
        }
    }

    #[test]
    fn a_table_that_would_write_elsewhere_or_promises_nothing_sensible_is_refused() {
        let set = |downloads: &str| {
            format!("[(name: \"a\", about: \"b\", source: \"c\", licence: \"d\", downloads: [{downloads}])]")
        };
        let one = |path: &str| set(&format!("(url: \"https://h/f\", files: [(path: {path:?})])"));
        assert_eq!(read(&one("x/y")).unwrap().len(), 1);
        for path in ["../x", "/x", "x/../../y", "", "./x"] {
            let why = read(&one(path)).unwrap_err();
            assert!(why.contains("must stay below the data folder"), "{path:?}: {why}");
        }
        let sum = |sum: &str| {
            set(&format!(
                "(url: \"https://h/f\", files: [(path: \"x\", sha256: \"{sum}\")])"
            ))
        };
        assert!(read(&sum(&"0".repeat(64))).is_ok());
        assert!(read(&sum("0123")).unwrap_err().contains("64 hexadecimal digits"));
        let no_files = "(url: \"https://h/f\", form: Unzip, files: [])";
        assert!(read(&set(no_files)).unwrap_err().contains("name what is unpacked"));
        let twins = "(url: \"https://h/f\", form: Unzip, files: [(path: \"a/x\"), (path: \"b/x\")])";
        assert!(read(&set(twins)).unwrap_err().contains("have one name"));
        let two = "(url: \"https://h/f\", files: [(path: \"a\"), (path: \"b\")])";
        assert!(read(&set(two)).unwrap_err().contains("makes one file"));
        let sum_outside = "(url: \"https://h/f\", bytes: 3, files: [(path: \"a\")])";
        assert!(read(&set(sum_outside)).unwrap_err().contains("stand in its file"));
        let local = "(url: \"file:///f\", files: [(path: \"a\")])";
        assert!(read(&set(local)).unwrap_err().contains("must begin with https://"));
        assert!(read("[(nam: \"a\")]").unwrap_err().contains("nam"));
        let twice = format!("[{0}, {0}]", &set("")[1..set("").len() - 1]);
        assert!(read(&twice).unwrap_err().contains("stands there twice"));
    }
}
