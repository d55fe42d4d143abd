//! What a student learns from a frozen teacher besides the targets.
//!
//! C. Qin et al., NeurIPS 2021 ([`super::matcher::Egsc`]): of a pair's joint vector `h_AB` both
//! networks make `h_AB − h_AA` and `h_AB − h_BB`, and the student's should be like the teacher's:
//! number by number, by the distances between the pairs of a batch, or by the angles between three
//! of them (W. Park et al. Relational Knowledge Distillation. CVPR 2019). Unlike likeness is
//! `min(x²/2, |x| − 1/2)`, whichever continues the other at 1.
//!
//! Deviations from the authors' program: the teacher's batch norm has its running statistics; the
//! second head, which never learns there, is left out, and with it the error that stands in its
//! place is the first head's once more. `rec_head` is what was meant: the second head says the
//! target from both differences side by side, and its own error stands there.

use super::matcher::{Input, Matcher, Matrix, Stages};
use super::options::Distillation;
use folkmoot_graphs::Pair;
use folkmoot_learning::tape::{Backward, Function};
use folkmoot_learning::{Tape, Var};
use rayon::prelude::*;

/// Graphs that one thread reads at a time.
const CHUNK: usize = 16;

/// Pairs of the batch beside whose summed error the likeness stands. An error that is a mean has it
/// beside a 128th.
const PAIRS: f32 = 128.0;

/// A trained model, and what it makes of every graph.
pub struct Teacher<'a> {
    matcher: &'a dyn Matcher,
    parameters: &'a [f32],
    begun: Vec<Matrix>,
    distillation: Distillation,
}

impl<'a> Teacher<'a> {
    /// A teacher who has read the graphs that pairs will name.
    pub fn new(
        matcher: &'a dyn Matcher,
        parameters: &'a [f32],
        graphs: &[Input],
        distillation: Distillation,
    ) -> Teacher<'a> {
        let begin = |graphs: &[Input]| {
            Stages::with(matcher, parameters, |stages| {
                graphs
                    .iter()
                    .map(|graph| stages.begin(graph).state)
                    .collect::<Vec<Matrix>>()
            })
        };
        Teacher {
            begun: graphs.par_chunks(CHUNK).flat_map_iter(begin).collect(),
            matcher,
            parameters,
            distillation,
        }
    }

    /// What it makes of pairs.
    pub(super) fn lessons(&self, pairs: &[Pair]) -> Lessons {
        let (n_columns, shown) = Tape::with_own(|tape: &mut Tape<'_>| {
            tape.load(self.matcher.layout(), self.parameters);
            let on = |tape: &mut Tape<'_>, id: u32| {
                let Matrix { data, .. } = &self.begun[id as usize];
                let (rows, columns) = self.begun[id as usize].shape();
                tape.constant(rows, columns, data)
            };
            let pairs: Vec<[Var; 2]> = pairs
                .iter()
                .map(|pair| [on(tape, pair.first), on(tape, pair.second)])
                .collect();
            let made = decomposed(self.matcher, tape, &pairs);
            (tape.shape(made[0]).1, made.map(|var| tape.value(var).to_vec()))
        });
        let like = |relation| Like { relation, n_columns };
        let alike = match self.distillation {
            Distillation::None => vec![],
            Distillation::Values => vec![(10.0, like(Relation::Values))],
            Distillation::Distances => vec![(10.0, like(Relation::Distances))],
            Distillation::Angles => vec![(10.0, like(Relation::Angles))],
            Distillation::Both => vec![(5.0, like(Relation::Values)), (5.0, like(Relation::Distances))],
        };
        Lessons {
            shown,
            n_columns,
            alike,
        }
    }
}

/// What a teacher makes of the pairs of a batch, and in what the student should be alike.
pub(super) struct Lessons {
    shown: [Vec<f32>; 2],
    n_columns: usize,
    alike: Vec<(f32, Like)>,
}

