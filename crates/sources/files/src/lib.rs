//! Files as a source: finds the files of patterns, and reads them in chunks of whole records. It knows nothing of
//! databases.
//!
//! [`find_files`] finds the files that patterns name and refuses those that cannot be read; a
//! [`Preview`] shows a file's first rows to the planner; a [`TextReader`] reads a split of a file in
//! chunks of whole records, decompressed, with the places of its records. How a file is cut into splits:
//! `docs/design/streams.md`.

mod advise;
mod archive;
mod buffers;
mod compression;
mod decoder_memory;
mod expand;
mod feed;
mod file_input;
mod file_source;
mod file_state;
mod file_stream;
mod file_text;
mod find_files;
mod first_record;
mod gzip;
mod header_record;
mod input;
mod last_record;
mod lines;
mod natural;
mod nearest;
mod pieces;
mod pipe;
mod preview;
mod reader;
mod reads_in_ranges;
mod record_ends;
mod row_reader;
mod same_content;
mod shared_file;
mod signature;
mod skip_lines;
mod source_file;
mod split;
mod split_check;
mod split_facts;
mod split_starts;
mod spool;
mod stored;
mod table;
mod text;
mod trailer;
mod transcode;
mod two_readers;
mod window;

pub use inrush_scan::Dialect;
pub use inrush_source::RecordStart;

pub use archive::ZipMember;
pub use buffers::BufferPool;
pub use compression::compression_of;
pub use feed::{Feed, FeedRange, FeedSettings};
pub use file_source::{FileForm, FileSource};
pub use file_state::FileState;
pub use file_stream::{FileStream, SplitRows, open_split};
pub use find_files::{ResolveOptions, names_a_pipe, resolve, resolve_as};
pub use first_record::needs_place;
pub use last_record::last_field;
pub use pieces::pieces_of;
pub use pipe::{Pipe, Pipes};
pub use preview::{Preview, PreviewRecord};
pub use reader::TextReader;
pub use row_reader::{RowReader, TypedRowReader};
pub use same_content::has_same_content;
pub use shared_file::share_file;
pub use source_file::{FileOrigin, SourceFile};
pub use split::Split;
pub use split_check::{SplitCheck, SplitCheckSettings, SplitDifference, SplitMethod, check_split};
pub use split_starts::first_records;
pub use table::{TableField, TableFile, TableKind};

#[cfg(test)]
mod tests;
