//! Views: a graph's table of pairs with Laplace noise, or without some of its edges, as the matrix
//! that the encoder propagates with.

use super::Params;
use super::data::Item;
use super::options::{DegreeRule, Draws};
use folkmoot_classifiers::classifier::graph_layers::Propagation;
use folkmoot_draws::{SimRng, bernoulli};
use folkmoot_learning::normalise_dense;
use folkmoot_privacy::{Laplace, Law, Mechanism, NoiseForm, NoisyCounts, PrivacyCost, ReleaseError, Values};

/// Laplace noise on a graph's table of pairs, of shape `(n_nodes, n_nodes)`; its diagonal is 0.
pub(super) struct NoisyTable {
    pub(super) law: Laplace,
    draws: Draws,
    /// What one view costs: with `PerEntry` an edge shows in two values.
    budget: NoisyCounts,
}

impl Mechanism for NoisyTable {
    type Input = Item;
    type Release = Vec<f32>;

    /// One draw for each pair of nodes, row by row; with `PerEntry` two, that of (u, v) with u < v
    /// before that of (v, u).
    fn release_in(&self, form: NoiseForm, item: &Item, rng: &mut SimRng) -> Result<Vec<f32>, ReleaseError> {
        let mut table = Vec::new();
        self.release_into(form, item, rng, &mut table)?;
        Ok(table)
    }

    fn release_into(
        &self,
        form: NoiseForm,
        item: &Item,
        rng: &mut SimRng,
        table: &mut Vec<f32>,
    ) -> Result<(), ReleaseError> {
        let n = item.n_nodes;
        let noise = self.law.noise(form, Values::Whole)?;
        fill(item, |_| true, table);
        for u in 0..n {
            for v in u + 1..n {
                let joined = f64::from(table[u * n + v]);
                table[u * n + v] = noise.add(joined, rng) as f32;
                table[v * n + u] = match self.draws {
                    Draws::Symmetric => table[u * n + v],
                    Draws::PerEntry => noise.add(joined, rng) as f32,
                };
            }
        }
        Ok(())
    }

    fn cost(&self) -> PrivacyCost {
        self.budget.cost()
    }

    fn law(&self) -> Law {
        self.budget.law()
    }
}

/// The table of a graph with those of its edges that `keeps` takes.
fn fill(item: &Item, mut keeps: impl FnMut((u32, u32)) -> bool, table: &mut Vec<f32>) {
    let n = item.n_nodes;
    table.clear();
    table.resize(n * n, 0.0);
    for &(u, v) in &item.edges {
        if keeps((u, v)) {
            table[u as usize * n + v as usize] = 1.0;
            table[v as usize * n + u as usize] = 1.0;
        }
    }
}

/// How views are made.
pub(super) struct Noise {
    /// The mechanism of the first view, and of the second if there is one. None where edges are
    /// dropped, which protects nothing.
    pub(super) tables: Vec<NoisyTable>,
    /// The share of edges that a view loses.
    dropped: f64,
    rule: DegreeRule,
    self_loops: Option<bool>,
}

impl Noise {
    /// Of the settings; `None` if views are graphs as they are.
    pub(super) fn new(params: &Params) -> Option<Noise> {
        let epsilons = params.setting.epsilons();
        let (draws, drops_edges) = (params.draws, params.drops_edges());
        let times = match draws {
            Draws::Symmetric => 1.0,
            Draws::PerEntry => 2.0,
        };
        let table = |epsilon: &f64| NoisyTable {
            law: Laplace::for_epsilon(*epsilon, 1.0).expect("budgets are checked beforehand"),
            budget: NoisyCounts::new(times * epsilon, 1.0, "one edge").expect("budgets are checked beforehand"),
            draws,
        };
        (!epsilons.is_empty() || drops_edges).then(|| Noise {
            tables: epsilons.iter().map(table).collect(),
            dropped: if drops_edges { params.contrast.drop_edges } else { 0.0 },
            rule: params.degree_rule,
            self_loops: self_loops(params.model.encoder.propagation()),
        })
    }

