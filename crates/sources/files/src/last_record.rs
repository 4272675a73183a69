//! Guesses a file's last record from its end alone.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use inrush_rows::compression::Compression;
use inrush_scan::{Dialect, Records, Scanner, decode_field};

use super::source_file::SourceFile;

/// How many bytes of the end are read.
const END_BYTES: u64 = 16 << 10;

/// The text of one field of a file's last record before byte `end`, from the bytes before it. It is a guess, because a
/// quoted field may have begun before those bytes. `None` if there is no record, if the field is NULL, or if the file's
/// end cannot be read without its beginning.
pub fn last_field(file: &SourceFile, dialect: &Dialect, end: u64, field: usize) -> Option<String> {
    if file.compression != Compression::None {
        return None;
    }
    let start = end.saturating_sub(END_BYTES);
    let mut bytes = Vec::new();
    let mut stored = File::open(&file.path).ok()?;
    stored.seek(SeekFrom::Start(start)).ok()?;
    stored.take(end - start).read_to_end(&mut bytes).ok()?;
    // The first lines are skipped. If these bytes are the whole file, they are the skipped lines and the header;
    // otherwise, the first line began before these bytes.
    let lines = match start {
        0 => dialect.skip_lines as usize + usize::from(dialect.header),
        _ => 1,
    };
    let mut text = bytes.as_slice();
    for _ in 0..lines {
        let end = text.iter().position(|byte| *byte == b'\n')?;
        text = &text[end + 1..];
    }
    let mut records = Records::default();
    Scanner::new(dialect).scan(text, true, &mut records).ok()?;
    let last = records.len().checked_sub(1)?;
    if field >= records.field_count(last) {
        return None;
    }
    let mut scratch = Vec::new();
    let written = &text[records.field(last, field)];
    let field = decode_field(written, dialect, &mut scratch);
    field
        .text()
        .and_then(|text| std::str::from_utf8(text).ok())
        .map(str::to_owned)
}
