//! What the golden vectors of layers do not say: norms, dense against sparse, batches against
//! single graphs, training.

use folkmoot_draws::{Rng, SeedableRng, SimRng};

use super::*;
use crate::{Adam, Adjacency, Average, Batch, Csr, DegreeRule, Init, Layout, Moments, Optimiser, Tape, Var};

mod kept;

fn drawn(rng: &mut SimRng, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| (rng.next_u32() >> 8) as f32 / 8_388_608.0 - 1.0)
        .collect()
}

/// A ring with chords; no node without neighbours.
fn ring(n: u32) -> Csr {
    let edges = (0..n).flat_map(|i| [(i, (i + 1) % n), (i, (i + 3) % n)]);
    let arcs: Vec<(u32, u32)> = edges.flat_map(|(u, v)| [(u, v), (v, u)]).collect();
    Csr::from_arcs(n, &arcs, None).unwrap()
}

fn close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-5 * (1.0 + a.abs()), "{a} and {b}");
    }
}

#[test]
fn layer_norm_gives_rows_of_mean_0_and_variance_1() {
    let mut layout = Layout::new();
    let norm = LayerNorm::new(&mut layout, "norm", 4);
    let mut tape = Tape::new();
    tape.load(&layout, &[1.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 1.0]);
    let x = tape.constant(2, 4, &[1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 5.0, 5.0]);
    let y = norm.forward(&mut tape, x);
    // Deviations ±1.5 and ±0.5 over sqrt(1.25 + 1e-5).
    let unit = 1.0 / 1.250_01f32.sqrt();
    close(
        tape.value(y),
        &[
            -1.5 * unit,
            -0.5 * unit,
            0.5 * unit,
            3.0 * unit + 1.0,
            0.0,
            0.0,
            0.0,
            1.0,
        ],
    );
}

#[test]
fn batch_norm_learns_the_statistics_that_it_evaluates_with() {
    let mut layout = Layout::new();
    let norm = BatchNorm::new(&mut layout, "norm", 2);
    assert_eq!((layout.len(), layout.n_trainable()), (8, 4));
    let mut tape = Tape::new();
    tape.load(&layout, &layout.initialise(&mut SimRng::seed_from_u64(0)));
    let data = [1.0, -4.0, 3.0, 2.0, 5.0, -1.0];
    let mut trained = Vec::new();
    for _ in 0..200 {
        tape.reset();
        let x = tape.input(3, 2, &data);
        let y = norm.forward(&mut tape, x, Mode::Train);
        trained = tape.value(y).to_vec();
    }
    // Means 3 and −1, unbiased variances 4 and 9.
    close(tape.value(norm.running_mean.var()), &[3.0, -1.0]);
    close(tape.value(norm.running_variance.var()), &[4.0, 9.0]);
    let x = tape.input(3, 2, &data);
    let y = norm.forward(&mut tape, x, Mode::Evaluate);
    let smaller = (2.0f32 / 3.0).sqrt();
    close(
        tape.value(y),
        &trained.iter().map(|y| y * smaller).collect::<Vec<f32>>(),
    );
}

