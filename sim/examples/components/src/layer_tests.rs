//! The layer against `GATv2Conv` of PyTorch Geometric 2.8.1, with the same weights.

use crate::layer::GatV2;
use folkmoot::classifiers::classifier::graph_layers::{GraphLayers, Widths};
use folkmoot::learning::layers::Mode;
use folkmoot::learning::{Adjacency, Csr, Layout, Tape};

/// Weights and features: `((37 k + 11) mod 19 − 9) / 10` for the k-th number.
fn number(k: usize) -> f32 {
    ((k * 37 + 11) % 19) as f32 / 10.0 - 0.9
}

/// Output and the gradient of the sum of its squares by the features, on five nodes.
fn output(gives_logits: bool) -> (Vec<f32>, Vec<f32>) {
    let mut layout = Layout::new();
    let widths = Widths {
        n_in: 3,
        hidden: 4,
        n_out: if gives_logits { 2 } else { 4 },
        is_first: true,
        gives_logits,
        n_layers: 1,
    };
    let layer = GatV2 { heads: 2 }.layer(&mut layout, "conv0", &widths);
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)];
    let arcs: Vec<(u32, u32)> = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    let arcs = Csr::from_arcs(5, &arcs, None).unwrap().with_self_loops();
    let n = layout.len();
    let (weights, features): (Vec<f32>, Vec<f32>) = ((0..n).map(number).collect(), (n..n + 15).map(number).collect());
    let mut tape = Tape::new();
    tape.load(&layout, &weights);
    let x = tape.variable(5, 3, &features);
    let y = layer.forward(&mut tape, Adjacency::Sparse(&arcs), (x, Mode::Evaluate));
    let values = tape.value(y).to_vec();
    let square = tape.square(y);
    let sum = tape.sum(square);
    tape.backward(sum);
    (values, tape.gradient(x).to_vec())
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    let far = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let far = far.fold(0.0, f32::max);
    assert!(far < tolerance, "{far}: {found:?}");
}

#[test]
fn heads_side_by_side_are_those_of_pytorch_geometric() {
    let (y, gradient) = output(false);
    let expected = [
        1.659239, 1.598858, 1.562548, 1.508185, 1.659239, 1.598858, 1.562548, 1.508185, 1.52271, 1.437326, 1.441196,
        1.370363, 1.216264, 1.032989, 1.140419, 1.016473, 0.777462, 0.440772, 0.095549, -0.23877,
    ];
    assert_near(&y, &expected, 1e-5);
    let expected = [
        0.32523, -1.4409, -3.20703, 0.63186, -3.70012, -8.0321, 2.00123, -10.59394, -23.18911, 1.24509, -0.79778,
        -2.84064, 0.56705, -0.88842, -2.34388,
    ];
    assert_near(&gradient, &expected, 1e-4);
}

#[test]
fn the_mean_of_heads_is_that_of_pytorch_geometric() {
    let (y, gradient) = output(true);
    let expected = [
        1.526534, 1.408072, 1.528628, 1.410689, 1.725267, 1.671917, 1.759211, 1.713556, 1.767441, 1.726729,
    ];
    assert_near(&y, &expected, 1e-5);
    let expected = [
        0.16152, -0.70876, -1.57903, 0.28672, -1.43133, -3.14938, 0.61447, -3.99599, -8.60644, 1.11423, -5.89366,
        -12.90155, 0.39356, -0.35988, -1.11333,
    ];
    assert_near(&gradient, &expected, 1e-4);
}
