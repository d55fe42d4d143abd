//! What is known of a pair of users before and after they have said whether they are joined, by how
//! many neighbours each has.
//!
//! X. Zhu, V. Y. F. Tan, X. Xiao. Blink: Link Local Differential Privacy in Graph Neural Networks
//! via Bayesian Estimation. CCS 2023, sections 4.2 and 4.3. <https://arxiv.org/abs/2309.03190>
//!
//! The prior is the beta model of given degrees: `P(i ~ j) = σ(β_i + β_j)`, so that each expects
//! its degree. Its likelihood is greatest at the fixed point of
//! `β_i ← ln d_i − ln Σ_{j≠i} 1 / (e^{β_i} + e^{−β_j})`, from 0 on, which 200 steps come near to,
//! where there is one. With `u = e^β` a step is `u_i ← d_i / Σ_{j≠i} u_j / (1 + u_i u_j)`, without
//! a logarithm, and `P = u_i u_j / (1 + u_i u_j)`.
//!
//! Users of one degree have one β. So degrees are rounded to whole numbers, or where their noise is
//! wide to multiples of an eighth of its scale, which costs no privacy; a step then takes as many
//! terms as there are pairs of different degrees, and not of users.

/// Steps towards the fixed point.
const STEPS: usize = 200;

/// What is known of every pair before anybody has named another.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// The class of each user: those of one degree.
    pub classes: Vec<u32>,
    /// `e^β` of each class.
    pub u: Vec<f64>,
}

impl Prior {
    /// Of noisy degrees, none for a user who said nothing and so is joined to nobody. `scale` is
    /// that of their noise.
    ///
    /// # Complexity
    ///
    /// O(users log users + 200 × degrees²), degrees being those that differ.
    pub fn new(degrees: &[Option<f64>], scale: f64) -> Prior {
        let n = degrees.len();
        let step = (scale / 8.0).floor().max(1.0);
        let most = (n as f64 - 2.0).max(1.0);
        let rounded = |degree: &Option<f64>| match degree {
            // What is no number says nothing either.
            Some(degree) if !degree.is_nan() => ((degree.clamp(1.0, most) / step).round() * step).clamp(1.0, most),
            _ => 0.0,
        };
        let rounded: Vec<f64> = degrees.iter().map(rounded).collect();
        let mut values = rounded.clone();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let class = |degree: &f64| values.partition_point(|value| value < degree) as u32;
        let classes: Vec<u32> = rounded.iter().map(class).collect();
        let mut sizes = vec![0.0; values.len()];
        classes.iter().for_each(|class| sizes[*class as usize] += 1.0);
        let mut prior = Prior {
            u: values.iter().map(|degree| f64::from(*degree > 0.0)).collect(),
            classes,
        };
        for _ in 0..STEPS {
            prior.step(&values, &sizes);
        }
        prior
    }

    fn step(&mut self, degrees: &[f64], sizes: &[f64]) {
        let term = |u: f64, v: f64| v / (1.0 + u * v);
        let next = |(u, degree): (&f64, &f64)| {
            let all: f64 = self.u.iter().zip(sizes).map(|(v, size)| size * term(*u, *v)).sum();
            let others = all - term(*u, *u);
            // A finite number at any degree: beyond, an edge is certain, or out of the question.
            if *degree > 0.0 {
                (degree / others).clamp(1e-100, 1e100)
            } else {
                0.0
            }
        };
        self.u = self.u.iter().zip(degrees).map(next).collect();
    }

    /// How likely users of two classes are joined.
    pub fn of(&self, a: u32, b: u32) -> f64 {
        let odds = self.u[a as usize] * self.u[b as usize];
        odds / (1.0 + odds)
    }

    /// How likely two users are joined.
    pub fn of_users(&self, i: u32, j: u32) -> f64 {
        self.of(self.classes[i as usize], self.classes[j as usize])
    }
}

/// The likelihoods of what a pair has said, given that it is joined and that it is not, as a
/// posterior (Bayes).
pub(crate) fn bayes(prior: f64, joined: f64, apart: f64) -> f64 {
    let (yes, no) = (prior * joined, (1.0 - prior) * apart);
    if yes + no > 0.0 { yes / (yes + no) } else { prior }
}

