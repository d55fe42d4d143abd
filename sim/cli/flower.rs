//! `folkmoot flower`: a Flower app in an environment.

use crate::args::FlowerArgs;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::{print, warn};
use crate::run::{Card, play_card};
use folkmoot_scenarios::names;
use folkmoot_scenarios::scenario::{Scenario, check};
use folkmoot_scenarios::text::{Problems, Source, apply_labelled};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// What an app decides itself, and why an environment does not.
const OF_THE_APP: [(&str, &str); 5] = [
    (
        "dataset",
        "the ClientApp loads its data; give the number of clients with --clients",
    ),
    (
        "strategy",
        "the ServerApp is the strategy; give its folder to `folkmoot flower`",
    ),
    (
        "partition",
        "the ClientApp loads its part of the data, by partition-id and num-partitions",
    ),
    ("cohort", "the ServerApp selects clients, such as by fraction_train"),
    (
        "deadline_ms",
        "the ServerApp has the timeout of a round, such as timeout= of Strategy.start",
    ),
];

pub(crate) fn flower(program: &Program, args: FlowerArgs) -> Result<(), Exit> {
    let name = name_of(&args.dir);
    let command = command(program, &args);
    let source = card(program, &args, &name)?;
    if let Some(file) = &args.write_card {
        return write(program, file, &source);
    }
    let dirs = match &args.environment {
        Some(file) => data_dirs::for_card(&args.data, &file.to_string_lossy()),
        None => data_dirs::from_args(&args.data),
    };
    let scenario = || -> Result<Scenario, Exit> { Ok(check(&name, &source, &program.registry)?) };
    let has_sweep = scenario().is_ok_and(|scenario| !scenario.axes().is_empty());
    let quiet = args.play.out.say.quiet;
    let card = Card {
        scenario: &scenario,
        dirs: dirs.with_own("the current folder", "."),
        command,
        data: &args.data,
        dry_run: false,
    };
    play_card(program, &args.play, card)?;
    if has_sweep && program.is_first() && !quiet {
        let words = words(program, &args.dir, args.environment.as_deref(), args.clients);
        warn(&format!(
            "note: this run has one configuration of the environment's sweep\nhelp: {words} --write-card sweep.ron && {} sweep sweep.ron",
            program.name
        ));
    }
    Ok(())
}

/// The name of an app: that of its folder.
fn name_of(dir: &Path) -> String {
    let absolute = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = absolute.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "flower".to_owned())
}

fn words(program: &Program, dir: &Path, environment: Option<&Path>, n_clients: u32) -> String {
    let quoted = |path: &Path| context::quoted(&path.to_string_lossy());
    let mut words = format!("{} flower {}", program.name, quoted(dir));
    if let Some(file) = environment {
        let _ = write!(words, " --environment {}", quoted(file));
    }
    let _ = write!(words, " --clients {n_clients}");
    words
}

/// The command that repeats the run.
fn command(program: &Program, args: &FlowerArgs) -> String {
    let mut words = words(program, &args.dir, args.environment.as_deref(), args.clients);
    let mut add = |option: &str, value: &str| {
        let _ = write!(words, " {option} {}", context::quoted(value));
    };
    args.run_config.iter().for_each(|pairs| add("--run-config", pairs));
    args.set.iter().for_each(|setting| add("--set", setting));
    if let Some(seed) = args.seed {
        add("--seed", &seed.to_string());
    }
    if let Some(data) = &args.data.data {
        add("--data", &data.to_string_lossy());
    }
    words
}

