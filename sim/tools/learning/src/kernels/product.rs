//! Products of dense matrices: for each element one ascending chain of `mul_add`, so the bits
//! depend on no tile and no CPU.
//!
//! A tile is a few rows by a few registers of columns. A library would pack its operands into
//! buffers that it allocates; the matrices here are small enough to stay in the cache as they are,
//! and a step of a small model costs less than such calls.

use multiversion::target::match_target;
use multiversion::{multiversion, target};

/// The side of the blocks that a transposition turns.
const SIDE: usize = 8;

/// Numbers of rows, of terms in a sum, and of columns: `(m, k) · (k, n) = (m, n)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

/// A row-major matrix, or a block of columns of one: element `(i, j)` is `data[i * stride + j]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

/// A matrix to write.
#[derive(Debug)]
pub(crate) struct RowsMut<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) stride: usize,
    /// Whether the product is added to what is there.
    pub(crate) add: bool,
}

impl RowsMut<'_> {
    pub(crate) fn as_rows(&self) -> Rows<'_> {
        let (data, stride) = (&*self.data, self.stride);
        Rows { data, stride }
    }
}

/// `c = a b`, or `c += a b`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn product(shape: Shape, a: Rows<'_>, b: Rows<'_>, mut c: RowsMut<'_>) {
    match match_target! { "x86_64+avx2+fma+avx512f" => true, _ => false } {
        true => panels::<true>(shape, a, b, &mut c),
        false => panels::<false>(shape, a, b, &mut c),
    }
}

/// `c = aᵀ b`, or `c += aᵀ b`; `a` has shape `(k, m)`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn product_transposed(shape: Shape, a: Rows<'_>, b: Rows<'_>, mut c: RowsMut<'_>) {
    match match_target! { "x86_64+avx2+fma+avx512f" => true, _ => false } {
        true => panels::<true>(shape, Columns(a), b, &mut c),
        false => panels::<false>(shape, Columns(a), b, &mut c),
    }
}

/// Writes the transpose of `from`, of shape `(rows, columns)`, to `to`, of shape `(columns, rows)`,
/// whatever its `add` says.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn transpose(from: Rows<'_>, rows: usize, columns: usize, to: RowsMut<'_>) {
    if rows < SIDE || columns < SIDE {
        for (r, row) in from.data.chunks(from.stride.max(1)).take(rows).enumerate() {
            for (c, x) in row[..columns].iter().enumerate() {
                to.data[c * to.stride + r] = *x;
            }
        }
        return;
    }
    // Where the sides are no multiple of a block's, the last blocks lie over the ones before.
    for i in (0..rows).step_by(SIDE) {
        let i = i.min(rows - SIDE);
        for j in (0..columns).step_by(SIDE) {
            let j = j.min(columns - SIDE);
            let mut block = [&[0.0; SIDE]; SIDE];
            for (r, row) in block.iter_mut().enumerate() {
                *row = from.data[(i + r) * from.stride + j..]
                    .first_chunk()
                    .expect("a block lies inside");
            }
            let turned = match_target! {
                "x86_64+avx2" => turned_in_lanes(block),
                _ => std::array::from_fn::<[f32; SIDE], SIDE, _>(|c| std::array::from_fn(|r| block[r][c])),
            };
            for (c, column) in turned.iter().enumerate() {
                to.data[(j + c) * to.stride + i..][..SIDE].copy_from_slice(column);
            }
        }
    }
}

