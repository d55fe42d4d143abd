//! `folkmoot report`: a page of a result, or of two side by side.

use crate::args::ReportArgs;
use crate::compare::differences_of;
use crate::context::{Program, n_threads};
use crate::exit::Exit;
use crate::figures::pool;
use crate::output::print;
use folkmoot_metrics::run_dir::{SCENARIO, write_whole};
use folkmoot_report::{ReportError, report as page_of, side_by_side};
use std::path::{Path, PathBuf};

pub(crate) fn report(program: &Program, args: &ReportArgs) -> Result<(), Exit> {
    if let Some(out) = args.out.as_ref().filter(|out| out.symlink_metadata().is_ok()) {
        let why = "already exists and is never overwritten; choose another --out";
        return Err(Exit::usage(format!("error: {}: {why}", out.display())));
    }
    let known = program.registry.figures();
    let pool = pool(n_threads(args.threads))?;
    let page = pool.install(|| match &args.other {
        None => page_of(&args.dir, known),
        Some(other) => side_by_side(&args.dir, other, known, &differences(&args.dir, other)),
    })?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| default_out(&args.dir, args.other.as_deref()));
    write_whole(&out, page.as_bytes())?;
    print(&out.display().to_string())
}

/// Where a page goes that nobody has given a place.
fn default_out(dir: &Path, other: Option<&Path>) -> PathBuf {
    // The name of `.` or of `..` is that of the folder it is.
    let name = |dir: &Path| {
        dir.canonicalize()
            .ok()?
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    match other {
        None => dir.join("report.html"),
        Some(other) => dir.join(format!("report-beside-{}.html", name(other).unwrap_or_default())),
    }
}

/// The fields in which the cards of two directories differ; none where one cannot be read, which
/// the page itself will say.
fn differences(a: &Path, b: &Path) -> Vec<folkmoot_report::Difference> {
    let read = |dir: &Path| std::fs::read_to_string(dir.join(SCENARIO)).unwrap_or_default();
    differences_of(&read(a), &read(b))
}

impl From<ReportError> for Exit {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Plot(error) => error.into(),
            error => Exit::usage(format!("error: {error}")),
        }
    }
}
