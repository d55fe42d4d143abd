//! Masks, and what takes them off again.

use super::field::{self, Lagrange};
use folkmoot_draws::{Rng, SeedableRng, SimRng};
use serde::{Deserialize, Serialize};

/// Bits behind the point.
const FRACTION_BITS: i32 = 24;
/// One, in fixed point.
const ONE: f64 = (1_u64 << FRACTION_BITS) as f64;
/// The step of fixed point.
pub(crate) const STEP: f64 = 1.0 / ONE;
/// No single value may be larger, so that [`MAX_CLIENTS`] cannot overflow their sum.
const LARGEST: f64 = (1_u64 << 47) as f64;

/// The largest product of a value and its weight that fixed point holds: 2^23.
pub(crate) const RANGE: f64 = LARGEST / ONE;

/// The most clients of a round.
pub(crate) const MAX_CLIENTS: u32 = 1 << 15;

/// A client's secrets of one round, drawn from its stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Secrets {
    seal: u64,
    /// Agrees on pairwise masks.
    mask: u64,
    /// Seeds its own mask.
    own: u64,
}

/// The shares of one client's secrets that another holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SharesOf {
    pub(crate) client: u32,
    /// Of the secret behind its pairwise masks.
    pub(crate) mask: u64,
    /// Of the seed of its own mask.
    pub(crate) own: u64,
}

impl Secrets {
    pub(crate) fn draw(rng: &mut SimRng) -> Secrets {
        let [seal, mask, own] = [(); 3].map(|()| field::draw(rng));
        Secrets { seal, mask, own }
    }

    /// The public keys: for seals, for masks.
    pub(crate) fn public(&self) -> [u64; 2] {
        [field::public_key(self.seal), field::public_key(self.mask)]
    }

    /// Shares of the two secrets for each of `ids`.
    pub(crate) fn share(&self, threshold: usize, ids: &[u32], rng: &mut SimRng) -> Vec<[u64; 2]> {
        let mask = field::share(self.mask, threshold, ids, rng);
        let own = field::share(self.own, threshold, ids, rng);
        mask.into_iter().zip(own).map(|(mask, own)| [mask, own]).collect()
    }

    /// Seals shares from `from` for `to`, or opens them: the same operation, with the other's key
    /// for seals.
    pub(crate) fn seal(&self, others_key: u64, (from, to): (u32, u32), shares: [u64; 2]) -> [u64; 2] {
        let mut stream = stream(field::agree(self.seal, others_key), (from, to));
        shares.map(|share| share ^ stream.next_u64())
    }
}

/// A stream of masks or of a seal, named by a key and a pair of clients.
fn stream(key: u64, (from, to): (u32, u32)) -> SimRng {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&key.to_le_bytes());
    seed[8..12].copy_from_slice(&from.to_le_bytes());
    seed[12..16].copy_from_slice(&to.to_le_bytes());
    SimRng::from_seed(seed)
}

/// Adds a mask, or takes it off.
fn apply(values: &mut [u64], mut stream: SimRng, add: bool) {
    for value in values {
        let mask = stream.next_u64();
        *value = match add {
            true => value.wrapping_add(mask),
            false => value.wrapping_sub(mask),
        };
    }
}

/// `weight × x` for every `x`, then the weight, in fixed point with 24 bits behind the point,
/// modulo 2^64.
///
/// # Errors
///
/// The position of the first value that is not finite, or whose product is above 2^23.
pub(crate) fn fixed_point<T: Copy + Into<f64>>(values: &[T], weight: f64) -> Result<Vec<u64>, usize> {
    let mut fixed = Vec::with_capacity(values.len() + 1);
    for (at, x) in values.iter().enumerate() {
        let x: f64 = (*x).into();
        let scaled = (x * weight * ONE).round();
        if scaled.is_nan() || scaled.abs() > LARGEST {
            return Err(at);
        }
        fixed.push(scaled as i64 as u64);
    }
    fixed.push((weight * ONE).round() as i64 as u64);
    Ok(fixed)
}

/// Masks the values of client `me`; `others` are the ids and mask keys of all whose shares it
/// holds, without itself.
pub(crate) fn mask(values: &mut [u64], me: u32, secrets: &Secrets, others: impl Iterator<Item = (u32, u64)>) {
    apply(values, stream(secrets.own, (me, me)), true);
    for (other, key) in others {
        let agreed = field::agree(secrets.mask, key);
        apply(values, stream(agreed, (me.min(other), me.max(other))), other > me);
    }
}

