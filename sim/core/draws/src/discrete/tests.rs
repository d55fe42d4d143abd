use super::*;
use crate::testing::{N, follows};
use rand_chacha::rand_core::SeedableRng;
use std::iter;

/// A sampler with a scale.
type Draw = fn(&mut SimRng, u64) -> i128;

fn draws(seed: u64, draw: Draw, scale: u64) -> Vec<i128> {
    let mut rng = SimRng::seed_from_u64(seed);
    (0..N).map(|_| draw(&mut rng, scale)).collect()
}

/// The closed form of the probability of each of `-most..=most`.
fn probabilities(weight: impl Fn(f64) -> f64, most: i128) -> Vec<f64> {
    let all: f64 = (-2000..=2000).map(|x| weight(f64::from(x))).sum();
    (-most..=most).map(|x| weight(x as f64) / all).collect()
}

/// How often each of `-most..=most` occurs, and everything else.
fn counts(draws: &[i128], most: i128) -> Vec<f64> {
    let mut counts = vec![0.0; 2 * most as usize + 2];
    for x in draws {
        let at = if x.abs() <= most {
            (x + most) as usize
        } else {
            counts.len() - 1
        };
        counts[at] += 1.0;
    }
    counts
}

/// Pearson's statistic lies within 4 standard deviations of its mean.
#[track_caller]
fn is_likely(name: &str, statistic: f64, n_free: f64) {
    let bound = n_free + 4.0 * (2.0 * n_free).sqrt();
    assert!(statistic < bound, "{name}: {statistic} of {n_free} degrees of freedom");
}

fn laplace_weight(scale: f64) -> impl Fn(f64) -> f64 {
    move |x: f64| libm::exp(-x.abs() / scale)
}

fn normal_weight(scale: f64) -> impl Fn(f64) -> f64 {
    move |x: f64| libm::exp(-x * x / (2.0 * scale * scale))
}

/// 100 000 draws for each scale against the closed form, by Pearson's chi-square test.
#[test]
fn draws_have_the_probabilities_of_the_closed_form() {
    for scale in [1, 2, 3, 7] {
        for (name, draw, expected, most) in [
            (
                "laplace",
                discrete_laplace as Draw,
                probabilities(laplace_weight(scale as f64), 6 * scale as i128),
                6 * scale as i128,
            ),
            (
                "normal",
                discrete_normal as Draw,
                probabilities(normal_weight(scale as f64), 3 * scale as i128),
                3 * scale as i128,
            ),
        ] {
            let found = counts(&draws(11 + scale, draw, scale), most);
            let rest = 1.0 - expected.iter().sum::<f64>();
            let cells = found.iter().zip(expected.iter().chain([&rest]));
            let n = N as f64;
            let statistic: f64 = cells.map(|(k, p)| (k - n * p) * (k - n * p) / (n * p)).sum();
            is_likely(&format!("{name} of scale {scale}"), statistic, expected.len() as f64);
        }
    }
}

/// 100 000 draws for each scale against as many of the reference implementation, whose counts
/// `reference.py` wrote: Pearson's chi-square test of two samples.
#[test]
fn draws_and_those_of_the_reference_implementation_are_from_one_distribution() {
    let table = include_str!("reference.csv");
    let mut n_compared = 0;
    for (name, draw, most) in [
        ("laplace", discrete_laplace as Draw, 6),
        ("normal", discrete_normal as Draw, 3),
    ] {
        for scale in [1, 3, 20] {
            let most = most * i128::from(scale);
            let found = counts(&draws(23 + scale, draw, scale), most);
            let mut theirs = vec![0.0; found.len()];
            for line in table.lines().skip(1) {
                let cells: Vec<&str> = line.split(',').collect();
                if cells[0] == name && cells[1] == scale.to_string() {
                    let x: i128 = cells[2].parse().unwrap();
                    let at = if x.abs() <= most {
                        (x + most) as usize
                    } else {
                        found.len() - 1
                    };
                    theirs[at] += cells[3].parse::<f64>().unwrap();
                }
            }
            assert_eq!(theirs.iter().sum::<f64>(), N as f64, "{name} {scale}");
            // Samples of one size: the difference of two counts has their sum for its variance.
            let cells = found.iter().zip(&theirs).filter(|(a, b)| *a + *b > 0.0);
            let statistic: f64 = cells.clone().map(|(a, b)| (a - b) * (a - b) / (a + b)).sum();
            is_likely(
                &format!("{name} of scale {scale}"),
                statistic,
                cells.count() as f64 - 1.0,
            );
            n_compared += 1;
        }
    }
    assert_eq!(n_compared, 6);
}

