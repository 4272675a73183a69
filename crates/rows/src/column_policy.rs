//! The policies of a column: settings of a package that change how its fields are read.
//!
//! No default here changes a value: a column without policies accepts exactly the values that its type can hold, and
//! rejects the rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// This field of a record, counted from 0.
    Field(usize),
    /// The path of the file, as the user named it.
    File,
    /// The line where the record begins, counted from 1.
    Line,
    /// The bytes before the record in the (uncompressed) file.
    ByteOffset,
    /// When the run began: one value for the whole run.
    LoadTime,
    /// The run's number in the ledger.
    Run,
    /// This text, read as a field of the column would be.
    Constant(String),
    /// An expression of one of the flow's steps, or a column that a step takes from another table.
    Derived,
}

impl ValueSource {
    /// The index of the field, if the values come from a field of a record.
    pub fn field_index(&self) -> Option<usize> {
        match self {
            ValueSource::Field(index) => Some(*index),
            _ => None,
        }
    }

    /// The word for this source of values in a package.
    pub fn word(&self) -> &'static str {
        match self {
            ValueSource::Field(_) => "field",
            ValueSource::File => "file",
            ValueSource::Line => "line",
            ValueSource::ByteOffset => "byte_offset",
            ValueSource::LoadTime => "load_time",
            ValueSource::Run => "run",
            ValueSource::Constant(_) => "constant",
            ValueSource::Derived => "derived",
        }
    }
}

/// The policies for reading the fields of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnPolicies {
    /// The sides on which blanks and tabs are removed. Default: the format's setting.
    pub trim: Option<Trim>,
    /// Blanks and tabs are removed inside quotes, too.
    pub trim_quoted: bool,
    /// The texts that stand for NULL, in place of the format's own; if the list is empty, no text stands for NULL.
    pub null: Option<Vec<String>>,
    /// The default for a missing field.
    pub default: Option<FieldDefault>,
    /// How numbers are written.
    pub numbers: NumberForm,
    /// How `NaN` is loaded.
    pub nan: NanPolicy,
    /// The words of a boolean, in place of PostgreSQL's.
    pub words: Option<BooleanWords>,
    /// The first year that two digits stand for.
    pub year_pivot: Option<u16>,
    /// How a text that is too long is loaded.
    pub on_truncate: OnTruncate,
    /// How digits that the column does not keep are handled.
    pub round: Rounding,
    /// A number is rejected if storing it would lose part of its written form.
    pub lossless: bool,
    /// A column of floats takes the nearest float of each number; otherwise a number that a float would change is
    /// rejected.
    pub nearest_floats: bool,
    /// The numbers of a column of floats come from typed rows, and their digits are exact.
    pub exact: bool,
}

/// The default for a missing field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDefault {
    /// Its text, written as in the file.
    pub text: String,
    /// The fields that get it.
    pub applies_to: DefaultFor,
}

/// The form of numbers that are not written as in SQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberForm {
    /// Separates whole part and fraction; a point if it is not set.
    pub decimal_separator: Option<char>,
    /// Separates groups of three digits.
    pub group_separator: Option<char>,
    /// Another form of negative numbers, besides `-12`.
    pub negative: NegativeForm,
}

/// The words of a boolean, taken in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BooleanWords {
    /// The words for true.
    pub true_words: Vec<String>,
    /// The words for false.
    pub false_words: Vec<String>,
}

/// The sides on which blanks and tabs are removed from a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trim {
    /// On no side.
    #[default]
    None,
    /// At the start of the field.
    Start,
    /// At the end of the field.
    End,
    /// At both ends.
    Both,
}

impl Trim {
    /// Two flags: true if blanks and tabs are removed at the start, and true if they are removed at the end.
    pub fn ends(self) -> (bool, bool) {
        match self {
            Trim::None => (false, false),
            Trim::Start => (true, false),
            Trim::End => (false, true),
            Trim::Both => (true, true),
        }
    }
}

/// The fields that get the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefaultFor {
    /// Fields that are missing at the end of a record.
    #[default]
    Missing,
    /// Missing fields and NULL fields.
    Null,
}

/// Another form of negative numbers, besides `-12`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NegativeForm {
    /// No other form.
    #[default]
    Leading,
    /// `(12)`, as accountants do.
    Parentheses,
    /// `12-`, as mainframes do.
    Trailing,
}

/// How `NaN` is loaded into a column of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NanPolicy {
    /// By the column's type: floats and `numeric` without a precision keep it, other types reject it.
    #[default]
    Keep,
    /// NULL.
    Null,
}

/// How a text with more characters than the column holds is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTruncate {
    /// The row is rejected.
    #[default]
    Reject,
    /// The characters past the end are cut off.
    Truncate,
}

/// How digits after the point that the column does not keep are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// The row is rejected, unless the digits are zeros.
    #[default]
    Reject,
    /// Round to the nearest value, a half away from zero, like PostgreSQL's `round(numeric)`.
    HalfUp,
    /// Round to the nearest value, a half to the even neighbour, as banks do.
    HalfEven,
    /// Round toward zero: the digits are cut off.
    Down,
}

impl Rounding {
    /// True if the kept digits are rounded up; `None` if nothing is rounded.
    ///
    /// `last_is_odd`: whether the last kept digit is odd. `rest`: the dropped part compared with one half of the last
    /// kept place.
    pub fn goes_up(self, last_is_odd: bool, rest: std::cmp::Ordering) -> bool {
        match self {
            Rounding::Reject | Rounding::Down => false,
            Rounding::HalfUp => rest.is_ge(),
            Rounding::HalfEven => rest.is_gt() || rest.is_eq() && last_is_odd,
        }
    }
}

/// The number of values of a column that were changed, as its policies allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnChanges {
    /// Texts that were cut off at the column's length (`on_truncate`).
    pub truncated: u64,
    /// Numbers and times that lost digits other than zero (`round`).
    pub rounded: u64,
    /// Fields that got the default (`default`).
    pub defaulted: u64,
    /// `NaN` that became NULL (`nan`).
    pub nulled: u64,
}

impl ColumnChanges {
    /// The number of all changes.
    pub fn total(&self) -> u64 {
        self.truncated + self.rounded + self.defaulted + self.nulled
    }

    /// Adds the numbers of another count.
    pub fn add(&mut self, other: &ColumnChanges) {
        self.truncated += other.truncated;
        self.rounded += other.rounded;
        self.defaulted += other.defaulted;
        self.nulled += other.nulled;
    }

    /// Subtracts changes that were added before.
    pub fn take_away(&mut self, added: &ColumnChanges) {
        self.truncated -= added.truncated;
        self.rounded -= added.rounded;
        self.defaulted -= added.defaulted;
        self.nulled -= added.nulled;
    }
}

/// True if a character can stand between digits without being taken for a part of the number.
pub fn is_separator(character: char) -> bool {
    !character.is_alphanumeric()
        && !matches!(character, '+' | '-' | '(' | ')' | '\0' | '\n' | '\r' | '\t')
}
