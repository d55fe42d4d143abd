//! Scores of predicted edges.

use crate::pairs::Pairs;
use folkmoot_scores::{auc, masked_average_precision};

/// The area under the ROC curve of pairs by their logits; `None` where it is undefined.
pub(crate) fn area(pairs: &Pairs, scores: &[f64]) -> Option<f64> {
    auc(&pairs.is_edge, scores).ok()
}

/// The average precision; `None` where it is undefined.
pub(crate) fn average_precision(pairs: &Pairs, scores: &[f64]) -> Option<f64> {
    let all = vec![true; scores.len()];
    masked_average_precision(&pairs.is_edge, &all, scores, 1).ok()?.mean
}

/// The mean binary cross entropy; `None` without pairs.
pub(crate) fn loss(pairs: &Pairs, scores: &[f64]) -> Option<f64> {
    // ln(1 + e^x) − target x, without overflow.
    let of_pair = |(is_edge, x): (&bool, &f64)| {
        let target = if *is_edge { *x } else { 0.0 };
        x.max(0.0) + libm::log1p(libm::exp(-x.abs())) - target
    };
    let sum: f64 = pairs.is_edge.iter().zip(scores).map(of_pair).sum();
    (!scores.is_empty()).then(|| sum / scores.len() as f64)
}

/// The mean over clients; `None` without any.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The rank of an edge among negative samples, from 1: equal scores count one half.
pub(crate) fn rank(edge: f64, others: &[f64]) -> f64 {
    let above = others.iter().filter(|other| **other > edge).count() as f64;
    let equal = others.iter().filter(|other| **other == edge).count() as f64;
    1.0 + above + equal / 2.0
}

/// The mean of `1 / rank`, and the fraction of ranks up to 1, 3 and 10; `None` without ranks.
pub(crate) fn of_ranks(ranks: &[f64]) -> Option<[f64; 4]> {
    let n = ranks.len() as f64;
    let share = |k: f64| ranks.iter().filter(|rank| **rank <= k).count() as f64 / n;
    let reciprocal = ranks.iter().map(|rank| 1.0 / rank).sum::<f64>() / n;
    (!ranks.is_empty()).then(|| [reciprocal, share(1.0), share(3.0), share(10.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_those_of_hand_calculation() {
        let pairs = Pairs::new(vec![(0, 1), (0, 2)], vec![(1, 2), (1, 3)]);
        let scores = [2.0, -1.0, 0.0, -2.0];
        assert_eq!(area(&pairs, &scores), Some(0.75));
        assert_eq!(average_precision(&pairs, &scores), Some((1.0 + 2.0 / 3.0) / 2.0));
        // ln(1 + e^−2) + ln(1 + e) + ln 2 + ln(1 + e^−2), over 4.
        let by_hand = (2.0 * 0.126_928_011_042_972_5 + 1.313_261_687_518_222_8 + std::f64::consts::LN_2) / 4.0;
        assert!((loss(&pairs, &scores).unwrap() - by_hand).abs() < 1e-12);
        assert_eq!(loss(&Pairs::default(), &[]), None);
    }

    #[test]
    fn equal_scores_share_ranks() {
        assert_eq!(rank(1.0, &[2.0, 1.0, 1.0, 0.0]), 3.0);
        assert_eq!(rank(3.0, &[]), 1.0);
        assert_eq!(of_ranks(&[1.0, 2.0, 4.0, 20.0]), Some([0.45, 0.25, 0.5, 0.75]));
        assert_eq!(of_ranks(&[]), None);
    }
}
