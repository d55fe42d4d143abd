//! The privacy ledger: what every client has released, and what it costs together.

use crate::release::Channel;
use folkmoot_metrics::PrivacyRow;
use folkmoot_privacy::{Accountant, Composition, Law, Totals};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One mechanism of the privacy ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct MechanismInfo {
    /// Its name, or `none` where nothing protects a message.
    pub mechanism: String,
    /// What one release protects.
    pub unit: String,
    /// What the paper claims for the whole.
    pub claimed: Option<f64>,
}

/// A row of the privacy ledger, after those of mechanisms, for one thing of which several of them
/// tell, or several clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// What tells of it, the thing, and what the paper claims.
    pub info: MechanismInfo,
    /// Where the releases that tell of it leave.
    pub of: Vec<Channel>,
    /// How many clients tell of it, of whom each is taken to spend as much as the one of the row.
    pub n_clients: u32,
}

/// What is charged, numbered as it comes: a mechanism of the strategy and the law of a release.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prices {
    all: Vec<(usize, Law)>,
    places: BTreeMap<(usize, LawKey), u32>,
}

type LawKey = (u8, [u64; 3]);

impl FromIterator<(usize, Law)> for Prices {
    fn from_iter<I: IntoIterator<Item = (usize, Law)>>(all: I) -> Self {
        let mut prices = Prices::default();
        for (mechanism, law) in all {
            prices.number(mechanism, law);
        }
        prices
    }
}

impl Prices {
    /// What is among any of these, in an order of its own: whoever puts them together, and from
    /// wherever, numbers them alike.
    pub(crate) fn together(all: impl Iterator<Item = (usize, Law)>) -> Prices {
        let sorted: BTreeMap<(usize, LawKey), Law> = all.map(|(i, law)| ((i, law.key()), law)).collect();
        sorted.into_iter().map(|((i, _), law)| (i, law)).collect()
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn all(&self) -> &[(usize, Law)] {
        &self.all
    }

    /// The number of a price.
    pub(crate) fn number(&mut self, mechanism: usize, law: Law) -> u32 {
        // Most systems have a handful of prices, which are found faster by looking at them than in
        // the tree.
        let known = self.all.iter().take(4).position(|price| *price == (mechanism, law));
        if let Some(known) = known {
            return known as u32;
        }
        let all = &mut self.all;
        *self.places.entry((mechanism, law.key())).or_insert_with(|| {
            all.push((mechanism, law));
            (all.len() - 1) as u32
        })
    }
}

/// One client's releases at one price.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Paid {
    price: u32,
    /// How often it was paid: once for releases that are all of something else.
    times: u64,
    releases: u64,
}

/// One client's releases, one entry for each price.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spent(Vec<Paid>);

impl Spent {
    /// The same, with the numbers that `others` gives to prices that `own` has numbered.
    pub(crate) fn renumbered(&self, own: &Prices, others: &mut Prices) -> Spent {
        let renumber = |paid: &Paid| {
            let (mechanism, law) = own.all[paid.price as usize];
            let price = others.number(mechanism, law);
            Paid { price, ..*paid }
        };
        Spent(self.0.iter().map(renumber).collect())
    }

    /// What it takes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self) + self.0.capacity() * size_of::<Paid>()
    }

    /// Adds `releases` that cost as much as one.
    pub(crate) fn add(&mut self, price: u32, releases: u64) {
        let at = self.0.iter().position(|paid| paid.price == price);
        let at = at.unwrap_or_else(|| {
            // A client has few prices, and a million clients may have them.
            self.0.reserve_exact(1);
            self.0.push(Paid {
                price,
                times: 0,
                releases: 0,
            });
            self.0.len() - 1
        });
        self.0[at].times += 1;
        self.0[at].releases += releases;
    }
}

