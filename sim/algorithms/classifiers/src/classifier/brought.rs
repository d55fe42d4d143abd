//! What nodes bring of a data set.

use super::Inputs;
use super::data::refuse;
use folkmoot_engine::prelude::StrategyError;
use folkmoot_graphs::{Dataset, Features, Graph};
use folkmoot_rounds::packed::first_not_finite;

/// What a node brings of a data set: looked up once, and read for each graph.
pub struct Brought<'a> {
    inputs: Inputs,
    /// What is read, with its columns; `None` where inputs are made from the graph.
    features: Option<(&'a Features, Vec<usize>)>,
    n_features: usize,
}

impl<'a> Brought<'a> {
    /// What `inputs` takes of a data set.
    pub fn new(inputs: Inputs, dataset: &'a Dataset) -> Result<Brought<'a>, StrategyError> {
        let made = |n_features| Brought {
            inputs,
            features: None,
            n_features,
        };
        match inputs {
            Inputs::Degree { most } => return Ok(made(most as usize + 1)),
            Inputs::Constant => return Ok(made(1)),
            Inputs::Structured { .. } if dataset.features.is_none() => return Ok(made(1 + inputs.n_structural())),
            Inputs::Features
            | Inputs::RowNormalised
            | Inputs::Intrinsic
            | Inputs::FeaturesOrDegree { .. }
            | Inputs::Structured { .. } => {}
        }
        let Some(features) = &dataset.features else {
            return refuse("the data set has no features; set inputs: Degree() or Constant");
        };
        if features.n_rows() != dataset.n_nodes() {
            return refuse(format!(
                "the data set has features for {} nodes and {} nodes",
                features.n_rows(),
                dataset.n_nodes()
            ));
        }
        let is_structural = |column: &usize| {
            let mut ranges = dataset.structural_columns.iter();
            ranges.any(|range| range.contains(&(*column as u32)))
        };
        let is_left_out = |column: &usize| inputs == Inputs::Intrinsic && is_structural(column);
        let columns: Vec<usize> = (0..features.n_columns())
            .filter(|column| !is_left_out(column))
            .collect();
        if columns.is_empty() {
            return refuse(
                "the data set's features have no column that is asked for; set inputs: Degree() or Constant",
            );
        }
        Ok(Brought {
            inputs,
            n_features: columns.len() + inputs.n_structural(),
            features: Some((features, columns)),
        })
    }

    /// How many numbers a node brings.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// What the nodes of `graph`, which are the rows `rows` of the data set, bring: shape
    /// `(n_nodes, n_features)`.
    pub fn of(&self, graph: &Graph, rows: &[u32]) -> Result<Vec<f32>, StrategyError> {
        let mut all = vec![0.0; rows.len() * self.n_features];
        let each = all.chunks_exact_mut(self.n_features);
        let Some((features, columns)) = &self.features else {
            for (node, to) in each.enumerate() {
                let column = match self.inputs {
                    Inputs::Degree { most } => graph.degree(node as u32).min(most as usize),
                    _ => 0,
                };
                to[column] = 1.0;
            }
            self.add_structure(graph, &mut all);
            return Ok(all);
        };
        let mut whole = vec![0.0; features.n_columns()];
        for (row, to) in rows.iter().zip(each) {
            features.write_row(*row, &mut whole);
            if let Some(column) = first_not_finite(&whole) {
                return refuse(format!(
                    "feature {column} of node {row} is {}, and features must be finite",
                    whole[column]
                ));
            }
            match columns.len() == whole.len() {
                true => to[..whole.len()].copy_from_slice(&whole),
                false => to.iter_mut().zip(columns).for_each(|(to, column)| *to = whole[*column]),
            }
            if self.inputs == Inputs::RowNormalised {
                let sum: f64 = to.iter().map(|x| f64::from(x.abs())).sum();
                let share = |x: f32| if sum > 0.0 { (f64::from(x) / sum) as f32 } else { x };
                to.iter_mut().for_each(|x| *x = share(*x));
            }
        }
        self.add_structure(graph, &mut all);
        Ok(all)
    }

    /// Writes the last numbers of each row, those that are of the structure about a node.
    fn add_structure(&self, graph: &Graph, all: &mut [f32]) {
        let Inputs::Structured { walks, degrees } = self.inputs else {
            return;
        };
        let n_plain = self.n_features - self.inputs.n_structural();
        for (node, row) in all.chunks_exact_mut(self.n_features).enumerate() {
            let (back, degree) = row[n_plain..].split_at_mut(walks as usize);
            back_home(graph, node as u32, back);
            if degrees > 0 {
                degree[graph.degree(node as u32).clamp(1, degrees as usize) - 1] = 1.0;
            }
        }
    }
}

/// The probabilities that a walk from `node` that goes on to a neighbour at random, each as likely,
/// is back after 1, 2 and so on steps; 0 without neighbours. Sums are in double precision, by
/// ascending nodes.
fn back_home(graph: &Graph, node: u32, back: &mut [f32]) {
    let mut now = vec![0.0; graph.n_nodes()];
    now[node as usize] = 1.0;
    for back in back {
        let mut next = vec![0.0; now.len()];
        for (from, share) in (0..).zip(&now).filter(|(_, share)| **share > 0.0) {
            let neighbours = graph.neighbours(from);
            for &to in neighbours {
                next[to as usize] += share / neighbours.len() as f64;
            }
        }
        now = next;
        *back = now[node as usize] as f32;
    }
}
