//! Scripts: a strategy that does at each event what a drawn table says, and writes down all that it
//! hears.

use folkmoot_draws::index;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// What parties do. Whoever hears something of life `n` causes things of life `n - 1`, so every
/// script ends.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// What is done at one event, over and over.
    pub(crate) rows: Vec<Vec<Act>>,
    /// The life of what the start causes, and how often the server goes on when all is quiet.
    pub(crate) life: u32,
    /// Whether every client starts too.
    pub(crate) starts_clients: bool,
    /// Whether the server finishes in the end, or waits for ever.
    pub(crate) finishes: bool,
}

/// One thing that a party does. Numbers of parties are taken modulo how many there are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// Sends so many words to that party; what becomes of them where it is absent is policy number
    /// `policy`.
    Send {
        to: u32,
        words: u32,
        policy: u32,
    },
    /// Sends them to the round's cohort.
    Broadcast {
        words: u32,
        policy: u32,
    },
    Compute {
        cost: f64,
    },
    Timer {
        after: SimSpan,
    },
    /// The server ends its round; a client goes on in round `round`.
    Round {
        round: u32,
    },
    Finish,
    Fail,
}

/// The most receivers of a broadcast.
pub(crate) const BROADCAST: usize = 8;
/// The stream that each handler draws one number from, and each job another.
pub(crate) const DRAW: Purpose = Purpose(*b"testdraw");

/// What a message says: the life and the policy of what it is, and words to make it longer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Say {
    pub(crate) life: u32,
    pub(crate) policy: u32,
    pub(crate) words: u32,
}

messages! {
    /// From the server.
    pub(crate) enum Down {
        /// Anything.
        1, "script", "down" => Said(life: u32, policy: u32, words: Vec<u32>),
    }
}

messages! {
    /// To the server.
    pub(crate) enum Up {
        /// Anything.
        0, "script", "up" => Said(life: u32, policy: u32, words: Vec<u32>),
    }
}

messages! {
    /// Between clients.
    pub(crate) enum Peer {
        /// Anything.
        2, "script", "peer" => Said(life: u32, policy: u32, words: Vec<u32>),
    }
}

/// What a party hears.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Heard {
    Start,
    Quiet,
    Message {
        from: Party,
        life: u32,
    },
    Done {
        life: u32,
        draw: usize,
    },
    Timer {
        life: u32,
    },
    Undelivered {
        to: Party,
        life: u32,
        note: u32,
        why: DropReason,
    },
}

/// One event as its party saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) at: SimTime,
    pub(crate) round: Round,
    pub(crate) event_round: Round,
    pub(crate) heard: Heard,
    pub(crate) draw: usize,
}

/// A number of 20 bits.
pub(crate) fn number(mut rng: SimRng) -> usize {
    index(&mut rng, 1 << 20)
}

/// What becomes of a message with policy `policy` whose receiver is absent.
pub(crate) fn absence(policy: u32) -> Absence {
    match policy {
        0 => Absence::Wait,
        1 => Absence::GiveUp,
        n => Absence::Tell {
            after: SimSpan::from_millis(f64::from(n - 2)),
        },
    }
}

impl Script {
    /// What `me` does about the last event it has seen, and the life of what that causes.
    pub(crate) fn acts(&self, me: Party, seen: &[Seen]) -> (&[Act], u32) {
        let life = match seen.last().map(|seen| seen.heard) {
            None | Some(Heard::Start) => self.life,
            Some(Heard::Quiet) => {
                let n_quiets = seen.iter().filter(|seen| seen.heard == Heard::Quiet).count() as u32;
                match (self.life + 1).saturating_sub(n_quiets) {
                    0 if self.finishes => return (&[Act::Finish], 0),
                    life => life,
                }
            }
            Some(Heard::Message { life, .. } | Heard::Done { life, .. } | Heard::Timer { life }) => life,
            Some(Heard::Undelivered { life, .. }) => life,
        };
        match life.checked_sub(1) {
            None => (&[], 0),
            Some(life) => (
                &self.rows[(me.index() as usize + 3 * seen.len()) % self.rows.len()],
                life,
            ),
        }
    }

    /// Whom `me` sends to when it says `to`.
    pub(crate) fn receiver(me: Party, to: u32, n_clients: u32) -> Party {
        match me {
            Party::Server => Party::Client(ClientId(to % n_clients)),
            Party::Client(_) => Party::from_index(to % (n_clients + 1)),
        }
    }
}

/// What one party has seen.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Diary(pub(crate) Vec<Seen>);

impl Strategy for Script {
    type Down = Down;
    type Up = Up;
    type Peer = Peer;
    type Shard<'a> = ();
    type Work = u32;
    type Done = (u32, usize);
    type Server = Diary;
    type Client = Diary;
    type Sight = ();

