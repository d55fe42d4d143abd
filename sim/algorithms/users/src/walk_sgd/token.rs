//! A model on its way: how it is packed where it is handed on, and read where a step is made.

use super::message::Peer;
use super::{NEXT, WalkSgd, any_neighbour, counter};
use folkmoot_engine::prelude::*;
use folkmoot_rounds::packed::{Packed, Packing, Sent, first_not_finite};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const PACKED: Purpose = Purpose(*b"wk-pack ");

/// A token: which, its steps so far, hops left of its jump, and its model as it came, or as a step
/// has made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) id: u32,
    pub(super) step: u32,
    pub(super) jump: u32,
    pub(super) model: Sent,
}

impl Token {
    pub(super) fn of(message: Peer) -> Token {
        let (step, walk_and_jump, model) = match message {
            Peer::Token(step, walk_and_jump, model) => (step, walk_and_jump, Sent::Plain(model)),
            Peer::PackedToken(step, walk_and_jump, Packed(bytes)) => (step, walk_and_jump, Sent::Packed(bytes)),
        };
        Token {
            id: walk_and_jump >> 16,
            step,
            jump: walk_and_jump & 0xffff,
            model,
        }
    }
}

impl WalkSgd {
    fn packing(&self) -> Packing<'_> {
        Packing::new(&*self.params.codec, self.classifier.network().layout().shapes())
    }

    /// The model of a token.
    pub(super) fn opened(&self, model: &Sent) -> Arc<[f32]> {
        match model {
            Sent::Plain(model) => Arc::clone(model),
            Sent::Packed(bytes) => {
                let layout = self.classifier.network().layout();
                let model = self.packing().open(bytes, layout.len() - layout.n_trainable());
                model.expect("what a client has packed can be read").into()
            }
        }
    }

    /// Hands a token on, after so many tries that have failed here; a model that came packed goes
    /// on as it came.
    pub(super) fn pass(&self, to: u32, token: Token, failed: u32, cx: &mut ClientContext<'_, Self>) {
        let walk_and_jump = token.id << 16 | token.jump;
        let message = match token.model {
            Sent::Packed(bytes) => Peer::PackedToken(token.step, walk_and_jump, Packed(bytes)),
            Sent::Plain(model) if self.params.codec.is_plain() => Peer::Token(token.step, walk_and_jump, model),
            Sent::Plain(ref model) if first_not_finite(model).is_some() => {
                cx.count(counter::STOPPED, 1);
                return self.report(&token, true, cx);
            }
            Sent::Plain(model) => {
                let packed = self.packing().pack(&model, None, &mut cx.rng(PACKED));
                Peer::PackedToken(token.step, walk_and_jump, packed)
            }
        };
        cx.send_peer_noted(ClientId(to), message, failed);
    }

    /// The receiver is away, and so many hand-overs in a row have failed: another way is drawn, and
    /// a jump goes on from here.
    ///
    /// # Errors
    ///
    /// When that is more often than `tries`.
    pub(super) fn pass_again(
        &self,
        message: Peer,
        failed: u32,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let token = Token::of(message);
        if failed > self.params.tries {
            return Err(self.stuck(&token, failed, cx));
        }
        cx.count(counter::REDIRECTED, 1);
        let to = any_neighbour(&self.graph, cx.me().0, &mut cx.rng(NEXT));
        self.pass(to, token, failed, cx);
        Ok(())
    }

    /// That a walk comes no further.
    fn stuck(&self, token: &Token, failed: u32, cx: &ClientContext<'_, Self>) -> StrategyError {
        StrategyError(format!(
            "the run stalls: walk {} has made {} of {} steps, and {failed} hand-overs of its token in a row have failed, which is more \
             than strategy.tries; {}, or raise strategy.tries or strategy.timeout_s",
            token.id,
            token.step,
            self.params.steps,
            cx.remedy()
        ))
    }
}
