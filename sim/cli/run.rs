//! `folkmoot run`: one scenario.

use crate::args::{CardArgs, DataArgs, EngineArgs, Format, PlayArgs, RunArgs, SayArgs};
use crate::context::{self, Program};
use crate::data_dirs;
use crate::events;
use crate::exit::Exit;
use crate::figures;
use crate::headline::describe as describe_numbers;
use crate::output::{print, print_json, warn};
use crate::resume;
use crate::reuse::{self, There};
use crate::text;
use crate::watch::Stopwatch;
use folkmoot_engine::run::Options;
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::{MetricKey, Numbers, Unit, answers, has_durations};
use folkmoot_scenarios::run::{Cache, How, Loaded, Report, begin, load, play};
use folkmoot_scenarios::scenario::Scenario;
use folkmoot_scenarios::swept::Swept;
use std::path::Path;

/// As many clients are traced unless others are asked for.
const TRACED_CLIENTS: u32 = 1000;

pub(crate) fn run(program: &Program, args: RunArgs) -> Result<(), Exit> {
    match args.play.out.out.as_ref().filter(|dir| args.reuse && dir.exists()) {
        Some(dir) => match program.agree(reuse::there(program, &args, dir))? {
            There::Result(run) => reuse::print(program, &run, args.play.out.say),
            There::Part => resume::resume(program, reuse::resuming(args)),
        },
        None => anew(program, &args),
    }
}

fn anew(program: &Program, args: &RunArgs) -> Result<(), Exit> {
    let scenario = || context::scenario(program, &args.card, args.seed, &args.observe);
    let card = Card {
        scenario: &scenario,
        dirs: data_dirs::for_card(&args.card.data, &args.card.card),
        command: context::command(program, "run", &args.card, args.seed, args.dry_run),
        data: &args.card.data,
        dry_run: args.dry_run,
    };
    let scenario = play_card(program, &args.play, card)?;
    if program.is_first() && !args.play.events.say(args.play.out.say).quiet {
        offer_sweep(program, args, &scenario);
    }
    Ok(())
}

/// What is to be run.
pub(crate) struct Card<'a> {
    pub(crate) scenario: &'a dyn Fn() -> Result<Scenario, Exit>,
    /// Where its files are looked for.
    pub(crate) dirs: DataDirs,
    /// The command that repeats it.
    pub(crate) command: String,
    /// For the command that goes on with it.
    pub(crate) data: &'a DataArgs,
    pub(crate) dry_run: bool,
}

/// Runs a card, and says what has come of it.
pub(crate) fn play_card(program: &Program, args: &PlayArgs, card: Card<'_>) -> Result<Scenario, Exit> {
    let command = card.command;
    let say = args.events.say(args.out.say);
    let trace = args.trace.then(|| args.trace_clients.unwrap_or(TRACED_CLIENTS));
    let options = Options {
        trace,
        ..context::options(&args.engine, card.dry_run)
    };
    let ready = || -> Result<_, Exit> {
        let scenario = (card.scenario)()?;
        let failed = |failure| Exit::failure(&failure, &command);
        let events = args.events.of(program)?;
        let mut watcher = Stopwatch::of(program, &scenario, say.quiet, &args.every).telling(events.clone());
        let loaded = load(&scenario, &card.dirs, &Cache::default(), &mut watcher).map_err(failed)?;
        let loaded = loaded.on(context::machine(&args.engine));
        let identity = context::identity(command.clone());
        if !say.quiet && program.is_first() {
            let warnings = identity.warnings.iter().chain(scenario.lints());
            warnings.for_each(|warning| warn(&format!("warning: {warning}")));
            if let Some(n) = trace.filter(|n| *n < loaded.n_clients()) {
                warn(&format!(
                    "the trace follows {} of {} clients; --trace-clients N follows N",
                    text::count(u64::from(n)),
                    text::count(u64::from(loaded.n_clients()))
                ));
            }
        }
        let out = args.out.out.as_ref();
        let dir = program.is_first().then(|| context::out_dir(out, scenario.name()));
        let writer = dir
            .as_ref()
            .map(|dir| begin(dir, &scenario, &loaded, options, &identity, None));
        let writer = writer.transpose().map_err(failed)?;
        Ok((scenario, loaded, writer, dir, watcher, events))
    };
    let (scenario, loaded, writer, dir, mut watcher, events) = program.agree(ready())?;
    let how = How {
        options,
        saved: None,
        ranks: &*program.ranks,
    };
    let dir = dir.unwrap_or_default();
    let run = (&scenario, &loaded);
    let played = events::within(events.as_ref(), &dir, run, || {
        play(writer, &scenario, &loaded, how, &mut watcher)
    });
    let go_on = resume::command(program, &dir, card.data);
    let report = played.map_err(|failure| resume::ended(&failure, &dir, &command, &go_on))?;
    self::say(program, &dir, run, report.as_ref(), &args.engine, (say, args.all))?;
    Ok(scenario)
}

