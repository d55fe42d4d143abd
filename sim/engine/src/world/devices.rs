//! Devices: how long a client's work takes. Time = work / speed, one task after the other.

use super::{Breach, Dist};
use folkmoot_draws::{Purpose, Streams};
use folkmoot_metrics::{ClientId, Party, Round, SimSpan};
use serde::{Deserialize, Serialize};

/// The speed of each client.
pub trait Devices: Send + Sync {
    /// How long `client` takes for `work` operations. Called when work starts; the same arguments give the same span.
    fn span(&self, client: ClientId, work: f64, streams: Streams) -> SimSpan;
}

/// The card's `devices`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DeviceSpec {
    /// Computing takes no virtual time.
    #[default]
    Ideal,
    /// One speed for all.
    Constant {
        /// Operations per second, > 0.
        ops_per_s: f64,
    },
    /// A speed drawn once for each client.
    LogNormal {
        /// Median operations per second, > 0.
        median_ops_per_s: f64,
        /// Standard deviation of the logarithm, 0..=10.
        sigma: f64,
    },
}

impl DeviceSpec {
    /// Every rule it breaks.
    pub fn check(&self) -> Vec<Breach> {
        let speed = |field: &str, value: f64| {
            (!(value.is_finite() && value >= 1.0))
                .then(|| (field.to_owned(), format!("must be finite and at least 1, got {value}")))
        };
        match *self {
            DeviceSpec::Ideal => Vec::new(),
            DeviceSpec::Constant { ops_per_s } => speed("ops_per_s", ops_per_s).into_iter().collect(),
            DeviceSpec::LogNormal {
                median_ops_per_s,
                sigma,
            } => speed("median_ops_per_s", median_ops_per_s)
                .into_iter()
                .chain(
                    (!(0.0..=10.0).contains(&sigma))
                        .then(|| ("sigma".to_owned(), format!("must lie in 0..=10, got {sigma}"))),
                )
                .collect(),
        }
    }

    /// The devices it describes.
    pub fn build(&self) -> Box<dyn Devices> {
        Box::new(Speeds(match *self {
            DeviceSpec::Ideal => None,
            DeviceSpec::Constant { ops_per_s } => Some(Dist::Constant(ops_per_s)),
            DeviceSpec::LogNormal {
                median_ops_per_s,
                sigma,
            } => Some(Dist::LogNormal {
                median: median_ops_per_s,
                sigma,
                min: 0.0,
            }),
        }))
    }
}

/// A speed per client, drawn by name whenever it is asked for; `None` is infinitely fast.
struct Speeds(Option<Dist>);

impl Devices for Speeds {
    fn span(&self, client: ClientId, work: f64, streams: Streams) -> SimSpan {
        let Some(dist) = self.0 else { return SimSpan::ZERO };
        let speed = dist.draw(&mut streams.party(Purpose(*b"dev-spd "), Party::Client(client), Round(0)));
        SimSpan::from_secs(work / speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_keeps_its_speed_and_clients_differ() {
        let devices = DeviceSpec::LogNormal {
            median_ops_per_s: 1e9,
            sigma: 1.0,
        }
        .build();
        let span = |c| devices.span(ClientId(c), 1e9, Streams::new(1));
        assert_eq!(span(3), span(3));
        assert_ne!(span(3), span(4));
        assert_eq!(
            DeviceSpec::Ideal.build().span(ClientId(0), 1e12, Streams::new(1)),
            SimSpan::ZERO
        );
        let constant = DeviceSpec::Constant { ops_per_s: 1e6 }.build();
        assert_eq!(
            constant.span(ClientId(0), 5e5, Streams::new(1)),
            SimSpan::from_millis(500.0)
        );
    }
}
