//! One piece of a declared format: a directive, or a character that stands for itself.

/// The most digits of a fraction that the library reads.
pub(super) const FRACTION_DIGITS_MAX: usize = 9;

/// One directive, or one character that stands for itself.
#[derive(Debug)]
pub(super) struct Piece {
    pub kind: PieceKind,
    /// The text of the piece in the format; for a part of `%T`, the text that it would have on its own.
    pub text: String,
}

/// The kind of text that a piece reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Exactly this byte.
    Literal(u8),
    /// Any number of blanks.
    Blank,
    /// A number with a range of digits.
    Number {
        letter: u8,
        width: usize,
        least: usize,
        /// True if a flag says that leading zeros are not written.
        is_open: bool,
    },
    /// Digits after the point of a second; with a width, exactly that many.
    Fraction {
        width: Option<usize>,
        /// True if fewer digits than the width would mean another fraction.
        is_exact: bool,
    },
    /// A point and digits, or nothing.
    PointAndFraction,
    /// An offset from UTC, which ends in digits.
    Offset,
    /// A name, or AM/PM.
    Word,
}

impl PieceKind {
    /// True if the text consists of digits.
    pub fn is_numeric(self) -> bool {
        match self {
            PieceKind::Literal(byte) => byte.is_ascii_digit(),
            PieceKind::Number { .. } | PieceKind::Fraction { .. } => true,
            PieceKind::Blank
            | PieceKind::PointAndFraction
            | PieceKind::Offset
            | PieceKind::Word => false,
        }
    }

    /// True if digits that follow directly could belong to this piece.
    pub fn ends_in_digits(self) -> bool {
        self.is_numeric() || matches!(self, PieceKind::PointAndFraction | PieceKind::Offset)
    }
}

/// The number of digits at the beginning of a text, at most `most`.
#[inline]
pub(super) fn digits(text: &[u8], most: usize) -> usize {
    let digits = text.iter().take(most);
    digits.take_while(|byte| byte.is_ascii_digit()).count()
}