/// The forms of an adjacency agree, to rounding, in values and in gradients.
#[test]
fn dense_and_sparse_adjacencies_agree() {
    let mut layout = Layout::new();
    let gcn = Gcn::new(&mut layout, "gcn", 5, 3);
    let conv = GraphConv::new(&mut layout, "conv", 3, 4);
    let tag = Tag::new(&mut layout, "tag", 4, 3, 2);
    let mut rng = SimRng::seed_from_u64(4);
    let (model, csr) = (layout.initialise(&mut rng), ring(7));
    let looped = csr.with_self_loops();
    let (s, normal) = (
        looped.normalised(DegreeRule::Masked),
        csr.normalised(DegreeRule::Masked),
    );
    let features = drawn(&mut rng, 35);
    let dense: Vec<f32> = (0..49)
        .map(|i| csr.columns()[csr.range(i / 7)].contains(&(i as u32 % 7)))
        .map(f32::from)
        .collect();
    let bounds = [0, 7];
    let mut results = Vec::new();
    for form in 0..4 {
        let mut tape = Tape::new();
        tape.load(&layout, &model);
        let [a, s, normal] = match form {
            0 => [(&csr).into(), (&s).into(), (&normal).into()],
            1 => {
                let weights = tape.variable(csr.n_entries(), 1, csr.weights());
                let normalised = tape.normalise_arcs(&csr, weights, DegreeRule::Masked);
                let with_loops = tape.variable(looped.n_entries(), 1, looped.weights());
                let with_loops = tape.normalise_arcs(&looped, with_loops, DegreeRule::Masked);
                [
                    Adjacency::Weighted(&csr, weights),
                    Adjacency::Weighted(&looped, with_loops),
                    Adjacency::Weighted(&csr, normalised),
                ]
            }
            2 => {
                let a = tape.variable(7, 7, &dense);
                let [s, normal] = [true, false].map(|loops| tape.normalise_dense(a, None, loops, DegreeRule::Masked));
                [a, s, normal].map(Adjacency::Dense)
            }
            _ => {
                let a = tape.constant(1, 49, &dense);
                let [s, normal] =
                    [true, false].map(|loops| tape.normalise_dense(a, Some(&bounds), loops, DegreeRule::Masked));
                [a, s, normal].map(|a| Adjacency::Blocks(a, &bounds))
            }
        };
        let x = tape.variable(7, 5, &features);
        let h = gcn.forward_relu(&mut tape, s, x);
        let h = conv.forward(&mut tape, a, h);
        let h = tag.forward(&mut tape, normal, h);
        let y = light_gcn(&mut tape, normal, h, 2);
        let square = tape.square(y);
        let loss = tape.sum(square);
        tape.backward(loss);
        let gradient = tape.parameters_mut().1.to_vec();
        results.push([tape.value(y).to_vec(), gradient, tape.gradient(x).to_vec()]);
    }
    for other in &results[1..] {
        for (one, other) in results[0].iter().zip(other) {
            close(one, other);
        }
    }
}

/// The rows of a batch have the very bits that each graph has alone, whatever stands beside it.
#[test]
fn a_graph_has_the_same_bits_alone_and_in_a_batch() {
    let mut layout = Layout::new();
    let gin = Gin::new(&mut layout, "gin", 5, 16, 16).with_epsilon(&mut layout, "gin");
    let sage = Sage::new(&mut layout, "sage", 16, 9);
    let mut rng = SimRng::seed_from_u64(6);
    let model = layout.initialise(&mut rng);
    let graphs: Vec<(Csr, Vec<f32>)> = [6, 9, 20].map(|n| (ring(n), drawn(&mut rng, n as usize * 5))).into();
    let means: Vec<Csr> = graphs.iter().map(|graph| graph.0.row_means()).collect();
    let mut batch = Batch::new(5);
    for _ in 0..2 {
        batch.clear();
        graphs.iter().for_each(|(csr, features)| batch.push(csr, features));
    }
    let batch_means = Csr::block_diagonal(&means);
    for readout in [Readout::Sum, Readout::Mean, Readout::Max] {
        let encode = |a, means, x: &dyn Fn(&mut Tape<'_>) -> Var, bounds| {
            let mut tape = Tape::new();
            tape.load(&layout, &model);
            let x = x(&mut tape);
            let h = gin.forward_relu(&mut tape, a, x, Mode::Train);
            let h = sage.forward(&mut tape, means, h);
            let z = readout.forward(&mut tape, h, bounds);
            tape.value(z).to_vec()
        };
        let features: Vec<f32> = graphs.iter().flat_map(|graph| graph.1.clone()).collect();
        let x = |tape: &mut Tape<'_>| tape.constant(35, 5, &features);
        let together = encode(batch.adjacency(), (&batch_means).into(), &x, Some(batch.bounds()));
        assert_eq!((batch.n_graphs(), batch.bounds()), (3, [0, 6, 15, 35].as_slice()));
        for (i, ((csr, features), means)) in graphs.iter().zip(&means).enumerate() {
            let x = |tape: &mut Tape<'_>| tape.constant(csr.n_rows(), 5, features);
            let alone = encode(csr.into(), means.into(), &x, None);
            assert_eq!(alone, together[i * 9..][..9]);
        }
    }
}

