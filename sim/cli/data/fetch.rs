//! `folkmoot data fetch`: downloads the files of data sets from the table of sources.
//!
//! A file gets its name only when it is complete and its checksum is right. Until then it is
//! `NAME.part` in the same folder, which the next `fetch` resumes, or `NAME.new`, made from that.
//! Existing files are never overwritten. No path comes from an archive or a server. Pickles stay
//! unchanged: the Python package converts them.

mod transfer;
mod unpack;

use super::file::{Sum, with_suffix};
use super::sources::{self, Content, Download, Form, Made, Set};
use crate::args::{DataArgs, FetchArgs};
use crate::context::{self, Program, quoted};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::print;
use crate::text;
use folkmoot_graphs::DataDirs;
use folkmoot_scenarios::run::{Failure, load_data};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use transfer::Host;

/// State of a data set after its files were fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetched {
    Usable,
    /// The files are Python pickles.
    NeedsConversion,
}

pub(crate) fn fetch(program: &Program, args: &FetchArgs) -> Result<(), Exit> {
    let sets = sources::table(args.table.sources.as_deref())?;
    let wanted = args.names.iter().map(|name| sources::find(program, &sets, name));
    let wanted: Vec<&Set> = wanted.collect::<Result<_, _>>()?;
    let dirs = data_dirs::from_args(&DataArgs {
        data: args.data.clone(),
    });
    let folder = dirs.iter().next().map(|(_, dir)| dir).expect("./data is always one");
    let host = Host::new(args)?;
    let mut pickled = Vec::new();
    for (at, set) in wanted.iter().enumerate() {
        // Existing pickles are verified again; the error at the end names their conversion.
        let left: Vec<&Set> = pickled.iter().chain(&wanted[at..]).copied().collect();
        let repeat = |exit: Exit| exit.followed(&format!("  repeat with: {}", command(program, args, &left)));
        if fetch_set(program, &host, set, folder).map_err(repeat)? == Fetched::NeedsConversion {
            pickled.push(*set);
        }
    }
    match pickled.is_empty() {
        true => Ok(()),
        false => Err(to_convert(&pickled, folder, &command(program, args, &pickled))),
    }
}

/// The commands that convert pickles, and the command that then verifies the result.
fn to_convert(sets: &[&Set], folder: &Path, check: &str) -> Exit {
    let mut stems: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for file in sets.iter().flat_map(|set| set.files()) {
        let path = folder.join(&file.path);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let place = path.parent().unwrap_or(folder).to_owned();
        stems.entry(place).or_default().push(quoted(&stem));
    }
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let mut said = format!(
        "error: {} cannot be used yet: the files are Python pickles, which the Python package converts \
         (`pip install './sim/python[planetoid]'`)",
        names.join(", ")
    );
    for (place, stems) in stems {
        let place = quoted(&place.to_string_lossy());
        said += &format!("\nhelp: python -m folkmoot planetoid {place} {}", stems.join(" "));
    }
    Exit::usage(format!("{said}\n  then check it with: {check}"))
}

/// The command that fetches the remaining sets.
fn command(program: &Program, args: &FetchArgs, sets: &[&Set]) -> String {
    let mut command = format!("{} data fetch", program.name);
    for set in sets {
        command += &format!(" {}", quoted(&set.name));
    }
    let paths = [
        ("--data", &args.data),
        ("--sources", &args.table.sources),
        ("--ca-file", &args.ca_file),
    ];
    for (option, path) in paths {
        if let Some(path) = path {
            command += &format!(" {option} {}", quoted(&path.to_string_lossy()));
        }
    }
    if let Some(proxy) = &args.proxy {
        command += &format!(" --proxy {}", quoted(&redact_credentials(proxy)));
    }
    command
}

/// The proxy address with its credentials replaced by placeholders.
pub(super) fn redact_credentials(proxy: &str) -> String {
    match (proxy.split_once("://"), proxy.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://USER:PASSWORD@{host}"),
        (None, Some((_, host))) => format!("USER:PASSWORD@{host}"),
        (_, None) => proxy.to_owned(),
    }
}

/// Fetches the missing files of a set.
fn fetch_set(program: &Program, host: &Host, set: &Set, folder: &Path) -> Result<Fetched, Exit> {
    print(&format!(
        "{}: {}\n  from {}; licence: {}",
        set.name, set.about, set.source, set.licence
    ))?;
    if let Some(Made::Planetoid { file, fingerprint }) = &set.made {
        let path = folder.join(&file.path);
        if path.exists() {
            let found = fingerprint_of(program, &path).map_err(|error| Exit::usage(format!("error: {error}")))?;
            if found != *fingerprint {
                return Err(differs(
                    &path,
                    &format!("its fingerprint is {found} instead of {fingerprint}"),
                ));
            }
            print(&format!("  {}: exists, fingerprint verified", file.path))?;
            return Ok(Fetched::Usable);
        }
    }
    for download in &set.downloads {
        for line in fetch_download(host, download, folder)? {
            print(&format!("  {line}"))?;
        }
    }
    match &set.made {
        None => Ok(Fetched::Usable),
        Some(Made::ByHand { how, files }) => by_hand(&set.name, how, files, folder).map(|()| Fetched::Usable),
        Some(Made::Planetoid { .. }) => Ok(Fetched::NeedsConversion),
    }
}

