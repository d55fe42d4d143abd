//! Features as they are.

use super::{Estimate, FeatureRelease};
use crate::own::OwnFeatures;
use folkmoot_engine::prelude::*;
use folkmoot_parts::part;

/// They are sent as they are: place and value of each that is not 0, 8 bytes.
#[part(name = "ClearFeatures", about = "features are sent as they are")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearFeatures {}

impl FeatureRelease for ClearFeatures {
    fn mechanism(&self) -> &'static str {
        "none: features"
    }

    fn epsilon(&self) -> Option<f64> {
        None
    }

    fn report(&self, own: OwnFeatures<'_, '_, '_>) -> Result<Vec<u8>, StrategyError> {
        let values = own.unprotected();
        let mut report = Vec::new();
        for (column, value) in (0_u32..).zip(values).filter(|(_, value)| *value != 0.0) {
            put_u32s(&mut report, &[column]);
            put_f32s(&mut report, &[value as f32]);
        }
        Ok(report)
    }

    fn read(&self, report: &[u8], n_features: usize, _: (f64, f64)) -> Option<Estimate> {
        let mut reader = WireReader::new(report);
        let mut others: Vec<(u32, f32)> = Vec::with_capacity(report.len() / 8);
        while !reader.is_empty() {
            let (column, value) = (reader.u32().ok()?, reader.f32().ok()?);
            let is_next = others.last().is_none_or(|(last, _)| *last < column);
            if column as usize >= n_features || !is_next {
                return None;
            }
            others.push((column, value));
        }
        Some(Estimate { base: 0.0, others })
    }
}