/// Takes the masks off the sum of the masked values of `survivors`, and gives the sums of the
/// weighted values, then that of the weights.
///
/// `own` is the seed of each survivor's own mask. `vanished` are the clients that shared and whose
/// values did not come, with the secrets behind their masks; `keys` are the mask keys of the
/// survivors.
pub(crate) fn recover(
    mut sum: Vec<u64>,
    survivors: &[u32],
    own: &[u64],
    keys: &[u64],
    vanished: &[(u32, u64)],
) -> Vec<f64> {
    for (&id, &seed) in survivors.iter().zip(own) {
        apply(&mut sum, stream(seed, (id, id)), false);
    }
    for &(gone, secret) in vanished {
        for (&id, &key) in survivors.iter().zip(keys) {
            let agreed = field::agree(secret, key);
            // The survivor added it where the other's number is higher.
            apply(&mut sum, stream(agreed, (id.min(gone), id.max(gone))), gone < id);
        }
    }
    sum.into_iter().map(|value| value as i64 as f64 / ONE).collect()
}

impl Lagrange {
    /// A seed or secret from shares, by whichever was handed over.
    pub(crate) fn secret(&self, shares: &[u64]) -> u64 {
        self.reconstruct(shares.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Purpose, Streams};

    const IDS: [u32; 5] = [2, 3, 7, 11, 40];

    fn values(id: u32) -> Vec<f32> {
        (0..6).map(|i| (i as f32 - 2.5) * id as f32 * 0.123).collect()
    }

    /// All masked values of `survivors`, summed; every client of `IDS` shared.
    fn masked_sum(survivors: &[u32], secrets: &[Secrets]) -> Vec<u64> {
        let mut sum = vec![0_u64; 7];
        for &me in survivors {
            let mut fixed = fixed_point(&values(me), f64::from(me)).unwrap();
            let plain = fixed.clone();
            let at = IDS.iter().position(|id| *id == me).unwrap();
            let others = (0..5).filter(|i| *i != at).map(|i| (IDS[i], secrets[i].public()[1]));
            mask(&mut fixed, me, &secrets[at], others);
            assert!(fixed.iter().zip(&plain).all(|(masked, plain)| masked != plain));
            sum.iter_mut()
                .zip(fixed)
                .for_each(|(sum, x)| *sum = sum.wrapping_add(x));
        }
        sum
    }

    #[test]
    fn masks_come_off_whoever_vanishes_and_leave_the_plain_sum_to_the_bit() {
        let mut rng = Streams::new(1).global(Purpose(*b"test    "));
        let secrets: Vec<Secrets> = IDS.iter().map(|_| Secrets::draw(&mut rng)).collect();
        for gone in [vec![], vec![3], vec![2, 40]] {
            let survivors: Vec<u32> = IDS.into_iter().filter(|id| !gone.contains(id)).collect();
            let of = |ids: &[u32]| -> Vec<Secrets> {
                ids.iter()
                    .map(|id| secrets[IDS.iter().position(|i| i == id).unwrap()])
                    .collect()
            };
            let own: Vec<u64> = of(&survivors).iter().map(|s| s.own).collect();
            let keys: Vec<u64> = of(&survivors).iter().map(|s| s.public()[1]).collect();
            let vanished: Vec<(u32, u64)> = gone.iter().copied().zip(of(&gone).iter().map(|s| s.mask)).collect();
            let got = recover(masked_sum(&survivors, &secrets), &survivors, &own, &keys, &vanished);
            let mut plain = vec![0_u64; 7];
            for &id in &survivors {
                let fixed = fixed_point(&values(id), f64::from(id)).unwrap();
                plain
                    .iter_mut()
                    .zip(fixed)
                    .for_each(|(sum, x)| *sum = sum.wrapping_add(x));
            }
            let plain: Vec<u64> = plain.into_iter().map(|x| (x as i64 as f64 / ONE).to_bits()).collect();
            assert_eq!(got.iter().map(|x| x.to_bits()).collect::<Vec<u64>>(), plain, "{gone:?}");
            assert_eq!(got[6], survivors.iter().map(|id| f64::from(*id)).sum::<f64>());
        }
    }

    #[test]
    fn seals_open_for_their_receiver_alone() {
        let mut rng = Streams::new(2).global(Purpose(*b"test    "));
        let [a, b, c] = [(); 3].map(|()| Secrets::draw(&mut rng));
        let sealed = a.seal(b.public()[0], (1, 2), [77, 99]);
        assert_eq!(b.seal(a.public()[0], (1, 2), sealed), [77, 99]);
        assert_ne!(c.seal(a.public()[0], (1, 2), sealed), [77, 99]);
        assert_ne!(sealed, [77, 99]);
    }

    #[test]
    fn what_fixed_point_cannot_hold_is_named() {
        assert_eq!(fixed_point(&[1.0, f32::NAN], 1.0), Err(1));
        assert_eq!(fixed_point(&[f32::MAX], 1.0), Err(0));
        assert_eq!(fixed_point(&[-0.5], 2.0).unwrap(), [(-(1_i64 << 24)) as u64, 2 << 24]);
    }
}
