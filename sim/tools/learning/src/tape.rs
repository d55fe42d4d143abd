//! Reverse-mode differentiation on a tape that keeps its memory.
//!
//! A [`Tape`] owns two flat buffers of one layout: values and gradients. They begin with the
//! parameters of a model ([`Layout`]), so an optimiser and a federated average act on plain slices;
//! behind them lies what the operations of a step computed, in the order of their calls.
//! [`Tape::reset`] forgets the step and keeps the memory: from the second step of a shape on,
//! nothing is allocated.
//!
//! Every value is a row-major matrix, named by a [`Var`]. A shape that does not fit is the caller's
//! bug and panics with both shapes. Graphs, labels and wide features are borrowed for `'g`, never
//! copied. [`Tape::backward`] visits the operations in reverse order; those that the loss or no
//! parameter depends on are skipped.
//!
//! Determinism: one thread, one fixed order for every sum, no function of the system's library; see
//! `kernels`.

mod arena;
mod attention;
mod backward;
mod cosines;
mod custom;
mod degrees;
mod edges;
mod losses;
mod normal;
mod op;
mod perspectives;
mod pointwise;
mod products;
mod propagation;
mod recurrent;
mod reductions;
mod rows;
mod sequences;
mod shapes;
#[cfg(test)]
mod tests;

use std::cell::Cell;

pub use custom::{Backward, Function};
pub use propagation::Adjacency;

use crate::Layout;
use crate::csr::Csr;
use crate::kernels::moments;
use crate::layout::Parameter;
use arena::{Entry, Place};
use op::Op;
use products::Turned;

/// A value on a tape, until its [`reset`](Tape::reset).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Var(u32);

impl Var {
    pub(crate) fn of_parameter(parameter: Parameter) -> Var {
        Var(parameter.0)
    }
}

/// A tape; see the [module](self).
///
/// ```
/// use folkmoot_learning::{Init, Layout, Tape};
///
/// let mut layout = Layout::new();
/// let weight = layout.weight("weight", 2, 1, Init::Zeros);
/// let features = [1.0, 2.0, 3.0, 4.0];
/// let targets = [1.0, -1.0];
/// let mut tape = Tape::new();
/// tape.load(&layout, &[0.5, 0.25]);
/// for _ in 0..2 {
///     tape.reset();
///     let x = tape.input(2, 2, &features);
///     let y = tape.matmul(x, weight.var());
///     let loss = tape.mean_squared_error(y, &targets, None);
///     tape.backward(loss);
///     let (parameters, gradient) = tape.parameters_mut();
///     for (p, g) in parameters.iter_mut().zip(gradient) {
///         *p -= 0.1 * g;
///     }
/// }
/// ```
#[derive(Debug, Default)]
pub struct Tape<'g> {
    values: Vec<f32>,
    gradients: Vec<f32>,
    /// Where the next value goes.
    top: usize,
    entries: Vec<Entry<'g>>,
    /// The first entries are the parameters and buffers of the model: so many entries, floats, and
    /// floats that learn.
    n_parameters: usize,
    n_floats: usize,
    n_trainable: usize,
    /// The operands of operations that have any number of them.
    operands: Vec<Var>,
    scratch: Vec<f32>,
    turned: Turned,
    /// Whether each number of the model is finite, once that is asked, until one is changed.
    model_is_finite: Option<bool>,
}

