//! Totals against those of dp-accounting, which `references.py` wrote.

use folkmoot_privacy::{Accountant, Law, Sampling};

/// The rows of a table of numbers behind a word.
fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, Vec<f64>)> {
    table.lines().skip(1).map(|line| {
        let (word, numbers) = line.split_once(',').expect("a row of two cells or more");
        (
            word,
            numbers.split(',').map(|cell| cell.parse().expect("a number")).collect(),
        )
    })
}

fn sampled(sampling: &str, noise: f64, rate: f64) -> Law {
    let (sampling, moves) = match sampling {
        "poisson" => (Sampling::Poisson, 1.0),
        "fixed" => (Sampling::FixedSize, 2.0),
        other => panic!("{other}"),
    };
    Law::sampled_normal(sampling, rate, moves / noise, 1e-12).expect("a legal setting")
}

/// 200 settings: never below the truth, nor more than 2 % above what dp-accounting proves by Rényi
/// divergences.
#[test]
fn renyi_totals_are_within_two_per_cent_of_a_published_accountant() {
    let (mut n, mut wrong) = (0, Vec::new());
    for (sampling, row) in rows(include_str!("accounting/rdp.csv")) {
        let [noise, rate, rounds, delta, expected, low] = row[..] else {
            panic!("{row:?}");
        };
        let mut accountant = Accountant::new(delta).unwrap();
        let place = accountant.law(sampled(sampling, noise, rate));
        let got = accountant.totals(&[(place, rounds as u64)]).renyi.unwrap();
        n += 1;
        if got > 1.02 * expected || got < low {
            wrong.push(format!("{sampling} {row:?}: {got}"));
        }
    }
    assert_eq!((n, wrong), (200, Vec::<String>::new()));
}

/// The law of a part of a row of `pld.csv`, and how often it was released from.
fn part(text: &str) -> (Law, u64) {
    let cells: Vec<&str> = text.split(':').collect();
    let [kind, numbers @ ..] = &cells[..] else {
        panic!("{text}");
    };
    let numbers: Vec<f64> = numbers.iter().map(|cell| cell.parse().expect("a number")).collect();
    let law = match *kind {
        "poisson" => sampled(kind, numbers[0], numbers[1]),
        "laplace" => Law::Laplace { epsilon: numbers[0] },
        "response" => Law::Response {
            epsilon: numbers[0],
            n_values: numbers[1] as u32,
        },
        other => panic!("{other}"),
    };
    (law, numbers[2] as u64)
}

/// Gaussian noise with and without a sample, Laplace noise, randomised response and mixes: never
/// below dp-accounting's lower bound of the truth, and within 1 % of its upper bound.
#[test]
fn loss_distributions_are_within_one_per_cent_of_a_published_accountant() {
    let (mut n, mut wrong) = (0, Vec::new());
    for (parts, row) in rows(include_str!("accounting/pld.csv")) {
        let mut accountant = Accountant::new(row[0]).unwrap();
        let releases = parts.split(' ').map(part);
        let releases: Vec<(usize, u64)> = releases.map(|(law, n)| (accountant.law(law), n)).collect();
        let got = accountant.pld(&releases).unwrap();
        let [_, high, low] = row[..] else {
            panic!("{row:?}");
        };
        n += 1;
        if got < low * (1.0 - 1e-8) || !(0.996..1.01).contains(&(got / high)) {
            wrong.push(format!("{parts} {row:?}: {got}"));
        }
    }
    assert_eq!((n, wrong), (53, Vec::<String>::new()));
}
