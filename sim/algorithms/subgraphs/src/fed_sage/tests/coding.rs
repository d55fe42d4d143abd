//! Generators, embeddings and gradients as a codec packs them.

use super::super::exchange::prepare;
use super::super::numbers::Numbers;
use super::*;
use folkmoot_draws::normal;
use folkmoot_learning::Moments;

fn half() -> Chosen<dyn Codec> {
    Chosen::new(Half {})
}

fn uniform(bits: u32, symbols: Symbols) -> Chosen<dyn Codec> {
    Chosen::new(Uniform {
        bits,
        symbols,
        ..Uniform::default()
    })
}

/// Three clients of ten training nodes each, and generators of 42 + 64 + 216 numbers in six
/// matrices, with embeddings of five.
#[test]
fn packed_bytes_are_those_counted_by_hand() {
    let nodes = 10;
    // Whose, which step and how many numbers; numbers; what is as it is.
    let of_half = [12 + 2 * (322 + 5 * nodes) + 4 * nodes, 12 + 2 * 322];
    // The least and the step of each matrix, of which embeddings are one.
    let of_nibbles = [12 + 7 * 8 + (322 + 5 * nodes) / 2 + 4 * nodes, 12 + 6 * 8 + 322 / 2];
    for (codec, [generator_bytes, gradient_bytes]) in [(half(), of_half), (uniform(4, Symbols::Fixed), of_nibbles)] {
        let packed = params(coded(generator(2, 200, 2), codec), 3);
        let [made, counted] = [false, true].map(|dry_run| {
            let options = Options { dry_run, ..plain() };
            played(&packed, 3, options)
        });
        for outcome in [&made, &counted] {
            let steps = 2;
            // Up, and to two others; their gradients, and what they come to.
            let expected = steps * (9 * generator_bytes + 9 * gradient_bytes);
            assert_eq!(number(outcome, "generator_bytes"), f64::from(expected));
            assert_eq!(number(outcome, "generator_bytes@theory"), f64::from(expected));
        }
        assert_eq!(sent(&made), sent(&counted));
    }
}

/// By 11 bits generators learn what they learn by 24, and by one bit something else.
#[test]
fn what_is_learned_stays_near_with_half_precision() {
    let of = |codec| {
        let outcome = played(&params(coded(generator(2, 200, 5), codec), 3), 3, plain());
        ["feature_error", "generator_loss", "made_neighbours"].map(|name| number(&outcome, name))
    };
    let [exact, near, far] = [Chosen::default(), half(), uniform(1, Symbols::Fixed)].map(of);
    let error = |other: [f64; 3]| (other[0] / exact[0] - 1.0).abs();
    assert!(error(near) > 0.0 && error(near) < 1e-3, "{exact:?}, then {near:?}");
    assert!(error(far) > 10.0 * error(near), "{exact:?}, then {far:?}");
    // How many a node lacks, a client knew before any was sent.
    assert_eq!((near[2], far[2]), (exact[2], exact[2]));
}

/// A sum of gradients of nobody, so that a step is by the client's own, which is that of the
/// generator as others read it.
#[test]
fn an_owner_steps_from_its_generator_by_the_gradient_of_what_others_read() {
    at_first_of(
        1,
        coded(still(3, 200, 2), uniform(3, Symbols::Fixed)),
        |task, makers, pieces, _| {
            let cx = JobContext::of_test(3, ClientId(0), Round(0));
            let say = |kept: Option<&Kept>, heard: Heard<Told>| {
                prepare(task, &Preparation::new(&pieces[0], kept, &heard, &cx), true)
            };
            let first = say(None, Heard::Opening);
            let told = first.to_server.unwrap();
            let Some(Kept::Learning(before)) = &first.kept else {
                panic!("it learns")
            };
            let second = say(first.kept.as_ref(), Heard::Server(Told::nothing((0, 0))));
            let Some(Kept::Learning(after)) = second.kept else {
                panic!("it learns on")
            };
            let n_shared = makers.networks.n_shared();
            let opened = makers.open(&told).unwrap();
            let (read, rows) = opened.generator(n_shared).unwrap();
            assert!(read != &*before.weights, "three bits are not all");
            let shard = &pieces[0].shard;
            let rng = &mut Preparation::<FedSage, Told>::new(&pieces[0], None, &Heard::Opening, &cx)
                .rng(Purpose(*b"sg-hide "));
            let impaired = Impaired::new(&makers.plan, shard, &shard.nodes().unwrap(), rng);
            let counts = &rows[rows.len() / 6 * 5..];
            let missing = (0..impaired.nodes.len()).filter(|row| impaired.trains[*row]);
            let missing: Vec<f32> = missing.map(|row| impaired.missing[row].len() as f32).collect();
            assert_eq!(counts, missing, "what is whole goes as it is");
            let (_, gradient) = sight(makers, shard, &impaired).own_gradient(read, before.frozen(), None);
            let mut weights = before.weights.to_vec();
            let gradient = Numbers::Gradient(gradient).all().into_owned();
            assert!(gradient.iter().any(|g| *g != 0.0), "neighbours are made, and compared");
            makers.plan.optimiser.step(&mut Moments::new(), &mut weights, &gradient);
            assert_eq!(bits(&after.weights), bits(&weights));
        },
    );
}

