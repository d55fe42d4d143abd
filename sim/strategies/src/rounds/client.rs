//! The client's side of rounds.

use super::secure::{Secrets, SecureMessage, SharesOf, fixed_point, mask};
use super::{Charge, Message, RoundStrategy, Rounds, Trained, Update, Work};
use folkmoot_draws::Purpose;
use folkmoot_engine::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const KEYS: Purpose = Purpose(*b"rd-keys ");
const SHARE: Purpose = Purpose(*b"rd-share");

/// A client's state: what it keeps, and in secure rounds its session.
#[derive(Debug, Serialize, Deserialize)]
pub struct Client<E, K = ()> {
    session: Option<Box<Session<E>>>,
    kept: Option<Box<K>>,
    /// Whether it has been charged for releases that are made once.
    has_released: bool,
}

/// What a client keeps during a secure round.
#[derive(Debug, Serialize, Deserialize)]
struct Session<E> {
    round: Round,
    secrets: Secrets,
    /// Ids and public keys of all who take part; empty until they come.
    roster: Arc<[(u32, [u64; 2])]>,
    /// Its own shares among them.
    shares: Vec<SharesOf>,
    /// Whether the others' shares have come.
    is_paired: bool,
    trained: Option<Waiting<E>>,
}

/// What is trained, until it is sent: only then is anything spent.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting<E> {
    values: Vec<f32>,
    extra: Option<E>,
    spent: Vec<Charge>,
}

impl<E: State, K: State + Sync> Client<E, K> {
    pub(super) fn new() -> Self {
        Client {
            session: None,
            kept: None,
            has_released: false,
        }
    }

    /// What it kept of its last training, if it kept anything.
    pub(super) fn kept(&self) -> Option<&K> {
        self.kept.as_deref()
    }

    pub(super) fn handle<R: RoundStrategy<Extra = E, Kept = K>>(
        &mut self,
        rounds: &Rounds<R>,
        client: ClientId,
        event: Event<Rounds<R>>,
        cx: &mut Context<'_, '_, Rounds<R>>,
    ) {
        match event {
            Event::Message {
                message: Message::Model { order, parameters },
                ..
            } => {
                if rounds.is_secure() {
                    let secrets = Secrets::draw(&mut cx.rng(KEYS));
                    cx.send(Party::Server, Message::Secure(SecureMessage::Keys(secrets.public())));
                    self.session = Some(Box::new(Session {
                        round: cx.round(),
                        secrets,
                        roster: Arc::default(),
                        shares: Vec::new(),
                        is_paired: false,
                        trained: None,
                    }));
                }
                let work = Work {
                    client,
                    round: cx.round(),
                    order,
                    parameters,
                    dry_run: cx.dry_run(),
                };
                cx.compute(work, rounds.task.cost(client));
            }
            Event::Done(mut trained) if rounds.is_secure() => {
                self.keep::<R>(&mut trained);
                // Of a round that it has left for another, nothing can be sent any more.
                if let Some(session) = self.session.as_mut().filter(|session| session.round == cx.round()) {
                    session.trained = Some(Waiting {
                        values: trained.parameters,
                        extra: trained.extra,
                        spent: trained.spent,
                    });
                    session.send(rounds, client, &mut self.has_released, cx);
                }
            }
            Event::Done(mut trained) => {
                self.keep::<R>(&mut trained);
                charge(&trained.spent, &mut self.has_released, cx);
                send_plain(rounds, client, trained, cx);
            }
            Event::Message {
                message: Message::Secure(message),
                ..
            } => {
                if let Some(session) = self.session.as_mut().filter(|session| session.round == cx.round()) {
                    session.handle(rounds, client, message, &mut self.has_released, cx);
                }
            }
            _ => {}
        }
    }
}

impl<E, K> Client<E, K> {
    fn keep<R: RoundStrategy<Extra = E, Kept = K>>(&mut self, trained: &mut Trained<E, K>) {
        if let Some(now) = trained.kept.take() {
            let kept = match self.kept.take() {
                Some(before) => R::keep(*before, now),
                None => now,
            };
            self.kept = Some(Box::new(kept));
        }
    }
}

