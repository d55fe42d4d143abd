//! The world around the clients: network, devices, availability, dropout, cohorts and deadlines,
//! each a separate axis with an ideal twin.
//!
//! It owns no state of a run: every answer is computed from its settings and the named streams, so
//! two runs of one seed live in the same world whatever the strategies do.

pub mod availability;
pub mod cohort;
pub mod devices;
pub mod dist;
pub mod dropout;
mod known;
pub mod network;
pub mod outages;
mod power_of_choice;
pub mod rate;
pub mod tcp;

pub use availability::{Affordable, Availability, Periodic, Presence, PresenceCursor};
pub use cohort::ClientSelection;
pub use devices::Devices;
pub use dist::Dist;
pub use dropout::DropoutSpec;
pub(crate) use known::Memory;
pub use known::{Candidates, Known};
pub use network::{AccessRates, Link, LinkClass, Links, Network, Verdict};
pub use outages::OutageSpec;
pub use power_of_choice::PowerOfChoice;
pub use rate::{Log, LogError, Rate, Replay};
pub use tcp::{Framing, Sharing, SlowStart, Transport};

use folkmoot_metrics::{SimSpan, Target};
use folkmoot_privacy::NoiseForm;

/// What a run is not worth going on after. Whoever scores it sees it; for all who take part it is
/// as if the server had come to its end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// A round whose scores reach all of these ends the run; none do not.
    pub at: Vec<Target>,
    /// Training that has diverged ends the run.
    pub diverged: bool,
}

/// Everything around the clients.
pub struct World {
    pub network: Box<dyn Network>,
    /// How fast clients compute.
    pub devices: Box<dyn Devices>,
    /// When clients are online.
    pub availability: Box<dyn Availability>,
    /// Who leaves in mid-round.
    pub dropout: DropoutSpec,
    /// Who is asked to take part in a round.
    pub cohort: Box<dyn ClientSelection>,
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
    /// The form of Laplace and Gaussian noise of privacy mechanisms.
    pub noise: NoiseForm,
}

impl World {
    /// The ideal world: messages take the least possible time, nobody is ever away, and headers are
    /// free.
    pub fn ideal() -> Self {
        World {
            network: Box::new(network::Ideal {}),
            devices: Box::new(devices::Ideal {}),
            availability: Box::new(availability::Always {}),
            dropout: DropoutSpec::default(),
            cohort: Box::new(cohort::All {}),
            deadline: None,
            horizon: SimSpan::FOREVER,
            stop: Stop::default(),
            header_bytes: 0,
            delta: folkmoot_privacy::DELTA,
            noise: NoiseForm::default(),
        }
    }

    /// The settings of this world by which a message can be lost or late, with what to do about
    /// them: the way out of an error of which silence is the cause. Only settings that the card has
    /// are named.
    pub fn remedy(&self) -> String {
        let mut ways: Vec<String> = Vec::new();
        ways.extend(self.deadline.map(|_| "raise deadline_ms".to_owned()));
        let lossy = self.network.lossy_settings();
        if !lossy.is_empty() {
            ways.push(format!("lower {}", lossy.join(" or ")));
        }
        if self.dropout.prob > 0.0 {
            ways.push("lower dropout.prob".to_owned());
        }
        let absent = self.availability.settings();
        if !absent.is_empty() {
            ways.push(format!("keep clients online longer by {}", absent.join(" or ")));
        }
        match ways.as_slice() {
            [] => "no setting of the card loses or delays a message".to_owned(),
            ways => ways.join(", or "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_names_the_settings_that_the_card_has() {
        let outages = OutageSpec {
            regions: 2,
            ..OutageSpec::default()
        };
        let on_off = availability::OnOff {
            mean_on_s: 10.0,
            mean_off_s: 5.0,
        };
        let peer = LinkClass {
            loss_prob: 0.5,
            ..LinkClass::default()
        };
        let world = |change: &dyn Fn(&mut World)| {
            let mut world = World::ideal();
            change(&mut world);
            world.remedy()
        };
        assert_eq!(world(&|_| {}), "no setting of the card loses or delays a message");
        let always = || Box::new(availability::Always {});
        assert_eq!(
            world(&|world| world.availability = outages.over(always(), 5)),
            "keep clients online longer by outages.mean_between_s or outages.mean_length_s"
        );
        assert_eq!(
            world(&|world| world.availability = outages.over(Box::new(on_off), 5)),
            "keep clients online longer by outages.mean_between_s or outages.mean_length_s or availability.mean_on_s or \
             availability.mean_off_s"
        );
        assert_eq!(
            world(&|world| {
                world.network = Box::new(Links {
                    peer,
                    ..Links::default()
                });
                world.deadline = Some(SimSpan(1));
                world.dropout.prob = 0.1;
            }),
            "raise deadline_ms, or lower network.peer.loss_prob, or lower dropout.prob"
        );
    }
}
