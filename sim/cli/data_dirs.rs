//! Folders where commands look for data sets and the files of cards.

use crate::args::DataArgs;
use crate::output::warn;
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::run_dir::{Manifest, PROGRAM};
use folkmoot_metrics::shell::unquoted;
use std::path::Path;
use std::sync::Once;

/// The data folders of every command, in search order: `--data`, `FOLKMOOT_DATA`, `./data`.
pub(crate) fn from_args(args: &DataArgs) -> DataDirs {
    let mut dirs = DataDirs::new();
    if let Some(dir) = &args.data {
        dirs = dirs.with("--data", dir);
    }
    if let Some(dir) = std::env::var_os("FOLKMOOT_DATA").filter(|dir| !dir.is_empty()) {
        dirs = dirs.with("FOLKMOOT_DATA", dir);
    }
    dirs.with("./data", "data")
}

/// Warns of a missing `--data` folder: otherwise data would silently come from another folder.
fn warn_of_no_folder(args: &DataArgs) {
    static TOLD: Once = Once::new();
    if let Some(dir) = args.data.as_ref().filter(|dir| !dir.is_dir()) {
        TOLD.call_once(|| warn(&format!("warning: --data {}: there is no such folder", dir.display())));
    }
}

/// The name of the folder that is searched first for the files of a card.
const BESIDE: &str = "beside the card";

/// The data folders of a data set on the command line: [`from_args`], and the current folder.
pub(crate) fn with_current(args: &DataArgs) -> DataDirs {
    warn_of_no_folder(args);
    from_args(args).with_own("the current folder", ".")
}

/// The data folders of a card: [`from_args`], and the folder of the card if it is a file.
pub(crate) fn for_card(args: &DataArgs, card: &str) -> DataDirs {
    warn_of_no_folder(args);
    let dirs = from_args(args);
    match Path::new(card).parent().filter(|_| Path::new(card).is_file()) {
        Some(dir) if dir.as_os_str().is_empty() => dirs.with_own(BESIDE, "."),
        Some(dir) => dirs.with_own(BESIDE, dir),
        None => dirs,
    }
}

/// The data folders of a command that makes or made a run: those of its card, if that still exists.
pub(crate) fn for_command(args: &DataArgs, command: &str) -> DataDirs {
    for_card(args, &card_of(command).unwrap_or_default())
}

/// The card of a command, as [`quoted`] wrote it: the third word, or the environment of an app.
fn card_of(command: &str) -> Option<String> {
    let (_, rest) = command.split_once(' ')?;
    let (verb, rest) = rest.split_once(' ')?;
    let rest = match verb {
        "run" | "sweep" => rest,
        "flower" => rest.split_once(" --environment ")?.1,
        _ => return None,
    };
    Some(unquoted(rest))
}

/// The data folders of an existing run: those of its command, and the folders of its program.
pub(crate) fn for_run(args: &DataArgs, dir: &Path, manifest: &Manifest) -> DataDirs {
    let folder = |(name, path): (&String, &String)| {
        // The name may have folders of its own.
        let depth = Path::new(name).components().count();
        Path::new(path).ancestors().nth(depth).map(Path::to_owned)
    };
    let folders = manifest.programs.iter().filter_map(folder);
    let dirs = folders.fold(for_command(args, &manifest.command), |dirs, folder| {
        dirs.with("the run's program", folder)
    });
    dirs.with("the run's copy of it", dir.join(PROGRAM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::shell::quoted;

    #[test]
    fn the_card_of_a_command_is_the_word_that_was_quoted() {
        for card in [
            "c.ron",
            "cards/my card.ron",
            "it's.ron",
            "a\u{1b}[31m\u{202e}\nb\r.ron",
            "fed-avg/small",
        ] {
            let command = format!("folkmoot run {} --seed 3", quoted(card));
            assert_eq!(card_of(&command).as_deref(), Some(card));
            let command = format!("folkmoot flower app --environment {} --clients 3", quoted(card));
            assert_eq!(card_of(&command).as_deref(), Some(card));
        }
        assert_eq!(card_of("folkmoot flower app --clients 3"), None);
        assert_eq!(card_of("folkmoot resume runs/a"), None);
        assert_eq!(card_of("folkmoot"), None);
    }
}
