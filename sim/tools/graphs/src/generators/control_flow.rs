//! Control-flow-like graphs: functions grown from structured statements, compiled into variants
//! that bear marks of their compiler.
//!
//! A function grows from `entry → exit` by replacing arcs with statements (sequence, branch,
//! two-way branch, loop, switch), as programs without `goto` do (Böhm & Jacopini, CACM 9 (1966)):
//! so every block is reached from the entry and reaches the exit. A variant keeps the function's
//! shape and splits, unrolls or copies some blocks; how many, and what its blocks count, depends on
//! compiler and level as far as `property_effect` says. With effect 0 variants tell nothing of
//! their property: an attack that still succeeds is wrong.

use folkmoot_draws::SimRng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// Checked parameters; `DatasetSpec::ControlFlow` documents them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlFlow {
    pub(crate) n_functions: u32,
    pub(crate) n_nodes: (u32, u32),
    pub(crate) n_compilers: u32,
    pub(crate) n_levels: u32,
    pub(crate) variant_prob: f64,
    pub(crate) property_effect: f64,
}

/// String constants, numeric constants, transfers, calls, instructions, arithmetic instructions.
pub(crate) const N_COUNTS: usize = 6;

/// A function, or one variant of it: block 0 is the entry, block 1 the exit.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The successors of each block.
    pub(crate) next: Vec<Vec<u32>>,
    pub(crate) counts: Vec<[u32; N_COUNTS]>,
}

/// One variant of one function.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) function: u32,
    /// `compiler × n_levels + level`.
    pub(crate) property: u32,
    pub(crate) program: Program,
}

/// Draws the variants of all functions, function after function, each in ascending order of
/// properties; at least one each.
pub(crate) fn control_flow(parameters: &ControlFlow, rng: &mut SimRng) -> Vec<Variant> {
    let n_properties = parameters.n_compilers * parameters.n_levels;
    let mut variants = Vec::new();
    for function in 0..parameters.n_functions {
        let source = Program::grow(rng.random_range(parameters.n_nodes.0..=parameters.n_nodes.1), rng);
        let mut present: Vec<u32> = (0..n_properties)
            .filter(|_| rng.random_bool(parameters.variant_prob))
            .collect();
        if present.is_empty() {
            present.push(rng.random_range(0..n_properties));
        }
        for property in present {
            let program = source.compile(&Marks::new(parameters, property), rng);
            variants.push(Variant {
                function,
                property,
                program,
            });
        }
    }
    variants
}

/// A statement that replaces an arc.
#[derive(Clone, Copy)]
enum Statement {
    Sequence,
    Branch,
    TwoWay,
    While,
    Repeat,
    Switch(u32),
}

impl Statement {
    /// One in twenty is a loop of one block, and so on: chosen so that there are about 1.5 arcs a
    /// node, as in the published sets.
    fn draw(rng: &mut SimRng) -> Statement {
        match rng.random_range(0..20_u32) {
            0..4 => Statement::Sequence,
            4..11 => Statement::Branch,
            11..14 => Statement::TwoWay,
            14..17 => Statement::While,
            17 => Statement::Repeat,
            _ => Statement::Switch(rng.random_range(3..=6)),
        }
    }

    fn n_blocks(self) -> u32 {
        match self {
            Statement::Sequence | Statement::Repeat => 1,
            Statement::Branch | Statement::While => 2,
            Statement::TwoWay => 3,
            Statement::Switch(cases) => cases + 1,
        }
    }
}

impl Program {
    /// A function of `n_blocks` blocks, at least 2.
    fn grow(n_blocks: u32, rng: &mut SimRng) -> Program {
        let mut next: Vec<Vec<u32>> = vec![vec![1], vec![]];
        while (next.len() as u32) < n_blocks {
            let room = n_blocks - next.len() as u32;
            let drawn = Statement::draw(rng);
            let statement = if drawn.n_blocks() <= room {
                drawn
            } else {
                Statement::Sequence
            };
            // Every block but the exit, which is block 1, has a successor.
            let from = rng.random_range(0..next.len() as u32 - 1);
            let from = from + u32::from(from >= 1);
            let slot = rng.random_range(0..next[from as usize].len() as u32) as usize;
            replace(&mut next, from as usize, slot, statement);
        }
        let counts = next
            .iter()
            .map(|successors| {
                let n_instructions = 1 + geometric(0.88, rng);
                let some = |share: f64, rng: &mut SimRng| {
                    (0..n_instructions).filter(|_| rng.random_bool(share)).count() as u32
                };
                [
                    some(0.01, rng),
                    some(0.15, rng),
                    u32::from(!successors.is_empty()),
                    some(0.06, rng),
                    n_instructions,
                    some(0.2, rng),
                ]
            })
            .collect();
        Program { next, counts }
    }

