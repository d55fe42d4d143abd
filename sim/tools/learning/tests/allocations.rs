//! From the second step of a shape on, nothing is allocated: forward, backward, optimiser and all
//! that is between.

#![allow(
    unsafe_code,
    reason = "counting allocations takes an allocator, and its trait is unsafe"
)]

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::cell::Cell;

use folkmoot_draws::{SeedableRng, SimRng};
use folkmoot_learning::layers::{
    BatchNorm, Gat, Gcn, Gin, GraphConv, Heads, LayerNorm, Linear, Lstm, Mode, MultiHeadAttention, Readout, Sage, Tag,
    light_gcn,
};
use folkmoot_learning::{
    Adam, Adjacency, Average, Batch, Csr, DegreeRule, Init, Layout, Moments, Optimiser, Sgd, Tape,
};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks for.
struct Counting;

// SAFETY: every call is passed on as it is; the counter neither allocates nor runs a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, at: *mut u8, block: Block) {
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.dealloc(at, block) }
    }

    unsafe fn realloc(&self, at: *mut u8, block: Block, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promises are those of this function.
        unsafe { System.realloc(at, block, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` asks for memory.
fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(vec![1u8; 100])), 1);
}

#[test]
fn a_step_through_every_layer_allocates_nothing() {
    let mut layout = Layout::new();
    let gcn = Gcn::new(&mut layout, "gcn", 5, 12);
    let gin = Gin::new(&mut layout, "gin", 12, 20, 12)
        .with_epsilon(&mut layout, "gin")
        .with_batch_norm(&mut layout, "gin", 20);
    let conv = GraphConv::new(&mut layout, "conv", 12, 12);
    let tag = Tag::new(&mut layout, "tag", 12, 12, 3);
    let sage = Sage::new(&mut layout, "sage", 12, 12);
    let gat = Gat::new(&mut layout, "gat", 12, 12, 3, Heads::Mean);
    let layer_norm = LayerNorm::new(&mut layout, "layer_norm", 12);
    let batch_norm = BatchNorm::new(&mut layout, "batch_norm", 12);
    let codes = layout.weight("codes", 3, 12, Init::Normal(1.0));
    let attention = MultiHeadAttention::new(&mut layout, "attention", 12, 4);
    let lstm = Lstm::bidirectional(&mut layout, "lstm", 12, 7);
    let head = Linear::new(&mut layout, "head", 14, 3);
    let model = layout.initialise(&mut SimRng::seed_from_u64(1));

    let arcs: Vec<(u32, u32)> = (0..9)
        .flat_map(|i| [(i, (i + 1) % 9), ((i + 1) % 9, i), (i, (i + 4) % 9)])
        .collect();
    let csr = Csr::from_arcs(9, &arcs, None).unwrap();
    let (looped, means) = (csr.with_self_loops(), csr.row_means());
    let (s, normal) = (
        looped.normalised(DegreeRule::Masked),
        csr.normalised(DegreeRule::Masked),
    );
    let features = [0.25; 45];
    let bounds = [0, 4, 9];
    let (labels, targets) = ([2, 0], [1.0, 0.0, 0.0, 1.0, 0.5, 0.0]);

    let optimisers = [
        Optimiser::Adam(Adam::default()),
        Optimiser::Sgd(Sgd {
            momentum: 0.9,
            ..Sgd::default()
        }),
        Optimiser::Sgd(Sgd::default()),
    ];
    let mut moments = [Moments::new(), Moments::new(), Moments::new()];
    let (mut average, mut batch, mut rng) = (Average::new(), Batch::new(5), SimRng::seed_from_u64(2));
    let mut step = of_one_lifetime(|tape| {
        let h = batch_step(tape, &features);
        let h = gcn.forward_relu(tape, (&s).into(), h);
        let h = tape.dropout(h, 0.2, &mut rng);
        let h = gin.forward_relu(tape, (&csr).into(), h, Mode::Train);
        let h = conv.forward(tape, (&csr).into(), h);
        let h = tag.forward(tape, (&normal).into(), h);
        let h = sage.forward(tape, (&means).into(), h);
        let h = gat.forward(tape, &looped, h);
        let h = light_gcn(tape, (&normal).into(), h, 2);
        let h = layer_norm.forward(tape, h);
        let h = batch_norm.forward(tape, h, Mode::Train);
        let a = tape.matmul_transposed(h, h);
        let a = tape.sigmoid(a);
        let a = tape.normalise_dense(a, None, true, DegreeRule::Abs);
        let h = tape.propagate(Adjacency::Dense(a), h);
        let [sum, mean, max] = [Readout::Sum, Readout::Mean, Readout::Max].map(|r| r.forward(tape, h, Some(&bounds)));
        let z = tape.concat_rows(&[sum, mean, max]);
        let attended = attention
            .forward(tape, codes.var(), z, Some(&[false, true, false, false, false, false]))
            .output;
        let joined = tape.concat_rows(&[attended, attended]);
        let scores = tape.arc_dot(&looped, h, h);
        let scores = tape.arc_softmax(&looped, scores);
        let h = tape.propagate(Adjacency::Weighted(&looped, scores), h);
        let seen = tape.perspectives(&[h, z], &[z, h], codes.var());
        let seen = tape.matmul(seen, codes.var());
        let seen = lstm.last_of(tape, seen, &[9, 6]);
        let states = lstm.last(tape, joined, 3);
        let states = tape.add(states, seen);
        let logits = head.forward(tape, states);
        let first = tape.slice_rows(z, 0, 1);
        let (second, rest) = (tape.slice_rows(z, 1, 1), tape.slice_rows(z, 2, 4));
        let losses = [
            tape.cross_entropy(logits, &labels, None),
            tape.logistic_loss(logits, &targets, None),
            tape.mean_squared_error(logits, &targets, None),
            tape.info_nce(first, second, rest, 0.5, false),
        ];
        let losses = tape.concat_rows(&losses);
        let loss = tape.sum(losses);
        tape.backward(loss);
        for (optimiser, moments) in optimisers.iter().zip(&mut moments) {
            let (parameters, gradient) = tape.parameters_mut();
            optimiser.step(moments, parameters, gradient);
        }
        average.add(tape.parameters(), 1.0);
        batch.clear();
        batch.push(&csr, &features);
        batch.push(&csr, &features);
        assert!(tape.scalar(loss).is_finite());
    });
    let mut tape = Tape::new();
    tape.load(&layout, &model);
    step(&mut tape);
    for _ in 0..3 {
        let count = allocations(|| {
            tape.reset();
            step(&mut tape);
        });
        assert_eq!(count, 0);
    }
    let mut recycled = Tape::new();
    let count = allocations(|| {
        recycled = std::mem::take(&mut tape).recycle();
        recycled.load(&layout, &model);
        step(&mut recycled);
    });
    assert_eq!(count, 0, "a recycled tape keeps its memory");
}

/// A closure's argument would else be a tape of any lifetime, which cannot borrow what the closure
/// holds.
fn of_one_lifetime<'g, F: FnMut(&mut Tape<'g>)>(step: F) -> F {
    step
}

/// The features on a tape, through a copy and a view.
fn batch_step(tape: &mut Tape<'_>, features: &[f32]) -> folkmoot_learning::Var {
    let x = tape.constant(5, 9, features);
    tape.reshape(x, 9, 5)
}
