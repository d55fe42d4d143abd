//! Files packed as gzip does, in one piece and with bytes that are the same on every CPU: `flate2` may get its back end from whoever else
//! asks for one.

use miniz_oxide::deflate::CompressionLevel;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress};
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use std::io::{self, BufRead, Read, Write};

/// Deflate, no name, no time, no system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
const LEVEL: CompressionLevel = CompressionLevel::DefaultLevel;
const PIECE: usize = 1 << 16;

/// Packs all of `from` into `to`.
pub(super) fn pack(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let mut packer = CompressorOxide::with_format_and_level(DataFormat::Raw, LEVEL);
    let (mut sum, mut len, mut out) = (crc32fast::Hasher::new(), 0_u32, vec![0; PIECE]);
    to.write_all(&HEAD)?;
    loop {
        let piece = from.fill_buf()?;
        let flush = match piece {
            [] => TDEFLFlush::Finish,
            _ => TDEFLFlush::None,
        };
        let (status, n_read, n_written) = compress(&mut packer, piece, &mut out, flush);
        sum.update(&piece[..n_read]);
        len = len.wrapping_add(n_read as u32);
        from.consume(n_read);
        to.write_all(&out[..n_written])?;
        match status {
            TDEFLStatus::Okay => {}
            TDEFLStatus::Done => break,
            _ => return Err(io::Error::other("it cannot be packed")),
        }
    }
    to.write_all(&sum.finalize().to_le_bytes())?;
    to.write_all(&len.to_le_bytes())
}

/// Unpacks what [`pack`] has packed.
pub(super) struct Unpacked<R> {
    from: R,
    state: Box<InflateState>,
    sum: crc32fast::Hasher,
    len: u32,
    has_ended: bool,
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

impl<R: BufRead> Unpacked<R> {
    pub(super) fn new(mut from: R) -> io::Result<Self> {
        let mut head = [0; HEAD.len()];
        from.read_exact(&mut head)?;
        if head != HEAD {
            return Err(damaged("it does not begin as a packed trace does"));
        }
        Ok(Unpacked {
            from,
            state: InflateState::new_boxed(DataFormat::Raw),
            sum: crc32fast::Hasher::new(),
            len: 0,
            has_ended: false,
        })
    }

    fn check_end(&mut self) -> io::Result<()> {
        let mut end = [0; 8];
        self.from.read_exact(&mut end)?;
        let sum = self.sum.clone().finalize().to_le_bytes();
        let is_whole = end == [sum, self.len.to_le_bytes()].concat()[..] && self.from.fill_buf()?.is_empty();
        match is_whole {
            true => Ok(()),
            false => Err(damaged("its checksum is not that of its content")),
        }
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.has_ended && !out.is_empty() {
            let packed = self.from.fill_buf()?;
            let is_cut = packed.is_empty();
            let done = inflate(&mut self.state, packed, out, MZFlush::None);
            self.from.consume(done.bytes_consumed);
            self.sum.update(&out[..done.bytes_written]);
            self.len = self.len.wrapping_add(done.bytes_written as u32);
            match done.status {
                Ok(MZStatus::StreamEnd) => {
                    self.has_ended = true;
                    self.check_end()?;
                }
                Ok(_) | Err(MZError::Buf) if !is_cut || done.bytes_written > 0 => {}
                Ok(_) | Err(MZError::Buf) => return Err(damaged("it ends too soon")),
                Err(_) => return Err(damaged("what is packed in it cannot be unpacked")),
            }
            if done.bytes_written > 0 {
                return Ok(done.bytes_written);
            }
        }
        Ok(0)
    }
}
