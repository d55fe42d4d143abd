//! The choices that GW-LDP's parameters offer.

use folkmoot_engine::world::Breach;
use folkmoot_scores::classical::SvmGrid;
use folkmoot_similarity::gw;
use serde::{Deserialize, Serialize};

/// Which form of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// To the paper's letter.
    #[default]
    AsPrinted,
    /// As the authors' code has it, where it says anything.
    AsReleased,
    /// Mathematically sound.
    Corrected,
}

/// When embeddings are collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Collect {
    /// In the last round.
    #[default]
    AtEnd,
    /// In every so many rounds, at least 1, and in the last.
    Every(u32),
}

/// The distance of two rows of an embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowDistance {
    /// Euclidean.
    #[default]
    Euclidean,
    /// 1 less the cosine; a row of zeros has cosine 0 with every other.
    Cosine,
    /// 1 less the correlation.
    Correlation,
}

/// How a Gromov-Wasserstein problem is solved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Method {
    /// By conditional gradient from `p q'` with exact line search.
    ConditionalGradient {
        /// Go on by exchanges of two flows where no step improves a vertex. Default true.
        #[serde(default = "yes")]
        exchange: bool,
        /// The start is disturbed by this share, in 0..1. Default 0.
        #[serde(default)]
        start_jitter: f64,
        /// Disturbed starts besides, of which the best counts, 0..=1000; needs `start_jitter`. Default 0.
        #[serde(default)]
        restarts: u32,
    },
    /// With an entropy, by scaling.
    Entropic {
        /// Its weight, in 1e-6..=1e6.
        regularisation: f64,
    },
}

fn yes() -> bool {
    true
}

impl Default for Method {
    fn default() -> Self {
        Method::ConditionalGradient {
            exchange: true,
            start_jitter: 0.0,
            restarts: 0,
        }
    }
}

impl Method {
    /// The options of the conditional gradient, or the weight of the entropy.
    pub(super) fn options(self) -> Result<gw::Options, f64> {
        match self {
            Method::Entropic { regularisation } => Err(regularisation),
            Method::ConditionalGradient {
                exchange,
                start_jitter,
                restarts,
            } => Ok(gw::Options {
                exchange,
                start_jitter,
                restarts,
                ..gw::Options::default()
            }),
        }
    }

    pub(super) fn check(self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        match self {
            Method::Entropic { regularisation } if !(1e-6..=1e6).contains(&regularisation) => {
                let rule = format!("must lie in 1e-6..=1e6, got {regularisation}");
                breaches.push(("solver.regularisation".to_owned(), rule));
            }
            Method::ConditionalGradient {
                start_jitter, restarts, ..
            } => {
                if !(0.0..1.0).contains(&start_jitter) {
                    let rule = format!("must lie in 0..1, got {start_jitter}");
                    breaches.push(("solver.start_jitter".to_owned(), rule));
                }
                if restarts > 1000 || (restarts > 0 && start_jitter == 0.0) {
                    let rule = format!("must be 0 without start_jitter and at most 1000 with it, got {restarts}");
                    breaches.push(("solver.restarts".to_owned(), rule));
                }
            }
            Method::Entropic { .. } => {}
        }
        breaches
    }
}

/// What graphs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Metric {
    /// Gromov-Wasserstein of the embeddings that the server received.
    Released,
    /// The same before anything was done to them, which only whoever sees all devices could compute.
    Clean,
    /// Gromov-Wasserstein of hop counts; `n` for nodes without a path between them.
    Hops,
    /// The fused form: hop counts, and the squared distance of the network's inputs.
    Fused {
        /// The share of the hop counts, in 0..=1. Default 0.5.
        #[serde(default = "half")]
        alpha: f64,
    },
    /// The shortest-path kernel, scaled to unit diagonal.
    ShortestPaths,
    /// The number of nodes alone.
    Size,
    /// The numbers of nodes and edges.
    SizeAndEdges,
    /// The exact edit distance with unit costs, of graphs with at most 10 nodes.
    EditDistance,
}

fn half() -> f64 {
    0.5
}

impl Metric {
    /// What stands behind the `@` in names of scores; nothing for what the server computes.
    pub(super) fn label(self) -> Option<&'static str> {
        match self {
            Metric::Released => None,
            Metric::Clean => Some("clean"),
            Metric::Hops => Some("hops"),
            Metric::Fused { .. } => Some("fused"),
            Metric::ShortestPaths => Some("shortest_paths"),
            Metric::Size => Some("size"),
            Metric::SizeAndEdges => Some("size_and_edges"),
            Metric::EditDistance => Some("edit_distance"),
        }
    }

    /// The name of a score under this metric.
    pub(super) fn named(self, score: &str) -> String {
        match self.label() {
            None => score.to_owned(),
            Some(label) => format!("{score}@{label}"),
        }
    }
}

