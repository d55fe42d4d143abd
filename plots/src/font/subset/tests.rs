use super::super::width;
use super::*;
use ab_glyph::FontRef;

const TEXTS: [&str; 3] = ["To Test, AVATAR: ε ≤ 1.5", "Größe ±↑", "算法"];

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// A WOFF file as the TrueType file that a browser makes of it, its lengths and sums checked.
fn unpacked(woff: &[u8]) -> Vec<u8> {
    assert_eq!(&woff[..8], b"wOFF\0\x01\0\0");
    assert_eq!(word(woff, 8), woff.len());
    let n_tables = usize::from(u16::from_be_bytes([woff[12], woff[13]]));
    let mut file = [&woff[4..8], &woff[12..14], &[0; 6]].concat();
    let mut data = Vec::new();
    for entry in woff[44..].chunks(20).take(n_tables) {
        let [start, packed, length, sum] = [4, 8, 12, 16].map(|at| word(entry, at));
        let packed = &woff[start..start + packed];
        let mut table = match packed.len() == length {
            true => packed.to_vec(),
            false => miniz_oxide::inflate::decompress_to_vec_zlib(packed).unwrap(),
        };
        assert_eq!(table.len(), length);
        let at = 12 + 16 * n_tables + data.len();
        file.extend(&entry[..4]);
        file.extend([sum, at, length].map(|n| (n as u32).to_be_bytes()).concat());
        table.resize(length.next_multiple_of(4), 0);
        let words = table.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word));
        assert_eq!(words.fold(0, u32::wrapping_add) as usize, sum);
        data.extend(table);
    }
    file.extend(data);
    assert_eq!(file.len(), word(woff, 16));
    file
}

/// A reader of fonts finds the same letters in it as in the whole font, and no others.
#[test]
fn a_browser_gets_the_letters_that_are_shown() {
    let file = unpacked(&Subset::of(TEXTS).woff());
    let read = FontRef::try_from_slice(&file).unwrap();
    let mut n_kerned = 0;
    for text in &TEXTS[..2] {
        for c in text.chars() {
            let [here, whole] = [read.glyph_id(c), font().glyph_id(c)];
            assert_ne!(here.0, 0, "{c}");
            assert_eq!(read.h_advance_unscaled(here), font().h_advance_unscaled(whole), "{c}");
            let curves = |font: &FontRef<'_>, glyph| font.outline(glyph).map(|outline| format!("{:?}", outline.curves));
            assert_eq!(curves(&read, here), curves(font(), whole), "{c}");
        }
        for (left, right) in text.chars().zip(text.chars().skip(1)) {
            let kern = |font: &FontRef<'_>| font.kern_unscaled(font.glyph_id(left), font.glyph_id(right));
            assert_eq!(kern(&read), kern(font()), "{left}{right}");
            n_kerned += i32::from(kern(font()) != 0.0);
        }
    }
    assert!(n_kerned > 3);
    assert_eq!(read.glyph_id('z').0, 0, "which no text has");
    assert_eq!(read.glyph_id('算').0, 0, "which the font lacks");
    assert!(read.glyph_count() < 40);
    assert_eq!(read.ascent_unscaled(), font().ascent_unscaled());
    assert!(file.len() < 20_000, "{}", file.len());
}

#[test]
fn the_glyphs_of_a_text_are_as_wide_as_it_is_measured() {
    let subset = Subset::of(TEXTS);
    let widths: Vec<f32> = subset.widths().collect();
    for text in TEXTS {
        let shown = subset.shown(text);
        let sum: f32 = shown
            .iter()
            .map(|(glyph, moved)| widths[usize::from(*glyph)] - moved)
            .sum();
        assert!(
            (f64::from(sum) / 1000.0 * 42.0 - width(text, 42.0)).abs() < 1e-2,
            "{text}"
        );
    }
    let characters = subset.characters();
    let read: String = subset
        .shown(TEXTS[1])
        .iter()
        .map(|(glyph, _)| characters[glyph])
        .collect();
    assert_eq!(read, TEXTS[1]);
    assert!(subset.shown(TEXTS[2]).iter().all(|(glyph, _)| *glyph == 0));
    assert_eq!(characters.get(&0), None);
}

#[test]
fn the_size_of_the_font_is_known() {
    let subset = Subset::of(["x"]);
    let [left, below, right, above] = subset.bounds();
    let [ascent, descent] = subset.heights();
    assert!(
        left < 0.0 && below < descent && descent < -200.0,
        "{left} {below} {descent}"
    );
    assert!((700.0..1000.0).contains(&ascent) && ascent < above && right > 1000.0);
}
