//! The world around the clients: network, devices, availability, dropout, cohorts and deadlines, each a separate axis
//! with an ideal twin.
//!
//! It owns no state of a run: every answer is computed from its settings and the named streams, so two runs of one seed
//! live in the same world whatever the strategies do.

pub mod availability;
pub mod cohort;
pub mod devices;
pub mod dist;
pub mod dropout;
pub mod network;
pub mod outages;
pub mod rate;

pub use availability::{Availability, Periodic, Presence, PresenceCursor};
pub use cohort::CohortSpec;
pub use devices::Devices;
pub use dist::Dist;
pub use dropout::DropoutSpec;
pub use network::{AccessRates, Link, LinkClass, Links, Network, Verdict};
pub use outages::OutageSpec;
pub use rate::{Log, LogError, Rate, Replay};

use folkmoot_metrics::{SimSpan, Target};

/// What a run is not worth going on after. Whoever scores it sees it; for all who take part it is as if the server had come to its end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// A round whose scores reach all of these ends the run; none do not.
    pub at: Vec<Target>,
    /// Training that has diverged ends the run.
    pub diverged: bool,
}

/// Everything around the clients.
pub struct World {
    /// How messages travel.
    pub network: Box<dyn Network>,
    /// How fast clients compute.
    pub devices: Box<dyn Devices>,
    /// When clients are online.
    pub availability: Box<dyn Availability>,
    /// Who leaves in mid-round.
    pub dropout: DropoutSpec,
    /// Who is asked to take part in a round.
    pub cohort: CohortSpec,
    /// How long a round may take; without one the server waits for everybody.
    pub deadline: Option<SimSpan>,
    /// When the run ends at the latest.
    pub horizon: SimSpan,
    /// What ends it before, after a round.
    pub stop: Stop,
    /// Header bytes of every transmission.
    pub header_bytes: u32,
    /// The probability but for which totals of privacy hold, within (0, 1).
    pub delta: f64,
}

impl World {
    /// The ideal world: messages take the least possible time, nobody is ever away, and headers are free.
    pub fn ideal() -> Self {
        World {
            network: Box::new(network::Ideal {}),
            devices: Box::new(devices::Ideal {}),
            availability: Box::new(availability::Always {}),
            dropout: DropoutSpec::default(),
            cohort: CohortSpec::default(),
            deadline: None,
            horizon: SimSpan::FOREVER,
            stop: Stop::default(),
            header_bytes: 0,
            delta: folkmoot_privacy::DELTA,
        }
    }
}