/// The transpose of a block, given as its rows. Each half of a register takes four rows and turns
/// four columns of them; written number by number, it compiles to as many moves, and given as one
/// array it goes by way of memory.
#[target("x86_64+avx2")]
#[inline]
fn turned_in_lanes(rows: [&[f32; SIDE]; SIDE]) -> [[f32; SIDE]; SIDE] {
    use std::arch::x86_64::{_mm256_set_m128, _mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps};
    const FIRST: i32 = 0b01_00_01_00;
    const LAST: i32 = 0b11_10_11_10;
    let mut columns = [[0.0; SIDE]; SIDE];
    for side in [0, 1] {
        let quarter = |row: usize| bytemuck::cast(rows[row].as_chunks::<4>().0[side]);
        let a = _mm256_set_m128(quarter(4), quarter(0));
        let b = _mm256_set_m128(quarter(5), quarter(1));
        let c = _mm256_set_m128(quarter(6), quarter(2));
        let d = _mm256_set_m128(quarter(7), quarter(3));
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        columns[4 * side] = bytemuck::cast(_mm256_shuffle_ps::<FIRST>(ab, cd));
        columns[4 * side + 1] = bytemuck::cast(_mm256_shuffle_ps::<LAST>(ab, cd));
        let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        columns[4 * side + 2] = bytemuck::cast(_mm256_shuffle_ps::<FIRST>(ab, cd));
        columns[4 * side + 3] = bytemuck::cast(_mm256_shuffle_ps::<LAST>(ab, cd));
    }
    columns
}

/// The left factor, read a few rows at a time.
trait Left: Copy {
    /// Gives, for each term `p < k`, its values in the rows `row..row + R`.
    fn tile<const R: usize>(self, row: usize, k: usize) -> impl Fn(usize) -> [f32; R];
}

impl Left for Rows<'_> {
    #[inline(always)]
    fn tile<const R: usize>(self, row: usize, k: usize) -> impl Fn(usize) -> [f32; R] {
        let mut rows = [&[][..]; R];
        for (r, slice) in rows.iter_mut().enumerate() {
            *slice = &self.data[(row + r) * self.stride..][..k];
        }
        #[inline(always)]
        move |p| {
            let mut values = [0.0; R];
            for r in 0..R {
                values[r] = rows[r][p];
            }
            values
        }
    }
}

/// The transpose of a matrix.
#[derive(Clone, Copy)]
struct Columns<'a>(Rows<'a>);

impl Left for Columns<'_> {
    #[inline(always)]
    fn tile<const R: usize>(self, row: usize, _k: usize) -> impl Fn(usize) -> [f32; R] {
        let Rows { data, stride } = self.0;
        #[inline(always)]
        move |p| {
            let mut values = [0.0; R];
            values.copy_from_slice(&data[p * stride + row..][..R]);
            values
        }
    }
}

/// Goes over the columns in panels, of which the last lies over the one before where it does not
/// fill up: a panel's time is that of its registers, full or not, and what is computed twice is
/// written once.
#[inline(always)]
fn panels<const WIDE: bool>(shape: Shape, a: impl Left, b: Rows<'_>, c: &mut RowsMut<'_>) {
    let mut j = 0;
    // While more than `$above` columns are left.
    macro_rules! panel {
        ($w:literal, $most:literal, $above:expr) => {
            while shape.n >= $w && shape.n - j > $above {
                match j.checked_sub(shape.n - $w) {
                    None | Some(0) => blocks::<$w, $most, true>(shape, a, b, c, j, 0),
                    Some(done) => blocks::<$w, $most, false>(shape, a, b, c, j - done, done),
                }
                j = shape.n.min(j + $w);
            }
        };
    }
    if WIDE {
        if shape.m <= 2 {
            panel!(64, 2, 63);
        }
        panel!(32, 8, 16);
        panel!(16, 8, 8);
    } else {
        // Twelve sums of the sixteen registers, but for one row, which has as many as its columns
        // fill.
        if shape.m <= 2 {
            panel!(64, 1, 63);
            panel!(32, 2, 31);
        }
        panel!(24, 4, 16);
        panel!(16, 6, 8);
    }
    panel!(8, 8, 4);
    panel!(4, 8, 2);
    panel!(2, 8, 1);
    panel!(1, 8, 0);
}

/// Goes over the rows of a panel in tiles of at most `MOST`. Its first `done` columns are there
/// already, none where it is `WHOLE`.
#[inline(always)]
fn blocks<const W: usize, const MOST: usize, const WHOLE: bool>(
    shape: Shape,
    a: impl Left,
    b: Rows<'_>,
    c: &mut RowsMut<'_>,
    j: usize,
    done: usize,
) {
    let mut i = 0;
    macro_rules! block {
        ($r:literal) => {
            while $r <= MOST && shape.m - i >= $r {
                tile::<$r, W, WHOLE>(a.tile::<$r>(i, shape.k), shape.k, b, j, c, i * c.stride + j, done);
                i += $r;
            }
        };
    }
    if MOST == 6 {
        block!(6);
    }
    block!(8);
    block!(4);
    block!(2);
    block!(1);
}

