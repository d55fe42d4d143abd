//! The reference: one queue, one event at a time, and nothing to be fast.
//!
//! It shares with the engine only the models of the world and the names of streams, and says once,
//! in order, what becomes of an event.

use super::script::{Act, BROADCAST, DRAW, Heard, Say, Script, Seen, absence, number};
use folkmoot_draws::StreamName;
use folkmoot_engine::Fault;
use folkmoot_engine::prelude::*;
use folkmoot_engine::world::{AccessRates, Candidates, Link, Presence, PresenceCursor, Rate};
use folkmoot_metrics::ledger::Cell;
use folkmoot_metrics::trace::{self, Event as Told, Fate, Followed};
use std::collections::BTreeMap;

/// An event's place in the order: when it is due, who caused it, and which of its causer's events
/// it is.
type Key = (SimTime, Party, u32);
type Cells = BTreeMap<(&'static str, Round, Direction), Cell>;

enum What {
    Heard(Heard),
    Message {
        say: Say,
        sent_at: SimTime,
        has_passed_link: bool,
    },
    /// A lost message is given up.
    Nothing,
}

struct Event {
    to: Party,
    round: Round,
    what: What,
}

/// What is known of one party.
#[derive(Default)]
struct Person {
    seen: Vec<Seen>,
    n_caused: u32,
    rates: AccessRates,
    up_free: SimTime,
    down_free: SimTime,
    cpu_free: SimTime,
    /// The latest round that has reached it, and when it leaves that one.
    joined: Option<Round>,
    leaves_at: SimTime,
    /// What waits until a later round reaches it.
    held: Vec<(Party, u32, Event)>,
    /// Rounds, bytes up, down and to clients, nanoseconds of computing.
    totals: [u64; 5],
}

/// What a run comes to.
#[derive(Debug, PartialEq)]
pub(crate) struct Story {
    /// By party, the server first, what it saw in the order in which it saw it.
    pub(crate) seen: Vec<Vec<Seen>>,
    pub(crate) cells: Cells,
    pub(crate) totals: Vec<[u64; 5]>,
    pub(crate) round_ends: Vec<SimTime>,
    pub(crate) end: SimTime,
    /// What a trace must tell, absences apart, in the order of its times.
    pub(crate) told: Vec<Told>,
}

pub(crate) struct Plain<'a> {
    script: &'a Script,
    world: &'a World,
    lookahead: SimSpan,
    streams: Streams,
    queue: BTreeMap<Key, Event>,
    people: Vec<Person>,
    cells: Cells,
    round_ends: Vec<SimTime>,
    finished_at: Option<SimTime>,
    followed: Followed,
    told: Vec<Told>,
    /// When the last event happened.
    now: SimTime,
    /// When a message was delivered, work finished or a round ended for the last time.
    progress: SimTime,
    longest_wait: SimSpan,
}

/// Whom a trace follows: about half.
pub(crate) fn followed(n_clients: u32) -> Followed {
    Followed::new(n_clients, n_clients / 2 + 1)
}

/// Plays a script with `n_clients` clients, where nothing arrives sooner than `lookahead` after it
/// was sent.
pub(crate) fn play(
    script: &Script,
    n_clients: u32,
    (world, lookahead): (&World, SimSpan),
    seed: u64,
) -> Result<Story, RunError> {
    let mut plain = Plain {
        script,
        world,
        lookahead,
        streams: Streams::new(seed),
        queue: BTreeMap::new(),
        people: (0..=n_clients).map(|_| Person::default()).collect(),
        cells: BTreeMap::new(),
        round_ends: Vec::new(),
        finished_at: None,
        followed: followed(n_clients),
        told: Vec::new(),
        now: SimTime::ZERO,
        progress: SimTime::ZERO,
        longest_wait: SimSpan::ZERO,
    };
    for party in (0..=n_clients).map(Party::from_index) {
        plain.people[party.index() as usize].rates = world.network.access(party, plain.streams);
    }
    let starters = if script.starts_clients { n_clients } else { 0 };
    for party in (0..=starters).map(Party::from_index) {
        plain.cause(SimTime::ZERO, party, party, Round(0), What::Heard(Heard::Start));
    }
    let end = plain.run()?;
    Ok(plain.story(end))
}