/// The rows of `privacy.csv`, one for each mechanism and for what they tell together, from the
/// clients' releases and the prices that number them, and from what was released of everybody: the
/// mechanism, the law, and how often. Totals hold but for a probability of `delta`, within (0, 1).
pub(crate) fn rows<'a>(
    (mechanisms, together): (&[MechanismInfo], &[Together]),
    (n_clients, delta): (u32, f64),
    charged: &[(usize, Law, u64)],
    parts: impl Iterator<Item = (&'a Prices, &'a [Spent])> + Clone,
) -> Vec<PrivacyRow> {
    let row = |of: Vec<usize>, n_tellers: u32, info: &MechanismInfo| {
        let mut sums = Sums::new(delta, n_tellers);
        let own = charged.iter().filter(|(mechanism, ..)| of.contains(mechanism));
        own.for_each(|(_, law, times)| sums.add_everybody(*law, *times, n_clients));
        for (prices, spent) in parts.clone() {
            sums.add(&of, prices, spent);
        }
        sums.row(info, n_clients)
    };
    let each = mechanisms.iter().enumerate().map(|(i, info)| row(vec![i], 1, info));
    let places = |of: &[Channel]| of.iter().map(|channel| channel.mechanism).collect();
    let together = together
        .iter()
        .map(|all| row(places(&all.of), all.n_clients, &all.info));
    each.chain(together).collect()
}

/// All clients' releases by some mechanisms.
struct Sums {
    accountant: Accountant,
    /// How many clients that spend alike tell of one thing.
    n_tellers: u64,
    /// By law: how often it was paid for and how many releases that were, over all clients.
    paid: BTreeMap<LawKey, (Law, u64, u64)>,
    /// How often every client pays for each law besides what is its own.
    everybody: Vec<(usize, u64)>,
    /// How often one client paid for each law, ascending; each such list once.
    spendings: BTreeSet<Vec<(usize, u64)>>,
}

impl Sums {
    fn new(delta: f64, n_tellers: u32) -> Self {
        Sums {
            n_tellers: u64::from(n_tellers),
            accountant: Accountant::new(delta).expect("it is a share"),
            paid: BTreeMap::new(),
            everybody: Vec::new(),
            spendings: BTreeSet::new(),
        }
    }

    /// Adds releases of all clients, before any client's own.
    fn add_everybody(&mut self, law: Law, times: u64, n_clients: u32) {
        let n = times * u64::from(n_clients);
        let (_, paid, releases) = self.paid.entry(law.key()).or_insert((law, 0, 0));
        (*paid, *releases) = (*paid + n * self.n_tellers, *releases + n);
        let place = self.accountant.law(law);
        self.everybody.push((place, times * self.n_tellers));
    }

    /// Adds what a part's clients paid for releases by mechanisms that are among `of`.
    fn add(&mut self, of: &[usize], prices: &Prices, spent: &[Spent]) {
        let place = |(by, law): &(usize, Law)| of.contains(by).then(|| (self.accountant.law(*law), *law));
        let places: Vec<Option<(usize, Law)>> = prices.all.iter().map(place).collect();
        for Spent(all) in spent {
            let mut spending = self.everybody.clone();
            for paid in all {
                if let Some((place, law)) = places[paid.price as usize] {
                    let spent = paid.times * self.n_tellers;
                    let (_, times, releases) = self.paid.entry(law.key()).or_insert((law, 0, 0));
                    (*times, *releases) = (*times + spent, *releases + paid.releases);
                    spending.push((place, spent));
                }
            }
            spending.sort_unstable();
            if !self.spendings.contains(&spending) {
                self.spendings.insert(spending);
            }
        }
    }

    fn row(&self, info: &MechanismInfo, n_clients: u32) -> PrivacyRow {
        let releases = self.paid.values().map(|(.., releases)| releases).sum();
        // Of nothing there is nothing, even where nothing protects: 0 × infinity would be NaN.
        let sum = |of: fn(&(Law, u64, u64)) -> (u64, f64)| {
            let product = |(n, x): (u64, f64)| if n == 0 { 0.0 } else { n as f64 * x };
            // A sum of nothing that begins with nothing would be -0.
            self.paid.values().fold(0.0, |sum, paid| sum + product(of(paid)))
        };
        let each = |sum: f64, n: u64| if n == 0 { 0.0 } else { sum / n as f64 };
        let (worst, totals) = self.worst();
        let ((accountant, total), by_distribution) = self.least();
        PrivacyRow {
            mechanism: info.mechanism.clone(),
            unit: info.unit.clone(),
            releases,
            epsilon_per_release: each(sum(|(law, _, releases)| (*releases, law.epsilon())), releases),
            delta_per_release: each(sum(|(law, _, releases)| (*releases, law.delta())), releases),
            epsilon_max_client: worst,
            epsilon_mean_client: each(sum(|(law, times, _)| (*times, law.epsilon())), u64::from(n_clients)),
            composition: if worst.is_finite() { "basic" } else { "none" }.to_owned(),
            epsilon_claimed: info.claimed,
            delta_total: self.accountant.delta(),
            epsilon_basic: totals.basic,
            epsilon_advanced: totals.advanced,
            epsilon_renyi: totals.renyi,
            epsilon_pld: by_distribution,
            epsilon_total: Some(total).filter(|total| total.is_finite()),
            accountant: accountant.to_string(),
        }
    }

