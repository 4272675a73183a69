//! Checks that all sampled rows pass, for a person to choose from: numbers that are never negative, texts of a few words,
//! and dates that are never before another date of their row.
//!
//! A check is proposed only if many rows show it. It may still be a coincidence, so a package has it as a comment.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::sql_text::{identifier, quoted_where_needed};

/// The number of rows that must pass a check before it is proposed.
const ROWS_MIN: u64 = 100;
/// The most words of a column.
const WORDS_MAX: usize = 10;
/// The most bytes of a word.
const WORD_BYTES_MAX: usize = 40;
/// The least number of rows for each word, on average.
const ROWS_OF_A_WORD: u64 = 20;
/// The most columns of dates that are compared with each other.
const DATES_MAX: usize = 8;
/// The most checks.
const CHECKS_MAX: usize = 12;

/// Words that SQL accepts as names only in quotes.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case", "cast", "check",
    "collate", "column", "constraint", "create", "default", "deferrable", "desc", "distinct", "do", "else", "end",
    "except", "false", "fetch", "for", "foreign", "from", "grant", "group", "having", "in", "initially", "intersect",
    "into", "lateral", "leading", "limit", "not", "null", "offset", "on", "only", "or", "order", "pivot", "placing",
    "primary", "qualify", "references", "returning", "select", "show", "some", "summarize", "symmetric", "table",
    "then", "to", "trailing", "true", "union", "unique", "unpivot", "using", "variadic", "when", "where", "window",
    "with",
];

/// A check that all sampled rows pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedCheck {
    /// The condition, in DuckDB's SQL.
    pub condition: String,
    /// A name for it.
    pub name: String,
}

/// The facts about the rows of a column.
#[derive(Clone, Debug, Default)]
struct Column {
    /// The number of rows with a value.
    values: u64,
    has_negative: bool,
    has_positive: bool,
    /// The words so far; `None` for a column of other types, or of too many words.
    words: Option<BTreeSet<String>>,
}

/// The facts about two columns of dates: whether the first one is never later than the second one.
#[derive(Clone, Debug)]
struct Pair {
    first: usize,
    second: usize,
    rows: u64,
    is_later: bool,
    is_earlier: bool,
}

/// Collects these facts from the batches of all sampled rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Collector {
    columns: Vec<Column>,
    pairs: Vec<Pair>,
    has_begun: bool,
}

impl Collector {
    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        if !self.has_begun {
            self.begin(batch);
        }
        for (column, values) in self.columns.iter_mut().zip(batch.columns()) {
            column.add(values.as_ref());
        }
        for pair in &mut self.pairs {
            let [first, second] = [pair.first, pair.second].map(|at| batch.column(at).as_ref());
            for row in 0..batch.num_rows() {
                let (Some(first), Some(second)) = (moment(first, row), moment(second, row)) else {
                    continue;
                };
                pair.rows += 1;
                pair.is_later |= first > second;
                pair.is_earlier |= first < second;
            }
        }
    }

    fn begin(&mut self, batch: &RecordBatch) {
        self.has_begun = true;
        let is_text = |at: usize| batch.column(at).data_type() == &DataType::Utf8View;
        self.columns = (0..batch.num_columns())
            .map(|at| Column {
                words: is_text(at).then(BTreeSet::new),
                ..Column::default()
            })
            .collect();
        let type_of = |at: usize| batch.column(at).data_type().clone();
        let is_date = |at: &usize| {
            matches!(
                type_of(*at),
                DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _)
            )
        };
        let dates: Vec<usize> = (0..batch.num_columns())
            .filter(is_date)
            .take(DATES_MAX)
            .collect();
        for first in &dates {
            let others = dates.iter().filter(|second| *second != first);
            let alike = others.filter(|second| type_of(**second) == type_of(*first));
            self.pairs.extend(alike.map(|second| Pair {
                first: *first,
                second: *second,
                rows: 0,
                is_later: false,
                is_earlier: false,
            }));
        }
    }

    /// The checks, in the order of the columns; `names` are the names of the columns.
    pub(super) fn checks(&self, names: &[&str]) -> Vec<ProposedCheck> {
        let mut found = Vec::new();
        for (column, name) in self.columns.iter().zip(names) {
            let quoted = in_sql(name);
            if column.values < ROWS_MIN {
                continue;
            }
            if column.has_positive && !column.has_negative {
                found.push(ProposedCheck {
                    condition: format!("{quoted} >= 0"),
                    name: format!("{name} is not negative"),
                });
            }
            if let Some(words) = &column.words
                && !words.is_empty()
                && column.values >= ROWS_OF_A_WORD * words.len() as u64
            {
                let literals = words
                    .iter()
                    .map(|word| format!("'{}'", word.replace('\'', "''")));
                found.push(ProposedCheck {
                    condition: format!("{quoted} IN ({})", literals.collect::<Vec<_>>().join(", ")),
                    name: format!("{name} is one of the known words"),
                });
            }
        }
        for pair in &self.pairs {
            if pair.rows >= ROWS_MIN && pair.is_earlier && !pair.is_later {
                let [first, second] = [names[pair.first], names[pair.second]];
                found.push(ProposedCheck {
                    condition: format!("{} >= {}", in_sql(second), in_sql(first)),
                    name: format!("{second} is not before {first}"),
                });
            }
        }
        found.truncate(CHECKS_MAX);
        found
    }
}

impl Column {
    fn add(&mut self, values: &dyn Array) {
        self.values += (values.len() - values.null_count()) as u64;
        let signs = signs(values);
        self.has_negative |= signs.0;
        self.has_positive |= signs.1;
        let Some(words) = &mut self.words else {
            return;
        };
        for word in values.as_string_view().iter().flatten() {
            if words.contains(word) {
                continue;
            }
            if words.len() == WORDS_MAX || word.len() > WORD_BYTES_MAX || word.is_empty() {
                self.words = None;
                return;
            }
            words.insert(word.to_owned());
        }
    }
}

/// The name of a column, with the quotes that an expression needs.
fn in_sql(name: &str) -> String {
    match RESERVED.contains(&name) {
        true => identifier(name),
        false => quoted_where_needed(name),
    }
}

/// Whether an array has a negative number, and whether it has a positive number.
fn signs(values: &dyn Array) -> (bool, bool) {
    macro_rules! signs_of {
        ($type:ty, $zero:expr) => {{
            let numbers = || values.as_primitive::<$type>().iter().flatten();
            // NaN is neither negative nor positive.
            (
                numbers().any(|number| number < $zero),
                numbers().any(|number| number > $zero),
            )
        }};
    }
    match values.data_type() {
        DataType::Int16 => signs_of!(Int16Type, 0),
        DataType::Int32 => signs_of!(Int32Type, 0),
        DataType::Int64 => signs_of!(Int64Type, 0),
        DataType::Decimal128(..) => signs_of!(Decimal128Type, 0),
        DataType::Float32 => signs_of!(Float32Type, 0.0),
        DataType::Float64 => signs_of!(Float64Type, 0.0),
        _ => (false, false),
    }
}

/// A date or timestamp as a number that grows with time.
fn moment(values: &dyn Array, row: usize) -> Option<i64> {
    if values.is_null(row) {
        return None;
    }
    match values.data_type() {
        DataType::Date32 => Some(values.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp(..) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            Some(moments.value(row))
        }
        _ => None,
    }
}
