//! Linkage: which messages are of one graph, and which graph of a public corpus they are of.
//!
//! Every device holds the model, so whoever reads a message can make those of any graph at hand and
//! look for the nearest, by the cosine. Nothing is learned from labels, and no property is known.

use super::messages::Seen;
use crate::options::Intercept;
use crate::pairs::Observed;
use crate::view::View;
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;
use folkmoot_learning::{Layout, Tape};
use folkmoot_scores::inference::Table;

/// How a search has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Search {
    /// The share of queries whose nearest entry is one that is looked for.
    pub(super) top_1: f64,
    /// The mean over queries of one over the rank of the first such entry.
    pub(super) mrr: f64,
    /// The first of these for whoever picks an entry at random.
    pub(super) chance: f64,
    /// Queries with an entry that is looked for.
    pub(super) n_queries: u64,
}

/// What an entry of the corpus is to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// It is looked for.
    Wanted,
    Other,
    /// It is not in the corpus of this query.
    Absent,
}

/// Searches a corpus for every query, by the cosine; equally near entries come in a random order,
/// over which this is the expectation. `None` where no query has an entry that is looked for.
pub(super) fn search(queries: &Table, corpus: &Table, entry: impl Fn(usize, usize) -> Entry) -> Option<Search> {
    let [near, corpus] = [queries, corpus].map(unit_rows);
    let cosines: Vec<f32> = Tape::with_own(|tape| {
        tape.load(&Layout::new(), &[]);
        let [a, b] = [&near, &corpus].map(|table| tape.input(table.n_rows(), table.width(), table.values()));
        let cosines = tape.matmul_transposed(a, b);
        tape.value(cosines).to_vec()
    });
    let (mut first, mut reciprocal, mut chance, mut n_queries) = (0.0, 0.0, 0.0, 0_u64);
    for (query, row) in cosines.chunks_exact(corpus.n_rows().max(1)).enumerate() {
        let entries: Vec<Entry> = (0..row.len()).map(|at| entry(query, at)).collect();
        let of = |kind: Entry| {
            row.iter()
                .zip(&entries)
                .filter(move |(_, entry)| **entry == kind)
                .map(|(x, _)| *x)
        };
        let Some(best) = of(Entry::Wanted).max_by(f32::total_cmp) else {
            continue;
        };
        let better = of(Entry::Other).filter(|x| *x > best).count();
        let [wanted, others] = [Entry::Wanted, Entry::Other].map(|kind| of(kind).filter(|x| *x == best).count() as f64);
        // Among those equally near, the first that is looked for is at each place with this chance.
        let mut none_before = 1.0;
        for place in 0..=others as usize {
            let left = others - place as f64;
            let here = none_before * wanted / (wanted + left);
            reciprocal += here / (better + place + 1) as f64;
            if better + place == 0 {
                first += here;
            }
            none_before -= here;
        }
        let looked_for = of(Entry::Wanted).count() as f64;
        chance += looked_for / (looked_for + of(Entry::Other).count() as f64);
        n_queries += 1;
    }
    let mean = |sum: f64| sum / n_queries as f64;
    (n_queries > 0).then(|| Search {
        top_1: mean(first),
        mrr: mean(reciprocal),
        chance: mean(chance),
        n_queries,
    })
}

fn unit_rows(table: &Table) -> Table {
    let unit = |row: &[f32]| -> Vec<f32> {
        let square: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        let factor = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
        row.iter().map(|x| (f64::from(*x) * factor) as f32).collect()
    };
    Table::from_rows(table.rows().map(unit))
}

/// Links messages of two matches of a graph that validates or tests, and finds other graphs of its
/// class among all graphs; beside them what a model before training would give away so, and a guess
/// at random.
pub(super) fn measure(view: &View<'_>, parameters: &[f32], sheet: &mut Sheet) {
    let initial = view.ppgm.initial(|purpose| view.streams.global(purpose));
    for (parameters, untrained) in [(parameters, false), (initial.as_slice(), true)] {
        for (name, found) in searches(view, parameters) {
            let Some(found) = found else {
                sheet.missing(
                    &format!("{name}_top_1"),
                    "no graph has another of its class to be found",
                );
                continue;
            };
            for (measure, value) in [("top_1", found.top_1), ("mrr", found.mrr)] {
                let name = format!("{name}_{measure}");
                match untrained {
                    true => sheet.reference(&name, "untrained", value),
                    false => sheet.number(&name, value),
                }
            }
            if !untrained {
                sheet.reference(format!("{name}_top_1"), "chance", found.chance);
                sheet.number(format!("{name}_queries"), found.n_queries as f64);
            }
        }
    }
}

