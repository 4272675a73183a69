//! Careful loading: after the server has refused a row of a unit, the unit is loaded once more,
//! so that this row and all others like it become rejects and the rest goes in.
//!
//! One stream loads all of the unit in one transaction, its rows in the order of the files:
//! without FREEZE, with indexes and constraints standing before the rows come, and a savepoint
//! before each batch. [`isolate`] finds the rows that are refused, [`copy`] is how a batch gets
//! to the server, [`cause`] says what a refusal means. [`switch_rows`] does the same for rows that go
//! from staging into a target that exists.

mod cause;
mod copy;
mod definitions;
mod isolate;
mod savepoint;
mod source_rows;
mod switch_rows;
mod unit;

pub use copy::{CarefulCopy, Origin};
pub use switch_rows::SwitchRows;
