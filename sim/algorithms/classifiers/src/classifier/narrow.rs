//! Training without what a shard never sees: the bags of words of some nodes name some hundred of
//! some thousand words, and the weights of the other words have no gradient.

use super::Classifier;
use super::data::Shard;
use super::train::Course;
use folkmoot_learning::{Batch, Layout, Parameter, is_finite};

/// Columns are left out where no more than one in so many is used: what remains is held beside the
/// rest.
const FEW: usize = 2;

/// A shard's nodes with the columns that one of them uses.
#[derive(Clone)]
pub(super) struct Narrow {
    columns: Vec<u32>,
    pub(super) batch: Batch,
}

impl Narrow {
    /// Of nodes that use few of their columns.
    pub(super) fn of(batch: &Batch) -> Option<Box<Narrow>> {
        let columns = batch.used_columns()?;
        let is_few = !columns.is_empty() && columns.len() * FEW <= batch.n_features();
        is_few.then(|| {
            Box::new(Narrow {
                batch: batch.with_columns(&columns),
                columns,
            })
        })
    }
}

/// A model with the rows of its first weights that belong to the columns of a [`Narrow`].
pub(super) struct NarrowModel<'a> {
    pub(super) narrow: &'a Narrow,
    pub(super) layout: Layout,
    pub(super) parameters: Vec<f32>,
    wide: &'a Layout,
    weights: Vec<Parameter>,
}

impl NarrowModel<'_> {
    /// The whole model that was `parameters`, with the rows that were `trained`.
    pub(super) fn widen(&self, parameters: &[f32], trained: &[f32]) -> Vec<f32> {
        let mut whole = parameters.to_vec();
        self.pieces(|there, here| whole[there].copy_from_slice(&trained[here]));
        whole
    }

    /// Where each piece lies in the whole model and in this one.
    fn pieces(&self, mut each: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>)) {
        for slot in self.wide.slots() {
            let (there, here) = (self.wide.range(slot.parameter), self.layout.range(slot.parameter));
            if !self.weights.contains(&slot.parameter) {
                each(there, here);
                continue;
            }
            let n = slot.columns;
            for (at, row) in (here.start..).step_by(n.max(1)).zip(&self.narrow.columns) {
                let from = there.start + *row as usize * n;
                each(from..from + n, at..at + n);
            }
        }
    }
}

