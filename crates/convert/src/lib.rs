//! Converts fields into Arrow arrays: the step that gives text its type.
//!
//! A [`Converter`] takes the records that a scan found in a chunk and makes a record batch with the destination's
//! column types. A value that does not fit its type becomes a [`Reject`](inrush_rows::reject::Reject), never a silent
//! change.
//!
//! How it works: column by column, over the rows of one batch. For each column the fields are gathered first
//! ([`fields`]): NULLs are recognized, quotes and escapes are decoded, and text that is not UTF-8 or contains a NUL
//! byte is set aside. Then one loop per column type runs a [`kernel`]: a quick path for the shape that nearly all
//! values have, and then an exact path that accepts every legal form and words the error. The quick path never accepts
//! a value that the exact one rejects; tests compare them. Text is not copied: its array has views into the chunk.
//! [`simd`] does the same work with the vector instructions of the machine; its results, including faults, equal the
//! results of the portable code.
//!
//! A column with policies ([`policies`]) is gathered differently, one field after the other. A column that takes no
//! field ([`provenance`]) is made from facts about its rows.
//!
//! Rows of a file of typed values have no text. If a column has the target's type, it is used unchanged ([`direct`]);
//! otherwise it is made from the text of its values ([`typed_rows`]).
//!
//! Bad rows are found while the arrays are made. That is rare, so the good rows are then simply converted once more
//! without the bad ones.

mod array;
mod array_text;
mod boolean;
mod boolean_words;
mod borders;
mod bytea;
mod column_converter;
mod converter;
mod date;
mod date_time_range;
mod decimal;
mod decimal_text;
mod digits;
mod direct;
mod enumeration;
mod error;
mod exact_float;
mod fields;
mod fixed_width_dates;
mod float;
mod format_cut;
mod format_hints;
mod format_list;
mod format_piece;
mod format_pieces;
mod format_use;
mod formats;
mod integer;
mod interval;
mod interval_text;
mod interval_value;
mod json;
mod json_keys;
mod kernel;
mod key;
mod key_set;
mod lossless;
mod money;
mod name;
mod number;
mod output;
mod policies;
mod present;
mod probe;
mod provenance;
mod quoted;
mod rows;
mod second_digits;
mod simd;
mod single_byte;
mod text;
mod text_facts;
mod time;
mod time_tz;
mod timestamp;
mod typed_rows;
mod unused_settings;
mod uuid;
mod view_array;
mod views;
mod zone;

pub use converter::{AfterSteps, Converter};
pub use error::{ConvertError, ValueError};
pub use key::{KeyBounds, KeyType, KeyValue, convert_first, convert_one};
pub use key_set::{KeySet, KeyValues};
pub use probe::{Probe, Values};
pub use provenance::RunStamp;
#[doc(hidden)]
pub use simd::Instructions;

#[cfg(test)]
mod tests;