impl Plain<'_> {
    fn insert(&mut self, key: Key, event: Event) {
        self.longest_wait = self.longest_wait.max(key.0 - self.now);
        self.queue.insert(key, event);
    }

    /// Puts an event that `from` causes into the queue.
    fn cause(&mut self, at: SimTime, from: Party, to: Party, round: Round, what: What) {
        let seq = self.next_seq(from);
        self.insert((at, from, seq), Event { to, round, what });
    }

    /// Has a trace tell of something in the lives of these two.
    fn tell(&mut self, at: SimTime, a: Party, b: Party, what: trace::What) {
        if self.followed.has_either(a, b) || (a, b) == (Party::Server, Party::Server) {
            self.told.push(Told { at, what });
        }
    }

    fn tell_end(&mut self, at: SimTime, (from, seq, to): (Party, u32, Party), fate: Fate) {
        let message = message(from, seq, to);
        self.tell(at, from, to, trace::What::Ended { message, fate });
    }

    fn tell_return(&mut self, id: ClientId, at: SimTime) {
        let person = &self.people[id.0 as usize + 1];
        if let Some(round) = person.joined.filter(|_| person.leaves_at < at) {
            let (client, since) = (id, person.leaves_at);
            let (me, what) = (Party::Client(id), trace::What::Left { client, round, since });
            self.tell(at, me, me, what);
        }
    }

    fn next_seq(&mut self, party: Party) -> u32 {
        let n_caused = &mut self.people[party.index() as usize].n_caused;
        *n_caused += 1;
        *n_caused - 1
    }

    fn cell(&mut self, from: Party, to: Party, round: Round) -> &mut Cell {
        let way = Direction::between(from, to);
        let kind = ["up", "down", "peer"][way as usize];
        self.cells.entry((kind, round, way)).or_default()
    }

    /// Takes the first event until nothing is left to happen. Returns when that was.
    fn run(&mut self) -> Result<SimTime, RunError> {
        let horizon = SimTime::ZERO + self.world.horizon;
        let mut when_quiet = None;
        loop {
            let stop = self.finished_at.map_or(horizon, |at| horizon.min(at + self.lookahead));
            // Once it has finished, the server hears nothing.
            let can_hear = |event: &Event| event.to != Party::Server || self.finished_at.is_none();
            let first = self
                .queue
                .iter()
                .find(|(_, event)| can_hear(event))
                .map(|(key, _)| *key);
            if let Some(key) = first.filter(|key| key.0 < stop) {
                let until = self.progress + SimSpan::from_secs(30.0 * 24.0 * 3600.0) + self.longest_wait;
                if key.0 >= until {
                    return Err(RunError::Idle {
                        since: self.progress,
                        until,
                        round: Round(self.round_ends.len() as u32),
                        remedy: self.world.remedy(),
                    });
                }
                self.now = key.0;
                if let Some(event) = self.queue.remove(&key) {
                    self.handle(key, event)?;
                }
                continue;
            }
            if let Some(at) = self.finished_at {
                return Ok(at);
            }
            if first.is_some() && horizon < SimTime::NEVER {
                return Ok(horizon);
            }
            // Nothing more comes before the end of time. The server may do something about it, or
            // it waits for ever.
            let (round, never_due) = (Round(self.round_ends.len() as u32), self.queue.len());
            let caused = (self.people[0].n_caused, round);
            if when_quiet.replace(caused) == Some(caused) || never_due > 0 {
                return Err(RunError::Stalled {
                    remedy: self.world.remedy(),
                    at: self.now,
                    round,
                    never_due,
                });
            }
            self.hear(Party::Server, round, self.now, Heard::Quiet)?;
        }
    }

    fn handle(&mut self, (at, from, seq): Key, mut event: Event) -> Result<(), RunError> {
        let (to, round) = (event.to, event.round);
        if let What::Nothing = event.what {
            return Ok(());
        }
        if let Party::Client(id) = to {
            let joined = self.people[to.index() as usize].joined;
            let is_new = joined.is_none_or(|joined| round > joined);
            if is_new {
                self.tell_return(id, at);
            }
            let person = &mut self.people[to.index() as usize];
            if is_new {
                person.joined = Some(round);
                person.totals[0] += 1;
                person.leaves_at = self.world.dropout.leaves_at(id, round, at, self.streams);
            }
            let (in_round, mut fresh) = (person.joined.unwrap_or_default(), PresenceCursor::default());
            let presence = self
                .world
                .availability
                .presence(id, in_round, at, &mut fresh, self.streams);
            match presence {
                _ if at >= person.leaves_at => return self.away((at, from, seq), event, None, DropReason::Dropout),
                Presence::Away(until) => return self.away((at, from, seq), event, until, DropReason::Absent),
                Presence::Online => {}
            }
            if is_new {
                let held = std::mem::take(&mut person.held);
                self.queue
                    .extend(held.into_iter().map(|(from, seq, event)| ((at, from, seq), event)));
            }
        }
        let person = &mut self.people[to.index() as usize];
        let heard = match &mut event.what {
            What::Heard(heard) => *heard,
            What::Nothing => return Ok(()),
            What::Message {
                say, has_passed_link, ..
            } => {
                let size = self.world.header_bytes + 8 + 4 * say.words;
                if !*has_passed_link {
                    *has_passed_link = true;
                    if person.rates.down != Rate::Unlimited {
                        person.down_free = person.rates.down.through(person.down_free.max(at), Bytes(size.into()));
                    }
                    if person.down_free > at {
                        let through = person.down_free;
                        self.insert((through, from, seq), event);
                        return Ok(());
                    }
                }
                if from == Party::Server {
                    person.totals[2] += u64::from(size);
                }
                let life = say.life;
                self.cell(from, to, round).delivered += 1;
                self.progress = at;
                self.tell_end(at, (from, seq, to), Fate::Delivered);
                Heard::Message { from, life }
            }
        };
        self.hear(to, round, at, heard)
    }

    /// A client is away until then, or until a later round reaches it.
    fn away(&mut self, key: Key, mut event: Event, until: Option<SimTime>, why: DropReason) -> Result<(), RunError> {
        let (at, from, seq) = key;
        let (to, round) = (event.to, event.round);
        match &mut event.what {
            // What it had begun is lost.
            What::Heard(heard) if why == DropReason::Dropout => {
                if let (Heard::Done { .. }, Party::Client(client)) = (heard, to) {
                    self.tell(at, to, to, trace::What::Lost { client, round });
                }
                return Ok(());
            }
            What::Heard(_) | What::Nothing => {}
            What::Message {
                say,
                sent_at,
                has_passed_link,
            } => match absence(say.policy) {
                Absence::Wait => *has_passed_link = false,
                policy => {
                    let (say, sent_at) = (say.clone(), *sent_at);
                    self.cell(from, to, round).dropped[why as usize] += 1;
                    self.tell_end(at, (from, seq, to), Fate::Dropped(why));
                    if let Absence::Tell { after } = policy {
                        let told_at = (sent_at + after).max(at + self.lookahead);
                        self.cause(told_at, to, from, round, undelivered(from, to, &say, why));
                    }
                    return Ok(());
                }
            },
        }
        match until {
            Some(until) => self.insert((until, from, seq), event),
            None => self.people[to.index() as usize].held.push((from, seq, event)),
        }
        Ok(())
    }

    fn send(&mut self, from: Party, now: SimTime, round: Round, to: Party, say: Say) {
        let seq = self.next_seq(from);
        let (payload, header) = (8 + 4 * u64::from(say.words), u64::from(self.world.header_bytes));
        let name = StreamName::new(self.streams, Purpose(*b"network "), from, round, u64::from(seq));
        let verdict = self
            .world
            .network
            .verdict(Link { from, to }, Bytes(payload + header), name);
        let attempts = u64::from(verdict.attempts);
        let cell = self.cell(from, to, round);
        cell.sent += 1;
        cell.retried += attempts - 1;
        cell.payload_bytes += attempts * payload;
        cell.header_bytes += attempts * header;
        let sent = trace::What::Sent {
            message: message(from, seq, to),
            round,
            bytes: payload + header,
            attempts,
        };
        self.tell(now, from, to, sent);
        let person = &mut self.people[from.index() as usize];
        person.totals[if to == Party::Server { 1 } else { 3 }] += attempts * (payload + header);
        // Every attempt passes the sender's access link, one after the other and behind what went
        // before.
        let bytes = Bytes(attempts * (payload + header));
        person.up_free = person.rates.up.through(person.up_free.max(now), bytes);
        let departs = person.up_free;
        let due = departs + verdict.after;
        let (at, to, what) = if verdict.arrives {
            let what = What::Message {
                say,
                sent_at: now,
                has_passed_link: false,
            };
            (due.max(now + self.lookahead), to, what)
        } else {
            // The sender waits for the last transmission as for the others.
            self.cell(from, to, round).dropped[DropReason::Loss as usize] += 1;
            self.tell_end(due, (from, seq, to), Fate::Dropped(DropReason::Loss));
            match absence(say.policy) {
                Absence::Tell { after } => {
                    let what = undelivered(from, to, &say, DropReason::Loss);
                    (due.max(now + after), from, what)
                }
                Absence::Wait | Absence::GiveUp => (due, from, What::Nothing),
            }
        };
        self.insert((at, from, seq), Event { to, round, what });
    }

    /// A party hears something, writes it down and does what its script says.
    fn hear(&mut self, me: Party, event_round: Round, at: SimTime, heard: Heard) -> Result<(), RunError> {
        let n_clients = self.people.len() as u32 - 1;
        let mut round = match me {
            Party::Server => Round(self.round_ends.len() as u32),
            Party::Client(_) => event_round,
        };
        if let Heard::Done { .. } = heard {
            self.progress = at;
        }
        let seen = &mut self.people[me.index() as usize].seen;
        let counter = seen.len() as u64;
        let draw = |round| number(self.streams.counted(DRAW, me, round, counter));
        seen.push(Seen {
            at,
            round,
            event_round,
            heard,
            draw: draw(round),
        });
        let (acts, life) = self.script.acts(me, seen);
        for act in acts {
            match (*act, me) {
                (Act::Send { to, words, policy }, _) => {
                    self.send(
                        me,
                        at,
                        round,
                        Script::receiver(me, to, n_clients),
                        Say { life, policy, words },
                    );
                }
                (Act::Broadcast { words, policy }, Party::Server) => {
                    let mut clients = Candidates::of_none(n_clients, round);
                    let cohort = clients.select(&*self.world.cohort, self.streams).expect("a draw");
                    for to in cohort.into_iter().take(BROADCAST) {
                        self.send(me, at, round, Party::Client(to), Say { life, policy, words });
                    }
                }
                (Act::Compute { cost }, _) => {
                    let span = match me {
                        Party::Server => SimSpan::ZERO,
                        Party::Client(id) => self.world.devices.span(id, cost, self.streams),
                    };
                    let person = &mut self.people[me.index() as usize];
                    person.totals[4] += span.0;
                    let begins = person.cpu_free.max(at);
                    person.cpu_free = begins + span;
                    let (party, cpu_free) = (me, person.cpu_free);
                    self.tell(
                        at,
                        me,
                        me,
                        trace::What::Job {
                            party,
                            round,
                            begins,
                            span,
                        },
                    );
                    let (due, draw) = (cpu_free, number(self.streams.counted(DRAW, me, round, counter)));
                    self.cause(due, me, me, round, What::Heard(Heard::Done { life, draw }));
                }
                (Act::Timer { after }, _) => {
                    self.cause(at + after, me, me, round, What::Heard(Heard::Timer { life }));
                }
                (Act::Round { .. }, Party::Server) => {
                    self.tell_round(round, at);
                    self.round_ends.push(at);
                    self.progress = at;
                    round = round.next();
                }
                (Act::Round { round: other }, _) => round = Round(other),
                (Act::Finish, Party::Server) => self.finished_at = self.finished_at.or(Some(at)),
                (Act::Fail, party) => {
                    let fault = Fault::Strategy(StrategyError(String::new()));
                    return Err(RunError::Handler { at, party, fault });
                }
                (Act::Broadcast { .. } | Act::Finish, Party::Client(_)) => {}
            }
        }
        Ok(())
    }

    fn tell_round(&mut self, round: Round, at: SimTime) {
        let since = self.round_ends.last().copied().unwrap_or(SimTime::ZERO);
        let counts = [0; 3];
        self.tell(
            at,
            Party::Server,
            Party::Server,
            trace::What::Round { round, since, counts },
        );
    }

    /// Counts what is still under way, and sums up.
    fn story(mut self, end: SimTime) -> Story {
        let over = end.max(self.now);
        let mut left: Vec<(Party, u32, Event)> = std::mem::take(&mut self.queue)
            .into_iter()
            .map(|(key, event)| (key.1, key.2, event))
            .collect();
        for person in &mut self.people {
            left.append(&mut person.held);
        }
        for (from, seq, event) in left {
            if let What::Message { .. } = event.what {
                self.cell(from, event.to, event.round).in_flight += 1;
                self.tell_end(over, (from, seq, event.to), Fate::InFlight);
            }
        }
        for id in 1..self.people.len() as u32 {
            self.tell_return(ClientId(id - 1), over);
        }
        for told in &mut self.told {
            told.at = told.at.min(over);
        }
        if self.round_ends.last().copied().unwrap_or(SimTime::ZERO) < end {
            self.tell_round(Round(self.round_ends.len() as u32), over);
        }
        Story {
            totals: self.people[1..].iter().map(|person| person.totals).collect(),
            seen: self.people.into_iter().map(|person| person.seen).collect(),
            cells: self.cells,
            round_ends: self.round_ends,
            end,
            told: in_order(self.told),
        }
    }
}

/// What a trace tells, in an order that says nothing of which came first at an instant.
pub(crate) fn in_order(mut told: Vec<Told>) -> Vec<Told> {
    told.sort_by_cached_key(|event| (event.at, format!("{:?}", event.what)));
    told
}

fn message(from: Party, seq: u32, to: Party) -> trace::Message {
    // The script's kinds are numbered as directions are.
    let kind = Direction::between(from, to) as u32;
    trace::Message { from, seq, to, kind }
}

/// What `from` hears of a message to `to` that has not arrived. Notes come with messages between
/// clients only.
fn undelivered(from: Party, to: Party, say: &Say, why: DropReason) -> What {
    let note = if Direction::between(from, to) == Direction::Peer {
        say.words
    } else {
        0
    };
    What::Heard(Heard::Undelivered {
        to,
        life: say.life,
        note,
        why,
    })
}
