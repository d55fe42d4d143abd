//! Features as they are.

use super::{Estimate, FeatureRelease, Numbers};
use crate::own::OwnFeatures;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;

/// Features are sent unprotected: indices of the non-zero features, then their values, 8 bytes
/// each.
#[component(name = "ClearFeatures", about = "features sent without protection")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearFeatures {}

impl FeatureRelease for ClearFeatures {
    fn mechanism(&self) -> &'static str {
        "none: features"
    }

    fn epsilon(&self) -> Option<f64> {
        None
    }

    fn numbers(&self) -> Option<Numbers> {
        Some(Numbers::Listed)
    }

    fn report(&self, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError> {
        let values = own.unprotected();
        let mut report = Vec::new();
        let listed = || (0_u32..).zip(&values).filter(|(_, value)| **value != 0.0);
        listed().for_each(|(column, _)| put_u32s(&mut report, &[column]));
        listed().for_each(|(_, value)| put_f32s(&mut report, &[*value as f32]));
        Ok(report)
    }

    fn read(&self, report: &[u8], n_features: usize, _: (f64, f64)) -> Option<Estimate> {
        let (columns, values) = report.split_at(report.len() / 2);
        let columns = WireReader::new(columns).rest_u32().ok()?;
        let values = WireReader::new(values).rest_f32().ok()?;
        let ascend = columns.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = columns.last().is_none_or(|last| (*last as usize) < n_features);
        (ascend && in_range).then(|| Estimate {
            base: 0.0,
            others: columns.into_iter().zip(values).collect(),
        })
    }
}
