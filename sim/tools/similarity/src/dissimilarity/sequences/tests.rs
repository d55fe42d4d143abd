use super::*;
use proptest::prelude::*;

/// Ragged matrices: some empty, many short, a few long.
fn matrices() -> impl Strategy<Value = (usize, Vec<Vec<f32>>)> {
    (1usize..=18).prop_flat_map(|k| {
        let len = prop_oneof![2 => Just(0usize), 3 => Just(1), 10 => 2usize..12, 1 => 30usize..40];
        let matrix = len.prop_flat_map(move |len| prop::collection::vec(-20.0f32..20.0, len * k));
        (Just(k), prop::collection::vec(matrix, 0..40))
    })
}

fn sequences(k: usize, matrices: &[Vec<f32>]) -> Sequences {
    Sequences::new(k, matrices.iter().map(Vec::as_slice))
}

fn bits(matrix: &Condensed) -> Vec<u32> {
    matrix.values().iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #[test]
    fn lanes_give_the_bits_of_the_plain_loop((k, matrices) in matrices(), l2 in any::<bool>()) {
        let metric = if l2 { Metric::L2 } else { Metric::L1 };
        let sequences = sequences(k, &matrices);
        let n = matrices.len() as u32;
        let plain = Condensed::from_fn(matrices.len(), |u, v| dtw(&matrices[u as usize], &matrices[v as usize], k, metric));
        let all = sequences.all_pairs(metric);
        prop_assert_eq!(bits(&all), bits(&plain));
        for u in 0..n {
            for (v, value) in (0..n).zip(sequences.row(u, metric)) {
                prop_assert_eq!(value.to_bits(), all.get(u, v).to_bits());
                prop_assert_eq!(sequences.between(v, u, metric).to_bits(), value.to_bits());
            }
        }
    }

    #[test]
    fn the_number_of_threads_moves_no_bit((k, matrices) in matrices()) {
        let sequences = sequences(k, &matrices);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            bits(&pool.install(|| sequences.all_pairs(Metric::L1)))
        };
        prop_assert_eq!(run(1), run(2));
        prop_assert_eq!(run(1), run(3));
    }

    #[test]
    fn vectors_alone_are_as_far_apart_as_their_distance(k in 1usize..14, values in prop::collection::vec(-9.0f32..9.0, 0..200)) {
        let vectors = &values[..values.len() / k * k];
        let all = Sequences::of_vectors(vectors, k).all_pairs(Metric::L1);
        let plain = Condensed::from_fn(vectors.len() / k, |u, v| {
            crate::vector::l1(&vectors[u as usize * k..][..k], &vectors[v as usize * k..][..k])
        });
        prop_assert_eq!(bits(&all), bits(&plain));
    }
}

/// One row each, groups that are not full, rows that recur within a sequence and between them, with
/// either sign of zero, and more rows than one batch takes: all the ways of the table beside the
/// plain loop.
#[test]
fn rows_compared_once_or_often_give_the_bits_of_the_plain_loop() {
    let row = |i: usize, k: usize| {
        (0..k).map(move |c| [0.0, -0.0, 1.5, -7.25, 0.1][(i * i + c * (i + 3)) % 5] * (1 + i % 9) as f32)
    };
    let fresh = |i: usize, k: usize| (0..k).map(move |c| ((i * 37 + c * 11) as f32).sqrt());
    for (n, longest, recurring, n_batches) in [
        (1, 1, false, 1),
        (7, 1, true, 1),
        (9, 1, false, 1),
        (17, 6, true, 1),
        (150, 30, true, 1),
        (150, 30, false, 3),
    ] {
        for k in [1, 3, 9, 17] {
            let lengths = (0..n).map(|u| 1 + u * 13 % longest);
            let mut next = 0;
            let matrices: Vec<Vec<f32>> = lengths
                .map(|len| {
                    let rows = next..next + len;
                    next += len;
                    if recurring {
                        rows.flat_map(|i| row(i % 23, k)).collect()
                    } else {
                        rows.flat_map(|i| fresh(i, k)).collect()
                    }
                })
                .collect();
            let sequences = sequences(k, &matrices);
            assert_eq!(Batch::all(&sequences).len(), n_batches, "{n} sequences");
            for metric in [Metric::L1, Metric::L2] {
                let plain = Condensed::from_fn(n, |u, v| dtw(&matrices[u as usize], &matrices[v as usize], k, metric));
                assert_eq!(
                    bits(&sequences.all_pairs(metric)),
                    bits(&plain),
                    "{n} sequences, {k} columns, {metric:?}"
                );
                let row: Vec<u32> = sequences.row(0, metric).iter().map(|value| value.to_bits()).collect();
                let expected: Vec<u32> = (0..n as u32).map(|v| plain.get(0, v).to_bits()).collect();
                assert_eq!(row, expected);
            }
        }
    }
}

#[test]
fn rows_are_the_same_only_bit_for_bit() {
    let sequences = Sequences::new(
        2,
        [
            &[1.0, 2.0, 0.0, 1.0, 1.0, 2.0][..],
            &[],
            &[-0.0, 1.0],
            &[1.0, 2.0, 2.0, 1.0],
        ],
    );
    let (ids, n_ids) = sequences.different_rows();
    assert_eq!((ids.len(), n_ids), (6, 4));
    assert!(ids[0] == ids[2] && ids[0] == ids[4]);
    assert!(ids[0] != ids[1] && ids[1] != ids[3] && ids[0] != ids[5]);
}

/// Values from an independent computation in double precision.
#[test]
fn neighbours_are_ordered_by_noisy_degree() {
    let edges = [(0, 3), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4)];
    let graph = Graph::from_edges(5, &edges, false).unwrap();
    let vectors = [-0.01, -1.12, -0.73, -3.35, -4.57, -0.2, 5.98, 3.39, 0.32, -0.3];
    let sequences = Sequences::of_neighbours(&graph, &vectors, 2);
    assert_eq!(sequences.matrix(1), [-4.57, -0.2, 0.32, -0.3, 5.98, 3.39]);
    let all = sequences.all_pairs(Metric::L1);
    let expected = [23.49, 22.8, 38.09, 27.59, 6.99, 14.6, 17.55, 18.64, 24.54, 2.95];
    for (got, expected) in all.values().iter().zip(expected) {
        assert!((got - expected).abs() < 1e-4, "{got} is not {expected}");
    }
}

#[test]
fn cells_are_counted_once_a_pair() {
    let sequences = Sequences::new(1, [&[1.0, 2.0][..], &[], &[1.0], &[1.0, 2.0, 3.0]]);
    assert_eq!(sequences.n_cells(), 2 + 6 + 3);
    assert_eq!(
        sequences.row(1, Metric::L1),
        [f32::INFINITY, 0.0, f32::INFINITY, f32::INFINITY]
    );
}
