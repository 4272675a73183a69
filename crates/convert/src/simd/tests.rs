//! Compares each kernel for eight fields with the portable ones, on fields anywhere in a text, also at its very end.

use inrush_rows::column::{Column, ColumnType};
use proptest::prelude::*;

use super::super::date::Date;
use super::super::decimal::Decimal;
use super::super::fields::{Fields, Span};
use super::super::integer::Integer;
use super::super::kernel::WINDOW_BYTES;
use super::super::text::{Opaque, Text};
use super::super::timestamp::Timestamp;
use super::super::view_array;
use super::super::views::{self, TextCheck};
use super::*;

/// Fields of a column; `None` for NULL.
type Given<'a> = &'a [Option<&'a str>];

/// Calls `with` for each kind of instructions, with the fields in one text. Their neighbours are bytes that would be
/// valid continuations of them.
fn each<T: PartialEq + std::fmt::Debug>(given: Given<'_>, with: impl Fn(&Fields<'_>) -> T) {
    for between in ["", "0", "-", "9.", "é"] {
        let (mut text, mut spans) = (between.to_owned(), Vec::new());
        for field in given {
            spans.push(field.map_or(Span::NULL, |field| Span {
                start: text.len() as u32,
                length: field.len() as u32,
            }));
            text.push_str(field.unwrap_or(""));
            if spans.len() < given.len() {
                text.push_str(between);
            }
        }
        let is_ascii = text.is_ascii();
        let text_bytes = text.len();
        let mut padded = text.into_bytes();
        // Bytes after the last field are not part of that field.
        let filler = if text_bytes % 2 == 0 { 0 } else { b'7' };
        padded.resize(text_bytes + WINDOW_BYTES, filler);
        let null_count = given.iter().filter(|field| field.is_none()).count();
        let made = |instructions, ascii| {
            with(&Fields {
                spans: &spans,
                is_plain: null_count == 0,
                null_count,
                text: &padded,
                unescaped: &[],
                ascii,
                instructions,
            })
        };
        let available = Instructions::available();
        let portable = made(*available.last().expect("the portable ones"), 0..0);
        let ascii = if is_ascii { 0..text_bytes } else { 0..0 };
        for instructions in available {
            for ascii in [0..0, ascii.clone()] {
                let quick = made(instructions, ascii);
                assert_eq!(quick, portable, "{instructions:?} on {given:?}");
            }
        }
    }
}

/// Checks that the values and the faults of fields equal those of each field alone.
fn values_of<K: EightKernel<Native: PartialEq + std::fmt::Debug>>(
    kernel: &K,
    fields: &Fields<'_>,
) -> (Vec<K::Native>, Vec<(usize, String)>) {
    let (mut faults, mut faults_alone) = (Vec::new(), Vec::new());
    let values = super::values_by_eight(kernel, fields, &mut faults);
    let alone = (0..fields.spans.len())
        .map(|row| kernel::value(kernel, fields, row, &mut faults_alone))
        .collect::<Vec<_>>();
    let faults = described(faults);
    assert_eq!(
        (&values, &faults),
        (&alone, &described(faults_alone)),
        "{:?} on {:?}",
        fields.instructions,
        fields.spans
    );
    (values, faults)
}

fn described(faults: Vec<Fault>) -> Vec<(usize, String)> {
    faults
        .into_iter()
        .map(|fault| (fault.row, format!("{:?}", fault.error)))
        .collect()
}

/// All kernels on the same fields.
fn all_agree(given: Given<'_>) {
    each(given, |fields| values_of(&Integer::<i16>::new(), fields));
    each(given, |fields| values_of(&Integer::<i32>::new(), fields));
    each(given, |fields| values_of(&Integer::<i64>::new(), fields));
    for (precision, scale) in [
        (15, 2),
        (15, 0),
        (18, 4),
        (38, 7),
        (4, 2),
        (2, 2),
        (38, 8),
        (9, 1),
    ] {
        let kernel = Decimal::new(precision, scale);
        each(given, |fields| values_of(&kernel, fields));
    }
    let date = Date::new(&Column::new("d", ColumnType::Date, 0)).expect("a date");
    each(given, |fields| values_of(&date, fields));
    for fraction_digits in [0, 6] {
        let column = Column::new("t", ColumnType::Timestamp { fraction_digits }, 0);
        let timestamp = Timestamp::new(&column, fraction_digits).expect("a timestamp");
        each(given, |fields| values_of(&timestamp, fields));
    }
    texts_agree(given);
}

