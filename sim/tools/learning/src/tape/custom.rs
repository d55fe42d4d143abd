//! Operations from outside: what a third party needs and the tape lacks.

use std::fmt;

use super::backward::Back;
use super::op::Op;
use super::{Tape, Var};

/// The most operands of a [`Function`].
const MOST: usize = 4;

/// An operation with a gradient of its own.
///
/// ```
/// use folkmoot_learning::{Tape, tape::{Backward, Function}};
///
/// #[derive(Debug)]
/// struct Cube;
///
/// impl Function for Cube {
///     fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
///         for (y, x) in y.iter_mut().zip(x[0]) {
///             *y = x * x * x;
///         }
///     }
///     fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
///         let (x, gy) = (cx.operand(0), cx.gradient().to_vec());
///         if let Some(gx) = cx.gradient_of(0) {
///             for ((gx, x), gy) in gx.iter_mut().zip(x).zip(gy) {
///                 *gx += 3.0 * x * x * gy;
///             }
///         }
///     }
/// }
///
/// let mut tape = Tape::new();
/// let x = tape.variable(1, 1, &[2.0]);
/// let y = tape.custom(&Cube, &[x], 1, 1);
/// tape.backward(y);
/// assert_eq!((tape.scalar(y), tape.gradient(x)), (8.0, [12.0].as_slice()));
/// ```
pub trait Function: fmt::Debug + Sync {
    /// Writes the whole of `y`, the result, from the operands `x`.
    fn forward(&self, x: &[&[f32]], y: &mut [f32]);

    /// Adds to the gradients of the operands.
    fn backward(&self, cx: &mut Backward<'_, '_, '_>);
}

/// What a [`Function`] sees on the way back.
pub struct Backward<'c, 'a, 'g> {
    back: &'c mut Back<'a, 'g>,
    operands: &'a [Var],
    gy: &'c [f32],
}

impl<'c, 'a> Backward<'c, 'a, '_> {
    /// The value of operand `i`.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn operand(&self, i: usize) -> &'a [f32] {
        self.back.value(self.operands[i])
    }

    /// The value of the result.
    pub fn result(&self) -> &'a [f32] {
        self.back.result().0
    }

    /// The gradient of the loss by the result.
    pub fn gradient(&self) -> &'c [f32] {
        self.gy
    }

    /// The gradient of the loss by operand `i`, to be added to; `None` if nobody needs it.
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn gradient_of(&mut self, i: usize) -> Option<&mut [f32]> {
        self.back.gradient(self.operands[i])
    }
}

#[derive(Clone, Copy)]
pub(super) struct Custom<'g> {
    function: &'g dyn Function,
    first: u32,
    n: u32,
}

impl fmt::Debug for Custom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.function.fmt(f)
    }
}

impl Custom<'_> {
    pub(super) fn backward(self, back: &mut Back<'_, '_>, gy: &[f32]) {
        let operands = back.operands(self.first, self.n);
        self.function.backward(&mut Backward { back, operands, gy });
    }
}

impl<'g> Tape<'g> {
    /// Applies an operation from outside; its result has shape `(rows, columns)`.
    ///
    /// # Panics
    /// With more than four operands.
    pub fn custom(&mut self, function: &'g dyn Function, operands: &[Var], rows: usize, columns: usize) -> Var {
        assert!(operands.len() <= MOST, "a function has at most {MOST} operands");
        let first = self.operands.len() as u32;
        self.operands.extend(operands);
        let needs = operands.iter().any(|var| self.needs_gradient(*var));
        let n = operands.len() as u32;
        let var = self.push(Op::Custom(Custom { function, first, n }), rows, columns, needs);
        let to = self.open(var);
        let mut values: [&[f32]; MOST] = [&[]; MOST];
        for (value, operand) in values.iter_mut().zip(operands) {
            *value = to.operand(*operand);
        }
        function.forward(&values[..operands.len()], to.y);
        var
    }
}
