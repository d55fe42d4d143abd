//! What distances of graphs are good for: classes by neighbours and by a support vector machine,
//! and clusters.

use super::distances::Distances;
use super::options::{ChooseBy, SvmChoice};
use super::subjects::Subject;
use folkmoot_classifiers::classifier::Part;
use folkmoot_draws::SimRng;
use folkmoot_scores::classical::{Comparison, Split, SvmGrid, splits, stratified_folds};
use folkmoot_scores::evaluation::knn_precomputed;

/// The places of subjects in a matrix that train, validate and test, and the class of each.
pub(super) struct Labelled {
    pub(super) train: Vec<u32>,
    pub(super) validation: Vec<u32>,
    pub(super) test: Vec<u32>,
    classes: Vec<u32>,
}

impl Labelled {
    pub(super) fn new(subjects: &[&Subject]) -> Labelled {
        let of = |part: Part| {
            let in_part = |(at, subject): (usize, &&Subject)| (subject.part == Some(part)).then_some(at as u32);
            subjects.iter().enumerate().filter_map(in_part).collect()
        };
        Labelled {
            train: of(Part::Train),
            validation: of(Part::Validation),
            test: of(Part::Test),
            classes: subjects
                .iter()
                .map(|subject| subject.class.unwrap_or_default())
                .collect(),
        }
    }

    /// Those that train and validate, ascending.
    fn known(&self) -> Vec<u32> {
        let mut known = [&self.train[..], &self.validation[..]].concat();
        known.sort_unstable();
        known
    }

    /// The accuracy on test graphs of the majority among the `k` nearest graphs that train or
    /// validate.
    pub(super) fn by_neighbours(&self, distances: &Distances, k: usize) -> Result<f64, String> {
        let known = self.known();
        let classes: Vec<u32> = known.iter().map(|at| self.classes[*at as usize]).collect();
        let row = |&test: &u32| {
            let row = &distances.values[test as usize * distances.n..][..distances.n];
            known.iter().map(move |at| row[*at as usize])
        };
        let rows: Vec<f64> = self.test.iter().flat_map(row).collect();
        let predicted = knn_precomputed(&rows, &classes, k).map_err(|error| error.to_string())?;
        let right = self.test.iter().zip(&predicted);
        let right = right
            .filter(|(at, class)| self.classes[**at as usize] == **class)
            .count();
        Ok(right as f64 / self.test.len() as f64)
    }

    /// The accuracy on test graphs of a support vector machine, and the `C` and `gamma` that were
    /// chosen for it.
    pub(super) fn by_svm(
        &self,
        distances: &Distances,
        svm: &SvmChoice,
        rng: &mut SimRng,
    ) -> Option<Result<SvmScore, String>> {
        let SvmChoice::Grid { grid, choose_by } = svm else {
            return None;
        };
        let inner = match choose_by {
            ChooseBy::Validation => Ok(vec![Split {
                train: self.train.clone(),
                test: self.validation.clone(),
            }]),
            ChooseBy::Folds => self.folds(grid, rng),
        };
        Some(inner.and_then(|inner| self.fit(distances, grid, &inner)))
    }

    fn folds(&self, grid: &SvmGrid, rng: &mut SimRng) -> Result<Vec<Split>, String> {
        let known = self.known();
        let classes: Vec<u32> = known.iter().map(|at| self.classes[*at as usize]).collect();
        let folds = stratified_folds(&classes, grid.n_inner_folds, rng).map_err(|error| error.to_string())?;
        let places = |at: Vec<u32>| at.into_iter().map(|at| known[at as usize]).collect();
        let named = |Split { train, test }| Split {
            train: places(train),
            test: places(test),
        };
        Ok(splits(&folds).into_iter().map(named).collect())
    }

    fn fit(&self, distances: &Distances, grid: &SvmGrid, inner: &[Split]) -> Result<SvmScore, String> {
        let outer = Split {
            train: self.known(),
            test: self.test.clone(),
        };
        let items = match &distances.kernel {
            Some(kernel) => Comparison::Kernel(kernel),
            None => Comparison::Distances(&distances.values),
        };
        let tested = grid.choose_and_test(items, &self.classes, inner, &outer);
        let tested = tested.map_err(|error| error.to_string())?;
        Ok(SvmScore {
            accuracy: f64::from(tested.n_correct) / self.test.len() as f64,
            c: tested.choice.c,
            gamma: tested.choice.gamma,
            n_stopped: tested.choice.n_stopped,
        })
    }
}

/// How a support vector machine did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SvmScore {
    pub(super) accuracy: f64,
    pub(super) c: f64,
    pub(super) gamma: f64,
    /// Fits of the grid that reached the limit of steps.
    pub(super) n_stopped: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Purpose, Streams};
    use folkmoot_metrics::ClientId;

    /// Class 1 lies beyond 10; a subject in ten validates, one tests.
    fn subjects() -> (Vec<Subject>, Distances) {
        let n = 40u32;
        let subject = |id: u32| Subject {
            id,
            client: ClientId(0),
            class: Some(id % 2),
            part: Some(match id % 5 {
                3 => Part::Validation,
                4 => Part::Test,
                _ => Part::Train,
            }),
        };
        let place = |id: u32| f64::from(id % 2) * 3.0 + f64::from(id) / 40.0;
        let square = |u: u32, v: u32| (place(u) - place(v)) * (place(u) - place(v));
        let values = (0..n).flat_map(|u| (0..n).map(move |v| square(u, v))).collect();
        let distances = Distances {
            n: n as usize,
            values,
            kernel: None,
        };
        ((0..n).map(subject).collect(), distances)
    }

    #[test]
    fn classes_far_apart_are_told_apart() {
        let (subjects, mut distances) = subjects();
        let labelled = Labelled::new(&subjects.iter().collect::<Vec<_>>());
        assert_eq!((labelled.known().len(), labelled.test.len()), (32, 8));
        assert_eq!(labelled.by_neighbours(&distances, 5), Ok(1.0));
        let mut rng = Streams::new(1).global(Purpose(*b"test-gwl"));
        let grid = SvmGrid {
            c: vec![0.01, 1.0],
            gamma: vec![0.1, 1.0],
            ..SvmGrid::default()
        };
        for choose_by in [ChooseBy::Folds, ChooseBy::Validation] {
            let svm = SvmChoice::Grid {
                grid: grid.clone(),
                choose_by,
            };
            let score = labelled.by_svm(&distances, &svm, &mut rng).unwrap().unwrap();
            assert_eq!(score.accuracy, 1.0);
        }
        assert_eq!(labelled.by_svm(&distances, &SvmChoice::Off, &mut rng), None);
        // All alike: whoever comes first decides.
        distances.values.fill(1.0);
        assert_eq!(labelled.by_neighbours(&distances, 32), Ok(0.5));
        assert!(labelled.by_neighbours(&distances, 33).is_err());
    }
}
