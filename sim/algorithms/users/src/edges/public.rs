//! Edges that the server knows.

use super::{EdgeRelease, Reports, Suspicion, n_named};
use crate::links::Links;
use crate::own::OwnEdges;
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;

/// The server knows the edges from the start, like the operator of a social network; users do not
/// report them.
#[component(name = "PublicEdges", about = "the server knows the edges (LPGNN)")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicEdges {}

impl PublicEdges {
    fn lists(reports: Reports<'_>) -> Result<Vec<Vec<u32>>, StrategyError> {
        reports.read(|_, report| WireReader::new(report).rest_u32().ok())
    }
}

impl EdgeRelease for PublicEdges {
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        vec![MechanismInfo {
            mechanism: "none: edges are public".to_owned(),
            unit: "nothing".to_owned(),
            claimed: None,
        }]
    }

    fn n_lists(&self) -> u32 {
        0
    }

    fn report(&self, _: OwnEdges<'_>) -> Result<Vec<u8>, StrategyError> {
        Ok(Vec::new())
    }

    fn links(&self, reports: Reports<'_>) -> Result<Links, StrategyError> {
        Ok(Links::named(&PublicEdges::lists(reports)?, true))
    }

    fn suspect(&self, reports: Reports<'_>, pairs: &[(u32, u32)]) -> Result<Vec<Suspicion>, StrategyError> {
        let lists = PublicEdges::lists(reports)?;
        let scores = pairs.iter().map(|pair| f64::from(n_named(&lists, *pair))).collect();
        Ok(vec![Suspicion { name: "lists", scores }])
    }
}
