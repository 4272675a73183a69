//! Cuts one file into byte ranges, exactly.
//!
//! The rule: a range `[start, end)` has the records whose first byte is in it. In a file with quotes, the bytes in the
//! middle do not show where a record begins: the same bytes mean one thing inside quotes and another outside. So
//! nothing is guessed. Each range is read once, all of them at the same time, for every [`State`] in which it may begin
//! ([`RangeScanner`]). Then [`resolve`] goes through the summaries from the file's first byte, whose state is known,
//! and returns where the records of each range begin, and on which line.
//!
//! The cost is small. States that have become the same are followed as one, and most become the same at the first
//! quote that fits only one of them. Between special bytes, 64 bytes at a time are processed with a few instructions
//! ([`blocks`]).
//!
//! If nothing in a dialect can hide a terminator, the bytes around a range's first byte are enough: [`Method`] decides
//! this, and [`RecordFinder`] reads them.
//!
//! In this module a record is any line that begins after a terminator, even a blank line or a comment.

mod automaton;
mod blocks;
mod method;
mod range_scanner;
mod summary;

pub use automaton::State;
pub use method::{Method, RecordFinder, first_record_of_fixed, is_needed};
pub use range_scanner::RangeScanner;
pub use summary::{FirstRecord, RangeOutcome, RangeStart, RangeSummary, resolve};
