//! The beginning of a run, as far as it can be refused.

use folkmoot_engine::prelude::{Options, RunError, SimTime};
use folkmoot_engine::ranks::Alone;
use folkmoot_engine::run::{Observer, Pause};
use folkmoot_graphs::DataDirs;
use folkmoot_metrics::{MessageRow, RoundRow};
use folkmoot_scenarios::algorithm::{Job, Machine};
use folkmoot_scenarios::run::{Cache, Failure, load};
use folkmoot_scenarios::scenario::Scenario;
use std::path::PathBuf;

/// Everything that a run does until its first window of events is over, without training.
///
/// # Errors
///
/// When data are missing or cannot be shared out, or the algorithm, or the user's own program, cannot
/// work with them.
pub(crate) fn begin(scenario: &Scenario, dirs: &DataDirs, cache: &Cache, python: PathBuf) -> Result<(), Failure> {
    let loaded = load(scenario, dirs, cache, &mut ())?.on(Machine {
        python,
        ..Machine::plain()
    });
    let job = Job {
        dataset: &loaded.dataset,
        partition: &loaded.partition,
        world: &loaded.world,
        files: &loaded.files,
        keep: scenario.keep(),
        evaluators: scenario.evaluators(),
        dir: None,
        seed: scenario.seed(),
        options: Options {
            dry_run: true,
            ..Options::default()
        },
        saved: None,
        ranks: &Alone,
    };
    match scenario.strategy().run(&job, &mut Stop) {
        Err(error @ RunError::Setup { .. }) => Err(Failure::Run(error)),
        // A run that has begun is not the card's question any more.
        _ => Ok(()),
    }
}

/// Ends a run after its first window of events.
struct Stop;

impl Observer for Stop {
    fn rounds_done(&mut self, _: &[RoundRow], _: &mut dyn FnMut() -> Vec<MessageRow>) -> Result<(), String> {
        Ok(())
    }

    fn pause(&mut self, _: SimTime, _: usize) -> Pause {
        Pause::Stop
    }
}
