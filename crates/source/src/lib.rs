//! The contract of a source: chunks of whole records, what reading them cost, and what can go wrong.
//!
//! Files keep it today (`sources/files`). Nothing here opens anything.

mod chunks;
mod error;
mod meter;

pub use chunks::Chunks;
pub use error::SourceError;
pub use meter::{SourceMeter, nanoseconds_since};
