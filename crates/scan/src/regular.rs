//! Arithmetic on the masks of one block: which delimiters and line feeds count, for all 64
//! bytes at once.

use crate::masks::Masks;

/// The byte before or after a block, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prior {
    /// Text outside quotes.
    Unquoted {
        /// True if the next byte is the first of a field.
        at_field_start: bool,
    },
    /// Text inside quotes.
    Quoted,
    /// The byte before is a quote that closes the field, unless another one follows it.
    Closed,
}

/// The facts of a block with doubled quotes.
pub(crate) struct QuotedBlock {
    /// Delimiters outside quotes.
    pub(crate) delimiters: u64,
    /// Line feeds outside quotes.
    pub(crate) newlines: u64,
    /// Bytes inside quotes, including the opening quotes but not the closing quotes.
    pub(crate) inside: u64,
    /// The last quote that opened a field, counted from the block's first byte.
    pub(crate) opened: Option<u32>,
    /// The kind of the byte before the next block.
    pub(crate) after: Prior,
}

/// Reads a block of a dialect with doubled quotes. Returns `None` if a quote neither opens nor closes a field.
///
/// In text without faults a byte is inside quotes if the number of quotes before it is odd: a doubled quote closes and
/// opens again at once. This is true if each opening quote directly follows a delimiter, a line end or a closing quote,
/// and each closing quote is directly before a delimiter, a line end or an opening quote. `returns` are the `\r` that
/// belong to a `\r\n`; it is empty if `\r\n` ends no record.
#[inline(always)]
pub(crate) fn doubled_quotes(masks: &Masks, prior: Prior, returns: u64) -> Option<QuotedBlock> {
    let quotes = masks.specials;
    let (inside_before, starts_field, follows_closed) = match prior {
        Prior::Unquoted { at_field_start } => (0, u64::from(at_field_start), 0),
        Prior::Quoted => (u64::MAX, 0, 0),
        Prior::Closed => (0, 0, 1),
    };
    if quotes == 0 {
        // The byte after a closing quote is checked below.
        if follows_closed == 0 {
            return Some(QuotedBlock {
                delimiters: masks.delimiters & !inside_before,
                newlines: masks.newlines & !inside_before,
                inside: inside_before,
                opened: None,
                after: prior,
            });
        }
    }
    // The mask has each byte from an opening quote up to the one before its closing quote.
    let inside = exclusive_or_of_all_below(quotes) ^ inside_before;
    let opening = quotes & inside;
    let closing = quotes & !inside;
    let delimiters = masks.delimiters & !inside;
    let newlines = masks.newlines & !inside;
    let may_open = (delimiters | newlines | closing) << 1 | starts_field | follows_closed;
    if opening & !may_open != 0 {
        return None;
    }
    // The byte after the last one is not known yet: the next block checks it.
    let may_follow = delimiters | newlines | opening;
    let must_follow = closing << 1 | follows_closed;
    if must_follow & !(may_follow | returns) != 0 {
        return None;
    }
    let opened = opening & !(closing << 1 | follows_closed);
    Some(QuotedBlock {
        delimiters,
        newlines,
        inside,
        opened: (opened != 0).then(|| 63 - opened.leading_zeros()),
        after: if closing >> 63 != 0 {
            Prior::Closed
        } else if inside >> 63 != 0 {
            Prior::Quoted
        } else {
            Prior::Unquoted {
                at_field_start: (delimiters | newlines) >> 63 != 0,
            }
        },
    })
}

/// Each bit becomes the exclusive or of itself and all bits below it.
#[inline(always)]
pub(crate) fn exclusive_or_of_all_below(bits: u64) -> u64 {
    // Most blocks of most text have no quotes.
    if bits == 0 {
        return 0;
    }
    let mut bits = bits;
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ bits << 32
}

/// The escaped bytes of a block.
pub(crate) struct Escaped {
    /// The escaped bytes.
    pub(crate) bytes: u64,
    /// True if the block's last byte escapes the next block's first byte.
    pub(crate) carries: bool,
}

/// Finds the escaped bytes. Some of them are escapes themselves: in a run of escapes, every second one is escaped. The
/// addition carries through each run that begins at an odd bit, so that the carry appears at the run's end; simdjson
/// does the same with backslashes.
#[inline(always)]
pub(crate) fn escaped(escapes: u64, carried: bool) -> Escaped {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let carried = u64::from(carried);
    if escapes == 0 {
        return Escaped {
            bytes: carried,
            carries: false,
        };
    }
    let escapes = escapes & !carried;
    let follows = escapes << 1 | carried;
    let odd_starts = escapes & !EVEN & !follows;
    let (even_runs, carries) = odd_starts.overflowing_add(escapes);
    let inverted = even_runs << 1;
    Escaped {
        bytes: (EVEN ^ inverted) & follows,
        carries,
    }
}
