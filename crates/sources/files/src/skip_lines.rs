//! Skips the lines at the beginning of a file that are not records (`skip_lines`), whatever they contain, even quotes
//! and comments. They are counted as skipped.
//!
//! A line ends with the dialect's terminator. It is not kept in memory, so it may be longer than a record.

use inrush_scan::Dialect;
use inrush_source::SourceError;

use super::window::Window;

/// How many bytes are read at a time.
const LOOK_BYTES: usize = 4 << 10;

/// The length of the longest possible terminator.
const TERMINATOR_BYTES_MAX: usize = 8;

/// Skips the lines that are not records, if the window is at the file's beginning. If the file has fewer lines, it has
/// no records.
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

/// Skips one line; returns `false` if there is none.
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
        // If no single byte ends lines, only the whole terminator does.
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

/// The part of a text that ends with a whole character and cannot contain the beginning of a terminator.
fn before_terminator(text: &[u8]) -> usize {
    let most = text.len().saturating_sub(TERMINATOR_BYTES_MAX - 1);
    (0..=most)
        .rev()
        .find(|at| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80))
        .unwrap_or(0)
}
