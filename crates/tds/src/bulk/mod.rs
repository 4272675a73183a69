//! The stream of a bulk load: COLMETADATA, rows, DONE.
//!
//! # How it works
//!
//! A row is the token 0xD1 and its values, each with the length before it that its type asks for. NBCROW, the form with
//! a bitmap of NULLs, is not allowed in a bulk load ([MS-TDS] 2.2.6.1). A batch is encoded in two passes:
//!
//! 1. Column by column ([`column`]): the Arrow type is checked; a kernel over the whole slice looks whether any value
//!    lies past the ends of the type ([`check`]); texts of a code page that are not ASCII are encoded; the bytes that all
//!    values take at most are summed. After this pass nothing can fail.
//! 2. Row by row ([`rows`], [`values`]): memory was reserved once, and values are stored without a look at its end
//!    ([`writer`]). Stores may be wider than the value: the next one overwrites the surplus, and a slack at the
//!    end takes the last. After each tile of rows, packets that are full are closed ([`crate::packet`]).
//!
//! # Before you change it
//!
//! `unsafe` stands in [`rows`], [`values`], [`texts`] and [`writer`]; each begins with why it is sound. What keeps it so is the sum of
//! pass 1: a value that may become longer than its column's `bytes_max` says is a write past the end.
//! `tests/bulk/plain.rs` holds an encoder without any of it, which must give the same bytes.

mod check;
mod column;
mod decimal;
mod encoder;
mod instruction_set;
mod rows;
mod texts;
mod ticks;
mod values;
mod writer;

pub use encoder::{BulkEncoder, Misfit};
pub use instruction_set::InstructionSet;
