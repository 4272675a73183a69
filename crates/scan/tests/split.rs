//! Tests that any cut of a file gives each range exactly the records of a serial scan that begin in it.

mod checks;

use checks::dialects::{DIALECT_BYTES, dialect_of};
use checks::split::{Whole, summaries};
use inrush_scan::split::{Method, RangeScanner, RangeStart, is_needed, resolve};
use inrush_scan::{
    Dialect, Escape, FieldPosition, FixedWidth, PositionUnit, RecordEnd, ShortText, Terminator,
};
use proptest::prelude::*;

fn any_dialect() -> impl Strategy<Value = Dialect> {
    // Half of the dialects have doubled quotes or common terminators.
    let quoting = prop_oneof![Just(3u8), 0u8..5];
    let terminator = prop_oneof![Just(0u8), 0u8..9];
    (0u8..8, quoting, terminator, 0u8..5, any::<u8>(), 0u8..8).prop_filter_map(
        "the dialect passes its check",
        |choice| {
            let (delimiter, quoting, terminator, comment, flags, fixed) = choice;
            let choice: [u8; DIALECT_BYTES] =
                [delimiter, quoting, terminator, comment, flags, fixed];
            dialect_of(&choice).map(|(dialect, _)| dialect)
        },
    )
}

/// Pieces that are difficult in combination, and runs that move the next bytes across the end of a block.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            ",", "|", "||", "|~|", "\t", "aab", "\n", "\r\n", "\r", "\"", "\"\"", "\\", "\\\\",
            "\\\n", "\\\"", "#", "-", "--", "\n--\n", ";;", "ab", "||\n", "a", "x", "é", ",\n",
            "\",\"", "\"\n\"", "\n\"", "\r\r\n", "\n#", "\n#\"", ",\"",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => (55usize..70).prop_map(|count| vec![b'z'; count]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..50).prop_map(|pieces| pieces.concat())
}

