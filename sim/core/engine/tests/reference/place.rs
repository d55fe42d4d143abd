//! Worlds for scripts to be played in.

use folkmoot_draws::StreamName;
use folkmoot_draws::Streams;
use folkmoot_engine::prelude::World;
use folkmoot_engine::world::network::{self, AccessRates, Link, LinkClass, Links, Network, Verdict};
use folkmoot_engine::world::outages::{OutageSpec, RegionBy};
use folkmoot_engine::world::{Availability, Dist, DropoutSpec, Presence, PresenceCursor, cohort};
use folkmoot_engine::world::{Log, Rate, Replay};
use folkmoot_engine::world::{availability, devices};
use folkmoot_metrics::{Bytes, ClientId, Party, Round, SimSpan, SimTime};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A world as it is drawn. Most of its times are whole milliseconds, so that many events fall on
/// one instant.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) links: Option<Links>,
    pub(crate) ops_per_s: Option<f64>,
    pub(crate) stutters: bool,
    pub(crate) has_outages: bool,
    pub(crate) attendance: Attendance,
    pub(crate) dropout: DropoutSpec,
    /// Whether half of the clients are selected for a round, and not all.
    pub(crate) selects_half: bool,
    pub(crate) horizon: SimSpan,
    pub(crate) header_bytes: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Attendance {
    Always,
    Bernoulli,
    OnOff,
    Blink,
}

/// Clients come and go by the millisecond: client `c` is away in every millisecond that it and 3
/// divide with rest 0.
struct Blink;

impl Availability for Blink {
    fn presence(&self, client: ClientId, _: Round, at: SimTime, _: &mut PresenceCursor, _: Streams) -> Presence {
        let millisecond = at.0 / 1_000_000;
        match (millisecond + u64::from(client.0)).is_multiple_of(3) {
            true => Presence::Away(Some(SimTime((millisecond + 1) * 1_000_000))),
            false => Presence::Online,
        }
    }

    fn online(&self, _: ClientId, _: &[(Round, SimTime)], _: Streams) -> SimSpan {
        SimSpan::ZERO
    }

    fn absences(
        &self,
        _: ClientId,
        _: &[(Round, SimTime)],
        _: Streams,
        _: &mut dyn FnMut(SimTime, SimTime) -> ControlFlow<()>,
    ) {
    }
}

/// Links whose limited rates are those of a log: half of the time nothing passes, then twice as
/// much.
struct Stuttering(Links);

impl Network for Stuttering {
    fn verdict(&self, link: Link, size: Bytes, name: StreamName) -> Verdict {
        self.0.verdict(link, size, name)
    }

    fn access(&self, party: Party, streams: Streams) -> AccessRates {
        let stutter = |rate: Rate| match rate {
            Rate::Constant(rate) => {
                let log = Log::new([(SimSpan(700_000), 0), (SimSpan(700_000), 2 * rate)]).unwrap();
                Rate::Replay(Arc::new(Replay {
                    log: Arc::new(log),
                    passed: SimSpan(u64::from(party.index()) * 300_000),
                }))
            }
            other => other,
        };
        let AccessRates { up, down } = self.0.access(party, streams);
        AccessRates {
            up: stutter(up),
            down: stutter(down),
        }
    }

    fn lookahead(&self) -> SimSpan {
        self.0.lookahead()
    }
}

/// No link, no cost, everybody there.
pub(crate) fn easy() -> Place {
    Place {
        links: None,
        ops_per_s: None,
        stutters: false,
        has_outages: false,
        attendance: Attendance::Always,
        dropout: DropoutSpec::default(),
        selects_half: false,
        horizon: SimSpan::FOREVER,
        header_bytes: 0,
    }
}

impl Place {
    pub(crate) fn outages(&self) -> OutageSpec {
        OutageSpec {
            regions: if self.has_outages { 2 } else { 0 },
            by: RegionBy::Blocks,
            mean_between_s: 0.02,
            mean_length_s: 0.005,
        }
    }

    /// The least that a message takes in any direction.
    pub(crate) fn lookahead(&self) -> SimSpan {
        let least = |latency: Dist| match latency {
            Dist::Constant(ms) | Dist::Uniform { low: ms, .. } => ms,
            Dist::LogNormal { min, .. } | Dist::Exponential { min, .. } => min,
        };
        let Some(Links {
            uplink, downlink, peer, ..
        }) = self.links
        else {
            return SimSpan(1);
        };
        let ms = [uplink, downlink, peer].map(|class| least(class.latency_ms));
        SimSpan((ms[0].min(ms[1]).min(ms[2]) * 1e6) as u64).max(SimSpan(1))
    }

