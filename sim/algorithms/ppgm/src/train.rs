//! Training on raw pairs, centrally: what happens before deployment and outside its threat model.

use super::distillation::{Lessons, Teacher};
use super::edits::Edits;
use super::matcher::{Input, Matcher, Range, Side, exchange};
use super::options::{Form, Padding, Targets, Training};
use super::pairs::{distinct, padded};
use folkmoot_draws::{Purpose, SimRng, Streams};
use folkmoot_engine::prelude::*;
use folkmoot_graphs::Pair;
use folkmoot_learning::{Adam, Decay, Moments, Optimiser, Tape, Var};
use rayon::prelude::*;

const DROPS: Purpose = Purpose(*b"pp-drops");

/// Pairs whose gradient is computed on one thread: the parts of a batch are summed in their order,
/// so the sum depends on the batch alone. Two parts share the ten pairs of the published batch; a
/// batch that is read as a whole is one part.
const PART: usize = 5;

/// A model under training.
pub struct Trainer<'a> {
    matcher: &'a dyn Matcher,
    form: Form,
    batch: usize,
    optimiser: Optimiser,
    moments: Moments,
    parameters: Vec<f32>,
    parts: Vec<Part>,
    streams: Streams,
    n_steps: u64,
    teacher: Option<Teacher<'a>>,
    edits: Option<&'a Edits>,
}

/// What one thread leaves of its part of a batch.
#[derive(Default)]
struct Part {
    gradient: Vec<f32>,
    buffers: Vec<f32>,
    loss: f64,
}