    /// The largest of the least totals that are proved of clients, with its composition, and the
    /// largest by loss distributions, if those of all who might spend most are known.
    ///
    /// Distributions take time. So clients come in the order of what is proved without them, and
    /// the search ends at one who spends less by that than another by his distribution.
    fn least(&self) -> ((Composition, f64), Option<f64>) {
        let nothing = self.accountant.totals(&[]).least();
        let with_totals = |spending: &'_ Vec<(usize, u64)>| self.accountant.totals(spending);
        let mut all: Vec<(Totals, &Vec<(usize, u64)>)> = self
            .largest()
            .map(|spending| (with_totals(spending), spending))
            .collect();
        // Equal ones keep their order, so that the names do not depend on how they came.
        all.sort_by(|(a, _), (b, _)| b.least().1.total_cmp(&a.least().1));
        let (mut worst, mut by_distribution) = (nothing, None);
        for (i, (mut totals, spending)) in all.into_iter().enumerate() {
            let (_, plain) = totals.least();
            if plain <= worst.1 {
                break;
            }
            // What is not protected has no distribution, nor has any other client then a total.
            totals.pld = self.accountant.pld(spending);
            by_distribution = match i {
                0 => totals.pld,
                _ => by_distribution.zip(totals.pld).map(|(a, b): (f64, f64)| a.max(b)),
            };
            let least = totals.least();
            if least.1 > worst.1 {
                worst = least;
            }
            if worst.1.is_infinite() {
                break;
            }
        }
        (worst, by_distribution)
    }

    /// The lists of spendings but for those that pay for the same as another and for less of the
    /// last of it.
    fn largest(&self) -> impl Iterator<Item = &Vec<(usize, u64)>> {
        let after = self.spendings.iter().skip(1).map(Some).chain([None]);
        let with_next = self.spendings.iter().zip(after);
        let largest = with_next.filter(|(spending, next)| !next.is_some_and(|next| is_less(spending, next)));
        largest.map(|(spending, _)| spending)
    }

    /// The largest sum of epsilons that a client has spent, and the largest total by each
    /// composition that proves one for all clients.
    fn worst(&self) -> (f64, Totals) {
        let epsilon = |(place, times): &(usize, u64)| self.accountant.laws()[*place].epsilon() * *times as f64;
        let (mut sum, mut totals) = (0.0f64, self.accountant.totals(&[]));
        // Who pays for the same and once more for the last of it, pays more by every composition.
        for spending in self.largest() {
            sum = sum.max(spending.iter().map(epsilon).sum());
            let more = self.accountant.totals(spending);
            let larger = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
            totals = Totals {
                basic: larger(totals.basic, more.basic),
                advanced: larger(totals.advanced, more.advanced),
                renyi: larger(totals.renyi, more.renyi),
                pld: None,
            };
        }
        (sum, totals)
    }
}

