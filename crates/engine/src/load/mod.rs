//! Loads the rows of a plan into any destination, one transaction after the other. If the destination refuses a row, the rows
//! are loaded again.
//!
//! A [`LoadStream`] begins, fills and commits transactions by the calls of the contract. The destination's error says whether
//! another try may succeed. [`Loader`] decides which transactions there are:
//!
//! ```text
//! private unit   quick ── a row is refused ──> the whole unit, carefully
//! shared unit    a quick transaction for each split, by many streams
//!                  └─ a row is refused ──> all streams leave it, and the last one loads the whole unit, carefully
//! straight unit  a quick transaction for each split, whose rows stay in the target
//!                  ├─ a row is refused ──> this split, carefully
//!                  └─ blocked by another one ──> this split, carefully, while no other one is loaded
//! ```
//!
//! A careful transaction lets the destination refuse single rows, which become rejects.

mod loader;
mod run;
mod straight;
mod straight_lock;
mod stream;
mod transaction;
mod unit_transaction;
mod work_off;

pub use self::loader::{Loader, refuse_pipe};
pub use self::run::LoadRun;
pub use self::straight_lock::StraightLock;
pub use self::stream::LoadStream;