impl<'a> Trainer<'a> {
    /// Training from `parameters`.
    pub fn new(
        matcher: &'a dyn Matcher,
        form: Form,
        training: &Training,
        parameters: Vec<f32>,
        streams: Streams,
    ) -> Trainer<'a> {
        let optimiser = Optimiser::Adam(Adam {
            learning_rate: training.learning_rate as f32,
            decay: match training.weight_decay {
                0.0 => Decay::None,
                strength => Decay::L2(strength as f32),
            },
            ..Adam::default()
        });
        Trainer {
            matcher,
            form,
            batch: training.batch_pairs as usize,
            optimiser,
            moments: Moments::new(),
            parameters,
            parts: Vec::new(),
            streams,
            n_steps: 0,
            teacher: None,
            edits: None,
        }
    }

    /// The same under a teacher, if there is one.
    pub fn taught_by(self, teacher: Option<Teacher<'a>>) -> Trainer<'a> {
        Trainer { teacher, ..self }
    }

    /// The same towards similarities, if there are any, in place of classes.
    pub fn towards(self, edits: Option<&'a Edits>) -> Trainer<'a> {
        Trainer { edits, ..self }
    }

    /// The model so far.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// One pass over pairs in batches; the mean of the batches' losses, weighted by their pairs.
    pub fn epoch(&mut self, graphs: &[Input], pairs: &[Pair]) -> f64 {
        let total: f64 = pairs
            .chunks(self.batch.max(1))
            .map(|batch| self.step(graphs, batch) * batch.len() as f64)
            .sum();
        total / pairs.len().max(1) as f64
    }

    /// One step of the optimiser on the mean over pairs of `(score − target)²`; returns that mean.
    pub fn step(&mut self, graphs: &[Input], batch: &[Pair]) -> f64 {
        let ids = distinct(batch);
        let padded = match self.form.padding {
            Padding::Masked => Vec::new(),
            Padding::Unmasked => padded(graphs, &ids),
        };
        let input = |id: u32| match ids.binary_search(&id) {
            Ok(at) if !padded.is_empty() => &padded[at],
            _ => &graphs[id as usize],
        };
        let size = match self.matcher.reads_batch() || self.teacher.is_some() {
            true => batch.len(),
            false => PART,
        };
        self.parts.resize_with(batch.len().div_ceil(size), Part::default);
        let (matcher, parameters, form, teacher) = (self.matcher, &self.parameters, &self.form, &self.teacher);
        let (streams, step, edits) = (self.streams, self.n_steps, self.edits);
        let target = |pair: &Pair| match edits {
            Some(edits) => edits.similarity(pair) as f32,
            None => target(matcher.range(), form, pair.matches),
        };
        let work = |(at, (part, pairs)): (usize, (&mut Part, &[Pair]))| {
            let share = pairs.len() as f32 / batch.len() as f32;
            let mut rng = streams.counted(DROPS, Party::Server, Round(at as u32), step);
            let lessons = teacher.as_ref().map(|teacher| teacher.lessons(pairs));
            let targets: Vec<f32> = pairs.iter().map(target).collect();
            let given = (parameters.as_slice(), form, lessons.as_ref());
            part.run(matcher, given, &input, (pairs, &targets), share, &mut rng);
        };
        let parts = self.parts.par_iter_mut().zip(batch.par_chunks(size)).enumerate();
        parts.for_each(work);
        self.n_steps += 1;
        let (sum, rest) = self.parts.split_first_mut().expect("a batch has a pair");
        let mut loss = sum.loss;
        for part in rest {
            loss += part.loss;
            for (sum, x) in sum.gradient.iter_mut().zip(&part.gradient) {
                *sum += x;
            }
        }
        let n = sum.gradient.len();
        self.optimiser
            .step(&mut self.moments, &mut self.parameters[..n], &sum.gradient);
        // Whoever has running statistics reads a batch in one part.
        self.parameters[n..].copy_from_slice(&sum.buffers);
        loss
    }
}

impl Part {
    fn run<'g>(
        &mut self,
        matcher: &'g dyn Matcher,
        (parameters, form, lessons): (&[f32], &Form, Option<&Lessons>),
        input: &impl Fn(u32) -> &'g Input,
        (pairs, targets): (&[Pair], &[f32]),
        share: f32,
        rng: &mut SimRng,
    ) {
        let ids = distinct(pairs);
        let place = |id: u32| ids.binary_search(&id).expect("the ids are those of the pairs");
        let drops = form.dropout > 0.0 || matcher.learns_with_noise() || matcher.reads_batch();
        Tape::with_own(|tape: &mut Tape<'_>| {
            tape.load(matcher.layout(), parameters);
            let inputs: Vec<&Input> = ids.iter().map(|&id| input(id)).collect();
            let begun = matcher.begin(tape, &inputs, drops.then_some(&mut *rng));
            let places = |pair: &Pair| [place(pair.first), place(pair.second)];
            let places: Vec<usize> = pairs.iter().flat_map(places).collect();
            let graphs: Vec<&Input> = places.iter().map(|&at| inputs[at]).collect();
            let mut sides: Vec<Side> = places.iter().map(|&at| begun[at]).collect();
            let drops = drops.then_some(&mut *rng);
            exchange(matcher, tape, &graphs, &mut sides, drops, |_| {});
            let (sides, _) = sides.as_chunks::<2>();
            let states: Vec<[Var; 2]> = sides.iter().map(|pair| pair.map(|side| side.state)).collect();
            let scores = matcher.scores(tape, &states);
            let error = tape.mean_squared_error(scores, targets, None);
            let error = tape.scale(share, error);
            let loss = match lessons {
                // Whoever has a teacher reads a batch in one part, whose share is all of it.
                Some(lessons) => lessons.loss(matcher, tape, (&states[..], targets), error),
                None => error,
            };
            tape.backward(loss);
            self.loss = f64::from(tape.scalar(error));
            self.gradient.clear();
            self.gradient.extend_from_slice(tape.parameters_mut().1);
            self.buffers.clear();
            self.buffers
                .extend_from_slice(&tape.parameters()[self.gradient.len()..]);
        });
    }
}

fn target(range: Range, form: &Form, matches: bool) -> f32 {
    match (range, form.targets, matches) {
        (_, _, true) => 1.0,
        (Range::Signed, Targets::PlusMinusOne, false) => -1.0,
        _ => 0.0,
    }
}
