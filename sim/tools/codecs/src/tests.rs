//! What all codecs promise, and the sizes that are known.

use crate::bits::omega_len;
use crate::*;
use folkmoot_draws::{Purpose, Streams, normal};
use proptest::prelude::*;

fn stream(seed: u64) -> SimRng {
    Streams::new(seed).global(Purpose(*b"codectst"))
}

fn normals(seed: u64, n: usize) -> Vec<f32> {
    let mut rng = stream(seed);
    (0..n).map(|_| normal(&mut rng) as f32).collect()
}

/// Every codec, with each way of writing, and with feedback where it takes that.
fn all() -> Vec<(&'static str, Box<dyn Codec>)> {
    let uniform = |bits, rounding, symbols| -> Box<dyn Codec> {
        Box::new(Uniform {
            bits,
            rounding,
            symbols,
            feedback: true,
        })
    };
    let qsgd = |levels, bucket, coding| -> Box<dyn Codec> {
        Box::new(Qsgd {
            levels,
            bucket,
            coding,
            feedback: true,
        })
    };
    let top = |share, positions| -> Box<dyn Codec> {
        Box::new(TopK {
            share,
            positions,
            feedback: true,
        })
    };
    let random = |feedback| -> Box<dyn Codec> { Box::new(RandomK { share: 0.4, feedback }) };
    vec![
        ("plain", Box::new(Plain {})),
        ("half", Box::new(Half {})),
        ("bfloat", Box::new(Bfloat {})),
        ("uniform 1", uniform(1, Rounding::Nearest, Symbols::Fixed)),
        ("uniform 8", uniform(8, Rounding::Stochastic, Symbols::Fixed)),
        ("uniform 16", uniform(16, Rounding::Nearest, Symbols::Range)),
        ("qsgd 1", qsgd(1, Some(5), Levels::Elias)),
        ("qsgd 4", qsgd(4, None, Levels::Fixed)),
        ("qsgd 4 range", qsgd(4, Some(7), Levels::Range)),
        ("top", top(0.3, Positions::Packed)),
        ("top mask", top(0.3, Positions::Bitmask)),
        ("top elias", top(0.01, Positions::Elias)),
        ("random", random(true)),
        ("random, scaled", random(false)),
        ("sign", Box::new(Sign { feedback: true })),
        (
            "low rank",
            Box::new(LowRank {
                rank: 2,
                iterations: 1,
                feedback: true,
            }),
        ),
    ]
}

fn encoded(codec: &dyn Codec, values: &[f32], shapes: &[Shape], seed: u64) -> Vec<u8> {
    let mut bytes = vec![7];
    codec.encode(values, shapes, &mut stream(seed), &mut bytes);
    assert_eq!(bytes.remove(0), 7, "an encoding is appended");
    bytes
}

proptest! {
    #[test]
    fn what_is_encoded_is_read_and_as_long_as_is_said(
        rows in prop::collection::vec((0usize..6, 0usize..9), 0..4),
        scale in prop::sample::select(vec![0.0f32, 1e-30, 1.0, 1e30]),
        seed in 0u64..1000,
    ) {
        let shapes: Vec<Shape> = rows.iter().map(|(rows, columns)| [*rows, *columns]).collect();
        let values: Vec<f32> = normals(seed, n_values(&shapes)).iter().map(|x| x * scale).collect();
        for (name, codec) in all() {
            let bytes = encoded(&*codec, &values, &shapes, seed);
            if let Some(len) = codec.encoded_len(&shapes) {
                prop_assert_eq!(bytes.len() as u64, len, "{}", name);
            }
            let decoded = codec.decode(&bytes, &shapes);
            prop_assert!(decoded.is_ok(), "{}: {:?}", name, decoded);
            let decoded = decoded.unwrap();
            prop_assert_eq!(decoded.len(), values.len(), "{}", name);
            prop_assert!(decoded.iter().all(|x| x.is_finite()), "{}", name);
            if codec.is_plain() {
                prop_assert_eq!(&decoded, &values);
            }
        }
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), rows in 0usize..5, columns in 0usize..7) {
        for (name, codec) in all() {
            if let Ok(values) = codec.decode(&bytes, &[[rows, columns], [1, 3]]) {
                prop_assert_eq!(values.len(), rows * columns + 3, "{}", name);
                prop_assert!(values.iter().all(|x| x.is_finite()), "{}", name);
            }
        }
    }

    #[test]
    fn numbers_in_the_omega_code_are_read_back(numbers in prop::collection::vec(1u64..1 << 40, 0..20)) {
        let mut bytes = Vec::new();
        let mut bits = BitWriter::new(&mut bytes);
        numbers.iter().for_each(|n| bits.put_omega(*n));
        prop_assert_eq!(bytes.len() as u32, numbers.iter().map(|n| omega_len(*n)).sum::<u32>().div_ceil(8));
        let mut reader = BitReader::new(&bytes);
        for n in numbers {
            prop_assert_eq!(reader.take_omega(1 << 40), Ok(n));
        }
        prop_assert_eq!(reader.finish(), Ok(()));
    }
}

