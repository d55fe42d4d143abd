//! NumPy's file format for arrays, which artifacts use.

/// NumPy's format 1.0 of a row-major array of `f32`, little-endian.
pub fn npy_f32(values: &[f32], shape: &[usize]) -> Vec<u8> {
    npy(
        "<f4",
        shape,
        values.iter().flat_map(|value| value.to_le_bytes()),
        4 * values.len(),
    )
}

/// NumPy's format 1.0 of a row-major array of `u32`, little-endian.
pub fn npy_u32(values: &[u32], shape: &[usize]) -> Vec<u8> {
    npy(
        "<u4",
        shape,
        values.iter().flat_map(|value| value.to_le_bytes()),
        4 * values.len(),
    )
}

fn npy(kind: &str, shape: &[usize], bytes: impl Iterator<Item = u8>, n_bytes: usize) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}",
        sizes.join(" ")
    );
    // The data begin at a multiple of 64 bytes, after the magic, the version, the header's length and a line end.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = Vec::with_capacity(10 + header.len() + n_bytes);
    out.extend_from_slice(b"\x93NUMPY\x01\x00");
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_the_header_that_numpy_reads() {
        let bytes = npy_f32(&[1.0, -2.0], &[1, 2]);
        assert_eq!(bytes.len(), 128 + 8);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let header = String::from_utf8(bytes[10..128].to_vec()).unwrap();
        assert_eq!(
            header.trim_end(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2,), }"
        );
        assert_eq!(&bytes[128..], [0, 0, 128, 63, 0, 0, 0, 192]);
        assert_eq!(npy_u32(&[], &[0]).len(), 128);
    }
}
