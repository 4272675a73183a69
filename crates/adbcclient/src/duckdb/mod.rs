//! DuckDB through its C functions, for the destination of DuckDB files and for the expressions of steps.
//!
//! [`functions`] finds them in the library of the wheel, [`database`] and [`connection`] are its handles, and
//! [`table_function`] is how a statement reads Arrow batches of this process, [`row_view`] how a prepared statement does, and
//! [`text_check`] how a statement can refuse texts.

pub mod connection;
pub mod database;
pub mod functions;
pub mod row_view;
pub mod table_function;
pub mod text_check;