#[test]
fn what_is_packed_is_read_again_wherever_it_comes_off_the_wire() {
    at_first_of(2, coded(generator(2, 1, 1), half()), |_, makers, _, _| {
        let (n_shared, rng) = (makers.networks.n_shared(), &mut stream(5));
        for n_nodes in [0, 1, 7] {
            let mut values: Vec<f32> = (0..n_shared + 5 * n_nodes).map(|_| normal(rng) as f32).collect();
            values.extend((0..n_nodes).map(|node| 70_000.0 + node as f32));
            let told = makers.pack(Told::new((1, 4), Numbers::Plain(values.clone())));
            assert_eq!(told.n_values(), values.len());
            assert_eq!(told.counted_len(), HEAD + makers.n_bytes(n_nodes).unwrap());
            let mut bytes = Vec::new();
            told.encode(&mut bytes);
            assert_eq!(bytes.len(), told.encoded_len());
            assert_eq!(Told::decode(&mut WireReader::new(&bytes)).as_ref(), Ok(&told));
            let read = makers.open(&told).unwrap();
            let read = read.values();
            let (rounded, whole) = values.split_at(values.len() - n_nodes);
            let is_near = |(x, y): (&f32, &f32)| (x - y).abs() <= x.abs() / 2_048.0 + 1e-7;
            assert!(rounded.iter().zip(&*read).all(is_near));
            assert_eq!(bits(&read[rounded.len()..]), bits(whole), "beyond all halves");
            // What is damaged is no generator, and no reason to end.
            for n in [0, 1, bytes.len() / 2] {
                let damaged = told.clone().packed_as(bytes[..n].into());
                assert!(makers.open(&damaged).is_err());
            }
            // What is not finite, and nothing, go as they are.
            values[3] = f32::NAN;
            let as_it_is = Told::new((1, 4), Numbers::Plain(values));
            assert_eq!(bits(&makers.pack(as_it_is.clone()).values()), bits(&as_it_is.values()));
        }
        let nothing = Told::nothing((1, 4));
        assert_eq!(makers.pack(nothing.clone()), nothing);
    });
}

#[test]
fn a_dry_run_refuses_bytes_that_nobody_knows() {
    let of_range = params(coded(generator(2, 200, 1), uniform(8, Symbols::Range)), 3);
    let (dataset, partition) = data(3);
    let source = Source::new(&dataset, &partition, Streams::new(3));
    let prepared = of_range.prepare(&source).unwrap();
    let options = Options {
        dry_run: true,
        ..plain()
    };
    let outcome = run(prepared.system(), &World::ideal(), 3, options, &mut Unobserved);
    let error = outcome.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("generator.codec: how many bytes Uniform"), "{error}");
    // Where they are made, they are counted, and there is no formula.
    let outcome = played(&of_range, 3, plain());
    let fixed = played(
        &params(coded(generator(2, 200, 1), uniform(8, Symbols::Fixed)), 3),
        3,
        plain(),
    );
    let [range, fixed_bytes] = [&outcome, &fixed].map(|outcome| number(outcome, "generator_bytes"));
    assert!(range > 0.0 && range != fixed_bytes, "{range} {fixed_bytes}");
    assert!(!outcome.summary.iter().any(|(name, _)| name == "generator_bytes@theory"));
    assert_eq!(number(&outcome, "generator_loss"), number(&fixed, "generator_loss"));
}
