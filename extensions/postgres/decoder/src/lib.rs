//! The decoder of the server extension `inrush_fastcopy`: makes heap tuples from the bytes of COPY BINARY.
//!
//! It runs inside PostgreSQL's backend, on bytes from any client that may INSERT. So it allocates nothing, calls no
//! function of the server, and cannot panic: every read and write of memory uses `get`, every sum stays far below the
//! range of its type, and the static library does not link if a panic can be reached.
//!
//! # The one rule
//!
//! A **kernel** decodes a value only if it is sure that the receive function of the type would accept it and return the
//! same bytes. Every other value, good or bad, is passed to the receive function itself ([`Status::NeedValue`]). So all
//! errors about values are the server's own, word for word, and a kernel that is too careful costs time but never a
//! row.
//!
//! # The files, by layer
//!
//! | file | its concept |
//! |---|---|
//! | `column.rs` | what the decoder knows of a column |
//! | `decoder.rs` | the state machine: header, rows, fields, trailer |
//! | `kernels.rs`, `numeric.rs`, `text.rs` | values of one type |
//! | `tuple.rs` | the layout of a heap tuple (`heap_form_tuple`) |
//! | `datums.rs` | the same values as Datums, for rows that go through the executor |
//! | `border.rs` | the functions that C calls; all unsafe code |

#![no_std]

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("the layout of tuples is written for little-endian machines of 64 bits");

pub mod border;
mod column;
mod datums;
mod decoder;
mod kernels;
mod numeric;
mod text;
mod tuple;

pub use column::{Column, Kernel};
pub use decoder::{Decoder, MAX_COLUMNS, Status, Stream};
pub use tuple::{Placement, Tuple};

/// The function that a panic would call. The symbol exists nowhere, so a library in which a panic
/// can be reached does not link.
#[cfg(feature = "standalone")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    border::never_panics()
}
