use super::*;
use crate::normal;
use folkmoot_draws::SeedableRng;

const KINDS: [Kind; 2] = [Kind::Laplace, Kind::Gaussian];

fn real(n: usize, sensitivity: f64) -> Values {
    Values::Real { n, sensitivity }
}

fn discrete(kind: Kind, scale: f64, values: Values) -> Noise {
    Noise::new((kind, scale), NoiseForm::Discrete, values, 0.0).unwrap()
}

#[test]
fn value_stability() {
    let first = |kind, form| {
        let noise = Noise::new((kind, 0.75), form, real(2, 1.0), 0.0).unwrap();
        let draws = noise.add_to(&[3.0, 0.1], &mut SimRng::seed_from_u64(7)).unwrap();
        draws.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let all = KINDS.map(|kind| [NoiseForm::Discrete, NoiseForm::Float].map(|form| first(kind, form)));
    assert_eq!(all, STABLE);
}

const STABLE: [[[u64; 2]; 2]; 2] = [
    [
        [4_613_671_324_110_290_944, 13_834_386_790_548_504_576],
        [4_609_952_858_985_980_424, 4_609_154_504_381_470_724],
    ],
    [
        [4_613_671_324_110_290_944, 13_829_864_056_841_830_400],
        [4_615_537_129_243_393_794, 4_576_081_450_421_861_728],
    ],
];

/// The step is a power of two, fine beside the noise and the sensitivity; the scale in steps covers
/// the widened sensitivity at the ratio that was asked for, and little more.
#[test]
fn the_noise_covers_the_rounding() {
    for kind in KINDS {
        for (scale, n, sensitivity) in [
            (1.0, 1, 1.0),
            (0.3, 100_000, 7.0),
            (5.0, 1_000_000, 0.01),
            (1e-9, 50, 1e-7),
            (1e12, 3, 1e10),
        ] {
            let grid = discrete(kind, scale, real(n, sensitivity)).grid.unwrap();
            let (step, steps) = (grid.step, grid.scale as f64);
            assert_eq!(libm::frexp(step).0, 0.5);
            assert!(step <= scale * GRANULARITY);
            let moves = match kind {
                Kind::Laplace => n as f64,
                Kind::Gaussian => (n as f64).sqrt(),
            };
            let widened = sensitivity + 2.0 * moves * step;
            assert!(widened <= sensitivity * 1.001, "{scale} {n} {sensitivity}");
            assert!(steps * step >= scale * widened / sensitivity + step);
            assert!(steps * step <= scale * widened / sensitivity * 1.000_003);
        }
    }
    // Whole numbers lie on the grid, and without a sensitivity nothing is widened.
    for scale in [0.01, 1.0, 3e8] {
        let grid = discrete(Kind::Laplace, scale, Values::Whole).grid.unwrap();
        assert!(grid.step <= 1.0 && (grid.scale as f64 - 1.0) * grid.step < scale + grid.step);
    }
    let free = discrete(Kind::Gaussian, 0.5, real(9, f64::INFINITY));
    assert_eq!(free.grid.unwrap().scale, (1 << 20) + 1);
    let coarse = Noise::new((Kind::Gaussian, 0.5), NoiseForm::Discrete, real(4, 1.0), 0.25).unwrap();
    assert_eq!((coarse.granularity(), coarse.grid.unwrap().scale), (Some(0.25), 5));
    let float = Noise::new((Kind::Gaussian, 0.5), NoiseForm::Float, real(4, 1.0), 0.25).unwrap();
    assert_eq!(float.granularity(), None);
}

/// For every epsilon from 0 on, with the same shift in steps: the delta of discrete noise of scale
/// `s + 1` is at most that of continuous noise of scale `s`. A negative epsilon follows from its
/// opposite, as both pairs of distributions are symmetric. So discrete noise costs no more by any
/// composition. The error of a grid falls with the square of `s` and the gain of one step with `s`,
/// so that small scales are the hard case; grids have at least 2^20 steps.
#[test]
fn a_discrete_distribution_reveals_no_more_than_the_continuous_one() {
    for scale in [8i32, 16, 64, 256] {
        for kind in KINDS {
            let (s, reach) = (f64::from(scale + 1), 45 * scale);
            let weight = |x: i32| {
                let x = f64::from(x) / s;
                libm::exp(match kind {
                    Kind::Laplace => -x.abs(),
                    Kind::Gaussian => -0.5 * x * x,
                })
            };
            let all: f64 = (-reach..=reach).map(weight).sum();
            for shift in [1, 2, scale / 4, scale, 3 * scale] {
                let apart = f64::from(shift) / f64::from(scale);
                for tenth in 0..40 {
                    let epsilon = f64::from(tenth) / 10.0 * apart;
                    let excess = |x| (weight(x) - libm::exp(epsilon) * weight(x - shift)).max(0.0);
                    let delta = (-reach..=reach).map(excess).sum::<f64>() / all;
                    let continuous = match kind {
                        Kind::Laplace => -libm::expm1(0.5 * (epsilon - apart).min(0.0)),
                        Kind::Gaussian => normal::delta(epsilon, apart),
                    };
                    assert!(
                        delta <= continuous * (1.0 + 1e-9) + 1e-15,
                        "{kind:?} {scale} {shift} {epsilon}: {delta} above {continuous}"
                    );
                }
            }
        }
    }
}

/// 100 000 releases of a number that lies between two steps, against the distribution function of
/// continuous noise around it, within 4 standard errors.
#[test]
fn releases_lie_on_the_grid_and_spread_as_the_noise_does() {
    for kind in KINDS {
        let noise = discrete(kind, 2.0, real(1, 1.0));
        let step = noise.granularity().unwrap();
        let (n, mut rng) = (100_000, SimRng::seed_from_u64(5));
        let released = noise.add_to(&vec![0.3; n], &mut rng).unwrap();
        assert!(released.iter().all(|x| (x / step) % 1.0 == 0.0));
        for at in [-4.0, -1.0, 0.0, 0.3, 1.5, 5.0] {
            let found = released.iter().filter(|x| **x < at).count() as f64 / n as f64;
            let far = (at - 0.3f64).abs() / 2.0;
            let tail = match kind {
                Kind::Laplace => 0.5 * libm::exp(-far),
                Kind::Gaussian => normal::tail(far),
            };
            let expected = if at < 0.3 { tail } else { 1.0 - tail };
            let error = (expected * (1.0 - expected) / n as f64).sqrt();
            // The noise is up to one in a thousand larger, to cover the rounding.
            assert!(
                (found - expected).abs() < 4.0 * error + 1e-3,
                "{kind:?} at {at}: {found}"
            );
        }
    }
}

#[test]
fn values_without_a_place_on_the_grid_are_refused() {
    let noise = discrete(Kind::Laplace, 1.0, Values::Whole);
    let refused = |noise: &Noise, value: f64| noise.check(&[0.0, value]).is_err();
    assert!(noise.check(&[-3.0, 4e9]).is_ok());
    assert!(
        [0.5, f64::NAN, f64::INFINITY, 1e300]
            .iter()
            .all(|x| refused(&noise, *x))
    );
    let real = discrete(Kind::Laplace, 1.0, real(2, 1.0));
    assert!(!refused(&real, 0.5) && refused(&real, f64::NAN) && refused(&real, -1e300));
    let error = real.add_to(&[0.0, f64::INFINITY], &mut SimRng::seed_from_u64(1));
    assert!(matches!(error, Err(ReleaseError::Value { index: 1, .. })));
    let error = Noise::new((Kind::Laplace, 1e20), NoiseForm::Discrete, Values::Whole, 0.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "discrete noise of scale 100000000000000000000 for sensitivity inf needs more than 2^46 grid steps"
    );
}
