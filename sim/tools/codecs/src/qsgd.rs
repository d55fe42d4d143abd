//! Multiples of a share of a norm, drawn so that their mean is the number itself.

use crate::bits::{BitReader, BitWriter, put_f32, take_f32, whole_bytes, width};
use crate::uniform::{Symbols, put_symbols, take_symbols};
use crate::{Codec, Damaged, Shape, finite, matrices, n_values};
use folkmoot_draws::{SimRng, unit};
use folkmoot_parts::component;

/// Each number `v` as `r sign(v) l / levels`: `r` is the norm of its bucket, and `l` is
/// `levels |v| / r`, rounded down or up at random so that the mean is `v`. The norms as `f32`s,
/// then the signed levels.
///
/// D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic. QSGD: Communication-Efficient SGD via
/// Gradient Quantization and Encoding. NIPS 2017, section 3. <https://arxiv.org/abs/1610.02132>
#[component(
    name = "Qsgd",
    about = "stochastic quantisation relative to a norm, unbiased (Alistarh et al. 2017)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Qsgd {
    /// Number of quantisation levels above 0, per sign.
    #[component(default = 4, in = 1..=32_767)]
    pub levels: u32,
    /// Bucket size: number of values that share a norm; by default a whole matrix.
    #[component(at_least = 1)]
    pub bucket: Option<u32>,
    /// Encoding of the levels.
    pub coding: Levels,
    /// Error feedback: the sender adds the quantisation error (residual) to its next update. In
    /// rounds the residual includes updates lost in the network, but not those discarded by the
    /// server as late or surplus.
    #[component(default = false)]
    pub feedback: bool,
}

/// Encoding of signed levels.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// Fixed width: `2 levels + 1` symbols.
    #[default]
    Fixed,
    /// Elias omega code (section 3.2): per bucket the number of non-zero levels, then for each its
    /// gap, sign and level.
    Elias,
    /// Adaptive range coder, reset for each message.
    Range,
}

impl Qsgd {
    /// How long each bucket is.
    fn buckets(&self, shapes: &[Shape]) -> Vec<usize> {
        let mut lens = Vec::new();
        for [rows, columns] in shapes {
            let (n, size) = (rows * columns, self.bucket.map_or(usize::MAX, |size| size as usize));
            let mut at = 0;
            while at < n {
                lens.push(size.min(n - at));
                at += lens[lens.len() - 1];
            }
        }
        lens
    }

    fn symbol_bits(&self) -> u32 {
        width(2 * u64::from(self.levels) + 1)
    }

    fn level(&self, x: f32, norm: f32, rng: &mut SimRng) -> i32 {
        let exact = f64::from(self.levels) * (f64::from(x.abs()) / f64::from(norm));
        let up = unit(rng) < exact - exact.floor();
        let level = (exact.floor() as i32 + i32::from(up)).min(self.levels as i32);
        if x < 0.0 { -level } else { level }
    }
}

/// 0, 1, −1, 2, −2, …
fn symbol(level: i32) -> u32 {
    match level > 0 {
        true => 2 * level as u32 - 1,
        false => 2 * level.unsigned_abs(),
    }
}

fn level_of(symbol: u32) -> i32 {
    match symbol % 2 {
        1 => symbol.div_ceil(2) as i32,
        _ => -((symbol / 2) as i32),
    }
}