/// Scales as noise has them, where the moments are those of the continuous distributions.
#[test]
fn draws_of_a_large_scale_have_the_moments_of_the_continuous_distribution() {
    for scale in [1 << 20, (1 << 31) - 1, MAX_DISCRETE_SCALE] {
        let over = |draw: Draw| -> Vec<f64> {
            let scaled = draws(31, draw, scale).into_iter();
            scaled.map(|x| x as f64 / scale as f64).collect()
        };
        follows(
            "laplace",
            &over(discrete_laplace),
            [0.0, 2.0, 0.0, 24.0],
            [2.0, 20.0, 720.0, 39_744.0],
        );
        follows(
            "normal",
            &over(discrete_normal),
            [0.0, 1.0, 0.0, 3.0],
            [1.0, 2.0, 15.0, 96.0],
        );
    }
}

/// The greatest common divisor, for fractions.
fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn sum((a, b): (i128, i128), (c, d): (i128, i128)) -> (i128, i128) {
    let (top, bottom) = (a * d + c * b, b * d);
    let divisor = gcd(top, bottom);
    (top / divisor, bottom / divisor)
}

/// Every outcome of the coins, in fractions: the probability of a yes after at most `k` coins, plus
/// that of no decision yet where `k` is even, equals the Taylor polynomial of `exp(-x)` of degree
/// `k`.
#[test]
fn the_series_accepts_with_the_terms_of_the_exponential() {
    for (numerator, denominator) in [(0, 1), (1, 1), (1, 2), (2, 3), (1, 7), (6, 7)] {
        let (mut accepted, mut reached) = ((0, 1), (1, 1));
        let (mut taylor, mut term) = ((1, 1), (1i128, 1i128));
        for n_coins in 1..=8u32 {
            // A script of outcomes: all succeed but the last.
            let (mut place, mut asked) = (0, (0, 1));
            let mut coin = |top, bottom| {
                place += 1;
                asked = (top, bottom);
                place < n_coins
            };
            let answer = series(&mut coin, numerator, denominator);
            assert_eq!(place, n_coins);
            // The probability of the script: those before have succeeded, and this one fails.
            let (top, bottom) = (asked.0 as i128, asked.1 as i128);
            let fails = (reached.0 * (bottom - top), reached.1 * bottom);
            if answer {
                accepted = sum(accepted, fails);
            }
            reached = sum((0, 1), (reached.0 * top, reached.1 * bottom));
            term = sum(
                (0, 1),
                (
                    -term.0 * numerator as i128,
                    term.1 * denominator as i128 * i128::from(n_coins),
                ),
            );
            taylor = sum(taylor, term);
            // The mass that is undecided is what the last term adds.
            let undecided = if n_coins % 2 == 0 { reached } else { (0, 1) };
            assert_eq!(
                sum(accepted, undecided),
                taylor,
                "{numerator} / {denominator}, {n_coins}"
            );
        }
    }
}

/// Of all words those below the first digits accept, and the one that equals them goes on with the
/// remainder, so that the probability is the ratio itself.
#[test]
fn a_coin_has_the_probability_of_its_ratio() {
    for (numerator, denominator) in [
        (1, 3),
        (2, 3),
        (1, 1 << 20),
        (u128::from(u64::MAX) - 1, u128::from(u64::MAX)),
        ((1 << 94) - 1, (1 << 95) + 12_345),
        (5, (1 << 126) + 1),
    ] {
        let n_bits = u128::leading_zeros(denominator).min(64);
        let (digits, rest) = ((numerator << n_bits) / denominator, (numerator << n_bits) % denominator);
        // `digits` of 2^n_bits words, and `rest / denominator` of one more.
        assert_eq!(digits * denominator + rest, numerator << n_bits);
        let first = |first: u128, then: u64| {
            let mut words = iter::once((first as u64) << (64 - n_bits)).chain(iter::repeat(then));
            occurs(&mut || words.next().unwrap(), numerator, denominator)
        };
        assert!(!first(digits + 1, 0), "{numerator} / {denominator}");
        assert!(digits == 0 || first(digits - 1, u64::MAX));
        if rest > 0 {
            assert!(first(digits, 0) && !first(digits, u64::MAX));
        }
    }
    let never = &mut || -> u64 { panic!("nothing is drawn for what is certain") };
    assert!(occurs(never, 4, 4) && !occurs(never, 0, 4));
    // A half has one digit, and its remainder is nothing.
    let mut halves = [1 << 63, (1 << 63) - 1].into_iter();
    assert!(!occurs(&mut || halves.next().unwrap(), 1, 2) && occurs(&mut || halves.next().unwrap(), 1, 2));
}

#[test]
fn value_stability() {
    let first = |draw: Draw| {
        let mut rng = SimRng::seed_from_u64(7);
        [draw(&mut rng, 1 << 20), draw(&mut rng, 1 << 20), draw(&mut rng, 3)]
    };
    assert_eq!(first(discrete_laplace), [-165_461, -2_727_617, -1]);
    assert_eq!(first(discrete_normal), [-165_461, -1_430_744, -4]);
}
