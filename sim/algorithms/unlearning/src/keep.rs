//! The control: nothing is done.

use crate::UnlearningMethod;
use folkmoot_parts::component;

/// Nothing is done, or training goes on without the data for some rounds: the model forgets by
/// itself, if at all. What the request costs is nothing, and what is left of the data is all.
#[component(name = "Keep", about = "control: the model is kept, or trained on without the data")]
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Rounds of training that follow, without the data.
    #[component(default = 0, in = 0..=1_000_000)]
    pub rounds: u32,
}

impl UnlearningMethod for Keep {
    fn n_rounds(&self, _: u32) -> u32 {
        self.rounds
    }
}
