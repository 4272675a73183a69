//! Cuts a declared format into pieces, as the library that reads it understands them, and finds the faults that can be
//! found without a value. [`format_pieces`](super::format_pieces) explains them.

use super::format_piece::{FRACTION_DIGITS_MAX, Piece, PieceKind, digits};

/// Cuts up a format; directives that stand for several others are expanded as in the library.
pub(super) fn cut(format: &str, pieces: &mut Vec<Piece>) {
    let mut rest = format.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first != b'%' {
            pieces.push(Piece {
                kind: match first.is_ascii_whitespace() {
                    true => PieceKind::Blank,
                    false => PieceKind::Literal(*first),
                },
                text: char::from(*first).to_string(),
            });
            rest = behind;
            continue;
        }
        let (flag, behind) = match behind.split_first() {
            Some((flag @ (b'_' | b'0' | b'-' | b'^' | b'#'), behind)) => (Some(*flag), behind),
            _ => (None, behind),
        };
        let (mut width, mut behind) = number(behind);
        let colons = behind.iter().take_while(|byte| **byte == b':').count();
        behind = &behind[colons..];
        let mut letter = behind.first().copied().unwrap_or_default();
        let is_point = letter == b'.';
        if is_point {
            (width, behind) = number(&behind[1..]);
            letter = b'.';
        }
        behind = behind.get(1..).unwrap_or_default();
        let text = &rest[..rest.len() - behind.len()];
        let text = String::from_utf8_lossy(text).into_owned();
        match letter {
            b'D' => cut("%m/%d/%y", pieces),
            b'F' => cut("%Y-%m-%d", pieces),
            b'R' => cut("%H:%M", pieces),
            b'T' => cut("%H:%M:%S", pieces),
            letter => pieces.push(Piece {
                kind: kind(letter, flag, width),
                text,
            }),
        }
        rest = behind;
    }
}

/// The number at the start of a text, and the rest.
fn number(text: &[u8]) -> (Option<usize>, &[u8]) {
    let count = digits(text, text.len());
    let number = std::str::from_utf8(&text[..count]).ok();
    (
        number.and_then(|number| number.parse().ok()),
        &text[count..],
    )
}

fn kind(letter: u8, flag: Option<u8>, width: Option<usize>) -> PieceKind {
    let (usual, least) = match letter {
        b'Y' | b'G' => (4, 4),
        b'j' => (3, 1),
        b'u' | b'w' => (1, 1),
        b'd' | b'e' | b'H' | b'k' | b'I' | b'l' | b'M' | b'm' | b'S' | b'U' | b'V' | b'W'
        | b'y' | b'g' | b'C' => (2, 1),
        b's' => (19, 1),
        b'f' => {
            return PieceKind::Fraction {
                width,
                is_exact: false,
            };
        }
        b'N' => {
            return PieceKind::Fraction {
                width: Some(width.unwrap_or(FRACTION_DIGITS_MAX)),
                is_exact: false,
            };
        }
        b'.' => return PieceKind::PointAndFraction,
        b'z' => return PieceKind::Offset,
        b'%' => return PieceKind::Literal(b'%'),
        b'n' | b't' => return PieceKind::Blank,
        _ => return PieceKind::Word,
    };
    let is_open = matches!(flag, Some(b'-' | b'_'));
    // The library ignores the width of a number that is padded with blanks.
    let is_unpadded = flag.is_none() && matches!(letter, b'u' | b'w' | b'C' | b's');
    let width = width
        .filter(|_| !is_open && !is_unpadded)
        .unwrap_or_default();
    PieceKind::Number {
        letter,
        width: usual.max(width),
        least,
        is_open,
    }
}

/// True if a part of a date or time occurs more than once.
pub(super) fn says_twice(pieces: &[Piece]) -> bool {
    let letters = pieces.iter().filter_map(|piece| match piece.kind {
        PieceKind::Number { letter, .. } => Some(letter),
        PieceKind::Word => piece.text.bytes().last(),
        _ => None,
    });
    let letters: Vec<u8> = letters.collect();
    let count = |of: &[u8]| letters.iter().filter(|letter| of.contains(letter)).count();
    let same: [&[u8]; 10] = [
        b"Yy", b"mbhB", b"de", b"jUWV", b"G", b"HkIl", b"M", b"S", b"pP", b"aAuw",
    ];
    let day_otherwise = count(b"jUWVG") > 0 && count(b"mbhBde") > 0;
    let year_otherwise = count(b"G") > 0 && count(b"Yy") > 0;
    same.iter().any(|of| count(of) > 1) || day_otherwise || year_otherwise
}

/// Refuses adjacent numbers if nothing shows where the first one ends.
pub(super) fn refuse_open(left: &Piece, right: &Piece) -> Result<(), String> {
    if !left.kind.ends_in_digits() || !right.kind.is_numeric() {
        return Ok(());
    }
    let (left_text, right_text) = (&left.text, &right.text);
    for piece in [left, right] {
        match piece.kind {
            PieceKind::Number { is_open: true, .. } => {
                return Err(format!(
                    "{left_text}{right_text}: nothing separates these two numbers, and {} may \
                     have fewer digits, so the end of the first one is unclear; write it without \
                     `{}` if the files have leading zeros, or put a separator between them",
                    piece.text,
                    &piece.text[1..2]
                ));
            }
            PieceKind::Fraction { width: None, .. } => {
                return Err(format!(
                    "{left_text}{right_text}: nothing separates these two numbers, and {} has \
                     any number of digits; write how many: %3f are milliseconds, %6f microseconds",
                    piece.text
                ));
            }
            _ => {}
        }
    }
    let is_fixed = match left.kind {
        PieceKind::Fraction { width, .. } => width == Some(FRACTION_DIGITS_MAX),
        PieceKind::PointAndFraction | PieceKind::Offset => false,
        _ => true,
    };
    match is_fixed {
        true => Ok(()),
        false => Err(format!(
            "{left_text}{right_text}: the digits of {right_text} follow directly and could belong to \
             {left_text}; put a separator between them"
        )),
    }
}
