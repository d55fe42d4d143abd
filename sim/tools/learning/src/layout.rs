//! What a model's flat vector of numbers means: named matrices, one after the other.

use std::ops::Range;

use folkmoot_draws::SimRng;

use crate::init::Init;
use crate::tape::Var;

/// A matrix of a model's parameters, by its place in the [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parameter(pub(crate) u32);

impl Parameter {
    /// The parameter as a value of any tape that has loaded the layout.
    pub fn var(self) -> Var {
        Var::of_parameter(self)
    }
}

/// One matrix of a [`Layout`].
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its name, such as `conv0.weight`; no two are equal.
    pub name: String,
    pub rows: usize,
    pub columns: usize,
    pub init: Init,
    /// Whether an optimiser moves it; the running statistics of a batch norm are not moved.
    pub trainable: bool,
    pub parameter: Parameter,
    /// Where it begins among its kind: those that learn, or those that do not.
    at: usize,
}

/// The names, shapes and starts of a model's parameters in one flat `Vec<f32>`.
///
/// What learns comes first, in the order of its creation, then the buffers: an optimiser gets a
/// prefix, and federated averaging the whole. A layer's constructor adds its own matrices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    slots: Vec<Slot>,
    n_trainable: usize,
    n_buffers: usize,
}

impl Layout {
    /// A layout without matrices.
    pub fn new() -> Layout {
        Layout::default()
    }

    /// Adds a matrix that learns.
    ///
    /// # Panics
    /// If the name is taken.
    pub fn weight(&mut self, name: impl Into<String>, rows: usize, columns: usize, init: Init) -> Parameter {
        let at = self.n_trainable;
        self.n_trainable += rows * columns;
        self.add(name.into(), rows, columns, init, true, at)
    }

    /// Adds a matrix that travels with the model but has no gradient.
    ///
    /// # Panics
    /// If the name is taken.
    pub fn buffer(&mut self, name: impl Into<String>, rows: usize, columns: usize, init: Init) -> Parameter {
        let at = self.n_buffers;
        self.n_buffers += rows * columns;
        self.add(name.into(), rows, columns, init, false, at)
    }

    fn add(&mut self, name: String, rows: usize, columns: usize, init: Init, trainable: bool, at: usize) -> Parameter {
        assert!(self.find(&name).is_none(), "two parameters are named {name:?}");
        let parameter = Parameter(self.slots.len() as u32);
        self.slots.push(Slot {
            name,
            rows,
            columns,
            init,
            trainable,
            parameter,
            at,
        });
        parameter
    }

    /// Draws a model: matrix after matrix, each row-major.
    ///
    /// # Determinism
    /// A matrix with a random start draws one `u32` an element, two for each pair of a normal law;
    /// others draw nothing.
    pub fn initialise(&self, rng: &mut SimRng) -> Vec<f32> {
        let mut values = vec![0.0; self.len()];
        for slot in &self.slots {
            slot.init
                .fill(slot.rows, slot.columns, rng, &mut values[self.range(slot.parameter)]);
        }
        values
    }

    /// The floats of a model, buffers included.
    pub fn len(&self) -> usize {
        self.n_trainable + self.n_buffers
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The floats that learn: the first of the vector.
    pub fn n_trainable(&self) -> usize {
        self.n_trainable
    }

    /// Rows and columns of the matrices that learn, in the order in which they lie in the vector.
    pub fn shapes(&self) -> Vec<[usize; 2]> {
        let learns = self.slots.iter().filter(|slot| slot.trainable);
        learns.map(|slot| [slot.rows, slot.columns]).collect()
    }

    /// The same with another number of rows in some of its matrices; all keep their handles, so
    /// that layers made for this layout read the other as well.
    pub fn with_rows(&self, matrices: &[Parameter], rows: usize) -> Layout {
        let mut other = Layout::new();
        for slot in &self.slots {
            let rows = if matrices.contains(&slot.parameter) {
                rows
            } else {
                slot.rows
            };
            let (name, columns, init) = (slot.name.clone(), slot.columns, slot.init);
            match slot.trainable {
                true => other.weight(name, rows, columns, init),
                false => other.buffer(name, rows, columns, init),
            };
        }
        other
    }

    /// All matrices, in the order of their creation.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The matrix of that name.
    pub fn find(&self, name: &str) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.name == name)
    }

    /// Where a matrix lies in the vector.
    ///
    /// # Panics
    /// If it belongs to another layout that is longer.
    pub fn range(&self, parameter: Parameter) -> Range<usize> {
        let slot = &self.slots[parameter.0 as usize];
        let at = slot.at + if slot.trainable { 0 } else { self.n_trainable };
        at..at + slot.rows * slot.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;

    #[test]
    fn what_learns_comes_first() {
        let mut layout = Layout::new();
        let a = layout.weight("a", 2, 3, Init::Zeros);
        let mean = layout.buffer("mean", 1, 3, Init::Constant(0.5));
        let b = layout.weight("b", 1, 3, Init::Ones);
        let variance = layout.buffer("variance", 1, 3, Init::Ones);
        let ranges = [a, mean, b, variance].map(|parameter| layout.range(parameter));
        assert_eq!(ranges, [0..6, 9..12, 6..9, 12..15]);
        assert_eq!((layout.len(), layout.n_trainable()), (15, 9));
        assert_eq!(layout.find("b").unwrap().parameter, b);
        let model = layout.initialise(&mut SimRng::seed_from_u64(1));
        assert_eq!(model[5..13], [0.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0]);
    }

    #[test]
    #[should_panic(expected = "two parameters are named \"w\"")]
    fn names_are_unique() {
        let mut layout = Layout::new();
        layout.weight("w", 1, 1, Init::Zeros);
        layout.weight("w", 2, 2, Init::Zeros);
    }
}