    /// A graph that has lost some of its edges, as the matrix to propagate with.
    pub(super) fn drop_edges(&self, item: &Item, rng: &mut SimRng, matrix: &mut Vec<f32>, degrees: &mut Vec<f32>) {
        fill(item, |_| !bernoulli(rng, self.dropped), matrix);
        self.prepare(item.n_nodes, matrix, degrees);
    }

    /// Makes of a noisy table the matrix to propagate with. `degrees` takes what it is divided by,
    /// if anything.
    pub(super) fn prepare(&self, n: usize, table: &mut [f32], degrees: &mut Vec<f32>) {
        propagation(self.self_loops, self.rule, n, table, degrees);
    }

    /// A view for evaluation alone, in floating point; it is not charged. Where edges are dropped, the
    /// graph as it is.
    pub(super) fn look(
        &self,
        view: usize,
        item: &Item,
        rng: &mut SimRng,
        table: &mut Vec<f32>,
        degrees: &mut Vec<f32>,
    ) {
        match self.tables.get(view) {
            Some(mechanism) => mechanism
                .release_into(NoiseForm::Float, item, rng, table)
                .expect("every table has noise"),
            None => fill(item, |_| true, table),
        }
        self.prepare(item.n_nodes, table, degrees);
    }

    /// The degrees of a noisy table as it is, of which many are not positive; `None` where the
    /// encoder divides by none.
    pub(super) fn raw_degrees(&self, n: usize, mut table: Vec<f32>) -> Option<Vec<f32>> {
        let self_loops = self.self_loops?;
        let mut degrees = Vec::new();
        propagation(Some(self_loops), DegreeRule::Masked, n, &mut table, &mut degrees);
        Some(degrees)
    }
}

/// Whether a matrix of weights is divided by degrees, and if so whether nodes are joined to
/// themselves.
fn self_loops(propagation: Propagation) -> Option<bool> {
    match propagation {
        Propagation::Normalised { self_loops } => Some(self_loops),
        _ => None,
    }
}

/// Makes of a table of weights, of shape `(n, n)`, what graph layers multiply with, by `rule`.
///
/// # Panics
///
/// If the table has another length.
pub fn propagation_matrix(layers: Propagation, rule: DegreeRule, n: usize, table: &mut [f32]) {
    propagation(self_loops(layers), rule, n, table, &mut Vec::new());
}

