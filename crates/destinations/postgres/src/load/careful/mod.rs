//! Careful loading: after the server has refused a row of a unit, the unit is loaded once more. This row and all others
//! that the server refuses become rejects, and the rest is loaded.
//!
//! One stream loads the whole unit in one transaction, with its rows in the order of the files and without FREEZE.
//! Indexes and constraints are created before the rows are loaded, and there is a savepoint before each batch.
//! [`isolate`] finds the refused rows, [`copy`] sends a batch to the server, and [`cause`] explains a refusal. Some
//! constraints of a target are checked only when a partition is attached. They are added to the staging table before
//! the rows are loaded: [`foreign_keys`] has the foreign keys, and [`package_keys`] those that refer to other tables of
//! the package. [`switch_rows`] does the same for rows that are copied from staging into an existing target; the engine
//! finds the positions of these rows in the source.
//!
//! If a unit is written directly to its target, only the refused transaction is loaded again, carefully. The engine's
//! loader decides which unit or transaction is loaded again.

mod cause;
mod copy;
mod definitions;
mod foreign_keys;
mod isolate;
mod need;
mod package_keys;
mod savepoint;
mod staged_row_order;
mod switch_rows;

pub use copy::CarefulCopy;
pub use need::Need;
pub use package_keys::RefusedStaged;
pub use switch_rows::SwitchRows;