#[test]
fn a_layer_from_kept_sums_has_the_bits_of_the_whole_layer() {
    let mut layout = Layout::new();
    let gcn = Gcn::new(&mut layout, "gcn", 7, 16);
    assert!(Gcn::sums_first(7, 16) && !Gcn::sums_first(16, 7));
    let mut rng = SimRng::seed_from_u64(9);
    let model = layout.initialise(&mut rng);
    let mut batch = Batch::new(7);
    for n in [6, 9] {
        batch.push(
            &ring(n).with_self_loops().normalised(DegreeRule::Masked),
            &drawn(&mut rng, n as usize * 7),
        );
    }
    batch.keep_neighbour_sums();
    let targets = drawn(&mut rng, 15 * 16);
    for relu in [false, true] {
        let learned = |from_sums: bool| {
            let mut tape = Tape::new();
            tape.load(&layout, &model);
            let y = if from_sums {
                let sums = batch.neighbour_sums(&mut tape).unwrap();
                gcn.forward_from_sums(&mut tape, sums, relu)
            } else {
                let x = batch.features(&mut tape);
                match relu {
                    true => gcn.forward_relu(&mut tape, batch.adjacency(), x),
                    false => gcn.forward(&mut tape, batch.adjacency(), x),
                }
            };
            let loss = tape.mean_squared_error(y, &targets, None);
            tape.backward(loss);
            (tape.value(y).to_vec(), tape.parameters_mut().1.to_vec())
        };
        assert_eq!(learned(true), learned(false));
    }
    // Whoever is told the sums alone, scarce or not, has the same rows.
    for n_in in [7, 70] {
        let mut layout = Layout::new();
        let gcn = Gcn::new(&mut layout, "gcn", n_in, 5);
        let mut rng = SimRng::seed_from_u64(4);
        let mut features = drawn(&mut rng, 9 * n_in);
        features.iter_mut().skip(1).step_by(2).for_each(|x| *x = 0.0);
        features[3 * n_in..].fill(0.0);
        let matrix = ring(9).with_self_loops().normalised(DegreeRule::Masked);
        let mut whole = Batch::new(n_in);
        whole.push(&matrix, &features);
        whole.keep_neighbour_sums();
        let model = layout.initialise(&mut rng);
        let rows = |batch: &Batch| {
            let mut tape = Tape::new();
            tape.load(&layout, &model);
            let sums = batch.neighbour_sums(&mut tape).unwrap();
            let sums_read = tape.value(sums).to_vec();
            let y = gcn.forward_from_sums(&mut tape, sums, true);
            (sums_read, tape.value(y).to_vec())
        };
        let (sums, y) = rows(&whole);
        assert_eq!(rows(&Batch::of_sums(&matrix, n_in, sums.clone())), (sums, y));
    }
    // Another batch has other sums.
    batch.push(&ring(7), &[0.0; 49]);
    assert!(batch.neighbour_sums(&mut Tape::new()).is_none());
    batch.keep_neighbour_sums();
    batch.clear();
    assert!(batch.neighbour_sums(&mut Tape::new()).is_none());
}