fn propagation(self_loops: Option<bool>, rule: DegreeRule, n: usize, table: &mut [f32], degrees: &mut Vec<f32>) {
    table.iter_mut().for_each(|weight| *weight = rule.repair(*weight));
    match self_loops {
        Some(self_loops) => normalise_dense(table, n, self_loops, rule.degrees(), degrees),
        None => degrees.clear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use folkmoot_classifiers::classifier::graph_layers::{Gcn, GraphConv, GraphLayers, Tag};
    use folkmoot_draws::{Purpose, Streams};
    use folkmoot_learning::Csr;
    use folkmoot_parts::Chosen;

    fn path(n: u32) -> Item {
        Item {
            n_nodes: n as usize,
            edges: (1..n).map(|v| (v - 1, v)).collect(),
            matrix: Csr::from_arcs(n, &[], None).unwrap(),
            features: Vec::new(),
        }
    }

    fn table(epsilon: f64, draws: Draws) -> Vec<f32> {
        let noise = Noise::new(&Params {
            setting: Setting::Noise { epsilon },
            draws,
            ..Params::default()
        })
        .unwrap();
        let (mut rng, mut table) = (Streams::new(1).global(Purpose(*b"testtest")), Vec::new());
        noise.tables[0]
            .release_into(NoiseForm::Discrete, &path(30), &mut rng, &mut table)
            .unwrap();
        table
    }

    /// Of 29 edges at a share of 0.4 some 11.6 go, with a deviation of 2.6; those that stay are
    /// joined both ways, and nothing else is.
    #[test]
    fn a_view_loses_its_share_of_edges_and_gains_none() {
        let mut params = Params {
            setting: Setting::FgclWithoutNoise,
            ..Params::default()
        };
        assert!(Noise::new(&params).is_none());
        params.contrast.drop_edges = 0.4;
        params.model.encoder = Chosen::new(GraphConv {});
        let noise = Noise::new(&params).unwrap();
        let (mut rng, mut matrix) = (Streams::new(1).global(Purpose(*b"testtest")), Vec::new());
        let mut n_left = 0.0;
        for _ in 0..100 {
            noise.drop_edges(&path(30), &mut rng, &mut matrix, &mut Vec::new());
            for (at, weight) in matrix.iter().enumerate() {
                let (u, v) = (at / 30, at % 30);
                assert_eq!(*weight, matrix[v * 30 + u]);
                assert!(*weight == 0.0 || (*weight == 1.0 && u.abs_diff(v) == 1));
                n_left += weight / 2.0;
            }
        }
        assert!((n_left - 2_900.0 * 0.6f32).abs() < 4.0 * 26.4, "{n_left}");
        noise.look(0, &path(30), &mut rng, &mut matrix, &mut Vec::new());
        assert_eq!(matrix.iter().sum::<f32>(), 58.0);
    }

    #[test]
    fn a_pair_has_one_draw_or_two_and_the_diagonal_none() {
        for draws in [Draws::Symmetric, Draws::PerEntry] {
            let table = table(1.0, draws);
            assert!((0..30).all(|u| table[u * 31] == 0.0));
            let mirrored = (0..30).all(|u| (0..30).all(|v| table[u * 30 + v] == table[v * 30 + u]));
            assert_eq!(mirrored, draws == Draws::Symmetric);
        }
    }

    /// The mean of |noise| is 1 / epsilon; within 4 standard errors over 435 pairs, whose |noise|
    /// has the deviation 1 / epsilon.
    #[test]
    fn noise_has_the_scale_of_its_budget() {
        for epsilon in [0.1, 1.0, 100.0] {
            let table = table(epsilon, Draws::Symmetric);
            let noise = |u: usize, v: usize| f64::from(table[u * 30 + v]) - if v == u + 1 { 1.0 } else { 0.0 };
            let sizes = (0..30)
                .flat_map(|u| (u + 1..30).map(move |v| (u, v)))
                .map(|(u, v)| noise(u, v).abs());
            let mean = sizes.sum::<f64>() / 435.0;
            assert!((mean * epsilon - 1.0).abs() < 4.0 / 435f64.sqrt(), "{epsilon}: {mean}");
        }
    }

    #[test]
    fn rules_repair_weights_as_they_say() {
        let weights = [0.0, -2.0, 3.0, -2.0, 0.0, 0.5, 3.0, 0.5, 0.0];
        let made = |layers: Chosen<dyn GraphLayers>, rule| {
            let mut table = weights;
            propagation_matrix(layers.propagation(), rule, 3, &mut table);
            table
        };
        // k-GNN takes the weights, repaired or not.
        assert_eq!(made(Chosen::new(GraphConv {}), DegreeRule::Abs), weights);
        assert_eq!(
            made(Chosen::new(GraphConv {}), DegreeRule::Clamp01),
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 1.0, 0.5, 0.0]
        );
        assert_eq!(
            made(Chosen::new(GraphConv {}), DegreeRule::Relu),
            [0.0, 0.0, 3.0, 0.0, 0.0, 0.5, 3.0, 0.5, 0.0]
        );
        // GCN: degrees 2, -0.5 and 4.5, and the second has the factor 0. TAG: 1, -1.5 and 3.5.
        let masked = made(Chosen::new(Gcn {}), DegreeRule::Masked);
        assert_eq!([masked[1], masked[4], masked[5]], [0.0; 3]);
        assert!((masked[2] - 3.0 / 9f32.sqrt()).abs() < 1e-6 && (masked[0] - 0.5).abs() < 1e-6);
        let tag = made(Chosen::new(Tag { hops: 3 }), DegreeRule::Masked);
        assert!((tag[2] - 3.0 / 3.5f32.sqrt()).abs() < 1e-6 && tag[0] == 0.0);
        // Sizes: 1 + 5, 1 + 2.5, 1 + 3.5.
        let sizes = made(Chosen::new(Gcn {}), DegreeRule::Abs);
        assert!((sizes[1] + 2.0 / 21f32.sqrt()).abs() < 1e-6 && (sizes[8] - 1.0 / 4.5).abs() < 1e-6);
    }
}