impl Lessons {
    /// The error of a student and of its second head, or twice its own where it has none, and how
    /// unlike its teacher it is.
    pub(super) fn loss<'g>(
        &'g self,
        matcher: &'g dyn Matcher,
        tape: &mut Tape<'g>,
        (pairs, targets): (&[[Var; 2]], &'g [f32]),
        error: Var,
    ) -> Var {
        let made = decomposed(matcher, tape, pairs);
        let mut loss = match matcher.recovered(tape, made) {
            None => tape.scale(2.0, error),
            Some(scores) => {
                let of_second = tape.mean_squared_error(scores, targets, None);
                tape.add(error, of_second)
            }
        };
        for (made, shown) in made.into_iter().zip(&self.shown) {
            let shown = tape.input(pairs.len(), self.n_columns, shown);
            for (weight, like) in &self.alike {
                let unlike = tape.custom(like, &[made, shown], 1, 1);
                loss = tape.add_scaled(loss, weight / PAIRS, unlike);
            }
        }
        loss
    }
}

/// `h_AB − h_AA` and `h_AB − h_BB`, a row for each pair.
fn decomposed<'g>(matcher: &'g dyn Matcher, tape: &mut Tape<'g>, pairs: &[[Var; 2]]) -> [Var; 2] {
    let joint = |tape: &mut Tape<'g>, first, second| {
        let joint = matcher.joint(tape, first, second);
        joint.expect("a model that teaches or is taught has a vector of a pair")
    };
    let mut rows = [Vec::new(), Vec::new()];
    for &[first, second] in pairs {
        let whole = joint(tape, first, second);
        for (rows, side) in rows.iter_mut().zip([first, second]) {
            let own = joint(tape, side, side);
            rows.push(tape.subtract(whole, own));
        }
    }
    rows.map(|rows| tape.concat_rows(&rows))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Values,
    Distances,
    Angles,
}

/// The mean of how unlike a relation of a student's rows is to the teacher's, who gets no gradient.
#[derive(Clone, Copy, Debug)]
struct Like {
    relation: Relation,
    n_columns: usize,
}

/// Squared distances below it count as this much, and lengths below its own as that.
const SHORTEST: f32 = 1e-12;

impl Like {
    fn of(&self, x: &[f32]) -> Vec<f32> {
        let rows = || x.chunks_exact(self.n_columns);
        match self.relation {
            Relation::Values => x.to_vec(),
            Relation::Distances => rows()
                .flat_map(|a| rows().map(move |b| if std::ptr::eq(a, b) { 0.0 } else { distance(a, b) }))
                .collect(),
            Relation::Angles => {
                let of_row = |at: usize| {
                    let rays = self.rays(x, at).0;
                    let cosines = |a: &Vec<f32>| rays.iter().map(|b| dot(a, b)).collect::<Vec<f32>>();
                    rays.iter().flat_map(cosines).collect::<Vec<f32>>()
                };
                (0..rows().len()).flat_map(of_row).collect()
            }
        }
    }

    /// The directions from row `at` to each row, and their lengths.
    fn rays(&self, x: &[f32], at: usize) -> (Vec<Vec<f32>>, Vec<f32>) {
        let own = &x[at * self.n_columns..][..self.n_columns];
        let rays = x.chunks_exact(self.n_columns).map(|row| {
            let mut ray: Vec<f32> = row.iter().zip(own).map(|(a, b)| a - b).collect();
            let length = dot(&ray, &ray).sqrt().max(SHORTEST);
            ray.iter_mut().for_each(|x| *x /= length);
            (ray, length)
        });
        rays.unzip()
    }

