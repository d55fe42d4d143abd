//! What the server does with the updates of a round, once a rule has made them one: a part that a
//! card names as `protocol.server_optimizer`.

mod adaptive;
mod average;

pub use adaptive::{Adam, Yogi};
pub use average::{Average, Momentum};

use folkmoot_parts::component_type;
use serde::{Deserialize, Serialize};

/// The server's step from the mean change `Δ` of the weights; all in double precision, the weights
/// rounded to `f32` at the end.
pub trait ServerOptimiser: Send + Sync {
    /// Moves `weights` by the mean `change`, element by element; the two are of one length, the
    /// same in every round.
    fn step(&self, moments: &mut ServerMoments, weights: &mut [f32], change: &[f64]);

    /// Whether it leads from any model to the mean model itself, which is then taken without the
    /// rounding of a difference and a sum, and [`step`](ServerOptimiser::step) is not called.
    /// Default: no.
    fn takes_mean(&self) -> bool {
        false
    }
}

component_type!(ServerOptimiser, "server optimiser", Average { learning_rate: 1.0 });

/// What the server's optimiser keeps from round to round: rows of a number for each weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerMoments(Vec<Vec<f64>>);

impl ServerMoments {
    /// `N` rows of `n` numbers, each filled with its one of `starts` when they are first asked for.
    ///
    /// # Panics
    ///
    /// If fewer rows were asked for before: an optimiser always has the same number.
    pub fn rows<const N: usize>(&mut self, n: usize, starts: [f64; N]) -> &mut [Vec<f64>; N] {
        if self.0.is_empty() {
            self.0.extend(starts.map(|start| vec![start; n]));
        }
        let rows = self.0.as_mut_slice().try_into();
        rows.expect("an optimiser always has the same number of rows")
    }
}

/// Adds a step to a weight.
fn add(weight: &mut f32, step: f64) {
    *weight = (f64::from(*weight) + step) as f32;
}

/// Moments that have all but vanished are 0: subnormal numbers are slow.
fn flush(x: f64) -> f64 {
    if x.abs() < 1e-300 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps by hand, the change 2 and then −1.
    fn two_steps(optimiser: &dyn ServerOptimiser) -> f64 {
        let (mut moments, mut weights) = (ServerMoments::default(), [10.0]);
        optimiser.step(&mut moments, &mut weights, &[2.0]);
        optimiser.step(&mut moments, &mut weights, &[-1.0]);
        f64::from(weights[0])
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-5, "{a} and {b}");
    }

    #[test]
    fn steps_are_those_of_the_papers() {
        near(two_steps(&Average { learning_rate: 0.5 }), 10.5);
        // v = 2, then 0.5 · 2 − 1 = 0.
        near(
            two_steps(&Momentum {
                learning_rate: 1.0,
                beta: 0.5,
            }),
            12.0,
        );
        let (rate, beta1, beta2, tau) = (1.0, 0.5, 0.75, 1.0);
        let adam = Adam {
            learning_rate: rate,
            beta1,
            beta2,
            tau,
        };
        // m = 1, v = 0.75 + 1; then m = 0, v = 1.3125 + 0.25.
        near(two_steps(&adam), 10.0 + 1.0 / (1.75f64.sqrt() + 1.0));
        let yogi = Yogi {
            learning_rate: rate,
            beta1,
            beta2,
            tau,
        };
        // m = 1, v = 1 + 0.25 · 4 = 2; then m = 0.
        near(two_steps(&yogi), 10.0 + 1.0 / (2.0f64.sqrt() + 1.0));
    }

    #[test]
    fn only_the_average_at_rate_1_takes_the_mean_as_it_is() {
        let all: [&dyn ServerOptimiser; 4] = [
            &Average { learning_rate: 0.5 },
            &Momentum::default(),
            &Adam::default(),
            &Yogi::default(),
        ];
        assert!(Average::default().takes_mean() && all.iter().all(|optimiser| !optimiser.takes_mean()));
    }

    /// Where changes vanish, Yogi's second moment falls more slowly than Adam's.
    #[test]
    fn yogi_forgets_more_slowly() {
        let second = |optimiser: &dyn ServerOptimiser| {
            let mut moments = ServerMoments::default();
            for change in [4.0, 0.1, 0.1] {
                optimiser.step(&mut moments, &mut [0.0], &[change]);
            }
            moments.0[1][0]
        };
        let (rate, beta1, beta2, tau) = (0.1, 0.9, 0.9, 0.01);
        let adam = second(&Adam {
            learning_rate: rate,
            beta1,
            beta2,
            tau,
        });
        let yogi = second(&Yogi {
            learning_rate: rate,
            beta1,
            beta2,
            tau,
        });
        assert!(yogi > 1.2 * adam, "{yogi} and {adam}");
    }
}
