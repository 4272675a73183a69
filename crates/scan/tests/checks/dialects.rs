//! Makes a dialect from a few bytes.

use inrush_scan::{
    Dialect, DialectTrim, Escape, FieldPosition, FixedWidth, PositionUnit, RecordEnd, ShortText,
    Terminator,
};

/// How many bytes [`dialect_of`] reads.
pub const DIALECT_BYTES: usize = 6;

/// The dialect that the first bytes of an input choose, and the rest of the input. Every dialect that passes its check
/// can result. `None` if the choice does not pass, or if there are too few bytes.
pub fn dialect_of(input: &[u8]) -> Option<(Dialect, &[u8])> {
    let (choice, rest) = input.split_at_checked(DIALECT_BYTES)?;
    let pick = |at: usize, count: usize| usize::from(choice[at]) % count;
    let delimiters: [&[u8]; 8] = [b",", b"|", b"||", b"|~|", b"\t", b"aab", b",|,|", b"~|~"];
    let (quote, escape) = [
        (None, Escape::None),
        (None, Escape::Byte(b'\\')),
        (Some(b'"'), Escape::None),
        (Some(b'"'), Escape::DoubledQuote),
        (Some(b'"'), Escape::Byte(b'\\')),
    ][pick(1, 5)];
    let terminators: [&[u8]; 5] = [b"\r\r\n", b"||\n", b"ab", b";;", b"\n--\n"];
    let terminator = match pick(2, 9) {
        0 => Terminator::Any,
        1 => Terminator::Lf,
        2 => Terminator::CrLf,
        3 => Terminator::Cr,
        text => Terminator::Text(ShortText::new(terminators[text - 4])?),
    };
    let flags = choice[4];
    let flag = |bit: u32| flags >> bit & 1 != 0;
    let mut dialect = Dialect {
        delimiter: ShortText::new(delimiters[pick(0, 8)])?,
        quote,
        escape,
        terminator,
        comment: [None, None, Some(b'#'), Some(b'-'), Some(b'x')][pick(3, 5)],
        trailing_delimiter: flag(0),
        header: false,
        nulls: vec![[String::new(), "\\N".to_owned()][usize::from(flag(2))].clone()],
        null_quoted: flag(3),
        blank_lines_are_records: flag(1),
        trim: [
            DialectTrim::None,
            DialectTrim::Start,
            DialectTrim::End,
            DialectTrim::Both,
        ][usize::from(flags >> 5 & 3)],
        // A limit that some records exceed, and one that none exceeds.
        record_bytes_max: if flag(4) { 1 << 10 } else { 1 << 20 },
        ..Dialect::tbl()
    };
    if choice[5] % 8 == 7 {
        dialect = Dialect {
            quote: None,
            escape: Escape::None,
            trailing_delimiter: false,
            fixed: Some(FixedWidth {
                fields: vec![
                    FieldPosition {
                        start: 0,
                        length: 2,
                    },
                    FieldPosition {
                        start: 1,
                        length: 4,
                    },
                ],
                unit: [PositionUnit::Bytes, PositionUnit::Characters][usize::from(flag(5))],
                record: match flag(6) {
                    true => RecordEnd::Bytes(7),
                    false => RecordEnd::Line { length: None },
                },
            }),
            ..dialect
        };
    }
    dialect.check().ok()?;
    Some((dialect, rest))
}
