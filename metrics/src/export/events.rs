//! TensorBoard's files of scalars, which are records (length, checksum, content, checksum) of the message `Event` in the encoding
//! of Protocol Buffers. The two crates that write them, `tboard` and `tensorboard-rs`, put the time of day into every record.

use crate::curves::Curve;

/// What a file of events is called: TensorBoard reads whatever has `tfevents` in its name.
pub(super) const FILE: &str = "events.out.tfevents.folkmoot";

/// The file of a run's scores.
pub(super) fn encode(curves: &[Curve]) -> Vec<u8> {
    let mut file = Vec::new();
    // double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5
    record(&mut file, &field(3, b"brain.Event:2"));
    for curve in curves {
        let tag = |by: &str| format!("{}{by}/{}", curve.metric, curve.split);
        let (by_round, by_bytes) = (tag(""), tag("_by_bytes"));
        for point in &curve.points {
            for (tag, step) in [(&by_round, u64::from(point.round)), (&by_bytes, point.bytes)] {
                let mut event = double(1, point.virtual_s);
                event.push(2 << 3);
                varint(&mut event, step);
                // Summary: repeated Value value = 1; Value: string tag = 1, float simple_value = 2
                let mut value = field(1, tag.as_bytes());
                value.push((2 << 3) | 5);
                value.extend((point.value as f32).to_le_bytes());
                event.extend(field(5, &field(1, &value)));
                record(&mut file, &event);
            }
        }
    }
    file
}

fn record(file: &mut Vec<u8>, content: &[u8]) {
    let length = (content.len() as u64).to_le_bytes();
    file.extend(length);
    file.extend(masked_crc(&length).to_le_bytes());
    file.extend(content);
    file.extend(masked_crc(content).to_le_bytes());
}

/// A field of bytes, text or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![(number << 3) | 2];
    varint(&mut bytes, content.len() as u64);
    bytes.extend(content);
    bytes
}

fn double(number: u8, value: f64) -> Vec<u8> {
    let mut bytes = vec![(number << 3) | 1];
    bytes.extend(value.to_le_bytes());
    bytes
}

/// Seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// CRC-32C, turned and moved, so that the checksum of what holds checksums differs from them.
fn masked_crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 & 0_u32.wrapping_sub(crc & 1));
    let crc = !bytes
        .iter()
        .fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step));
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4: 32 zeros, 32 ones, 0 to 31.
        let unmasked = |bytes: &[u8]| masked_crc(bytes).wrapping_sub(0xa282_ead8).rotate_left(15);
        assert_eq!(unmasked(&[0; 32]), 0x8a91_36aa);
        assert_eq!(unmasked(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(unmasked(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
    }

    #[test]
    fn whole_numbers_take_as_many_bytes_as_they_need() {
        let bytes = |value| {
            let mut bytes = Vec::new();
            varint(&mut bytes, value);
            bytes
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(300), [0xac, 2]);
        assert_eq!(bytes(u64::MAX).len(), 10);
    }
}
