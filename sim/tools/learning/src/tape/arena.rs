//! Where values lie: entries of the list, and room in the two buffers.

use super::op::Op;
use super::{Tape, Var};
use crate::layout::Parameter;

/// Where a value lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'g> {
    /// From here on in both buffers.
    Arena(usize),
    /// In memory of the caller; it has no gradient.
    Borrowed(&'g [f32]),
}

/// What the tape knows of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'g> {
    pub(super) op: Op<'g>,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) place: Place<'g>,
    /// Floats behind the value that its gradient needs.
    pub(super) aux: u32,
    /// The value whose gradient this one is a part of: its own index, or for a view that of what it
    /// shows.
    pub(super) root: u32,
    pub(super) needs_gradient: bool,
    /// Whether something has been added to its gradient.
    pub(super) touched: bool,
}

/// What an operation reads and writes on its way forward.
pub(super) struct Forward<'a, 'g> {
    below: &'a [f32],
    pub(super) entries: &'a [Entry<'g>],
    pub(super) y: &'a mut [f32],
    pub(super) aux: &'a mut [f32],
    pub(super) scratch: &'a mut Vec<f32>,
}

impl<'a, 'g> Forward<'a, 'g> {
    /// The value of an operand.
    pub(super) fn operand(&self, var: Var) -> &'a [f32] {
        self.reader()(var)
    }

    /// The same as a function, for any number of operands.
    pub(super) fn reader(&self) -> impl Fn(Var) -> &'a [f32] + use<'a, 'g> {
        let (below, entries) = (self.below, self.entries);
        move |var| {
            let entry = &entries[var.0 as usize];
            match entry.place {
                Place::Arena(at) => &below[at..][..entry.len()],
                Place::Borrowed(data) => data,
            }
        }
    }
}

impl Entry<'_> {
    pub(super) fn len(&self) -> usize {
        self.rows as usize * self.columns as usize
    }
}

impl<'g> Tape<'g> {
    /// An entry at the top of the arena, not yet listed.
    pub(super) fn entry(&self, op: Op<'g>, rows: usize, columns: usize, needs_gradient: bool) -> Entry<'g> {
        Entry {
            op,
            rows: rows as u32,
            columns: columns as u32,
            place: Place::Arena(self.top),
            aux: 0,
            root: self.entries.len() as u32,
            needs_gradient,
            touched: false,
        }
    }

    /// Lists a value and makes room for it.
    pub(super) fn push(&mut self, op: Op<'g>, rows: usize, columns: usize, needs_gradient: bool) -> Var {
        self.push_with(op, rows, columns, needs_gradient, 0)
    }

    /// Lists a value and makes room for it and for `aux` floats behind it.
    pub(super) fn push_with(
        &mut self,
        op: Op<'g>,
        rows: usize,
        columns: usize,
        needs_gradient: bool,
        aux: usize,
    ) -> Var {
        let mut entry = self.entry(op, rows, columns, needs_gradient);
        entry.aux = aux as u32;
        self.entries.push(entry);
        self.grow(self.top + rows * columns + aux);
        self.last()
    }

    pub(super) fn grow(&mut self, top: usize) {
        self.top = top;
        if self.values.len() < top {
            self.values.resize(top, 0.0);
            self.gradients.resize(top, 0.0);
        }
    }

    /// The operands and the result of the last value.
    pub(super) fn open(&mut self, var: Var) -> Forward<'_, 'g> {
        let entry = &self.entries[var.0 as usize];
        let Place::Arena(at) = entry.place else {
            unreachable!("results lie in the arena");
        };
        let (below, above) = self.values.split_at_mut(at);
        let (y, above) = above.split_at_mut(entry.len());
        Forward {
            below,
            entries: &self.entries,
            y,
            aux: &mut above[..entry.aux as usize],
            scratch: &mut self.scratch,
        }
    }

    /// Moves a buffer towards what a value's auxiliary floats hold:
    /// `buffer += momentum (new − buffer)`.
    pub(super) fn blend(&mut self, buffer: Parameter, momentum: f32, new: impl Fn(&[f32], usize) -> f32, from: Var) {
        self.model_is_finite = None;
        let source = self.entries[from.0 as usize];
        let (Place::Arena(to), Place::Arena(at)) = (self.entries[buffer.var().0 as usize].place, source.place) else {
            unreachable!("buffers and results lie in the arena");
        };
        let n = self.entries[buffer.var().0 as usize].len();
        let (below, above) = self.values.split_at_mut(at);
        let aux = &above[source.len()..][..source.aux as usize];
        for (i, old) in below[to..][..n].iter_mut().enumerate() {
            *old += momentum * (new(aux, i) - *old);
        }
    }
}
