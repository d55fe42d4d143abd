//! Whether embeddings tell which client a graph is of.
//!
//! An embedding is made with weights that a client has just trained on its own graphs, so that
//! graphs of one client may lie together whatever their class; and where labels are skewed, the
//! client tells the class. Three things are measured: what the client alone says of the class, how
//! many of a graph's nearest others are of its client, and how well somebody who knows the clients
//! of the training graphs names those of all others. Each stands beside what the class alone would
//! give, because classes are not spread evenly over clients.

use super::distances::{Distances, Rows};
use super::subjects::Subject;
use folkmoot_classifiers::classifier::Part;
use folkmoot_draws::SimRng;
use folkmoot_scores::inference::{Attackers, Known, PerceptronSettings, Table, auc_within, first_best, macro_auc};

/// The perceptron among the attackers.
const NETWORK: PerceptronSettings = PerceptronSettings {
    layers: 2,
    width: 32,
    epochs: 100,
    learning_rate: 0.01,
    batch: 32,
    standardise: true,
};

/// Who a graph was linked with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Linked {
    /// The share of graphs whose client was named.
    pub(super) top_1: f64,
    /// The mean over clients of the area under the ROC curve of "this client's" against the rest.
    pub(super) auc: Option<f64>,
    /// The same among graphs of one class: one half for whoever learns the class and nothing else.
    pub(super) auc_in_class: Option<f64>,
}

/// The accuracy on test graphs of the class that most of the client's other graphs have, of equals
/// the least; of a client without others, the class that most have. `None` without a test graph.
pub(super) fn majority_accuracy(subjects: &[&Subject]) -> Option<f64> {
    let is_test = |subject: &&&Subject| subject.part == Some(Part::Test);
    let tests: Vec<&&Subject> = subjects.iter().filter(is_test).collect();
    let known = || subjects.iter().filter(|subject| !is_test(subject));
    let most = |classes: Vec<u32>| {
        let n_classes = classes.iter().max().map_or(0, |most| *most as usize + 1);
        let mut counts = vec![0_u32; n_classes];
        classes.iter().for_each(|class| counts[*class as usize] += 1);
        let largest = counts.iter().max()?;
        counts
            .iter()
            .position(|count| count == largest)
            .map(|class| class as u32)
    };
    let right = tests.iter().filter(|test| {
        let of_client = known().filter(|other| other.client == test.client);
        let guess = most(of_client.filter_map(|other| other.class).collect());
        let guess = guess.or_else(|| most(known().filter_map(|other| other.class).collect()));
        guess.is_some() && guess == test.class
    });
    (!tests.is_empty()).then(|| right.count() as f64 / tests.len() as f64)
}

/// The share of the `k` nearest other graphs that are of a graph's own client, and what it would be
/// if others of the same classes stood there at random; `None` where there are not so many others.
pub(super) fn same_client(distances: &Distances, subjects: &[&Subject], k: usize) -> Option<(f64, f64)> {
    let n = subjects.len();
    if k == 0 || k >= n {
        return None;
    }
    let (mut own, mut expected) = (0_u64, 0.0);
    for (u, subject) in subjects.iter().enumerate() {
        let row = &distances.values[u * n..][..n];
        let mut others: Vec<usize> = (0..n).filter(|v| *v != u).collect();
        others.sort_by(|a, b| row[*a].total_cmp(&row[*b]).then(a.cmp(b)));
        for near in &others[..k] {
            own += u64::from(subjects[*near].client == subject.client);
            let alike = || others.iter().filter(|v| subjects[**v].class == subjects[*near].class);
            let of_client = alike().filter(|v| subjects[**v].client == subject.client).count();
            expected += of_client as f64 / alike().count() as f64;
        }
    }
    let total = (n * k) as f64;
    Some((own as f64 / total, expected / total))
}

/// What a table of rows says of a graph, whatever its number of nodes: that number, and each
/// column's mean, deviation, least and largest value.
fn summary(values: &[f64], width: usize) -> Vec<f32> {
    let n = (values.len() / width) as f64;
    let mut row = vec![n as f32];
    for column in 0..width {
        let of_column = || values.iter().skip(column).step_by(width).copied();
        let mean = of_column().sum::<f64>() / n;
        let variance = of_column().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let least = of_column().fold(f64::INFINITY, f64::min);
        let most = of_column().fold(f64::NEG_INFINITY, f64::max);
        row.extend([mean, variance.sqrt(), least, most].map(|x| x as f32));
    }
    row
}

/// The places of the graphs whose clients are known, those that train, and of the others.
fn places(subjects: &[&Subject]) -> (Vec<u32>, Vec<u32>) {
    (0..subjects.len() as u32).partition(|at| subjects[*at as usize].part == Some(Part::Train))
}

