//! How many messages a walk needs.

use folkmoot_checks::golden::{Case, Got, Mismatch, Nothing};
use folkmoot_walks::fedwalk::theory;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Walk {
    l: u32,
    p: f64,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    match case.op.as_str() {
        "expected_messages" => expected_messages(case),
        _ => Err(case.unknown_op()),
    }
}

fn expected_messages(case: &Case) -> Result<Vec<Mismatch>, String> {
    let Walk { l, p } = case.params()?;
    case.inputs::<Nothing>()?;
    let law = theory::message_law(l, p);
    let (messages, probability): (Vec<usize>, Vec<f64>) = law
        .into_iter()
        .enumerate()
        .filter(|(_, probability)| *probability > 0.0)
        .unzip();
    let distribution = vec![("messages", messages.into()), ("probability", probability.into())];
    let mut got = vec![
        ("recurrence", theory::recurrent_messages(l, p).into()),
        ("closed_form", theory::expected_messages(l, p).into()),
        ("jumps", theory::expected_jumps(l, p).into()),
        ("distribution", Got::Map(distribution)),
    ];
    // The printed form speaks of walks of two vertices or more.
    if l >= 2 {
        got.push(("paper_closed_form", theory::printed_messages(l, p).into()));
    }
    Ok(case.compare(Got::Map(got)))
}
