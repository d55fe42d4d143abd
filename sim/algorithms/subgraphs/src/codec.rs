//! Codecs of what clients exchange before training: all of it is told, once, and nothing is drawn
//! for it.

use folkmoot_codecs::Codec;
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_parts::{Chosen, Rules};

/// That a `field` of settings names such a codec.
pub(crate) fn require(codec: &Chosen<dyn Codec>, field: &str, rules: &mut Rules) {
    if rules.is_broken(field) {
        return;
    }
    let rule = "must be Plain, Half, Bfloat, Uniform or another codec that sends every number and rounds deterministically, since the exchange happens once";
    rules.require(codec.suits_models() && !codec.is_random(), field, rule);
    let rule = "must be without feedback: the exchange happens once, so no later message could carry the residual";
    rules.require(!codec.feeds_back(), field, rule);
}

/// The stream that such a codec is given, and draws nothing from.
pub(crate) fn no_draws() -> SimRng {
    Streams::new(0).global(Purpose(*b"exchange"))
}