/// Whether two lists of spendings differ in their last number alone.
fn is_less(spending: &[(usize, u64)], next: &[(usize, u64)]) -> bool {
    match (spending.split_last(), next.split_last()) {
        (Some((last, before)), Some((next, next_before))) => before == next_before && last.0 == next.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::Purpose;
    use folkmoot_privacy::{DELTA, Sampling};

    fn info() -> MechanismInfo {
        MechanismInfo {
            mechanism: "noise".to_owned(),
            unit: "one edge".to_owned(),
            claimed: Some(1.0),
        }
    }

    fn row(prices: &Prices, spent: &[Spent], mechanism: usize) -> PrivacyRow {
        let mechanisms = vec![info(); mechanism + 1];
        let parts = spent.chunks(2).map(|spent| (prices, spent));
        rows((&mechanisms, &[]), (spent.len() as u32, DELTA), &[], parts)
            .pop()
            .unwrap()
    }

    const VIEW: Law = Law::Laplace { epsilon: 0.1 };

    /// A hundred releases of 0.1 by the worst of three clients: the totals are those of an
    /// accountant who counts them by hand.
    #[test]
    fn totals_are_those_of_the_client_who_spends_most() {
        let mut prices = Prices::default();
        let other = prices.number(0, VIEW);
        let view = prices.number(1, VIEW);
        assert_eq!((view, prices.number(1, VIEW)), (1, view));
        let mut spent = vec![Spent::default(); 3];
        for (client, n) in [(0, 7), (2, 100)] {
            (0..n).for_each(|_| spent[client].add(view, 3));
        }
        spent[1].add(other, 50);
        let row = row(&prices, &spent, 1);
        assert_eq!(
            (row.releases, row.epsilon_claimed, row.composition.as_str()),
            (321, Some(1.0), "basic")
        );
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a}, not {b}");
        close(row.epsilon_per_release, 0.1);
        close(row.epsilon_max_client, 10.0);
        close(row.epsilon_mean_client, 10.7 / 3.0);
        let mut accountant = Accountant::new(row.delta_total).unwrap();
        let totals = accountant.law(VIEW);
        let totals = accountant.totals(&[(totals, 100)]);
        assert_eq!(row.epsilon_basic, totals.basic);
        assert_eq!(
            (row.epsilon_advanced, row.epsilon_renyi),
            (totals.advanced, totals.renyi)
        );
        assert!(row.epsilon_renyi < row.epsilon_advanced && row.epsilon_advanced < row.epsilon_basic);
        let parts = std::iter::once((&prices, &spent[..]));
        let safer = rows((&[info(), info()], &[]), (3, 1e-9), &[], parts).pop().unwrap();
        assert!(safer.delta_total == 1e-9 && safer.epsilon_basic == row.epsilon_basic);
        assert!(safer.epsilon_renyi > row.epsilon_renyi && safer.epsilon_advanced > row.epsilon_advanced);
    }

    /// By each composition another client may be the worst one.
    #[test]
    fn each_composition_has_its_worst_client() {
        let mut prices = Prices::default();
        let (small, large) = (prices.number(0, VIEW), prices.number(0, Law::Laplace { epsilon: 3.0 }));
        let mut spent = vec![Spent::default(); 2];
        (0..60).for_each(|_| spent[0].add(small, 1));
        spent[1].add(large, 1);
        let row = row(&prices, &spent, 0);
        assert_eq!(row.epsilon_basic, Some(row.epsilon_max_client));
        assert!((row.epsilon_max_client - 6.0).abs() < 1e-12);
        let alone = |law, times| {
            let mut accountant = Accountant::new(DELTA).unwrap();
            let law = accountant.law(law);
            accountant.totals(&[(law, times)]).renyi.unwrap()
        };
        assert_eq!(
            row.epsilon_renyi,
            Some(alone(VIEW, 60).max(alone(Law::Laplace { epsilon: 3.0 }, 1)))
        );
    }

    /// The total is the least that is proved of the client who spends most, and says by whom.
    #[test]
    fn the_total_names_its_accountant() {
        let mut prices = Prices::default();
        let (small, large) = (prices.number(0, VIEW), prices.number(0, Law::Laplace { epsilon: 3.0 }));
        let mut spent = vec![Spent::default(); 3];
        (0..100).for_each(|_| spent[0].add(small, 1));
        (0..99).for_each(|_| spent[2].add(small, 1));
        spent[1].add(large, 1);
        let row_of = |spent: &[Spent]| row(&prices, spent, 0);
        let of = |law, n| {
            let mut accountant = Accountant::new(DELTA).unwrap();
            let law = accountant.law(law);
            accountant.pld(&[(law, n)])
        };
        let all = row_of(&spent);
        assert_eq!((all.epsilon_total, all.accountant.as_str()), (of(VIEW, 100), "pld"));
        assert_eq!(all.epsilon_pld, all.epsilon_total);
        assert!(all.epsilon_total < all.epsilon_renyi);
        let one = row_of(&spent[1..2]);
        assert_eq!((one.epsilon_total, one.accountant.as_str()), (Some(3.0), "basic"));
        spent[1].add(prices.number(0, Law::UNPROTECTED), 1);
        let none = rows(
            (&[info()], &[]),
            (3, DELTA),
            &[],
            std::iter::once((&prices, &spent[..])),
        );
        let none = &none[0];
        assert_eq!(
            (none.epsilon_total, none.accountant.as_str(), none.epsilon_pld),
            (None, "none", None)
        );
    }

    /// Of everybody the server has released: each client pays for that and for its own.
    #[test]
    fn everybody_pays_for_what_is_released_of_all() {
        let mut prices = Prices::default();
        let view = prices.number(0, VIEW);
        let mut spent = vec![Spent::default(); 3];
        spent[1].add(view, 1);
        let parts = spent.chunks(2).map(|spent| (&prices, spent));
        let sum = Law::sampled_normal(Sampling::Poisson, 0.1, 0.5, 1e-7).unwrap();
        let row = rows((&[info()], &[]), (3, DELTA), &[(0, sum, 40)], parts)
            .pop()
            .unwrap();
        let mut accountant = Accountant::new(DELTA).unwrap();
        let (sum, view) = (accountant.law(sum), accountant.law(VIEW));
        assert_eq!(row.epsilon_renyi, accountant.totals(&[(sum, 40), (view, 1)]).renyi);
        assert_eq!(row.releases, 3 * 40 + 1);
        let one = accountant.laws()[sum].epsilon();
        assert!((row.epsilon_mean_client - (40.0 * one + 0.1 / 3.0)).abs() < 1e-9);
    }

    /// An edge in the lists of two users who each spend 1 on its bit and 0.25 on their degree costs
    /// 2.5; another mechanism's releases are none of it.
    #[test]
    fn what_several_clients_tell_by_several_mechanisms_is_added_up() {
        let mut prices = Prices::default();
        let laws = [1.0, 0.25].map(|epsilon| Law::Laplace { epsilon });
        let (bit, degree, other) = (
            prices.number(0, laws[0]),
            prices.number(2, laws[1]),
            prices.number(1, VIEW),
        );
        let mut spent = vec![Spent::default(); 3];
        for client in &mut spent {
            [bit, degree, other].iter().for_each(|price| client.add(*price, 1));
        }
        let edge = Together {
            info: info(),
            of: [0, 2]
                .map(|mechanism| Channel::new(mechanism, Purpose(*b"ledger-t")))
                .to_vec(),
            n_clients: 2,
        };
        let parts = spent.chunks(2).map(|spent| (&prices, spent));
        let sum = Law::Laplace { epsilon: 0.5 };
        let mechanisms = vec![info(); 3];
        let all = rows((&mechanisms, &[edge]), (3, DELTA), &[(2, sum, 1)], parts);
        assert_eq!((all.len(), all[2].epsilon_max_client), (4, 0.75));
        let row = all.last().unwrap();
        assert_eq!(
            (row.releases, row.epsilon_max_client, row.epsilon_mean_client),
            (9, 3.5, 3.5)
        );
        assert_eq!(row.epsilon_basic, Some(3.5));
        let mut accountant = Accountant::new(DELTA).unwrap();
        let spent: Vec<(usize, u64)> = [laws[0], laws[1], sum].map(|law| (accountant.law(law), 2)).to_vec();
        assert_eq!(row.epsilon_renyi, accountant.totals(&spent).renyi);
    }

    #[test]
    fn what_nothing_protects_has_no_total_and_what_nobody_released_costs_nothing() {
        let mut prices = Prices::default();
        let (view, bare) = (prices.number(0, VIEW), prices.number(0, Law::UNPROTECTED));
        let mut spent = vec![Spent::default(); 2];
        spent[0].add(view, 1);
        let fine = row(&prices, &spent, 0);
        assert_eq!(fine.epsilon_basic, Some(0.1));
        spent[1].add(bare, 1);
        let spoilt = row(&prices, &spent, 0);
        assert_eq!(
            (spoilt.epsilon_max_client, spoilt.composition.as_str()),
            (f64::INFINITY, "none")
        );
        assert_eq!(
            (spoilt.epsilon_basic, spoilt.epsilon_advanced, spoilt.epsilon_renyi),
            (None, None, None)
        );
        let idle = row(&prices, &spent, 1);
        assert_eq!(
            (idle.releases, idle.epsilon_per_release, idle.epsilon_renyi),
            (0, 0.0, Some(0.0))
        );
        assert!(idle.epsilon_mean_client.is_sign_positive(), "tables have no -0");
    }
}
