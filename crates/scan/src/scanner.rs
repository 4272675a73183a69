//! The scanner: stripes of blocks to masks, masks to records.

use crate::dialect::{Dialect, Escape};
use crate::error::{Scan, ScanError, TextEnd};
use crate::machine::{Form, Machine};
use crate::masks::{BLOCK_BYTES, Kernel, Masks, Needles};
use crate::records::Records;
use crate::reference::scan_reference;
use crate::terminator::Terminator;

/// Blocks whose masks are found in one go: few enough to stay in the first cache, enough to
/// make the choice of the kernel cost nothing.
const STRIPE_BLOCKS: usize = 64;

/// More text than this is not looked at in one call: positions are 32 bits wide.
const SCAN_BYTES_MAX: usize = 1 << 31;

/// Finds records and their fields. Holds no text and no state between calls.
#[derive(Clone, Debug)]
pub struct Scanner {
    dialect: Dialect,
    is_common: bool,
    kernel: Kernel,
    form: Form,
    needles: Needles,
    trailing_delimiter: bool,
    blank_lines_are_records: bool,
    record_bytes_max: usize,
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
        Scanner::with_kernel(dialect, Kernel::best())
    }

    /// For tests: with this kernel, and with limits that are too small for use.
    #[doc(hidden)]
    pub fn with_kernel(dialect: &Dialect, kernel: Kernel) -> Scanner {
        let escape = match dialect.escape {
            Escape::Byte(byte) => Some(byte),
            Escape::None | Escape::DoubledQuote => None,
        };
        let (special, special_count) = match (dialect.quote, escape) {
            (None, None) => ([0, 0], 0),
            (Some(byte), None) | (None, Some(byte)) => ([byte, byte], 1),
            (Some(quote), Some(escape)) => ([quote, escape], 2),
        };
        Scanner {
            dialect: dialect.clone(),
            is_common: dialect.delimiter.len() == 1
                && dialect.terminator == Terminator::Any
                && dialect.comment.is_none()
                && dialect.fixed.is_none()
                && !dialect.has_end_marker(),
            kernel,
            form: Form::of(dialect),
            needles: Needles {
                delimiter: dialect.delimiter.first(),
                special,
                special_count,
            },
            trailing_delimiter: dialect.trailing_delimiter,
            blank_lines_are_records: dialect.blank_lines_are_records && !dialect.trailing_delimiter,
            record_bytes_max: dialect.record_bytes_max,
        }
    }

    /// Finds the records of `text`, which starts where a record starts. `records` is cleared
    /// first.
    ///
    /// `end` says what stands behind the text, or with a `bool` whether it is the last of its
    /// file: then what follows the last terminator is a record too, whole or not, and all bytes
    /// are consumed. Else they are consumed up to the last terminator that ends a record; the
    /// caller hands in the rest again with more text behind it. (A text past 2 GiB is not
    /// consumed in one call even at the end: call again with the rest. [`Records`] counts bytes
    /// in 32 bits.)
    ///
    /// A line with nothing but its terminator is blank, unless the dialect says otherwise: it is
    /// counted and passed over. So are comments, and COPY's end-of-data marker where the file
    /// ends with it. A marker at the end of a text that may be cut anywhere is not consumed: what
    /// it means depends on what follows.
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
        if !self.is_common || text.contains(&b'\r') {
            return scan_reference(&self.dialect, text, end, records);
        }
        records.clear();
        records.gap_bytes = 1;
        let mut machine = Machine::new(
            self.form,
            self.needles,
            self.trailing_delimiter,
            self.blank_lines_are_records,
            self.record_bytes_max,
            text,
            records,
        );
        let mut masks = [Masks::default(); STRIPE_BLOCKS];
        let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
        let mut base = 0;
        for stripe in blocks.chunks(STRIPE_BLOCKS) {
            let masks = &mut masks[..stripe.len()];
            self.kernel.find(stripe, &self.needles, masks);
            machine.take(base, masks)?;
            base += (stripe.len() * BLOCK_BYTES) as u32;
        }
        if !rest.is_empty() {
            // No needle is zero, so that the filling is not found.
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            self.kernel.find(&[block], &self.needles, &mut masks[..1]);
            machine.take(base, &masks[..1])?;
        }
        machine.finish(end == TextEnd::File)
    }
}
