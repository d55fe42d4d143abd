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
use folkmoot_parts::{Component, Rules, component};
use ndarray::Array2;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{Generator, MAX_NODES};
use crate::{CountScaling, DataError, Dataset, Features, GraphBuilder, Properties};

/// The most blocks of a function before it is compiled.
const MAX_BLOCKS: u32 = 10_000;

/// Synthetic control-flow graphs with functions, variants and properties: the counterpart of
/// `FunctionGraphs` without files.
#[component(name = "ControlFlow", rules)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlFlow {
    /// Number of functions, which are the classes.
    #[component(default = 100, in = 2..=1_000_000)]
    pub n_functions: u32,
    /// Minimum and maximum number of blocks of a function before compilation, within 2..=10000;
    /// a variant has at most twice as many nodes.
    #[component(default = (20, 60))]
    pub n_nodes: (u32, u32),
    /// Number of compilers.
    #[component(default = 2, in = 1..=16)]
    pub n_compilers: u32,
    /// Number of optimisation levels; with `n_compilers` they give the properties, at least 2.
    #[component(default = 4, in = 1..=16)]
    pub n_levels: u32,
    /// Probability that a binary contains a function; each function has at least one variant.
    #[component(default = 0.9, in = 0..=1)]
    pub variant_prob: f64,
    /// Effect of the property on graphs and counts, from 0 (none) to 1.
    #[component(default = 0.5, in = 0..=1)]
    pub property_effect: f64,
    /// Scaling of the six count features per node.
    pub scaling: CountScaling,
}

impl ControlFlow {
    fn rules(&self, rules: &mut Rules) {
        let (least, most) = self.n_nodes;
        let rule = format!("must be a range (least, greatest) within 2..={MAX_BLOCKS}, got ({least}, {most})");
        let range_holds = 2 <= least && least <= most && most <= MAX_BLOCKS;
        rules.require(range_holds, "n_nodes", rule);
        let rule = "must be 2 or more with a single compiler: with one property there is nothing to infer";
        rules.require(self.n_compilers != 1 || self.n_levels != 1, "n_levels", rule);
        if !rules.is_broken("") {
            let n_variants = u64::from(self.n_functions) * u64::from(self.n_compilers * self.n_levels);
            let n_blocks = n_variants * u64::from(2 * most);
            let rule = format!(
                "gives up to {n_blocks} nodes in {n_variants} variants; at most {MAX_NODES} are drawn, lower it or `n_nodes`"
            );
            rules.require(n_blocks <= u64::from(MAX_NODES), "n_functions", rule);
        }
    }
}

impl Generator for ControlFlow {
    const ENTRY: [&'static str; 2] = [
        "ControlFlow()",
        "generated: control-flow graphs in the format of FunctionGraphs",
    ];

    fn n_nodes(&self) -> u64 {
        let all = [self.n_functions, self.n_nodes.1, self.n_compilers, self.n_levels];
        all.into_iter().map(u64::from).fold(1, u64::saturating_mul)
    }

    fn draw(&self, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let variants = control_flow(self, rng);
        let properties = variants.iter().map(|variant| variant.property).collect();
        let labels: Vec<u32> = variants.iter().map(|variant| variant.function).collect();
        let mut graphs = Vec::with_capacity(variants.len());
        let mut counts: Vec<f32> = Vec::new();
        for variant in variants {
            let program = variant.program;
            let arcs = (0_u32..).zip(&program.next);
            let pairs: Vec<(u32, u32)> = arcs
                .flat_map(|(from, next)| next.iter().map(move |&to| (from, to)))
                .collect();
            let builder = GraphBuilder::new(program.next.len() as u32);
            graphs.push(builder.directed(true).keep_self_loops(true).build(&pairs)?.0);
            counts.extend(program.counts.iter().flatten().map(|&count| count as f32));
        }
        let counts = Array2::from_shape_vec((counts.len() / N_COUNTS, N_COUNTS), counts);
        let counts = Features::Dense(counts.expect("every node has a row of six counts").into());
        let values = (0..self.n_compilers).flat_map(|compiler| {
            (0..self.n_levels).map(move |level| vec![format!("compiler {compiler}"), format!("O{level}")])
        });
        let n_single = labels
            .chunk_by(|a, b| a == b)
            .filter(|variants| variants.len() == 1)
            .count();
        let notes = match n_single {
            0 => Vec::new(),
            n => vec![format!(
                "{n} functions have one variant only: their matching pair is the graph with itself"
            )],
        };
        Ok(Dataset {
            name: Self::NAME.to_owned(),
            graphs,
            features: Some(self.scaling.apply(counts)),
            graph_properties: Properties::new(&["compiler", "level"], values.collect(), properties),
            graph_labels: Some(labels),
            n_classes: self.n_functions as usize,
            notes,
            ..Dataset::default()
        })
    }
}

/// String constants, numeric constants, transfers, calls, instructions, arithmetic instructions.
const N_COUNTS: usize = 6;

/// A function, or one variant of it: block 0 is the entry, block 1 the exit.
#[derive(Clone, Debug)]
struct Program {
    /// The successors of each block.
    next: Vec<Vec<u32>>,
    counts: Vec<[u32; N_COUNTS]>,
}

/// One variant of one function.
#[derive(Debug)]
struct Variant {
    function: u32,
    /// `compiler × n_levels + level`.
    property: u32,
    program: Program,
}

/// Draws the variants of all functions, function after function, each in ascending order of
/// properties; at least one each.
fn control_flow(parameters: &ControlFlow, rng: &mut SimRng) -> Vec<Variant> {
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
