//! Pixels as a PNG file.
//!
//! Written here, and compressed by `miniz_oxide`, because the bytes of a figure must not depend on
//! the CPU, nor on which back end of `flate2` another crate asks for.

/// The quickest way to deflate that looks for repetitions: a tenth of the usual level's work, files
/// a tenth larger.
const LEVEL: u8 = 1;

/// Colours that a byte counts.
const MOST_COLOURS: usize = 256;

/// The file that shows `pixels`, red, green and blue for each, row by row from the top.
///
/// A figure of few colours, as most are, names them once and has a byte for each pixel. A page
/// layout takes `per_metre`, how many pixels make a metre, for the natural size. `said` is what the
/// file says of itself, by key.
pub(crate) fn encode(pixels: &[u8], (width, height): (u32, u32), per_metre: u32, said: &[(&str, &str)]) -> Vec<u8> {
    let stride = width as usize * 3;
    let named = indexed(pixels, stride);
    let (kind, rows) = match &named {
        Some((_, places)) => (3, filtered(places, width as usize)),
        None => (2, filtered(pixels, stride)),
    };
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits, in colours or their names, deflated, filtered, in one pass.
    head.extend([8, kind, 0, 0, 0]);
    let mut size = [per_metre.to_be_bytes(), per_metre.to_be_bytes()].concat();
    // In metres.
    size.push(1);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, *b"IHDR", &head);
    chunk(&mut out, *b"pHYs", &size);
    for (key, text) in said {
        // Uncompressed, in no particular language; the shorter form has Latin letters only.
        let (name, between) = match text.is_ascii() {
            true => (*b"tEXt", &[0][..]),
            false => (*b"iTXt", &[0; 5][..]),
        };
        chunk(&mut out, name, &[key.as_bytes(), between, text.as_bytes()].concat());
    }
    if let Some((colours, _)) = &named {
        chunk(&mut out, *b"PLTE", colours.as_flattened());
    }
    chunk(
        &mut out,
        *b"IDAT",
        &miniz_oxide::deflate::compress_to_vec_zlib(&rows, LEVEL),
    );
    chunk(&mut out, *b"IEND", &[]);
    out
}

/// The colours of a figure in the order in which they come, and of each pixel which it is; `None`
/// where they are too many.
fn indexed(pixels: &[u8], stride: usize) -> Option<(Vec<[u8; 3]>, Vec<u8>)> {
    let mut colours: Vec<[u8; 3]> = Vec::new();
    // Where each colour stands, plus 1, by a hash of it; half of the places stay free.
    let mut table = [0_u16; 2 * MOST_COLOURS];
    let mut places: Vec<u8> = Vec::with_capacity(pixels.len() / 3);
    let (mut before, mut place) = ([0; 3], None);
    let mut above = &pixels[..0];
    for row in pixels.chunks_exact(stride.max(1)) {
        if row == above {
            places.extend_from_within(places.len() - stride / 3..);
            continue;
        }
        above = row;
        for pixel in row.as_chunks::<3>().0 {
            let known = match place {
                Some(known) if before == *pixel => known,
                _ => {
                    let [r, g, b] = pixel.map(u32::from);
                    let mut at = ((r << 16 | g << 8 | b).wrapping_mul(0x9e37_79b1) >> 23) as usize;
                    loop {
                        match table[at] {
                            0 if colours.len() == MOST_COLOURS => return None,
                            0 => {
                                colours.push(*pixel);
                                table[at] = colours.len() as u16;
                            }
                            known if colours[usize::from(known) - 1] == *pixel => break (known - 1) as u8,
                            _ => at = (at + 1) % table.len(),
                        }
                    }
                }
            };
            (before, place) = (*pixel, Some(known));
            places.push(known);
        }
    }
    Some((colours, places))
}

fn chunk(out: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(name);
    out.extend(data);
    out.extend(crc32fast::hash(&out[start..]).to_be_bytes());
}

