//! `folkmoot compare`: the first difference between two results.

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::print;

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Exit> {
    match folkmoot_metrics::compare::compare(&args.a, &args.b)? {
        None => print("no difference"),
        Some(difference) => {
            print(&difference.to_string())?;
            Err(Exit::failed(""))
        }
    }
}