    /// Adds to `gx` the gradient by rows `x` of what has the gradient `gy` by the relation.
    fn back(&self, x: &[f32], gy: &[f32], gx: &mut [f32]) {
        let (d, n) = (self.n_columns, x.len() / self.n_columns.max(1));
        let mut add = |row: usize, factor: f32, values: &[f32]| {
            for (gx, value) in gx[row * d..][..d].iter_mut().zip(values) {
                *gx += factor * value;
            }
        };
        match self.relation {
            Relation::Values => add_all(gy, gx),
            Relation::Distances => {
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let (a, b) = (&x[i * d..][..d], &x[j * d..][..d]);
                    let between: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                    let square = dot(&between, &between);
                    if square > SHORTEST {
                        let factor = gy[i * n + j] / square.sqrt();
                        add(i, factor, &between);
                        add(j, -factor, &between);
                    }
                }
            }
            Relation::Angles => {
                for (i, gy) in gy.chunks_exact(n * n).enumerate() {
                    let (rays, lengths) = self.rays(x, i);
                    for (j, (ray, length)) in rays.iter().zip(&lengths).enumerate() {
                        let mut to_ray = vec![0.0; d];
                        for (k, other) in rays.iter().enumerate() {
                            let factor = gy[j * n + k] + gy[k * n + j];
                            to_ray.iter_mut().zip(other).for_each(|(g, x)| *g += factor * x);
                        }
                        let along = dot(&to_ray, ray);
                        to_ray.iter_mut().zip(ray).for_each(|(g, x)| *g -= along * x);
                        add(j, 1.0 / length, &to_ray);
                        add(i, -1.0 / length, &to_ray);
                    }
                }
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    let square: f32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    square.max(SHORTEST).sqrt()
}

fn add_all(from: &[f32], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

impl Function for Like {
    fn forward(&self, x: &[&[f32]], y: &mut [f32]) {
        let (own, shown) = (self.of(x[0]), self.of(x[1]));
        let unlike = |(a, b): (&f32, &f32)| {
            let x = f64::from((a - b).abs());
            if x < 1.0 { x * x / 2.0 } else { x - 0.5 }
        };
        let sum: f64 = own.iter().zip(&shown).map(unlike).sum();
        y[0] = (sum / own.len().max(1) as f64) as f32;
    }

    fn backward(&self, cx: &mut Backward<'_, '_, '_>) {
        let (own, shown) = (self.of(cx.operand(0)), self.of(cx.operand(1)));
        let share = cx.gradient()[0] / own.len().max(1) as f32;
        let slopes = own.iter().zip(&shown).map(|(a, b)| share * (a - b).clamp(-1.0, 1.0));
        let (slopes, x) = (slopes.collect::<Vec<f32>>(), cx.operand(0));
        if let Some(gx) = cx.gradient_of(0) {
            self.back(x, &slopes, gx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against differences of the loss, where rows lie apart, on one another, and far from the
    /// teacher's.
    #[test]
    fn gradients_agree_with_differences() {
        let shown: Vec<f32> = (0..15).map(|k| (1.7 * k as f32).sin()).collect();
        let start: Vec<f32> = (0..15).map(|k| 3.0 * (0.9 * k as f32 + 0.4).cos()).collect();
        for relation in [Relation::Values, Relation::Distances, Relation::Angles] {
            let like = Like { relation, n_columns: 3 };
            let loss = |x: &[f32]| {
                let mut y = [0.0];
                like.forward(&[x, &shown], &mut y);
                f64::from(y[0])
            };
            let mut tape = Tape::new();
            let (x, to) = (tape.variable(5, 3, &start), tape.constant(5, 3, &shown));
            let unlike = tape.custom(&like, &[x, to], 1, 1);
            tape.backward(unlike);
            let gradient = tape.gradient(x);
            assert!(gradient.iter().any(|g| g.abs() > 1e-3), "{relation:?}: {gradient:?}");
            for (at, g) in gradient.iter().enumerate() {
                let moved = |by: f32| {
                    let mut x = start.clone();
                    x[at] += by;
                    loss(&x)
                };
                let slope = (moved(0.01) - moved(-0.01)) / 0.02;
                assert!(
                    (slope - f64::from(*g)).abs() < 2e-3,
                    "{relation:?} {at}: {slope} and {g}"
                );
            }
        }
    }

    #[test]
    fn equals_are_alike_and_rows_on_one_another_have_no_direction() {
        let rows = [1.0, 2.0, 1.0, 2.0, -3.0, 0.5];
        for relation in [Relation::Values, Relation::Distances, Relation::Angles] {
            let like = Like { relation, n_columns: 2 };
            let mut tape = Tape::new();
            let (x, to) = (tape.variable(3, 2, &rows), tape.constant(3, 2, &rows));
            let unlike = tape.custom(&like, &[x, to], 1, 1);
            tape.backward(unlike);
            assert_eq!(
                (tape.scalar(unlike), tape.gradient(x)),
                (0.0, [0.0; 6].as_slice()),
                "{relation:?}"
            );
        }
    }
}