#[test]
fn cut_and_lengthened_encodings_are_refused() {
    let shapes = [[4, 6], [1, 5]];
    let values = normals(3, n_values(&shapes));
    for (name, codec) in all() {
        let bytes = encoded(&*codec, &values, &shapes, 1);
        // A range coder leaves out zeros at the end, so that a few bytes more may still be read.
        let longer = [&bytes[..], &[1; 8]].concat();
        assert!(codec.decode(&longer, &shapes).is_err(), "{name}");
        if codec.encoded_len(&shapes).is_some() {
            assert!(codec.decode(&bytes[..bytes.len() - 1], &shapes).is_err(), "{name}");
        }
    }
}

/// Lengths as in P. Elias. Universal codeword sets and representations of the integers. IEEE
/// Transactions on Information Theory 21, 1975.
#[test]
fn omega_codes_have_the_lengths_of_elias() {
    let lengths = [1, 2, 4, 8, 16, 32, 100, 1000, 65536].map(omega_len);
    assert_eq!(lengths, [1, 3, 6, 7, 11, 12, 13, 17, 28]);
    let mut bytes = Vec::new();
    BitWriter::new(&mut bytes).put_omega(17);
    // 10 100 10001 0.
    assert_eq!(bytes, [0b1010_0100, 0b0100_0000]);
}

/// From numpy 2.4.6 (`numpy.float16`, after `clip` to ±65504) and ml_dtypes 0.6.0 (`bfloat16`).
#[test]
fn halves_are_those_of_numpy() {
    let values = [
        0.1,
        -0.333_333_34,
        1e-8,
        6e-8,
        5.96e-8,
        2.98e-8,
        65504.0,
        65519.0,
        1.000_488_3,
        1.001_464_8,
        std::f32::consts::PI,
        -0.0,
        1e-5,
        123_456.0,
        1.003_906_3,
        1.011_718_8,
        3.3e38,
    ];
    let halves = [
        0x2e66, 0xb555, 0x0, 0x1, 0x1, 0x0, 0x7bff, 0x7bff, 0x3c00, 0x3c02, 0x4248, 0x8000, 0xa8, 0x7bff, 0x3c04,
        0x3c0c, 0x7bff,
    ];
    let bfloats = [
        0x3dcd, 0xbeab, 0x322c, 0x3381, 0x3380, 0x3300, 0x4780, 0x4780, 0x3f80, 0x3f80, 0x4049, 0x8000, 0x3728, 0x47f1,
        0x3f80, 0x3f82, 0x7f78,
    ];
    for (codec, words) in [(&Half {} as &dyn Codec, halves), (&Bfloat {}, bfloats)] {
        let bytes = encoded(codec, &values, &[[1, values.len()]], 0);
        let ours: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        assert_eq!(ours, words);
    }
}

#[test]
fn sizes_are_those_of_the_formulas() {
    let of = |codec: &dyn Codec, d: usize| codec.encoded_len(&[[1, d]]).unwrap();
    let top = |share, positions| TopK {
        share,
        positions,
        feedback: true,
    };
    for (d, packed, mask) in [(1_000, 53, 165), (10_000, 575, 1_650), (100_000, 6_125, 16_500)] {
        assert_eq!(of(&top(0.01, Positions::Packed), d), packed);
        assert_eq!(of(&top(0.01, Positions::Bitmask), d), mask);
    }
    assert_eq!(of(&Sign { feedback: true }, 1_001), 4 + 126);
    assert_eq!(of(&Half {}, 9), 18);
    let bits = |bits| Uniform {
        bits,
        ..Uniform::default()
    };
    assert_eq!([1, 3, 16].map(|n| of(&bits(n), 9)), [8 + 2, 8 + 4, 8 + 18]);
    let low = LowRank::default();
    assert_eq!(
        low.encoded_len(&[[100, 50], [1, 50], [3, 3]]),
        Some(4 * (2 * 150 + 50 + 9))
    );
}

