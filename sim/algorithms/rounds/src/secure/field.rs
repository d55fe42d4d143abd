//! The field of 2^61 − 1 elements: key agreement, and Shamir's secret sharing.
//!
//! A. Shamir. How to Share a Secret. CACM 22 (1979).
use folkmoot_draws::{SimRng, index};

/// The order of the field, a Mersenne prime.
pub(crate) const ORDER: u64 = (1 << 61) - 1;
/// Keys are powers of it.
const BASE: u64 = 37;

fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(ORDER)) as u64
}

fn add(a: u64, b: u64) -> u64 {
    (a + b) % ORDER
}

fn subtract(a: u64, b: u64) -> u64 {
    (a + ORDER - b) % ORDER
}

fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, base);
        }
        base = multiply(base, base);
        exponent >>= 1;
    }
    result
}

/// By Fermat's little theorem; of 0 it is 0.
fn inverse(a: u64) -> u64 {
    power(a, ORDER - 2)
}

/// A secret: any element but 0.
pub(crate) fn draw(rng: &mut SimRng) -> u64 {
    1 + index(rng, ORDER as usize - 1) as u64
}

/// The public key of a secret one.
pub(crate) fn public_key(secret: u64) -> u64 {
    power(BASE, secret)
}

/// What a secret and another's public key agree on; both sides come to the same (Diffie and Hellman
/// 1976).
pub(crate) fn agree(secret: u64, public: u64) -> u64 {
    power(public, secret)
}

/// Values of a random polynomial of degree `threshold − 1` whose value at 0 is `secret`, at
/// `id + 1` for each id. Draws `threshold − 1` coefficients.
pub(crate) fn share(secret: u64, threshold: usize, ids: &[u32], rng: &mut SimRng) -> Vec<u64> {
    let mut coefficients = vec![secret];
    coefficients.extend((1..threshold).map(|_| index(rng, ORDER as usize) as u64));
    let value = |id: &u32| {
        let x = u64::from(*id) + 1;
        let horner = |sum, c: &u64| add(multiply(sum, x), *c);
        coefficients.iter().rev().fold(0, horner)
    };
    ids.iter().map(value).collect()
}

/// The weights with which shares of some clients add up to a secret.
#[derive(Debug)]
pub(crate) struct Lagrange(Vec<u64>);

impl Lagrange {
    /// For the shares of the clients `ids`, all different and as many as the threshold.
    pub(crate) fn new(ids: &[u32]) -> Lagrange {
        let x = |id: u32| u64::from(id) + 1;
        let weight = |&i: &u32| {
            let others = ids.iter().filter(|j| **j != i);
            let (above, below) = others.fold((1, 1), |(above, below), &j| {
                (multiply(above, x(j)), multiply(below, subtract(x(j), x(i))))
            });
            multiply(above, inverse(below))
        };
        Lagrange(ids.iter().map(weight).collect())
    }

    /// The secret of which these are the shares, in the order of the ids.
    pub(crate) fn reconstruct(&self, shares: impl Iterator<Item = u64>) -> u64 {
        self.0
            .iter()
            .zip(shares)
            .fold(0, |sum, (weight, share)| add(sum, multiply(*weight, share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::{Purpose, Streams};

    fn rng() -> SimRng {
        Streams::new(1).global(Purpose(*b"test    "))
    }

    #[test]
    fn arithmetic_is_that_of_a_field() {
        assert_eq!(
            (add(ORDER - 1, 2), subtract(1, 2), multiply(ORDER - 1, ORDER - 1)),
            (1, ORDER - 1, 1)
        );
        let rng = &mut rng();
        for _ in 0..20 {
            let a = draw(rng);
            assert_eq!(multiply(a, inverse(a)), 1);
        }
    }

    #[test]
    fn keys_agree() {
        let (a, b) = (draw(&mut rng()), 12345);
        assert_eq!(agree(a, public_key(b)), agree(b, public_key(a)));
        assert_ne!(public_key(a), public_key(b));
    }

    #[test]
    fn any_threshold_of_shares_gives_the_secret_and_fewer_do_not() {
        let ids = [0, 3, 4, 9, 70];
        let secret = draw(&mut rng());
        let shares = share(secret, 3, &ids, &mut rng());
        for subset in [[0, 1, 2], [0, 2, 4], [1, 3, 4]] {
            let some: Vec<u32> = subset.iter().map(|i| ids[*i]).collect();
            let of_them = || subset.iter().map(|i| shares[*i]);
            assert_eq!(Lagrange::new(&some).reconstruct(of_them()), secret);
            assert_ne!(Lagrange::new(&some[..2]).reconstruct(of_them().take(2)), secret);
        }
    }
}