/// How well `scores`, of shape `(n_asked, n_clients)`, name the clients of the graphs `asked`.
fn judged(subjects: &[&Subject], asked: &[u32], scores: &[f64], n_clients: usize) -> Linked {
    let of = |at: &u32| subjects[*at as usize];
    let clients: Vec<u32> = asked.iter().map(|at| of(at).client.0).collect();
    let first = |row: &[f64]| (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best });
    let guesses = scores.chunks_exact(n_clients).map(first);
    let right = guesses
        .zip(&clients)
        .filter(|(guess, client)| *guess == **client as usize);
    let mut classes: Vec<Option<u32>> = asked.iter().map(|at| of(at).class).collect();
    classes.sort_unstable();
    classes.dedup();
    let by_class: Vec<(Vec<u32>, Vec<f64>)> = classes
        .into_iter()
        .map(|class| {
            let rows = asked.iter().zip(scores.chunks_exact(n_clients));
            let of_class = rows.filter(|(at, _)| of(at).class == class);
            let (clients, scores): (Vec<u32>, Vec<&[f64]>) = of_class.map(|(at, row)| (of(at).client.0, row)).unzip();
            (clients, scores.concat())
        })
        .collect();
    Linked {
        top_1: right.count() as f64 / asked.len() as f64,
        auc: macro_auc(&clients, scores, n_clients),
        auc_in_class: auc_within(
            by_class
                .iter()
                .map(|(clients, scores)| (clients.clone(), scores.as_slice())),
            n_clients,
        ),
    }
}

/// How well the clients of graphs that do not train are named by who knows those of graphs that do,
/// from what each embedding holds; the attacker is chosen among `attackers` by what is known.
/// `None` without graphs of either sort, or from rows that are not finite.
pub(super) fn linked(
    rows: &[Rows],
    subjects: &[&Subject],
    n_clients: usize,
    attackers: &Attackers,
    rng: &mut SimRng,
) -> Option<Linked> {
    let (known, asked) = places(subjects);
    if known.is_empty() || asked.is_empty() {
        return None;
    }
    let table = Table::from_rows(rows.iter().map(|(values, width)| summary(values, *width)));
    let told = Known {
        rows: table.select(&known),
        labels: known.iter().map(|at| subjects[*at as usize].client.0).collect(),
        groups: (0..known.len() as u32).collect(),
    };
    let guesses = attackers.guess(&NETWORK, &told, &table.select(&asked), n_clients, rng);
    let areas: Vec<Option<f64>> = guesses.iter().map(|guess| guess.known_auc).collect();
    let chosen = guesses.get(first_best(&areas).unwrap_or(0))?;
    Some(judged(subjects, &asked, &chosen.scores, n_clients))
}

/// The same by the clients of the nearest graph that trains.
pub(super) fn linked_by_nearest(distances: &Distances, subjects: &[&Subject], n_clients: usize) -> Option<f64> {
    let (known, asked) = places(subjects);
    let nearest = |at: &u32| {
        let row = &distances.values[*at as usize * distances.n..][..distances.n];
        known
            .iter()
            .copied()
            .min_by(|a, b| row[*a as usize].total_cmp(&row[*b as usize]))
    };
    let mut scores = vec![0.0; asked.len() * n_clients];
    for (row, at) in scores.chunks_exact_mut(n_clients).zip(&asked) {
        row[subjects[nearest(at)? as usize].client.0 as usize] = 1.0;
    }
    (!asked.is_empty()).then(|| judged(subjects, &asked, &scores, n_clients).top_1)
}

