//! The receiver's end of a message's way.

use crate::core::{Account, Core};
use crate::event::{Content, Entry, Envelope};
use crate::ground::Env;
use crate::queue::EventKey;
use crate::strategy::Strategy;
use crate::world::Rate;
use folkmoot_metrics::{Bytes, Party, Round};

impl<S: Strategy> Core<S> {
    /// Lets a message through the receiver's access link, first in, first out. `None` while it
    /// waits there for those that came earlier and for its own bytes.
    #[inline(always)]
    pub(crate) fn linked(
        &mut self,
        env: &Env<'_, S>,
        account: &mut Account,
        way: (EventKey, Party, Round),
        envelope: Envelope<S>,
    ) -> Option<Envelope<S>> {
        // In most worlds there is no such link, and most messages are of a few bytes: none is moved
        // for it.
        match envelope.linked || account.rates.down == Rate::Unlimited {
            true => Some(envelope),
            false => self.through_link(env, account, way, envelope),
        }
    }

    #[inline(never)]
    fn through_link(
        &mut self,
        env: &Env<'_, S>,
        account: &mut Account,
        (key, me, round): (EventKey, Party, Round),
        mut envelope: Envelope<S>,
    ) -> Option<Envelope<S>> {
        let size = Bytes(envelope.letter.payload_len() + u64::from(env.world.header_bytes));
        account.down_free = account.rates.down.through(key.at.max(account.down_free), size);
        if account.down_free <= key.at {
            return Some(envelope);
        }
        envelope.linked = true;
        self.progress.waits(key.at, account.down_free);
        let key = EventKey::new(account.down_free, key.origin(), key.seq());
        let content = Content::Message(envelope);
        self.schedule(key, me, Entry { round, content });
        None
    }
}
