//! Sums of the columns of a table, which show whether it has the values that were loaded.

/// A column whose values are summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummedColumn {
    /// Its name.
    pub name: String,
    /// The measure of a value.
    pub measure: Measure,
}

/// The measure of a value, of which a sum is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The value of a whole or decimal number.
    Number,
    /// The days of a date since 1970-01-01.
    Days,
    /// The octets of a text in UTF-8, without the blanks at its end.
    Octets,
}

/// The sums of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSums {
    /// The number of values that are not NULL.
    pub values: u64,
    /// The exact sum of their measures, as `-?digits[.digits]`.
    pub sum: String,
}