#[test]
fn stochastic_rounding_is_right_in_the_mean() {
    let shapes = [[2, 3]];
    let values = [0.3, -0.7, 0.05, 1.0, -0.2, 0.0];
    let n = 20_000;
    let codecs: [Box<dyn Codec>; 3] = [
        Box::new(Qsgd {
            levels: 2,
            ..Qsgd::default()
        }),
        Box::new(Uniform {
            bits: 2,
            rounding: Rounding::Stochastic,
            ..Uniform::default()
        }),
        Box::new(RandomK {
            share: 0.5,
            feedback: false,
        }),
    ];
    for codec in codecs {
        let mut sums = [0.0; 6];
        let mut bytes = Vec::new();
        let mut rng = stream(5);
        for _ in 0..n {
            bytes.clear();
            codec.encode(&values, &shapes, &mut rng, &mut bytes);
            let decoded = codec.decode(&bytes, &shapes).unwrap();
            sums.iter_mut().zip(decoded).for_each(|(sum, x)| *sum += f64::from(x));
        }
        for (sum, x) in sums.iter().zip(values) {
            // Five standard errors of what lies within ±2.
            assert!((sum / f64::from(n) - f64::from(x)).abs() < 5.0 / f64::from(n).sqrt());
        }
    }
}

/// With one level and one bucket: at most `min(d / s², √d / s)` times the square of the norm (the
/// paper's lemma 3.1), and `s (s + √d)` numbers that are not 0 in the mean.
#[test]
fn qsgd_keeps_within_the_bounds_of_its_lemma() {
    let (d, n_draws) = (1_000, 200);
    let values = normals(1, d);
    let norm_squared: f64 = values.iter().map(|x| f64::from(x * x)).sum();
    for (levels, bound, nonzero) in [(1, 31.6, 32.6), (4, 7.91, 142.5), (16, 1.98, 762.0)] {
        let codec = Qsgd {
            levels,
            ..Qsgd::default()
        };
        let most = codec.most_error(d).unwrap();
        assert!((most - bound).abs() < 0.03, "{levels}: {most}");
        let (mut error, mut n_set, mut bytes, mut rng) = (0.0, 0, Vec::new(), stream(2));
        for _ in 0..n_draws {
            bytes.clear();
            codec.encode(&values, &[[1, d]], &mut rng, &mut bytes);
            let decoded = codec.decode(&bytes, &[[1, d]]).unwrap();
            error += decoded
                .iter()
                .zip(&values)
                .map(|(a, b)| f64::from(a - b).powi(2))
                .sum::<f64>();
            n_set += decoded.iter().filter(|x| **x != 0.0).count();
        }
        let mean = |x: f64| x / f64::from(n_draws);
        assert!(
            mean(error) <= bound * norm_squared,
            "{levels}: {}",
            mean(error) / norm_squared
        );
        assert!(mean(n_set as f64) <= nonzero, "{levels}: {}", mean(n_set as f64));
    }
}

#[test]
fn the_three_codings_of_levels_say_the_same() {
    let values = normals(4, 300);
    let with = |coding| Qsgd {
        levels: 3,
        bucket: Some(64),
        coding,
        feedback: false,
    };
    let [fixed, elias, range] = [Levels::Fixed, Levels::Elias, Levels::Range].map(|coding| {
        let bytes = encoded(&with(coding), &values, &[[300, 1]], 9);
        (with(coding).decode(&bytes, &[[300, 1]]).unwrap(), bytes.len())
    });
    assert_eq!(fixed.0, elias.0);
    assert_eq!(fixed.0, range.0);
    assert!(elias.1 < fixed.1 && range.1 < fixed.1);
}

/// Of symbols whose entropy is known, the range coder takes little more.
#[test]
fn the_range_coder_comes_near_the_entropy() {
    let n = 50_000;
    let mut rng = stream(8);
    // One in ten is 1: 0.469 bits each.
    let symbols: Vec<u32> = (0..n)
        .map(|_| u32::from(folkmoot_draws::bernoulli(&mut rng, 0.1)))
        .collect();
    let mut bytes = Vec::new();
    uniform::put_symbols(Symbols::Range, 1, symbols.iter().copied(), &mut bytes);
    let bits = bytes.len() as f64 * 8.0 / f64::from(n);
    assert!((0.469..0.469 * 1.03).contains(&bits), "{bits}");
    assert_eq!(
        uniform::take_symbols(Symbols::Range, 1, n as usize, &bytes),
        Ok(symbols)
    );
    // Nothing but zeros costs next to nothing.
    bytes.clear();
    uniform::put_symbols(Symbols::Range, 8, std::iter::repeat_n(0, n as usize), &mut bytes);
    assert!(bytes.len() < 1_200, "{}", bytes.len());
}

