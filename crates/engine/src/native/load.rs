//! The streams of a load, and the rejects of rows that the destination refused.

pub use crate::gauge::Gauge;
pub use crate::load::{LoadStream, Loader, Part};
pub use crate::pipeline::kept_rejects::KeptRejects;
pub use crate::pipeline::reject_files::of_key;
pub use crate::pipeline::row_loop::blocking;
pub use crate::pipeline::row_maker::RowMaker;
pub use crate::report::reject_writer::{RejectFile, reject_file_name};
