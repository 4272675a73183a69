//! Steps of a flow: derived columns, conditions, checks, lookups, distinct rows, and columns that become rows. DuckDB
//! evaluates their expressions.
//!
//! How it works: [`Steps::plan`](plan::Steps::plan) reads the expressions ([`expression`]), finds the columns that they
//! use, refuses functions that are not on the [list](functions), and asks DuckDB for the type of each expression. A
//! [`StepRunner`](runner::StepRunner) then takes the rows of a stream batch by batch. Only the columns that expressions
//! use are handed to DuckDB; all others stay the same arrays.
//!
//! First a quick statement with all expressions evaluates a batch. If DuckDB refuses a row, this statement fails as a
//! whole. Then a careful statement evaluates the batch once more: it returns for each row and each expression whether
//! it failed. [`statement`] makes both from the same plan. If the careful statement fails as well, the rows are halved
//! until the failing row is alone ([`isolate`]). A row that fails becomes a fault of this row, never a NULL.
//!
//! Nothing here knows a source, a destination or the engine.

mod answers;
pub mod distinct;
mod engine_message;
pub mod error;
pub mod evaluator;
pub mod expression;
pub mod fold;
pub mod functions;
pub mod in_destination;
mod isolate;
pub mod key;
pub mod lookup;
pub mod lookup_step;
pub mod outcome;
pub mod plan;
pub mod planned;
mod reasons;
pub mod room;
pub mod runner;
pub mod spec;
pub mod stages;
mod statement;
mod travel;
pub mod types;
mod unclosed;
pub mod unpivot;