/// Ones alone cost what probabilities of 11 bits that move by a 32nd make of them.
#[test]
fn the_range_coder_learns_at_the_rate_of_its_specification() {
    let n = 40_000;
    let (mut zero, mut probability, mut expected) = (1024_u32, 1.0, 0);
    for _ in 0..n {
        probability *= f64::from(2048 - zero) / 2048.0;
        zero -= zero / 32;
        if probability < 1.0 / 256.0 {
            probability *= 256.0;
            expected += 1;
        }
    }
    let mut bytes = Vec::new();
    uniform::put_symbols(Symbols::Range, 1, std::iter::repeat_n(1, n), &mut bytes);
    assert!(
        (expected..expected + 6).contains(&bytes.len()),
        "{} for {expected}",
        bytes.len()
    );
}

/// Carries run through bytes of 0xff: what comes last is all that is unlikely.
#[test]
fn the_range_coder_reads_what_it_wrote_whatever_the_carries() {
    for seed in 0..200 {
        let mut rng = stream(seed);
        let p = [0.001, 0.5, 0.999][seed as usize % 3];
        let symbols: Vec<u32> = (0..2_000)
            .map(|i| u32::from(folkmoot_draws::bernoulli(&mut rng, p)) ^ u32::from(i > 1_500))
            .collect();
        let mut bytes = Vec::new();
        uniform::put_symbols(Symbols::Range, 1, symbols.iter().copied(), &mut bytes);
        assert_eq!(uniform::take_symbols(Symbols::Range, 1, 2_000, &bytes), Ok(symbols));
    }
}

#[test]
fn the_greatest_are_sent_and_of_equal_ones_the_first() {
    let codec = TopK {
        share: 0.5,
        ..TopK::default()
    };
    let bytes = encoded(&codec, &[1.0, -3.0, 1.0, 2.0, 1.0, -0.5], &[[2, 3]], 0);
    let decoded = codec.decode(&bytes, &[[2, 3]]).unwrap();
    assert_eq!(decoded, [1.0, -3.0, 0.0, 2.0, 0.0, 0.0]);
}

