//! Reports of numbers as a codec packs them, on their way alone. They have been released by then,
//! so that rounding them costs no privacy.

use folkmoot_codecs::{Codec, Damaged};
use folkmoot_engine::prelude::*;

/// What a report of numbers looks like; all of it little-endian, numbers as `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// A number for each feature.
    All,
    /// Columns as `u32`, and then a number for each of them.
    Listed,
}

impl Numbers {
    /// How many numbers a report holds, and where they begin.
    fn place(self, report: &[u8]) -> (usize, usize) {
        match self {
            Numbers::All => (report.len() / 4, 0),
            Numbers::Listed => (report.len() / 8, report.len() / 2),
        }
    }

    /// A report with its numbers packed: before them, where columns are listed, how many there are
    /// as `u32`, and the columns. A number beyond those of `f32` is the greatest of them.
    ///
    /// # Panics
    ///
    /// If it is no report of this form.
    pub(crate) fn pack(self, codec: &dyn Codec, report: &[u8], rng: &mut SimRng) -> Vec<u8> {
        let (n, begins) = self.place(report);
        let (columns, numbers) = report.split_at(begins);
        let numbers = WireReader::new(numbers).rest_f32().expect("whole numbers");
        let numbers: Vec<f32> = numbers.iter().map(|x| x.clamp(f32::MIN, f32::MAX)).collect();
        let mut packed = Vec::new();
        if self == Numbers::Listed {
            put_u32s(&mut packed, &[n as u32]);
            packed.extend_from_slice(columns);
        }
        codec.encode(&numbers, &[[1, n]], rng, &mut packed);
        packed
    }

    /// The report, with its numbers as far as the codec has kept them.
    ///
    /// # Errors
    ///
    /// Where the bytes are not those of a packed report on so many features.
    pub(crate) fn open(self, codec: &dyn Codec, packed: &[u8], n_features: usize) -> Result<Vec<u8>, Damaged> {
        let (n, columns, numbers) = match self {
            Numbers::All => (n_features, &[][..], packed),
            Numbers::Listed => {
                let (n, rest) = packed.split_first_chunk().ok_or(Damaged::TooShort)?;
                let n = u32::from_le_bytes(*n) as usize;
                if n > n_features {
                    return Err(Damaged::Invalid("more columns than there are features"));
                }
                let (columns, numbers) = rest.split_at_checked(4 * n).ok_or(Damaged::TooShort)?;
                (n, columns, numbers)
            }
        };
        let mut report = columns.to_vec();
        put_f32s(&mut report, &codec.decode(numbers, &[[1, n]])?);
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_codecs::{Half, Qsgd, Uniform};
    use folkmoot_draws::SeedableRng;
    use proptest::prelude::*;

    fn codecs() -> [Box<dyn Codec>; 3] {
        let range = Uniform {
            symbols: folkmoot_codecs::Symbols::Range,
            ..Uniform::default()
        };
        [Box::new(Half {}), Box::new(Qsgd::default()), Box::new(range)]
    }

    fn listed(columns: &[u32], values: &[f32]) -> Vec<u8> {
        let mut report = Vec::new();
        put_u32s(&mut report, columns);
        put_f32s(&mut report, values);
        report
    }

    /// Halves hold these numbers; of one beyond them the greatest is left.
    #[test]
    fn a_packed_report_comes_back() {
        let rng = &mut SimRng::seed_from_u64(1);
        for (form, columns, n_features) in [(Numbers::All, &[][..], 3), (Numbers::Listed, &[1, 5, 6], 9)] {
            let report = listed(columns, &[0.5, -2.0, f32::INFINITY]);
            let packed = form.pack(&Half {}, &report, rng);
            let head = if form == Numbers::Listed { 4 + 4 * 3 } else { 0 };
            assert_eq!(packed.len(), head + 2 * 3);
            let expected = listed(columns, &[0.5, -2.0, 65504.0]);
            assert_eq!(form.open(&Half {}, &packed, n_features), Ok(expected));
        }
        let nothing = Numbers::Listed.pack(&Half {}, &[], rng);
        assert_eq!(Numbers::Listed.open(&Half {}, &nothing, 9), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_packed_report_or_none(bytes in prop::collection::vec(any::<u8>(), 0..60), n_features in 1usize..9) {
            for codec in codecs() {
                if let Ok(report) = Numbers::All.open(&*codec, &bytes, n_features) {
                    prop_assert_eq!(report.len(), 4 * n_features);
                }
                if let Ok(report) = Numbers::Listed.open(&*codec, &bytes, n_features) {
                    prop_assert!(report.len() % 8 == 0 && report.len() <= 8 * n_features);
                }
            }
        }
    }
}