/// The card of an app in its environment.
fn card(program: &Program, args: &FlowerArgs, name: &str) -> Result<Source, Exit> {
    let environment = match &args.environment {
        Some(file) => Source::read(file)?,
        None => Source::new(name, "()")?,
    };
    let mut source = names::present(&environment, &program.registry);
    let mut problems = Problems::new(&source);
    for (field, why) in OF_THE_APP {
        if source.value(field).is_some() {
            problems.push_at(field, format!("belongs to the app: {why}; leave it out"));
        }
    }
    problems.into_result(())?;
    let config = run_config(&args.run_config).map_err(|why| Exit::usage(format!("error: --run-config: {why}")))?;
    let app = args.dir.to_string_lossy();
    let strategy = format!("Flower(app: {app:?}, run_config: {{{config}}})");
    source = apply_labelled(&source, "DIR", "strategy", &strategy)?;
    let dataset = format!("AppClients(n_clients: {})", args.clients);
    source = apply_labelled(&source, "--clients", "dataset", &dataset)?;
    for setting in &args.set {
        source = names::set(&source, setting, &program.registry)?;
    }
    if let Some(seed) = args.seed {
        source = apply_labelled(&source, "--seed", "seed", &seed.to_string())?;
    }
    Ok(source)
}

/// Writes the card into a file, for sweeps.
fn write(program: &Program, file: &Path, source: &Source) -> Result<(), Exit> {
    let scenario = check(&name_of(file), source, &program.registry)?;
    let text = scenario.shown(&program.registry)?;
    let failed = |error: std::io::Error| Exit::usage(format!("error: {}: {error}", file.display()));
    let mut new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    let quoted = context::quoted(&file.to_string_lossy());
    print(&format!(
        "written to {}; axes over the environment or over strategy.run_config.KEY make a sweep: {} sweep {quoted}",
        file.display(),
        program.name
    ))
}

/// Pairs as `flwr run --run-config` takes them, as the entries of a map in a card.
fn run_config(all: &[String]) -> Result<String, String> {
    let mut entries = String::new();
    for pairs in all {
        if pairs.ends_with(".toml") {
            return Err(format!(
                "{pairs}: give the values themselves, as in --run-config \"lr=0.1 rounds=3\""
            ));
        }
        let mut rest = pairs.trim_start();
        while !rest.is_empty() {
            let (key, after) = rest
                .split_once('=')
                .filter(|(key, _)| !key.is_empty() && !key.contains(char::is_whitespace))
                .ok_or_else(|| format!("{rest:?} is not KEY=VALUE"))?;
            let (value, left) = value(after).ok_or_else(|| format!("{key}: the quote is not closed"))?;
            let value = plain(value).ok_or_else(|| {
                format!("{key}={value}: must be a number, true, false, or a text in quotes, as in {key}='\"{value}\"'")
            })?;
            let _ = write!(entries, "{key:?}: {value}, ");
            rest = left.trim_start();
        }
    }
    Ok(entries)
}

/// The value at the start of a text, with its quotes, and what follows.
fn value(text: &str) -> Option<(&str, &str)> {
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].find(quote)? + 2,
        _ => text.find(char::is_whitespace).unwrap_or(text.len()),
    };
    Some(text.split_at(end))
}

/// A value of TOML as a card writes it.
fn plain(value: &str) -> Option<String> {
    if let Some(text) = value.strip_prefix(['"', '\'']) {
        return Some(format!("{:?}", &text[..text.len() - 1]));
    }
    let number = value.replace('_', "");
    let is_number = number.parse::<i64>().is_ok() || number.parse::<f64>().is_ok_and(f64::is_finite);
    match value {
        "true" | "false" => Some(value.to_owned()),
        _ => is_number.then_some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_config_is_read_as_flwr_reads_it() {
        let all = [
            "lr=0.1  name='a b' deep.key=\"x\"".to_owned(),
            "n=1_000 on=true".to_owned(),
        ];
        assert_eq!(
            run_config(&all).unwrap(),
            r#""lr": 0.1, "name": "a b", "deep.key": "x", "n": 1000, "on": true, "#
        );
        for (wrong, why) in [
            ("lr", "\"lr\" is not KEY=VALUE"),
            ("lr='a", "lr: the quote is not closed"),
            (
                "lr=a",
                "lr=a: must be a number, true, false, or a text in quotes, as in lr='\"a\"'",
            ),
            (
                "over.toml",
                "over.toml: give the values themselves, as in --run-config \"lr=0.1 rounds=3\"",
            ),
        ] {
            assert_eq!(run_config(&[wrong.to_owned()]).unwrap_err(), why);
        }
    }
}
