//! How the program ends, and what it says then.

use crate::output::styled;
use crate::text::visible_lines;
use folkmoot_engine::prelude::RunError;
use folkmoot_metrics::run_dir::CheckpointError;
use folkmoot_plots::PlotError;
use folkmoot_scenarios::run::Failure;
use folkmoot_scenarios::text::Problems;
use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::process::ExitCode;

/// An end other than success.
pub(crate) struct Exit {
    code: u8,
    message: String,
}

impl Exit {
    /// The run failed: code 1.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Exit {
            code: 1,
            message: visible_lines(&message.into()).into_owned(),
        }
    }

    /// Bad usage, card, data or output path: code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Exit {
            code: 2,
            message: visible_lines(&message.into()).into_owned(),
        }
    }

    /// Problems of a card, with the lines they stand on.
    pub(crate) fn problems(problems: &Problems) -> Self {
        // Without hidden characters but for those of its colours.
        let message = problems.report(anstream::stderr().current_choice() != anstream::ColorChoice::Never);
        Exit { code: 2, message }
    }

    /// A scenario without a result, and the command that repeats it.
    pub(crate) fn failure(failure: &Failure, command: &str) -> Self {
        match failure {
            Failure::Card(problems) => Exit::problems(problems),
            Failure::Data(_) | Failure::Partition(_) | Failure::Write(_) => {
                Exit::usage(format!("error: {failure}\n  repeat with: {command}"))
            }
            // Nothing has run: the card asks the strategy for something it cannot do with these
            // data, and would again.
            Failure::Run(RunError::Setup { error, .. }) => Exit::usage(format!("error: {error}")),
            Failure::Memory(_) | Failure::Run(RunError::Memory(_)) => Exit::usage(format!("error: {failure}")),
            Failure::Run(RunError::Checkpoint(_)) => Exit::usage(format!("error: {failure}")),
            Failure::Run(_) | Failure::Elsewhere { .. } => {
                Exit::failed(format!("error: {failure}\n  repeat with: {command}"))
            }
        }
    }

    /// The same end with something said before it.
    pub(crate) fn after(mut self, text: &str) -> Self {
        self.message = format!("{}\n{}", visible_lines(text), self.message);
        self
    }

    /// The same end with something said behind it.
    pub(crate) fn followed(mut self, text: &str) -> Self {
        self.message = format!("{}\n{}", self.message.trim_end(), visible_lines(text));
        self
    }

    /// This end and another one: both messages, the higher code.
    pub(crate) fn and(self, other: Exit) -> Self {
        Exit {
            code: self.code.max(other.code),
            message: format!("{}\n{}", self.message.trim_end(), other.message),
        }
    }

    /// Ends the process with this, whatever else goes on in it.
    pub(crate) fn now(self) -> ! {
        let code = self.code;
        self.report();
        std::process::exit(code.into())
    }

    /// Says nothing: whoever speaks for all does.
    pub(crate) fn silently(self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Prints the message to stderr.
    pub(crate) fn report(self) -> ExitCode {
        if !self.message.is_empty() {
            // With stderr closed there is nobody left to tell.
            let _ = writeln!(anstream::stderr(), "{}", styled(&self.to_string()));
        }
        ExitCode::from(self.code)
    }
}

impl Display for Exit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.trim_end())
    }
}

impl From<Problems> for Exit {
    fn from(problems: Problems) -> Self {
        Exit::problems(&problems)
    }
}

impl From<PlotError> for Exit {
    fn from(error: PlotError) -> Self {
        match error {
            PlotError::Draw { .. } => Exit::failed(format!("error: {error}")),
            PlotError::Read(_) | PlotError::Write(_) | PlotError::Unknown { .. } | PlotError::Size(_) => {
                Exit::usage(format!("error: {error}"))
            }
        }
    }
}

impl From<folkmoot_metrics::WriteError> for Exit {
    fn from(error: folkmoot_metrics::WriteError) -> Self {
        Exit::usage(format!("error: {error}"))
    }
}

impl From<CheckpointError> for Exit {
    fn from(error: CheckpointError) -> Self {
        Exit::usage(format!("error: {error}"))
    }
}

impl From<folkmoot_metrics::ReadError> for Exit {
    fn from(error: folkmoot_metrics::ReadError) -> Self {
        Exit::usage(format!("error: {error}"))
    }
}