impl Classifier {
    /// What trains in the place of the whole model, to the same bits: where a weight without a
    /// gradient stays as it is, and the shard uses few columns. A weight that is no finite number
    /// would reach every node, used or not, so then there is none.
    pub(super) fn narrow<'a>(
        &'a self,
        shard: &'a Shard,
        parameters: &[f32],
        course: &Course<'_>,
    ) -> Option<NarrowModel<'a>> {
        let narrow = shard.narrow()?;
        let follows_gradient = self.training.weight_decay == 0.0 && course.moves_by_gradient_alone();
        if !follows_gradient || !is_finite(parameters) {
            return None;
        }
        let weights = self.network.input_weights()?;
        let wide = self.network.layout();
        let layout = wide.with_rows(&weights, narrow.columns.len());
        let mut model = NarrowModel {
            parameters: Vec::new(),
            narrow,
            layout,
            wide,
            weights,
        };
        let mut own = vec![0.0; model.layout.len()];
        model.pieces(|there, here| own[here].copy_from_slice(&parameters[there]));
        model.parameters = own;
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph_layers::{Gat, Gcn, Gin, GinBatchNorm, GraphConv, GraphLayers, LightGcn, Mlp, Sage, Tag};
    use super::super::{Facts, Inputs, LocalOptimiser, Model, Split, Training};
    use super::*;
    use folkmoot_draws::{Purpose, SeedableRng, SimRng, Streams};
    use folkmoot_graphs::{DataDirs, DataSource, Features, Partitioner, SparseRows, datasets, partition};
    use folkmoot_parts::Chosen;
    use folkmoot_scenarios::algorithm::Source;
    use std::sync::Arc;

    const TEST: Purpose = Purpose(*b"test    ");

    /// Members of the club who use a few of 120 words, each with its neighbour in number, among two
    /// clients.
    fn classifier(model: &Model, training: &Training) -> (Classifier, Vec<Shard>) {
        let mut dataset = datasets::Karate {}
            .load(&DataDirs::new(), &mut Streams::new(1).global(TEST))
            .unwrap();
        let words = |node: u32| [(node, 1.0), (node + 1, 0.5), (119 - node, 2.0)];
        let rows: Vec<_> = (0..34).map(words).collect();
        dataset.features = Some(Features::Sparse(SparseRows::from_rows(120, &rows).unwrap()));
        let dataset = Arc::new(dataset);
        let spec = partition::Iid { n_clients: 2 };
        let partition = Arc::new(spec.divide(&dataset, &mut Streams::new(1).global(TEST)).unwrap());
        let source = Source::new(&dataset, &partition, Streams::new(3));
        let facts = Facts::new(Inputs::Features, Split::All, &source).unwrap();
        let classifier = Classifier::new(model, training, &facts).unwrap();
        let held = classifier.share(Split::All, &source).unwrap();
        (classifier, held.shards().to_vec())
    }

    fn starts(classifier: &Classifier) -> Vec<f32> {
        classifier.network().layout().initialise(&mut SimRng::seed_from_u64(1))
    }

    fn trains_alike(classifier: &Classifier, shard: &Shard, start: &[f32]) -> bool {
        let mut whole = shard.clone();
        whole.forget_narrow();
        let [narrow, whole] = [shard, &whole].map(|shard| {
            let trained = classifier.train(shard, start, &mut SimRng::seed_from_u64(2));
            trained.iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
        });
        narrow == whole
    }

    #[test]
    fn a_narrow_model_trains_to_the_bits_of_the_whole() {
        let encoders: [Chosen<dyn GraphLayers>; 9] = [
            Chosen::new(Gcn {}),
            Chosen::new(Gin {}),
            Chosen::new(GinBatchNorm {}),
            Chosen::new(GraphConv {}),
            Chosen::new(Tag { hops: 2 }),
            Chosen::new(Sage {}),
            Chosen::new(Gat { heads: 2 }),
            Chosen::new(Mlp {}),
            Chosen::new(LightGcn {}),
        ];
        for encoder in encoders {
            for (optimiser, proximal, batch_size, hidden) in [
                (LocalOptimiser::Adam, 0.0, None, 8),
                (LocalOptimiser::Sgd { momentum: 0.9 }, 0.1, Some(5), 128),
            ] {
                let model = Model {
                    encoder: encoder.clone(),
                    hidden,
                    dropout: 0.2,
                    ..Model::default()
                };
                let training = Training {
                    epochs: 3,
                    optimiser,
                    fedprox_mu: proximal,
                    batch_size,
                    ..Training::default()
                };
                let (classifier, shards) = classifier(&model, &training);
                let start = starts(&classifier);
                for shard in &shards {
                    let model = classifier.narrow(shard, &start, &Course::default()).unwrap();
                    assert!(model.parameters.len() < start.len(), "{encoder:?}");
                    assert!(trains_alike(&classifier, shard, &start), "{encoder:?} {optimiser:?}");
                }
            }
        }
    }

    #[test]
    fn what_else_moves_a_weight_is_not_left_out() {
        let is_narrow = |training: &Training, course: &Course<'_>| {
            let (classifier, shards) = classifier(&Model::default(), training);
            let start = starts(&classifier);
            assert!(trains_alike(&classifier, &shards[0], &start));
            classifier.narrow(&shards[0], &start, course).is_some()
        };
        let plain = Training::default();
        let decays = Training {
            weight_decay: 1e-3,
            ..Training::default()
        };
        assert!(is_narrow(&plain, &Course::default()));
        assert!(!is_narrow(&decays, &Course::default()));
        let pulled = Course {
            pull: Some((0.5, &[])),
            ..Course::default()
        };
        let corrected = Course {
            correction: &[1.0],
            ..Course::default()
        };
        assert!(!is_narrow(&plain, &pulled) && !is_narrow(&plain, &corrected));
    }

    #[test]
    fn a_weight_that_is_no_number_reaches_everybody() {
        let (classifier, shards) = classifier(&Model::default(), &Training::default());
        let mut start = starts(&classifier);
        // Of a word that nobody uses.
        start[60 * 16] = f32::NAN;
        assert!(classifier.narrow(&shards[0], &start, &Course::default()).is_none());
        assert!(trains_alike(&classifier, &shards[0], &start));
    }
}
