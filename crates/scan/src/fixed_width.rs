//! Files with fields at declared positions, as mainframes write them.

/// The positions of a fixed-width file's fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FixedWidth {
    /// The fields, in the order of the columns. They may have gaps, overlap, and be in any order.
    pub fields: Vec<FieldPosition>,
    /// The unit of positions.
    pub unit: PositionUnit,
    /// The end of a record.
    pub record: RecordEnd,
}

/// The position of a field in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldPosition {
    /// The number of units before the field.
    pub start: u32,
    /// Its number of units, at least one.
    pub length: u32,
}

/// The unit of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PositionUnit {
    /// Bytes.
    #[default]
    Bytes,
    /// Characters of UTF-8.
    Characters,
}

/// The end of a fixed-width file's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordEnd {
    /// Each record ends with the dialect's terminator.
    Line {
        /// The number of units of every record. If it is not declared, a record ends with the end of its last field.
        length: Option<u32>,
    },
    /// No terminator: each record has this many bytes.
    Bytes(u32),
}

impl FieldPosition {
    /// One past its last unit.
    pub fn end(&self) -> u64 {
        u64::from(self.start) + u64::from(self.length)
    }
}

impl FixedWidth {
    /// The number of units that every record has.
    pub fn record_length(&self) -> u64 {
        match self.record {
            RecordEnd::Line {
                length: Some(length),
            } => u64::from(length),
            RecordEnd::Bytes(bytes) => u64::from(bytes),
            RecordEnd::Line { length: None } => self.last_end(),
        }
    }

    /// One past the last unit of the field that ends last.
    pub(crate) fn last_end(&self) -> u64 {
        let ends = self.fields.iter().map(FieldPosition::end);
        ends.max().unwrap_or(0)
    }
}