/// Text with almost no faults: most of its blocks are read in the fast way.
fn regular_text() -> impl Strategy<Value = Vec<u8>> {
    let field = prop::sample::select(vec![
        "",
        "1",
        "twelve bytes",
        "\"quoted\"",
        "\"two\nlines, and \"\"more\"\"\"",
        "\"an escaped \\\" quote\"",
        "\"\"",
        "\"\"\"\"",
        "\"a field that goes past the end of a block, however it begins: 64 bytes, and a few\"",
        "#no comment",
    ]);
    let delimiter = prop::sample::select(vec![",", "||", "|~|"]);
    let end = prop::sample::select(vec!["\n", "\n", "\r\n", "\r"]);
    let lead = prop::sample::select(vec!["", "", "", "#\" a comment\n"]);
    let record = prop::collection::vec(field, 1..12);
    (delimiter, prop::collection::vec((lead, record, end), 0..15)).prop_map(
        |(delimiter, records)| {
            let records = records.into_iter();
            let records: Vec<_> = records
                .map(|(lead, fields, end)| lead.to_owned() + &fields.join(delimiter) + end)
                .collect();
            records.concat().into_bytes()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_cut_gives_the_records_of_a_serial_scan(
        dialect in any_dialect(),
        text in any_text(),
        piece_bytes in prop_oneof![1usize..8, 60usize..400],
    ) {
        Whole::new(&dialect, &text).check_all_cuts(piece_bytes);
    }

    #[test]
    fn every_cut_of_regular_text_gives_the_records_of_a_serial_scan(
        dialect in any_dialect(),
        text in regular_text(),
        piece_bytes in prop_oneof![1usize..8, 60usize..400],
    ) {
        Whole::new(&dialect, &text).check_all_cuts(piece_bytes);
    }

    #[test]
    fn long_text_is_cut_at_several_places(
        dialect in any_dialect(),
        texts in prop::collection::vec(prop_oneof![any_text(), regular_text()], 5..30),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        piece_bytes in prop_oneof![1usize..8, 60usize..400, Just(1 << 20)],
    ) {
        let text = texts.concat();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        Whole::new(&dialect, &text).check(&cuts, piece_bytes);
    }
}

/// Every text of up to four special bytes, so that no short text is left to chance.
#[test]
fn every_short_text_is_cut_right() {
    const LETTERS: &[u8] = b",\"\\\r\n#";
    let dialects: Vec<Dialect> = (0..5u8)
        .flat_map(|quoting| (0..4u8).map(move |terminator| (quoting, terminator)))
        .flat_map(|(quoting, terminator)| {
            [0, 2].map(|comment| [0, quoting, terminator, comment, 0, 0])
        })
        .map(|choice| dialect_of(&choice).expect("it passes its check").0)
        .collect();
    let prepared: Vec<_> = dialects
        .iter()
        .map(|dialect| (dialect, Method::of(dialect), RangeScanner::new(dialect)))
        .collect();
    for letters in 0..=4u32 {
        for number in 0..LETTERS.len().pow(letters) {
            let mut text = Vec::new();
            let mut rest = number;
            for _ in 0..letters {
                text.push(LETTERS[rest % LETTERS.len()]);
                rest /= LETTERS.len();
            }
            let cuts: Vec<usize> = (1..text.len()).collect();
            for (dialect, method, fresh) in &prepared {
                Whole::with(dialect, &text, *method, fresh).check(&cuts, 1);
            }
        }
    }
}

fn starts(dialect: &Dialect, text: &[u8], cuts: &[usize]) -> Vec<(Option<u64>, u64)> {
    let found = resolve(&summaries(&RangeScanner::new(dialect), text, cuts, 7));
    let tell = |start: &RangeStart| (start.first_record, start.line);
    found.iter().map(tell).collect()
}

#[test]
fn a_quoted_line_end_begins_no_record() {
    let text = b"a,\"b\nc\",d\ne,f,g\n";
    assert_eq!(
        starts(&Dialect::csv(), text, &[3, 5, 10, 11]),
        [(Some(0), 0), (None, 1), (None, 2), (Some(10), 2), (None, 3),]
    );
}

#[test]
fn an_unclosed_quote_leaves_the_other_ranges_empty() {
    assert_eq!(
        starts(&Dialect::csv(), b"\"a\nb\nc\n", &[3, 5]),
        [(Some(0), 0), (None, 2), (None, 3)]
    );
}

#[test]
fn no_bytes_have_no_records() {
    assert_eq!(starts(&Dialect::csv(), b"", &[0, 0]), [(None, 0); 3]);
}

fn text(bytes: &[u8]) -> ShortText {
    ShortText::new(bytes).expect("it is short")
}

macro_rules! methods {
    ($($name:ident, $method:expr, $change:expr;)*) => {$(
        #[test]
        fn $name() {
            let mut dialect = Dialect { trailing_delimiter: false, ..Dialect::tbl() };
            let change: fn(&mut Dialect) = $change;
            change(&mut dialect);
            dialect.check().expect("the dialect passes its check");
            assert_eq!(Method::of(&dialect), $method);
            assert_eq!(is_needed(&dialect), $method == Method::Pass);
        }
    )*};
}

const fn nearby(bytes_before: usize) -> Method {
    Method::Nearby { bytes_before }
}

methods! {
    without_quotes_one_byte_is_enough, nearby(1), |_| {};
    comments_hide_nothing_without_quotes, nearby(1), |d| d.comment = Some(b'#');
    crlf_only_needs_two, nearby(2), |d| d.terminator = Terminator::CrLf;
    cr_only_needs_one, nearby(1), |d| d.terminator = Terminator::Cr;
    a_terminator_of_three_needs_three, nearby(3), |d| d.terminator = Terminator::Text(text(b"a;b"));
    terminators_that_overlap_need_a_pass, Method::Pass, |d| d.terminator = Terminator::Text(text(b";;"));
    quotes_need_a_pass, Method::Pass, |d| d.quote = Some(b'"');
    escapes_need_a_pass, Method::Pass, |d| d.escape = Escape::Byte(b'\\');
    long_delimiters_hide_nothing, nearby(1), |d| d.delimiter = text(b"||");
    fixed_lines_need_a_look, nearby(1), |d| d.fixed = Some(fixed(RecordEnd::Line { length: None }));
    fixed_bytes_need_arithmetic, Method::Arithmetic { record_bytes: 9 },
        |d| d.fixed = Some(fixed(RecordEnd::Bytes(9)));
}

fn fixed(record: RecordEnd) -> FixedWidth {
    FixedWidth {
        fields: vec![FieldPosition {
            start: 0,
            length: 9,
        }],
        unit: PositionUnit::Bytes,
        record,
    }
}

/// If they were accepted, a record could begin before that is known: in `a;x`, only the `x` shows that the text is not
/// `a;b`.
#[test]
fn delimiters_that_hold_the_terminator_are_refused() {
    for (delimiter, terminator, is_right) in [
        (b"a;b".as_slice(), b";".as_slice(), false),
        (b"a;b", b"a;", false),
        (b"a;b", b";b", false),
        (b"a;b", b"b;", true),
        (b";", b";;", true),
        (b"a;", b";b", true),
    ] {
        let dialect = Dialect {
            delimiter: text(delimiter),
            terminator: Terminator::Text(text(terminator)),
            ..Dialect::csv()
        };
        assert_eq!(dialect.check().is_ok(), is_right, "{dialect:?}");
        if is_right {
            let text = b"a;bb;\";a;b;;x\"b;;ba;;;b";
            Whole::new(&dialect, text).check_all_cuts(2);
        }
    }
}
