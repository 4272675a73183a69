//! A file of rejected rows in the dialect of its input: how it begins, and which rows need a separate file.

use inrush_rows::encoding::TextEncoding;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_scan::{Dialect, Escape, FixedWidth, RecordEnd, Terminator};

/// The beginning of a file of rejects, so that it can be fixed and loaded: an empty line for each line that the package
/// skips, and the header.
pub fn beginning(header: Option<&[String]>, dialect: &Dialect) -> Vec<u8> {
    let mut bytes = dialect
        .terminator_written()
        .repeat(dialect.skip_lines as usize);
    if let Some(names) = header {
        bytes.extend(header_line(names, dialect));
    }
    bytes
}

/// The header in the dialect of the file.
pub fn header_line(names: &[String], dialect: &Dialect) -> Vec<u8> {
    if let Some(fixed) = &dialect.fixed {
        return fixed_header_line(names, fixed, dialect);
    }
    let mut line = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            line.extend(dialect.delimiter.as_bytes());
        }
        match dialect.quote {
            Some(quote) => {
                line.push(quote);
                for byte in name.bytes() {
                    if byte == quote {
                        line.push(match dialect.escape {
                            Escape::Byte(escape) => escape,
                            _ => quote,
                        });
                    }
                    line.push(byte);
                }
                line.push(quote);
            }
            None => line.extend(name.bytes()),
        }
    }
    if dialect.trailing_delimiter {
        line.extend(dialect.delimiter.as_bytes());
    }
    line.extend(dialect.terminator_written());
    line
}

/// A header line with the names at the positions of their fields. A name that is too long is cut off.
fn fixed_header_line(names: &[String], fixed: &FixedWidth, dialect: &Dialect) -> Vec<u8> {
    let mut line = vec![b' '; fixed.record_length() as usize];
    for (name, field) in names.iter().zip(&fixed.fields) {
        let room = &mut line[field.start as usize..field.end() as usize];
        for (place, byte) in room.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
    }
    line.extend(dialect.terminator_written());
    line
}

/// True if only the end of the file can end the row. A line end after such a row would be read as a part of the row, or
/// as the end of a shorter row.
pub fn ends_with_its_file(reject: &Reject, dialect: &Dialect) -> bool {
    let is_counted = matches!(
        dialect.fixed,
        Some(FixedWidth {
            record: RecordEnd::Bytes(_),
            ..
        })
    );
    match reject.code {
        RejectCode::UnclosedQuote | RejectCode::DanglingEscape => return true,
        RejectCode::RecordLength if is_counted => return true,
        _ => {}
    }
    let Terminator::Text(terminator) = dialect.terminator else {
        return false;
    };
    // In `a;` followed by `;;`, the first terminator would be found one byte too early.
    let terminator = reject
        .encoding
        .unwrap_or(TextEncoding::Utf8)
        .encode(&String::from_utf8_lossy(terminator.as_bytes()));
    (1..terminator.len()).any(|bytes| {
        let (first, rest) = terminator.split_at(bytes);
        reject.raw.ends_with(first) && terminator.starts_with(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_in_their_dialect() {
        let names = ["id".to_owned(), "a \"b\", c".to_owned()];
        assert_eq!(
            header_line(&names, &Dialect::csv()),
            b"\"id\",\"a \"\"b\"\", c\"\n"
        );
        assert_eq!(header_line(&["a".to_owned()], &Dialect::tbl()), b"a|\n");
        let titled = Dialect {
            skip_lines: 2,
            ..Dialect::tbl()
        };
        let names = ["a".to_owned()];
        assert_eq!(beginning(Some(&names), &titled), &b"\n\na|\n"[..]);
        assert_eq!(beginning(None, &titled), &b"\n\n"[..]);
        assert_eq!(beginning(None, &Dialect::tbl()), b"");
    }
}
