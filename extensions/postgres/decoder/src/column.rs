//! The decoder's description of a column of the table.

/// A column. C makes an array of them, in the order of the table. The decoder accepts every number in every field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Column {
    /// How its values are decoded: a [`Kernel`]. An unknown number means [`Kernel::Receive`].
    pub kernel: u8,
    /// The alignment of the type, in bytes: 1, 2, 4 or 8.
    pub align: u8,
    /// Not 0 if a short value may have a header of one byte. This is so for a varlena whose storage is not `plain`.
    pub packable: u8,
    /// Not 0 if each row of the stream has a field for the column. A column that was dropped, or that the statement
    /// leaves out, has no field and is stored as NULL.
    pub given: u8,
    /// Not 0 if the column is NOT NULL.
    pub not_null: u8,
    /// Not 0 if the receive function must also be called for NULL (domains).
    pub null_is_received: u8,
    /// Not 0 for the column whose smallest and largest values are kept.
    pub key: u8,
    /// Fills the layout, so that it has no padding.
    pub unused: u8,
    /// The largest number of characters of `varchar(n)` and `char(n)`; below 0: any number.
    pub characters: i32,
    /// The precision of `numeric(p, s)`; below 0: any.
    pub precision: i32,
    /// The scale of `numeric(p, s)`, at least 0; below 0: any.
    pub scale: i32,
}

/// How the values of a column are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kernel {
    /// The receive function of the type decodes every value.
    Receive = 0,
    /// `boolean`: one byte; any but 0 is true.
    Bool = 1,
    /// One byte as it is: `"char"`.
    Byte = 2,
    /// Two bytes: `smallint`.
    Int2 = 3,
    /// Four bytes: `integer`, `oid`, `real`.
    Int4 = 4,
    /// Eight bytes: `bigint`, `double precision`, `money`.
    Int8 = 5,
    /// `date`: days within its range.
    Date = 6,
    /// `time` without a precision: microseconds of a day.
    Time = 7,
    /// `timestamp` and `timestamptz` without a precision: microseconds within their range.
    Timestamp = 8,
    /// `uuid`: 16 bytes as they are.
    Uuid = 9,
    /// `bytea`: bytes as they are.
    Bytea = 10,
    /// `text` and `varchar`.
    Text = 11,
    /// `char(n)`, filled up with blanks.
    Bpchar = 12,
    /// `numeric`.
    Numeric = 13,
}

impl Kernel {
    /// The kernel of a number that C wrote.
    pub fn of(number: u8) -> Kernel {
        match number {
            1 => Kernel::Bool,
            2 => Kernel::Byte,
            3 => Kernel::Int2,
            4 => Kernel::Int4,
            5 => Kernel::Int8,
            6 => Kernel::Date,
            7 => Kernel::Time,
            8 => Kernel::Timestamp,
            9 => Kernel::Uuid,
            10 => Kernel::Bytea,
            11 => Kernel::Text,
            12 => Kernel::Bpchar,
            13 => Kernel::Numeric,
            _ => Kernel::Receive,
        }
    }
}
