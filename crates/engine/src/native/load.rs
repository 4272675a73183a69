//! The transactions of a load: their traits, and the parts that take rows from their source to a writer.

pub use crate::gauge::Gauge;
pub use crate::load::{LoadRun, Loader, Part, Transactions, UnitTransaction};
pub use crate::pipeline::gathered::Gathered;
pub use crate::pipeline::kept_rejects::KeptRejects;
pub use crate::pipeline::reject_files::of_key;
pub use crate::pipeline::row_loop::{RowLoop, RowWriter};
pub use crate::pipeline::row_maker::RowMaker;
pub use crate::pipeline::work::{FileWriter, Work};
pub use crate::report::reject_writer::{RejectFile, reject_file_name};