/// The same by a graph's class alone, which no embedding says better: as likely as training graphs
/// of that class are each client's.
pub(super) fn linked_by_class(subjects: &[&Subject], n_clients: usize) -> Option<Linked> {
    let (known, asked) = places(subjects);
    if known.is_empty() || asked.is_empty() {
        return None;
    }
    let mut scores = vec![0.0; asked.len() * n_clients];
    for (row, at) in scores.chunks_exact_mut(n_clients).zip(&asked) {
        let alike = known.iter().map(|at| subjects[*at as usize]);
        let alike: Vec<&Subject> = alike
            .filter(|other| other.class == subjects[*at as usize].class)
            .collect();
        alike
            .iter()
            .for_each(|other| row[other.client.0 as usize] += 1.0 / alike.len() as f64);
    }
    Some(judged(subjects, &asked, &scores, n_clients))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, normal};
    use folkmoot_metrics::ClientId;

    const N_CLIENTS: usize = 4;

    /// 160 graphs of two classes; clients 0 and 1 have three of four of class 0, the others three
    /// of four of class 1.
    fn subjects() -> Vec<Subject> {
        let subject = |id: u32| {
            let (client, turn) = (id % 4, id / 4 % 4);
            Subject {
                id,
                client: ClientId(client),
                class: Some(u32::from((client < 2) == (turn == 0))),
                part: Some(match id / 16 % 3 {
                    0 => Part::Test,
                    _ => Part::Train,
                }),
            }
        };
        (0..160).map(subject).collect()
    }

    /// Rows about `centre` of a graph.
    fn rows(subjects: &[Subject], centre: impl Fn(&Subject) -> f64) -> Vec<Rows> {
        let mut rng = SimRng::seed_from_u64(3);
        let mut row = |subject: &Subject| (0..12).map(|_| centre(subject) + 0.3 * normal(&mut rng)).collect();
        subjects.iter().map(|subject| (row(subject), 2)).collect()
    }

    fn between(subjects: &[Subject], place: impl Fn(&Subject) -> f64) -> Distances {
        let pair = |u: &Subject, v: &Subject| (place(u) - place(v)).abs();
        let values = subjects.iter().flat_map(|u| subjects.iter().map(move |v| (u, v)));
        Distances {
            n: subjects.len(),
            values: values.map(|(u, v)| pair(u, v)).collect(),
            kernel: None,
        }
    }

    #[test]
    fn a_planted_client_is_found_and_a_class_is_no_client() {
        let subjects = subjects();
        let all: Vec<&Subject> = subjects.iter().collect();
        let attack = |rows: &[Rows]| {
            let mut rng = SimRng::seed_from_u64(1);
            linked(rows, &all, N_CLIENTS, &Attackers::default(), &mut rng).unwrap()
        };
        let planted = attack(&rows(&subjects, |subject| f64::from(subject.client.0)));
        assert!(planted.top_1 > 0.9, "{planted:?}");
        assert!(planted.auc_in_class.unwrap() > 0.95, "{planted:?}");
        // Whoever sees the class is above chance, as high as whoever is told it, and knows nothing
        // of the client within it.
        let by_class = linked_by_class(&all, N_CLIENTS).unwrap();
        let class_alone = attack(&rows(&subjects, |subject| 4.0 * f64::from(subject.class.unwrap())));
        assert!(
            class_alone.auc.unwrap() > 0.55 && by_class.auc.unwrap() > 0.6,
            "{class_alone:?} {by_class:?}"
        );
        assert!(class_alone.top_1 < by_class.top_1 + 0.1, "{class_alone:?} {by_class:?}");
        assert!((class_alone.auc_in_class.unwrap() - 0.5).abs() < 0.1, "{class_alone:?}");
        assert_eq!(by_class.auc_in_class, Some(0.5));
    }

    #[test]
    fn neighbours_of_one_client_are_counted_beside_those_of_one_class() {
        let subjects = subjects();
        let all: Vec<&Subject> = subjects.iter().collect();
        let of_client = between(&subjects, |subject| f64::from(subject.client.0));
        let (share, expected) = same_client(&of_client, &all, 5).unwrap();
        assert!(share == 1.0 && (0.2..0.5).contains(&expected), "{share} {expected}");
        assert_eq!(linked_by_nearest(&of_client, &all, N_CLIENTS), Some(1.0));
        // Within a class anything may be nearest.
        let shuffled = |subject: &Subject| f64::from(subject.id.wrapping_mul(2_654_435_769) >> 8) / 1e9;
        let of_class = between(&subjects, |subject| {
            10.0 * f64::from(subject.class.unwrap()) + shuffled(subject)
        });
        let (share, expected) = same_client(&of_class, &all, 5).unwrap();
        assert!((share - expected).abs() < 0.06, "{share} {expected}");
        assert!(linked_by_nearest(&of_class, &all, N_CLIENTS).unwrap() < 0.5);
        assert_eq!(same_client(&of_class, &all, 160), None);
    }

    /// Three of four graphs of a client have its class, among those that test too.
    #[test]
    fn a_client_says_the_class_of_its_graphs() {
        let subjects = subjects();
        let all: Vec<&Subject> = subjects.iter().collect();
        assert_eq!(majority_accuracy(&all), Some(0.75));
        let trained: Vec<&Subject> = all.iter().copied().filter(|s| s.part == Some(Part::Train)).collect();
        assert_eq!(majority_accuracy(&trained), None);
        // Where each client has as many of either class it says nothing.
        let even = |subject: &Subject| Subject {
            class: Some(subject.id / 4 % 2),
            ..subject.clone()
        };
        let even: Vec<Subject> = subjects.iter().map(even).collect();
        assert_eq!(majority_accuracy(&even.iter().collect::<Vec<_>>()), Some(0.5));
        // Without anybody else of its client a graph is taken for what most are.
        let alone = |at: usize| Subject {
            client: ClientId(9),
            ..subjects[at].clone()
        };
        let (zero, one) = (alone(16 * 3 + 4), alone(16 * 3));
        let two = [&[&zero, &one][..], &trained[..3]].concat();
        assert_eq!(
            (zero.class, one.class, majority_accuracy(&two)),
            (Some(0), Some(1), Some(0.5))
        );
    }
}
