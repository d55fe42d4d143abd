//! What guesses of yes and no come to.

use super::MOST_FALSE;
use folkmoot_engine::prelude::*;
use folkmoot_scores as scores;

/// With fewer others a rate of 1 in 100 cannot be told.
const FEWEST_OTHERS: usize = 100;
/// Of the normal law, beyond which lie 2.5 %.
const Z: f64 = 1.959_963_984_540_054;

/// Guesses of an attacker: the higher a score, the surer.
pub struct Guesses<'a> {
    /// Whether the guess should be yes.
    pub is_one: &'a [bool],
    pub scores: &'a [f64],
}

impl Guesses<'_> {
    /// Writes `NAME_auc` and `NAME_found` down, under a label or as what was reached, and
    /// `NAME_advantage` where the attacker says yes above a bound: one that was fixed before, never
    /// chosen by looking.
    pub fn write(&self, name: &str, bound: Option<f64>, label: Option<&str>, sheet: &mut Sheet) {
        let mut number = |what: &str, value: f64| match label {
            None => sheet.number(format!("{name}_{what}"), value),
            Some(label) => sheet.reference(format!("{name}_{what}"), label, value),
        };
        let n_ones = self.is_one.iter().filter(|is_one| **is_one).count();
        let n_others = self.is_one.len() - n_ones;
        let Ok(area) = scores::auc(self.is_one, self.scores) else {
            return;
        };
        number("auc", area);
        if let Some(bound) = bound {
            number("advantage", self.advantage(bound));
        }
        if n_others < FEWEST_OTHERS {
            return;
        }
        let found = scores::true_positive_rate(self.is_one, self.scores, MOST_FALSE);
        let Ok(found) = found else { return };
        number("found", found);
        if label.is_none() {
            let [low, high] = wilson(found, n_ones as f64);
            sheet.reference(format!("{name}_found"), "low", low);
            sheet.reference(format!("{name}_found"), "high", high);
        }
    }

    /// The share of ones above the bound less that of others.
    fn advantage(&self, bound: f64) -> f64 {
        let share = |of: bool| {
            let all = self.is_one.iter().zip(self.scores).filter(|(is_one, _)| **is_one == of);
            let (n, above) = all.fold((0, 0), |(n, above), (_, score)| {
                (n + 1, above + u32::from(*score > bound))
            });
            f64::from(above) / f64::from(n)
        };
        share(true) - share(false)
    }
}

/// The 95 % interval of a share of `n` by E. B. Wilson (Probable Inference. Journal of the American
/// Statistical Association 22, 1927).
pub(super) fn wilson(share: f64, n: f64) -> [f64; 2] {
    let (zz, centre) = (Z * Z, share + Z * Z / (2.0 * n));
    let half = Z * (share * (1.0 - share) / n + zz / (4.0 * n * n)).sqrt();
    [(centre - half) / (1.0 + zz / n), (centre + half) / (1.0 + zz / n)].map(|x| x.clamp(0.0, 1.0))
}

/// The one in the middle; nothing of nothing.
pub(super) fn median(mut all: Vec<f64>) -> Option<f64> {
    all.sort_by(f64::total_cmp);
    let last = all.len().checked_sub(1)?;
    Some((all[last / 2] + all[all.len() / 2]) / 2.0)
}

/// How many others there are, and that they are too few where they are.
pub(super) fn count(name: &'static str, is_one: &[bool], sheet: &mut Sheet) {
    let n_others = is_one.iter().filter(|is_one| !**is_one).count();
    sheet.number(Unit::Count.of(name), n_others as f64);
    if n_others == 0 || n_others == is_one.len() {
        sheet.warn(format!(
            "{name} is {n_others} of {}: there is nothing to tell apart, and no number of the attack is written",
            is_one.len()
        ));
    } else if n_others < FEWEST_OTHERS {
        sheet.warn(format!(
            "{name} is {n_others}: with fewer than {FEWEST_OTHERS} no rate of 1 false in 100 can be told, and what is found is left out"
        ));
    }
}
