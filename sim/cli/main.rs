//! The `folkmoot` command: one file per subcommand.
//!
//! Only this program prints, reads arguments, looks at the clock and exits. Results go to stdout, progress and warnings
//! to stderr; exit codes are 0 done, 1 the run failed, 2 bad usage, card, data or output path.

mod args;
mod check;
mod compare;
mod context;
mod exit;
mod list;
mod output;
mod plot;
mod run;
mod show;
mod sweep;
mod text;
mod verify;
mod watch;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Check(args) => check::check(&args),
        Command::Show(args) => show::show(&args),
        Command::List => list::list(),
        Command::Plot(args) => plot::plot(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "folkmoot", &mut script);
            output::print_bytes(&script)
        }
        Command::Man => {
            let mut page = Vec::new();
            match clap_mangen::Man::new(Cli::command()).render(&mut page) {
                Ok(()) => output::print_bytes(&page),
                Err(error) => Err(Exit::failed(format!("cannot render the manual: {error}"))),
            }
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => exit.report(),
    }
}
