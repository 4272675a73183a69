//! The lines at the beginning of a file that are no records (`skip_lines`): they are passed over
//! whatever stands in them, quotes and comments too, and counted as skipped.
//!
//! A line ends where the dialect's terminator stands. Nothing of it is held, so it may be longer
//! than a record.

use inrush_scan::Dialect;
use inrush_source::SourceError;

use super::window::Window;

/// Bytes that are read at a time.
const LOOK_BYTES: usize = 4 << 10;

/// A terminator that is longer than this does not exist.
const TERMINATOR_BYTES_MAX: usize = 8;

/// Passes over the lines that are no records, where the window stands at its file's beginning. A
/// file that has fewer lines has no records.
pub(super) fn pass_over(
    window: &mut Window,
    dialect: &Dialect,
    skipped_count: &mut u64,
) -> Result<(), SourceError> {
    for _ in 0..dialect.skip_lines {
        if !pass_over_line(window, dialect)? {
            return Ok(());
        }
        *skipped_count += 1;
    }
    Ok(())
}

/// Passes over one line; `false` where there is none.
fn pass_over_line(window: &mut Window, dialect: &Dialect) -> Result<bool, SourceError> {
    let mut is_begun = false;
    loop {
        let text = window.bytes();
        let end = (0..text.len()).find_map(|at| match dialect.terminator_bytes_at(&text[at..]) {
            0 => None,
            bytes => Some(at + bytes),
        });
        if let Some(end) = end {
            let line_ends = u64::from(dialect.line_count(&text[..end]));
            window.drop_front(end, line_ends);
            return Ok(true);
        }
        is_begun |= !text.is_empty();
        let (passed, at_end) = match window.at_end {
            true => (text.len(), true),
            false => (before_terminator(text), false),
        };
        // Without a byte that ends lines only a terminator does.
        let line_ends = match dialect.line_byte() {
            Some(_) => u64::from(dialect.line_count(&text[..passed])),
            None => 0,
        };
        window.drop_front(passed, line_ends);
        if at_end {
            return Ok(is_begun);
        }
        window.fill(window.bytes().len() + LOOK_BYTES)?;
    }
}

/// The part of a text that can hold no beginning of a terminator, and ends with a character.
fn before_terminator(text: &[u8]) -> usize {
    let most = text.len().saturating_sub(TERMINATOR_BYTES_MAX - 1);
    (0..=most)
        .rev()
        .find(|at| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80))
        .unwrap_or(0)
}