    pub(crate) fn world(&self) -> World {
        let availability: Box<dyn Availability> = match self.attendance {
            Attendance::Always => Box::new(availability::Always {}),
            Attendance::Bernoulli => Box::new(availability::Bernoulli { online_prob: 0.6 }),
            Attendance::OnOff => Box::new(availability::OnOff {
                mean_on_s: 0.01,
                mean_off_s: 0.005,
            }),
            Attendance::Blink => Box::new(Blink),
        };
        World {
            network: match self.links {
                Some(links) if self.stutters => Box::new(Stuttering(links)),
                Some(links) => Box::new(links),
                None => Box::new(network::Ideal {}),
            },
            devices: match self.ops_per_s {
                Some(ops_per_s) => Box::new(devices::Constant { ops_per_s }),
                None => Box::new(devices::LogNormal {
                    median_ops_per_s: 1e3,
                    sigma: 0.5,
                }),
            },
            availability: self.outages().over(availability, 4),
            dropout: self.dropout,
            cohort: match self.selects_half {
                true => Box::new(cohort::Fraction {
                    share: 0.5,
                    over_select: 1.0,
                }),
                false => Box::new(cohort::All {}),
            },
            deadline: None,
            // A message that is cut off by an absence begins anew, for ever where clients never
            // stay for as long as it takes.
            horizon: match self.attendance {
                _ if self.has_outages => self.horizon.min(SimSpan(60_000_000)),
                Attendance::Always | Attendance::Bernoulli => self.horizon,
                Attendance::OnOff | Attendance::Blink => self.horizon.min(SimSpan(60_000_000)),
            },
            stop: Default::default(),
            header_bytes: self.header_bytes,
            ..World::ideal()
        }
    }
}

fn latency() -> impl Strategy<Value = Dist> {
    prop_oneof![
        6 => (0u32..4).prop_map(|ms| Dist::Constant(ms.into())),
        1 => (0u32..3).prop_map(|low| Dist::Uniform { low: low.into(), high: 5.0 }),
        1 => Just(Dist::LogNormal { median: 2.0, sigma: 0.6, min: 1.0 }),
        1 => Just(Dist::Exponential { mean: 2.0, min: 0.5 }),
    ]
}

fn links() -> impl Strategy<Value = Links> {
    let class = || (latency(), prop_oneof![Just(0.0), Just(0.3)]);
    let rate =
        || prop_oneof![2 => Just(None), 1 => (1u32..4).prop_map(|n| Some(Dist::Constant(f64::from(n) * 8000.0)))];
    let server = || prop_oneof![2 => Just(None), 1 => (1u32..4).prop_map(|n| Some(f64::from(n) * 20_000.0))];
    let rates = (rate(), rate(), server(), server());
    (class(), class(), class(), rates, 0u32..3, 0u32..3).prop_map(
        |(uplink, downlink, peer, (up, down, server_up, server_down), max_retries, wait)| {
            let class = |(latency_ms, loss_prob)| LinkClass { latency_ms, loss_prob };
            Links {
                uplink: class(uplink),
                downlink: class(downlink),
                peer: class(peer),
                up_bytes_per_s: up,
                down_bytes_per_s: down,
                server_up_bytes_per_s: server_up,
                server_down_bytes_per_s: server_down,
                max_retries,
                retry_after_ms: wait.into(),
                ..Links::default()
            }
        },
    )
}

pub(crate) fn place() -> impl Strategy<Value = Place> {
    let links = prop_oneof![6 => links().prop_map(Some), 1 => Just(None)];
    let ops_per_s = prop_oneof![3 => Just(Some(1e3)), 1 => Just(None)];
    let attendance = prop_oneof![
        Just(Attendance::Always),
        Just(Attendance::Bernoulli),
        Just(Attendance::OnOff),
        Just(Attendance::Blink)
    ];
    let dropout = prop_oneof![
        2 => Just(DropoutSpec { prob: 0.0, after_ms: Dist::Constant(0.0) }),
        1 => (0u32..4).prop_map(|ms| DropoutSpec { prob: 0.3, after_ms: Dist::Constant(ms.into()) }),
    ];
    let selects_half = prop_oneof![Just(false), Just(true)];
    let horizon = prop_oneof![3 => Just(SimSpan::FOREVER), 1 => (1u64..30).prop_map(|ms| SimSpan(ms * 1_000_000))];
    let header_bytes = prop_oneof![Just(0), Just(24)];
    let faults = prop_oneof![4 => Just((false, false)), 1 => Just((true, false)), 1 => Just((false, true))];
    (
        links,
        ops_per_s,
        attendance,
        dropout,
        selects_half,
        horizon,
        header_bytes,
        faults,
    )
        .prop_map(
            |(links, ops_per_s, attendance, dropout, selects_half, horizon, header_bytes, (stutters, has_outages))| {
                Place {
                    links,
                    ops_per_s,
                    stutters,
                    has_outages,
                    attendance,
                    dropout,
                    selects_half,
                    horizon,
                    header_bytes,
                }
            },
        )
}