/// Whatever a layer begins with, and whatever is no number: the bits of the layer that reads every
/// feature.
#[test]
fn a_layer_of_scarce_features_has_the_bits_of_the_whole_layer() {
    for (n_in, n_out) in [(70, 16), (300, 7), (64, 64), (90, 33)] {
        let mut layout = Layout::new();
        let gcn = Gcn::new(&mut layout, "gcn", n_in, n_out);
        let linear = Linear::new(&mut layout, "linear", n_in, n_out);
        let mut rng = SimRng::seed_from_u64(10);
        let mut features = drawn(&mut rng, 20 * n_in);
        for (at, x) in features.iter_mut().enumerate() {
            *x = match at % 13 {
                0 => *x,
                1 => -0.0,
                _ => 0.0,
            };
        }
        // A node without any.
        features[3 * n_in..4 * n_in].fill(0.0);
        let mut batch = Batch::new(n_in);
        batch.push(&ring(20).with_self_loops().normalised(DegreeRule::Masked), &features);
        let mut scarce = batch.clone();
        scarce.keep_nonzeros();
        assert!(scarce != batch, "one in thirteen is few enough");
        let targets = drawn(&mut rng, 20 * n_out);
        for bad in [0.5, f32::INFINITY, f32::NAN] {
            let mut model = layout.initialise(&mut rng);
            model[5] = bad;
            let learned = |batch: &Batch| {
                let mut tape = Tape::new();
                tape.load(&layout, &model);
                let x = batch.features(&mut tape);
                let (a, b) = (
                    gcn.forward(&mut tape, batch.adjacency(), x),
                    linear.forward_relu(&mut tape, x),
                );
                let y = tape.add(a, b);
                let loss = tape.mean_squared_error(y, &targets, None);
                tape.backward(loss);
                let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
                (bits(tape.value(y)), bits(tape.parameters_mut().1))
            };
            assert_eq!(learned(&scarce), learned(&batch), "{n_in} to {n_out}, {bad}");
        }
    }
    // Narrow ones, and such as are mostly there, stay as they are, and another batch has others.
    for (n_in, filled) in [(63, 0.0), (64, 1.0)] {
        let mut batch = Batch::new(n_in);
        batch.push(&ring(5), &vec![filled; 5 * n_in]);
        let before = batch.clone();
        batch.keep_nonzeros();
        assert!(batch == before);
    }
    let mut batch = Batch::new(64);
    let bare = batch.clone();
    batch.push(&ring(5), &[0.0; 5 * 64]);
    batch.keep_nonzeros();
    batch.clear();
    assert!(batch == bare);
}

#[test]
fn sequences_side_by_side_do_not_meet() {
    let mut layout = Layout::new();
    let lstm = Lstm::bidirectional(&mut layout, "lstm", 3, 4);
    let mut rng = SimRng::seed_from_u64(8);
    let (model, data) = (layout.initialise(&mut rng), drawn(&mut rng, 5 * 2 * 3));
    let last = |data: &[f32]| {
        let mut tape = Tape::new();
        tape.load(&layout, &model);
        let x = tape.constant(data.len() / 3, 3, data);
        let last = lstm.last(&mut tape, x, 5);
        tape.value(last).to_vec()
    };
    let both = last(&data);
    for sequence in 0..2 {
        let own: Vec<f32> = data
            .chunks(6)
            .flat_map(|step| step[3 * sequence..][..3].to_vec())
            .collect();
        assert_eq!(last(&own), both[8 * sequence..][..8]);
    }
}

