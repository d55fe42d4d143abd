//! Outages: clients lie in regions, and now and then a region goes away with all of its clients.

use super::availability::without_absences;
use super::{Affordable, Availability, Presence, PresenceCursor};
use folkmoot_draws::{Purpose, Streams, exponential, index};
use folkmoot_metrics::{ClientId, Party, Round, SimSpan, SimTime};
use folkmoot_parts::component;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{PoisonError, RwLock};

const REGION: Purpose = Purpose(*b"region  ");
const OUTAGES: Purpose = Purpose(*b"outages ");

/// So many outages can be kept of all regions together: some hundreds of megabytes.
const MAX_OUTAGES: f64 = 33_554_432.0;

const OUTAGE_SETTINGS: [&str; 2] = ["outages.mean_between_s", "outages.mean_length_s"];

/// Regional outages. A client is online if its `availability` says so and its region has no outage.
#[component]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageSpec {
    /// Number of regions; 0 for no outages.
    #[component(default = 0, in = 0..=1_000_000)]
    pub regions: u32,
    /// Assignment of clients to regions.
    pub by: RegionBy,
    /// Mean time from the end of a region's outage to its next one, exponentially distributed.
    #[component(default = 86_400.0, in = 0.001..=1e9, unit = "s")]
    pub mean_between_s: f64,
    /// Mean duration of an outage, exponentially distributed.
    #[component(default = 3_600.0, in = 0.001..=1e9, unit = "s")]
    pub mean_length_s: f64,
}

/// Assignment of clients to regions.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionBy {
    /// Random region per client.
    #[default]
    Draw,
    /// Blocks of consecutive client ids, whose sizes differ by at most one.
    Blocks,
}

impl OutageSpec {
    /// `availability` with these outages, for `n_clients`; what it was if nothing fails.
    pub fn over(self, availability: Box<dyn Availability>, n_clients: u32) -> Box<dyn Availability> {
        match self.regions {
            0 => availability,
            regions => Box::new(Regional {
                spec: self,
                n_clients: n_clients.max(1),
                otherwise: availability,
                known: (0..regions).map(|_| RwLock::default()).collect(),
            }),
        }
    }

    /// The region of `client`.
    fn region(&self, client: ClientId, n_clients: u32, streams: Streams) -> u32 {
        match self.by {
            RegionBy::Draw => {
                let mut rng = streams.party(REGION, Party::Client(client), Round(0));
                index(&mut rng, self.regions as usize) as u32
            }
            RegionBy::Blocks => (u64::from(client.0) * u64::from(self.regions) / u64::from(n_clients))
                .min(u64::from(self.regions) - 1) as u32,
        }
    }
}

/// A span of time: from, until.
type Away = (SimTime, SimTime);

/// The outages of a region that were asked for so far, by seed and in order, the last one ending
/// after all times asked for. Runs with other seeds, such as those of shadow models, share a world.
/// What is kept is a cache: the stream named by region gives the same outages however often they
/// are drawn.
type Known = BTreeMap<u64, Vec<Away>>;

/// An availability whose clients lie in regions.
struct Regional {
    spec: OutageSpec,
    n_clients: u32,
    otherwise: Box<dyn Availability>,
    known: Vec<RwLock<Known>>,
}

impl Regional {
    /// Calls `look` with the outages of a region, at least to the first that ends after `until`.
    fn with<T>(&self, region: u32, until: SimTime, streams: Streams, look: impl FnOnce(&[Away]) -> T) -> T {
        let place = &self.known[region as usize];
        let suffices = |outages: &[Away]| outages.last().is_some_and(|(_, end)| *end > until);
        let known = place.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(outages) = known.get(&streams.seed())
            && suffices(outages)
        {
            return look(outages);
        }
        drop(known);
        let mut known = place.write().unwrap_or_else(PoisonError::into_inner);
        let outages = known.entry(streams.seed()).or_default();
        let mut rng = streams.party(OUTAGES, Party::Client(ClientId(region)), Round(0));
        // Two words for each of two draws an outage.
        rng.set_word_pos(4 * outages.len() as u128);
        while !suffices(outages) {
            let draw = |mean: f64, rng: &mut _| SimSpan::from_secs(mean * exponential(rng)).max(SimSpan(1));
            let last = outages.last().map_or(SimTime::ZERO, |(_, end)| *end);
            let from = last + draw(self.spec.mean_between_s, &mut rng);
            let end = from + draw(self.spec.mean_length_s, &mut rng);
            outages.push((from, end));
            if end == SimTime::NEVER {
                break;
            }
        }
        look(outages)
    }

