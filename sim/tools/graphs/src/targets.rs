//! Numbers to predict for each node or each graph, some of them unknown.

use crate::tasks::TaskError;

/// For each item and target a number, NaN where it is not known.
#[derive(Clone, Debug)]
pub struct Targets {
    names: Vec<String>,
    /// By item, then by target.
    values: Vec<f32>,
    of_graphs: bool,
}

impl Targets {
    /// `values` has shape `(n_items, names.len())`, row by row. The items are graphs or nodes,
    /// whether or not the set has several graphs.
    ///
    /// # Errors
    /// [`TaskError`] without targets, or if the values do not divide among them.
    pub fn new(names: Vec<String>, values: Vec<f32>, of_graphs: bool) -> Result<Targets, TaskError> {
        if names.is_empty() || !values.len().is_multiple_of(names.len()) {
            return Err(TaskError {
                n_tasks: names.len(),
                n_values: values.len(),
            });
        }
        // One bit pattern for all unknown numbers, so that equal content has an equal fingerprint.
        let known = |value: f32| if value.is_nan() { f32::NAN } else { value };
        Ok(Targets {
            names,
            values: values.into_iter().map(known).collect(),
            of_graphs,
        })
    }

    /// The names of the targets, at least one.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether graphs have the numbers, not nodes.
    pub fn are_of_graphs(&self) -> bool {
        self.of_graphs
    }

    pub fn n_items(&self) -> usize {
        self.values.len() / self.names.len()
    }

    /// The numbers of one item, shape `(names().len(),)`, NaN where unknown.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn of(&self, item: u32) -> &[f32] {
        let start = item as usize * self.names.len();
        &self.values[start..start + self.names.len()]
    }

    /// All numbers, shape `(n_items, names().len())`, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Least, mean and greatest known number of a target, and how many are known; `None` if none
    /// is.
    pub fn summary(&self, target: usize) -> Option<(f32, f64, f32, usize)> {
        let column = self.values.iter().skip(target).step_by(self.names.len());
        let known: Vec<f32> = column.copied().filter(|value| !value.is_nan()).collect();
        let least = known.iter().copied().reduce(f32::min)?;
        let most = known.iter().copied().reduce(f32::max)?;
        let mean = known.iter().copied().map(f64::from).sum::<f64>() / known.len() as f64;
        Some((least, mean, most, known.len()))
    }

    /// The numbers of some items; row `i` of the result is `items[i]`.
    ///
    /// # Panics
    /// If an item does not exist.
    pub fn select(&self, items: &[u32]) -> Targets {
        Targets {
            names: self.names.clone(),
            values: items.iter().flat_map(|&item| self.of(item)).copied().collect(),
            of_graphs: self.of_graphs,
        }
    }
}

/// Unknown numbers are equal.
impl PartialEq for Targets {
    fn eq(&self, other: &Targets) -> bool {
        let bits = |targets: &Targets| targets.values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        self.names == other.names && self.of_graphs == other.of_graphs && bits(self) == bits(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_are_left_out_of_summaries_and_are_equal() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let values = vec![1.0, f32::NAN, 3.0, f32::from_bits(0x7fc0_0001)];
        let targets = Targets::new(names.clone(), values, false).unwrap();
        assert_eq!(targets.n_items(), 2);
        assert_eq!(targets.summary(0), Some((1.0, 2.0, 3.0, 2)));
        assert_eq!(targets.summary(1), None);
        assert_eq!(
            targets,
            Targets::new(names.clone(), vec![1.0, f32::NAN, 3.0, f32::NAN], false).unwrap()
        );
        assert_eq!(targets.select(&[1]).of(0)[0], 3.0);
        assert!(Targets::new(names, vec![1.0], false).is_err());
        assert!(Targets::new(Vec::new(), Vec::new(), false).is_err());
    }
}
