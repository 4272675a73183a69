//! The fast way of the pass: 64 bytes in a few instructions.
//!
//! It finds only what decides where records begin: the line feeds that are outside quotes and not escaped, and the
//! state after the block. A delimiter matters only before a quote, because the quote then opens a field. A block with a
//! comment, or with a quote in an irregular position, is left to the automaton.

use crate::dialect::{Dialect, Escape};
use crate::masks::{BLOCK_BYTES, InstructionSet, Masks, Needles};
use crate::regular::{escaped, exclusive_or_of_all_below};
use crate::split::State;
use crate::split::automaton::{Automaton, RecordPosition};
use crate::terminator::Terminator;

/// The number of blocks whose masks are found in one go.
pub(crate) const STRIPE_BLOCKS: usize = 64;

/// The masks of a block; bit 0 is its first byte.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockMasks {
    /// Line bytes.
    pub(crate) newlines: u64,
    quotes: u64,
    /// Delimiters of one byte.
    delimiters: u64,
    escapes: u64,
}

/// The result of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockResult {
    /// The state after it.
    pub(crate) state: State,
    /// The last bytes of the terminators in the block.
    pub(crate) newlines: u64,
}

/// Reads blocks of a dialect.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    instruction_set: InstructionSet,
    /// The delimiter, the line byte, and the quote or, if there is none, the escape byte.
    needles: Needles,
    /// The escape byte, in place of the delimiter, if there is also a quote.
    escape_needles: Option<Needles>,
    quoting: Quoting,
    terminator: Terminator,
    comment: Option<u8>,
    /// A delimiter of several bytes.
    long_delimiter: Option<Vec<u8>>,
    /// The effect of each state; `None` for states from which only the automaton can continue.
    before: Vec<Option<Before>>,
    after: After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    /// No quotes; there may be an escape byte.
    None,
    /// Quotes, doubled inside of quotes.
    Doubled,
    /// Quotes that are not doubled; there may be an escape byte inside of them.
    Single,
}

/// The effect of a state on the block after it.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// All bits if the state is inside quotes, otherwise none.
    inside: u64,
    /// True if a quote as the first byte opens a field.
    may_open: bool,
    /// True if the first byte is escaped.
    escaped: bool,
    /// True if the first byte begins a record.
    is_record_start: bool,
}

/// The possible states after a block.
#[derive(Clone, Copy, Debug)]
struct After {
    field_start: State,
    unquoted: State,
    quoted: State,
    /// After an escape inside quotes, or in text of a dialect without quotes.
    escaped: State,
    /// After a quote that closes a field or is the first half of a doubled quote.
    closed: State,
}

