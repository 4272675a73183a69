//! The contract of a source: chunks of whole records, the cost of reading them, and errors.
//!
//! Today files keep it (`crates/sources/files`). Nothing here opens anything.

mod chunks;
mod error;
mod meter;

pub use chunks::Chunks;
pub use error::SourceError;
pub use meter::{SourceMeter, nanoseconds_since};
