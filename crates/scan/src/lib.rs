//! Finds the ends of records and fields in delimited text.
//!
//! It takes bytes and returns positions. It does no I/O, does not use Arrow, and allocates nothing per row.
//!
//! [`Scanner::scan`] finds records and the ends of their fields; [`decode_field`] decodes a field to its text. `masks`
//! finds the special bytes, 64 bytes at a time. `mask_walker` turns masks into positions, with `regular` for most
//! blocks, `special_bytes` for the others and `positions` for the code that depends on the processor; `general` turns
//! masks into positions for uncommon dialects, and `fixed` for fields at declared positions. `reference` finds the
//! same positions byte by byte: it is easy to read, and the tests compare the other modules with it. Unsafe code is in
//! `instruction_set`, which chooses between instructions, and in `vectors`, which loads and stores.

pub mod cpu;
mod dialect;
mod dialect_check;
mod error;
mod fixed;
mod fixed_width;
mod found_record;
mod general;
mod instruction_set;
mod mask_walker;
#[doc(hidden)]
pub mod masks;
mod positions;
mod records;
#[doc(hidden)]
pub mod reference;
mod reference_fixed;
mod regular;
mod scanner;
mod short_text;
mod special_bytes;
pub mod split;
mod terminator;
mod unquote;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use dialect::{
    Dialect, DialectError, DialectTrim, Escape, ExtraFields, MissingFields,
    RECORD_BYTES_MAX_GREATEST, RECORD_BYTES_MAX_LEAST,
};
pub use error::{Scan, ScanError, TextEnd};
pub use fixed_width::{FieldPosition, FixedWidth, PositionUnit, RecordEnd};
pub use records::{Fault, FaultKind, Record, Records};
pub use scanner::Scanner;
pub use short_text::{SHORT_TEXT_BYTES_MAX, ShortText};
pub use terminator::Terminator;
pub use unquote::{FieldText, decode_field};