/// How likely a pair is joined if `n_named` of its two users have named the other, each having told
/// the other way round with probability `flip` (Blink, equation 8).
pub fn posterior(prior: f64, n_named: u32, flip: f64) -> f64 {
    let keep = 1.0 - flip;
    let (joined, apart) = match n_named {
        0 => (flip * flip, keep * keep),
        1 => (flip * keep, flip * keep),
        _ => (keep * keep, flip * flip),
    };
    bayes(prior, joined, apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(all: &[f64]) -> Vec<Option<f64>> {
        all.iter().map(|degree| Some(*degree)).collect()
    }

    /// A path of four users: the likelihood has no greatest value, and this is where 200 steps come
    /// to.
    #[test]
    fn a_path_has_the_values_of_a_hand() {
        let prior = Prior::new(&degrees(&[1.0, 2.0, 2.0, 1.0]), 0.0);
        let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-5, "{got}, not {expected}");
        close(libm::log(prior.u[0]), -2.791_826);
        close(libm::log(prior.u[1]), 2.789_333);
        close(prior.of_users(0, 1), 0.499_377);
        close(prior.of_users(0, 3), 0.003_745);
        close(prior.of_users(1, 2), 0.996_237);
        close(
            prior.of_users(0, 1) + prior.of_users(0, 2) + prior.of_users(0, 3),
            1.002_50,
        );
        close(2.0 * prior.of_users(0, 1) + prior.of_users(1, 2), 1.994_99);
        // Golden, to the bit.
        assert_eq!(prior.u.iter().map(|u| u.to_bits()).collect::<Vec<_>>(), STABLE_PRIOR);
    }

    const STABLE_PRIOR: [u64; 2] = [4_588_996_406_731_261_097, 4_625_272_863_199_575_420];

    /// p = 1/4 and a prior of 0.1: one in 82, a tenth, one half.
    #[test]
    fn posteriors_are_those_of_a_hand() {
        let all = [0, 1, 2].map(|n_named| posterior(0.1, n_named, 0.25));
        assert!((all[0] - 1.0 / 82.0).abs() < 1e-12 && (all[1] - 0.1).abs() < 1e-12 && (all[2] - 0.5).abs() < 1e-12);
        // Golden, to the bit.
        assert_eq!(all.map(f64::to_bits), STABLE_POSTERIOR);
    }

    const STABLE_POSTERIOR: [u64; 3] = [
        4_578_183_630_955_485_435,
        4_591_870_180_066_957_723,
        4_602_678_819_172_646_912,
    ];

    /// Where the likelihood has a greatest value, each expects its degree; all alike, every pair is
    /// as likely.
    #[test]
    fn everybody_expects_its_degree() {
        let wanted: Vec<f64> = (0..60).map(|i| f64::from(3 + i % 7)).collect();
        let prior = Prior::new(&degrees(&wanted), 0.0);
        for (i, degree) in (0..).zip(&wanted) {
            let sum: f64 = (0..60).filter(|&j| j != i).map(|j| prior.of_users(i, j)).sum();
            assert!((sum - degree).abs() < 1e-6, "{i}: {sum}");
        }
        let alike = Prior::new(&degrees(&[4.0; 21]), 0.0);
        assert!((alike.of_users(3, 9) - 4.0 / 20.0).abs() < 1e-9);
    }

    /// Answers that are never wrong decide, and those that are drawn by a coin say nothing.
    #[test]
    fn answers_count_as_they_deserve() {
        for prior in [0.01, 0.4] {
            assert!((posterior(prior, 2, 0.0) - 1.0).abs() < 1e-15 && posterior(prior, 0, 0.0) == 0.0);
            for n_named in 0..3 {
                assert!((posterior(prior, n_named, 0.5) - prior).abs() < 1e-15);
            }
        }
    }

    /// Noise below 1 or above all others, wide noise, no number, and silence: classes stay few and
    /// chances are chances.
    #[test]
    fn any_degrees_will_do() {
        let mut told = vec![Some(-50.0), Some(1e9), Some(f64::NAN), Some(f64::INFINITY), None];
        told.extend((0..95).map(|i| Some(f64::from(i) * 1.37 - 20.0)));
        let prior = Prior::new(&told, 80.0);
        assert!(prior.u.len() < 15, "{}", prior.u.len());
        for i in 0..100 {
            for j in (0..100).filter(|&j| j != i) {
                let p = prior.of_users(i, j);
                // Who tells of none at most is joined to hardly anybody, and those who tell of most
                // are joined to each other.
                let bounds = match (i.min(j), i.max(j)) {
                    (5..20, _) => 0.0..=0.1,
                    (80.., _) => 0.9..=1.0,
                    _ => 0.0..=1.0,
                };
                assert!(bounds.contains(&p), "{i} {j} {p}");
                assert_eq!(p, prior.of_users(j, i), "{i} {j}");
            }
            // Who tells of a number in the middle expects about as many; the mean chance of all
            // would be up to 16 off.
            if (40..=60).contains(&i) {
                let expected: f64 = (5..100).filter(|&j| j != i).map(|j| prior.of_users(i, j)).sum();
                let degree = f64::from(i - 5) * 1.37 - 20.0;
                assert!((expected - degree).abs() < 8.0, "{i}: {expected} for {degree}");
            }
            assert_eq!((prior.of_users(4, i), prior.of_users(2, i)), (0.0, 0.0));
            // Whoever tells of more is no less likely to have it, and of far more likelier.
            for j in (5..99).filter(|&j| j != i && j + 1 != i) {
                assert!(prior.of_users(i, j) <= prior.of_users(i, j + 1), "{i} {j}");
            }
            if (31..60).contains(&i) {
                assert!(prior.of_users(i, 99) > 1.5 * prior.of_users(i, 30), "{i}");
            }
        }
        for n in 1..4 {
            let few = Prior::new(&vec![Some(1.0); n], 0.0);
            assert!(few.u.iter().all(|u| u.is_finite()));
        }
    }
}