/// Of no nodes every read-out is 0, and of one node without arcs layers see that node alone.
#[test]
fn graphs_of_no_and_of_one_node_pass_through_every_layer() {
    let mut layout = Layout::new();
    let gcn = Gcn::new(&mut layout, "gcn", 3, 8);
    let gin = Gin::new(&mut layout, "gin", 8, 8, 8);
    let conv = GraphConv::new(&mut layout, "conv", 8, 8);
    let tag = Tag::new(&mut layout, "tag", 8, 8, 2);
    let sage = Sage::new(&mut layout, "sage", 8, 8);
    let gat = Gat::new(&mut layout, "gat", 8, 4, 2, Heads::Concat);
    let codes = layout.weight("codes", 2, 8, Init::Normal(1.0));
    let attention = MultiHeadAttention::new(&mut layout, "attention", 8, 2);
    let model = layout.initialise(&mut SimRng::seed_from_u64(2));
    for n in [0, 1] {
        let csr = Csr::from_arcs(n, &[], None).unwrap();
        let looped = csr.with_self_loops();
        let (s, normal, means) = (
            looped.normalised(DegreeRule::Masked),
            csr.normalised(DegreeRule::Masked),
            csr.row_means(),
        );
        let features = vec![0.5; 3 * n as usize];
        let bounds = [0, 0, n];
        let mut tape = Tape::new();
        tape.load(&layout, &model);
        let x = tape.input(n as usize, 3, &features);
        let h = gcn.forward_relu(&mut tape, (&s).into(), x);
        let h = gin.forward(&mut tape, (&csr).into(), h, Mode::Train);
        let h = conv.forward(&mut tape, (&csr).into(), h);
        let h = tag.forward(&mut tape, (&normal).into(), h);
        let h = sage.forward(&mut tape, (&means).into(), h);
        let h = gat.forward(&mut tape, &looped, h);
        let z = [Readout::Sum, Readout::Mean, Readout::Max].map(|r| r.forward(&mut tape, h, Some(&bounds)));
        for z in z {
            let (none, all) = tape.value(z).split_at(8);
            assert!(none.iter().all(|z| *z == 0.0), "of no nodes: {none:?}");
            assert_eq!(all.iter().any(|z| *z != 0.0), n == 1);
        }
        let attended = attention.forward(&mut tape, codes.var(), h, None).output;
        let both = tape.concat_rows(&[attended, z[0]]);
        let loss = tape.sum(both);
        tape.backward(loss);
        assert!(tape.scalar(loss).is_finite());
        let (_, gradient) = tape.parameters_mut();
        assert!(gradient.iter().all(|g| g.is_finite()));
        assert_eq!(tape.gradient(gcn.weight.var()).iter().any(|g| *g != 0.0), n == 1);
    }
}

/// Few queries have the memory read as it is, many have keys and values made of it; the results
/// differ by rounding alone.
#[test]
fn attention_gives_few_queries_and_many_the_same() {
    let (d, n_heads, n_keys) = (12, 3, 7);
    let mut layout = Layout::new();
    let attention = MultiHeadAttention::new(&mut layout, "attention", d, n_heads);
    let mut rng = SimRng::seed_from_u64(5);
    let model = drawn(&mut rng, layout.len());
    let (queries, memory) = (drawn(&mut rng, 8 * d), drawn(&mut rng, n_keys * d));
    // A cotangent for the first four queries alone.
    let cotangent: Vec<f32> = drawn(&mut rng, 4 * d).into_iter().chain([0.0; 48]).collect();
    let run = |n_queries: usize, ignored: Option<&[bool]>| {
        let mut tape = Tape::new();
        tape.load(&layout, &model);
        let query = tape.variable(n_queries, d, &queries[..n_queries * d]);
        let memory = tape.variable(n_keys, d, &memory);
        let attended = attention.forward(&mut tape, query, memory, ignored);
        let weight = tape.constant(n_queries, d, &cotangent[..n_queries * d]);
        let weighed = tape.multiply(attended.output, weight);
        let loss = tape.sum(weighed);
        tape.backward(loss);
        let first = |head: usize| &tape.value(attended.weights)[head * n_queries * n_keys..][..4 * n_keys];
        let weights: Vec<f32> = (0..n_heads).flat_map(first).copied().collect();
        let output = tape.value(attended.output)[..4 * d].to_vec();
        let gradients = [
            tape.gradient(query)[..4 * d].to_vec(),
            tape.gradient(memory).to_vec(),
            tape.parameters_mut().1.to_vec(),
        ];
        [vec![output, weights], gradients.into()].concat()
    };
    let few = run(4, None);
    for many in [run(8, None), run(4, Some(&[false; 7]))] {
        for (a, b) in few.iter().flatten().zip(many.iter().flatten()) {
            assert!((a - b).abs() < 2e-5 * (1.0 + b.abs()), "{a} and {b}");
        }
    }
}

