//! Texts with known rows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use inrush_files::Dialect;
use inrush_scan::{FieldPosition, FixedWidth, PositionUnit, RecordEnd};
use inrush_source_conformance::Row;

/// A text, and the places of its rows.
#[derive(Default)]
pub struct Text {
    pub bytes: Vec<u8>,
    rows: Vec<TextRow>,
    line: u64,
}

struct TextRow {
    byte_offset: u64,
    line: u64,
    fields: Vec<Vec<u8>>,
    is_faulty: bool,
}

impl Text {
    /// Appends text that is not a row.
    fn pass(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.line += text.iter().filter(|byte| **byte == b'\n').count() as u64;
    }

    /// Appends a row: its text with its end, and its fields.
    fn row(&mut self, text: &[u8], fields: Vec<Vec<u8>>, is_faulty: bool) {
        self.rows.push(TextRow {
            byte_offset: self.bytes.len() as u64,
            line: self.line + 1,
            fields,
            is_faulty,
        });
        self.pass(text);
    }

    /// A text whose last record is not a row.
    pub fn with_trailer(mut self) -> Text {
        self.pass(b"end|1|\n");
        self
    }

    /// The same text in UTF-16 with a byte order mark; places are those in the file.
    pub fn in_utf16(mut self) -> Text {
        let text = String::from_utf8(self.bytes).expect("UTF-8");
        let (mut bytes_before, mut units_before) = (0, 0);
        for row in &mut self.rows {
            let between = &text[bytes_before as usize..row.byte_offset as usize];
            units_before += between.encode_utf16().count() as u64;
            bytes_before = row.byte_offset;
            row.byte_offset = 2 + 2 * units_before;
        }
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        self.bytes = units.flat_map(u16::to_le_bytes).collect();
        self
    }

    /// The rows of a file at this path.
    pub fn rows(&self, path: &Path) -> Vec<Row> {
        let row = |row: &TextRow| Row {
            place: format!("{}:{} (byte {})", path.display(), row.line, row.byte_offset),
            fields: row.fields.iter().map(|field| Row::text(field)).collect(),
            is_faulty: row.is_faulty,
        };
        self.rows.iter().map(row).collect()
    }
}

/// The number of a row. The second row of an altered file has another number with the same number of digits.
fn number(row: usize, is_altered: bool) -> usize {
    match (row, is_altered) {
        (1, true) => 2,
        _ => row,
    }
}

/// `dbgen`'s form, with blank lines.
pub fn tbl(rows: usize, is_altered: bool) -> Text {
    let mut text = Text::default();
    for row in 0..rows {
        let id = number(row, is_altered).to_string();
        let name = format!("name {row}");
        let line = format!("{id}|{name}|\n");
        text.row(line.as_bytes(), vec![id.into(), name.into()], false);
        if row % 5 == 4 {
            text.pass(b"\n");
        }
    }
    text
}

/// A text with a header, quoted fields, line ends in them, and faulty rows.
pub fn csv(rows: usize, is_altered: bool, has_invalid: bool) -> Text {
    let mut text = Text::default();
    text.pass(b"id,name,note\r\n");
    for row in 0..rows {
        let id = number(row, is_altered).to_string().into_bytes();
        let (name, is_faulty): (&[u8], bool) = match row % 13 {
            3 => (b"\"two\nlines, \"\"quoted\"\"\r\n\"", false),
            5 => (b"a\"b", true),
            7 if has_invalid => (b"\xff\xfe", true),
            9 => ("\"\u{20ac}\u{1f600}\"".as_bytes(), false),
            11 => (b"\"\"", false),
            _ => (b"plain", false),
        };
        let note = b"x".repeat(row % 4);
        let fields = vec![id, name.to_vec(), note];
        let line = [&fields.join(&b',')[..], b"\r\n"].concat();
        text.row(&line, fields, is_faulty);
    }
    text
}

const FIXED: [(u32, u32); 2] = [(0, 6), (6, 8)];

/// A text with fields at positions, with or without line ends.
pub fn fixed(rows: usize, is_altered: bool, has_lines: bool) -> Text {
    let mut text = Text::default();
    for row in 0..rows {
        let id = format!("{:<6}", number(row, is_altered));
        let name = format!("n{row:>7}");
        let end = if has_lines { "\n" } else { "" };
        let line = format!("{id}{name}{end}");
        // Without line ends, each record counts as a line.
        let lines_before = text.line;
        text.row(line.as_bytes(), vec![id.into(), name.into()], false);
        text.line = lines_before + 1;
    }
    text
}

/// The form of [`fixed`].
pub fn fixed_dialect(has_lines: bool) -> Dialect {
    let fields = FIXED.map(|(start, length)| FieldPosition { start, length });
    Dialect::fixed_width(FixedWidth {
        fields: fields.to_vec(),
        unit: PositionUnit::Bytes,
        record: match has_lines {
            true => RecordEnd::Line { length: None },
            false => RecordEnd::Bytes(14),
        },
    })
}

pub fn write_gzip(path: &Path, text: &[u8]) {
    let file = BufWriter::new(File::create(path).expect("created"));
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(text).expect("written");
    encoder.finish().expect("written");
}

/// Two members with the same text.
pub fn write_zip(path: &Path, text: &[u8]) {
    let mut archive = zip::ZipWriter::new(File::create(path).expect("created"));
    for member in ["a.tbl", "b.tbl"] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(member, options).expect("begun");
        archive.write_all(text).expect("written");
    }
    archive.finish().expect("written");
}
