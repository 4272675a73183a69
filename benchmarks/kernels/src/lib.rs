//! The data that the benches of the kernels process, the same bytes on every machine, and their clock.
//!
//! The benches are in `benches/`: one for each step. Shared code that needs Criterion or the measured crates is in
//! `benches/shared`, so that no build of the workspace compiles Criterion.

pub mod clock;
pub mod forms;
pub mod instructions;
pub mod lineitem;
mod random;
pub mod types;

pub use random::Random;

/// The bytes of a chunk, the default of a load.
pub const CHUNK_BYTES: usize = 512 << 10;
/// The rows of a batch, the default of a load.
pub const BATCH_ROWS: usize = 1024;
/// The number of chunks of a text. They have more lines than a branch predictor remembers.
pub const CHUNKS: usize = 8;
