//! The engine's surface for a destination that makes its plan itself. `docs/design/one-driver.md` says when that is necessary.
//!
//! The driver is the sequence of a run, its transactions and its row loop. It is written once, and it reaches every destination
//! by the contract of `inrush_destination`. The planner of the contract (`crate::driver`) uses the same traits and parts. A
//! destination that makes its plan itself implements:
//!
//! | traits | describe |
//! |---|---|
//! | [`run::LoadSteps`] | the steps of a run before its streams: its plan, the lock, the ledger |
//! | [`sums::DriverSums`], [`sums::BatchSums`] | its own comparison of the rows that were sent with the rows that it has stored |
//!
//! The destination fills in a [`plan::LoadPlan`]. [`run::run`] loads such a plan, [`crate::preflight::measure`] predicts its
//! run, and callers use [`crate::driver_trait::Driver`].
//!
//! The other names here are parts that its implementation uses. Nothing else of the engine is public for such a
//! destination: the modules beside this one are public for those who call the engine (errors, events, options,
//! reports). A test checks both lists (`crates/inrush/tests/knowledge/planner_surface.rs`).

pub mod run;