    /// A variant: each block gives rise to one more at most, so it has at most twice as many.
    fn compile(&self, marks: &Marks, rng: &mut SimRng) -> Program {
        let mut variant = self.clone();
        let mut n_predecessors = vec![0_u32; self.next.len()];
        for &to in self.next.iter().flatten() {
            n_predecessors[to as usize] += 1;
        }
        for (block, n_before) in n_predecessors.into_iter().enumerate() {
            // One draw a block whatever its kind, so that variants of one function stay comparable.
            let draw: f64 = rng.random();
            if let Some(slot) = variant.next[block].iter().position(|&to| to as usize == block) {
                if draw < marks.unroll_prob {
                    variant.unroll(block, slot);
                }
            } else if block > 1 && n_before > 1 && draw < marks.copy_prob {
                variant.copy(block, rng);
            } else if draw > 1.0 - marks.split_prob {
                variant.split(block);
            }
        }
        for counts in &mut variant.counts {
            marks.imprint(counts, rng);
        }
        variant
    }

    fn push(&mut self, next: Vec<u32>, counts: [u32; N_COUNTS]) -> u32 {
        self.next.push(next);
        self.counts.push(counts);
        self.next.len() as u32 - 1
    }

    /// A block that follows itself gets a second copy of its body within the loop.
    fn unroll(&mut self, block: usize, slot: usize) {
        let body = self.push(vec![block as u32], self.counts[block]);
        self.next[block][slot] = body;
    }

    /// One of the blocks before `block` gets a copy of it for itself.
    fn copy(&mut self, block: usize, rng: &mut SimRng) {
        let mut arcs: Vec<(usize, usize)> = Vec::new();
        for (from, successors) in self.next.iter().enumerate() {
            let here = successors.iter().enumerate().filter(|(_, to)| **to as usize == block);
            arcs.extend(here.map(|(slot, _)| (from, slot)));
        }
        arcs.shuffle(rng);
        let copy = self.push(self.next[block].clone(), self.counts[block]);
        // A loop whose every round would pass the copy stays whole: another arc still leads to
        // `block`.
        if let Some(&(from, slot)) = arcs.first() {
            self.next[from][slot] = copy;
        }
    }

    /// A block becomes two in a row, which share what it counts.
    fn split(&mut self, block: usize) {
        let mut second = self.counts[block].map(|count| count / 2);
        // The second half has the transfer at the end, the first falls through.
        second[2] = self.counts[block][2];
        for (count, taken) in self.counts[block].iter_mut().zip(second) {
            *count -= taken;
        }
        let successors = std::mem::take(&mut self.next[block]);
        let second = self.push(successors, second);
        self.next[block] = vec![second];
    }
}

/// Puts a statement in place of the arc in `slot` of `from`.
fn replace(next: &mut Vec<Vec<u32>>, from: usize, slot: usize, statement: Statement) {
    let to = next[from][slot];
    let first = next.len() as u32;
    next[from][slot] = first;
    match statement {
        Statement::Sequence => next.push(vec![to]),
        Statement::Branch => next.extend([vec![first + 1, to], vec![to]]),
        Statement::TwoWay => next.extend([vec![first + 1, first + 2], vec![to], vec![to]]),
        Statement::While => next.extend([vec![first + 1, to], vec![first]]),
        Statement::Repeat => next.push(vec![first, to]),
        Statement::Switch(cases) => {
            next.push((first + 1..=first + cases).collect());
            next.extend((0..cases).map(|_| vec![to]));
        }
    }
}

/// What a compiler at a level does to a function.
#[derive(Debug)]
struct Marks {
    split_prob: f64,
    unroll_prob: f64,
    copy_prob: f64,
    /// The probability that an instruction takes another one with it, such as a load from memory.
    extra_prob: f64,
    /// The probability that a block counts one more numeric constant.
    constant_prob: f64,
}

impl Marks {
    /// Level 0 splits and pads, the highest unrolls and copies; the last compiler has the most
    /// constants.
    fn new(parameters: &ControlFlow, property: u32) -> Marks {
        // From -1 for the first value to 1 for the last; 0 if there is one only. Without effect all
        // are 0.
        let place = |at: u32, n: u32| match n {
            0 | 1 => 0.0,
            n => parameters.property_effect * (2.0 * f64::from(at) / f64::from(n - 1) - 1.0),
        };
        let level = place(property % parameters.n_levels, parameters.n_levels);
        let compiler = place(property / parameters.n_levels, parameters.n_compilers);
        Marks {
            split_prob: 0.15 * (1.0 - level),
            unroll_prob: 0.4 * (1.0 + level),
            copy_prob: 0.15 * (1.0 + level),
            extra_prob: 0.3 * (1.0 - level),
            constant_prob: 0.4 * (1.0 + compiler),
        }
    }

    fn imprint(&self, counts: &mut [u32; N_COUNTS], rng: &mut SimRng) {
        let n_instructions = counts[4];
        counts[4] += (0..n_instructions).filter(|_| rng.random_bool(self.extra_prob)).count() as u32;
        counts[1] += u32::from(rng.random_bool(self.constant_prob));
    }
}

/// Failures before a success with probability `1 - again`, at most 200.
fn geometric(again: f64, rng: &mut SimRng) -> u32 {
    (0..200).take_while(|_| rng.random_bool(again)).count() as u32
}

#[cfg(test)]
mod tests;