/// The product of `R` rows with `W` columns from `j` on, written to `c` from `at` on but for the
/// first `done` columns.
#[inline(always)]
fn tile<const R: usize, const W: usize, const WHOLE: bool>(
    a: impl Fn(usize) -> [f32; R],
    k: usize,
    b: Rows<'_>,
    j: usize,
    c: &mut RowsMut<'_>,
    at: usize,
    done: usize,
) {
    /// Repeats `$body` for `$r` in `0..R`, as straight code: a loop of this size keeps its arrays
    /// out of the registers.
    macro_rules! unroll {
        ($r:ident, $body:expr) => {
            unroll!(@ $r, $body, 0 1 2 3 4 5 6 7)
        };
        (@ $r:ident, $body:expr, $($i:literal)*) => {
            $(if R > $i {
                let $r: usize = $i;
                $body;
            })*
        };
    }
    let mut sums = [[0.0f32; W]; R];
    if c.add {
        unroll!(r, sums[r].copy_from_slice(&c.data[at + r * c.stride..][..W]));
    }
    for p in 0..k {
        let mut row = [0.0; W];
        row.copy_from_slice(&b.data[p * b.stride + j..][..W]);
        let left = a(p);
        unroll!(r, sums[r] = add_product(sums[r], left[r], row));
    }
    if WHOLE {
        unroll!(r, c.data[at + r * c.stride..][..W].copy_from_slice(&sums[r]));
        return;
    }
    // By way of memory: an index that is known only now would keep the sums themselves out of the
    // registers.
    let all = std::hint::black_box(sums);
    unroll!(r, c.data[at + r * c.stride..][done..W].copy_from_slice(&all[r][done..]));
}

#[inline(always)]
fn add_product<const W: usize>(mut sum: [f32; W], a: f32, b: [f32; W]) -> [f32; W] {
    for lane in 0..W {
        sum[lane] = a.mul_add(b[lane], sum[lane]);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize, shift: usize) -> Vec<f32> {
        (0..n)
            .map(|i| ((i * 37 + shift * 11) % 101) as f32 / 47.0 - 1.07)
            .collect()
    }

    /// All sizes from none to more than the widest tile: the very bits of the plain ascending
    /// chain.
    #[test]
    fn products_have_the_bits_of_the_plain_loop() {
        for (m, k, n) in [
            (1, 1, 1),
            (2, 3, 4),
            (9, 7, 67),
            (20, 16, 16),
            (1, 100, 130),
            (15, 5, 2),
            (3, 0, 5),
            (13, 33, 63),
            (5, 4, 11),
            (7, 5, 25),
            (6, 9, 90),
            (3, 2, 7),
        ] {
            let shape = Shape { m, k, n };
            let (a, b, start) = (values(m * k, 1), values(k * (n + 3), 2), values(m * n, 3));
            let mut turned = vec![0.0; m * k];
            let to = RowsMut {
                data: &mut turned,
                stride: m,
                add: false,
            };
            transpose(Rows { data: &a, stride: k }, m, k, to);
            for add in [false, true] {
                let mut plain = if add { start.clone() } else { vec![0.0; m * n] };
                for i in 0..m {
                    for p in 0..k {
                        for j in 0..n {
                            plain[i * n + j] = a[i * k + p].mul_add(b[p * (n + 3) + j], plain[i * n + j]);
                        }
                    }
                }
                let (mut c, mut d) = (start.clone(), start.clone());
                let to = |data| RowsMut { data, stride: n, add };
                let right = Rows {
                    data: &b,
                    stride: n + 3,
                };
                product(shape, Rows { data: &a, stride: k }, right, to(&mut c));
                let left = Rows {
                    data: &turned,
                    stride: m,
                };
                product_transposed(shape, left, right, to(&mut d));
                assert_eq!(c, plain, "{shape:?}");
                assert_eq!(d, plain, "{shape:?}");
            }
        }
    }
}