impl<'g> Tape<'g> {
    /// An empty tape without parameters.
    pub fn new() -> Tape<'g> {
        Tape::default()
    }

    /// Takes a model's parameters and buffers, of length [`Layout::len`], and forgets all else.
    ///
    /// # Panics
    /// If `parameters` has another length.
    pub fn load(&mut self, layout: &Layout, parameters: &[f32]) {
        assert_eq!(parameters.len(), layout.len(), "parameters must fit their layout");
        self.entries.clear();
        for slot in layout.slots() {
            let mut entry = self.entry(Op::Leaf, slot.rows, slot.columns, slot.trainable);
            entry.place = Place::Arena(layout.range(slot.parameter).start);
            self.entries.push(entry);
        }
        self.n_parameters = self.entries.len();
        self.n_floats = layout.len();
        self.n_trainable = layout.n_trainable();
        self.top = 0;
        self.grow(self.n_floats);
        self.values[..self.n_floats].copy_from_slice(parameters);
        self.model_is_finite = None;
        self.reset();
    }

    /// Forgets all values but the parameters, and keeps the memory.
    pub fn reset(&mut self) {
        self.entries.truncate(self.n_parameters);
        self.operands.clear();
        self.top = self.n_floats;
    }

    /// The same tape, reset, for data of another lifetime.
    pub fn recycle<'h>(mut self) -> Tape<'h> {
        self.reset();
        let parameter = |entry: Entry<'g>| Entry {
            op: Op::Leaf,
            place: match entry.place {
                Place::Arena(at) => Place::Arena(at),
                Place::Borrowed(_) => unreachable!("parameters lie in the arena"),
            },
            rows: entry.rows,
            columns: entry.columns,
            aux: entry.aux,
            root: entry.root,
            needs_gradient: entry.needs_gradient,
            touched: entry.touched,
        };
        Tape {
            values: self.values,
            gradients: self.gradients,
            top: self.top,
            // Equal sizes: the list is rewritten in place.
            entries: self.entries.into_iter().map(parameter).collect(),
            n_parameters: self.n_parameters,
            n_floats: self.n_floats,
            n_trainable: self.n_trainable,
            operands: self.operands,
            scratch: self.scratch,
            turned: self.turned,
            model_is_finite: self.model_is_finite,
        }
    }

    /// Runs `work` with this thread's own tape, so that jobs on one thread share its memory.
    ///
    /// The tape may hold another job's model: begin with [`load`](Self::load). The memory stays as
    /// large as the largest step.
    pub fn with_own<R>(work: impl FnOnce(&mut Tape<'g>) -> R) -> R {
        thread_local! {
            static SPARE: Cell<Option<Tape<'static>>> = const { Cell::new(None) };
        }
        let mut tape: Tape<'g> = SPARE.take().unwrap_or_default();
        let result = work(&mut tape);
        // Only its memory is wanted again.
        tape.entries.clear();
        tape.n_parameters = 0;
        SPARE.set(Some(tape.recycle()));
        result
    }

    /// The model's parameters and buffers, as [`load`](Self::load) took them or a step left them.
    pub fn parameters(&self) -> &[f32] {
        &self.values[..self.n_floats]
    }

    /// The parameters that learn, to be changed, and their gradient; buffers are not among them.
    pub fn parameters_mut(&mut self) -> (&mut [f32], &[f32]) {
        self.model_is_finite = None;
        (
            &mut self.values[..self.n_trainable],
            &self.gradients[..self.n_trainable],
        )
    }

    /// Adds to the gradient that of `strength / 2 · ‖w − anchor‖²` over the parameters `w` that
    /// learn: the proximal term of FedProx (T. Li et al. 2020, equation 2). Call it between
    /// [`backward`](Self::backward) and the step.
    ///
    /// `anchor` has the length of the parameters, or of those that learn.
    ///
    /// # Panics
    /// If it has another length.
    pub fn add_proximal(&mut self, strength: f32, anchor: &[f32]) {
        assert!(
            anchor.len() == self.n_trainable || anchor.len() == self.n_floats,
            "an anchor has the length of the parameters"
        );
        let n = self.n_trainable;
        moments::add_pull(&mut self.gradients[..n], strength, &self.values[..n], &anchor[..n]);
    }

    /// Adds `correction` to the gradient of the parameters that learn, as SCAFFOLD does. Call it
    /// between [`backward`](Self::backward) and the step.
    ///
    /// `correction` has the length of the parameters, or of those that learn.
    ///
    /// # Panics
    /// If it has another length.
    pub fn add_to_gradient(&mut self, correction: &[f32]) {
        assert!(
            correction.len() == self.n_trainable || correction.len() == self.n_floats,
            "a correction has the length of the parameters"
        );
        let gradients = &mut self.gradients[..self.n_trainable];
        gradients.iter_mut().zip(correction).for_each(|(g, c)| *g += c);
    }

    /// A matrix in the caller's memory, without a gradient; `data` has shape `(rows, columns)`.
    ///
    /// # Panics
    /// If `data` has another length.
    pub fn input(&mut self, rows: usize, columns: usize, data: &'g [f32]) -> Var {
        assert_eq!(data.len(), rows * columns, "data must have shape ({rows}, {columns})");
        let mut entry = self.entry(Op::Leaf, rows, columns, false);
        entry.place = Place::Borrowed(data);
        self.entries.push(entry);
        self.last()
    }

    /// An [`input`](Self::input) whose numbers that are not 0 are known: products with it read only
    /// these, and have the same bits.
    ///
    /// # Panics
    /// If `data` has not the shape of `nonzeros`.
    pub fn scarce_input(&mut self, data: &'g [f32], nonzeros: &'g Csr) -> Var {
        let var = self.input(nonzeros.n_rows(), nonzeros.n_columns(), data);
        self.entries[var.0 as usize].op = Op::Scarce(nonzeros);
        var
    }

    /// A copy of a matrix, without a gradient.
    ///
    /// # Panics
    /// If `data` has another length.
    pub fn constant(&mut self, rows: usize, columns: usize, data: &[f32]) -> Var {
        assert_eq!(data.len(), rows * columns, "data must have shape ({rows}, {columns})");
        self.constant_with(rows, columns, |values| values.copy_from_slice(data))
    }

    /// A matrix that `fill` writes, without a gradient; what it finds there means nothing.
    pub fn constant_with(&mut self, rows: usize, columns: usize, fill: impl FnOnce(&mut [f32])) -> Var {
        let var = self.push(Op::Leaf, rows, columns, false);
        fill(self.open(var).y);
        var
    }

    /// A copy of a matrix with a gradient.
    ///
    /// # Panics
    /// If `data` has another length.
    pub fn variable(&mut self, rows: usize, columns: usize, data: &[f32]) -> Var {
        let var = self.constant(rows, columns, data);
        self.entries[var.0 as usize].needs_gradient = true;
        var
    }

    /// The shape of a value: rows and columns.
    pub fn shape(&self, var: Var) -> (usize, usize) {
        let entry = &self.entries[var.0 as usize];
        (entry.rows as usize, entry.columns as usize)
    }

    pub fn value(&self, var: Var) -> &[f32] {
        let entry = &self.entries[var.0 as usize];
        match entry.place {
            Place::Arena(at) => &self.values[at..][..entry.len()],
            Place::Borrowed(data) => data,
        }
    }

    /// The only number of a value of shape `(1, 1)`.
    ///
    /// # Panics
    /// If it has another shape.
    pub fn scalar(&self, var: Var) -> f32 {
        assert_eq!(self.shape(var), (1, 1), "a scalar has one number");
        self.value(var)[0]
    }

    /// The gradient of the last [`backward`](Self::backward)'s loss by a parameter or a
    /// [`variable`](Self::variable).
    ///
    /// # Panics
    /// If `var` is anything else: the gradients of results are overwritten on the way.
    pub fn gradient(&self, var: Var) -> &[f32] {
        let entry = &self.entries[var.0 as usize];
        match (entry.op, entry.place) {
            (Op::Leaf, Place::Arena(at)) if entry.needs_gradient => &self.gradients[at..][..entry.len()],
            _ => panic!("only parameters and variables keep their gradient"),
        }
    }

    fn last(&self) -> Var {
        Var(self.entries.len() as u32 - 1)
    }

    fn needs_gradient(&self, var: Var) -> bool {
        self.entries[var.0 as usize].needs_gradient
    }
}
