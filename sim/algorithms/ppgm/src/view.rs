//! The inputs of training and measurement: the algorithm, the data, and the random streams.

use super::algorithm::Ppgm;
use super::data::Data;
use folkmoot_engine::prelude::*;

/// All that it takes to train and to measure: the system, all raw pairs, and the streams of the
/// run.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub ppgm: &'a Ppgm,
    pub data: &'a Data,
    pub streams: Streams,
}
