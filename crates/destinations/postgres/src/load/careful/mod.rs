//! Careful loading: after the server has refused a row of a unit, the unit is loaded once more,
//! so that this row and all others like it become rejects and the rest goes in.
//!
//! One stream loads all of the unit in one transaction, its rows in the order of the files:
//! without FREEZE, with indexes and constraints made before the rows come, and a savepoint
//! before each batch. [`isolate`] finds the refused rows, [`copy`] sends a batch to the server, [`cause`] says what a refusal
//! means. Constraints that a target checks only when a partition is attached are put on its staging table before
//! the rows come: [`foreign_keys`], and foreign keys that refer to other tables of the package: [`package_keys`].
//! [`switch_rows`] does the same for rows that go from staging into a target that exists.
//!
//! Of a unit that is written directly to its target, only the refused transaction is loaded
//! carefully. Which unit or transaction is loaded again is decided by the engine's loader.

mod cause;
mod copy;
mod definitions;
mod foreign_keys;
mod isolate;
mod need;
mod package_keys;
mod savepoint;
mod source_rows;
mod staged_row_order;
mod switch_rows;

pub use copy::CarefulCopy;
pub use need::Need;
pub use package_keys::RefusedStaged;
pub use switch_rows::SwitchRows;
