//! Products of dense matrices beside those of `matrixmultiply` and `gemm` (which `faer` multiplies
//! with), on one thread, for the shapes that training has; throughput is in operations, two for
//! each of the `m · k · n` products.
//!
//! `cargo bench -p folkmoot-learning --bench products`. The two libraries add in an order of their
//! own, so their bits are others.

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

/// A product that occurs: whether its left factor is read by columns, as for the gradient of
/// weights, which is a sum over all rows; `m`, `k`, `n`; and where it occurs.
///
/// Those of PPGM are seven tenths of the operations in a step of the bench `ppgm`, which are 466.8
/// million. Counted in one step: 64 times 90 × 100 × 100, 32 times its gradient, 72 times each of
/// the three with 32, twice 80 × 200 × 400, 14 times 10 × 100 × 400.
const SHAPES: [(bool, usize, usize, usize, &str); 12] = [
    (false, 20, 16, 16, "FedAvg, a layer"),
    (false, 34, 34, 64, "FGCL, a noisy graph's messages"),
    (false, 408, 43, 64, "FGCL, the first layer of 12 graphs"),
    (false, 408, 64, 64, "FGCL, the second layer"),
    (true, 64, 408, 64, "FGCL, the second layer's weights"),
    (false, 90, 100, 100, "PPGM, a layer"),
    (true, 100, 90, 100, "PPGM, a layer's weights"),
    (false, 32, 100, 90, "PPGM, four heads' scores of eight codes"),
    (false, 32, 90, 100, "PPGM, what four heads take"),
    (true, 90, 32, 100, "PPGM, the same on the way back"),
    (false, 80, 200, 400, "PPGM, the gates of an LSTM"),
    (false, 10, 100, 400, "PPGM, a step of the LSTM"),
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

/// The most that one thread's core can do: multiplications that are added to sums in registers,
/// with nothing to load.
mod peak {
    use multiversion::multiversion;
    use multiversion::target::match_target;
    use std::hint::black_box;

    /// Numbers in the widest register.
    pub(crate) const WIDE: usize = 16;
    const TURNS: usize = 2_000;
    /// Registers that are added to in turns, so that none waits for itself.
    const SUMS: usize = 12;
    /// Two for each multiplication that is added.
    pub(crate) const OPERATIONS: u64 = (2 * TURNS * SUMS * WIDE) as u64;

    #[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
    pub(crate) fn fused(x: [f32; WIDE]) {
        match match_target! { "x86_64+avx2+fma+avx512f" => true, _ => false } {
            true => chains::<WIDE, 1>(x),
            // As many registers of half the size, so twice as many turns.
            false => chains::<{ WIDE / 2 }, 2>(x),
        }
    }

    #[inline(always)]
    fn chains<const W: usize, const TIMES: usize>(x: [f32; WIDE]) {
        /// Straight code: a loop over the sums would keep them in memory.
        macro_rules! chains {
            ($($sum:ident)*) => {{
                let factor: [f32; W] = *x.first_chunk().expect("no wider than x");
                $(let mut $sum = [0.0f32; W];)*
                for _ in 0..TURNS * TIMES {
                    $($sum = add_square($sum, factor);)*
                }
                $(black_box($sum);)*
            }};
        }
        chains!(a b c d e f g h i j k l)
    }

    #[inline(always)]
    fn add_square<const W: usize>(mut sum: [f32; W], x: [f32; W]) -> [f32; W] {
        for lane in 0..W {
            sum[lane] = x[lane].mul_add(x[lane], sum[lane]);
        }
        sum
    }
}

type Product = fn(Shape, &Left<'_>, &[f32], &mut [f32]);
const CONTENDERS: [(&str, Product); 3] = [("ours", ours), ("matrixmultiply", matrixmultiply), ("gemm", gemm)];

fn products(c: &mut Criterion) {
    let mut rng = SimRng::seed_from_u64(1);
    let mut group = c.benchmark_group("product");
    group.throughput(Throughput::Elements(peak::OPERATIONS));
    group.bench_function(BenchmarkId::new("no memory at all", "peak"), |bench| {
        bench.iter(|| peak::fused(black_box([0.5; peak::WIDE])));
    });
    for (transposed, m, k, n, what) in SHAPES {
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
