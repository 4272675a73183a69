//! What the benches of the kernels measure, the same bytes on every machine, and the clock that they
//! measure with.
//!
//! The benches stand in `benches/`: one for each step of the way of the data. What needs Criterion or the
//! measured crates is shared there, in `benches/shared`, so that no build of the workspace makes Criterion.

pub mod clock;
pub mod forms;
pub mod instructions;
pub mod lineitem;
mod random;
pub mod types;

pub use random::Random;

/// Bytes of a chunk, as a load has them by default.
pub const CHUNK_BYTES: usize = 512 << 10;
/// Rows of a batch, as a load has them by default.
pub const BATCH_ROWS: usize = 1024;
/// Chunks of a text: more lines than a branch predictor remembers.
pub const CHUNKS: usize = 8;
