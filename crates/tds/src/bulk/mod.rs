//! The stream of a bulk load: COLMETADATA, rows, DONE.
//!
//! # How it works
//!
//! A row is the token 0xD1 and its values; each value has its length before it, if its type has one. NBCROW, the form
//! with a bitmap of NULLs, is not allowed in a bulk load ([MS-TDS] 2.2.6.1). A batch is encoded in two passes:
//!
//! 1. Column by column ([`column`]): the Arrow type is checked; a kernel over the whole slice checks whether any value
//!    is outside the range of the type ([`check`]); texts of a code page that are not ASCII are encoded; the most bytes
//!    that all values need are summed. After this pass nothing can fail.
//! 2. Row by row ([`rows`], [`values`]): memory was reserved once, and values are stored without checking its end
//!    ([`writer`]). Stores may be wider than the value: the next store overwrites the excess, and a slack at the end
//!    takes the excess of the last store. After each tile of rows, packets that are full are closed
//!    ([`crate::packet`]).
//!
//! # Before you change it
//!
//! `unsafe` is used in [`rows`], [`values`], [`texts`] and [`writer`]. Each of these files begins with the reason why
//! it is sound. They depend on the sum of pass 1: a value that is longer than its column's `bytes_max` would be written
//! past the end. `tests/bulk/plain.rs` has an encoder without `unsafe`, which must give the same bytes.

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
