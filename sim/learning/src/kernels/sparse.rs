//! Sums over the arcs of a graph, target by target and arc by arc, each one ascending chain of `mul_add`.

use multiversion::multiversion;

use super::row::dot_inline;

/// The arcs in compressed sparse rows, with the block of columns of the features that they carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arcs<'a> {
    /// The arcs into target `t` are `offsets[t]..offsets[t + 1]`.
    pub(crate) offsets: &'a [u32],
    pub(crate) sources: &'a [u32],
    /// The weight of arc `e` is `weights[e * stride + head]`.
    pub(crate) weights: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) head: usize,
    /// Columns of a row, of which those of the head count.
    pub(crate) columns: usize,
    /// Columns of a head; head `h` has `h * width..(h + 1) * width`.
    pub(crate) width: usize,
}

/// `y_t = Σ_e w_e x_s` over the arcs `e` into `t`, from `s`; the head's columns only. Adds to `y` if `add`.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn gather(arcs: &Arcs<'_>, x: &[f32], y: &mut [f32], add: bool) {
    let first = arcs.head * arcs.width;
    let mut j = 0;
    macro_rules! panel {
        ($w:literal) => {
            while arcs.width - j >= $w {
                gather_panel::<$w>(arcs, x, y, add, first + j);
                j += $w;
            }
        };
    }
    panel!(64);
    panel!(32);
    panel!(16);
    panel!(8);
    panel!(4);
    panel!(2);
    panel!(1);
}

#[inline(always)]
fn gather_panel<const W: usize>(arcs: &Arcs<'_>, x: &[f32], y: &mut [f32], add: bool, j: usize) {
    let columns = arcs.columns;
    for (bounds, y) in arcs.offsets.windows(2).zip(y.chunks_exact_mut(columns)) {
        let y = &mut y[j..][..W];
        let mut sums = [0.0f32; W];
        if add {
            sums.copy_from_slice(y);
        }
        for e in bounds[0] as usize..bounds[1] as usize {
            let weight = arcs.weights[e * arcs.stride + arcs.head];
            let x = &x[arcs.sources[e] as usize * columns + j..][..W];
            for lane in 0..W {
                sums[lane] = weight.mul_add(x[lane], sums[lane]);
            }
        }
        y.copy_from_slice(&sums);
    }
}

/// `gx_s += Σ_e w_e gy_t` over the arcs `e` from `s`, in the order of targets: the gradient of [`gather`] by its features.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn scatter(arcs: &Arcs<'_>, gy: &[f32], gx: &mut [f32]) {
    let (columns, width, first) = (arcs.columns, arcs.width, arcs.head * arcs.width);
    for (bounds, gy) in arcs.offsets.windows(2).zip(gy.chunks_exact(columns)) {
        let gy = &gy[first..][..width];
        for e in bounds[0] as usize..bounds[1] as usize {
            let weight = arcs.weights[e * arcs.stride + arcs.head];
            let gx = &mut gx[arcs.sources[e] as usize * columns + first..][..width];
            for (gx, gy) in gx.iter_mut().zip(gy) {
                *gx = weight.mul_add(*gy, *gx);
            }
        }
    }
}

/// `gw_e += gy_t · x_s` for each arc: the gradient of [`gather`] by its weights, which `gw` is laid out like.
#[multiversion(targets("x86_64+avx2+fma+avx512f", "x86_64+avx2+fma"))]
pub(crate) fn arc_products(arcs: &Arcs<'_>, gy: &[f32], x: &[f32], gw: &mut [f32]) {
    let (columns, width, first) = (arcs.columns, arcs.width, arcs.head * arcs.width);
    for (bounds, gy) in arcs.offsets.windows(2).zip(gy.chunks_exact(columns)) {
        let gy = &gy[first..][..width];
        for e in bounds[0] as usize..bounds[1] as usize {
            let x = &x[arcs.sources[e] as usize * columns + first..][..width];
            gw[e * arcs.stride + arcs.head] += dot_inline(gy, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gather_has_the_bits_of_the_plain_loop_for_every_width_and_head() {
        let (offsets, sources) = ([0, 2, 2, 5, 8], [1, 3, 0, 2, 3, 0, 1, 2]);
        for (width, n_heads) in [(1, 1), (7, 2), (64, 1), (100, 3)] {
            let columns = width * n_heads;
            let x: Vec<f32> = (0..4 * columns).map(|i| (i * 31 % 57) as f32 / 19.0 - 1.3).collect();
            let weights: Vec<f32> = (0..8 * n_heads).map(|i| (i * 13 % 29) as f32 / 7.0 - 1.9).collect();
            let mut y = vec![f32::NAN; 4 * columns];
            let mut plain = vec![0.0f32; 4 * columns];
            for head in 0..n_heads {
                let arcs = Arcs {
                    offsets: &offsets,
                    sources: &sources,
                    weights: &weights,
                    stride: n_heads,
                    head,
                    columns,
                    width,
                };
                gather(&arcs, &x, &mut y, false);
                for t in 0..4 {
                    for e in offsets[t] as usize..offsets[t + 1] as usize {
                        for j in head * width..(head + 1) * width {
                            let x = x[sources[e] as usize * columns + j];
                            plain[t * columns + j] = weights[e * n_heads + head].mul_add(x, plain[t * columns + j]);
                        }
                    }
                }
            }
            assert_eq!(y, plain);
        }
    }
}
