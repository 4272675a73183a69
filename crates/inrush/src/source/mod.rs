//! Reading files: patterns to files, files to chunks of whole records. Knows nothing of
//! databases.
//!
//! [`resolve`] finds the files that patterns name and refuses what cannot be read; a
//! [`Preview`] shows a file's first rows to the planner; a [`ShardReader`] reads a file in
//! chunks of whole records, decompressed, with its places kept.

mod advise;
mod buffers;
mod chunks;
mod compression;
mod error;
mod expand;
mod files;
mod header;
mod input;
mod last_record;
mod meter;
mod natural;
mod nearest;
mod preview;
mod reader;
mod shard;
mod signature;

pub use buffers::BufferPool;
pub use chunks::Chunks;
pub use compression::compression_of;
pub use error::SourceError;
pub use files::{SourceFile, resolve, resolve_as};
pub use last_record::last_field;
pub use meter::SourceMeter;
pub use preview::{Preview, PreviewRecord};
pub use reader::ShardReader;
pub use shard::Shard;

#[cfg(test)]
mod tests;
