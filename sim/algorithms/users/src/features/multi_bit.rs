//! LPGNN's multi-bit encoder: a few coordinates, one random sign each.
//!
//! S. Sajadmanesh and D. Gatica-Perez. Locally Private Graph Neural Networks. CCS 2021, algorithm 1
//! and proposition 3.2. <https://arxiv.org/abs/2006.05535>
//!
//! Of `d` coordinates `m` are drawn without replacement; each becomes a sign with a budget of
//! `epsilon / m`. The whole row costs epsilon. That is [`MultiBit`] of a matrix of one row, where
//! GW-LDP divides the budget by the number of rows too. The estimate is `d (high − low) / 2m × (e^b
//! + 1) / (e^b − 1) × sign + (low + high) / 2`, 0 for the sign of a coordinate that was not drawn.

use super::{Estimate, FeatureRelease, bits_for};
use crate::own::{OwnFeatures, refused};
use folkmoot_engine::prelude::*;
use folkmoot_parts::component;
use folkmoot_privacy::multi_bit::recommended_entries;
use folkmoot_privacy::{Entries, MultiBit, ParameterError};

/// A few sampled coordinates of each user become random signs (LPGNN).
#[component(
    name = "MultiBitFeatures",
    about = "random signs for a few sampled coordinates of a user (LPGNN, CCS 2021)"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultiBitFeatures {
    /// Privacy budget ε of all features of a user.
    #[component(default = 1.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
    /// Number of sampled coordinates; by default `max(1, min(d, floor(epsilon / 2.18)))` of d,
    /// which minimises the variance.
    #[component(at_least = 1)]
    pub n_sampled: Option<u32>,
}

/// Every coordinate of each user becomes a random sign.
#[component(
    name = "OneBitFeatures",
    about = "random signs for every coordinate of a user (Ding et al., NIPS 2017)"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneBitFeatures {
    /// Privacy budget ε of all features of a user, divided evenly among them.
    #[component(default = 1.0, above = 0, in = 1e-6..=1e6)]
    pub epsilon: f64,
}

/// The encoder of rows of `d` values, of which it draws `m`.
fn encoder(epsilon: f64, m: usize, d: usize, (low, high): (f64, f64)) -> Result<MultiBit, ParameterError> {
    MultiBit::new(Entries::Row, epsilon, 1, d)?
        .with_sampled(m)?
        .with_range(low, high)
}

