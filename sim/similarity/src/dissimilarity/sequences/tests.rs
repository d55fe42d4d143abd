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
