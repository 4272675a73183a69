//! The memory that a decompressor needs, read from the first bytes of its file.
//!
//! Decompressors of Zstandard and xz keep the last part of the text in memory. Its size is a setting of the compressor:
//! `zstd --long=31` needs 2 GiB. The first frame or block states this size, so the plan can count this memory, and a
//! file that needs more than is allowed is refused before anything is loaded.

use inrush_rows::compression::Compression;

/// The largest window of a zstd file, as the base-2 logarithm of its bytes.
pub(super) const ZSTD_WINDOW_LOG_MAX: u32 = 29;
/// The largest dictionary of an xz file: eight times the dictionary of `xz -9`.
pub(super) const XZ_MEMORY_KIB_MAX: u32 = 512 << 10;
/// How many bytes from the beginning of a file are needed to find the size.
pub(super) const FIRST_BYTES: usize = 32;

/// The most memory of a decoder of gzip or bzip2, or of a decoder of xz or zstd in addition to its window.
const DECODER_BYTES: u64 = 4 << 20;
/// The memory that is assumed if the first block does not show it: the dictionary of `xz -9`.
const XZ_DICTIONARY_USUAL: u64 = 64 << 20;

/// The header of a zstd frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZstdFrame {
    /// The size of its window in bytes.
    pub(super) window_bytes: u64,
    /// The id of the dictionary with which it was compressed; 0 if there is none.
    pub(super) dictionary: u32,
}

impl ZstdFrame {
    /// Reads the header at the beginning of a file; `None` if it is cut, or if another kind of frame comes first.
    pub(super) fn read(first: &[u8]) -> Option<ZstdFrame> {
        let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = first else {
            return None;
        };
        let is_single_segment = descriptor & 0x20 != 0;
        let (window, rest) = match is_single_segment {
            true => (None, rest),
            false => {
                let (window, rest) = rest.split_first()?;
                let base = 1_u64 << (10 + (window >> 3));
                (Some(base + base / 8 * u64::from(window & 7)), rest)
            }
        };
        let (dictionary, rest) = number(rest, [0, 1, 2, 4][usize::from(descriptor & 3)])?;
        let size_bytes = match descriptor >> 6 {
            0 => usize::from(is_single_segment),
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let (size, _) = number(rest, size_bytes)?;
        let size = if size_bytes == 2 { size + 256 } else { size };
        Some(ZstdFrame {
            window_bytes: window.unwrap_or(size),
            dictionary: u32::try_from(dictionary).unwrap_or(u32::MAX),
        })
    }
}

/// The memory for reading a file in addition to its text; `first` are its first bytes.
pub(super) fn decoder_bytes(compression: Compression, first: &[u8]) -> u64 {
    let window = match compression {
        Compression::None => return 0,
        Compression::Gzip | Compression::Bzip2 => 0,
        Compression::Zstd => ZstdFrame::read(first).map_or(0, |frame| frame.window_bytes),
        Compression::Xz => xz_dictionary(first),
        // A member of an archive may be compressed in any way.
        Compression::Zip => 8 << 20,
    };
    DECODER_BYTES + window.min(1 << ZSTD_WINDOW_LOG_MAX)
}

/// The dictionary of the first block of an xz file whose only filter is LZMA2.
fn xz_dictionary(first: &[u8]) -> u64 {
    // The block's header follows the stream's header: its size, its flags, and here the filter.
    match first.get(12..17) {
        Some([_, 0, 0x21, 1, exponent @ 0..=39]) => {
            (2 | u64::from(exponent & 1)) << (exponent / 2 + 11)
        }
        _ => XZ_DICTIONARY_USUAL,
    }
}

/// A little-endian number of this many bytes, and the rest.
fn number(bytes: &[u8], count: usize) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_at_checked(count)?;
    let value = number
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn zstd(window_log: u32) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
        encoder.window_log(window_log).expect("a window");
        encoder.write_all(&[b'x'; 1000]).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn a_frame_tells_its_window() {
        for window_log in [10, 20, 27, 30] {
            let frame = ZstdFrame::read(&zstd(window_log)).expect("whole");
            let expected = ZstdFrame {
                window_bytes: 1 << window_log,
                dictionary: 0,
            };
            assert_eq!(frame, expected);
        }
        // A frame with a single segment: its window is its whole text.
        let text = vec![b'x'; 70_000];
        let frame = zstd::bulk::compress(&text, 1).expect("memory");
        let frame = ZstdFrame::read(&frame).expect("whole");
        assert_eq!(frame.window_bytes, 70_000);
        for cut in 0..6 {
            assert_eq!(ZstdFrame::read(&zstd(20)[..cut]), None);
        }
    }

    #[test]
    fn xz_tells_its_dictionary() {
        let mut bytes = vec![0; 12];
        bytes.extend([2, 0, 0x21, 1, 22]);
        assert_eq!(xz_dictionary(&bytes), 8 << 20);
        assert_eq!(xz_dictionary(&bytes[..14]), XZ_DICTIONARY_USUAL);
    }
}
