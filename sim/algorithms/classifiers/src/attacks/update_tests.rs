//! Attackers of updates on gradients worked out by hand and on planted directions, and where
//! nothing is to be found.

use super::client_linking::{self, Named};
use super::gradient_inversion::{self, Asked, Row, invert};
use super::tests::{number, numbers, rng};
use crate::classifier::LastLayer;
use folkmoot_draws::{index, normal};
use folkmoot_engine::prelude::*;

const N_IN: usize = 6;
const N_OUT: usize = 4;

/// Weights and biases of a layer, one behind the other.
fn layer() -> LastLayer {
    LastLayer {
        weights: 0..N_IN * N_OUT,
        biases: N_IN * N_OUT..(N_IN + 1) * N_OUT,
        n_out: N_OUT,
    }
}

/// The gradient of the mean cross entropy of a layer on some rows.
fn gradient(model: &[f64], rows: &[Row]) -> Vec<f64> {
    let layer = layer();
    let (weights, biases) = (&model[layer.weights.clone()], &model[layer.biases]);
    let mut gradient = vec![0.0; model.len()];
    for (row, class) in rows {
        let logit = |c: usize| biases[c] + (0..N_IN).map(|j| row[j] * weights[j * N_OUT + c]).sum::<f64>();
        let all: Vec<f64> = (0..N_OUT).map(|c| libm::exp(logit(c))).collect();
        let sum: f64 = all.iter().sum();
        for c in 0..N_OUT {
            let residual = (all[c] / sum - f64::from(u8::from(c == *class as usize))) / rows.len() as f64;
            (0..N_IN).for_each(|j| gradient[j * N_OUT + c] += row[j] * residual);
            gradient[N_IN * N_OUT + c] += residual;
        }
    }
    gradient
}

/// What so many steps of a rate change a model by, negated.
fn trained(model: &[f64], rows: &[Row], n_steps: u32, rate: f64) -> Vec<f64> {
    let mut now = model.to_vec();
    for _ in 0..n_steps {
        let step = gradient(&now, rows);
        now.iter_mut().zip(step).for_each(|(w, g)| *w -= rate * g);
    }
    model.iter().zip(now).map(|(before, after)| before - after).collect()
}

fn normals(n: usize, rng: &mut SimRng) -> Vec<f64> {
    (0..n).map(|_| normal(rng)).collect()
}

fn rows(n: usize, rng: &mut SimRng) -> Vec<Row> {
    (0..n).map(|_| (normals(N_IN, rng), index(rng, N_OUT) as u32)).collect()
}

fn error(guess: &[f64], row: &[f64]) -> f64 {
    let square = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>();
    (square(&mut guess.iter().zip(row).map(|(a, b)| a - b)) / square(&mut row.iter().copied())).sqrt()
}

#[test]
fn one_step_on_one_item_is_inverted_exactly_whatever_it_is_clipped_by() {
    let rng = &mut rng(11);
    for _ in 0..20 {
        let (model, rows) = (normals((N_IN + 1) * N_OUT, rng), rows(1, rng));
        let (row, class) = &rows[0];
        for clip in [1.0, 1e-3] {
            let change: Vec<f64> = trained(&model, &rows, 1, 0.1).iter().map(|x| clip * x).collect();
            let guess = invert(&change, &layer()).unwrap();
            assert!(error(&guess.row, row) < 1e-10 && guess.class == *class);
        }
    }
}

#[test]
fn several_steps_blur_what_is_inverted_and_more_so_with_their_rate() {
    let rng = &mut rng(12);
    let (model, rows) = (normals((N_IN + 1) * N_OUT, rng), rows(3, rng));
    // Of several items one step gives a mixture, which none of them is.
    let one = invert(&trained(&model, &rows, 1, 0.1), &layer()).unwrap();
    assert!(rows.iter().all(|(row, _)| error(&one.row, row) > 0.05));
    // Steps of one item blur nothing while its residual keeps its direction: the row stays a
    // factor. So two items, one far heavier.
    let far = |rate: f64| {
        let guess = invert(&trained(&model, &rows, 5, rate), &layer()).unwrap();
        error(&guess.row, &one.row)
    };
    assert!(
        far(0.01) < far(0.1) && far(0.1) < far(1.0),
        "{} {} {}",
        far(0.01),
        far(0.1),
        far(1.0)
    );
}

#[test]
fn noise_hides_what_clipping_does_not() {
    let rng = &mut rng(13);
    let all: Vec<f64> = (0..20)
        .map(|_| {
            let (model, rows) = (normals((N_IN + 1) * N_OUT, rng), rows(1, rng));
            let mut change = trained(&model, &rows, 1, 1.0);
            let norm = change.iter().map(|x| x * x).sum::<f64>().sqrt();
            // A noise multiplier of 1.
            change.iter_mut().for_each(|x| *x += norm * normal(rng));
            error(&invert(&change, &layer()).unwrap().row, &rows[0].0)
        })
        .collect();
    assert!(all.iter().all(|error| *error > 0.1), "{all:?}");
    assert!(
        invert(&[0.0; (N_IN + 1) * N_OUT], &layer()).is_none(),
        "nothing was learned"
    );
}

