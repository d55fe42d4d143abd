//! The closed forms of FedWalk: how many device-to-device messages a walk needs, and the score of
//! its encoder.
//!
//! A walk of `l` vertices makes `l - 1` hops; each two-hop jump of the predictor saves one message.
//! The recurrence is that of Theorem 4.2: `E_1 = 0`, `E_2 = 1`,
//! `E_l = p (E_{l-2} + 1) + (1 - p) (E_{l-1} + 1)`. The closed form printed there is not its
//! solution: it is too small by `2p / (1 + p)` for long walks.

/// The expected number of messages, by the closed form that solves the recurrence:
/// `(l - 1) / (1 + p) + p (1 - (-p)^{l-1}) / (1 + p)²`.
///
/// `length` is at least 1, `p` lies in 0..=1.
pub fn expected_messages(length: u32, p: f64) -> f64 {
    let hops = length.saturating_sub(1);
    f64::from(hops) / (1.0 + p) + p * (1.0 - power(-p, hops)) / ((1.0 + p) * (1.0 + p))
}

/// The expected number of messages, by the recurrence of Theorem 4.2 itself, which mirrors
/// Algorithm 1 step by step.
///
/// `length` is at least 1, `p` lies in 0..=1. O(length) time: it is the check of
/// [`expected_messages`].
pub fn recurrent_messages(length: u32, p: f64) -> f64 {
    match length {
        0 | 1 => 0.0,
        _ => {
            let (mut before, mut last) = (0.0, 1.0);
            for _ in 2..length {
                (before, last) = (last, p * (before + 1.0) + (1.0 - p) * (last + 1.0));
            }
            last
        }
    }
}

/// The expected number of two-hop jumps of the predictor: each saves one of the `length - 1`
/// messages of a plain walk.
pub fn expected_jumps(length: u32, p: f64) -> f64 {
    f64::from(length.saturating_sub(1)) - expected_messages(length, p)
}

/// The closed form as the paper prints it.
pub fn printed_messages(length: u32, p: f64) -> f64 {
    let n = length.saturating_sub(2);
    f64::from(n) / (1.0 + p) + (2.0 - 2.0 * p - 1.0 / (1.0 + p)) * (1.0 - power(-p, n)) / (1.0 + p)
}

/// The exact law of the number of messages: entry `m` is the probability of `m` messages, `m` in
/// `0..length`.
///
/// O(length²) time.
pub fn message_law(length: u32, p: f64) -> Vec<f64> {
    let length = length.max(1) as usize;
    // `law[left]` is the law of the messages still to come with `left` vertices to append.
    let mut law: Vec<Vec<f64>> = Vec::with_capacity(length + 1);
    for left in 0..=length {
        let mut mine = vec![0.0; length];
        match left {
            0 | 1 => mine[0] = 1.0,
            2 => mine[1] = 1.0,
            _ => {
                for m in 1..length {
                    mine[m] = p * law[left - 2][m - 1] + (1.0 - p) * law[left - 1][m - 1];
                }
            }
        }
        law.push(mine);
    }
    law.swap_remove(length)
}

/// The variance of the number of messages.
pub fn message_variance(length: u32, p: f64) -> f64 {
    let law = message_law(length, p);
    let mean: f64 = law.iter().enumerate().map(|(m, q)| m as f64 * q).sum();
    law.iter()
        .enumerate()
        .map(|(m, q)| (m as f64 - mean) * (m as f64 - mean) * q)
        .sum()
}

/// The score of the encoder (Eqs. 9-12): minus the dissimilarity of two vertices times the leaves
/// under their lowest common ancestor in the tree. At most 0, and 0 for the vertex itself.
pub fn encoder_score(dissimilarity: f64, n_leaves: u32) -> f64 {
    -dissimilarity * f64::from(n_leaves)
}

/// The bound that Theorem 4.1 states for the mean change of a dissimilarity by the noise:
/// `3 k (max |N(v)|)² / (2 epsilon)`.
///
/// It is no bound: noise also reorders the rows, which the proof leaves out.
pub fn dissimilarity_bound(n_bins: usize, max_degree: usize, epsilon: f64) -> f64 {
    3.0 * n_bins as f64 * (max_degree as f64 * max_degree as f64) / (2.0 * epsilon)
}

