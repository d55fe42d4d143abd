//! Products of dense matrices beside those of `matrixmultiply` and `gemm` (which `faer` multiplies with), on one thread, for the shapes
//! that training has; throughput is in operations, two for each of the `m · k · n` products.
//!
//! `cargo bench -p folkmoot-learning --bench products`. The two libraries add in an order of their own, so their bits are others.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use folkmoot_draws::{Rng, SeedableRng, SimRng};
use product::{Rows, RowsMut, Shape};
use std::hint::black_box;

#[path = "../src/kernels/product.rs"]
#[allow(
    unused,
    reason = "the kernels are private to the crate, and the bench takes two of them"
)]
mod product;

/// `m`, `k`, `n`, and where the product occurs.
const SHAPES: [(usize, usize, usize, &str); 9] = [
    (20, 16, 16, "FedAvg, a layer"),
    (34, 34, 64, "FGCL, a noisy graph's messages"),
    (408, 43, 64, "FGCL, the first layer of 12 graphs"),
    (408, 64, 64, "FGCL, the second layer"),
    (90, 100, 100, "PPGM, a layer of one graph"),
    (1350, 100, 100, "PPGM, a layer of 15 graphs"),
    (8, 25, 90, "PPGM, the scores of a head"),
    (8, 90, 25, "PPGM, what a head takes"),
    (20, 100, 400, "PPGM, a step of the LSTM"),
];

/// The gradient of weights is a sum over all rows of a batch: `aᵀ b`, `k` long.
const GRADIENTS: [(usize, usize, usize, &str); 2] = [
    (64, 408, 64, "FGCL, the second layer's weights"),
    (100, 1350, 100, "PPGM, a layer's weights"),
];

fn drawn(rng: &mut SimRng, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| (rng.next_u32() >> 8) as f32 / 8_388_608.0 - 1.0)
        .collect()
}

/// A left factor: row-major, or the transpose of such a matrix.
struct Left<'a> {
    data: &'a [f32],
    transposed: bool,
}

impl Left<'_> {
    /// How far apart the next row and the next column of the factor lie.
    fn strides(&self, shape: Shape) -> [isize; 2] {
        match self.transposed {
            true => [1, shape.m as isize],
            false => [shape.k as isize, 1],
        }
    }
}

fn ours(shape: Shape, a: &Left<'_>, b: &[f32], c: &mut [f32]) {
    let (data, stride) = (b, shape.n);
    let b = Rows { data, stride };
    let c = RowsMut {
        data: c,
        stride,
        add: false,
    };
    let rows = |stride| Rows { data: a.data, stride };
    match a.transposed {
        true => product::product_transposed(shape, rows(shape.m), b, c),
        false => product::product(shape, rows(shape.k), b, c),
    }
}

#[allow(unsafe_code, reason = "the library takes pointers")]
fn matrixmultiply(shape: Shape, a: &Left<'_>, b: &[f32], c: &mut [f32]) {
    let Shape { m, k, n } = shape;
    assert!(a.data.len() == m * k && b.len() == k * n && c.len() == m * n);
    let ([down, across], wide) = (a.strides(shape), n as isize);
    // SAFETY: the three matrices lie inside their slices, and `c` is borrowed alone.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.data.as_ptr(),
            down,
            across,
            b.as_ptr(),
            wide,
            1,
            0.0,
            c.as_mut_ptr(),
            wide,
            1,
        );
    }
}

#[allow(unsafe_code, reason = "the library takes pointers")]
fn gemm(shape: Shape, a: &Left<'_>, b: &[f32], c: &mut [f32]) {
    let Shape { m, k, n } = shape;
    assert!(a.data.len() == m * k && b.len() == k * n && c.len() == m * n);
    let ([down, across], wide) = (a.strides(shape), n as isize);
    let (to, left, right) = (c.as_mut_ptr(), a.data.as_ptr(), b.as_ptr());
    // SAFETY: the three matrices lie inside their slices, and `c` is borrowed alone.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to,
            1,
            wide,
            false,
            left,
            across,
            down,
            right,
            1,
            wide,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

type Product = fn(Shape, &Left<'_>, &[f32], &mut [f32]);
const CONTENDERS: [(&str, Product); 3] = [("ours", ours), ("matrixmultiply", matrixmultiply), ("gemm", gemm)];

fn products(c: &mut Criterion) {
    let mut rng = SimRng::seed_from_u64(1);
    let mut group = c.benchmark_group("product");
    let shapes = SHAPES.map(|shape| (shape, false)).into_iter();
    for ((m, k, n, what), transposed) in shapes.chain(GRADIENTS.map(|shape| (shape, true))) {
        let shape = Shape { m, k, n };
        let (left, b) = (drawn(&mut rng, m * k), drawn(&mut rng, k * n));
        let a = Left {
            data: &left,
            transposed,
        };
        let mut first = vec![0.0; m * n];
        ours(shape, &a, &b, &mut first);
        group.throughput(Throughput::Elements(2 * (m * k * n) as u64));
        for (name, multiply) in CONTENDERS {
            let mut to = vec![f32::NAN; m * n];
            multiply(shape, &a, &b, &mut to);
            let close = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * k as f32;
            assert!(
                to.iter().zip(&first).all(close),
                "{name} multiplies otherwise: {shape:?}"
            );
            group.bench_function(BenchmarkId::new(format!("{what}, {m} x {k} x {n}"), name), |bench| {
                bench.iter(|| multiply(black_box(shape), black_box(&a), black_box(&b), black_box(&mut to)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, products);
criterion_main!(benches);
