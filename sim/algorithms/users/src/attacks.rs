//! What somebody who has the server's reports finds out of edges, features and classes.

use crate::edges::Suspicion;
use crate::features::Estimate;
use crate::links::{Links, Spread};
use crate::told::Told;
use crate::train::{Course, Learned, likeliest};
use crate::users::Users;
use folkmoot_draws::{SimRng, draw_first, index, shuffle};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Graph;
use folkmoot_scores::auc;
use std::collections::BTreeSet;

/// Columns of features that are guessed.
const COLUMNS: usize = 32;
/// Users of each column who have the feature, and as many who have not.
const USERS_A_COLUMN: usize = 500;

/// Edges and as many pairs that are none, at most `most` of each, drawn; and which of them are
/// edges.
pub(crate) fn drawn_pairs(graph: &Graph, most: usize, rng: &mut SimRng) -> (Vec<(u32, u32)>, Vec<bool>) {
    let mut pairs: Vec<(u32, u32)> = graph.edges().filter(|(u, v)| u != v).collect();
    let n = graph.n_nodes();
    let n_none = n as u64 * (n as u64 - 1) / 2 - pairs.len() as u64;
    let wanted = most.min(pairs.len()).min(usize::try_from(n_none).unwrap_or(usize::MAX));
    draw_first(rng, &mut pairs, wanted);
    pairs.truncate(wanted);
    let mut none = BTreeSet::new();
    while none.len() < wanted {
        let [i, j] = [index(rng, n) as u32, index(rng, n) as u32];
        if i != j && !graph.has_edge(i, j) {
            none.insert((i.min(j), i.max(j)));
        }
    }
    pairs.extend(none);
    let is_edge = (0..pairs.len()).map(|at| at < wanted).collect();
    (pairs, is_edge)
}

/// The area of each attacker on edges: those of the release, and one who looks for users alike by
/// what was told of their features.
pub(crate) fn links(
    suspicions: Vec<Suspicion>,
    rows: &[Estimate],
    (pairs, is_edge): (&[(u32, u32)], &[bool]),
    sheet: &mut Sheet,
) {
    let areas: Vec<(&str, Option<f64>)> = suspicions
        .iter()
        .map(|suspicion| (suspicion.name, auc(is_edge, &suspicion.scores).ok()))
        .collect();
    for (name, area) in &areas {
        sheet.number_if(format!("link_{name}_auc"), *area);
    }
    let strongest = areas.iter().filter_map(|(_, area)| *area).max_by(f64::total_cmp);
    sheet.number_if("link_auc", strongest);
    let alike: Vec<f64> = pairs
        .iter()
        .map(|&(i, j)| cosine(&rows[i as usize], &rows[j as usize]))
        .collect();
    sheet.number_if("link_features_auc", auc(is_edge, &alike).ok());
}

/// The cosine of what two rows have beside their base.
fn cosine(a: &Estimate, b: &Estimate) -> f64 {
    let square = |row: &Estimate| -> f64 { row.others.iter().map(|(_, x)| f64::from(x - row.base).powi(2)).sum() };
    let (mut i, mut j, mut dot) = (0, 0, 0.0);
    while let (Some((column, x)), Some((other, y))) = (a.others.get(i), b.others.get(j)) {
        if column == other {
            dot += f64::from(x - a.base) * f64::from(y - b.base);
        }
        i += usize::from(column <= other);
        j += usize::from(other <= column);
    }
    let length = (square(a) * square(b)).sqrt();
    if length > 0.0 { dot / length } else { 0.0 }
}