fn texts_agree(given: Given<'_>) {
    fn strings<C: TextCheck>(check: &C, fields: &Fields<'_>) -> (Vec<u128>, Vec<(usize, String)>) {
        let (mut faults, mut faults_alone) = (Vec::new(), Vec::new());
        let views = view_array::build(check, fields, None, &mut faults);
        let mut built = vec![String::new()];
        let alone = (0..fields.spans.len())
            .map(|row| views::checked_view(check, fields, row, &mut built, &mut faults_alone))
            .collect::<Vec<_>>();
        let faults = described(faults);
        assert_eq!(
            (views.as_numbers(), &faults),
            (alone.as_slice(), &described(faults_alone)),
            "{:?} on {:?}",
            fields.instructions,
            fields.spans
        );
        (views.as_numbers().to_vec(), faults)
    }
    each(given, |fields| strings(&Opaque, fields));
    for blank_padded in [false, true] {
        each(given, |fields| {
            strings(&Text::new(Some(5), blank_padded), fields)
        });
        each(given, |fields| {
            strings(&Text::new(None, blank_padded), fields)
        });
    }
}

/// Eight fields and one more. All are `usual`, except for the one at `place`.
fn one_of(usual: &str, place: usize, field: Option<&str>) -> Vec<Option<String>> {
    let mut fields = vec![Some(usual.to_owned()); LANES + 1];
    fields[place] = field.map(str::to_owned);
    fields
}

fn check_one_of(usual: &str, place: usize, field: Option<&str>) {
    let fields = one_of(usual, place, field);
    let fields: Vec<Option<&str>> = fields.iter().map(Option::as_deref).collect();
    all_agree(&fields);
}

#[test]
fn every_ascii_byte_at_every_place() {
    for usual in [
        "17",
        "-1234567",
        "12345.67",
        "123456789012.34",
        "2024-02-28",
        "2024-12-31 23:59:59",
    ] {
        for at in 0..usual.len() {
            for byte in 1..0x80u8 {
                let mut bytes = usual.as_bytes().to_vec();
                bytes[at] = byte;
                let field = String::from_utf8(bytes).expect("ASCII");
                let fields = [
                    Some(usual),
                    Some(&field),
                    None,
                    Some(usual),
                    Some(usual),
                    Some(usual),
                    Some(usual),
                    Some(usual),
                ];
                let date = Date::new(&Column::new("d", ColumnType::Date, 0)).expect("a date");
                each(&fields, |fields| values_of(&date, fields));
                each(&fields, |fields| values_of(&Integer::<i64>::new(), fields));
                each(&fields, |fields| values_of(&Decimal::new(15, 2), fields));
                let column = Column::new("t", ColumnType::Timestamp { fraction_digits: 6 }, 0);
                let timestamp = Timestamp::new(&column, 6).expect("a timestamp");
                each(&fields, |fields| values_of(&timestamp, fields));
            }
        }
    }
}

#[test]
fn every_length() {
    for length in 0..=20 {
        for field in [
            "1".repeat(length),
            "9".repeat(length),
            format!("-{}", "9".repeat(length)),
            format!("{}.25", "9".repeat(length)),
            format!("-{}.25", "1".repeat(length)),
            format!(".{}", "1".repeat(length)),
            "x".repeat(length),
            "é".repeat(length),
            "🦀".repeat(length),
        ] {
            check_one_of("17", 3, Some(&field));
            check_one_of("12345678.25", LANES, Some(&field));
            check_one_of(&field, 0, None);
        }
    }
}

