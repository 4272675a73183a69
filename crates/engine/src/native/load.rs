//! The streams of a load, and the names of its reject files.

pub use crate::gauge::Gauge;
pub use crate::load::{LoadStream, Loader, Part};
pub use crate::pipeline::reject_files::of_key;
pub use crate::pipeline::row_loop::blocking;
pub use crate::pipeline::row_maker::RowMaker;
pub use crate::report::reject_writer::reject_file_name;
