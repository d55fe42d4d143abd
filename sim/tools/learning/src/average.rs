//! The weighted mean of models: the server's part of federated averaging.
//!
//! H. B. McMahan et al. Communication-Efficient Learning of Deep Networks from Decentralized Data.
//! AISTATS 2017, algorithm 1.

use crate::kernels::moments;

const BLOCK: usize = 1024;

/// A sum of models in double precision, to which one client after the other is added.
///
/// The order of the additions is the caller's: in ascending order of clients the result is the same
/// for any number of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Average {
    sums: Vec<f64>,
    weight: f64,
}

impl Average {
    /// A sum of nothing.
    pub fn new() -> Average {
        Average::default()
    }

    /// Forgets all models and keeps the memory.
    pub fn reset(&mut self) {
        self.sums.clear();
        self.weight = 0.0;
    }

    /// Adds a model, or an update of one, with a weight such as its number of samples.
    ///
    /// # Panics
    /// If its length differs from that of the models before, or the weight is negative or not
    /// finite.
    pub fn add(&mut self, model: &[f32], weight: f64) {
        self.add_all(&[(model, weight)]);
    }

    /// Adds several, each with its weight, as one after the other.
    ///
    /// # Panics
    /// As [`add`](Self::add).
    pub fn add_all(&mut self, models: &[(&[f32], f64)]) {
        for (model, weight) in models {
            assert!(
                *weight >= 0.0 && weight.is_finite(),
                "a weight is finite and at least 0, got {weight}"
            );
            if self.sums.is_empty() {
                self.sums.resize(model.len(), 0.0);
            }
            assert_eq!(model.len(), self.sums.len(), "all models have one length");
            self.weight += weight;
        }
        // A block of sums stays at hand while all models are added to it.
        for (block, sums) in self.sums.chunks_mut(BLOCK).enumerate() {
            let at = block * BLOCK;
            for (model, weight) in models {
                moments::add_weighted(sums, *weight, &model[at..][..sums.len()]);
            }
        }
    }

    /// The sum of the weights so far.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The weighted sums so far, not yet divided by [`weight`](Self::weight); empty before the
    /// first model.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// The weighted mean; `None` before there is any weight.
    pub fn mean(&self) -> Option<Vec<f32>> {
        let mean = |sum: &f64| (sum / self.weight) as f32;
        (self.weight > 0.0).then(|| self.sums.iter().map(mean).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted() {
        let mut average = Average::new();
        assert_eq!(average.mean(), None);
        average.add(&[1.0, 2.0], 3.0);
        average.add(&[5.0, -2.0], 1.0);
        average.add(&[9.0, 9.0], 0.0);
        assert_eq!((average.mean(), average.weight()), (Some(vec![2.0, 1.0]), 4.0));
        assert_eq!(average.sums(), [8.0, 4.0]);
        let models: Vec<Vec<f32>> = (0..5).map(|n| vec![0.1 + n as f32; BLOCK + 3]).collect();
        let (mut one_by_one, mut at_once) = (Average::new(), Average::new());
        models.iter().for_each(|model| one_by_one.add(model, 0.3));
        at_once.add_all(&models.iter().map(|model| (&model[..], 0.3)).collect::<Vec<_>>());
        assert_eq!(at_once, one_by_one);
        average.reset();
        average.add(&[7.0], 2.0);
        assert_eq!(average.mean(), Some(vec![7.0]));
    }
}
