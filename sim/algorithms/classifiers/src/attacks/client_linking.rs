//! Updates of one client, from round to round.

use super::numbers::{Guesses, count};
use super::{Answers, Attack, Reads, Target};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_rounds::Seen;
use rayon::prelude::*;

/// Whose update is whose of the round before: whoever reads what the server took in, with the names
/// taken off, guesses which updates of two rounds that follow each other are of one client.
///
/// A pair's score is the cosine of the two changes of the model: `raw` as they are, and `centred`
/// less the mean of their round, which leaves out where all clients go. For each of the two stand
/// `linking_WAY_auc`, over all pairs; `linking_WAY_found`; and `linking_WAY_first`, the share of
/// updates whose client has one in the round before too and whose likeliest there is of that
/// client, beside `@chance`, one in as many as there are. `linking_others` counts the pairs of
/// different clients. Under secure aggregation the server sees no update of one client, and nothing
/// is there to link.
///
/// Where clients differ in what they hold, their updates point each its own way round after round:
/// taking names off hides nobody. An attack takes as many products as there are pairs, each as long
/// as an update.
///
/// M. Nasr, R. Shokri, A. Houmansadr. Comprehensive Privacy Analysis of Deep Learning. IEEE S&P
/// 2019, has the attacker who sees the updates of all rounds; likeness by the cosine is ours.
#[component(
    name = "ClientLinking",
    about = "linkability: matches updates of the same client across rounds by direction"
)]
#[derive(Clone, Copy, Debug)]
pub struct ClientLinking {
    /// Number of final rounds to attack, each linked with the previous one. The server's updates of
    /// all of them are kept in memory.
    #[component(default = 5, in = 2..=1_000)]
    pub rounds: u32,
}

impl Attack for ClientLinking {
    fn reads_classes(&self) -> bool {
        false
    }

    fn n_rounds(&self) -> u32 {
        self.rounds
    }

    fn attack(&self, target: &Target<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        self.link(target.seen, sheet);
        Ok(())
    }

    fn reads(&self) -> Reads {
        Reads::Updates
    }

    fn attack_answers(&self, answers: &Answers<'_>, sheet: &mut Sheet) -> Result<(), StrategyError> {
        self.link(answers.seen, sheet);
        Ok(())
    }
}

impl ClientLinking {
    fn link(&self, seen: &[Seen], sheet: &mut Sheet) {
        let first = seen.len().saturating_sub(self.rounds as usize);
        let rounds: Vec<Vec<Named>> = seen[first..].iter().map(named).collect();
        write(&rounds, sheet);
    }
}

/// A client and the direction of its update.
pub(super) type Named = (ClientId, Vec<f64>);

/// The updates of single clients.
fn named(seen: &Seen) -> Vec<Named> {
    let single = seen.updates.iter().filter_map(|update| match update.clients[..] {
        [client] => Some((client, update.change.clone())),
        _ => None,
    });
    single.collect()
}

/// What links come to between each round and the one before.
pub(super) fn write(rounds: &[Vec<Named>], sheet: &mut Sheet) {
    let linked = |directions: fn(&[Named]) -> Vec<Named>| -> Vec<Query> {
        let rounds: Vec<Vec<Named>> = rounds.iter().map(|updates| directions(updates)).collect();
        let pairs = rounds
            .windows(2)
            .filter(|pair| pair.iter().all(|updates| updates.len() > 1));
        pairs.flat_map(|pair| asked(&pair[0], &pair[1])).collect()
    };
    let (raw, centred) = (linked(raw), linked(centred));
    if raw.is_empty() {
        sheet.warn(
            "ClientLinking had nothing to link: it needs two rounds, one after the other, with updates of several clients each, which \
             the server sees one by one",
        );
        return;
    }
    let is_same: Vec<bool> = raw.iter().flat_map(|asked| asked.is_same.iter().copied()).collect();
    count("linking_others", &is_same, sheet);
    for (way, asked) in [("raw", raw), ("centred", centred)] {
        let scores: Vec<f64> = asked.iter().flat_map(|asked| asked.cosines.iter().copied()).collect();
        let guesses = Guesses {
            is_one: &is_same,
            scores: &scores,
        };
        guesses.write(&format!("linking_{way}"), None, None, sheet);
        let known: Vec<&Query> = asked.iter().filter(|asked| asked.is_same.contains(&true)).collect();
        if !known.is_empty() {
            let mean = |of: fn(&Query) -> f64| known.iter().map(|asked| of(asked)).sum::<f64>() / known.len() as f64;
            sheet.number(format!("linking_{way}_first"), mean(Query::is_first));
            sheet.reference(format!("linking_{way}_first"), "chance", mean(Query::chance));
        }
    }
}

/// One update beside those of the round before.
struct Query {
    is_same: Vec<bool>,
    cosines: Vec<f64>,
}

impl Query {
    /// The share of its client among the likeliest.
    fn is_first(&self) -> f64 {
        let most = self.cosines.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let likeliest = self
            .cosines
            .iter()
            .zip(&self.is_same)
            .filter(|(cosine, _)| **cosine == most);
        let (n, hits) = likeliest.fold((0.0, 0.0), |(n, hits), (_, is_same)| {
            (n + 1.0, hits + f64::from(u8::from(*is_same)))
        });
        hits / n
    }

    /// The share of its client among all.
    fn chance(&self) -> f64 {
        self.is_same.iter().filter(|is_same| **is_same).count() as f64 / self.is_same.len() as f64
    }
}

fn asked(before: &[Named], now: &[Named]) -> Vec<Query> {
    let of_update = |(client, direction): &Named| Query {
        is_same: before.iter().map(|(other, _)| other == client).collect(),
        cosines: before.iter().map(|(_, other)| dot(direction, other)).collect(),
    };
    now.par_iter().map(of_update).collect()
}

/// Each of length 1, or of 0 where nothing has changed.
fn raw(updates: &[Named]) -> Vec<Named> {
    let unit = |(client, change): &Named| {
        let length = dot(change, change).sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        (*client, change.iter().map(|x| x * scale).collect())
    };
    updates.iter().map(unit).collect()
}

/// The same less the mean of the round.
fn centred(updates: &[Named]) -> Vec<Named> {
    let n_values = updates.iter().map(|(_, change)| change.len()).min().unwrap_or(0);
    let mut mean = vec![0.0; n_values];
    for (_, change) in updates {
        mean.iter_mut()
            .zip(change)
            .for_each(|(sum, x)| *sum += x / updates.len() as f64);
    }
    let less = |(client, change): &Named| (*client, change.iter().zip(&mean).map(|(x, mean)| x - mean).collect());
    raw(&updates.iter().map(less).collect::<Vec<Named>>())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
