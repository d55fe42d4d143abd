//! What codecs keep of a matrix.

use folkmoot_checks::golden::{Case, Got, Mismatch};
use folkmoot_codecs::{Codec, LowRank, Rounding, Symbols, Uniform};
use folkmoot_draws::{SeedableRng, SimRng};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    setting: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    matrix: Vec<Vec<f32>>,
}

pub(super) fn check(case: &Case) -> Result<Vec<Mismatch>, String> {
    let (Params { setting }, Inputs { matrix }): (Params, Inputs) = (case.params()?, case.inputs()?);
    let codec: Box<dyn Codec> = match case.op.as_str() {
        "uniform" => Box::new(Uniform {
            bits: setting,
            rounding: Rounding::Nearest,
            symbols: Symbols::Fixed,
            feedback: false,
        }),
        "low_rank" => Box::new(LowRank {
            rank: setting,
            iterations: 16,
            feedback: false,
        }),
        _ => return Err(case.unknown_op()),
    };
    let columns = matrix.first().map_or(0, Vec::len);
    let shapes = [[matrix.len(), columns]];
    let mut bytes = Vec::new();
    codec.encode(&matrix.concat(), &shapes, &mut SimRng::seed_from_u64(1), &mut bytes);
    let kept = codec.decode(&bytes, &shapes).map_err(|why| format!("{why:?}"))?;
    let kept: Vec<f64> = kept.into_iter().map(f64::from).collect();
    Ok(case.compare(Got::Map(vec![("kept", Got::rows(&kept, columns))])))
}