/// The areas of who guesses single features: by a user's own report, and by those of its neighbours
/// in the graph that the server holds.
///
/// Of each column as many users are asked about who have the feature as who have not, so that how
/// common a feature is tells nothing.
pub(crate) fn features(users: &Users, rows: &[Estimate], links: &Links, rng: &mut SimRng, sheet: &mut Sheet) {
    let n_users = rows.len() as u32;
    let middle = users.middle();
    // User by user: all features of all users together may not fit into memory.
    let mut n_with: Vec<usize> = Vec::new();
    for user in 0..n_users {
        let (row, _) = users.features(user);
        n_with.resize(row.len(), 0);
        n_with
            .iter_mut()
            .zip(row)
            .for_each(|(n, x)| *n += usize::from(x > middle));
    }
    let mut columns: Vec<usize> = (0..n_with.len())
        .filter(|&column| n_with[column] > 0 && n_with[column] < rows.len())
        .collect();
    shuffle(rng, &mut columns);
    columns.truncate(COLUMNS);
    if columns.is_empty() {
        return;
    }
    let of_user = |user: u32| {
        let (row, _) = users.features(user);
        columns
            .iter()
            .map(|column| row[*column] > middle)
            .collect::<Vec<bool>>()
    };
    let truth: Vec<Vec<bool>> = (0..n_users).map(of_user).collect();
    let estimate = |row: &Estimate, column: usize| {
        let listed = row.others.binary_search_by_key(&(column as u32), |other| other.0);
        listed.map_or(row.base, |at| row.others[at].1)
    };
    let own: Vec<f32> = rows
        .iter()
        .flat_map(|row| columns.iter().map(|column| estimate(row, *column)))
        .collect();
    let near = Spread::without_loops(links).repeat(own.clone(), columns.len(), 1);
    let (mut has, mut by_own, mut by_near) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..columns.len() {
        let (mut with, mut without): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|user| truth[*user][at]);
        let n = with.len().min(without.len()).min(USERS_A_COLUMN);
        for (group, is_set) in [(&mut with, true), (&mut without, false)] {
            draw_first(rng, group, n);
            for user in &group[..n] {
                has.push(is_set);
                by_own.push(f64::from(own[user * columns.len() + at]));
                by_near.push(f64::from(near[user * columns.len() + at]));
            }
        }
    }
    sheet.number_if("feature_own_auc", auc(&has, &by_own).ok());
    sheet.number_if("feature_near_auc", auc(&has, &by_near).ok());
}

/// How often the classes of users who told theirs are guessed: from what was told, what was
/// learned, and both by Bayes' rule.
pub(crate) fn labels(course: &Course, users: &Users, told: &Told, learned: &Learned, sheet: &mut Sheet) {
    let n_classes = course.n_classes;
    let other = (1.0 - course.keep) / (n_classes as f64 - 1.0);
    let (mut n, mut by_told, mut by_both) = (0_u32, 0_u32, 0_u32);
    for (user, said) in (0_u32..).zip(&told.labels) {
        let (Some(said), Some(class)) = (said, users.class(user)) else {
            continue;
        };
        let shares = &learned.probabilities[user as usize * n_classes..][..n_classes];
        let weigh =
            |(at, share): (u32, &f32)| (f64::from(*share) * if at == *said { course.keep } else { other }) as f32;
        let weighed: Vec<f32> = (0..).zip(shares).map(weigh).collect();
        n += 1;
        by_told += u32::from(*said == class);
        by_both += u32::from(likeliest(&weighed) == class);
    }
    if n > 0 {
        sheet.number("label_told_accuracy", f64::from(by_told) / f64::from(n));
        sheet.number("label_guess_accuracy", f64::from(by_both) / f64::from(n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    #[test]
    fn pairs_are_edges_and_none_in_equal_number() {
        let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (4, 5)], false).unwrap();
        let (pairs, is_edge) = drawn_pairs(&graph, 3, &mut SimRng::seed_from_u64(1));
        assert_eq!((pairs.len(), is_edge.iter().filter(|is| **is).count()), (6, 3));
        assert!(
            pairs
                .iter()
                .zip(&is_edge)
                .all(|(&(i, j), is)| graph.has_edge(i, j) == *is && i != j)
        );
        let full = Graph::from_edges(3, &[(0, 1), (1, 2), (0, 2)], false).unwrap();
        assert!(drawn_pairs(&full, 9, &mut SimRng::seed_from_u64(1)).0.is_empty());
    }

    #[test]
    fn rows_alike_have_a_cosine_of_one() {
        let row = |others: &[(u32, f32)]| Estimate {
            base: 0.5,
            others: others.to_vec(),
        };
        let a = row(&[(1, 2.5), (4, -1.5)]);
        assert!((cosine(&a, &a) - 1.0).abs() < 1e-12);
        assert_eq!((cosine(&a, &row(&[(2, 1.0)])), cosine(&a, &row(&[]))), (0.0, 0.0));
    }
}
