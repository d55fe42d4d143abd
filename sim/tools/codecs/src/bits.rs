//! Bits one after the other, the highest of a number first, and the codes of Elias.

use crate::Damaged;

/// Writes bits; the last byte is filled with zeros.
#[derive(Debug)]
pub struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Bits of the last byte that are taken; 0 when it is full.
    n_taken: u32,
}

impl<'a> BitWriter<'a> {
    /// Begins with a byte of its own, behind those that are there.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        BitWriter { out, n_taken: 0 }
    }

    /// The lowest `n` bits of a number, at most 64.
    pub fn put(&mut self, value: u64, n: u32) {
        for at in (0..n).rev() {
            if self.n_taken == 0 {
                self.out.push(0);
            }
            let bit = (value >> at & 1) as u8;
            if let Some(last) = self.out.last_mut() {
                *last |= bit << (7 - self.n_taken);
            }
            self.n_taken = (self.n_taken + 1) % 8;
        }
    }

    /// A number of 1 or more in Elias's omega code: its bits, before them how many those are less
    /// one in the same way, down to 1; then 0.
    pub fn put_omega(&mut self, n: u64) {
        let mut groups = Vec::with_capacity(6);
        let mut n = n.max(1);
        while n > 1 {
            groups.push(n);
            n = u64::from(n.ilog2());
        }
        for group in groups.into_iter().rev() {
            self.put(group, group.ilog2() + 1);
        }
        self.put(0, 1);
    }
}

/// How many bits the omega code of a number has.
#[cfg(test)]
pub(crate) fn omega_len(n: u64) -> u32 {
    match n {
        0 | 1 => 1,
        n => n.ilog2() + 1 + omega_len(u64::from(n.ilog2())),
    }
}

/// Reads bits.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Begins with the first bit of the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, at: 0 }
    }

    /// A number of `n` bits, at most 64.
    ///
    /// # Errors
    ///
    /// When there are fewer.
    pub fn take(&mut self, n: u32) -> Result<u64, Damaged> {
        if n as usize > self.bytes.len() * 8 - self.at {
            return Err(Damaged::TooShort);
        }
        let mut value = 0;
        for _ in 0..n {
            let bit = self.bytes[self.at / 8] >> (7 - self.at % 8) & 1;
            value = value << 1 | u64::from(bit);
            self.at += 1;
        }
        Ok(value)
    }

    /// A number in the omega code, at most `most`.
    ///
    /// # Errors
    ///
    /// When the bits end, or a number is greater.
    pub fn take_omega(&mut self, most: u64) -> Result<u64, Damaged> {
        let mut n = 1;
        loop {
            if self.take(1)? == 0 {
                return Ok(n);
            }
            if n > 63 {
                return Err(Damaged::Invalid("a code of Elias is too long"));
            }
            n = self.take(n as u32)? | 1 << n;
            if n > most {
                return Err(Damaged::Invalid("a code of Elias stands for too great a number"));
            }
        }
    }

    /// Checks that nothing is left but zeros that fill a byte.
    ///
    /// # Errors
    ///
    /// When there is.
    pub fn finish(mut self) -> Result<(), Damaged> {
        let n_left = self.bytes.len() * 8 - self.at;
        match n_left < 8 && self.take(n_left as u32)? == 0 {
            true => Ok(()),
            false => Err(Damaged::TooLong),
        }
    }
}

/// How many bits tell `n` things apart.
pub(crate) fn width(n: u64) -> u32 {
    match n {
        0 | 1 => 0,
        n => (n - 1).ilog2() + 1,
    }
}

/// How many bytes hold so many bits.
pub(crate) fn whole_bytes(n_bits: u64) -> u64 {
    n_bits.div_ceil(8)
}

/// The next four bytes as a finite number.
pub(crate) fn take_f32(bytes: &mut &[u8]) -> Result<f32, Damaged> {
    let (head, rest) = bytes.split_first_chunk().ok_or(Damaged::TooShort)?;
    *bytes = rest;
    let x = f32::from_le_bytes(*head);
    match x.is_finite() {
        true => Ok(x),
        false => Err(Damaged::Invalid("a number is not finite")),
    }
}

pub(crate) fn put_f32(x: f32, out: &mut Vec<u8>) {
    out.extend_from_slice(&x.to_le_bytes());
}
