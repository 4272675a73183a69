//! Cuts a large input into pieces that several streams load at the same time.

use inrush_source::{Input, Source, SourceError, Split};

/// A piece has no less text: below it the transaction and its ledger row would cost too much.
const PIECE_BYTES_MIN: u64 = 8 << 20;
/// A piece has no more: what a stop throws away.
const PIECE_BYTES_MAX: u64 = 256 << 20;
/// Pieces of an input of middle size: enough for many streams, and for an even end.
const PIECES_WANTED: u64 = 64;

/// The pieces of a split that is all of its input; one where it is too small to be worth it, and for a part of an input. They
/// depend on the input alone, not on the streams, so that a stopped run resumes with those that are missing.
pub fn pieces(source: &dyn Source, split: &Split) -> Result<Vec<Split>, SourceError> {
    if !split.is_whole() {
        return Ok(vec![split.clone()]);
    }
    let input = &split.input;
    let pieces = source.splits(input.index(), wanted_bytes(&**input))?;
    let pieces = pieces.into_iter();
    Ok(pieces
        .map(|piece| Split::of(input.clone(), piece))
        .collect())
}

/// Bytes of text that a piece of an input should have.
pub fn wanted_bytes(input: &dyn Input) -> u64 {
    wanted_of(input.text_bytes(input.size_bytes()))
}

fn wanted_of(text_bytes: u64) -> u64 {
    (text_bytes / PIECES_WANTED).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_neither_too_small_nor_too_large() {
        // Ledgers have the ranges of pieces, so these numbers never change.
        for (text_bytes, expected) in [
            (0, 8 << 20),
            ((16 << 20) - 1, 8 << 20),
            (512 << 20, 8 << 20),
            (760 << 20, 12_451_840),
            (16 << 30, 256 << 20),
            (3 << 40, 256 << 20),
        ] {
            assert_eq!(wanted_of(text_bytes), expected);
        }
    }
}
