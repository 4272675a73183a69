//! Cuts one file into byte ranges, exactly.
//!
//! The rule: a range `[start, end)` holds the records whose first byte lies in it. Where that
//! first byte is, nobody can tell from the middle of a file with quotes: the same bytes mean one
//! thing inside of quotes and another outside. So nothing is guessed. Each range is read once,
//! all of them at the same time, for every [`State`] in which it may begin ([`RangeScanner`]);
//! [`resolve`] then goes through the summaries from the file's first byte, whose state is known,
//! and says where the records of each range begin, and on which line.
//!
//! That is cheaper than it sounds. States that have become the same are followed as one, and
//! most become the same at the first quote that only one of them can account for; between
//! special bytes, 64 at a time are taken with a few instructions ([`blocks`]).
//!
//! Where a dialect has nothing that hides a terminator, a look at the bytes around a range's
//! first one is enough: [`Method`] says so, and [`RecordFinder`] looks.
//!
//! A record here is what begins where a terminator has ended: blank lines and comments too.

mod automaton;
mod blocks;
mod method;
mod range_scanner;
mod summary;

pub use automaton::State;
pub use method::{Method, RecordFinder, first_record_of_fixed, is_needed};
pub use range_scanner::RangeScanner;
pub use summary::{FirstRecord, RangeOutcome, RangeStart, RangeSummary, resolve};
