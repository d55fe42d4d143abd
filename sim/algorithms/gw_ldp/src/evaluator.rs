//! The end of a run: distances by every metric, and what they are good for.
//!
//! | artifact | holds |
//! |---|---|
//! | `graphs.csv` | the graphs compared, in the order of all matrices: id, client, class, part, nodes, edges, round of its embedding, clusters |
//! | `distances.npy`, `distances_<metric>.npy` | `f32`, shape `(n, n)` |
//! | `map.csv`, `map_<metric>.csv` | where t-SNE puts each graph, its class and cluster |
//! | `changes.csv` | how far each graph moves with an edge or a node less |
//! | `not_scored.csv` | what could not be computed, and why |

use super::distances::{self, Distances, Rows};
use super::identity::{self, Linked};
use super::options::{Identity, Metric};
use super::sensitivity::{self, Change, Lost};
use super::subjects::{Subject, Subjects};
use super::tasks::{Labelled, SvmScore};
use super::{Embedding, GwLdp, Kept, Training};
use crate::tables::{CHANGES, GRAPHS, PLACES};
use folkmoot_classifiers::classifier::{Classifier, GraphRows, Held, Part, Score, Whole};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::Spread;
use folkmoot_metrics::npy::npy_f32;
use folkmoot_rounds::{RoundEnd, RoundEvaluator};
use folkmoot_scenarios::algorithm::Source;
use folkmoot_scores::classical::Tsne;
use folkmoot_scores::{adjusted_rand, normalised_mutual_info, silhouette};
use folkmoot_similarity::gw::{self, KMeans, Solver, Space};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

const FOLDS: Purpose = Purpose(*b"gl-folds");
const CLUSTERS: Purpose = Purpose(*b"gl-means");
const GUESS: Purpose = Purpose(*b"gl-guess");
const MAP: Purpose = Purpose(*b"gl-t-sne");

/// The perplexity of a map of many graphs; of few, a third of their number.
const PERPLEXITY: f64 = 30.0;
/// Fewer have no neighbourhoods to keep.
const LEAST_MAPPED: usize = 8;

/// The graphs that the server can compare at some time.
struct Known<'a> {
    subjects: Vec<&'a Subject>,
    embeddings: Vec<(u32, &'a Embedding)>,
}

/// Who knows all graphs.
pub(super) struct Comparison {
    held: Arc<Held>,
    /// Of a set with one graph.
    whole: Option<Whole>,
    subjects: Subjects,
    streams: Streams,
}

impl Comparison {
    /// # Errors
    ///
    /// When nobody holds a graph of `only`.
    pub(super) fn new(
        held: Arc<Held>,
        whole: Option<Whole>,
        only: &[u32],
        source: &Source<'_>,
    ) -> Result<Self, StrategyError> {
        Ok(Comparison {
            whole,
            subjects: Subjects::new(&held, source.dataset, source.partition, only)?,
            held,
            streams: source.streams,
        })
    }
}

impl RoundEvaluator<Training, GwLdp> for Comparison {
    fn after_round(&self, trainer: &Training, _: Round, parameters: &[f32], sheet: &mut Sheet) {
        Score::write(&trainer.as_ref().evaluate(&self.held, parameters), sheet);
    }

    fn scores(&self, end: &RoundEnd<'_, Training, GwLdp>, sheet: &mut Sheet) {
        let view = View {
            task: end.payload(),
            classifier: end.trainer.as_ref(),
            subjects: &self.subjects,
            held: &self.held,
            whole: self.whole.as_ref(),
            streams: self.streams,
        };
        view.conclude(end, sheet);
    }
}

/// The distance of each pair, by its graphs' numbers.
fn pairs(metric: Metric, distances: &Distances, subjects: &[&Subject], sheet: &mut Sheet) {
    for (u, first) in subjects.iter().enumerate() {
        for (v, second) in subjects.iter().enumerate().skip(u + 1) {
            let name = metric.named(&format!("distance_{}_{}", first.id, second.id));
            sheet.number(name, distances.values[u * distances.n + v]);
        }
    }
}

