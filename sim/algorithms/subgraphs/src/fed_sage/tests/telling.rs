//! The forms of what is told: whichever it is, the numbers are the same, and so is their encoding.

use super::super::exchange::sum;
use super::super::numbers::{Gradient, Numbers};
use super::*;
use folkmoot_draws::normal;
use folkmoot_learning::Factored;

/// Numbers behind and before a weight of 300 rows and 701 columns, by so many rows.
fn gradient(n_rows: usize, seed: u64) -> Numbers {
    let rng = &mut stream(seed);
    let mut numbers = |n: usize| (0..n).map(|_| normal(rng) as f32).collect::<Vec<f32>>();
    let (others, factors) = (numbers(1_000), [numbers(n_rows * 300), numbers(n_rows * 701)]);
    Numbers::Gradient(Gradient {
        others,
        at: 299,
        last: Factored::new(factors, [300, 701]),
    })
}

/// The same number by number.
fn one_by_one(numbers: &Numbers) -> Numbers {
    Numbers::Plain(numbers.all().into_owned())
}

fn encoded(told: &Told) -> Vec<u8> {
    let mut bytes = Vec::new();
    told.encode(&mut bytes);
    assert_eq!(bytes.len(), told.encoded_len());
    bytes
}

#[test]
fn each_form_is_encoded_as_its_numbers_are() {
    let generator = Numbers::Generator {
        weights: vec![1.0, -0.0, 3.0].into(),
        rows: vec![f32::MIN_POSITIVE, 5.0],
    };
    assert_eq!(bits(&generator.all()), bits(&[1.0, -0.0, 3.0, f32::MIN_POSITIVE, 5.0]));
    let told = |numbers: &Numbers| Told::new((7, 3), numbers.clone());
    let of_two = Numbers::Sum(vec![told(&gradient(4, 1)), told(&gradient(2, 2))]);
    for numbers in [generator, gradient(4, 1), of_two] {
        let [held, whole] = [&numbers, &one_by_one(&numbers)].map(told);
        let bytes = encoded(&held);
        assert_eq!(bytes, encoded(&whole));
        assert_eq!(held.counted_len(), HEAD + 4 * numbers.len() as u64);
        let mut reader = WireReader::new(&bytes);
        assert_eq!(Told::decode(&mut reader), Ok(whole), "read as numbers one by one");
    }
}

/// Over numbers that take several turns, in the order of their makers, one of whom has nothing to
/// say: as one adds up numbers that are all there.
#[test]
fn a_sum_of_factors_has_the_bits_of_a_sum_of_numbers() {
    let all = [
        gradient(3, 1),
        one_by_one(&gradient(5, 2)),
        gradient(1, 3),
        gradient(0, 4),
    ];
    let whole: Vec<Vec<f32>> = all.iter().map(|numbers| numbers.all().into_owned()).collect();
    let at = |place: usize| whole.iter().map(|values| f64::from(values[place])).sum::<f64>() as f32;
    let expected: Vec<f32> = (0..whole[0].len()).map(at).collect();
    let told = all.map(|numbers| Told::new((0, 1), numbers));
    let with_nothing = [&told[..2], &[Told::nothing((0, 1))], &told[2..]].concat();
    let added = sum((0, 1), with_nothing);
    assert_eq!(bits(&added.values()), bits(&expected));
    assert_eq!(
        sum((0, 1), vec![Told::dry((0, 1), 9, 36), Told::nothing((0, 1))]).n_values(),
        9
    );
}

/// A gradient takes the form of which there is less.
#[test]
fn factors_are_kept_where_they_are_few() {
    for (n_rows, is_smaller) in [(1, true), (210, true), (211, false)] {
        let Numbers::Gradient(factors) = gradient(n_rows, 1) else {
            panic!("a gradient")
        };
        let kept = Numbers::from(factors.clone());
        assert_eq!(matches!(kept, Numbers::Gradient(_)), is_smaller, "{n_rows}");
        assert_eq!(bits(&kept.all()), bits(&Numbers::Gradient(factors).all()));
    }
}