/// The bits of several memories at once are those of one after the other.
#[test]
fn attention_over_several_memories_is_that_over_each() {
    let (d, n_heads) = (16, 4);
    let mut layout = Layout::new();
    let attention = MultiHeadAttention::new(&mut layout, "attention", d, n_heads);
    let mut rng = SimRng::seed_from_u64(6);
    let model = drawn(&mut rng, layout.len());
    for n_queries in [3, 9] {
        let queries = drawn(&mut rng, 2 * n_queries * d);
        let memories = [5, 8].map(|n| drawn(&mut rng, n * d));
        let mut tape = Tape::new();
        tape.load(&layout, &model);
        let both = tape.constant(2 * n_queries, d, &queries);
        let memories = memories.each_ref().map(|data| tape.constant(data.len() / d, d, data));
        let each = attention.forward_each(&mut tape, both, &memories);
        let first = tape.slice_rows(both, 0, n_queries);
        let over = attention.forward_over(&mut tape, first, &memories);
        for (i, memory) in memories.into_iter().enumerate() {
            let own = tape.slice_rows(both, i * n_queries, n_queries);
            let alone = attention.forward(&mut tape, own, memory, None).output;
            let part = i * n_queries * d..(i + 1) * n_queries * d;
            assert_eq!(tape.value(each)[part.clone()], *tape.value(alone));
            let alone = attention.forward(&mut tape, first, memory, None).output;
            assert_eq!(tape.value(over)[part], *tape.value(alone));
        }
    }
}

