//! `COPY ... (FORMAT text)`, for tables with a type that has no binary encoder.
//!
//! A row is its fields with a tab between them and a newline after them; `\N` is NULL. Values are written in
//! PostgreSQL's own forms, which it reads in the same way under any DateStyle, IntervalStyle and time zone. Bytes of a
//! value that have a meaning in COPY are escaped ([`escape`]); formatted values have none of them.

mod column;
pub(crate) mod date_time;
mod encoder;
mod escape;
mod format;

pub use encoder::TextEncoder;
