//! The words that all of Inrush shares: columns and their types, chunks and places of rows, rejects and their codes,
//! values that Arrow has no type for (`timestamp`, `interval`), encodings of text, time zones, numbers in sentences
//! (`quantity`, `plural`), names that differ only in case (`same_name`), texts that become part of SQL or of a URL
//! (`sql_text`, `percent`), ids of runs, units, splits and files, exit statuses, the request to stop, and the pace of a
//! load.
//!
//! Nothing here reads a file, knows a database or starts a thread.

pub mod calendar;
pub mod cancel;
pub mod chunk;
pub mod column;
pub mod column_policy;
pub mod column_type;
pub mod compression;
pub mod cursor;
pub mod encoding;
pub mod encoding_guess;
pub mod exit_status;
pub mod finding;
pub mod hexadecimal;
pub mod ids;
pub mod interval;
pub mod location;
pub mod native_type;
pub mod pace;
pub mod padded_text;
pub mod percent;
pub mod plural;
pub mod printable;
pub mod quantity;
pub mod reject;
pub mod same_name;
pub mod special_type;
pub mod sql_text;
pub mod suggest;
pub mod time_zone;
pub mod timestamp;
pub mod type_name;
pub mod typed_rows;
