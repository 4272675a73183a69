//! The engine of Inrush: flat files into partitioned databases, in parallel streams, every row
//! accounted for.
//!
//! One folder per step of the way of the data; the steps import the leaf types below. What a step does for one kind
//! of destination alone stands in [`destination`], in the engine of that kind, and nothing else knows which one loads.
//! The library never prints and never reads the environment: what it needs of either, its caller hands in.

pub mod destination;
pub mod error;
pub mod event;
pub mod fault;
mod gauge;
pub mod ledger;
pub mod mending;
pub mod meter;
pub mod pace;
pub mod pipeline;
pub mod plan;
pub mod preflight;
mod registry;
pub mod report;

pub mod undo;
pub mod upkeep;
pub mod verify;

pub use destination::Checked;
pub use error::Error;
pub use inrush_convert as convert;
pub use inrush_files as source;
pub use inrush_package as package;
pub use inrush_package::secrets;
pub use inrush_rows::{
    cancel, chunk, column, column_policy, encoding, location, padded_text, printable, reject,
    typed_rows,
};
pub use inrush_sniff as sniff;
pub use inrush_system::address_space::address_space;
pub use inrush_system::free_space;
pub use pipeline::{Failure, Hint, RunOptions, Success, check, run};