impl Codec for Qsgd {
    fn encode(&self, values: &[f32], shapes: &[Shape], rng: &mut SimRng, out: &mut Vec<u8>) {
        let mut levels = Vec::with_capacity(values.len());
        let buckets = self.buckets(shapes);
        let flat: Vec<Shape> = buckets.iter().map(|len| [1, *len]).collect();
        for (_, bucket) in matrices(values, &flat) {
            let norm = finite(bucket.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt());
            put_f32(norm, out);
            match norm {
                0.0 => levels.resize(levels.len() + bucket.len(), 0),
                norm => levels.extend(bucket.iter().map(|x| self.level(*x, norm, rng))),
            }
        }
        let symbols = levels.iter().map(|level| symbol(*level));
        match self.coding {
            Levels::Fixed => put_symbols(Symbols::Fixed, self.symbol_bits(), symbols, out),
            Levels::Range => put_symbols(Symbols::Range, self.symbol_bits(), symbols, out),
            Levels::Elias => {
                let mut bits = BitWriter::new(out);
                let mut rest = &levels[..];
                for len in buckets {
                    let (bucket, after) = rest.split_at(len);
                    rest = after;
                    let set = || bucket.iter().enumerate().filter(|(_, level)| **level != 0);
                    bits.put_omega(set().count() as u64 + 1);
                    let mut last = 0;
                    for (at, level) in set() {
                        bits.put_omega((at + 1 - last) as u64);
                        last = at + 1;
                        bits.put(u64::from(*level < 0), 1);
                        bits.put_omega(u64::from(level.unsigned_abs()));
                    }
                }
            }
        }
    }

    fn decode(&self, mut bytes: &[u8], shapes: &[Shape]) -> Result<Vec<f32>, Damaged> {
        let buckets = self.buckets(shapes);
        let mut norms = Vec::with_capacity(buckets.len());
        for _ in &buckets {
            norms.push(take_f32(&mut bytes)?);
        }
        let n = n_values(shapes);
        let levels: Vec<i32> = match self.coding {
            Levels::Elias => {
                let mut bits = BitReader::new(bytes);
                let mut levels = vec![0; n];
                let mut start = 0;
                for len in &buckets {
                    let mut at = 0;
                    for _ in 1..bits.take_omega(*len as u64 + 1)? {
                        at += bits.take_omega((len - at) as u64)? as usize;
                        if at > *len {
                            return Err(Damaged::Invalid("a level lies beyond its bucket"));
                        }
                        let is_negative = bits.take(1)? == 1;
                        let level = bits.take_omega(u64::from(self.levels))? as i32;
                        levels[start + at - 1] = if is_negative { -level } else { level };
                    }
                    start += len;
                }
                bits.finish()?;
                levels
            }
            coding => {
                let how = if coding == Levels::Range {
                    Symbols::Range
                } else {
                    Symbols::Fixed
                };
                let symbols = take_symbols(how, self.symbol_bits(), n, bytes)?;
                if symbols.iter().any(|symbol| *symbol > 2 * self.levels) {
                    return Err(Damaged::Invalid("a level is greater than the greatest"));
                }
                symbols.into_iter().map(level_of).collect()
            }
        };
        let mut levels = levels.into_iter();
        let mut values = Vec::with_capacity(n);
        for (len, norm) in buckets.into_iter().zip(norms) {
            let number = |level: i32| finite(f64::from(norm) * f64::from(level) / f64::from(self.levels));
            values.extend(levels.by_ref().take(len).map(number));
        }
        Ok(values)
    }

    fn encoded_len(&self, shapes: &[Shape]) -> Option<u64> {
        let levels = whole_bytes(n_values(shapes) as u64 * u64::from(self.symbol_bits()));
        (self.coding == Levels::Fixed).then_some(4 * self.buckets(shapes).len() as u64 + levels)
    }

    fn feeds_back(&self) -> bool {
        self.feedback
    }

    fn is_random(&self) -> bool {
        true
    }

    fn suits_models(&self) -> bool {
        true
    }

    /// Lemma 3.1: `min(n / levels², √n / levels)` for the `n` numbers of a bucket.
    fn most_error(&self, n_values: usize) -> Option<f64> {
        let bucket = self.bucket.map_or(usize::MAX, |size| size as usize);
        let (n, levels) = (n_values.min(bucket) as f64, f64::from(self.levels));
        Some((n / (levels * levels)).min(n.sqrt() / levels))
    }
}
