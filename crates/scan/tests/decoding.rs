//! Tests of written fields and their texts, one line each.

use inrush_scan::{Dialect, DialectTrim, Escape, FieldText, decode_field};

#[path = "checks/decode.rs"]
mod decode;
use proptest::prelude::*;

fn csv() -> Dialect {
    Dialect::csv()
}

fn tsv() -> Dialect {
    Dialect::tsv()
}

fn trimmed_tsv() -> Dialect {
    Dialect {
        trim: DialectTrim::Both,
        ..Dialect::tsv()
    }
}

fn tbl() -> Dialect {
    Dialect::tbl()
}

fn backslash_csv() -> Dialect {
    Dialect {
        escape: Escape::Byte(b'\\'),
        nulls: vec!["\\N".to_owned()],
        ..Dialect::csv()
    }
}

fn nullless_csv() -> Dialect {
    Dialect {
        nulls: Vec::new(),
        ..Dialect::csv()
    }
}

fn unescaped_csv() -> Dialect {
    Dialect {
        escape: Escape::None,
        ..Dialect::csv()
    }
}

macro_rules! means {
    ($($name:ident, $dialect:ident, $written:expr, $kind:ident $(($text:expr))?;)*) => {$(
        #[test]
        fn $name() {
            let mut scratch = b"left over".to_vec();
            let found = decode_field($written, &$dialect(), &mut scratch);
            assert_eq!(found, FieldText::$kind $(($text))?);
        }
    )*};
}

means! {
    csv_text, csv, b"abc", Written(b"abc");
    csv_empty_is_null, csv, b"", Null;
    csv_quoted_empty_is_text, csv, b"\"\"", Written(b"");
    csv_quoted, csv, b"\"a,b\n\"", Written(b"a,b\n");
    csv_doubled, csv, b"\"a\"\"b\"", Unescaped(b"a\"b");
    csv_only_doubled, csv, b"\"\"\"\"", Unescaped(b"\"");
    csv_doubled_twice, csv, b"\"\"\"\"\"\"", Unescaped(b"\"\"");
    csv_blanks_stay, csv, b" a ", Written(b" a ");
    csv_without_null_marker, nullless_csv, b"", Written(b"");
    csv_backslashes_stay, csv, b"\"a\\n\"", Written(b"a\\n");
    csv_faulty_unclosed, csv, b"\"ab", Written(b"ab");
    csv_faulty_text_after, csv, b"\"ab\"c", Unescaped(b"abc");
    csv_faulty_lone_quote, csv, b"\"", Written(b"");
    csv_faulty_stray, csv, b"a\"b", Written(b"a\"b");
    csv_no_escape, unescaped_csv, b"\"a\"", Written(b"a");

    backslash_quote, backslash_csv, b"\"a\\\"b\"", Unescaped(b"a\"b");
    backslash_takes_the_byte_as_it_is, backslash_csv, b"\"a\\nb\\\\\"", Unescaped(b"anb\\");
    backslash_unquoted_is_text, backslash_csv, b"a\\nb", Written(b"a\\nb");
    backslash_null_marker, backslash_csv, b"\\N", Null;
    backslash_quoted_null_marker_is_text, backslash_csv, b"\"\\N\"", Unescaped(b"N");
    backslash_faulty_at_end, backslash_csv, b"\"a\\", Unescaped(b"a");

    tbl_empty_is_null, tbl, b"", Null;
    tbl_all_is_text, tbl, b"\"a\\n\"", Written(b"\"a\\n\"");

    tsv_text, tsv, b"abc", Written(b"abc");
    tsv_empty_is_text, tsv, b"", Written(b"");
    tsv_null, tsv, b"\\N", Null;
    tsv_escaped_null_marker_is_text, tsv, b"\\\\N", Unescaped(b"\\N");
    tsv_letters, tsv, b"\\b\\f\\n\\r\\t\\v", Unescaped(b"\x08\x0c\n\r\t\x0b");
    tsv_other_letters, tsv, b"\\a\\N\\.\\\\\\\t", Unescaped(b"aN.\\\t");
    tsv_octal, tsv, b"\\1\\12\\123\\1234", Unescaped(b"\x01\x0a\x53\x534");
    tsv_octal_ends, tsv, b"\\18\\7", Unescaped(b"\x018\x07");
    tsv_octal_past_a_byte, tsv, b"\\777\\400", Unescaped(b"\xff\x00");
    tsv_hex, tsv, b"\\x4\\x41\\x414\\xfF", Unescaped(b"\x04A\x414\xff");
    tsv_no_hex, tsv, b"\\xg\\x", Unescaped(b"xgx");
    tsv_utf8_in_octal, tsv, b"\\303\\251", Unescaped(b"\xc3\xa9");
    tsv_text_between, tsv, b"ab\\tcd", Unescaped(b"ab\tcd");
    tsv_trimmed, trimmed_tsv, b" a ", Written(b"a");
    tsv_escaped_blank_stays, trimmed_tsv, b" \\ a\\   ", Unescaped(b" a ");
    tsv_escaped_tab_stays, trimmed_tsv, b"a\\\t", Unescaped(b"a\t");
    tsv_blank_behind_an_escaped_escape_goes, trimmed_tsv, b"a\\\\ ", Unescaped(b"a\\");
    tsv_blank_behind_two_escapes_stays, trimmed_tsv, b"a\\\\\\  ", Unescaped(b"a\\ ");
    tsv_nothing_but_an_escaped_blank, trimmed_tsv, b"  \\ ", Unescaped(b" ");
    tsv_null_behind_blanks, trimmed_tsv, b" \\N ", Null;
    tsv_faulty_at_end, tsv, b"ab\\", Unescaped(b"ab");
}

