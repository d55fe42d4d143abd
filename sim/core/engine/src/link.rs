//! Access links: what waits there, and what passes together.

use crate::event::{Content, Entry, Envelope};
use crate::max_min_fair::FairLink;
use crate::part_state::{Account, Core};
use crate::queue::EventKey;
use crate::run_context::Env;
use crate::strategy::Strategy;
use crate::world::tcp::Window;
use crate::world::{Rate, Sharing};
use folkmoot_metrics::{Bytes, Direction, Party, Round, SimSpan, SimTime};
use serde::{Deserialize, Serialize};

/// A participant's part in TCP: a client's connection with the server, each way, and the server's
/// link, each way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tcp {
    up: Window,
    down: Window,
    sending: FairLink,
    receiving: FairLink,
}

impl Account {
    fn tcp(&mut self) -> &mut Tcp {
        self.tcp.get_or_insert_default()
    }

    /// How much longer slow start makes a message that begins to pass between this client and the
    /// server.
    pub(crate) fn pauses<S: Strategy>(
        &mut self,
        env: &Env<'_, S>,
        direction: Direction,
        now: SimTime,
        size: Bytes,
    ) -> SimSpan {
        let Some(connection) = env.transport.slow_start else {
            return SimSpan::ZERO;
        };
        let tcp = &mut **self.tcp.get_or_insert_default();
        let (window, links) = match direction {
            Direction::Uplink => (&mut tcp.up, [&self.rates.up, &env.server_rates.down]),
            _ => (&mut tcp.down, [&self.rates.down, &env.server_rates.up]),
        };
        window.pauses(&connection, links, now, size)
    }
}

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
        match envelope.linked || account.rates.down == Rate::Unlimited && !env.transport.delays() {
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
        let payload = envelope.letter.payload_len();
        let size = Bytes(payload + env.header(payload));
        let direction = envelope.letter.direction();
        let is_shared = env.transport.sharing == Sharing::Fair && direction != Direction::Peer;
        let mut passed = key.at;
        match direction {
            Direction::Uplink if is_shared => {
                let capacity = account.rates.down.bytes_per_s();
                let most = || env.rates(Party::from_index(key.origin())).up.bytes_per_s();
                let id = (key.origin(), key.seq());
                match account.tcp().receiving.passed(id, key.at, (capacity, most), size) {
                    Ok(()) => return Some(envelope),
                    Err(next) => passed = next,
                }
            }
            _ => {
                if !is_shared {
                    passed = account.rates.down.through(key.at.max(account.down_free), size);
                    account.down_free = passed;
                }
                if direction == Direction::Downlink {
                    passed = passed + account.pauses(env, direction, key.at, size);
                }
                if passed <= key.at {
                    return Some(envelope);
                }
                envelope.linked = true;
            }
        }
        self.progress.waits(key.at, passed);
        let key = EventKey::new(passed, key.origin(), key.seq());
        let content = Content::Message(envelope);
        self.schedule(key, me, Entry { round, content });
        None
    }

    /// Lets a message of the server through its shared link, and on to its receiver.
    #[inline(never)]
    pub(crate) fn leave(
        &mut self,
        env: &Env<'_, S>,
        account: &mut Account,
        (key, to, round): (EventKey, Party, Round),
        after: SimSpan,
        envelope: Envelope<S>,
    ) {
        let payload = envelope.letter.payload_len();
        let size = Bytes(payload + env.header(payload));
        let (capacity, id) = (account.rates.up.bytes_per_s(), (to.index(), key.seq()));
        let most = || env.rates(to).down.bytes_per_s();
        match account.tcp().sending.passed(id, key.at, (capacity, most), size) {
            Ok(()) => {
                let arrives = key.at + after.max(env.lookahead);
                self.progress.waits(key.at, arrives);
                let content = Content::Message(envelope);
                self.post(
                    EventKey::new(arrives, key.origin(), key.seq()),
                    to,
                    Entry { round, content },
                );
            }
            Err(next) => {
                self.progress.waits(key.at, next);
                let content = Content::Leaving { to, after, envelope };
                self.schedule(
                    EventKey::new(next, key.origin(), key.seq()),
                    Party::Server,
                    Entry { round, content },
                );
            }
        }
    }
}
