//! What was read is what was promised, and what the database holds: counts and sums that are made of the rows while they
//! pass, and that must agree with what others say before anything is switched in.
//!
//! Our side is made of the converted columns (a [`Tally`]), before anything is encoded: a fault of
//! an encoder, of the wire or of the database's storage shows. Here are the count of rows and the sums of numbers that a
//! trailer, a control file or the package promises; what an engine compares with its database beside them is its own
//! affair, behind [`EngineSums`]. All sums are exact ([`ExactSum`]), whatever their size.

mod content;
mod engine_sums;
mod error;
mod exact;
mod number;
mod plan;
mod tally;

pub use content::ContentHash;
pub use engine_sums::{BatchSums, EngineSums};
pub use error::{Difference, VerifyError};
pub use exact::ExactSum;
pub use number::{NumberForm, add_count, whole};
pub use plan::{VerifyColumn, VerifyPlan};
pub use tally::Tally;
