//! Tests of the dialects that are refused, and of their messages.

use inrush_scan::{Dialect, Escape};

fn refusal(change: impl FnOnce(&mut Dialect)) -> String {
    let mut dialect = Dialect::csv();
    change(&mut dialect);
    match dialect.check() {
        Ok(()) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn presets_are_accepted() {
    for dialect in [Dialect::tbl(), Dialect::csv(), Dialect::tsv()] {
        assert_eq!(dialect.check(), Ok(()));
    }
}

macro_rules! says {
    ($($name:ident, $change:expr, $message:expr;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(refusal($change), $message);
        }
    )*};
}

says! {
    newline_as_delimiter, |d| d.delimiter = b'\n'.into(),
        r"delimiter: '\n' ends a record; take another byte";
    carriage_return_as_quote, |d| d.quote = Some(b'\r'),
        r"quote: '\r' ends a record; take another byte";
    nul_as_escape, |d| d.escape = Escape::Byte(0),
        "escape: a NUL byte is not allowed here; take another byte";
    high_byte_as_delimiter, |d| d.delimiter = 0xa7.into(),
        "delimiter: \"\\xa7\" is not UTF-8; write it as characters in UTF-8: files in other \
         encodings are translated before they are read";
    quote_is_delimiter, |d| d.quote = Some(b','),
        "quote: ',' is the delimiter too; choose another byte for one of them, or set the quote to \
         \"\" for none";
    escape_is_delimiter, |d| d.escape = Escape::Byte(b','),
        "escape: ',' is the delimiter too; choose another byte for one of them, or set the escape \
         to \"\" for none";
    escape_is_quote, |d| d.escape = Escape::Byte(b'"'),
        "escape: '\"' is the quote too; declare the escape as doubled quotes";
    doubled_without_quote, |d| d.quote = None,
        "escape: doubled quotes need a quote, and there is none; set a quote, or set the escape \
         to \"\" for none";
    letter_as_delimiter, |d| (d.quote, d.escape, d.delimiter) = (None, Escape::Byte(b'\\'), b'n'.into()),
        "delimiter: 'n' has a meaning of its own after an escape; choose a byte that is not a \
         letter, a digit or a full stop";
    letter_as_escape, |d| (d.quote, d.escape) = (None, Escape::Byte(b'x')),
        "escape: 'x' has a meaning of its own after an escape; choose a byte that is not a letter, \
         a digit or a full stop";
    quoted_null, |d| d.nulls = vec!["\"\"".to_owned()],
        "null: \"\\\"\\\"\" contains the quote, but markers are compared without quotes; write the \
         marker without quotes; with null_quoted = true, quoted fields are compared, too";
    null_with_delimiter, |d| d.nulls = vec!["a,b".to_owned()],
        "null: \"a,b\" contains ',', which no field can contain; choose a marker without delimiters, line \
         ends and NUL bytes";
    small_records, |d| d.record_bytes_max = 1023,
        "record_bytes_max: 1023 is out of range; set it between 1024 (1 KiB) and 1073741824 \
         (1 GiB)";
    great_records, |d| d.record_bytes_max = (1 << 30) + 1,
        "record_bytes_max: 1073741825 is out of range; set it between 1024 (1 KiB) and \
         1073741824 (1 GiB)";
    letter_as_delimiter_without_escape, |d| d.delimiter = b'x'.into(), "accepted";
    quote_without_escape, |d| d.escape = Escape::None, "accepted";
    least_records, |d| d.record_bytes_max = 1024, "accepted";
    greatest_records, |d| d.record_bytes_max = 1 << 30, "accepted";
}

#[test]
#[should_panic(expected = "the caller checks the dialect: delimiter")]
fn a_scanner_needs_a_checked_dialect() {
    inrush_scan::Scanner::new(&Dialect {
        delimiter: b'\n'.into(),
        ..Dialect::csv()
    });
}
