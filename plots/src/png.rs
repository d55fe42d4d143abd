//! Pixels as a PNG file.
//!
//! Written here, and compressed by `miniz_oxide`, because the bytes of a figure must not depend on the CPU, nor on which
//! back end of `flate2` another crate asks for.

/// Pixels a metre: 85 mm for 1600 pixels, what a page layout takes as the natural size.
const PER_METRE: u32 = 18_824;

/// The quickest way to deflate that looks for repetitions: a tenth of the usual level's work, files a tenth larger.
const LEVEL: u8 = 1;

/// The file that shows `pixels`, red, green and blue for each, row by row from the top.
pub(crate) fn encode(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits, in colours, deflated, filtered, in one pass.
    head.extend([8, 2, 0, 0, 0]);
    let mut size = [PER_METRE.to_be_bytes(), PER_METRE.to_be_bytes()].concat();
    // In metres.
    size.push(1);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, *b"IHDR", &head);
    chunk(&mut out, *b"pHYs", &size);
    let rows = filtered(pixels, width as usize * 3);
    chunk(
        &mut out,
        *b"IDAT",
        &miniz_oxide::deflate::compress_to_vec_zlib(&rows, LEVEL),
    );
    chunk(&mut out, *b"IEND", &[]);
    out
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

    #[test]
    fn a_file_holds_the_pixels_and_the_size_in_print() {
        let pixels: Vec<u8> = (0..7 * 5 * 3).map(|i| (i * i % 251) as u8).collect();
        let file = encode(&pixels, 7, 5);
        let chunks = chunks(&file);
        let names: Vec<&[u8]> = chunks.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [b"IHDR", b"pHYs", b"IDAT", b"IEND"]);
        assert_eq!(chunks[0].1, [0, 0, 0, 7, 0, 0, 0, 5, 8, 2, 0, 0, 0]);
        // 1600 pixels on 85 mm.
        assert_eq!((word(chunks[1].1), word(&chunks[1].1[4..])), (18_824, 18_824));
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(chunks[2].1).unwrap();
        let mut read = vec![0_u8; 21];
        for row in rows.chunks_exact(22) {
            assert_eq!(row[0], 2);
            let above = read[read.len() - 21..].to_vec();
            read.extend(
                above
                    .iter()
                    .zip(&row[1..])
                    .map(|(above, step)| above.wrapping_add(*step)),
            );
        }
        assert_eq!(read[21..], pixels);
    }
}
