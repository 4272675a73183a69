//! TPC-H: its tables, the files that dbgen generates for them, and their sizes.

mod generate;
mod one_file;
mod rows;
mod sizes;
mod tables;

#[cfg(test)]
pub(crate) use generate::generate_part;
pub use generate::{
    Generated, GeneratedTable, Generation, Told, file_name, generate, parts_of, scale_is_known,
};
pub use rows::rows_of_parts;
pub use sizes::{TableSize, text_bytes};
pub use tables::{TABLES, Table, table};
