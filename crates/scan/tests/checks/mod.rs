//! Properties that hold for any dialect and any text: a check panics if its property fails. The tests
//! and the fuzz targets (`fuzz/`) share these checks, so every test run repeats each input that a
//! fuzzer has found.

#![allow(dead_code)] // No test binary uses all of them.

pub mod decode;
pub mod dialects;
pub mod scanner;
pub mod split;

use dialects::dialect_of;

/// The most bytes of a text. Longer inputs are skipped: a fuzzer would waste its time on repetition.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A fuzz target's input: a dialect, one more byte, and the text.
fn taken_apart(input: &[u8]) -> Option<(inrush_scan::Dialect, usize, &[u8])> {
    let (dialect, rest) = dialect_of(input)?;
    let (number, text) = rest.split_first()?;
    (text.len() <= TEXT_BYTES_MAX).then_some((dialect, usize::from(*number), text))
}

/// The fuzz target `scanner`.
pub fn scanner_input(input: &[u8]) {
    if let Some((dialect, number, text)) = taken_apart(input) {
        scanner::check(&dialect, text);
        let cut = number * (text.len() + 1) / 256;
        scanner::check_in_two_parts(&dialect, text, cut);
    }
}

/// The fuzz target `split`.
pub fn split_input(input: &[u8]) {
    if let Some((dialect, number, text)) = taken_apart(input) {
        let whole = split::Whole::new(&dialect, text);
        let cut = number * (text.len() + 1) / 256;
        // One cut, a few ranges, and many ranges.
        whole.check(&[cut], 1 + number % 5);
        let step = 1 + number % 7 * 13;
        let cuts: Vec<usize> = (0..=text.len()).step_by(step).collect();
        whole.check(&cuts, 1 << 20);
        let step = 1 + text.len() / 4;
        let cuts: Vec<usize> = (cut % step..=text.len()).step_by(step).collect();
        whole.check(&cuts, 64 + number);
    }
}

/// The fuzz target `decode`.
pub fn decode_input(input: &[u8]) {
    if let Some((dialect, _, written)) = taken_apart(input) {
        decode::check(&dialect, written);
    }
}
