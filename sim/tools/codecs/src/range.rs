//! A binary range coder whose probabilities follow what it has seen, and symbols as paths in a tree
//! of its bits.
//!
//! G. N. N. Martin. Range encoding: an algorithm for removing redundancy from a digitised message.
//! 1979. Carries are kept back as in the coder of LZMA (<https://www.7-zip.org/sdk.html>, its
//! specification): probabilities of 11 bits that move by a 32nd.

use crate::Damaged;

const TOP: u32 = 1 << 24;
const HALF: u16 = 1 << 10;
const SHIFT: u32 = 5;

/// Probabilities of the bits of symbols of `width` bits: one for each prefix.
#[derive(Debug)]
pub(crate) struct Tree {
    width: u32,
    zero: Vec<u16>,
}

impl Tree {
    pub(crate) fn new(width: u32) -> Self {
        Tree {
            width,
            zero: vec![HALF; 1 << width],
        }
    }
}

fn learn(zero: &mut u16, bit: bool) {
    match bit {
        false => *zero += ((1 << 11) - *zero) >> SHIFT,
        true => *zero -= *zero >> SHIFT,
    }
}

#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    low: u64,
    range: u32,
    /// A byte that a carry may still reach, and how many of 0xff behind it.
    cache: Option<u8>,
    n_full: usize,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Encoder {
            out,
            low: 0,
            range: u32::MAX,
            cache: None,
            n_full: 0,
        }
    }

    pub(crate) fn put(&mut self, tree: &mut Tree, symbol: u32) {
        let mut node = 1;
        for at in (0..tree.width).rev() {
            let bit = symbol >> at & 1;
            self.put_bit(&mut tree.zero[node], bit == 1);
            node = node << 1 | bit as usize;
        }
    }

    fn put_bit(&mut self, zero: &mut u16, bit: bool) {
        let bound = (self.range >> 11) * u32::from(*zero);
        match bit {
            false => self.range = bound,
            true => {
                self.low += u64::from(bound);
                self.range -= bound;
            }
        }
        learn(zero, bit);
        while self.range < TOP {
            self.range <<= 8;
            self.shift();
        }
    }

    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        if carry == 1 || self.low < 0xff00_0000 {
            if let Some(cache) = self.cache {
                self.out.push(cache.wrapping_add(carry));
            }
            for _ in 0..self.n_full {
                self.out.push(0xff_u8.wrapping_add(carry));
            }
            self.n_full = 0;
            self.cache = Some((self.low >> 24) as u8);
        } else {
            self.n_full += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    /// Writes what is kept back, but for bytes of 0 at the end: a decoder reads those where nothing
    /// is.
    pub(crate) fn finish(mut self, start: usize) {
        for _ in 0..5 {
            self.shift();
        }
        while self.out.len() > start && self.out.last() == Some(&0) {
            self.out.pop();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
    code: u32,
    range: u32,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Decoder {
            bytes,
            code: 0,
            range: u32::MAX,
        };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    fn shift(&mut self) {
        let byte = match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            // Zeros at the end are not written.
            None => 0,
        };
        self.code = self.code << 8 | u32::from(byte);
    }

    pub(crate) fn take(&mut self, tree: &mut Tree) -> u32 {
        let mut node = 1;
        for _ in 0..tree.width {
            node = node << 1 | usize::from(self.take_bit(&mut tree.zero[node]));
        }
        node as u32 - (1 << tree.width)
    }

    fn take_bit(&mut self, zero: &mut u16) -> bool {
        let bound = (self.range >> 11) * u32::from(*zero);
        let bit = self.code >= bound;
        match bit {
            false => self.range = bound,
            true => {
                self.code -= bound;
                self.range -= bound;
            }
        }
        learn(zero, bit);
        while self.range < TOP {
            self.range <<= 8;
            self.shift();
        }
        bit
    }

    /// Checks that all bytes were read.
    pub(crate) fn finish(self) -> Result<(), Damaged> {
        match self.bytes.is_empty() {
            true => Ok(()),
            false => Err(Damaged::TooLong),
        }
    }
}
