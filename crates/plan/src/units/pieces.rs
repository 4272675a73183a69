//! Cuts a large input into pieces that several streams load at the same time.

use inrush_source::{Input, Source, SourceError, Split};

/// The smallest text of a piece: with less, the transaction and its ledger row would cost too much.
const PIECE_BYTES_MIN: u64 = 8 << 20;
/// The largest text of a piece: a stop discards at most this.
const PIECE_BYTES_MAX: u64 = 256 << 20;
/// The number of pieces of a medium-sized input: enough for many streams, and for all streams to end at about the same
/// time.
const PIECES_WANTED: u64 = 64;

/// The pieces of a split that covers its whole input. A split that is small, or that is part of an input, stays one
/// piece. The pieces depend only on the input, not on the streams, so a resumed run has the same pieces and loads the
/// missing ones.
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

/// Bytes of text for each piece of an input.
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
        // Ledgers contain the ranges of pieces, so these numbers must never change.
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
