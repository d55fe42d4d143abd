//! One step of training: forward, backward, Adam, on one thread, for the two graph classifiers of
//! the budget and for the shapes that contrastive and matching training have.
//!
//! Graphs are random, of fixed seeds. `ppgm_pair` is three layers of GCN at width 100, attention of
//! 8 codes, attention of the other side's messages and an LSTM, for both graphs of a pair; `fgcl`
//! is two noisy views and 10 negatives of 34 nodes through two layers of GCN at width 64 with
//! InfoNCE and cross entropy.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{Rng, SeedableRng, SimRng};
use folkmoot_learning::layers::{Gcn, Gin, Linear, Lstm, Mode, MultiHeadAttention, Readout};
use folkmoot_learning::{Adam, Adjacency, Average, Csr, DegreeRule, Init, Layout, Moments, Optimiser, Sgd, Tape, Var};

fn drawn(rng: &mut SimRng, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| (rng.next_u32() >> 8) as f32 / 8_388_608.0 - 1.0)
        .collect()
}

/// `n_edges` distinct edges over `n` nodes, both directions of each.
fn graph(rng: &mut SimRng, n: u32, n_edges: usize) -> Csr {
    let mut edges = Vec::new();
    while edges.len() < 2 * n_edges {
        let (u, v) = (rng.next_u32() % n, rng.next_u32() % n);
        if u != v && !edges.contains(&(u, v)) {
            edges.extend([(u, v), (v, u)]);
        }
    }
    Csr::from_arcs(n, &edges, None).expect("ids are below n")
}

fn gcn_matrix(csr: &Csr) -> Csr {
    csr.with_self_loops().normalised(DegreeRule::Masked)
}

/// Runs steps of `loss` on one tape.
fn steps<'g>(c: &mut Criterion, name: &str, layout: &Layout, loss: impl Fn(&mut Tape<'g>) -> Var) {
    let adam = Optimiser::Adam(Adam::default());
    let (mut tape, mut moments) = (Tape::new(), Moments::new());
    tape.load(layout, &layout.initialise(&mut SimRng::seed_from_u64(1)));
    let mut group = c.benchmark_group("step");
    group.throughput(Throughput::Elements(1));
    group.bench_function(name, |b| {
        b.iter(|| {
            tape.reset();
            let loss = loss(&mut tape);
            tape.backward(loss);
            let (parameters, gradient) = tape.parameters_mut();
            adam.step(&mut moments, parameters, gradient);
            black_box(tape.scalar(loss))
        });
    });
    group.finish();
}

fn budget(c: &mut Criterion) {
    let mut rng = SimRng::seed_from_u64(2);
    let csr = graph(&mut rng, 20, 40);
    let (s, features) = (gcn_matrix(&csr), drawn(&mut rng, 20 * 7));

    let mut layout = Layout::new();
    let convs = [("0", 7), ("1", 16)].map(|(name, n_in)| Gcn::new(&mut layout, name, n_in, 16));
    let head = Linear::new(&mut layout, "head", 16, 2);
    assert_eq!(layout.len(), 434);
    steps(c, "gcn_2x16", &layout, |tape| {
        let mut h = tape.input(20, 7, &features);
        for conv in &convs {
            h = conv.forward_relu(tape, (&s).into(), h);
        }
        let z = Readout::Mean.forward(tape, h, None);
        let logits = head.forward(tape, z);
        tape.cross_entropy(logits, &[1], None)
    });

    let mut layout = Layout::new();
    let convs: Vec<Gin> = (0..5)
        .map(|layer| Gin::new(&mut layout, &layer.to_string(), if layer == 0 { 7 } else { 64 }, 64, 64))
        .collect();
    let head = Linear::new(&mut layout, "head", 64, 2);
    assert_eq!(layout.len(), 38_082);
    steps(c, "gin_5x64", &layout, |tape| {
        let mut h = tape.input(20, 7, &features);
        for conv in &convs {
            h = conv.forward_relu(tape, (&csr).into(), h, Mode::Train);
        }
        let z = Readout::Sum.forward(tape, h, None);
        let logits = head.forward(tape, z);
        tape.cross_entropy(logits, &[1], None)
    });
}