/// The payload bytes of a walk's messages between devices without the predictor: message `i`
/// carries 12 bytes and `i` entries of 4.
pub fn plain_walk_bytes(length: u32) -> f64 {
    let hops = f64::from(length.saturating_sub(1));
    12.0 * hops + 2.0 * hops * (hops + 1.0)
}

/// `x^n` by repeated multiplication, the same on every machine.
fn power(x: f64, n: u32) -> f64 {
    (0..n).fold(1.0, |product, _| product * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the system's specification for l = 40.
    #[test]
    fn the_two_closed_forms_at_length_40() {
        let rows = [
            (0.0, 39.0, 39.0),
            (0.1, 35.5372, 35.3554),
            (0.2, 32.6389, 32.3056),
            (0.3, 30.1775, 29.7160),
            (0.4, 28.0612, 27.4898),
            (1.0, 20.0, 19.0),
        ];
        for (p, right, printed) in rows {
            assert!((expected_messages(40, p) - right).abs() < 5e-5, "p = {p}");
            assert!((printed_messages(40, p) - printed).abs() < 5e-5, "p = {p}");
        }
    }

    #[test]
    fn the_closed_form_solves_the_recurrence_and_the_law_has_its_mean() {
        for p in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let mut e = vec![f64::NAN, 0.0, 1.0];
            for l in 3..60 {
                e.push(p * (e[l - 2] + 1.0) + (1.0 - p) * (e[l - 1] + 1.0));
            }
            for l in 1..60u32 {
                let law = message_law(l, p);
                let mean: f64 = law.iter().enumerate().map(|(m, q)| m as f64 * q).sum();
                assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                assert!((mean - e[l as usize]).abs() < 1e-9, "l = {l}, p = {p}");
                assert!(
                    (expected_messages(l, p) - e[l as usize]).abs() < 1e-9,
                    "l = {l}, p = {p}"
                );
            }
        }
    }

    #[test]
    fn recurrence_and_jumps_at_their_borders() {
        for p in [0.0, 0.2, 1.0] {
            assert_eq!((recurrent_messages(0, p), recurrent_messages(1, p)), (0.0, 0.0));
            assert_eq!((recurrent_messages(2, p), recurrent_messages(3, p)), (1.0, 2.0 - p));
            assert!((recurrent_messages(40, p) - expected_messages(40, p)).abs() < 1e-12);
            // A jump needs three vertices, and at p = 1 every second hop is one.
            assert_eq!((expected_jumps(1, p), expected_jumps(2, p).abs() < 1e-15), (0.0, true));
            assert!((expected_jumps(3, p) - p).abs() < 1e-15);
        }
        assert!((expected_jumps(40, 1.0) - 19.0).abs() < 1e-12);
        assert!((expected_jumps(40, 0.2) - 6.3611).abs() < 5e-5);
    }

    #[test]
    fn a_plain_walk_of_40_carries_3588_bytes() {
        assert_eq!(plain_walk_bytes(40), 3588.0);
        assert_eq!((plain_walk_bytes(1), plain_walk_bytes(2)), (0.0, 16.0));
        assert_eq!(dissimilarity_bound(2, 2, 2.0), 6.0);
    }

    #[test]
    fn near_twins_under_a_low_ancestor_score_highest() {
        assert_eq!(encoder_score(0.0, 1), 0.0);
        assert_eq!(encoder_score(1.5, 4), -6.0);
    }

    #[test]
    fn the_printed_form_fails_its_own_border_cases() {
        assert_eq!(
            (printed_messages(2, 0.3), expected_messages(2, 0.3).round()),
            (0.0, 1.0)
        );
        assert!((printed_messages(3, 0.3) - 1.4).abs() < 1e-12 && (expected_messages(3, 0.3) - 1.7).abs() < 1e-12);
    }
}