impl Blocks {
    /// The fast way for a dialect, if it has one.
    pub(crate) fn new(dialect: &Dialect, automaton: &Automaton) -> Option<Blocks> {
        if matches!(dialect.terminator, Terminator::Text(_)) {
            return None;
        }
        let newline = dialect.line_byte()?;
        let quoting = match (dialect.quote, dialect.escape) {
            (None, _) => Quoting::None,
            (Some(_), Escape::DoubledQuote) => Quoting::Doubled,
            (Some(_), Escape::None | Escape::Byte(_)) => Quoting::Single,
        };
        let escape = dialect.escape_byte();
        let unquoted = automaton.state(RecordPosition::Unquoted, b"")?;
        let state = |place, pending: &[u8]| automaton.state(place, pending).unwrap_or(unquoted);
        let after = After {
            field_start: state(RecordPosition::FieldStart, b""),
            unquoted,
            quoted: state(RecordPosition::Quoted, b""),
            escaped: match (escape, quoting) {
                (None, _) => unquoted,
                (Some(escape), Quoting::None) => state(RecordPosition::Unquoted, &[escape]),
                (Some(escape), _) => state(RecordPosition::Quoted, &[escape]),
            },
            closed: match (dialect.quote, quoting) {
                (Some(quote), Quoting::Doubled) => state(RecordPosition::Quoted, &[quote]),
                _ => unquoted,
            },
        };
        let mut before = vec![None; automaton.state_count()];
        let mut set = |state: State, meaning: Before| before[state.index()] = Some(meaning);
        // Several of these may be the same state, and a later call replaces an earlier one: the calls are ordered from
        // the weakest to the strongest claim.
        set(after.unquoted, Before::default());
        if quoting != Quoting::None {
            let may_open = Before {
                may_open: true,
                ..Before::default()
            };
            let inside = Before {
                inside: u64::MAX,
                ..Before::default()
            };
            set(after.quoted, inside);
            if dialect.fixed.is_none() {
                set(after.field_start, may_open);
            }
            if quoting == Quoting::Doubled {
                set(after.closed, may_open);
            }
        }
        if escape.is_some() {
            set(
                after.escaped,
                Before {
                    escaped: true,
                    inside: match quoting {
                        Quoting::None => 0,
                        Quoting::Doubled | Quoting::Single => u64::MAX,
                    },
                    ..Before::default()
                },
            );
        }
        set(
            State::FIRST,
            Before {
                may_open: true,
                is_record_start: true,
                ..Before::default()
            },
        );
        let special = dialect.quote.or(escape);
        let needles = Needles {
            delimiter: dialect.delimiter.first(),
            newline,
            special: [special.unwrap_or(0); 2],
            special_count: usize::from(special.is_some()),
        };
        Some(Blocks {
            instruction_set: InstructionSet::best(),
            needles,
            escape_needles: match (dialect.quote, escape) {
                (Some(_), Some(escape)) => Some(Needles {
                    delimiter: escape,
                    special_count: 0,
                    ..needles
                }),
                _ => None,
            },
            quoting,
            terminator: dialect.terminator,
            comment: dialect.comment,
            long_delimiter: match dialect.delimiter.as_bytes() {
                long @ [_, _, ..] if dialect.fixed.is_none() => Some(long.to_vec()),
                _ => None,
            },
            before,
            after,
        })
    }

    /// Finds the masks of `blocks`, one for each.
    pub(crate) fn find(&self, blocks: &[[u8; BLOCK_BYTES]], masks: &mut [BlockMasks]) {
        let mut found = [Masks::default(); STRIPE_BLOCKS];
        let found = &mut found[..blocks.len()];
        self.instruction_set.find(blocks, &self.needles, found);
        for (masks, found) in masks.iter_mut().zip(&*found) {
            let (quotes, escapes) = match self.quoting {
                Quoting::None => (0, found.specials),
                Quoting::Doubled | Quoting::Single => (found.specials, 0),
            };
            *masks = BlockMasks {
                newlines: found.newlines,
                delimiters: found.delimiters,
                quotes,
                escapes,
            };
        }
        if let Some(needles) = &self.escape_needles {
            self.instruction_set.find(blocks, needles, found);
            for (masks, found) in masks.iter_mut().zip(&*found) {
                masks.escapes = found.delimiters;
            }
        }
    }

