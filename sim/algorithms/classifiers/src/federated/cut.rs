//! Models that are cut in two: what is learned together, and what is never sent, such as heads.

use super::{Common, Learned, Local};
use folkmoot_codecs::Shape;
use folkmoot_draws::SimRng;
use folkmoot_learning::Slot;
use folkmoot_rounds::Travels;
use std::ops::Range;

/// Where a client's own part, such as its head, and the rest lie in a whole model.
pub(super) struct Cut {
    pub(super) head: Vec<Range<usize>>,
    pub(super) shared: Vec<Range<usize>>,
}

impl Cut {
    /// The head, or the last graph layer without one, is a client's own.
    pub(super) fn before_head(common: &Common) -> Cut {
        Cut::around(common, common.classifier.network().last_layers())
    }

    /// The same, and the first graph layer is a client's own, too, if `own_inputs` says so.
    pub(super) fn between(common: &Common, own_inputs: bool) -> Cut {
        let network = common.classifier.network();
        let mut own = network.last_layers();
        if own_inputs {
            own.extend(network.first_layer());
            own.sort_by_key(|range| range.start);
            own.dedup();
        }
        Cut::around(common, own)
    }

    /// What is called otherwise is a client's own.
    pub(super) fn sharing(common: &Common, is_shared: impl Fn(&str) -> bool) -> Cut {
        let layout = common.classifier.network().layout();
        let own = layout.slots().iter().filter(|slot| !is_shared(&slot.name));
        let mut own: Vec<Range<usize>> = own.map(|slot| layout.range(slot.parameter)).collect();
        own.sort_by_key(|range| range.start);
        Cut::around(common, own)
    }

    /// `head` are a client's own, by ascending places.
    fn around(common: &Common, head: Vec<Range<usize>>) -> Cut {
        let ends = head.iter().map(|range| range.start).chain([common.n_parameters()]);
        let starts = [0].into_iter().chain(head.iter().map(|range| range.end));
        let shared = starts.zip(ends).map(|(start, end)| start..end);
        Cut {
            shared: shared.filter(|range| !range.is_empty()).collect(),
            head,
        }
    }

    pub(super) fn n_shared(&self) -> usize {
        self.shared.iter().map(Range::len).sum()
    }

    /// What is shared travels both ways.
    pub(super) fn travels(&self, common: &Common) -> Travels {
        let (n, shapes) = (self.n_shared(), self.shapes(common));
        Travels {
            n_down: n,
            shapes: shapes.clone(),
            n_up: n,
            update_shapes: shapes,
        }
    }

    /// The shared part of a model that is drawn.
    pub(super) fn initial(&self, common: &Common, rng: &mut SimRng) -> Vec<f32> {
        let whole = common.classifier.network().layout().initialise(rng);
        Cut::take(&self.shared, &whole)
    }

    /// Rows and columns of the matrices that are shared and learn.
    fn shapes(&self, common: &Common) -> Vec<Shape> {
        let layout = common.classifier.network().layout();
        let is_shared = |slot: &&Slot| {
            let start = layout.range(slot.parameter).start;
            slot.trainable && !self.head.iter().any(|range| range.contains(&start))
        };
        let shared = layout.slots().iter().filter(is_shared);
        shared.map(|slot| [slot.rows, slot.columns]).collect()
    }

    /// The whole model of which these are the parts.
    pub(super) fn join(&self, shared: &[f32], head: &[f32]) -> Vec<f32> {
        let mut whole = vec![0.0; shared.len() + head.len()];
        for (ranges, mut part) in [(&self.shared, shared), (&self.head, head)] {
            for range in ranges {
                let (now, later) = part.split_at(range.len());
                whole[range.clone()].copy_from_slice(now);
                part = later;
            }
        }
        whole
    }

    /// Those parts of a whole model, one behind the other.
    pub(super) fn take(ranges: &[Range<usize>], whole: &[f32]) -> Vec<f32> {
        ranges.iter().flat_map(|range| &whole[range.clone()]).copied().collect()
    }

    /// A client's model: what is shared as it came, and its own head.
    pub(super) fn own(&self, local: &Local<'_>) -> Vec<f32> {
        match local.kept {
            Some(head) => self.join(local.parameters, head),
            None => self.join(local.parameters, &Cut::take(&self.head, &local.common.start())),
        }
    }

    pub(super) fn learned(&self, whole: &[f32]) -> Learned {
        Learned {
            sent: Cut::take(&self.shared, whole),
            kept: Some(Cut::take(&self.head, whole)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_model_is_joined_as_it_was() {
        let cut = Cut {
            head: vec![2..4, 6..7],
            shared: vec![0..2, 4..6, 7..9],
        };
        let whole: Vec<f32> = (0..9).map(|x| x as f32).collect();
        let (shared, head) = (Cut::take(&cut.shared, &whole), Cut::take(&cut.head, &whole));
        assert_eq!(
            (&shared[..], &head[..]),
            (&[0.0, 1.0, 4.0, 5.0, 7.0, 8.0][..], &[2.0, 3.0, 6.0][..])
        );
        assert_eq!(cut.join(&shared, &head), whole);
        assert_eq!(cut.n_shared(), 6);
    }
}
