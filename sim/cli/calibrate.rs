//! `folkmoot calibrate`: measures the processor time of one job of each client.

use crate::args::CalibrateArgs;
use crate::context::{self, Program};
use crate::data_dirs;
use crate::exit::Exit;
use crate::output::print;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_scenarios::run::{Cache, load};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;

/// Where a card of an app may name the table that is to be made.
const COST: &str = "strategy.cost";

pub(crate) fn calibrate(program: &Program, args: &CalibrateArgs) -> Result<(), Exit> {
    let mut scenario = context::scenario(program, &args.card, None, &[])?;
    // What is to be measured is not there yet.
    if scenario
        .source()
        .value(COST)
        .is_some_and(|cost| cost.starts_with("Measured"))
    {
        let mut card = args.card.clone();
        card.set.push(format!("{COST}=PerByte()"));
        scenario = context::scenario(program, &card, None, &[])?;
    }
    let command = context::command(program, "calibrate", &args.card, None, false);
    let dirs = data_dirs::for_card(&args.card.data, &args.card.card);
    let loaded = load(&scenario, &dirs, &Cache::default(), &mut ());
    let loaded = loaded.map_err(|failure| Exit::failure(&failure, &command))?;
    let loaded = loaded.on(context::machine(&args.engine));
    let source = loaded.source(scenario.seed());
    let seconds = scenario.strategy().calibrate(&source, usize::from(args.repeats));
    let seconds = seconds.map_err(|StrategyError(why)| Exit::failed(format!("error: {why}")))?;
    let Some(seconds) = seconds else {
        return Err(Exit::usage(format!(
            "error: the costs of {} are operations, which its settings and data determine; nothing is to be measured",
            scenario.name()
        )));
    };
    let prints = loaded.fingerprints();
    let programs = scenario.strategy().about.programs.iter();
    let digests: Vec<&str> = programs
        .filter_map(|name| prints.get(name))
        .map(String::as_str)
        .collect();
    let digest: String = digests.concat().chars().take(16).collect();
    let machine = machine().replace(['"', ','], " ");
    let mut table = "client,seconds,repeats,machine,program\n".to_owned();
    for (client, seconds) in seconds.iter().enumerate() {
        let _ = writeln!(table, "{client},{seconds},{},{machine},{digest}", args.repeats);
    }
    let failed = |error: std::io::Error| Exit::usage(format!("error: {}: {error}", args.out.display()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&args.out)
        .map_err(failed)?;
    file.write_all(table.as_bytes()).map_err(failed)?;
    let mut sorted = seconds.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let (path, n_clients) = (args.out.display().to_string(), seconds.len());
    let (median, least, most) = (at(0.5), at(0.0), at(1.0));
    print(&format!(
        "{n_clients} clients: median {median:.6} s, from {least:.6} to {most:.6} s, on {machine}\nwritten to {path}; use it as \
         fm.measured({path:?}) of your own code, as cost: Measured(path: {path:?}) of a Flower app, with devices of speed 1: \
         devices: Constant(ops_per_s: 1)"
    ))
}

/// The processor, as Linux names it; elsewhere its architecture.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()));
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