/// Each row less the one above, behind the number of that filter: most rows of a figure are alike.
fn filtered(pixels: &[u8], stride: usize) -> Vec<u8> {
    const UP: u8 = 2;
    let mut rows = Vec::with_capacity(pixels.len() + pixels.len() / stride.max(1));
    let mut above = &vec![0; stride][..];
    for row in pixels.chunks_exact(stride.max(1)) {
        rows.push(UP);
        rows.extend(row.iter().zip(above).map(|(here, above)| here.wrapping_sub(*above)));
        above = row;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8]) -> u32 {
        u32::from_be_bytes(bytes[..4].try_into().unwrap())
    }

    /// The chunks of a file by name, their sums checked.
    fn chunks(mut file: &[u8]) -> Vec<(&[u8], &[u8])> {
        file = file.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
        let mut chunks = Vec::new();
        while !file.is_empty() {
            let (chunk, rest) = file[4..].split_at(word(file) as usize + 4);
            assert_eq!(word(rest), crc32fast::hash(chunk));
            chunks.push(chunk.split_at(4));
            file = &rest[4..];
        }
        chunks
    }

    /// What a reader makes of a file: its chunks are in order, and its rows are less those above.
    fn read(file: &[u8], width: usize) -> (Vec<u8>, Option<Vec<u8>>) {
        let chunks = chunks(file);
        let colours = chunks
            .iter()
            .find(|(name, _)| *name == b"PLTE")
            .map(|(_, data)| data.to_vec());
        let names: Vec<&[u8]> = chunks.iter().map(|(name, _)| *name).collect();
        let data = match colours {
            None => &[&b"IHDR"[..], b"pHYs", b"IDAT", b"IEND"][..],
            Some(_) => &[&b"IHDR"[..], b"pHYs", b"PLTE", b"IDAT", b"IEND"],
        };
        assert_eq!(names, data);
        let (a_pixel, kind) = if colours.is_some() { (1, 3) } else { (3, 2) };
        assert_eq!(chunks[0].1[8..], [8, kind, 0, 0, 0]);
        assert_eq!((word(chunks[1].1), word(&chunks[1].1[4..])), (18_824, 18_824));
        let stride = a_pixel * width;
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(chunks[chunks.len() - 2].1).unwrap();
        let mut read = vec![0_u8; stride];
        for row in rows.chunks_exact(stride + 1) {
            assert_eq!(row[0], 2);
            let above = read[read.len() - stride..].to_vec();
            let steps = above.iter().zip(&row[1..]);
            read.extend(steps.map(|(above, step)| above.wrapping_add(*step)));
        }
        (read.split_off(stride), colours)
    }

    #[test]
    fn a_file_holds_the_pixels_and_the_size_in_print() {
        // Every pixel another colour, more than a byte counts.
        let many: Vec<u8> = (0..30 * 10_u32)
            .flat_map(|i| [(i % 251) as u8, (i / 251) as u8, 7])
            .collect();
        let file = encode(&many, (30, 10), 18_824, &[]);
        assert_eq!((word(&file[16..]), word(&file[20..])), (30, 10));
        assert_eq!(read(&file, 30), (many, None));
    }

    #[test]
    fn a_file_says_what_it_is_in_any_script() {
        let file = encode(&[0; 3], (1, 1), 1, &[("Card", "karate"), ("Title", "ε = 1")]);
        let chunks = chunks(&file);
        assert_eq!(chunks[2], (&b"tEXt"[..], &b"Card\0karate"[..]));
        assert_eq!(chunks[3], (&b"iTXt"[..], "Title\0\0\0\0\0ε = 1".as_bytes()));
    }

    #[test]
    fn few_colours_are_named_once() {
        for n in [1, 2, 255, 256, 257_u32] {
            // Some rows are as the one above.
            let colour = |i: u32| [(i % 16 * 16) as u8, (i / 16) as u8, (i / 256) as u8];
            let pixels: Vec<u8> = (0..40_u32)
                .flat_map(|row| (0..20).flat_map(move |column| colour((row / 2 * 20 + column) % n)))
                .collect();
            let (data, colours) = read(&encode(&pixels, (20, 40), 18_824, &[]), 20);
            let Some(colours) = colours else {
                assert_eq!((n, data), (257, pixels));
                continue;
            };
            assert_eq!(colours.len(), 3 * n as usize);
            let shown = data.iter().flat_map(|place| &colours[3 * usize::from(*place)..][..3]);
            assert!(shown.eq(&pixels), "{n} colours");
        }
        assert!(indexed(&[], 0).is_some());
    }
}
