//! The user's own programs in Python: their files, and the files that these import.

use crate::algorithm::Program;
use folkmoot_graphs::DataError;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files of a program at most: with more, something else is imported than its own modules.
const MOST_FILES: usize = 1000;

/// A program with the modules of its folder that it imports, wherever in the code, and the tables
/// of costs that it names. A project (`pyproject.toml`) has all modules below its folder.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn read(path: &Path) -> Result<Program, DataError> {
    let unread = |path: &Path, source| DataError::Read {
        path: path.to_owned(),
        source,
    };
    let path = std::path::absolute(path).map_err(|source| unread(path, source))?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut sources = BTreeMap::new();
    let mut left = vec![path.clone()];
    while let Some(file) = left.pop() {
        let name = file
            .strip_prefix(&folder)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        if sources.contains_key(&name) || sources.len() >= MOST_FILES {
            continue;
        }
        let content = fs::read(&file).map_err(|source| unread(&file, source))?;
        if file.extension().is_some_and(|ending| ending == "toml") {
            modules(&folder, &mut left).map_err(|source| unread(&folder, source))?;
        }
        // Functions that were pickled have their source beside them.
        if file.extension().is_some_and(|ending| ending == "pkl") {
            left.extend(Some(file.with_extension("py")).filter(|source| source.is_file()));
        } else if file.extension().is_some_and(|ending| ending == "py") {
            let text = String::from_utf8_lossy(&content);
            left.extend(
                tables(&text)
                    .map(|table| folder.join(table))
                    .filter(|table| table.is_file()),
            );
            left.extend(
                imported(&text)
                    .iter()
                    .flat_map(|module| files_of(&folder, &file, module)),
            );
        }
        sources.insert(name, content);
    }
    Ok(Program { path, sources })
}

/// Adds the modules below a folder, except those of hidden folders and environments.
fn modules(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !is_hidden && !path.join("pyvenv.cfg").is_file() {
            modules(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "py") {
            found.push(path);
        }
        if found.len() >= MOST_FILES {
            return Ok(());
        }
    }
    Ok(())
}

impl Program {
    /// The BLAKE3 hash over the names and contents of its files.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, content) in &self.sources {
            for part in [name.as_bytes(), content] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// The modules that a text imports, as it names them; of `from a import b`, `a` and `a.b`.
fn imported(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(names) = line.strip_prefix("import ") {
            let names = names.split(['#', ';']).next().unwrap_or_default().split(',');
            all.extend(names.filter_map(|name| Some(name.split_whitespace().next()?.to_owned())));
        } else if let Some((from, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            let from = from.trim();
            all.push(from.to_owned());
            let names = names.split(['#', ';']).next().unwrap_or_default();
            for name in names
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .filter(|name| !name.is_empty())
            {
                let dot = if from.ends_with('.') { "" } else { "." };
                all.push(format!("{from}{dot}{name}"));
            }
        }
    }
    all
}

/// The files below a folder that make up a module; none for one that is installed elsewhere.
fn files_of(folder: &Path, by: &Path, module: &str) -> Vec<PathBuf> {
    let n_dots = module.len() - module.trim_start_matches('.').len();
    let base = match n_dots {
        0 => Some(folder),
        n => by.ancestors().nth(n),
    };
    let Some(mut at) = base.map(Path::to_owned).filter(|base| base.starts_with(folder)) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for name in module.split('.').filter(|name| !name.is_empty()) {
        at.push(name);
        files.push(at.join("__init__.py"));
    }
    files.push(at.with_extension("py"));
    files.retain(|file| file.is_file());
    files
}

/// The files that `measured("...")` names.
fn tables(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split("measured(").skip(1);
    quoted.filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
        rest[1..].split(quote).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_its_file_and_what_it_imports_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "client.py",
            "import numpy as np, nets\nfrom parts import layers\n@fm.train(cost=fm.measured(\"cost.csv\"))\ndef train(): pass\n",
        );
        write(
            "nets.py",
            "def late():\n    from parts.more import x  # only when called\n",
        );
        write("parts/__init__.py", "");
        write("parts/layers.py", "from . import more\n");
        write("parts/more.py", "x = 1\n");
        write("cost.csv", "client,seconds\n0,1\n");
        write("other.py", "not imported\n");
        let program = read(&folder.path().join("client.py")).unwrap();
        let names: Vec<&str> = program.sources.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "client.py",
                "cost.csv",
                "nets.py",
                "parts/__init__.py",
                "parts/layers.py",
                "parts/more.py"
            ]
        );
        let before = program.fingerprint();
        write("other.py", "changed\n");
        assert_eq!(read(&folder.path().join("client.py")).unwrap().fingerprint(), before);
        write("parts/more.py", "x = 2\n");
        assert_ne!(read(&folder.path().join("client.py")).unwrap().fingerprint(), before);
    }
}
