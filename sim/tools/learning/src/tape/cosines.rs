//! Losses on the tape that are made of other operations: of cosines.

use super::{Tape, Var};

impl<'g> Tape<'g> {
    /// InfoNCE of one anchor: `−ln (e^(s⁺/τ) / Σ e^(s/τ))`, `s` the cosines of `anchor` with
    /// `positive` and each row of `negatives`.
    ///
    /// Shapes `(1, d)`, `(1, d)` and `(k, d)`. The sum goes over the positive and the negatives (A.
    /// van den Oord et al. 2018, equation 4), or without `include_positive` over the negatives
    /// alone; the loss may then be negative.
    ///
    /// # Panics
    /// If the shapes do not fit, `temperature` is not above 0, or there is nothing to sum over.
    pub fn info_nce(
        &mut self,
        anchor: Var,
        positive: Var,
        negatives: Var,
        temperature: f32,
        include_positive: bool,
    ) -> Var {
        assert!(temperature > 0.0, "temperature must be above 0, got {temperature}");
        assert_eq!(
            (self.shape(anchor).0, self.shape(positive).0),
            (1, 1),
            "one anchor has one positive"
        );
        let n_negatives = self.shape(negatives).0;
        let others = self.concat_rows(&[positive, negatives]);
        let cosines = self.cosine(anchor, others);
        let scores = self.scale(1.0 / temperature, cosines);
        let first = self.slice_rows(scores, 0, 1);
        let summed = match include_positive {
            true => self.reshape(scores, 1, 1 + n_negatives),
            false => {
                let rest = self.slice_rows(scores, 1, n_negatives);
                self.reshape(rest, 1, n_negatives)
            }
        };
        let total = self.log_sum_exp(summed);
        self.subtract(total, first)
    }

    /// The mean over pairs of rows of `(cos(a_i, b_i) − target_i)²`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn cosine_squared_error(&mut self, a: Var, b: Var, targets: &'g [f32]) -> Var {
        let cosines = self.cosine(a, b);
        self.mean_squared_error(cosines, targets, None)
    }
}