/// A model of every kind of layer, trained by several clients and averaged.
fn federated(n_threads: usize) -> Vec<u32> {
    let mut layout = Layout::new();
    let gcn = Gcn::new(&mut layout, "gcn", 5, 16);
    let gin = Gin::new(&mut layout, "gin", 16, 32, 16).with_batch_norm(&mut layout, "gin", 32);
    let gat = Gat::new(&mut layout, "gat", 16, 8, 2, Heads::Concat);
    let norm = LayerNorm::new(&mut layout, "norm", 16);
    let codes = layout.weight("codes", 3, 16, Init::Normal(1.0));
    let attention = MultiHeadAttention::new(&mut layout, "attention", 16, 4);
    let lstm = Lstm::new(&mut layout, "lstm", 16, 7);
    let head = Linear::new(&mut layout, "head", 7, 2);
    let model = layout.initialise(&mut SimRng::seed_from_u64(1));
    let adam = Optimiser::Adam(Adam {
        learning_rate: 0.01,
        ..Adam::default()
    });
    let train = |client: u64| {
        let mut rng = SimRng::seed_from_u64(client);
        let csr = ring(6 + client as u32);
        let looped = csr.with_self_loops();
        let s = looped.normalised(DegreeRule::Masked);
        let features = drawn(&mut rng, csr.n_rows() * 5);
        let label = [client as u32 % 2];
        Tape::with_own(|tape| {
            tape.load(&layout, &model);
            let (mut moments, mut losses) = (Moments::new(), Vec::new());
            for _ in 0..10 {
                tape.reset();
                let x = tape.input(csr.n_rows(), 5, &features);
                let h = gcn.forward_relu(tape, (&s).into(), x);
                let h = tape.dropout(h, 0.1, &mut rng);
                let h = gin.forward_relu(tape, (&csr).into(), h, Mode::Train);
                let h = gat.forward(tape, &looped, h);
                let h = norm.forward(tape, h);
                let g = attention.forward(tape, codes.var(), h, None).output;
                let o = lstm.last(tape, g, 3);
                let logits = head.forward(tape, o);
                let loss = tape.cross_entropy(logits, &label, None);
                tape.backward(loss);
                losses.push(tape.scalar(loss));
                let (parameters, gradient) = tape.parameters_mut();
                adam.step(&mut moments, parameters, gradient);
            }
            assert!(losses[9] < 0.5 * losses[0], "{losses:?}");
            tape.parameters().to_vec()
        })
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
    let updates: Vec<Vec<f32>> = pool.install(|| {
        use rayon::prelude::*;
        (0..8).into_par_iter().map(train).collect()
    });
    let mut average = Average::new();
    updates.iter().for_each(|update| average.add(update, 1.0));
    average.mean().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn training_has_the_same_bits_for_any_number_of_threads() {
    let one = federated(1);
    assert_eq!(one, federated(2));
    assert_eq!(one, federated(5));
}

/// Pinned, so that another CPU, compiler or version that gives other bits is found out.
#[test]
fn value_stability() {
    let fnv = |hash: u64, bits: &u32| (hash ^ u64::from(*bits)).wrapping_mul(0x100_0000_01b3);
    assert_eq!(
        federated(1).iter().fold(0xcbf2_9ce4_8422_2325, fnv),
        7_891_986_921_805_796_499
    );
}

/// Against the layers that it is made of, each with its own matrix.
#[test]
fn two_channels_are_a_gin_on_both_and_a_gcn_on_the_structure() {
    let mut layout = Layout::new();
    let first = Structured::new(&mut layout, "conv0", Some([3, 2]), 4);
    let second = Structured::new(&mut layout, "conv1", None, 4);
    let model = layout.initialise(&mut SimRng::seed_from_u64(7));
    let csr = Csr::from_arcs(5, &[(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)], None).unwrap();
    let normalised = csr.with_self_loops().normalised(DegreeRule::Masked);
    let x: Vec<f32> = (0..25).map(|i| (i as f32 * 0.37).sin()).collect();

    let mut tape = Tape::new();
    tape.load(&layout, &model);
    let input = tape.input(5, 5, &x);
    let h = first.forward(&mut tape, &csr, input, Mode::Train);
    let got = second.forward(&mut tape, &csr, h, Mode::Train);
    let got = tape.value(got).to_vec();

    let [of_features, of_structure] = first.embed.unwrap();
    let (features, structure) = (tape.slice_columns(input, 0, 3), tape.slice_columns(input, 3, 2));
    let mut h = of_features.forward(&mut tape, features);
    let mut s = of_structure.forward(&mut tape, structure);
    for layer in [&first, &second] {
        let both = tape.concat_columns(&[h, s]);
        h = layer
            .gin
            .forward_relu(&mut tape, Adjacency::Sparse(&csr), both, Mode::Train);
        let sums = tape.propagate(Adjacency::Sparse(&normalised), s);
        let linear = layer.gcn.forward(&mut tape, sums);
        s = tape.tanh(linear);
    }
    let expected = tape.concat_columns(&[h, s]);
    assert_eq!(tape.shape(expected), (5, 8));
    for (got, expected) in got.iter().zip(tape.value(expected)) {
        assert!((got - expected).abs() < 1e-6, "{got}, not {expected}");
    }
}

/// 32 numbers of structure, three layers of 64: what FedStar sends is as long whatever nodes bring.
#[test]
fn the_channel_of_structure_has_as_many_numbers_as_published() {
    for n_features in [1, 89] {
        let mut layout = Layout::new();
        for layer in 0..3 {
            let first = (layer == 0).then_some([n_features, 32]);
            Structured::new(&mut layout, &format!("conv{layer}"), first, 64);
        }
        let slots = layout.slots().iter().filter(|slot| slot.name.contains(".structure."));
        assert_eq!(
            slots.map(|slot| layout.range(slot.parameter).len()).sum::<usize>(),
            14_592
        );
    }
}
