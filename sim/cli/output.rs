//! Printing.

use crate::exit::Exit;
use std::io::{ErrorKind, Write};

/// Prints to stdout, with a line end.
pub(crate) fn print(text: &str) -> Result<(), Exit> {
    print_bytes(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
}

/// Prints bytes to stdout. A reader that has gone away, as `head` does, ends the program quietly.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Exit> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Exit::failed(format!("error: cannot write to stdout: {error}"))),
    }
}

/// A line to stderr.
pub(crate) fn warn(text: &str) {
    // With stderr closed there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}