proptest! {
    /// A text that is quoted by RFC 4180 is decoded to the same text.
    #[test]
    fn quoting_is_undone(text in prop::collection::vec(
        prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), any::<u8>()], 0..40,
    )) {
        let mut written = vec![b'"'];
        for byte in &text {
            if *byte == b'"' {
                written.push(b'"');
            }
            written.push(*byte);
        }
        written.push(b'"');
        let mut scratch = Vec::new();
        let found = decode_field(&written, &csv(), &mut scratch);
        prop_assert_eq!(found.text(), Some(text.as_slice()));
    }

    /// A text that is escaped byte by byte, also in octal and hex, is decoded to the same text.
    #[test]
    fn escaping_is_undone(text in prop::collection::vec((any::<u8>(), 0u8..3), 0..40)) {
        let written: Vec<u8> = text.iter().flat_map(|(byte, how)| match how {
            0 => format!("\\{byte:03o}").into_bytes(),
            1 => format!("\\x{byte:02x}").into_bytes(),
            _ if byte.is_ascii_alphanumeric() => vec![*byte],
            _ => vec![b'\\', *byte],
        }).collect();
        let plain: Vec<u8> = text.iter().map(|(byte, _)| *byte).collect();
        let mut scratch = Vec::new();
        let found = decode_field(&written, &tsv(), &mut scratch);
        prop_assert_eq!(found.text(), Some(plain.as_slice()));
    }

    /// Trimming removes the bytes that are blanks when the field is read from its beginning.
    #[test]
    fn trimming_leaves_what_is_escaped(
        written in prop::collection::vec(
            prop::sample::select(b"\\\\\\   \ta\"N".to_vec()), 0..12,
        ),
        trim in prop::sample::select(vec![DialectTrim::None, DialectTrim::Start, DialectTrim::End, DialectTrim::Both]),
        which in 0usize..5,
    ) {
        let dialect = [csv, tsv, tbl, backslash_csv, unescaped_csv][which]();
        decode::check(&Dialect { trim, ..dialect }, &written);
    }

    /// No bytes cause a panic.
    #[test]
    fn nothing_panics(
        written in prop::collection::vec(
            prop::sample::select(b"\"\\x018,a\n".to_vec()), 0..12,
        ),
        which in 0usize..6,
    ) {
        let dialect = [csv, tsv, tbl, backslash_csv, nullless_csv, unescaped_csv][which]();
        decode_field(&written, &dialect, &mut Vec::new());
    }
}