#[test]
fn a_matrix_of_that_rank_comes_back() {
    let (rows, columns) = (12, 9);
    let (a, b) = (normals(1, rows * 2), normals(2, columns * 2));
    let entry =
        |at: usize| a[at / columns * 2] * b[at % columns * 2] + a[at / columns * 2 + 1] * b[at % columns * 2 + 1];
    let matrix: Vec<f32> = (0..rows * columns).map(entry).collect();
    let codec = LowRank {
        rank: 2,
        ..LowRank::default()
    };
    let decoded = codec
        .decode(&encoded(&codec, &matrix, &[[rows, columns]], 1), &[[rows, columns]])
        .unwrap();
    assert!(decoded.iter().zip(&matrix).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// Of a diagonal matrix each power iteration multiplies the parts of `P` by the squares of the
/// entries.
#[test]
fn each_power_iteration_weighs_by_the_squares_of_the_singular_values() {
    let matrix = [1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.25];
    let parts = |iterations| {
        let codec = LowRank {
            rank: 1,
            iterations,
            ..LowRank::default()
        };
        let bytes = encoded(&codec, &matrix, &[[3, 3]], 4);
        let p: Vec<f32> = bytes
            .chunks_exact(4)
            .take(3)
            .map(|x| f32::from_le_bytes(x.try_into().unwrap()))
            .collect();
        [p[1] / p[0], p[2] / p[0]]
    };
    let start = parts(0);
    for iterations in 1..4 {
        let [a, b] = parts(iterations);
        let expected = [
            start[0] * 0.25_f32.powi(iterations as i32),
            start[1] * 0.0625_f32.powi(iterations as i32),
        ];
        assert!(
            (a / expected[0] - 1.0).abs() < 1e-5 && (b / expected[1] - 1.0).abs() < 1e-5,
            "{a} {b} {expected:?}"
        );
    }
}

#[test]
fn what_is_drawn_is_divided_by_its_fraction_unless_the_rest_is_kept() {
    for (feedback, factor) in [(false, 2.5), (true, 1.0)] {
        let codec = RandomK { share: 0.4, feedback };
        let values: Vec<f32> = (1..=10).map(|x| x as f32).collect();
        let decoded = codec
            .decode(&encoded(&codec, &values, &[[2, 5]], 3), &[[2, 5]])
            .unwrap();
        let sent: Vec<usize> = (0..10).filter(|&at| decoded[at] != 0.0).collect();
        assert_eq!(sent.len(), 4);
        assert!(sent.iter().all(|&at| decoded[at] == values[at] * factor), "{decoded:?}");
    }
}

/// Codecs that send numbers as they are lose nothing of whole ones; others round what they send and
/// what they keep.
#[test]
fn with_feedback_nothing_is_lost() {
    let shapes = [[4, 5], [1, 7]];
    let n = n_values(&shapes);
    for (name, codec) in all().into_iter().filter(|(_, codec)| codec.feeds_back()) {
        let (mut memory, mut rng) = (Vec::new(), stream(3));
        let (mut sent, mut given) = (vec![0.0; n], vec![0.0; n]);
        let mut most: f32 = 0.0;
        for round in 0..50 {
            let values: Vec<f32> = normals(round, n).iter().map(|x| (x * 100.0).round()).collect();
            let mut bytes = Vec::new();
            feedback(&*codec, &values, &mut memory, &shapes, &mut rng, &mut bytes);
            remember(&mut sent, &codec.decode(&bytes, &shapes).unwrap(), 1.0);
            remember(&mut given, &values, 1.0);
            most = sent.iter().chain(&memory).fold(most, |most, x| most.max(x.abs()));
        }
        remember(&mut sent, &memory, 1.0);
        if ["top", "top mask", "top elias", "random"].contains(&name) {
            assert_eq!(sent, given, "{name}");
        }
        for (sent, given) in sent.iter().zip(&given) {
            // Three additions a round, each right to half a unit in the last place.
            assert!(
                (sent - given).abs() <= 100.0 * f32::EPSILON * most,
                "{name}: {sent} and {given} of {most}"
            );
        }
    }
}

#[test]
fn what_all_draw_alike_depends_on_the_round_alone() {
    let codec = RandomK {
        share: 0.1,
        feedback: false,
    };
    let [first, again, next] = [3, 3, 4].map(|round| codec.common(100, round).unwrap().positions);
    assert_eq!((first.len(), &first), (10, &again));
    assert_ne!(first, next);
    assert!(first.windows(2).all(|pair| pair[0] < pair[1]) && first[9] < 100);
    assert!(TopK::default().common(100, 3).is_none());
}

/// A client whose training diverges keeps more and more, and must not bring a run down.
#[test]
fn what_is_kept_never_grows_beyond_numbers() {
    let shapes = [[2, 3]];
    for (name, codec) in all() {
        let (mut memory, mut rng) = (Vec::new(), stream(1));
        for _ in 0..5 {
            let mut bytes = Vec::new();
            let values = [f32::MAX, f32::MIN, 1.0, f32::MAX, -1e38, 3e38];
            feedback(&*codec, &values, &mut memory, &shapes, &mut rng, &mut bytes);
            assert!(memory.iter().all(|x| x.is_finite()), "{name}: {memory:?}");
        }
    }
}

#[test]
fn who_draws_and_who_packs_singly_says_so() {
    let values = normals(9, 24);
    for (name, codec) in all() {
        let bytes = |seed| encoded(&*codec, &values, &[[4, 6]], seed);
        let differs = (2..12).any(|seed| bytes(seed) != bytes(1));
        assert_eq!(differs, codec.is_random(), "{name}");
        if codec.packs_singly() {
            // Their number alone says how many bytes they take behind their head.
            let len = |columns| codec.encoded_len(&[[1, columns]]).unwrap();
            assert_eq!(len(16) - len(8), len(8) - len(0), "{name}");
            assert_eq!(bytes(1).len() as u64, len(24), "{name}");
        }
    }
    let singly: Vec<&str> = all()
        .into_iter()
        .filter_map(|(name, codec)| codec.packs_singly().then_some(name))
        .collect();
    assert_eq!(singly, ["plain", "half", "bfloat", "uniform 1", "uniform 8"]);
}