    fn server(&self, _: &Setup<'_>) -> Result<Diary, StrategyError> {
        Ok(Diary::default())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<Diary, StrategyError> {
        Ok(Diary::default())
    }

    fn starts_clients(&self) -> bool {
        self.starts_clients
    }

    fn absence(&self, letter: &Letter<Self>) -> Absence {
        match letter {
            Letter::Down(Down::Said(_, policy, _))
            | Letter::Up(Up::Said(_, policy, _))
            | Letter::Peer(Peer::Said(_, policy, _)) => absence(*policy),
        }
    }

    fn perform(&self, _: Option<()>, life: &u32, cx: &JobContext) -> (u32, usize) {
        (*life, number(cx.rng(DRAW)))
    }

    fn on_server(
        &self,
        diary: &mut Diary,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let heard = match event {
            ServerEvent::Start => Heard::Start,
            ServerEvent::Quiet => Heard::Quiet,
            ServerEvent::Message {
                from,
                message: Up::Said(life, ..),
            } => Heard::Message {
                from: Party::Client(from),
                life,
            },
            ServerEvent::Done((life, draw)) => Heard::Done { life, draw },
            ServerEvent::Timer(TimerId(life)) => Heard::Timer { life },
            ServerEvent::Undelivered {
                to,
                message: Down::Said(life, ..),
                why,
            } => Heard::Undelivered {
                to: Party::Client(to),
                life,
                note: 0,
                why,
            },
        };
        diary.0.push(Seen {
            at: cx.now(),
            round: cx.round(),
            event_round: cx.event_round(),
            heard,
            draw: number(cx.rng(DRAW)),
        });
        let (acts, life) = self.acts(Party::Server, &diary.0);
        let say = |words: u32, policy| Down::Said(life, policy, vec![0; words as usize]);
        for &act in acts {
            match act {
                Act::Send { to, words, policy } => cx.send(ClientId(to % cx.n_clients()), say(words, policy)),
                Act::Broadcast { words, policy } => {
                    for id in cx.cohort()?.into_iter().take(BROADCAST) {
                        cx.send(id, say(words, policy));
                    }
                }
                Act::Compute { .. } => cx.compute(life),
                Act::Timer { after } => cx.timer(after, TimerId(life)),
                Act::Round { .. } => cx.round_done(RoundReport::default()),
                Act::Finish => cx.finish(),
                Act::Fail => return Err(StrategyError(String::new())),
            }
        }
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        diary: &mut Diary,
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let heard = match event {
            ClientEvent::Start => Heard::Start,
            ClientEvent::Message(Down::Said(life, ..)) => Heard::Message {
                from: Party::Server,
                life,
            },
            ClientEvent::Peer {
                from,
                message: Peer::Said(life, ..),
            } => Heard::Message {
                from: Party::Client(from),
                life,
            },
            ClientEvent::Done((life, draw)) => Heard::Done { life, draw },
            ClientEvent::Timer(TimerId(life)) => Heard::Timer { life },
            ClientEvent::Undelivered {
                message: Up::Said(life, ..),
                why,
            } => Heard::Undelivered {
                to: Party::Server,
                life,
                note: 0,
                why,
            },
            ClientEvent::UndeliveredPeer {
                to,
                message: Peer::Said(life, ..),
                note,
                why,
            } => Heard::Undelivered {
                to: Party::Client(to),
                life,
                note,
                why,
            },
        };
        diary.0.push(Seen {
            at: cx.now(),
            round: cx.round(),
            event_round: cx.event_round(),
            heard,
            draw: number(cx.rng(DRAW)),
        });
        let me = Party::Client(cx.me());
        let (acts, life) = self.acts(me, &diary.0);
        for &act in acts {
            match act {
                Act::Send { to, words, policy } => {
                    let content = vec![0; words as usize];
                    match Script::receiver(me, to, cx.n_clients()) {
                        Party::Server => cx.send(Up::Said(life, policy, content)),
                        Party::Client(to) => cx.send_peer_noted(to, Peer::Said(life, policy, content), words),
                    }
                }
                Act::Compute { cost } => cx.compute(life, cost),
                Act::Timer { after } => cx.timer(after, TimerId(life)),
                Act::Round { round } => cx.continue_round(Round(round)),
                Act::Fail => return Err(StrategyError(String::new())),
                Act::Broadcast { .. } | Act::Finish => {}
            }
        }
        Ok(())
    }
}

/// Collects what all parties have seen, the server first.
#[derive(Default)]
pub(crate) struct Diaries(pub(crate) Mutex<Vec<Vec<Seen>>>);

impl Evaluator<Script> for Diaries {
    fn at_end(&self, end: &End<'_, Script>, _: &mut Sheet) {
        let clients = end.clients.iter().map(|(_, client)| client.0.clone());
        let all = std::iter::once(end.server.0.clone()).chain(clients);
        if let Ok(mut diaries) = self.0.lock() {
            *diaries = all.collect();
        }
    }
}