    /// When the outage of `at` ends, if `client` is in one.
    fn back_at(&self, client: ClientId, at: SimTime, streams: Streams) -> Option<SimTime> {
        let region = self.spec.region(client, self.n_clients, streams);
        self.with(region, at, streams, |outages| {
            let next = outages.partition_point(|(_, end)| *end <= at);
            outages.get(next).filter(|(from, _)| *from <= at).map(|(_, end)| *end)
        })
    }
}

impl Availability for Regional {
    fn presence(
        &self,
        client: ClientId,
        round: Round,
        at: SimTime,
        cursor: &mut PresenceCursor,
        streams: Streams,
    ) -> Presence {
        match self.back_at(client, at, streams) {
            Some(back) => Presence::Away(Some(back)),
            None => self.otherwise.presence(client, round, at, cursor, streams),
        }
    }

    fn settings(&self) -> Vec<&'static str> {
        [&OUTAGE_SETTINGS[..], &self.otherwise.settings()].concat()
    }

    fn affordable(&self, n_clients: u32) -> Affordable {
        let cycle_s = self.spec.mean_between_s + self.spec.mean_length_s;
        let until = SimTime::ZERO + SimSpan::from_secs(MAX_OUTAGES / f64::from(self.spec.regions) * cycle_s);
        let otherwise = self.otherwise.affordable(n_clients);
        match until < otherwise.until {
            true => Affordable {
                until,
                settings: OUTAGE_SETTINGS.to_vec(),
            },
            false => otherwise,
        }
    }

    fn online(&self, client: ClientId, rounds: &[(Round, SimTime)], streams: Streams) -> SimSpan {
        without_absences(self, client, rounds, streams)
    }

    /// The absences of the availability below and the outages of the region, those that overlap or
    /// touch as one.
    fn absences(
        &self,
        client: ClientId,
        rounds: &[(Round, SimTime)],
        streams: Streams,
        tell: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
        let end = rounds.last().map_or(SimTime::ZERO, |(_, end)| *end);
        let region = self.spec.region(client, self.n_clients, streams);
        let cut = |(from, until): &Away| (*from, (*until).min(end));
        let outages: Vec<Away> = self.with(region, end, streams, |outages| {
            outages.iter().take_while(|(from, _)| *from < end).map(cut).collect()
        });
        let mut outages = outages.into_iter().peekable();
        let mut open: Option<Away> = None;
        let mut add = |(from, until): Away| match open {
            Some((since, last)) if from <= last => {
                open = Some((since, last.max(until)));
                ControlFlow::Continue(())
            }
            before => {
                open = Some((from, until));
                before.map_or(ControlFlow::Continue(()), |(since, last)| tell(since, last))
            }
        };
        let mut told = ControlFlow::Continue(());
        self.otherwise.absences(client, rounds, streams, &mut |from, until| {
            while told.is_continue()
                && let Some(outage) = outages.next_if(|outage| outage.0 <= from)
            {
                told = add(outage);
            }
            if told.is_continue() {
                told = add((from, until));
            }
            told
        });
        for outage in outages {
            if told.is_continue() {
                told = add(outage);
            }
        }
        if let (Some((since, last)), true) = (open, told.is_continue()) {
            let _ = tell(since, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::availability::{Always, OnOff};

    const SPEC: OutageSpec = OutageSpec {
        regions: 3,
        by: RegionBy::Blocks,
        mean_between_s: 100.0,
        mean_length_s: 50.0,
    };

    fn is_away(model: &dyn Availability, client: u32, second: u64) -> bool {
        let (at, mut cursor) = (SimTime(second * 1_000_000_000), PresenceCursor::default());
        model.presence(ClientId(client), Round(0), at, &mut cursor, Streams::new(6)) != Presence::Online
    }

    #[test]
    fn a_region_goes_away_with_all_of_its_clients() {
        let model = SPEC.over(Box::new(Always {}), 9);
        let mut alone = 0;
        for second in 0..3_000 {
            let regions: Vec<bool> = (0..3).map(|region| is_away(&*model, 3 * region, second)).collect();
            for client in 0..9 {
                assert_eq!(
                    is_away(&*model, client, second),
                    regions[client as usize / 3],
                    "{client}"
                );
            }
            alone += u32::from(regions.iter().filter(|away| **away).count() == 1);
        }
        assert!(alone > 300, "regions fail apart from each other: {alone}");
    }

    #[test]
    fn regions_are_away_for_their_share_of_time_in_whatever_order_they_are_asked() {
        let (model, again) = (SPEC.over(Box::new(Always {}), 9), SPEC.over(Box::new(Always {}), 9));
        let forward: Vec<bool> = (0..60_000).map(|second| is_away(&*model, 0, second)).collect();
        let share = forward.iter().filter(|away| **away).count() as f64 / 60_000.0;
        assert!((share - 1.0 / 3.0).abs() < 0.06, "{share}");
        for second in (0..60_000).rev().step_by(97) {
            assert_eq!(is_away(&*again, 0, second), forward[second as usize]);
        }
    }

    #[test]
    fn runs_with_other_seeds_that_share_a_world_have_their_own_outages() {
        let told = |model: &dyn Availability, seed: u64| {
            let (mut told, end) = (Vec::new(), SimTime(3_000_000_000_000));
            model.absences(
                ClientId(0),
                &[(Round(0), end)],
                Streams::new(seed),
                &mut |from, until| {
                    told.push((from, until));
                    ControlFlow::Continue(())
                },
            );
            told
        };
        let alone = [1, 2].map(|seed| told(&*SPEC.over(Box::new(Always {}), 9), seed));
        assert_ne!(alone[0], alone[1]);
        let shared = SPEC.over(Box::new(Always {}), 9);
        assert_eq!([1, 2].map(|seed| told(&*shared, seed)), alone);
    }

    #[test]
    fn regions_are_drawn_by_name_or_are_blocks() {
        let drawn = OutageSpec {
            by: RegionBy::Draw,
            ..SPEC
        };
        let regions =
            |spec: OutageSpec| -> Vec<u32> { (0..8).map(|c| spec.region(ClientId(c), 8, Streams::new(1))).collect() };
        assert_eq!(regions(SPEC), [0, 0, 0, 1, 1, 1, 2, 2]);
        let sizes = (0..900).fold([0; 3], |mut sizes, c| {
            sizes[drawn.region(ClientId(c), 9, Streams::new(1)) as usize] += 1;
            sizes
        });
        assert!(sizes.iter().all(|size| (240..360).contains(size)), "{sizes:?}");
        assert_ne!(regions(drawn), regions(SPEC));
    }

    #[test]
    fn absences_of_both_kinds_are_told_once_and_add_up() {
        let below = OnOff {
            mean_on_s: 40.0,
            mean_off_s: 30.0,
        };
        let model = SPEC.over(Box::new(below), 9);
        let (end, streams) = (SimTime(2_000_000_000_000), Streams::new(6));
        let rounds = [(Round(0), end)];
        for client in (0..9).map(ClientId) {
            let mut told: Vec<Away> = Vec::new();
            model.absences(client, &rounds, streams, &mut |from, until| {
                told.push((from, until));
                ControlFlow::Continue(())
            });
            assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].0), "{told:?}");
            let away: u64 = told.iter().map(|(from, until)| until.0 - from.0).sum();
            assert_eq!(model.online(client, &rounds, streams), SimSpan(end.0 - away));
            for second in 0..2_000 {
                let at = SimTime(second * 1_000_000_000);
                let expected = told.iter().any(|(from, until)| (*from..*until).contains(&at));
                assert_eq!(is_away(&*model, client.0, second), expected, "{client:?} at {second}");
            }
        }
    }

    #[test]
    fn without_regions_nothing_fails_and_with_many_the_end_is_bounded() {
        assert!(OutageSpec::default().over(Box::new(Always {}), 5).is_perfect());
        let many = OutageSpec {
            regions: 1 << 15,
            mean_between_s: 0.5,
            mean_length_s: 0.5,
            ..SPEC
        };
        let model = many.over(Box::new(Always {}), 1 << 20);
        assert!(!model.is_perfect());
        assert_eq!(model.affordable(1 << 20).until, SimTime(1_024_000_000_000));
    }
}