/// Which of three layouts is shortest, in bits: all signs where all are drawn; place and sign of
/// each drawn one; two bits a coordinate.
fn layout(m: usize, d: usize) -> (Layout, usize) {
    let listed = m * (bits_for(d) + 1);
    match () {
        () if m == d => (Layout::Signs, d),
        () if listed <= 2 * d => (Layout::Listed, listed),
        () => (Layout::Ternary, 2 * d),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Signs,
    Listed,
    Ternary,
}

/// Signs as bytes, the lowest bit first.
fn pack(signs: &[i8], m: usize) -> Vec<u8> {
    let d = signs.len();
    let (layout, n_bits) = layout(m, d);
    let (mut bytes, mut at) = (vec![0_u8; n_bits.div_ceil(8)], 0);
    let mut put = |value: u64, width: usize| {
        for i in 0..width {
            bytes[at / 8] |= ((value >> i & 1) as u8) << (at % 8);
            at += 1;
        }
    };
    for (place, sign) in signs.iter().enumerate() {
        let positive = u64::from(*sign > 0);
        match layout {
            Layout::Signs => put(positive, 1),
            Layout::Ternary => put(if *sign == 0 { 0 } else { 1 + positive }, 2),
            Layout::Listed if *sign != 0 => put(place as u64 | positive << bits_for(d), bits_for(d) + 1),
            Layout::Listed => {}
        }
    }
    bytes
}

/// The drawn places and their signs, ascending; none if the bytes are no such report.
fn unpack(bytes: &[u8], m: usize, d: usize) -> Option<Vec<(u32, i8)>> {
    let (layout, n_bits) = layout(m, d);
    if bytes.len() != n_bits.div_ceil(8) {
        return None;
    }
    let take = |at: usize, width: usize| {
        let bit = |i: usize| u64::from(bytes[(at + i) / 8] >> ((at + i) % 8) & 1) << i;
        (0..width).map(bit).sum::<u64>()
    };
    let sign = |positive: u64| if positive == 1 { 1 } else { -1 };
    let all: Vec<(u32, i8)> = match layout {
        Layout::Signs => (0..d).map(|place| (place as u32, sign(take(place, 1)))).collect(),
        Layout::Ternary => {
            let one = |place: usize| match take(2 * place, 2) {
                0 => None,
                code => Some((place as u32, sign(code - 1))),
            };
            (0..d).filter_map(one).collect()
        }
        Layout::Listed => {
            let width = bits_for(d) + 1;
            let one = |i: usize| {
                let code = take(i * width, width);
                let place = code & ((1 << (width - 1)) - 1);
                (place as u32, sign(code >> (width - 1)))
            };
            (0..m).map(one).collect()
        }
    };
    let ascend = all.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let in_range = all.last().is_none_or(|(place, _)| (*place as usize) < d);
    (all.len() == m && ascend && in_range).then_some(all)
}

fn report(encoder: &MultiBit, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError> {
    let signs = own.release(encoder)?;
    Ok(pack(&signs, encoder.n_sampled()))
}

fn read(encoder: &MultiBit, report: &[u8], d: usize) -> Option<Estimate> {
    let signs = unpack(report, encoder.n_sampled(), d)?;
    let value = |(place, sign): (u32, i8)| (place, encoder.rectify(sign) as f32);
    Some(Estimate {
        base: encoder.rectify(0) as f32,
        others: signs.into_iter().map(value).collect(),
    })
}

impl MultiBitFeatures {
    fn encoder(&self, d: usize, range: (f64, f64)) -> Result<MultiBit, ParameterError> {
        let m = self
            .n_sampled
            .map_or_else(|| recommended_entries(self.epsilon, d), |m| m as usize);
        encoder(self.epsilon, m, d, range)
    }
}

impl FeatureRelease for MultiBitFeatures {
    fn mechanism(&self) -> &'static str {
        "multi-bit encoder: features"
    }

    fn epsilon(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn suits(&self, n_features: usize) -> Result<(), StrategyError> {
        match self.n_sampled {
            Some(m) if m as usize > n_features => Err(StrategyError(format!(
                "n_sampled: must be at most {n_features}, the features of a user, got {m}"
            ))),
            _ => Ok(()),
        }
    }

    fn report(&self, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError> {
        report(&self.encoder(own.n_features(), own.range()).map_err(refused)?, own)
    }

    fn read(&self, report: &[u8], n_features: usize, range: (f64, f64)) -> Option<Estimate> {
        read(&self.encoder(n_features, range).ok()?, report, n_features)
    }
}

impl FeatureRelease for OneBitFeatures {
    fn mechanism(&self) -> &'static str {
        "one-bit encoder: features"
    }

    fn epsilon(&self) -> Option<f64> {
        Some(self.epsilon)
    }

    fn report(&self, own: OwnFeatures<'_>) -> Result<Vec<u8>, StrategyError> {
        let d = own.n_features();
        report(&encoder(self.epsilon, d, d, own.range()).map_err(refused)?, own)
    }

    fn read(&self, report: &[u8], n_features: usize, range: (f64, f64)) -> Option<Estimate> {
        read(
            &encoder(self.epsilon, n_features, n_features, range).ok()?,
            report,
            n_features,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use folkmoot_privacy::Mechanism;
    use proptest::prelude::*;

    /// Two coordinates, one drawn, epsilon 1: P(+1) = e / (e + 1), and the estimates 0.5 ± 2.163953
    /// and 0.5.
    #[test]
    fn the_estimates_are_those_of_a_hand() {
        let encoder = encoder(1.0, 1, 2, (0.0, 1.0)).unwrap();
        assert!((encoder.probability(1.0) - 0.731_059).abs() < 1e-6);
        for (sign, value) in [(1, 2.663_953), (-1, -1.663_953), (0, 0.5)] {
            assert!((encoder.rectify(sign) - value).abs() < 1e-6, "{sign}");
        }
        let read = MultiBitFeatures::default()
            .read(&pack(&[0, 1], 1), 2, (0.0, 1.0))
            .unwrap();
        assert_eq!(read.base, 0.5);
        assert!(matches!(read.others[..], [(1, x)] if (x - 2.663_953).abs() < 1e-6));
    }

    /// The mean over which coordinates are drawn and over their signs is the row itself.
    #[test]
    fn the_estimate_is_unbiased_by_enumeration() {
        for (d, m, epsilon) in [(1, 1, 0.3), (2, 1, 1.0), (3, 2, 5.0), (3, 3, 2.0)] {
            let encoder = encoder(epsilon, m, d, (-1.0, 2.0)).unwrap();
            for x in [-1.0, 0.25, 2.0] {
                let plus = encoder.probability(x);
                let drawn = plus * encoder.rectify(1) + (1.0 - plus) * encoder.rectify(-1);
                let share = m as f64 / d as f64;
                let mean = share * drawn + (1.0 - share) * encoder.rectify(0);
                assert!((mean - x).abs() < 1e-12, "{d} {m} {x}: {mean}");
            }
        }
    }

    /// Of any two rows no report is more than e^epsilon times as likely for one as for the other,
    /// and for some rows it is that.
    #[test]
    fn a_row_costs_epsilon_by_enumeration() {
        for (d, m) in [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)] {
            let epsilon = 1.7;
            let encoder = encoder(epsilon, m, d, (0.0, 1.0)).unwrap();
            let rows =
                |i: usize| -> Vec<f64> { (0..d).map(|j| [0.0, 0.4, 1.0][i / 3_usize.pow(j as u32) % 3]).collect() };
            let n_rows = 3_usize.pow(d as u32);
            let mut worst = 0.0_f64;
            for a in 0..n_rows {
                for b in 0..n_rows {
                    let (a, b) = (rows(a), rows(b));
                    // Which places are drawn does not depend on the row: the worst m of them, each
                    // with its worse sign.
                    let ratio = |j: usize| {
                        let (p, q) = (encoder.probability(a[j]), encoder.probability(b[j]));
                        libm::log(p / q).max(libm::log((1.0 - p) / (1.0 - q)))
                    };
                    let mut ratios: Vec<f64> = (0..d).map(ratio).collect();
                    ratios.sort_by(|a, b| b.total_cmp(a));
                    worst = worst.max(ratios[..m].iter().sum());
                }
            }
            assert!((worst - epsilon).abs() < 1e-12, "{d} {m}: {worst}");
            assert_eq!(encoder.cost().epsilon, epsilon);
        }
    }

    #[test]
    fn reports_have_the_stated_sizes() {
        // Cora at epsilon 1: 12 bits. All of 1 433: as many bits. Half of 16: two bits each are
        // shorter than a place and a sign.
        let bytes = |m, d| layout(m, d).1.div_ceil(8);
        assert_eq!((layout(1, 1433).1, bytes(1, 1433)), (12, 2));
        assert_eq!((bytes(1433, 1433), bytes(8, 16), bytes(1, 1)), (180, 4, 1));
        assert_eq!([1, 2, 3, 4, 5, 1433].map(bits_for), [0, 1, 2, 2, 3, 11]);
    }

    /// Golden: what three users send of a row at epsilon 5, two coordinates each, and the estimates
    /// of the first.
    #[test]
    fn value_stability() {
        let part = MultiBitFeatures {
            epsilon: 5.0,
            n_sampled: None,
        };
        let encoder = part.encoder(6, (0.0, 1.0)).unwrap();
        let mut rng = SimRng::seed_from_u64(7);
        let row = [0.0, 1.0, 0.5, 0.0, 1.0, 0.25];
        let reports: Vec<Vec<u8>> = (0..3)
            .map(|_| pack(&encoder.release(&row, &mut rng).unwrap(), 2))
            .collect();
        assert_eq!(reports, STABLE);
        let estimate = part.read(&reports[0], 6, (0.0, 1.0)).unwrap();
        let bits: Vec<(u32, u32)> = estimate.others.iter().map(|(place, x)| (*place, x.to_bits())).collect();
        assert_eq!(bits, STABLE_BITS);
    }

    const STABLE: [&[u8]; 3] = [&[192], &[202], &[168]];
    const STABLE_BITS: [(u32, u32); 2] = [(0, 3_215_087_330), (4, 1_074_867_057)];

    proptest! {
        #[test]
        fn exactly_m_are_sent_and_come_back(d in 1_usize..40, share in 0.0..1.0_f64, epsilon in 0.1..20.0_f64, seed: u64) {
            let m = 1 + ((d - 1) as f64 * share) as usize;
            let encoder = encoder(epsilon, m, d, (0.0, 1.0)).unwrap();
            let signs = encoder.release(&vec![0.3; d], &mut SimRng::seed_from_u64(seed)).unwrap();
            let all = (0..).zip(&signs).filter(|(_, sign)| **sign != 0).map(|(place, sign)| (place, *sign));
            let expected: Vec<(u32, i8)> = all.collect();
            prop_assert_eq!(expected.len(), m);
            prop_assert_eq!(unpack(&pack(&signs, m), m, d), Some(expected));
        }

        #[test]
        fn any_bytes_are_a_report_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..12), d in 1_usize..40, m in 1_usize..40) {
            if let Some(signs) = unpack(&bytes, m.min(d), d) {
                prop_assert!(signs.len() == m.min(d) && signs.iter().all(|(place, _)| (*place as usize) < d));
            }
        }
    }
}
