//! Devices: how long a client's work takes. Time = work / speed, one task after the other.

use super::Dist;
use folkmoot_draws::{Purpose, Streams};
use folkmoot_metrics::{ClientId, Party, Round, SimSpan};
use folkmoot_parts::component;

/// The speed of each client.
pub trait Devices: Send + Sync {
    /// How long `client` takes for `work` operations. Called when work starts; the same arguments
    /// give the same span.
    fn span(&self, client: ClientId, work: f64, streams: Streams) -> SimSpan;
}

/// Ideal devices: computing takes no virtual time.
#[component(name = "Ideal", about = "computing takes no virtual time")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ideal {}

impl Devices for Ideal {
    fn span(&self, _: ClientId, _: f64, _: Streams) -> SimSpan {
        SimSpan::ZERO
    }
}

/// The same speed for all clients.
#[component(name = "Constant", about = "the same compute speed for all clients")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// Compute speed of each client.
    #[component(required, at_least = 1, unit = "operations/s")]
    pub ops_per_s: f64,
}

impl Devices for Constant {
    fn span(&self, _: ClientId, work: f64, _: Streams) -> SimSpan {
        SimSpan::from_secs(work / self.ops_per_s)
    }
}

/// Log-normal compute speed, drawn once per client.
#[component(name = "LogNormal", about = "log-normal compute speeds, drawn once per client")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// Median compute speed.
    #[component(required, at_least = 1, unit = "operations/s")]
    pub median_ops_per_s: f64,
    /// Standard deviation of the logarithm of the speed.
    #[component(required, in = 0..=10)]
    pub sigma: f64,
}

impl Devices for LogNormal {
    /// The speed is drawn by name whenever it is asked for.
    fn span(&self, client: ClientId, work: f64, streams: Streams) -> SimSpan {
        let speed = Dist::LogNormal {
            median: self.median_ops_per_s,
            sigma: self.sigma,
            min: 0.0,
        };
        let mut rng = streams.party(Purpose(*b"dev-spd "), Party::Client(client), Round(0));
        SimSpan::from_secs(work / speed.draw(&mut rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_keeps_its_speed_and_clients_differ() {
        let devices = LogNormal {
            median_ops_per_s: 1e9,
            sigma: 1.0,
        };
        let span = |c| devices.span(ClientId(c), 1e9, Streams::new(1));
        assert_eq!(span(3), span(3));
        assert_ne!(span(3), span(4));
        assert_eq!(Ideal {}.span(ClientId(0), 1e12, Streams::new(1)), SimSpan::ZERO);
        let constant = Constant { ops_per_s: 1e6 };
        assert_eq!(
            constant.span(ClientId(0), 5e5, Streams::new(1)),
            SimSpan::from_millis(500.0)
        );
    }
}