/// Reports what training released; what is released once, only if nothing of the kind was before.
fn charge<R: RoundStrategy>(spent: &[Charge], has_released: &mut bool, cx: &mut Context<'_, '_, Rounds<R>>) {
    let mut is_first = false;
    for release in spent.iter().filter(|release| !(release.once && *has_released)) {
        is_first |= release.once;
        cx.spend_in_parallel(1 + release.mechanism, release.n, release.epsilon);
    }
    *has_released |= is_first;
}

fn send_plain<R: RoundStrategy>(
    rounds: &Rounds<R>,
    client: ClientId,
    trained: Trained<R::Extra, R::Kept>,
    cx: &mut Context<'_, '_, Rounds<R>>,
) {
    if let Some(extra) = trained.extra {
        cx.send(Party::Server, Message::Extra(extra));
    }
    cx.spend(0, f64::INFINITY);
    let update = Update {
        n_samples: rounds.task.n_samples(client),
        values: trained.parameters,
    };
    cx.send(Party::Server, Message::Update(update));
}

impl<E: State> Session<E> {
    fn handle<R: RoundStrategy<Extra = E>>(
        &mut self,
        rounds: &Rounds<R>,
        client: ClientId,
        message: SecureMessage,
        has_released: &mut bool,
        cx: &mut Context<'_, '_, Rounds<R>>,
    ) {
        match message {
            SecureMessage::Roster(roster) => {
                let ids: Vec<u32> = roster.iter().map(|(id, _)| *id).collect();
                let threshold = rounds.protocol.threshold(ids.len());
                let shares = self.secrets.share(threshold, &ids, &mut cx.rng(SHARE));
                let mut sealed = Vec::with_capacity(ids.len());
                for ((id, [key, _]), shares) in roster.iter().zip(shares) {
                    match *id == client.0 {
                        true => self.shares.push(SharesOf {
                            client: *id,
                            mask: shares[0],
                            own: shares[1],
                        }),
                        false => sealed.push((*id, self.secrets.seal(*key, (client.0, *id), shares))),
                    }
                }
                self.roster = roster;
                cx.send(Party::Server, Message::Secure(SecureMessage::Shares(sealed)));
            }
            SecureMessage::Shares(sealed) => {
                for (from, sealed) in sealed {
                    if let Some([key, _]) = self.keys(from) {
                        let [mask, own] = self.secrets.seal(key, (from, client.0), sealed);
                        let client = from;
                        self.shares.push(SharesOf { client, mask, own });
                    }
                }
                self.is_paired = true;
                self.send(rounds, client, has_released, cx);
            }
            SecureMessage::Survivors(survivors) => {
                let handed = |shares: &SharesOf| match survivors.binary_search(&shares.client) {
                    Ok(_) => (shares.client, shares.own),
                    Err(_) => (shares.client, shares.mask),
                };
                let shares = self.shares.iter().map(handed).collect();
                cx.send(Party::Server, Message::Secure(SecureMessage::Unmasking(shares)));
            }
            _ => {}
        }
    }

    fn keys(&self, id: u32) -> Option<[u64; 2]> {
        let at = self.roster.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.roster[at].1)
    }

    /// Sends the masked update as soon as it is trained and the others' shares are here.
    fn send<R: RoundStrategy<Extra = E>>(
        &mut self,
        rounds: &Rounds<R>,
        client: ClientId,
        has_released: &mut bool,
        cx: &mut Context<'_, '_, Rounds<R>>,
    ) {
        let Some(Waiting { values, extra, spent }) = self.trained.take_if(|_| self.is_paired) else {
            return;
        };
        charge(&spent, has_released, cx);
        if let Some(extra) = extra {
            cx.send(Party::Server, Message::Extra(extra));
        }
        let weight = rounds.protocol.weight(rounds.task.n_samples(client));
        let message = match fixed_point(&values, weight) {
            Ok(mut fixed) => {
                let others = self.shares.iter().filter(|shares| shares.client != client.0);
                let others = others.filter_map(|shares| Some((shares.client, self.keys(shares.client)?[1])));
                mask(&mut fixed, client.0, &self.secrets, others);
                cx.spend(0, f64::INFINITY);
                SecureMessage::Masked(fixed)
            }
            Err(index) => SecureMessage::Withdrawal(index as u32, values[index].to_bits()),
        };
        cx.send(Party::Server, Message::Secure(message));
    }
}
