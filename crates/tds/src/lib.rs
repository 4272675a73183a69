//! Encodes Arrow record batches as the bytes of a SQL Server bulk load (TDS message 0x07), and decodes the rows of a
//! result ([`result`]). There is no I/O: the session sends and receives the packets.
//!
//! The server describes the target's columns ([`RowMetadata`], parsed from its answer to a query of no rows). The
//! stream begins with the same description, so types, collations and nullability agree by construction. [`BulkEncoder`]
//! writes it, then the rows of each batch, into packets of the granted size ([`PacketSize`]).
//!
//! A value that the target's column cannot hold exactly is refused ([`Misfit`]), and never changed: no `?` for a
//! character that the code page lacks, no rounded time, no padded bytes. [`limits`] has the range of each type.
//!
//! [MS-TDS] describes the bytes in 2.2.5 (types), 2.2.6.1 (bulk load) and 2.2.7.4 (COLMETADATA).

pub mod limits;
pub mod result;

mod bulk;
mod code_page;
mod collation;
mod column_metadata;
mod error;
mod packet;
mod reader;
mod type_info;

#[doc(hidden)]
pub use bulk::InstructionSet;
pub use bulk::{BulkEncoder, Misfit};
pub use code_page::CodePage;
pub use collation::{Collation, TextEncoding};
pub use column_metadata::{ColumnMetadata, RowMetadata};
pub use error::{EncodeError, MetadataError, ValueFault};
pub use packet::PacketSize;
pub use type_info::{Length, SqlType, TypeInfo};
