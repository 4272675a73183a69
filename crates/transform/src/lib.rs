//! Steps of a flow: columns that are derived, conditions that rows must meet, and checks. DuckDB evaluates their
//! expressions.
//!
//! How it works: [`Steps::plan`](plan::Steps::plan) reads the expressions ([`expression`]), finds the columns that they
//! name, refuses functions that are not on the [list](functions), and asks DuckDB for the type of each expression. A
//! [`StepRunner`](runner::StepRunner) then passes the rows of a stream batch by batch. Only the columns that expressions
//! name travel into DuckDB; all others stay the arrays that they are.
//!
//! A batch is evaluated quickly first: one statement has all expressions. If DuckDB refuses a row, the statement fails as
//! a whole; then the batch is evaluated once more by a careful statement, which says for each row and each expression
//! whether it failed. Both are made by [`statement`] from the same plan. A row that fails is a fault of this row, and
//! never a NULL.
//!
//! Nothing here knows a source, a destination or the engine.

pub mod error;
pub mod evaluator;
pub mod expression;
pub mod functions;
pub mod lookup;
pub mod outcome;
pub mod plan;
pub mod runner;
pub mod spec;
pub mod stages;
mod statement;
mod travel;
pub mod types;
