//! The scanner: makes masks from stripes of blocks, and records from masks.

use crate::dialect::Dialect;
use crate::error::{Scan, ScanError, TextEnd};
use crate::fixed::FixedMachine;
use crate::general::{self, GeneralMachine};
use crate::mask_walker::{MaskWalker, Settings};
use crate::masks::{BLOCK_BYTES, InstructionSet, Masks, Needles};
use crate::records::Records;

/// The number of blocks whose masks are found in one go: few enough for the first-level cache, and enough that
/// choosing the instruction set costs almost nothing.
const STRIPE_BLOCKS: usize = 64;

/// The most text that is scanned in one call: positions are 32 bits wide.
const SCAN_BYTES_MAX: usize = 1 << 31;

/// Finds records and their fields. It keeps no text and no state between calls.
#[derive(Clone, Debug)]
pub struct Scanner {
    instruction_set: InstructionSet,
    way: Way,
}

/// The machine that reads the dialect.
#[derive(Clone, Debug)]
enum Way {
    /// The fastest, for the common dialects.
    Common(Settings),
    /// One special byte after another, for all other dialects with delimiters.
    General(Box<Dialect>, Needles),
    /// Fields at declared positions.
    Fixed(Box<Dialect>, Needles),
}

impl Scanner {
    /// A scanner for a dialect that passes [`Dialect::check`].
    ///
    /// # Panics
    ///
    /// If the dialect does not pass.
    pub fn new(dialect: &Dialect) -> Scanner {
        if let Err(error) = dialect.check() {
            panic!("the caller checks the dialect: {error}");
        }
        Scanner::with_instruction_set(dialect, InstructionSet::best())
    }

    /// For tests: a scanner with this instruction set. The dialect's limits may be too small to pass its check.
    #[doc(hidden)]
    pub fn with_instruction_set(dialect: &Dialect, instruction_set: InstructionSet) -> Scanner {
        let boxed = || Box::new(dialect.clone());
        let way = if dialect.fixed.is_some() {
            Way::Fixed(boxed(), general::needles(dialect))
        } else {
            match Settings::of(dialect) {
                Some(settings) => Way::Common(settings),
                None => Way::General(boxed(), general::needles(dialect)),
            }
        };
        Scanner {
            instruction_set,
            way,
        }
    }

    /// Finds the records of `text`, which starts where a record starts. `records` is cleared
    /// first.
    ///
    /// `end` says what follows the text; `true` means that the text is the last of its file. At the end of the file,
    /// the text after the last terminator is a record, too, complete or not, and all bytes are consumed. Otherwise
    /// bytes are consumed up to the last terminator that ends a record; the caller passes the rest again with more
    /// text. (A text of more than 2 GiB is not consumed in one call even at the end, because [`Records`] counts bytes
    /// in 32 bits: call again with the rest.)
    ///
    /// An empty line is counted and skipped, unless it is a record in this dialect. So are comments, and COPY's
    /// end-of-data marker if the file ends with it. A marker at the end of a text that may be cut anywhere is not
    /// consumed, because its meaning depends on the text after it.
    pub fn scan(
        &mut self,
        text: &[u8],
        end: impl Into<TextEnd>,
        records: &mut Records,
    ) -> Result<Scan, ScanError> {
        let end = match end.into() {
            _ if text.len() > SCAN_BYTES_MAX => TextEnd::More,
            end => end,
        };
        let text = &text[..text.len().min(SCAN_BYTES_MAX)];
        records.clear();
        records.gap_bytes = 1;
        match &self.way {
            Way::Common(settings) => {
                let mut machine = MaskWalker::new(*settings, self.instruction_set, text, records);
                let needles = &settings.needles;
                each_stripe(self.instruction_set, needles, text, |base, masks| {
                    machine.take(base, masks)
                })?;
                machine.finish(end)
            }
            Way::General(dialect, needles) => {
                records.gap_bytes = dialect.delimiter.len() as u32;
                let mut machine = GeneralMachine::new(dialect, text, records);
                each_stripe(self.instruction_set, needles, text, |base, masks| {
                    machine.take(base, masks)
                })?;
                machine.finish(end)
            }
            Way::Fixed(dialect, needles) => {
                records.gap_bytes = dialect.delimiter.len() as u32;
                let mut machine = FixedMachine::new(dialect, text, records);
                each_stripe(self.instruction_set, needles, text, |base, masks| {
                    machine.take(base, masks)
                })?;
                machine.finish(end)
            }
        }
    }
}

/// Hands out the masks of a text, stripe by stripe, with the position of each.
#[inline(always)]
fn each_stripe(
    instruction_set: InstructionSet,
    needles: &Needles,
    text: &[u8],
    mut take: impl FnMut(u32, &[Masks]) -> Result<(), ScanError>,
) -> Result<(), ScanError> {
    let mut masks = [Masks::default(); STRIPE_BLOCKS];
    let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
    let mut base = 0;
    for stripe in blocks.chunks(STRIPE_BLOCKS) {
        let masks = &mut masks[..stripe.len()];
        instruction_set.find(stripe, needles, masks);
        take(base, masks)?;
        base += (stripe.len() * BLOCK_BYTES) as u32;
    }
    if !rest.is_empty() {
        // No searched byte is zero, so nothing is found in the padding.
        let mut block = [0; BLOCK_BYTES];
        block[..rest.len()].copy_from_slice(rest);
        instruction_set.find(&[block], needles, &mut masks[..1]);
        take(base, &masks[..1])?;
    }
    Ok(())
}
