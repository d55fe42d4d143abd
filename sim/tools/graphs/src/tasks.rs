//! Binary labels of graphs or nodes for several tasks at once, some of them unknown.

use thiserror::Error;

/// For each graph (or node) and task: yes, no, or not measured.
///
/// A loss or a score takes the [`known`](Self::known) entries of a row only; a missing entry is not
/// a negative one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLabels {
    names: Vec<String>,
    /// By graph, then by task.
    values: Vec<Option<bool>>,
}

impl TaskLabels {
    /// `values` has the entries of the first graph for all tasks, then those of the second, and so
    /// on.
    ///
    /// # Errors
    /// [`TaskError`] without tasks, or if the values do not divide among them.
    pub fn new(names: Vec<String>, values: Vec<Option<bool>>) -> Result<TaskLabels, TaskError> {
        if names.is_empty() || !values.len().is_multiple_of(names.len()) {
            return Err(TaskError {
                n_tasks: names.len(),
                n_values: values.len(),
            });
        }
        Ok(TaskLabels { names, values })
    }

    /// What [`codes`](Self::codes) made codes of.
    pub(crate) fn from_codes(names: Vec<String>, codes: &[u32]) -> Result<TaskLabels, TaskError> {
        let label = |&code: &u32| match code {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        TaskLabels::new(names, codes.iter().map(label).collect())
    }

    /// The names of the tasks, as the file's header has them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many tasks there are, at least one.
    pub fn n_tasks(&self) -> usize {
        self.names.len()
    }

    /// How many graphs there are.
    pub fn n_graphs(&self) -> usize {
        self.values.len() / self.names.len()
    }

    /// The labels of one graph, of length [`n_tasks`](Self::n_tasks).
    ///
    /// # Panics
    /// If there is no such graph.
    pub fn of(&self, graph: u32) -> &[Option<bool>] {
        let start = graph as usize * self.names.len();
        &self.values[start..start + self.names.len()]
    }

    /// The tasks for which a label of `graph` is known, ascending, with the label.
    ///
    /// # Panics
    /// If there is no such graph.
    pub fn known(&self, graph: u32) -> impl Iterator<Item = (usize, bool)> + '_ {
        let row = self.of(graph).iter().enumerate();
        row.filter_map(|(task, label)| label.map(|label| (task, label)))
    }

    /// Whether two graphs differ in some task for which both labels are known.
    ///
    /// # Panics
    /// If there are no such graphs.
    pub fn differ(&self, one: u32, other: u32) -> bool {
        let mut pairs = self.of(one).iter().zip(self.of(other));
        pairs.any(|pair| matches!(pair, (Some(one), Some(other)) if one != other))
    }

    /// How many graphs are labelled yes and no in `task`; the rest is missing.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn counts(&self, task: usize) -> (usize, usize) {
        assert!(
            task < self.n_tasks(),
            "there are {} tasks, none is {task}",
            self.n_tasks()
        );
        let column = || self.values.iter().skip(task).step_by(self.names.len());
        let count = |wanted: bool| column().filter(|&&label| label == Some(wanted)).count();
        (count(true), count(false))
    }

    /// How many entries are missing.
    pub fn n_missing(&self) -> usize {
        self.values.iter().filter(|label| label.is_none()).count()
    }

    /// The labels of some graphs; row `i` of the result is `graphs[i]`.
    ///
    /// # Panics
    /// If a graph does not exist.
    pub fn select(&self, graphs: &[u32]) -> TaskLabels {
        TaskLabels {
            names: self.names.clone(),
            values: graphs.iter().flat_map(|&graph| self.of(graph)).copied().collect(),
        }
    }

    /// The class of each graph, 0 or 1, if there is one task and nothing is missing.
    pub fn single(&self) -> Option<Vec<u32>> {
        let labels: Option<Vec<u32>> = self.values.iter().map(|label| label.map(u32::from)).collect();
        labels.filter(|_| self.n_tasks() == 1)
    }

    /// All entries by graph, then by task, for hashing: 0 no, 1 yes, 2 missing.
    pub(crate) fn codes(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.values.iter().map(|label| label.map_or(2, u32::from))
    }
}

/// Why values are no task labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{n_values} labels do not divide among {n_tasks} tasks; give each graph one label for each task")]
pub struct TaskError {
    /// How many tasks were named.
    pub n_tasks: usize,
    /// How many values were given.
    pub n_values: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_labels_are_neither_yes_nor_no() {
        let names = vec!["a".to_string(), "b".to_string()];
        let values = vec![Some(true), None, Some(false), Some(true), None, Some(false)];
        let tasks = TaskLabels::new(names.clone(), values).unwrap();
        assert_eq!((tasks.n_graphs(), tasks.n_tasks(), tasks.n_missing()), (3, 2, 2));
        assert_eq!((tasks.counts(0), tasks.counts(1)), ((1, 1), (1, 1)));
        assert_eq!(tasks.known(0).collect::<Vec<_>>(), [(0, true)]);
        assert!(tasks.differ(0, 1) && tasks.differ(1, 2));
        assert!(!tasks.differ(0, 2), "no task has both labels");
        assert_eq!(tasks.select(&[2, 1]).of(1), [Some(false), Some(true)]);
        assert_eq!(tasks.single(), None);
        let error = TaskLabels::new(names, vec![None]).unwrap_err().to_string();
        assert!(error.contains("1 labels do not divide among 2 tasks"), "{error}");
        let one = TaskLabels::new(vec!["a".into()], vec![Some(true), Some(false)]).unwrap();
        assert_eq!(one.single(), Some(vec![1, 0]));
    }
}