    /// Processes a block; returns `None` if only the automaton can.
    #[inline]
    pub(crate) fn take(
        &self,
        state: State,
        masks: &BlockMasks,
        block: &[u8; BLOCK_BYTES],
    ) -> Option<BlockResult> {
        let before = self.before[state.index()]?;
        let escaped = escaped(masks.escapes, before.escaped);
        let is_last = |mask: u64| mask >> 63 != 0;
        if self.quoting == Quoting::None {
            let newlines =
                self.terminators(masks.newlines & !escaped.bytes, escaped.bytes, block)?;
            self.check_comments(newlines, before, block)?;
            let state = if escaped.carries {
                self.after.escaped
            } else if is_last(newlines) {
                State::FIRST
            } else {
                self.after.unquoted
            };
            return Some(BlockResult { state, newlines });
        }
        // An escape outside quotes is text. The byte after it is then a quote after text, which opens nothing, or a
        // byte that other masks find.
        let quotes = masks.quotes & !escaped.bytes;
        let inside = exclusive_or_of_all_below(quotes) ^ before.inside;
        let newlines = self.terminators(masks.newlines & !inside, 0, block)?;
        self.check_comments(newlines, before, block)?;
        let delimiters = match self.long_delimiter {
            None => masks.delimiters & !inside,
            Some(_) => 0,
        };
        let opening = quotes & inside;
        let closing = quotes & !inside;
        let doubled = match self.quoting {
            Quoting::Doubled => closing,
            Quoting::None | Quoting::Single => 0,
        };
        let may_open = (delimiters | newlines | doubled) << 1 | u64::from(before.may_open);
        let odd = opening & !may_open;
        if odd != 0 {
            self.check_delimiters_before(odd, block)?;
        }
        let state = if is_last(closing) {
            self.after.closed
        } else if is_last(inside) {
            match escaped.carries {
                true => self.after.escaped,
                false => self.after.quoted,
            }
        } else if is_last(newlines) {
            State::FIRST
        } else if is_last(delimiters) {
            self.after.field_start
        } else {
            if let Some(delimiter) = &self.long_delimiter
                && delimiter.contains(&block[BLOCK_BYTES - 1])
            {
                return None;
            }
            self.after.unquoted
        };
        Some(BlockResult { state, newlines })
    }

    /// The line bytes that end a record.
    #[inline]
    fn terminators(&self, newlines: u64, escaped: u64, block: &[u8; BLOCK_BYTES]) -> Option<u64> {
        if self.terminator != Terminator::CrLf {
            return Some(newlines);
        }
        // The byte after the block and the byte before it are not known here.
        if block[BLOCK_BYTES - 1] == b'\r' || newlines & 1 != 0 {
            return None;
        }
        let mut ends = 0;
        let mut rest = newlines;
        while rest != 0 {
            let at = rest.trailing_zeros();
            let is_escaped = escaped >> (at - 1) & 1 != 0;
            if block[at as usize - 1] == b'\r' && !is_escaped {
                ends |= 1 << at;
            }
            rest &= rest - 1;
        }
        Some(ends)
    }

    /// Returns `None` if a comment begins in the block.
    #[inline]
    fn check_comments(
        &self,
        newlines: u64,
        before: Before,
        block: &[u8; BLOCK_BYTES],
    ) -> Option<()> {
        let Some(comment) = self.comment else {
            return Some(());
        };
        let mut starts = newlines << 1 | u64::from(before.is_record_start);
        while starts != 0 {
            if block[starts.trailing_zeros() as usize] == comment {
                return None;
            }
            starts &= starts - 1;
        }
        Some(())
    }

    /// Returns `None` if a quote of `quotes` does not directly follow a delimiter of several bytes; all of `quotes`
    /// are outside quoted fields. From the first byte that is not part of the delimiter, delimiters are found one
    /// after the other, as in the reference: in `|||"` with the delimiter `||`, the quote follows text.
    fn check_delimiters_before(&self, quotes: u64, block: &[u8; BLOCK_BYTES]) -> Option<()> {
        let delimiter = self.long_delimiter.as_deref()?;
        let mut rest = quotes;
        while rest != 0 {
            let before = &block[..rest.trailing_zeros() as usize];
            let last_other = before.iter().rposition(|byte| !delimiter.contains(byte))?;
            let mut run = &before[last_other + 1..];
            let mut is_field_start = false;
            while !run.is_empty() {
                is_field_start = run.starts_with(delimiter);
                run = match is_field_start {
                    true => &run[delimiter.len()..],
                    false => &run[1..],
                };
            }
            if !is_field_start {
                return None;
            }
            rest &= rest - 1;
        }
        Some(())
    }
}
