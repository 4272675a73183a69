//! DuckDB through its C functions, for the destination of DuckDB files and for the expressions of steps.
//!
//! [`functions`] finds them in the library of the wheel; [`database`] and [`connection`] are DuckDB's handles. A
//! statement reads Arrow batches of this process through [`table_function`], a prepared statement through [`row_view`].
//! With [`text_check`] a statement can refuse texts.

pub mod connection;
pub mod database;
pub mod functions;
pub mod row_view;
pub mod table_function;
pub mod text_check;