/// How the graphs are told apart by their distances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evaluation {
    /// What they are compared by. Default: `Released`, `Clean` and `Size`, the control that knows nothing else.
    pub metrics: Vec<Metric>,
    /// The classes of test graphs by a support vector machine. Default `Grid()`.
    pub svm: SvmChoice,
    /// The classes of test graphs by their nearest neighbours: how many, each 1..=1000. Default 5 and 20.
    pub neighbours: Vec<u32>,
    /// Cluster the graphs by Gromov-Wasserstein about barycentres, into as many clusters as there are classes. Default false.
    pub clusters: bool,
    /// Draw a map of the graphs by t-SNE. Default false.
    pub map: bool,
    /// How many times each graph is changed by an edge and by a node less, to see how far it moves, 0..=1000. Default 0.
    pub changes: u32,
    /// Besides, start from the plans found with noise and go on without it: whether noise helps the solver. Default false.
    pub restart: bool,
    /// Compare after every collection, not only after the last. Default false.
    pub history: bool,
    /// Keep the matrices of distances as artifacts. Default true.
    pub keep_matrices: bool,
}

impl Default for Evaluation {
    fn default() -> Self {
        Evaluation {
            metrics: vec![Metric::Released, Metric::Clean, Metric::Size],
            svm: SvmChoice::default(),
            neighbours: vec![5, 20],
            clusters: false,
            map: false,
            changes: 0,
            restart: false,
            history: false,
            keep_matrices: true,
        }
    }
}

/// A support vector machine on `exp(-gamma × distance)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SvmChoice {
    /// None.
    Off,
    /// `C` and `gamma` chosen on a grid; then trained on the graphs that train and validate.
    Grid {
        /// What is tried. Default: the paper's grid.
        #[serde(default)]
        grid: SvmGrid,
        /// By what the point is chosen. Default `Folds`.
        #[serde(default)]
        choose_by: ChooseBy,
    },
}

impl Default for SvmChoice {
    fn default() -> Self {
        SvmChoice::Grid {
            grid: SvmGrid::default(),
            choose_by: ChooseBy::default(),
        }
    }
}

/// By what a point of a grid is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChooseBy {
    /// Cross-validation among the graphs that train and validate, in the grid's number of folds.
    #[default]
    Folds,
    /// The graphs that validate.
    Validation,
}

impl Evaluation {
    pub(super) fn check(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        let mut need = |holds: bool, field: &str, rule: String| {
            if !holds {
                breaches.push((format!("evaluation.{field}"), rule));
            }
        };
        for metric in &self.metrics {
            if let Metric::Fused { alpha } = metric {
                let rule = format!("must lie in 0..=1, got {alpha}");
                need((0.0..=1.0).contains(alpha), "metrics.alpha", rule);
            }
        }
        let twice =
            |(i, metric): (usize, &Metric)| self.metrics[..i].iter().any(|other| other.label() == metric.label());
        need(
            !self.metrics.iter().enumerate().any(twice),
            "metrics",
            "must name each metric once".to_owned(),
        );
        for &k in &self.neighbours {
            let rule = format!("must lie in 1..=1000, got {k}");
            need((1..=1000).contains(&k), "neighbours", rule);
        }
        if let SvmChoice::Grid { grid, .. } = &self.svm {
            for (field, values) in [("svm.grid.c", &grid.c), ("svm.grid.gamma", &grid.gamma)] {
                let legal = !values.is_empty() && values.iter().all(|value| value.is_finite() && *value > 0.0);
                need(
                    legal,
                    field,
                    format!("must be finite numbers greater than 0, got {values:?}"),
                );
            }
            let folds = grid.n_inner_folds;
            let rule = format!("must be at least 2, got {folds}");
            need(folds >= 2, "svm.grid.n_inner_folds", rule);
            let tolerance = grid.tolerance;
            let rule = format!("must be finite and greater than 0, got {tolerance}");
            need(tolerance.is_finite() && tolerance > 0.0, "svm.grid.tolerance", rule);
            need(
                grid.max_steps > 0,
                "svm.grid.max_steps",
                "must be at least 1, got 0".to_owned(),
            );
        }
        let rule = format!("must lie in 0..=1000, got {}", self.changes);
        need(self.changes <= 1000, "changes", rule);
        breaches
    }
}
