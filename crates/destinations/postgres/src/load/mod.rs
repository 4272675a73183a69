//! A run into a PostgreSQL server, in the order of its steps.
//!
//! [`entry`] enters a planned run into the ledger. [`open_run`] is that run, as the contract sees it. The engine's loader takes pieces of
//! work through a [`stream`], which has a session, in transactions of [`piece`], whose rows are sent by [`rows`]. [`sampler`] asks the
//! server what its sessions do meanwhile. [`committed`] reads the ledger and counts, [`switching`] switches, and [`analyze`] updates the
//! statistics of a target.

mod analyze;
mod careful;
mod committed;
mod context;
pub mod copying;
mod count_again;
mod earlier_units;
pub mod encoder;
pub mod entry;
pub mod expected_keys;
mod kept_units_builder;
mod ledger_coverage;
mod member_numbers;
mod one_transaction;
mod open_run;
mod performer;
mod piece;
mod prepared;
pub mod ready;
mod reload;
mod replication_lag;
pub mod rows;
mod sampler;
mod shared_unit;
mod stored_ways;
mod stream;
mod switching;
mod verifying;
mod was_switched;
