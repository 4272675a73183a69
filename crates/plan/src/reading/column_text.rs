//! The printed lines of a plan about columns that are not read in the usual way.

use std::collections::BTreeSet;

use inrush_rows::column::Column;
use inrush_rows::column_policy::{
    DefaultFor, NanPolicy, NegativeForm, OnTruncate, Rounding, Trim, ValueSource,
};
use inrush_rows::plural::counted;
use inrush_rows::sql_text::identifier;

/// One line for each column that does not come from the field at its own position, and one line for fields that no
/// column uses.
pub fn lines(columns: &[Column], field_count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let words = words(column, place);
        if !words.is_empty() {
            lines.push(format!(
                "{}: {}",
                identifier(&column.name),
                words.join("; ")
            ));
        }
    }
    let taken = columns.iter();
    let taken: BTreeSet<usize> = taken
        .filter_map(|column| column.source.field_index())
        .collect();
    let skipped: Vec<String> = (0..field_count)
        .filter(|field| !taken.contains(field))
        .map(|field| (field + 1).to_string())
        .collect();
    if !skipped.is_empty() {
        lines.push(format!(
            "{} of {} skipped: {}",
            skipped.len(),
            counted(field_count as u64, "field"),
            shortened(&skipped)
        ));
    }
    lines
}

fn shortened(fields: &[String]) -> String {
    const SHOWN_MAX: usize = 12;
    let mut text = fields[..fields.len().min(SHOWN_MAX)].join(", ");
    if fields.len() > SHOWN_MAX {
        text.push_str(", ...");
    }
    text
}

fn words(column: &Column, place: usize) -> Vec<String> {
    let mut words = Vec::new();
    match &column.source {
        ValueSource::Field(field) if *field == place => {}
        ValueSource::Field(field) => words.push(format!("field {}", field + 1)),
        ValueSource::File => words.push("the path of the file".to_owned()),
        ValueSource::Line => words.push("the line in the file".to_owned()),
        ValueSource::ByteOffset => words.push("the bytes before the row in the file".to_owned()),
        ValueSource::LoadTime => words.push("when the run began".to_owned()),
        ValueSource::Run => words.push("the number of the run".to_owned()),
        ValueSource::Constant(text) => words.push(format!("the constant {text:?}")),
        // The steps are printed separately.
        ValueSource::Derived => {}
    }
    if !column.formats.is_empty() {
        words.push(format!("written {}", quoted(&column.formats, " or ")));
    }
    if let Some(zone) = &column.zone {
        words.push(format!("in the zone {zone}"));
    }
    let policies = &column.policies;
    if let Some(pivot) = policies.year_pivot {
        words.push(format!("two-digit years are {pivot} to {}", pivot + 99));
    }
    let numbers = &policies.numbers;
    if let Some(separator) = numbers.decimal_separator {
        words.push(format!("decimal separator {:?}", separator.to_string()));
    }
    if let Some(separator) = numbers.group_separator {
        words.push(format!("group separator {:?}", separator.to_string()));
    }
    match numbers.negative {
        NegativeForm::Leading => {}
        NegativeForm::Parentheses => words.push("(12) is -12".to_owned()),
        NegativeForm::Trailing => words.push("12- is -12".to_owned()),
    }
    if let Some(declared) = &policies.words {
        words.push(format!(
            "{} true, {} false",
            quoted(&declared.true_words, ", "),
            quoted(&declared.false_words, ", ")
        ));
    }
    let ends = match policies.trim {
        None => None,
        Some(Trim::None) => Some("nowhere"),
        Some(Trim::Start) => Some("at the start"),
        Some(Trim::End) => Some("at the end"),
        Some(Trim::Both) => Some("at both ends"),
    };
    if let Some(ends) = ends {
        let quoted = if policies.trim_quoted {
            ", in quotes too"
        } else {
            ""
        };
        words.push(format!("trimmed {ends}{quoted}"));
    }
    match &policies.null {
        None => {}
        Some(markers) if markers.is_empty() => words.push("nothing is NULL".to_owned()),
        Some(markers) => words.push(format!("NULL is {}", quoted(markers, " or "))),
    }
    if policies.nan == NanPolicy::Null {
        words.push("NaN becomes NULL".to_owned());
    }
    if let Some(default) = &policies.default {
        let applies_to = match default.applies_to {
            DefaultFor::Missing => "fields that are missing",
            DefaultFor::Null => "fields that are missing or NULL",
        };
        words.push(format!("{applies_to} become {:?}", default.text));
    }
    if policies.on_truncate == OnTruncate::Truncate {
        words.push("longer texts are CUT OFF".to_owned());
    }
    match policies.round {
        Rounding::Reject => {}
        Rounding::HalfUp => words.push("ROUNDED, halves away from zero".to_owned()),
        Rounding::HalfEven => words.push("ROUNDED, halves to even".to_owned()),
        Rounding::Down => words.push("ROUNDED toward zero".to_owned()),
    }
    if policies.lossless {
        words.push("lossless".to_owned());
    }
    if policies.nearest_floats {
        words.push("numbers become the NEAREST float".to_owned());
    }
    words
}

fn quoted(texts: &[String], between: &str) -> String {
    texts
        .iter()
        .map(|text| format!("{text:?}"))
        .collect::<Vec<_>>()
        .join(between)
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;
    use inrush_rows::column_policy::NumberForm;

    use super::*;

    #[test]
    fn usual_columns_say_nothing() {
        let columns = [
            Column::new("a", ColumnType::Int32, 0),
            Column::new("b", ColumnType::Date, 1),
        ];
        assert_eq!(lines(&columns, 2), Vec::<String>::new());
    }

    #[test]
    fn others_say_what_they_are() {
        let mut amount = Column::new("amount", ColumnType::Float64, 3);
        amount.policies.numbers = NumberForm {
            decimal_separator: Some(','),
            ..NumberForm::default()
        };
        amount.policies.round = Rounding::HalfEven;
        let mut file = Column::new("file", ColumnType::Opaque, 0);
        file.source = ValueSource::File;
        assert_eq!(
            lines(&[amount, file], 5),
            [
                "\"amount\": field 4; decimal separator \",\"; ROUNDED, halves to even",
                "\"file\": the path of the file",
                "4 of 5 fields skipped: 1, 2, 3, 5",
            ]
        );
    }
}
