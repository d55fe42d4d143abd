//! The discrete Fourier transform of a power of two, the same to the bit on every CPU.
//!
//! J. Cooley and J. Tukey. An Algorithm for the Machine Calculation of Complex Fourier Series.
//! 1965. Libraries choose their kernels by the CPU, fuse multiplications and so differ in the last
//! bits; a recorded epsilon must not. So this is the plain radix-2 form with factors by `libm`,
//! one multiplication at a time.
//!
//! Forward transforms leave the frequencies in the order of reversed bits, in which they are
//! multiplied, and inverse ones take them so: nothing is ever put into order.

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub(super) const ONE: Complex = Complex { re: 1.0, im: 0.0 };

    pub(super) fn times(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }

    /// By repeated squares, of which the first factor is the lowest.
    pub(super) fn power(self, mut n: u64) -> Complex {
        let (mut product, mut square) = (Complex::ONE, self);
        while n > 0 {
            if n & 1 == 1 {
                product = product.times(square);
            }
            n >>= 1;
            if n > 0 {
                square = square.times(square);
            }
        }
        product
    }
}

/// The factors of a transform of one length.
pub(super) struct Fft {
    /// `e^(-2 π i k / n)` for `k` below `n / 2`.
    factors: Vec<Complex>,
}

impl Fft {
    /// For `n` numbers, a power of two and at least 2.
    pub(super) fn new(n: usize) -> Fft {
        assert!(n.is_power_of_two() && n > 1, "a power of two");
        let factor = |k: usize| {
            let (im, re) = libm::sincos(-2.0 * std::f64::consts::PI * k as f64 / n as f64);
            Complex { re, im }
        };
        Fft {
            factors: (0..n / 2).map(factor).collect(),
        }
    }

    /// In place; frequencies in the order of reversed bits.
    pub(super) fn forward(&self, values: &mut [Complex]) {
        let mut length = values.len();
        while length > 1 {
            let (half, stride) = (length / 2, values.len() / length);
            for block in values.chunks_exact_mut(length) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), factor) in low.iter_mut().zip(high).zip(self.factors.iter().step_by(stride)) {
                    let (sum_re, sum_im) = (a.re + b.re, a.im + b.im);
                    let (re, im) = (a.re - b.re, a.im - b.im);
                    *b = Complex { re, im }.times(*factor);
                    *a = Complex { re: sum_re, im: sum_im };
                }
            }
            length = half;
        }
    }

    /// In place, from the order that [`forward`](Self::forward) leaves.
    pub(super) fn inverse(&self, values: &mut [Complex]) {
        let n = values.len();
        let mut length = 2;
        while length <= n {
            let (half, stride) = (length / 2, n / length);
            for block in values.chunks_exact_mut(length) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), factor) in low.iter_mut().zip(high).zip(self.factors.iter().step_by(stride)) {
                    let turned = b.times(Complex {
                        re: factor.re,
                        im: -factor.im,
                    });
                    *b = Complex {
                        re: a.re - turned.re,
                        im: a.im - turned.im,
                    };
                    *a = Complex {
                        re: a.re + turned.re,
                        im: a.im + turned.im,
                    };
                }
            }
            length *= 2;
        }
        let scale = 1.0 / n as f64;
        for value in values {
            *value = Complex {
                re: value.re * scale,
                im: value.im * scale,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Convolution by its definition, round the end.
    #[test]
    fn products_of_frequencies_are_convolutions() {
        let n = 16;
        let fft = Fft::new(n);
        let a: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
        let b: Vec<f64> = (0..n).map(|i| ((i * 7) % 5) as f64).collect();
        let lift = |x: &[f64]| x.iter().map(|&re| Complex { re, im: 0.0 }).collect::<Vec<_>>();
        let (mut left, mut right) = (lift(&a), lift(&b));
        fft.forward(&mut left);
        fft.forward(&mut right);
        let mut both: Vec<Complex> = left.iter().zip(&right).map(|(x, y)| x.times(y.power(2))).collect();
        fft.inverse(&mut both);
        let round = |x: &[f64], y: &[f64]| -> Vec<f64> {
            (0..n)
                .map(|k| (0..n).map(|i| x[i] * y[(n + k - i) % n]).sum())
                .collect()
        };
        for (got, expected) in both.iter().zip(round(&round(&a, &b), &b)) {
            assert!(
                (got.re - expected).abs() < 1e-12 && got.im.abs() < 1e-12,
                "{got:?}, not {expected}"
            );
        }
    }

    #[test]
    fn value_stability() {
        let mut values: Vec<Complex> = (0..8)
            .map(|i| Complex {
                re: f64::from(i * i),
                im: 0.1,
            })
            .collect();
        Fft::new(8).forward(&mut values);
        let bits: Vec<u64> = values
            .iter()
            .flat_map(|value| [value.re, value.im])
            .map(f64::to_bits)
            .collect();
        assert_eq!(
            bits.iter().fold(0u64, |hash, bits| hash.rotate_left(5) ^ bits),
            11_823_691_176_980_183_635
        );
    }
}
