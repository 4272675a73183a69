//! COLMETADATA: the columns of a rowset, as the server describes them and as a bulk load repeats them.

use crate::error::MetadataError;
use crate::limits::COLUMNS_MAX;
use crate::reader::Reader;
use crate::type_info::TypeInfo;

const TOKEN: u8 = 0x81;

/// Flags that are repeated: nullable, updatable (two bits), identity. All others matter only to the server.
const ECHOED_FLAGS: u16 = NULLABLE | 0x000c | 0x0010;
const NULLABLE: u16 = 0x0001;
const ENCRYPTED: u16 = 0x0800;
const NULLABLE_UNKNOWN: u16 = 0x8000;

/// A column of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMetadata {
    /// Its name, unquoted.
    pub name: String,
    /// Its type.
    pub type_info: TypeInfo,
    /// The flags of the description, as the server sent them.
    pub flags: u16,
}

impl ColumnMetadata {
    /// True if the column accepts NULL, by the server's description.
    pub fn is_nullable(&self) -> bool {
        !self.type_info.is_fixed && self.flags & (NULLABLE | NULLABLE_UNKNOWN) != 0
    }
}

/// The columns of a rowset, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMetadata {
    columns: Vec<ColumnMetadata>,
}

impl RowMetadata {
    /// Reads a description from the beginning of `bytes`, as servers send it since TDS 7.2; also returns its number of
    /// bytes. Wrong bytes cause at most an error, and the memory that they need is proportional to their number.
    pub fn parse(bytes: &[u8]) -> Result<(RowMetadata, usize), MetadataError> {
        let mut reader = Reader::new(bytes);
        let found = reader.byte("the token")?;
        if found != TOKEN {
            return Err(MetadataError::NoDescription { found });
        }
        // 65,535 means that there is no description, and is refused like all other counts above the limit.
        let found = usize::from(reader.u16("the number of columns")?);
        if !(1..=COLUMNS_MAX).contains(&found) {
            return Err(MetadataError::ColumnCount { found });
        }
        let columns = (1..=found)
            .map(|ordinal| read_column(&mut reader, ordinal))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((RowMetadata { columns }, reader.position()))
    }

    /// The columns.
    pub fn columns(&self) -> &[ColumnMetadata] {
        &self.columns
    }

    /// Appends the description that a bulk load begins with.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(TOKEN);
        // At most 4,096 columns.
        out.extend_from_slice(&(self.columns.len() as u16).to_le_bytes());
        for column in &self.columns {
            // UserType 0: the column has no user-defined type.
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&(column.flags & ECHOED_FLAGS).to_le_bytes());
            column.type_info.write(out);
            let units: Vec<u16> = column.name.encode_utf16().collect();
            // The name was read with a length of one byte.
            out.push(units.len() as u8);
            out.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        }
    }
}

fn read_column(reader: &mut Reader<'_>, ordinal: usize) -> Result<ColumnMetadata, MetadataError> {
    reader.u32("a column's user type")?;
    let flags = reader.u16("a column's flags")?;
    let type_info = TypeInfo::read(reader, ordinal)?;
    let of = "a column's name";
    let units = reader.byte(of)?;
    let name: Vec<u16> = reader
        .take(2 * usize::from(units), of)?
        .as_chunks()
        .0
        .iter()
        .map(|unit| u16::from_le_bytes(*unit))
        .collect();
    let name = String::from_utf16(&name).map_err(|_| MetadataError::BadName { ordinal })?;
    if flags & ENCRYPTED != 0 {
        return Err(MetadataError::Encrypted { ordinal, name });
    }
    if let Some(Err(collation)) = type_info.text_encoding() {
        return Err(MetadataError::UnknownCodePage {
            ordinal,
            name,
            locale: collation.locale(),
            sort_id: collation.sort_id(),
        });
    }
    Ok(ColumnMetadata {
        name,
        type_info,
        flags,
    })
}