fn by_hand(name: &str, how: &str, files: &[Content], folder: &Path) -> Result<(), Exit> {
    for file in files {
        let Some(sum) = verify_existing(folder, file, Form::Plain)? else {
            let place = folder.join(&file.path);
            return Err(Exit::usage(format!(
                "error: {name} cannot be fetched: {how}\n  put it at {}",
                place.display()
            )));
        };
        print(&format!("  {}", status_line(file, &sum, "is there")))?;
    }
    Ok(())
}

/// The fingerprint of an archive, with all its components.
fn fingerprint_of(program: &Program, path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let dataset = format!("Npz(path: {:?}, largest_component: false)", path.to_string_lossy());
    let scenario =
        context::about_dataset(program, &dataset, None).map_err(|problems| Failure::Card(Box::new(problems)))?;
    Ok(load_data(&scenario, &DataDirs::new())?.fingerprint())
}

/// Fetches the missing files of one download; returns a line for each file.
fn fetch_download(host: &Host, download: &Download, folder: &Path) -> Result<Vec<String>, Exit> {
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    for file in &download.files {
        match verify_existing(folder, file, download.form)? {
            Some(sum) => lines.push(status_line(file, &sum, "is there")),
            None => missing.push(file),
        }
    }
    let Some(first) = missing.first() else {
        return Ok(lines);
    };
    let place = folder.join(&first.path);
    let place = place.parent().unwrap_or(folder);
    fs::create_dir_all(place).map_err(|error| cannot_write(place, &error))?;
    let name = sources::last_part(&download.url)
        .split(['?', '#'])
        .next()
        .unwrap_or_default();
    let part = place.join(format!("{name}.part"));
    host.transfer(download, &part)?;
    let made = unpack::unpack(download, &missing, &part, folder)?;
    lines.extend(
        missing
            .iter()
            .zip(&made)
            .map(|(file, sum)| status_line(file, sum, "fetched")),
    );
    Ok(lines)
}

/// The checksum of a file that exists already; an error if it differs from the table of sources.
fn verify_existing(folder: &Path, file: &Content, form: Form) -> Result<Option<Sum>, Exit> {
    let path = folder.join(&file.path);
    if !path.try_exists().map_err(|error| cannot_read(&path, &error))? {
        return Ok(None);
    }
    let sum = unpack::sum_of_file(&path, form == Form::Gzip).map_err(|error| cannot_read(&path, &error))?;
    match mismatch(file.bytes, file.sha256.as_deref(), &sum) {
        None => Ok(Some(sum)),
        Some(why) => Err(differs(&path, &why)),
    }
}

fn differs(path: &Path, why: &str) -> Exit {
    Exit::usage(format!(
        "error: {} exists, but differs from the published file: {why}\n  move it away, or choose another folder with --data",
        path.display()
    ))
}

/// The difference between a content and its published size and checksum.
pub(super) fn mismatch(bytes: Option<u64>, sha256: Option<&str>, sum: &Sum) -> Option<String> {
    if let Some(bytes) = bytes.filter(|&bytes| bytes != sum.bytes) {
        return Some(format!("{} bytes instead of {bytes}", sum.bytes));
    }
    let sha256 = sha256.filter(|&sha256| sha256 != sum.sha256)?;
    Some(format!("its sha256 is {} instead of {sha256}", sum.sha256))
}

fn status_line(file: &Content, sum: &Sum, what: &str) -> String {
    let pinned = match file.sha256 {
        Some(_) => "its sha256 is right".to_owned(),
        None => format!("not verified, as no checksum is published; sha256 {}", sum.sha256),
    };
    format!("{}: {what}, {} bytes, {pinned}", file.path, text::count(sum.bytes))
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Exit {
    let way_out = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free disk space, or choose a folder on another disk with --data; the partial download is kept"
        }
        _ => "choose another folder with --data",
    };
    Exit::usage(format!(
        "error: {} cannot be written: {error}\n  {way_out}",
        path.display()
    ))
}

pub(super) fn cannot_read(path: &Path, error: &io::Error) -> Exit {
    Exit::usage(format!(
        "error: {} cannot be read: {error}\n  move it away, or choose another folder with --data",
        path.display()
    ))
}
