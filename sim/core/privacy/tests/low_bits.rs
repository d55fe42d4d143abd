//! An attack on the low bits of noise, which succeeds on floating-point noise and fails on discrete
//! noise (I. Mironov. On Significance of the Least Significant Bits for Differential Privacy. CCS
//! 2012, section 4).
//!
//! The attacker sees one release of a count that is 0 or 1. It goes through all random words that
//! may have made the release from 0: where there is none, the count was 1.

use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_privacy::{Mechanism, NoiseForm, NoisyCounts};

/// Releases for each of the two counts.
const N: usize = 20_000;

const EPSILON: f64 = 0.5;

/// A quantile of the normal distribution: two intervals at once hold with 95 %.
const Z: f64 = 2.24;

fn mechanism() -> NoisyCounts {
    NoisyCounts::new(EPSILON, 1.0, "one edge")
        .expect("a legal epsilon")
        .of_whole_numbers()
}

fn releases(form: NoiseForm, count: f64) -> Vec<f64> {
    let (mechanism, mut rng) = (mechanism(), SimRng::seed_from_u64(1 + count as u64));
    let release = |_| mechanism.release_in(form, &[count], &mut rng).expect("a count")[0];
    (0..N).map(release).collect()
}

/// Whether floating-point noise on 0 gives this value for some random word.
fn is_reachable_from_0(release: f64) -> bool {
    let (scale, unit) = (mechanism().noise().scale(), 1.0 / (1u64 << 53) as f64);
    let near = libm::exp(-release.abs() / scale) / unit;
    // The inverse is off by less than this, for rounding.
    (-64..=64).any(|off| {
        let size = (near.round() + f64::from(off)) * unit;
        size > 0.0 && size <= 1.0 && scale * -libm::log(size) == release.abs()
    })
}

/// The interval of the probability of an event (E. Wilson 1927).
fn interval(n_events: usize) -> (f64, f64) {
    let (n, p) = (N as f64, n_events as f64 / N as f64);
    let (centre, root) = (
        p + Z * Z / (2.0 * n),
        Z * ((p * (1.0 - p) + Z * Z / (4.0 * n)) / n).sqrt(),
    );
    ((centre - root) / (1.0 + Z * Z / n), (centre + root) / (1.0 + Z * Z / n))
}

/// The 95 % interval of `ln (P[event | 1] / P[event | 0])`: epsilon is at least as large.
fn log_ratio(form: NoiseForm, event: impl Fn(f64) -> bool) -> (f64, f64) {
    let [zero, one] = [0.0, 1.0].map(|count| {
        let n = releases(form, count)
            .into_iter()
            .filter(|release| event(*release))
            .count();
        interval(n)
    });
    (libm::log(one.0 / zero.1), libm::log(one.1 / zero.0.max(0.0)))
}

#[test]
fn low_bits_reveal_the_input_of_floating_point_noise() {
    let all_of_0 = releases(NoiseForm::Float, 0.0);
    assert!(
        all_of_0.into_iter().all(is_reachable_from_0),
        "the attack never accuses 0"
    );
    let (low, _) = log_ratio(NoiseForm::Float, |release| !is_reachable_from_0(release));
    println!("floating-point noise: epsilon is at least {low:.3} for a stated {EPSILON}");
    assert!(low > 10.0 * EPSILON, "epsilon at least {low}");
}

/// No event of low bits has a ratio that epsilon does not allow, and its interval ends below.
/// Thresholds, which are the best that is left, reach epsilon and do not pass it.
#[test]
fn low_bits_reveal_nothing_of_discrete_noise() {
    let step = mechanism()
        .noise_on(NoiseForm::Discrete, 1)
        .unwrap()
        .granularity()
        .unwrap();
    let low_bits = |release: f64, n: f64| (release / step).rem_euclid(n);
    let events: [(&str, &dyn Fn(f64) -> bool); 3] = [
        ("unreachable", &|release| !is_reachable_from_0(release)),
        ("odd", &|release| low_bits(release, 2.0) == 1.0),
        ("low", &|release| low_bits(release, 256.0) < 64.0),
    ];
    for (name, event) in events {
        let (low, high) = log_ratio(NoiseForm::Discrete, event);
        println!("discrete noise, {name}: log ratio in {low:.3} to {high:.3}");
        assert!(low > -EPSILON && high < EPSILON, "{name}: {low} to {high}");
    }
    let best = (-20..=20).map(|at| log_ratio(NoiseForm::Discrete, |release| release >= f64::from(at) / 4.0).0);
    let best = best.fold(0.0, f64::max);
    assert!(best > 0.7 * EPSILON && best <= EPSILON, "{best}");
}
