//! Finds the first record of a range that begins in the middle of a file, from a few bytes before it.

use inrush_scan::Dialect;
use inrush_scan::split::{Method, RecordFinder};
use inrush_source::SourceError;

use super::record_ends::is_line_based;
use super::window::Window;

/// How many bytes are read at a time to find a range's first record if few are needed.
const LOOK_BYTES: usize = 4 << 10;

/// The byte order mark of UTF-8; files in other encodings are not read from the middle. It is part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// True if the reader of a range must be given the position of its first record. Otherwise the reader finds it from a
/// few bytes before the range, and finds its line only when needed.
pub fn needs_place(dialect: &Dialect) -> bool {
    bytes_before(dialect).is_none()
}

/// How many bytes before a range its reader needs to find the first record; `None` if no number is enough.
///
/// If the terminator contains no line end, only the pass can count lines.
pub(super) fn bytes_before(dialect: &Dialect) -> Option<usize> {
    if is_line_based(dialect) {
        return Some(1);
    }
    match Method::of(dialect) {
        Method::Nearby { bytes_before } if dialect.line_byte().is_some() => Some(bytes_before),
        _ => None,
    }
}

/// Moves a window to the first record that begins at or after `nominal`, or to byte `end` of the file if no record
/// begins before `end`. The window begins at most `bytes_before` bytes before `nominal`.
pub(super) fn find_first_record(
    window: &mut Window,
    dialect: &Dialect,
    nominal: u64,
    end: u64,
) -> Result<(), SourceError> {
    let before_bytes = (nominal - window.byte_offset) as usize;
    window.fill(before_bytes)?;
    if window.bytes().len() < before_bytes {
        // The file is shorter than planned: `check_unchanged` reports it.
        return Ok(());
    }
    let mut before = &window.bytes()[..before_bytes];
    if window.byte_offset == 0 && before.len() > BYTE_ORDER_MARK.len() {
        before = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before);
    }
    let mut finder = RecordFinder::new(dialect, before);
    window.drop_front(before_bytes, 0);
    while window.byte_offset < end {
        window.fill(LOOK_BYTES)?;
        if window.bytes().is_empty() {
            return Ok(());
        }
        if let Some(distance) = finder.push(window.bytes()) {
            let bytes = nominal + distance - window.byte_offset;
            window.drop_front(bytes as usize, 0);
            return Ok(());
        }
        window.drop_front(window.bytes().len(), 0);
    }
    Ok(())
}