/// All that comparing takes.
pub(super) struct View<'a> {
    pub(super) task: &'a GwLdp,
    pub(super) classifier: &'a Classifier,
    pub(super) subjects: &'a Subjects,
    held: &'a Held,
    whole: Option<&'a Whole>,
    pub(super) streams: Streams,
}

impl View<'_> {
    /// Everything the evaluation asks for.
    fn conclude(&self, end: &RoundEnd<'_, Training, GwLdp>, sheet: &mut Sheet) {
        let classifier = self.classifier;
        Score::conclude(&classifier.evaluate(self.held, end.parameters), sheet);
        classifier.references(self.held, &[], sheet);
        if let Some(whole) = self.whole {
            whole.conclude(classifier, self.held, end.parameters, sheet);
        }
        let held = self.known(end, u32::MAX);
        let last = end.collected.rounds().last().unwrap_or_default();
        let n_stale = held.embeddings.iter().filter(|(round, _)| *round < last).count();
        sheet.number("graphs_compared", held.subjects.len() as f64);
        let n_missing = self.subjects.list().len() - held.subjects.len();
        sheet.number("graphs_missing", n_missing as f64);
        sheet.number("graphs_stale", n_stale as f64);
        for kept in (0..self.held.shards().len() as u32).filter_map(|client| end.kept(ClientId(client))) {
            for (id, why) in &kept.withheld {
                sheet.missing(&format!("graph {id}"), why);
            }
        }
        let labelled = Labelled::new(&held.subjects);
        let (mut of_spaces, mut clusters) = (Vec::new(), Vec::new());
        for &metric in &self.task.params.evaluation.metrics {
            if metric == Metric::ClientMajority {
                match identity::majority_accuracy(&held.subjects) {
                    Some(accuracy) => sheet.number(metric.named("accuracy"), accuracy),
                    None => sheet.missing(&metric.named("accuracy"), "no graph tests"),
                }
                continue;
            }
            let rows = self.rows(metric, end, &held);
            let distances = rows.and_then(|rows| Ok((self.distances(metric, rows.as_deref(), &held)?, rows)));
            match distances {
                Err(why) => sheet.missing(&metric.named("distances"), &why),
                Ok(((distances, spaces), rows)) => {
                    self.score(metric, &distances, &labelled, sheet);
                    if self.task.params.evaluation.pairs {
                        pairs(metric, &distances, &held.subjects, sheet);
                    }
                    self.identity(metric, &distances, rows.as_deref(), &held, sheet);
                    if !spaces.is_empty() {
                        let found = self.group(metric, &distances, &spaces, &held, sheet);
                        clusters.extend(found.map(|labels| (metric, labels)));
                        of_spaces.push((metric, distances, spaces));
                    }
                }
            }
        }
        self.restart(&of_spaces, sheet);
        if self.task.params.evaluation.history {
            self.history(end, sheet);
        }
        self.changes(end.parameters, sheet);
        let table = self.table(&held, &clusters);
        sheet.artifact(GRAPHS.file, table.into_bytes());
    }

    /// What the server holds by the end of a round.
    fn known<'a>(&'a self, end: &RoundEnd<'a, Training, GwLdp>, round: u32) -> Known<'a> {
        let latest: BTreeMap<u32, (u32, &Embedding)> = end.collected.by(round);
        let known = latest.into_iter().filter(|(_, (_, embedding))| embedding.n_nodes() > 0);
        let with_subject = known.filter_map(|(id, held)| Some((self.subjects.get(id)?, held)));
        let (subjects, embeddings) = with_subject.unzip();
        Known { subjects, embeddings }
    }

    /// What the network sees of the nodes of the graphs that are compared, by ascending id.
    pub(super) fn input_rows(&self) -> Vec<GraphRows> {
        let shards = self.held.shards().iter();
        let mut rows: Vec<GraphRows> = shards
            .flat_map(|shard| self.classifier.input_rows(shard))
            .filter(|rows| self.subjects.get(rows.id).is_some())
            .collect();
        rows.sort_by_key(|rows| rows.id);
        rows
    }

    /// The rows of the embeddings, as the server received them or as they were, each with their
    /// width; `None` for a metric of graphs.
    fn rows(
        &self,
        metric: Metric,
        end: &RoundEnd<'_, Training, GwLdp>,
        held: &Known<'_>,
    ) -> Result<Option<Vec<Rows>>, String> {
        match metric {
            Metric::Released => {
                let received = |(_, embedding): &(u32, &Embedding)| {
                    (self.task.params.release.received(embedding), embedding.width as usize)
                };
                Ok(Some(held.embeddings.iter().map(received).collect()))
            }
            Metric::Clean => {
                let pairs = held.subjects.iter().zip(&held.embeddings);
                let rows = |(subject, (round, _)): (&&Subject, &(u32, &Embedding))| {
                    clean(end.kept(subject.client), *round, subject.id)
                };
                let all: Option<_> = pairs.map(rows).collect();
                all.map(Some).ok_or_else(|| "a client kept nothing".to_owned())
            }
            _ => Ok(None),
        }
    }

    /// The distances under a metric, and the spaces that they are between, if these are embeddings.
    fn distances(
        &self,
        metric: Metric,
        rows: Option<&[Rows]>,
        held: &Known<'_>,
    ) -> Result<(Arc<Distances>, Vec<Space>), String> {
        let (solver, weights) = (self.task.params.solver, self.task.params.node_weights);
        let Some(rows) = rows else {
            let inputs = || self.input_rows();
            let all = distances::of_set(
                self.subjects,
                (self.task.params.inputs, &inputs),
                metric,
                (solver, weights),
            )?;
            if held.subjects.len() == all.n {
                return Ok((all, Vec::new()));
            }
            let place = |subject: &&Subject| self.subjects.list().binary_search_by_key(&subject.id, |other| other.id);
            let at: Vec<usize> = held.subjects.iter().filter_map(|subject| place(subject).ok()).collect();
            return Ok((Arc::new(all.select(&at)), Vec::new()));
        };
        let rows: Vec<(&[f64], usize)> = rows.iter().map(|(rows, width)| (&rows[..], *width)).collect();
        let spaces = distances::spaces(rows, self.task.params.distance).map_err(|error| error.to_string())?;
        let known = spaces.into_iter().zip(&held.embeddings);
        let weighed = known.map(|(space, (_, embedding))| distances::weighed(space, embedding.degrees.as_deref()));
        let spaces: Vec<Space> = weighed.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok((Arc::new(distances::of_spaces(&spaces, solver)?), spaces))
    }

    /// Whether distances, and the rows they are of, tell which client a graph is of.
    fn identity(
        &self,
        metric: Metric,
        distances: &Distances,
        rows: Option<&[Rows]>,
        held: &Known<'_>,
        sheet: &mut Sheet,
    ) {
        let Identity::Linked { attackers } = &self.task.params.evaluation.identity else {
            return;
        };
        let (subjects, n_clients) = (&held.subjects[..], self.held.shards().len());
        for &k in &self.task.params.evaluation.neighbours {
            let name = metric.named(&format!("same_client{k}"));
            match identity::same_client(distances, subjects, k as usize) {
                None => sheet.missing(&name, "there are not so many other graphs"),
                Some((share, by_class)) => {
                    sheet.number(&name, share);
                    sheet.number(metric.named(&format!("same_client{k}_by_class")), by_class);
                }
            }
        }
        let (Some(nearest), Some(by_class)) = (
            identity::linked_by_nearest(distances, subjects, n_clients),
            identity::linked_by_class(subjects, n_clients),
        ) else {
            return sheet.missing(&metric.named("link_top_1"), "no graph trains, or none does not");
        };
        sheet.number(metric.named("link_nearest_top_1"), nearest);
        let mut put = |suffix: &str, linked: Linked| {
            sheet.number(metric.named(&format!("link_top_1{suffix}")), linked.top_1);
            for (name, area) in [("link_auc", linked.auc), ("link_auc_in_class", linked.auc_in_class)] {
                if let Some(area) = area {
                    sheet.number(metric.named(&format!("{name}{suffix}")), area);
                }
            }
        };
        put("_by_class", by_class);
        let mut rng = self.streams.global(GUESS);
        if let Some(linked) = rows.and_then(|rows| identity::linked(rows, subjects, n_clients, attackers, &mut rng)) {
            put("", linked);
        }
    }

    /// Means, neighbours and the support vector machine.
    fn score(&self, metric: Metric, distances: &Distances, labelled: &Labelled, sheet: &mut Sheet) {
        let evaluation = &self.task.params.evaluation;
        if let Some((mean, std)) = distances.moments() {
            sheet.number(metric.named("mean_distance"), mean);
            sheet.number(metric.named("std_distance"), std);
        }
        if evaluation.keep_matrices {
            let values: Vec<f32> = distances.values.iter().map(|value| *value as f32).collect();
            sheet.artifact(
                format!("distances{}.npy", suffix(metric)),
                npy_f32(&values, &[distances.n, distances.n]),
            );
        }
        if labelled.test.is_empty() {
            return;
        }
        for &k in &evaluation.neighbours {
            let name = metric.named(&format!("knn{k}_accuracy"));
            match labelled.by_neighbours(distances, k as usize) {
                Ok(accuracy) => sheet.number(name, accuracy),
                Err(why) => sheet.missing(&name, &why),
            }
        }
        // Every metric meets the same folds.
        let mut folds = self.streams.global(FOLDS);
        match labelled.by_svm(distances, &evaluation.svm, &mut folds) {
            None => {}
            Some(Err(why)) => sheet.missing(&metric.named("svm_accuracy"), &why),
            Some(Ok(SvmScore {
                accuracy,
                c,
                gamma,
                n_stopped,
            })) => {
                sheet.number(metric.named("svm_accuracy"), accuracy);
                sheet.number(metric.named("svm_c"), c);
                if distances.kernel.is_none() {
                    sheet.number(metric.named("svm_gamma"), gamma);
                }
                sheet.number(metric.named("svm_fits_stopped"), f64::from(n_stopped));
            }
        }
    }

    /// Clusters about barycentres, which it returns, and the map.
    fn group(
        &self,
        metric: Metric,
        distances: &Distances,
        spaces: &[Space],
        held: &Known<'_>,
        sheet: &mut Sheet,
    ) -> Option<Vec<u32>> {
        let evaluation = &self.task.params.evaluation;
        // Some graphs may have no class: Citeseer has nodes without a label.
        let (labelled, classes): (Vec<usize>, Vec<u32>) = held
            .subjects
            .iter()
            .enumerate()
            .filter_map(|(at, subject)| Some((at, subject.class?)))
            .unzip();
        let n_classes = self.subjects.dataset().n_classes;
        let mut labels = None;
        if evaluation.clusters {
            let mut settings = KMeans::new(n_classes);
            settings.alternation.options = self.task.params.solver.options().unwrap_or_default();
            match gw::k_means(spaces, &settings, &mut self.streams.global(CLUSTERS)) {
                Err(error) => sheet.missing(&metric.named("clusters"), &error.to_string()),
                Ok(clusters) => {
                    let roots: Vec<f64> = distances.values.iter().map(|value| value.max(0.0).sqrt()).collect();
                    if !labelled.is_empty() {
                        let found: Vec<u32> = labelled.iter().map(|&at| clusters.labels[at]).collect();
                        let between = labelled.iter().flat_map(|&u| labelled.iter().map(move |&v| (u, v)));
                        let between: Vec<f64> = between.map(|(u, v)| roots[u * distances.n + v]).collect();
                        put_score(sheet, metric.named("ari"), adjusted_rand(&found, &classes));
                        put_score(sheet, metric.named("nmi"), normalised_mutual_info(&found, &classes));
                        put_score(
                            sheet,
                            metric.named("silhouette_classes"),
                            silhouette(&between, &classes),
                        );
                    }
                    put_score(
                        sheet,
                        metric.named("silhouette_clusters"),
                        silhouette(&roots, &clusters.labels),
                    );
                    sheet.number(metric.named("cluster_rounds"), f64::from(clusters.n_rounds));
                    labels = Some(clusters.labels);
                }
            }
        }
        if evaluation.map {
            self.map(metric, distances, held, labels.as_deref(), sheet);
        }
        labels
    }

    fn map(
        &self,
        metric: Metric,
        distances: &Distances,
        held: &Known<'_>,
        clusters: Option<&[u32]>,
        sheet: &mut Sheet,
    ) {
        let n = distances.n;
        if n < LEAST_MAPPED {
            let why = format!("a map takes {LEAST_MAPPED} graphs or more, got {n}");
            return sheet.missing(&metric.named("map"), &why);
        }
        let tsne = Tsne {
            perplexity: PERPLEXITY.min((n - 1) as f64 / 3.0),
            ..Tsne::default()
        };
        // Rounding may leave a value of equal graphs a little below 0.
        let squared: Vec<f64> = distances.values.iter().map(|value| value.max(0.0)).collect();
        match tsne.fit(&squared, n, &mut self.streams.global(MAP)) {
            Err(error) => sheet.missing(&metric.named("map"), &error.to_string()),
            Ok(map) => {
                let mut table = PLACES.header(&[]);
                for (i, (subject, place)) in held.subjects.iter().zip(map.places.chunks_exact(2)).enumerate() {
                    let cluster = clusters.map(|clusters| clusters[i]);
                    let (class, cluster) = (optional(subject.class), optional(cluster));
                    let _ = writeln!(table, "{},{class},{cluster},{},{}", subject.id, place[0], place[1]);
                }
                sheet.number(metric.named("map_divergence"), map.divergence);
                sheet.artifact(PLACES.file.replace('*', &suffix(metric)), table.into_bytes());
            }
        }
    }

    /// Whether noise helps the solver: the values without noise, from the plans that were best with
    /// it.
    fn restart(&self, of_spaces: &[(Metric, Arc<Distances>, Vec<Space>)], sheet: &mut Sheet) {
        let find = |metric: Metric| {
            of_spaces
                .iter()
                .find(|(of, ..)| *of == metric)
                .map(|(.., spaces)| spaces)
        };
        let (true, Some(noisy), Some(clean), Ok(options)) = (
            self.task.params.evaluation.restart,
            find(Metric::Released),
            find(Metric::Clean),
            self.task.params.solver.options(),
        ) else {
            return;
        };
        let n = clean.len();
        let pairs: Vec<(usize, usize)> = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect();
        let value = |solver: &mut Solver, &(u, v): &(usize, usize)| {
            let plan = solver.couple(&noisy[u], &noisy[v]).plan;
            solver.value_from(&clean[u], &clean[v], &plan).unwrap_or(f64::NAN)
        };
        let solver = || Solver::new(options).expect("the options were checked");
        let values: Vec<f64> = pairs.par_iter().map_init(solver, value).collect();
        if !values.is_empty() {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            sheet.reference("mean_distance", "restarted", mean);
        }
    }

    /// What the server could have told after every collection.
    fn history(&self, end: &RoundEnd<'_, Training, GwLdp>, sheet: &mut Sheet) {
        for round in end.collected.rounds() {
            let held = self.known(end, round);
            let rows = self.rows(Metric::Released, end, &held).ok().flatten();
            let Ok((distances, _)) = self.distances(Metric::Released, rows.as_deref(), &held) else {
                continue;
            };
            let mut at = Sheet::new();
            self.score(Metric::Released, &distances, &Labelled::new(&held.subjects), &mut at);
            for (name, value) in at.take_summary() {
                sheet.point(&name, ("round", round), value);
            }
        }
    }

    fn changes(&self, parameters: &[f32], sheet: &mut Sheet) {
        let n_times = self.task.params.evaluation.changes;
        if n_times == 0 {
            return;
        }
        let changes = match sensitivity::measure(self, parameters, n_times) {
            Ok(changes) => changes,
            Err(why) => return sheet.missing("changes", &why),
        };
        let mut table = CHANGES.header(&[]);
        for Change {
            id,
            lost,
            hops,
            embedding,
        } in &changes
        {
            let _ = writeln!(table, "{id},{},{hops},{embedding}", lost.name());
        }
        for lost in [Lost::Edge, Lost::Node] {
            for (metric, value) in [
                (Metric::Clean, (|change| change.embedding) as fn(&Change) -> f64),
                (Metric::Hops, |change| change.hops),
            ] {
                let values: Vec<f64> = changes.iter().filter(|change| change.lost == lost).map(value).collect();
                let name = metric.named(&format!("mean_change_{}", lost.name()));
                if values.is_empty() {
                    sheet.missing(
                        &name,
                        &format!("no graph has {} {} to spare", lost.article(), lost.name()),
                    );
                    continue;
                }
                let spread = Spread::of(&values);
                sheet.number(name, spread.mean);
                sheet.number(
                    metric.named(&format!("std_change_{}", lost.name())),
                    spread.population_std(),
                );
            }
        }
        sheet.artifact(CHANGES.file, table.into_bytes());
    }

    fn table(&self, held: &Known<'_>, clusters: &[(Metric, Vec<u32>)]) -> String {
        let names = clusters.iter().map(|(metric, _)| format!("cluster{}", suffix(*metric)));
        let mut table = GRAPHS.header(&names.collect::<Vec<_>>());
        for (i, (subject, (round, _))) in held.subjects.iter().zip(&held.embeddings).enumerate() {
            let graph = self.subjects.graph(subject.id);
            let part = match subject.part {
                Some(Part::Train) => "train",
                Some(Part::Validation) => "validation",
                Some(Part::Test) => "test",
                None => "",
            };
            let (n_nodes, n_edges) = (graph.n_nodes(), graph.n_edges());
            let (id, client, class) = (subject.id, subject.client.0, optional(subject.class));
            let _ = write!(table, "{id},{client},{class},{part},{n_nodes},{n_edges},{round}");
            for (_, labels) in clusters {
                let _ = write!(table, ",{}", labels[i]);
            }
            table.push('\n');
        }
        table
    }
}

fn put_score<E>(sheet: &mut Sheet, name: String, score: Result<f64, E>)
where
    E: std::fmt::Display,
{
    match score {
        Ok(value) => sheet.number(name, value),
        Err(why) => sheet.missing(&name, &why.to_string()),
    }
}

fn optional(value: Option<u32>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// What stands behind the name of a file or column that is of a metric.
fn suffix(metric: Metric) -> String {
    metric.label().map_or_else(String::new, |label| format!("_{label}"))
}

/// A graph's rows as its client kept them in the round of the embedding that the server holds.
fn clean(kept: Option<&Kept>, round: u32, id: u32) -> Option<Rows> {
    let rows = kept?.rounds.get(&round)?;
    let at = rows.binary_search_by_key(&id, |rows| rows.id).ok()?;
    let values = rows[at].values.iter().map(|value| f64::from(*value)).collect();
    Some((values, rows[at].width as usize))
}