/// The searches that a model's messages allow, by their names.
fn searches(view: &View<'_>, parameters: &[f32]) -> Vec<(String, Option<Search>)> {
    let (data, deployed) = (view.data, view.ppgm.deployed(parameters, view.streams));
    let read = |_: &Pair, seen: Observed<'_>| Seen::new(deployed.matcher, &seen);
    let asked = [data.validation.clone(), data.test.clone()].concat();
    let seen = deployed.observe(&data.inputs, &asked, read);
    // What whoever has a graph makes of it: a match with itself.
    let alone = |graph: u32| Pair {
        first: graph,
        second: graph,
        matches: true,
    };
    let corpus: Vec<Pair> = (0..data.inputs.len() as u32).map(alone).collect();
    let corpus = deployed.observe(&data.inputs, &corpus, read);
    let graph = |query: usize| asked[2 * query].first as usize;
    let rows = |seen: &[Seen], intercept, from: usize, step: usize| {
        Table::from_rows(
            seen.iter()
                .skip(from)
                .step_by(step)
                .map(|seen| seen.view(intercept, false)),
        )
    };
    let views = [("g", Intercept::AllG), ("o", Intercept::O)];
    let allowed = views.iter().filter(|(_, intercept)| {
        let exchanges = deployed.matcher.n_exchanges() > 0;
        Intercept::allowed(exchanges).any(|allowed| allowed == *intercept)
    });
    let mut found = Vec::new();
    for (name, intercept) in allowed {
        let queries = rows(&seen, *intercept, 0, 2);
        let again = rows(&seen, *intercept, 1, 2);
        let same_graph = |query: usize, at: usize| match graph(query) == graph(at) {
            true => Entry::Wanted,
            false => Entry::Other,
        };
        let same_class = |query: usize, at: usize| match graph(query) {
            own if own == at => Entry::Absent,
            own if data.classes[own] == data.classes[at] => Entry::Wanted,
            _ => Entry::Other,
        };
        found.push((format!("link_{name}"), search(&queries, &again, same_graph)));
        found.push((
            format!("find_{name}"),
            search(&queries, &rows(&corpus, *intercept, 0, 1), same_class),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{SeedableRng, SimRng, normal};

    fn noise(n: usize, width: usize, seed: u64) -> Vec<Vec<f32>> {
        let mut rng = SimRng::seed_from_u64(seed);
        (0..n)
            .map(|_| (0..width).map(|_| normal(&mut rng) as f32).collect())
            .collect()
    }

    fn same(query: usize, at: usize) -> Entry {
        if query == at { Entry::Wanted } else { Entry::Other }
    }

    /// Rows that are the same up to a factor are found; rows that have nothing to do with each
    /// other are found by chance: one in a hundred, within 4 standard errors of a hundred queries.
    #[test]
    fn what_is_sent_again_is_found_and_what_is_not_is_not() {
        let rows = noise(100, 8, 1);
        let queries = Table::from_rows(&rows);
        let louder = Table::from_rows(rows.iter().map(|row| row.iter().map(|x| 3.0 * x).collect::<Vec<f32>>()));
        let found = search(&queries, &louder, same).unwrap();
        assert_eq!((found.top_1, found.mrr, found.n_queries), (1.0, 1.0, 100));
        let others = search(&queries, &Table::from_rows(noise(100, 8, 2)), same).unwrap();
        assert!(others.top_1 <= 0.05 && others.mrr < 0.12, "{others:?}");
        assert!((others.chance - 0.01).abs() < 1e-12);
    }

    /// One of three equal entries is looked for: it is first by a third, and its rank is 1, 2 or 3.
    #[test]
    fn equal_entries_share_their_ranks() {
        let queries = Table::from_rows([[1.0, 0.0]]);
        let corpus = Table::from_rows([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 1.0], [5.0, 0.0]]);
        let entry = |_: usize, at: usize| match at {
            1 => Entry::Wanted,
            4 => Entry::Absent,
            _ => Entry::Other,
        };
        let found = search(&queries, &corpus, entry).unwrap();
        assert!((found.top_1 - 1.0 / 3.0).abs() < 1e-12);
        assert!((found.mrr - (1.0 + 0.5 + 1.0 / 3.0) / 3.0).abs() < 1e-12);
        assert_eq!(found.chance, 0.25);
        assert_eq!(search(&queries, &corpus, |_, _| Entry::Other), None);
    }
}