/// Numbers of an attack on clients of so many items each, from a network that says nothing yet.
fn inverted(n_items: usize, with_noise: f64) -> Vec<(String, f64)> {
    let (rng, model) = (&mut rng(14), [0.0; (N_IN + 1) * N_OUT]);
    let clients: Vec<ClientId> = (0..40).map(ClientId).collect();
    let asked = clients.iter().map(|client| {
        let rows = rows(n_items, rng);
        let mut change = trained(&model, &rows, 1, 0.1);
        change.iter_mut().for_each(|x| *x += with_noise * normal(rng));
        Asked {
            guess: invert(&change, &layer()).unwrap(),
            clients: std::slice::from_ref(client),
            rows,
        }
    });
    let asked: Vec<Asked<'_>> = asked.collect();
    numbers(|sheet| gradient_inversion::write(&asked, N_OUT, sheet))
}

#[test]
fn what_updates_give_away_is_counted_and_held_against_other_clients() {
    let planted = inverted(1, 0.0);
    for name in ["recovered", "matched", "classes"] {
        assert_eq!(number(&planted, &format!("inversion_{name}")), 1.0, "{name}");
    }
    assert!(number(&planted, "inversion_error") < 1e-10 && number(&planted, "inversion_error@other_client") > 0.5);
    assert_eq!(number(&planted, "inversion_recovered@other_client"), 0.0);
    assert!((number(&planted, "inversion_matched@chance") - 1.0 / 40.0).abs() < 1e-12);
    assert_eq!(number(&planted, "inversion_updates"), 40.0);

    let drowned = inverted(1, 1.0);
    assert_eq!(number(&drowned, "inversion_recovered"), 0.0);
    assert!(number(&drowned, "inversion_matched") < 0.2, "{drowned:?}");
    assert!(number(&drowned, "inversion_classes") < number(&drowned, "inversion_classes@blind") + 0.2);
    let (own, other) = ("inversion_error", "inversion_error@other_client");
    assert!(
        (number(&drowned, own) / number(&drowned, other) - 1.0).abs() < 0.3,
        "{drowned:?}"
    );
}

/// Rounds of updates of clients that go each its own way by so much, all the same way by 3, and
/// anywhere by 1.
fn rounds(own: f64) -> Vec<Vec<Named>> {
    let (rng, n_values) = (&mut rng(15), 200);
    let ways: Vec<Vec<f64>> = (0..20).map(|_| normals(n_values, rng)).collect();
    let common = normals(n_values, rng);
    let update = |way: &[f64], rng: &mut SimRng| -> Vec<f64> {
        way.iter()
            .zip(&common)
            .map(|(x, y)| own * x + 3.0 * y + normal(rng))
            .collect()
    };
    let one = |_| {
        (0..)
            .map(ClientId)
            .zip(ways.iter().map(|way| update(way, rng)))
            .collect()
    };
    (0..4).map(one).collect()
}

#[test]
fn updates_of_one_client_are_linked_where_clients_have_ways_of_their_own() {
    let planted = numbers(|sheet| client_linking::write(&rounds(1.0), sheet));
    let random = numbers(|sheet| client_linking::write(&rounds(0.0), sheet));
    for way in ["raw", "centred"] {
        let (auc, first) = (format!("linking_{way}_auc"), format!("linking_{way}_first"));
        assert!(
            number(&planted, &auc) > 0.95 && number(&planted, &first) > 0.95,
            "{planted:?}"
        );
        assert!(
            (number(&random, &auc) - 0.5).abs() < 0.1 && number(&random, &first) < 0.2,
            "{random:?}"
        );
        assert!((number(&planted, &format!("{first}@chance")) - 0.05).abs() < 1e-12);
    }
    assert_eq!(number(&planted, "linking_others"), 3.0 * 20.0 * 19.0);
    // Where all go the same way hides nobody once it is left out.
    let faint = numbers(|sheet| client_linking::write(&rounds(0.4), sheet));
    assert!(
        number(&faint, "linking_centred_auc") > number(&faint, "linking_raw_auc"),
        "{faint:?}"
    );
}

#[test]
fn without_updates_of_several_clients_in_two_rounds_nothing_is_linked() {
    let all = rounds(1.0);
    for few in [&all[..0], &all[..1], &[all[0][..1].to_vec(), all[1].clone()]] {
        let mut sheet = Sheet::default();
        client_linking::write(few, &mut sheet);
        assert!(sheet.take_summary().is_empty());
    }
}

#[test]
fn a_tie_is_a_hit_by_its_share() {
    let update = |client: u32| (ClientId(client), vec![1.0, 0.0]);
    let round = || vec![update(0), update(1), update(2), update(3)];
    let all = numbers(|sheet| client_linking::write(&[round(), round()], sheet));
    assert_eq!(number(&all, "linking_raw_first"), 0.25);
    assert_eq!(number(&all, "linking_raw_auc"), 0.5);
}
