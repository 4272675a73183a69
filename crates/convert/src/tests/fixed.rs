//! Tests of fields at declared byte positions, in text that is not ASCII.

use arrow_array::cast::AsArray;
use inrush_rows::column_policy::{ColumnPolicies, OnTruncate};
use inrush_rows::reject::RejectCode;
use inrush_scan::{
    DialectTrim, Escape, ExtraFields, FieldPosition, FixedWidth, MissingFields, PositionUnit,
    RecordEnd,
};
use proptest::prelude::*;

use super::*;

fn fixed(fields: &[(u32, u32)], unit: PositionUnit, record: RecordEnd) -> Dialect {
    let position = |(start, length): &(u32, u32)| FieldPosition {
        start: start - 1,
        length: *length,
    };
    Dialect {
        fixed: Some(FixedWidth {
            fields: fields.iter().map(position).collect(),
            unit,
            record,
        }),
        quote: None,
        escape: Escape::None,
        trim: DialectTrim::Both,
        extra_fields: ExtraFields::Ignore,
        missing_fields: MissingFields::Null,
        ..csv()
    }
}

const LINE: RecordEnd = RecordEnd::Line { length: None };

fn only_reject(dialect: &Dialect, columns: &[Column], input: &str) -> Reject {
    let (_, mut rejects) = converted(dialect, columns, 2, input.as_bytes());
    assert_eq!(rejects.len(), 1, "{rejects:?}");
    rejects.pop().expect("one")
}

#[test]
fn a_position_inside_a_character_is_a_reject() {
    let dialect = fixed(&[(1, 4), (5, 2)], PositionUnit::Bytes, LINE);
    let any = |name: &str, index| column(name, index, text(40));
    let both = [any("name", 0), any("code", 1)];
    let reject = only_reject(&dialect, &both, "abcd12\nabcä1\nxé z9\n");
    assert_eq!(reject.code, RejectCode::InvalidUtf8);
    assert_eq!(reject.column.as_deref(), Some("name"));
    assert_eq!(reject.value.as_deref(), Some("abc\u{fffd}"));
    assert_eq!(reject.raw, "abcä1".as_bytes());
    assert_eq!(reject.location.line, 12);
    for part in [
        "field 1 ends inside the character 'ä'",
        "bytes 4 to 5 of the record",
        "fixed_unit = \"characters\"",
    ] {
        assert!(reject.reason.contains(part), "{}", reject.reason);
    }
    // The form of fields that are not loaded is also checked.
    let reject = only_reject(&dialect, &both[1..], "abcä1\n");
    assert_eq!(reject.column, None);
    // The result is the same for every way of reading the field.
    for column_type in [
        ColumnType::Json,
        ColumnType::Opaque,
        ColumnType::Binary,
        ColumnType::Int32,
        ColumnType::Date,
    ] {
        let columns = [column("name", 0, column_type)];
        let reject = only_reject(&dialect, &columns, "abcä1\n");
        assert_eq!(reject.code, RejectCode::InvalidUtf8);
    }
    // If positions are counted in characters, it is not a fault.
    let dialect = fixed(&[(1, 4), (5, 2)], PositionUnit::Characters, LINE);
    let (batch, rejects) = converted(&dialect, &both, 2, "abcä1\n".as_bytes());
    assert!(rejects.is_empty());
    assert_eq!(batch.column(0).as_string_view().value(0), "abcä");
}

proptest! {
    /// A row is loaded if and only if all its fields are text. Its values are then these texts.
    #[test]
    fn fields_are_text_or_rejects(
        input in "([aé€ 1\n]|😀){0,60}",
        first in (1_u32..6, 1_u32..6),
        second in (1_u32..9, 1_u32..6),
        line in any::<bool>(),
        with_policies in any::<bool>(),
    ) {
        let record = if line { LINE } else { RecordEnd::Bytes(7) };
        let end = |(start, length): (u32, u32)| start + length - 1;
        prop_assume!(line || end(first).max(end(second)) <= 7);
        let dialect = fixed(&[first, second], PositionUnit::Bytes, record);
        let (_, records) = scanned(&dialect, input.as_bytes());
        let bytes = input.as_bytes();
        let mut expected = Vec::new();
        let mut bad = Vec::new();
        for (index, record) in records.records.iter().enumerate() {
            let whole = std::str::from_utf8(&bytes[record.start as usize..record.end as usize]);
            let fields: Vec<_> = (0..2)
                .map(|field| std::str::from_utf8(&bytes[records.field(index, field)]))
                .collect();
            match (whole, fields.as_slice()) {
                (Ok(_), [Ok(first), Ok(second)]) => {
                    expected.push([first, second].map(|text| text.trim_matches(' ').to_owned()));
                }
                _ => bad.push(record.line),
            }
        }
        let mut columns = [column("a", 0, text(40)), column("b", 1, text(2))];
        if with_policies {
            columns[1].policies = ColumnPolicies {
                on_truncate: OnTruncate::Truncate,
                ..ColumnPolicies::default()
            };
        } else {
            columns[1].column_type = text(40);
        }
        let (batch, rejects) = converted(&dialect, &columns, 2, bytes);
        let value = |column: usize, row: usize| {
            let texts = batch.column(column).as_string_view();
            if arrow_array::Array::is_valid(texts, row) { texts.value(row).to_owned() } else { String::new() }
        };
        let found: Vec<_> = (0..batch.num_rows()).map(|row| [value(0, row), value(1, row)]).collect();
        if with_policies {
            for fields in &mut expected {
                fields[1] = fields[1].chars().take(2).collect::<String>();
            }
        }
        let trimmed = |rows: Vec<[String; 2]>| -> Vec<[String; 2]> {
            rows.into_iter().map(|row| row.map(|text| text.trim_matches(' ').to_owned())).collect()
        };
        prop_assert_eq!(trimmed(found), trimmed(expected));
        let lines: Vec<_> = rejects.iter().map(|reject| reject.location.line - 11).collect();
        prop_assert_eq!(lines, bad.into_iter().map(u64::from).collect::<Vec<_>>());
        prop_assert!(rejects.iter().all(|reject| reject.code == RejectCode::InvalidUtf8));
    }
}

#[test]
fn a_record_that_ends_inside_a_character_says_so() {
    let dialect = fixed(&[(1, 4)], PositionUnit::Bytes, RecordEnd::Bytes(4));
    let columns = [column("name", 0, text(40))];
    let (batch, rejects) = converted(&dialect, &columns, 1, "abcéefghij".as_bytes());
    assert_eq!(batch.num_rows(), 1);
    let reasons: Vec<_> = rejects
        .iter()
        .map(|reject| reject.reason.as_str())
        .collect();
    assert!(
        reasons[0].contains("ends inside a character (byte 4, 0xc3)"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].contains("begins inside a character (byte 1, 0xa9)"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("record_bytes = 4"), "{reasons:?}");
}
