//! The pieces against their definitions, and whole maps.

use super::*;
use folkmoot_draws::SeedableRng;
use proptest::prelude::*;

fn rng() -> SimRng {
    SimRng::seed_from_u64(7)
}

/// Two heaps of `half` points each in three dimensions, far apart.
fn heaps(half: usize) -> Vec<f64> {
    let mut rng = rng();
    let mut unit = || f64::from(rng.next_u32() >> 8) / f64::from(1 << 24);
    (0..6 * half)
        .map(|at| unit() + if at < 3 * half { 0.0 } else { 20.0 })
        .collect()
}

fn entropy(chances: &[f64]) -> f64 {
    -chances
        .iter()
        .filter(|p| **p > 0.0)
        .map(|p| p * libm::log(*p))
        .sum::<f64>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_point_has_the_perplexity_that_was_asked_for(
        exponents in proptest::collection::vec(-20.0f64..20.0, 12),
        share in 0.05f64..0.95,
    ) {
        // Distances of all sizes, so that the search meets neighbours of very different scales.
        let squared: Vec<f64> = exponents.iter().map(|power| libm::exp(*power)).collect();
        let target = share * libm::log(11.0);
        let chances = neighbours(&squared, 4, target);
        prop_assert_eq!(chances[4], 0.0);
        prop_assert!((entropy(&chances) - target).abs() < 1e-9);
        prop_assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
}

#[test]
fn perplexities_that_cannot_be_reached_give_the_nearest_or_all_neighbours() {
    // Two neighbours are equally near: less than perplexity 2 is impossible.
    let chances = neighbours(&[0.0, 1.0, 1.0, 9.0], 0, libm::log(1.5));
    assert_eq!(chances, [0.0, 0.5, 0.5, 0.0]);
    let same = neighbours(&[3.0; 5], 2, libm::log(2.0));
    assert_eq!(same, [0.25, 0.25, 0.0, 0.25, 0.25]);
    // Four points have three neighbours at most.
    let all = joint_probabilities(&[0.0, 1.0, 2.0, 3.0].repeat(4), 4, 3.9).unwrap();
    assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let rest = all.iter().enumerate().filter(|(at, _)| at % 5 != 0);
    assert!(
        rest.fold(0.0f64, |most, (_, p)| most.max((p - 1.0 / 12.0).abs())) < 1e-9,
        "{all:?}"
    );
}

/// The gradient is the derivative of the divergence, by central differences.
#[test]
fn the_gradient_is_that_of_the_divergence() {
    let x = heaps(6);
    let squared: Vec<f64> = (0..144)
        .map(|at| (0..3).map(|k| (x[at / 12 * 3 + k] - x[at % 12 * 3 + k]).powi(2)).sum())
        .collect();
    let p = joint_probabilities(&squared, 12, 4.0).unwrap();
    for i in 0..12 {
        assert_eq!(p[i * 13], 0.0);
        assert!((0..12).all(|j| p[i * 12 + j] == p[j * 12 + i]));
    }
    let places: Vec<f64> = start(12, &mut rng()).iter().map(|at| at / START_STD).collect();
    let (divergence, gradient) = map_divergence(&p, &places).unwrap();
    assert!(divergence > 0.0);
    for at in 0..places.len() {
        let moved = |by: f64| {
            let mut places = places.clone();
            places[at] += by;
            map_divergence(&p, &places).unwrap().0
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((slope - gradient[at]).abs() < 1e-8, "{at}: {slope} {}", gradient[at]);
    }
}

#[test]
fn heaps_stay_heaps_and_threads_change_nothing() {
    let x = heaps(40);
    let settings = Tsne {
        perplexity: 15.0,
        n_steps: 400,
        ..Tsne::default()
    };
    let run = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| settings.fit_points(&x, 3, &mut rng()).unwrap())
    };
    let map = run(1);
    assert_eq!(map, run(3));
    let places: Vec<&[f64]> = map.places.chunks_exact(2).collect();
    let distance = |i: usize, j: usize| (0..2).map(|k| (places[i][k] - places[j][k]).powi(2)).sum::<f64>();
    for i in 0..80 {
        let nearest = (0..80)
            .filter(|&j| j != i)
            .min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b)));
        assert_eq!(
            nearest.unwrap() < 40,
            i < 40,
            "the nearest place of {i} is in the other heap"
        );
    }
    for axis in 0..2 {
        let mean = places.iter().map(|place| place[axis]).sum::<f64>() / 80.0;
        assert!(mean.abs() < 1e-9);
    }
    let first = Tsne { n_steps: 0, ..settings };
    let first = first.fit_points(&x, 3, &mut rng()).unwrap().divergence;
    assert!(map.divergence < 0.5 && first > 0.6, "{} from {first}", map.divergence);
}

/// Moments of the start within 4 standard errors.
#[test]
fn the_start_is_normal() {
    let n = 20_000;
    let places = start(n, &mut rng());
    let n = 2.0 * n as f64;
    let moment = |power: i32| places.iter().map(|at| (at / START_STD).powi(power)).sum::<f64>() / n;
    for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let error = 4.0 * (variance / n).sqrt();
        assert!((moment(power) - expected).abs() < error, "{power}: {}", moment(power));
    }
}

#[test]
fn value_stability() {
    let bits: Vec<u64> = start(2, &mut rng()).iter().map(|at| at.to_bits()).collect();
    assert_eq!(bits, START);
    let settings = Tsne {
        perplexity: 3.0,
        n_steps: 60,
        n_exaggerated: 20,
        ..Tsne::default()
    };
    let map = settings.fit_points(&heaps(5), 3, &mut rng()).unwrap();
    assert_eq!([map.places[0].to_bits(), map.divergence.to_bits()], AFTER);
}

const START: [u64; 4] = [
    4546615920779332341,
    4550301214996485418,
    13756687460296482006,
    13769113218114900306,
];
const AFTER: [u64; 2] = [4617962171679233670, 4607250768545699102];

#[test]
fn what_cannot_be_mapped_is_an_error() {
    let text = |settings: Tsne, squared: &[f64], n| settings.fit(squared, n, &mut rng()).unwrap_err().to_string();
    let default = Tsne::default();
    let small = Tsne {
        perplexity: 1.5,
        ..default
    };
    assert_eq!(
        text(default, &[0.0; 4], 2),
        "perplexity: must be at least 1 and less than 2 (points), got 30"
    );
    assert_eq!(text(small, &[0.0; 3], 2), "squared: must have 4 items, got 3");
    assert_eq!(text(small, &[0.0, f64::NAN, 1.0, 0.0], 2), "squared[1]: must be finite");
    let shrunk = Tsne {
        exaggeration: 0.5,
        ..small
    };
    assert_eq!(
        text(shrunk, &[0.0; 4], 2),
        "exaggeration: must be finite and at least 1, got 0.5"
    );
    let still = Tsne {
        learning_rate: Some(0.0),
        ..small
    };
    assert_eq!(
        text(still, &[0.0; 4], 2),
        "learning_rate: must be finite and greater than 0, got 0"
    );
    let points = small.fit_points(&[1.0; 5], 2, &mut rng()).unwrap_err().to_string();
    assert_eq!(points, "x: must have 6 items, got 5");
    assert_eq!(
        map_divergence(&[0.0; 4], &[0.0; 3]).unwrap_err().to_string(),
        "places: must have 4 items, got 3"
    );
    assert_eq!(
        map_divergence(&[0.0; 3], &[0.0; 4]).unwrap_err().to_string(),
        "p: must have 4 items, got 3"
    );
}