/// Names the configuration of a sweep's card that has been run, and the command that runs them all.
fn offer_sweep(program: &Program, args: &RunArgs, scenario: &Scenario) {
    let axes = scenario.axes();
    if axes.is_empty() {
        return;
    }
    let value = |axis: &Swept| {
        let n = axis.values.len();
        match axis.own(scenario, &program.registry) {
            Some(own) => format!("{} = {own}, one of {n} values", axis.path),
            None => format!("{} as in the card, not one of the {n} values", axis.path),
        }
    };
    let values: Vec<String> = axes.iter().map(value).collect();
    // A sweep sets its seeds and axes itself, and refuses them.
    let is_swept = |set: &&String| {
        let path = set.split_once('=').map(|(path, _)| path.trim());
        path.is_some_and(|path| path == "seed" || axes.iter().any(|axis| axis.overrides(path).is_some()))
    };
    let card = CardArgs {
        set: args.card.set.iter().filter(|set| !is_swept(set)).cloned().collect(),
        ..args.card.clone()
    };
    warn(&format!(
        "note: this run has {}; the card's question needs all of them\nhelp: {}",
        values.join("; "),
        context::command(program, "sweep", &card, None, args.dry_run)
    ));
}

/// Draws the figures of a finished run and says what has come of it, where it has come.
pub(crate) fn say(
    program: &Program,
    dir: &Path,
    run: (&Scenario, &Loaded),
    report: Option<&Report>,
    engine: &EngineArgs,
    (SayArgs { format, quiet }, all): (SayArgs, bool),
) -> Result<(), Exit> {
    let Some(report) = report else {
        return Ok(());
    };
    let n_figures = figures::draw(program, dir, engine.threads, quiet)?;
    if !quiet {
        report
            .warnings
            .iter()
            .for_each(|warning| warn(&format!("warning: {warning}")));
        report.notes.iter().for_each(|note| warn(&format!("note: {note}")));
        // A card with a sweep may name its figures.
        if run.0.axes().is_empty() {
            figures::warn_of_unknown_figures(program, dir)?;
            figures::warn_of_lacking_glyphs(dir)?;
        }
    }
    match format {
        Format::Json => print_json(&json(dir, report)),
        Format::Text if quiet => Ok(()),
        Format::Text => print(&describe(program, dir, run, report, (n_figures, all))),
    }
}

/// The question and the numbers that answer it; with `all`, every message and number instead.
fn describe(
    program: &Program,
    dir: &Path,
    (scenario, loaded): (&Scenario, &Loaded),
    report: &Report,
    (n_figures, all): (usize, bool),
) -> String {
    let virtual_s = report.summary.get("virtual_s").copied().unwrap_or_default();
    let rounds = report.summary.get("rounds").copied().unwrap_or_default();
    let time = match has_durations(virtual_s) {
        true => format!(
            "{} of virtual time",
            text::measured("virtual_s", virtual_s, Unit::Seconds)
        ),
        false if rounds > 0.0 => "no time: the network is ideal".to_owned(),
        false => "less than a millisecond".to_owned(),
    };
    let head = format!(
        "{}, seed {}: {} clients on {}, {} rounds in {time}",
        scenario.name(),
        scenario.seed(),
        text::count(u64::from(loaded.n_clients())),
        loaded.dataset.name,
        text::number(rounds),
    );
    let (body, more) = match all {
        true => (
            format!(
                "\n{}\n\n{}",
                text::messages(&report.messages),
                text::summary(&report.summary)
            ),
            String::new(),
        ),
        false => {
            let dir = context::quoted(&dir.to_string_lossy());
            let program = &program.name;
            (
                answer(scenario, report),
                format!("all messages and metrics: {program} show {dir}; as a page: {program} report {dir}\n"),
            )
        }
    };
    format!(
        "{head}\n{body}\n\n{more}result hash {}\nresults and {n_figures} figure files in {}",
        report.fingerprint,
        dir.display()
    )
}

/// What the card asks, and the numbers of its headline, or else of its strategy's.
fn answer(scenario: &Scenario, report: &Report) -> String {
    let numbers = Numbers {
        summary: &report.summary,
        units: &report.units,
        terms: &report.terms,
    };
    let names = answers(&scenario.answers(), &report.summary);
    let mut said = describe_numbers(numbers, names.iter().map(String::as_str));
    // A card that asks for no score asks for messages.
    if !names.is_empty() && names.iter().all(|name| MetricKey::parse(name).split.is_none()) {
        said += &format!("\n\n{}", text::short_messages(&report.messages));
    }
    match scenario.question() {
        "" => format!("\n{said}"),
        question => format!("{question}\n\n{said}"),
    }
}

fn json(dir: &Path, report: &Report) -> serde_json::Value {
    serde_json::json!({
        "dir": dir.to_string_lossy(),
        "fingerprint": report.fingerprint,
        "summary": report.summary,
        "warnings": report.warnings,
    })
}