#[test]
fn the_ends_of_each_type() {
    for field in [
        "32767",
        "32768",
        "-32768",
        "-32769",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "999999999999999",
        "-999999999999999",
        "9999999999999999",
        "99.99",
        "100.00",
        "-99.99",
        "0.00",
        "-0.00",
        "-0",
        "0.99",
        "1.0",
        "5.",
        ".5",
        "1.2.3",
        "1,5",
        "+5",
        " 5",
        "5 ",
        "--5",
        "-",
        "",
        "NaN",
        "0001-01-01",
        "9999-12-31",
        "0000-01-01",
        "2024-02-29",
        "2023-02-29",
        "1900-02-29",
        "2000-02-29",
        "2024-04-31",
        "2024-00-10",
        "2024-13-10",
        "2024-16-10",
        "2024-01-00",
        "2024-01-32",
        "2024/01/01",
        "20240101",
        "2024-1-1",
        "2024-01-01 00:00:00",
        "2024-01-01T23:59:59",
        "2024-01-01 24:00:00",
        "2024-01-01 23:60:00",
        "2024-01-01 23:59:60",
        "2024-01-01x10:00:00",
        "2024-01-01 10-00-00",
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59",
        "2024-02-29 10:00:00",
        "2024-01-01 10:00:00.5",
    ] {
        for usual in ["7", "12.50", "1996-03-13", "1996-03-13 12:00:00"] {
            check_one_of(usual, 5, Some(field));
        }
        check_one_of(field, 7, None);
    }
}

#[test]
fn every_day_of_some_centuries() {
    let date = Date::new(&Column::new("d", ColumnType::Date, 0)).expect("a date");
    for year in [
        1u32, 4, 99, 100, 399, 400, 1582, 1899, 1900, 1999, 2000, 2023, 2024, 9999,
    ] {
        let days = (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day)));
        let fields: Vec<String> = days
            .map(|(month, day)| format!("{year:04}-{month:02}-{day:02}"))
            .collect();
        let fields: Vec<Option<&str>> = fields.iter().map(|field| Some(field.as_str())).collect();
        each(&fields, |fields| values_of(&date, fields));
    }
}

#[test]
fn fields_of_another_text_are_left_to_the_portable_kernel() {
    let text = [b'1'; 2 * WINDOW_BYTES];
    let mut unescaped = b"42".to_vec();
    unescaped.resize(2 + WINDOW_BYTES, 0);
    let mut spans = [Span {
        start: 3,
        length: 2,
    }; 2 * LANES];
    spans[4].start = super::super::fields::UNESCAPED;
    for instructions in Instructions::available() {
        let fields = Fields {
            spans: &spans,
            is_plain: false,
            null_count: 0,
            text: &text,
            unescaped: &unescaped,
            ascii: 0..text.len(),
            instructions,
        };
        let (values, faults) = values_of(&Integer::<i32>::new(), &fields);
        assert!(faults.is_empty());
        let expected = (0..2 * LANES).map(|row| if row == 4 { 42 } else { 11 });
        assert_eq!(values, expected.collect::<Vec<_>>(), "{instructions:?}");
    }
}

proptest! {
    #[test]
    fn numbers(fields in prop::collection::vec(prop::option::weighted(0.9, "-?[0-9]{0,17}|-?[0-9]{1,8}\\.[0-9]{0,4}|-?[0-9]{1,12}\\.[0-9]{2}|[-+.0-9e ]{0,9}"), 0..40)) {
        let fields: Vec<Option<&str>> = fields.iter().map(Option::as_deref).collect();
        all_agree(&fields);
    }

    #[test]
    fn dates_and_times(fields in prop::collection::vec(prop::option::weighted(0.9, "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]|[0-2][0-9]{3}-[01][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9]:[0-6][0-9]"), 0..40)) {
        let fields: Vec<Option<&str>> = fields.iter().map(Option::as_deref).collect();
        all_agree(&fields);
    }

    #[test]
    fn texts(fields in prop::collection::vec(prop::option::weighted(0.9, "[a-z ]{0,20}|\\PC{0,14}"), 0..40)) {
        let fields: Vec<Option<&str>> = fields.iter().map(Option::as_deref).collect();
        texts_agree(&fields);
    }
}