fn matching(c: &mut Criterion) {
    const WIDTH: usize = 100;
    const N_CODES: usize = 8;
    let mut rng = SimRng::seed_from_u64(3);
    let sides = [0, 1].map(|_| (gcn_matrix(&graph(&mut rng, 90, 400)), drawn(&mut rng, 90 * 6)));
    let mut layout = Layout::new();
    let convs = [("0", 6), ("1", WIDTH), ("2", WIDTH)].map(|(name, n_in)| Gcn::new(&mut layout, name, n_in, WIDTH));
    let codes = layout.weight("codes", N_CODES, WIDTH, Init::Normal(1.0));
    let messages = MultiHeadAttention::new(&mut layout, "messages", WIDTH, 4);
    let matches = MultiHeadAttention::new(&mut layout, "matches", WIDTH, 4);
    let lstm = Lstm::new(&mut layout, "lstm", 2 * WIDTH, WIDTH);
    assert_eq!(layout.len(), 223_300);
    steps(c, "ppgm_pair", &layout, |tape| {
        let encoded = [0, 1].map(|side| {
            let (s, features) = &sides[side];
            let mut h = tape.input(90, 6, features);
            for conv in &convs {
                h = conv.forward_relu(tape, s.into(), h);
            }
            (h, messages.forward(tape, codes.var(), h, None).output)
        });
        let outputs = [0, 1].map(|side| {
            let theirs = encoded[1 - side].1;
            let matched = matches.forward(tape, theirs, encoded[side].0, None).output;
            let joined = tape.concat_columns(&[matched, theirs]);
            lstm.last(tape, joined, N_CODES)
        });
        tape.cosine_squared_error(outputs[0], outputs[1], &[1.0])
    });
}

fn contrasting(c: &mut Criterion) {
    const N: usize = 34;
    const BOUNDS: [u32; 13] = {
        let mut bounds = [0; 13];
        let mut i = 0;
        while i < 13 {
            bounds[i] = (i * N) as u32;
            i += 1;
        }
        bounds
    };
    let mut rng = SimRng::seed_from_u64(4);
    let (noisy, features) = (drawn(&mut rng, 12 * N * N), drawn(&mut rng, 12 * N * 9));
    let mut layout = Layout::new();
    let convs = [("0", 9), ("1", 64)].map(|(name, n_in)| Gcn::new(&mut layout, name, n_in, 64));
    let head = Linear::new(&mut layout, "head", 64, 2);
    steps(c, "fgcl", &layout, |tape| {
        let weights = tape.input(1, 12 * N * N, &noisy);
        let s = tape.normalise_dense(weights, Some(&BOUNDS), true, DegreeRule::Masked);
        let mut h = tape.input(12 * N, 9, &features);
        for conv in &convs {
            h = conv.forward_relu(tape, Adjacency::Blocks(s, &BOUNDS), h);
        }
        let z = Readout::Mean.forward(tape, h, Some(&BOUNDS));
        let [first, second] = [0, 1].map(|view| tape.slice_rows(z, view, 1));
        let negatives = tape.slice_rows(z, 2, 10);
        let contrast = tape.info_nce(first, second, negatives, 1.0, true);
        let views = tape.slice_rows(z, 0, 2);
        let logits = head.forward(tape, views);
        let label = tape.cross_entropy(logits, &[1, 1], None);
        tape.add_scaled(label, 0.01, contrast)
    });
}

/// What a round costs for each client of a small model: its model loaded, one step of gradient
/// descent, its update summed.
fn clients(c: &mut Criterion) {
    const N_CLIENTS: usize = 100;
    let mut rng = SimRng::seed_from_u64(5);
    let data: Vec<(Csr, Vec<f32>)> = (0..N_CLIENTS)
        .map(|_| (gcn_matrix(&graph(&mut rng, 20, 40)), drawn(&mut rng, 20 * 7)))
        .collect();
    let mut layout = Layout::new();
    let convs = [("0", 7), ("1", 16)].map(|(name, n_in)| Gcn::new(&mut layout, name, n_in, 16));
    let head = Linear::new(&mut layout, "head", 16, 2);
    let model = layout.initialise(&mut rng);
    let sgd = Optimiser::Sgd(Sgd::default());
    let (mut average, mut moments) = (Average::new(), Moments::new());
    let mut group = c.benchmark_group("fed_avg");
    group.throughput(Throughput::Elements(N_CLIENTS as u64));
    group.bench_function("gcn_2x16", |b| {
        b.iter(|| {
            average.reset();
            for (s, features) in &data {
                Tape::with_own(|tape| {
                    tape.load(&layout, &model);
                    let mut h = tape.input(20, 7, features);
                    for conv in &convs {
                        h = conv.forward_relu(tape, s.into(), h);
                    }
                    let z = Readout::Mean.forward(tape, h, None);
                    let logits = head.forward(tape, z);
                    let loss = tape.cross_entropy(logits, &[1], None);
                    tape.backward(loss);
                    let (parameters, gradient) = tape.parameters_mut();
                    sgd.step(&mut moments, parameters, gradient);
                    average.add(tape.parameters(), 1.0);
                });
            }
            black_box(average.mean())
        });
    });
    group.finish();
}

criterion_group!(benches, budget, matching, contrasting, clients);
criterion_main!(benches);
