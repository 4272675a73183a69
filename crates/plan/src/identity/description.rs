//! Describes all settings that affect a unit's rows, as a text whose digest is part of the unit's key.
//!
//! A stopped run is resumed if its units have the same description as before. The description is JSON with fixed names
//! that differ from the names of the engine's types: a renamed field or variant changes no key, so an upgrade does not
//! discard the units of a stopped run. Each function destructures its type completely, so a new field does not compile
//! until its part in the description is decided. Defaults are left out, so a new setting changes no description of a
//! package without it.
//!
//! The description of a package must not change; `golden_test.rs` checks that. If a change cannot be avoided, raise
//! [`VERSION`](super::VERSION).

use inrush_package::Trailer;
use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::column_policy::{
    BooleanWords, ColumnPolicies, FieldDefault, NumberForm, ValueSource,
};
use inrush_scan::{
    Dialect, DialectTrim, Escape, ExtraFields, FieldPosition, FixedWidth, MissingFields,
    PositionUnit, RecordEnd, ShortText, Terminator,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::steps::StepPlan;

/// A description under construction: pairs of a name and a value, in the order in which they are added.
#[derive(Clone, Debug, Default)]
pub struct Description(Map<String, Value>);

impl Description {
    /// Adds a fact.
    pub fn say(&mut self, name: &str, value: impl Into<Value>) -> &mut Description {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a fact if it differs from the default.
    pub fn say_unless<T: PartialEq + Into<Value>>(
        &mut self,
        name: &str,
        value: T,
        default: &T,
    ) -> &mut Description {
        match value == *default {
            true => self,
            false => self.say(name, value),
        }
    }

    /// Adds a setting by its word in a package. Such a word cannot be renamed, because users have written it.
    pub fn say_word<T: Serialize + Default + PartialEq>(
        &mut self,
        name: &str,
        setting: T,
    ) -> &mut Description {
        match setting == T::default() {
            true => self,
            false => self.say(name, word(setting)),
        }
    }

    /// Adds a fact if there is one.
    pub fn say_some(&mut self, name: &str, value: Option<impl Into<Value>>) -> &mut Description {
        match value {
            Some(value) => self.say(name, value),
            None => self,
        }
    }

    /// The text of the description.
    pub fn into_text(self) -> String {
        Value::Object(self.0).to_string()
    }
}

impl From<Description> for Value {
    fn from(description: Description) -> Value {
        Value::Object(description.0)
    }
}

/// The description of a dialect.
pub fn dialect(dialect: &Dialect) -> Description {
    let Dialect {
        delimiter,
        quote,
        escape,
        terminator,
        comment,
        trailing_delimiter,
        skip_lines,
        header,
        nulls,
        null_quoted,
        trim,
        missing_fields,
        extra_fields,
        fixed,
        blank_lines_are_records,
        record_bytes_max,
    } = dialect;
    let mut said = Description::default();
    said.say("delimiter", short_text(delimiter))
        .say_some("quote", *quote)
        .say(
            "escape",
            match escape {
                Escape::None => json!("none"),
                Escape::DoubledQuote => json!("doubled_quote"),
                Escape::Byte(byte) => json!({ "byte": byte }),
            },
        )
        .say(
            "terminator",
            match terminator {
                Terminator::Any => json!("any"),
                Terminator::Lf => json!("lf"),
                Terminator::CrLf => json!("crlf"),
                Terminator::Cr => json!("cr"),
                Terminator::Text(text) => json!({ "text": short_text(text) }),
            },
        )
        .say_some("comment", *comment)
        .say_unless("trailing_delimiter", *trailing_delimiter, &false)
        .say_unless("skip_lines", *skip_lines, &0)
        .say_unless("header", *header, &false)
        .say("nulls", nulls.clone())
        .say_unless("null_quoted", *null_quoted, &false)
        .say_unless(
            "trim",
            match trim {
                DialectTrim::None => "none",
                DialectTrim::Start => "start",
                DialectTrim::End => "end",
                DialectTrim::Both => "both",
            },
            &"none",
        )
        .say_unless(
            "missing_fields",
            match missing_fields {
                MissingFields::Reject => "reject",
                MissingFields::Null => "null",
            },
            &"reject",
        )
        .say_unless(
            "extra_fields",
            match extra_fields {
                ExtraFields::Reject => "reject",
                ExtraFields::Ignore => "ignore",
            },
            &"reject",
        )
        .say_some("fixed", fixed.as_ref().map(fixed_width))
        .say_unless("blank_lines_are_records", *blank_lines_are_records, &false)
        .say("record_bytes_max", *record_bytes_max);
    said
}

fn fixed_width(fixed: &FixedWidth) -> Description {
    let FixedWidth {
        fields,
        unit,
        record,
    } = fixed;
    let place = |FieldPosition { start, length }: &FieldPosition| json!([start, length]);
    let mut said = Description::default();
    said.say("fields", fields.iter().map(place).collect::<Vec<_>>())
        .say(
            "unit",
            match unit {
                PositionUnit::Bytes => "bytes",
                PositionUnit::Characters => "characters",
            },
        )
        .say(
            "record",
            match record {
                RecordEnd::Line { length } => json!({ "line": length }),
                RecordEnd::Bytes(bytes) => json!({ "bytes": bytes }),
            },
        );
    said
}

/// The description of the sums that are computed while rows are loaded. Splits that were loaded without them have no
/// sums to compare.
pub fn sums(said: &mut Description, trailer: Option<&Trailer>, summed: &[usize]) {
    // Columns by their positions.
    said.say_some(
        "trailer",
        trailer.map(|trailer| trailer.starts_with.clone()),
    )
    .say_unless("summed", summed.to_vec(), &Vec::new());
}

/// The steps of a flow, if it has any. Rows of a stopped run cannot be kept if they went through other steps.
pub fn steps(said: &mut Description, steps: Option<&StepPlan>) {
    said.say_some("steps", steps.map(|steps| steps.description.clone()));
}

/// A delimiter may have any bytes, but JSON has only characters.
fn short_text(text: &ShortText) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// The columns that are filled from files.
pub fn columns(columns: &[Column]) -> Vec<Value> {
    columns.iter().map(|own| column(own).into()).collect()
}

fn column(column: &Column) -> Description {
    let Column {
        name,
        column_type: own_type,
        nullable,
        source,
        formats,
        zone,
        policies: own_policies,
    } = column;
    let mut said = Description::default();
    said.say("name", name.clone())
        .say("type", column_type(own_type))
        .say_unless("nullable", *nullable, &true)
        .say(
            "source",
            match source {
                ValueSource::Field(index) => json!({ "field": index }),
                ValueSource::Constant(text) => json!({ "constant": text }),
                ValueSource::File
                | ValueSource::Line
                | ValueSource::ByteOffset
                | ValueSource::LoadTime
                | ValueSource::Run
                | ValueSource::Derived => json!(source.word()),
            },
        )
        .say_unless("formats", formats.clone(), &Vec::new())
        .say_some("zone", zone.clone());
    policies(own_policies, &mut said);
    said
}

/// A column's type.
pub fn column_type(column_type: &ColumnType) -> Value {
    match column_type {
        ColumnType::Bool => json!("bool"),
        ColumnType::Int16 => json!("int16"),
        ColumnType::Int32 => json!("int32"),
        ColumnType::Int64 => json!("int64"),
        ColumnType::Float32 => json!("float32"),
        ColumnType::Float64 => json!("float64"),
        ColumnType::Decimal { precision, scale } => json!({ "decimal": [precision, scale] }),
        ColumnType::DecimalText { limit } => json!({ "decimal_text": limit }),
        ColumnType::Text {
            characters_max,
            blank_padded,
        } => json!({ "text": [characters_max, blank_padded] }),
        ColumnType::Date => json!("date"),
        ColumnType::Time { fraction_digits } => json!({ "time": fraction_digits }),
        ColumnType::Timestamp { fraction_digits } => json!({ "timestamp": fraction_digits }),
        ColumnType::TimestampTz { fraction_digits } => json!({ "timestamptz": fraction_digits }),
        ColumnType::Interval {
            fraction_digits,
            has_infinity,
        } => json!({ "interval": [fraction_digits, has_infinity] }),
        ColumnType::Uuid => json!("uuid"),
        ColumnType::Binary => json!("binary"),
        ColumnType::Json => json!("json"),
        ColumnType::Enum { labels } => json!({ "enum": labels }),
        ColumnType::Opaque => json!("opaque"),
        ColumnType::Special(special) => special_type(special),
    }
}

fn special_type(special: &SpecialType) -> Value {
    match special {
        SpecialType::IntervalOf {
            fields,
            fraction_digits,
            has_infinity,
        } => json!({ "interval_of": [fields.words(), fraction_digits, has_infinity] }),
        SpecialType::Name => json!("name"),
        SpecialType::Byte { has_octal } => json!({ "byte": has_octal }),
        SpecialType::Money { scale } => json!({ "money": scale }),
        SpecialType::TimeTz { fraction_digits } => json!({ "timetz": fraction_digits }),
        // The first builds used this word. With another one, the units that they loaded would be loaded again.
        SpecialType::Jsonb => json!("json"),
        SpecialType::Array { element } => json!({ "array": column_type(element) }),
        SpecialType::Native { form } => json!({ "native": form }),
    }
}

fn policies(policies: &ColumnPolicies, said: &mut Description) {
    let ColumnPolicies {
        trim,
        trim_quoted,
        null,
        default,
        numbers,
        nan,
        words,
        year_pivot,
        on_truncate,
        round,
        lossless,
        nearest_floats,
        exact,
    } = policies;
    let NumberForm {
        decimal_separator,
        group_separator,
        negative,
    } = numbers;
    said.say_some("trim", trim.map(word))
        .say_unless("trim_quoted", *trim_quoted, &false)
        .say_some("null", null.clone())
        .say_some(
            "default",
            default.as_ref().map(|FieldDefault { text, applies_to }| {
                json!({ "text": text, "applies_to": word(applies_to) })
            }),
        )
        .say_some("decimal_separator", decimal_separator.map(String::from))
        .say_some("group_separator", group_separator.map(String::from))
        .say_word("negative", *negative)
        .say_word("nan", *nan)
        .say_some(
            "words",
            words.as_ref().map(
                |BooleanWords {
                     true_words,
                     false_words,
                 }| json!([true_words, false_words]),
            ),
        )
        .say_some("year_pivot", *year_pivot)
        .say_word("on_truncate", *on_truncate)
        .say_word("round", *round)
        .say_unless("lossless", *lossless, &false)
        .say_unless("nearest_floats", *nearest_floats, &false)
        .say_unless("exact", *exact, &false);
}

fn word(setting: impl Serialize) -> Value {
    serde_json::to_value(setting).expect("a word of a package is a text")
}
