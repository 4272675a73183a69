//! Writes rejected rows in the input's own dialect, and a `.jsonl` with their reasons.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_package::secrets;
use inrush_rows::encoding::TextEncoding;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_scan::{Dialect, FixedWidth, RecordEnd, Terminator};
use serde::{Deserialize, Serialize};

use super::rejects_folder::RejectsFolder;
use super::types::RejectReport;
use crate::error::Error;

/// The ending of the name of a file of rejected rows.
pub const ROWS_SUFFIX: &str = ".rejects";
/// The ending of the name of the file of reasons.
pub const REASONS_SUFFIX: &str = ".rejects.jsonl";

/// The number of rows of a file whose reasons are always written out. A later row with one of these reasons gets the
/// number of that line instead. Otherwise a file with one mistake in each row would become a hundred times as large as
/// its rows.
const REASONS_WRITTEN: u64 = 1000;

/// A line of the file of reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ReasonLine {
    file: String,
    line: u64,
    byte_offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    column: Option<String>,
    value: Option<String>,
    code: RejectCode,
    /// The reason in words; `None` if it is written in another line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The line of this file that has the reason, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason_line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    of_target: bool,
}

/// Reads a file of reasons, line by line.
pub struct ReasonReader {
    lines: Lines<BufReader<File>>,
    count: u64,
    /// The reasons of the first lines, to which later lines refer.
    written: BTreeMap<u64, String>,
}

impl ReasonReader {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<ReasonReader> {
        Ok(ReasonReader {
            lines: BufReader::new(File::open(path)?).lines(),
            count: 0,
            written: BTreeMap::new(),
        })
    }

    /// The number of the line that was read last, counted from 1.
    pub fn line(&self) -> u64 {
        self.count
    }
}

impl Iterator for ReasonReader {
    type Item = io::Result<RejectReport>;

    fn next(&mut self) -> Option<io::Result<RejectReport>> {
        let text = match self.lines.next()? {
            Ok(text) => text,
            Err(error) => return Some(Err(error)),
        };
        self.count += 1;
        let line: ReasonLine = match serde_json::from_str(&text) {
            Ok(line) => line,
            Err(error) => return Some(Err(error.into())),
        };
        let reason = match (line.reason, line.reason_line) {
            (Some(reason), _) => reason,
            (None, Some(other)) => self.written.get(&other).cloned().unwrap_or_default(),
            (None, None) => String::new(),
        };
        if self.count <= REASONS_WRITTEN {
            self.written.insert(self.count, reason.clone());
        }
        Some(Ok(RejectReport {
            file: line.file,
            line: line.line,
            byte_offset: line.byte_offset,
            key: line.key,
            column: line.column,
            value: line.value,
            code: line.code,
            reason,
            encoding: line.encoding,
            of_target: line.of_target,
        }))
    }
}

/// The reasons that were written, and their lines.
#[derive(Default)]
struct WrittenReasons {
    count: u64,
    lines: HashMap<String, u64>,
}

impl WrittenReasons {
    /// The line for this reject.
    fn line(&mut self, reject: RejectReport) -> ReasonLine {
        self.count += 1;
        let (reason, reason_line) = match self.lines.get(&reject.reason) {
            Some(line) if self.count > REASONS_WRITTEN => (None, Some(*line)),
            _ => {
                if self.count <= REASONS_WRITTEN {
                    let line = self.count;
                    self.lines.entry(reject.reason.clone()).or_insert(line);
                }
                (Some(reject.reason), None)
            }
        };
        ReasonLine {
            file: reject.file,
            line: reject.line,
            byte_offset: reject.byte_offset,
            key: reject.key,
            column: reject.column,
            value: reject.value,
            code: reject.code,
            reason,
            reason_line,
            encoding: reject.encoding,
            of_target: reject.of_target,
        }
    }
}

/// The name, with characters replaced that a file name cannot have.
pub fn reject_file_name(name: &str) -> String {
    name.chars()
        .map(|c| if c == '/' || c.is_control() { '_' } else { c })
        .collect()
}

/// The rejects of one piece of work. A file is created with its first reject.
///
/// Each `NAME.rejects` is a file in the input's own dialect and encoding, with the header: the same package reads it.
/// Its `.jsonl` has a line for each of its rows, in the same order ([`ReasonReader`]). There is more than one file in
/// these cases:
///
/// - Only the end of its file ends a row, such as one with an unclosed quote. Such a row would include everything after
///   it, so it is in a separate file `NAME.last.rejects` (`last2`, ...), without a line end.
/// - The input files have different encodings. Rows of the second encoding are in `NAME.ENCODING.rejects`.
/// - Rows go to each of several targets, and this one has refused some: they are in `NAME.target.rejects`.
pub struct RejectFile {
    folder: Arc<RejectsFolder>,
    name: String,
    dialect: Dialect,
    header: Option<Vec<String>>,
    open: Vec<OpenFile>,
    /// The rows that need separate files.
    last_count: usize,
}

/// A file of rows, and its file of reasons.
struct OpenFile {
    encoding: TextEncoding,
    /// Its rows may be in other targets of their flow.
    of_target: bool,
    terminator: Vec<u8>,
    carriage_return: Vec<u8>,
    rows: Writer,
    reasons: Writer,
    written: WrittenReasons,
}

struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl OpenFile {
    /// Bytes that were written to both files.
    fn bytes(&self) -> u64 {
        self.rows.bytes + self.reasons.bytes
    }
}

impl RejectFile {
    /// The rejects of the piece called `name`. Files of an earlier attempt at it are removed.
    pub fn new(
        folder: &Arc<RejectsFolder>,
        name: &str,
        dialect: &Dialect,
        header: Option<&[String]>,
    ) -> Result<RejectFile, Error> {
        let name = reject_file_name(name);
        remove_earlier(folder, &name)?;
        Ok(RejectFile {
            folder: Arc::clone(folder),
            name,
            dialect: dialect.clone(),
            header: header.map(<[String]>::to_vec),
            open: Vec::new(),
            last_count: 0,
        })
    }

    /// Writes rejects, and returns the number of bytes.
    pub fn keep(&mut self, rejects: &[Reject]) -> Result<u64, Error> {
        let before: u64 = self.open.iter().map(OpenFile::bytes).sum();
        let mut bytes = 0;
        for reject in rejects {
            let encoding = reject.encoding.unwrap_or(TextEncoding::Utf8);
            if ends_with_its_file(reject, &self.dialect) {
                self.last_count += 1;
                let stem = match self.last_count {
                    1 => format!("{}.last", self.name),
                    count => format!("{}.last{count}", self.name),
                };
                let mut file = self.open(&stem, encoding)?;
                file.keep(reject, b"")?;
                file.finish()?;
                bytes += file.bytes();
                continue;
            }
            let is_its = |file: &OpenFile| file.of_target == reject.of_target;
            let place = |file: &OpenFile| is_its(file) && file.encoding == encoding;
            let at = match self.open.iter().position(place) {
                Some(at) => at,
                None => {
                    let target = if reject.of_target { ".target" } else { "" };
                    let mut stem = format!("{}{target}", self.name);
                    if self.open.iter().any(is_its) {
                        stem = format!("{stem}.{}", encoding.name().to_lowercase());
                    }
                    let file = OpenFile {
                        of_target: reject.of_target,
                        ..self.open(&stem, encoding)?
                    };
                    self.open.push(file);
                    self.open.len() - 1
                }
            };
            let file = &mut self.open[at];
            let mut terminator = file.terminator.clone();
            // A carriage return at the end of the row would be read as part of the line end, and the row would be
            // changed unnoticed.
            if self.dialect.terminator_written() == b"\n"
                && reject.raw.ends_with(&file.carriage_return)
            {
                terminator.splice(..0, file.carriage_return.iter().copied());
            }
            file.keep(reject, &terminator)?;
        }
        let after: u64 = self.open.iter().map(OpenFile::bytes).sum();
        Ok(bytes + after - before)
    }

    /// Flushes the files; called before the unit is committed.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.open.iter_mut().try_for_each(OpenFile::finish)
    }

    /// Removes the files, because their rows are loaded again.
    pub fn remove(&mut self) -> Result<(), Error> {
        self.open.clear();
        self.last_count = 0;
        remove_earlier(&self.folder, &self.name)
    }

    fn open(&self, stem: &str, encoding: TextEncoding) -> Result<OpenFile, Error> {
        let writer = |name: String| -> Result<Writer, Error> {
            Ok(Writer {
                file: BufWriter::new(self.folder.create(&name)?),
                path: self.folder.path().join(name),
                bytes: 0,
            })
        };
        let mut rows = writer(format!("{stem}{ROWS_SUFFIX}"))?;
        let reasons = writer(format!("{stem}{REASONS_SUFFIX}"))?;
        rows.write(encoding.mark())?;
        let encoded = |text: &[u8]| match encoding {
            TextEncoding::Utf8 => text.to_vec(),
            encoding => encoding.encode(&String::from_utf8_lossy(text)),
        };
        let header = self.header.as_deref();
        rows.write(&encoded(&beginning(header, &self.dialect)))?;
        Ok(OpenFile {
            terminator: encoded(self.dialect.terminator_written()),
            carriage_return: encoded(b"\r"),
            encoding,
            of_target: false,
            rows,
            reasons,
            written: WrittenReasons::default(),
        })
    }
}

impl OpenFile {
    fn keep(&mut self, reject: &Reject, terminator: &[u8]) -> Result<(), Error> {
        self.rows.write(&reject.raw)?;
        self.rows.write(terminator)?;
        let line = self.written.line(RejectReport::from(reject));
        let reason = shown(&line).map_err(|error| failed(&self.reasons.path, error.into()))?;
        self.reasons.write(&reason)?;
        self.reasons.write(b"\n")
    }

    fn finish(&mut self) -> Result<(), Error> {
        for writer in [&mut self.rows, &mut self.reasons] {
            let flushed = writer.file.flush();
            flushed
                .and_then(|()| writer.file.get_ref().sync_all())
                .map_err(|source| failed(&writer.path, source))?;
        }
        Ok(())
    }
}

/// A reject as it is written, without the values of environment variables and passwords.
fn shown(reject: &ReasonLine) -> serde_json::Result<Vec<u8>> {
    if secrets::is_empty() {
        return serde_json::to_vec(reject);
    }
    let mut value = serde_json::to_value(reject)?;
    secrets::mask_json(&mut value);
    serde_json::to_vec(&value)
}

impl Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(|source| failed(&self.path, source))
    }
}

/// True if only the end of the file ended the row. A line end after such a row would be read as a part of it, or as the
/// end of a shorter row.
fn ends_with_its_file(reject: &Reject, dialect: &Dialect) -> bool {
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

/// Removes the files that an earlier attempt at the piece left.
fn remove_earlier(folder: &RejectsFolder, name: &str) -> Result<(), Error> {
    folder.remove(|file_name| is_of_piece(file_name, name))
}

/// True if a file belongs to the piece. Pieces of one unit are numbered, and no other part of a file name is a number.
fn is_of_piece(file_name: &str, name: &str) -> bool {
    let Some(rest) = file_name.strip_prefix(name) else {
        return false;
    };
    let rest = rest.strip_suffix(".jsonl").unwrap_or(rest);
    let Some(kind) = rest.strip_suffix(".rejects") else {
        return false;
    };
    match kind.strip_prefix('.') {
        None => kind.is_empty(),
        Some(kind) => {
            let is_last = kind
                .strip_prefix("last")
                .is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
            is_last || TextEncoding::parse(kind).is_ok()
        }
    }
}

/// The beginning of a file of rejects, so that it can be fixed and loaded: an empty line for each line that the package
/// skips, and the header.
fn beginning(header: Option<&[String]>, dialect: &Dialect) -> Vec<u8> {
    let mut bytes = dialect
        .terminator_written()
        .repeat(dialect.skip_lines as usize);
    if let Some(names) = header {
        bytes.extend(header_line(names, dialect));
    }
    bytes
}

/// The header in the dialect of the file.
fn header_line(names: &[String], dialect: &Dialect) -> Vec<u8> {
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
                            inrush_scan::Escape::Byte(escape) => escape,
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

/// The names at the positions of their fields, as far as they fit.
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

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Folder {
        path: path.display().to_string(),
        source,
    }
}

impl From<&Reject> for RejectReport {
    fn from(reject: &Reject) -> RejectReport {
        RejectReport {
            file: reject.location.file.display().to_string(),
            line: reject.location.line,
            byte_offset: reject.location.byte_offset,
            key: reject.location.key.as_deref().map(str::to_owned),
            column: reject.column.as_deref().map(str::to_owned),
            value: reject.value.clone(),
            code: reject.code,
            reason: reject.reason.clone(),
            encoding: reject.encoding.map(|encoding| encoding.name().to_owned()),
            of_target: reject.of_target,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use inrush_rows::location::Location;
    use inrush_scan::{Escape, Records, Scanner, ShortText, TextEnd};
    use tempfile::tempdir;

    use super::*;

    fn reject(raw: &[u8], code: RejectCode, encoding: Option<TextEncoding>) -> Reject {
        Reject {
            location: Location {
                file: Arc::from(Path::new("a.csv")),
                line: 2,
                byte_offset: 10,
                key: None,
            },
            column: None,
            value: None,
            code,
            reason: "for the test".to_owned(),
            raw: raw.to_vec(),
            encoding,
            of_target: false,
        }
    }

    fn opened(path: &Path) -> Arc<RejectsFolder> {
        Arc::new(RejectsFolder::open(path).expect("opened"))
    }

    /// Writes rejects, and returns the files of rows by their names.
    fn kept(
        dialect: &Dialect,
        header: Option<&[String]>,
        rejects: &[Reject],
    ) -> Vec<(String, Vec<u8>)> {
        let folder = tempdir().expect("a folder");
        fs::write(folder.path().join("f.1.last2.rejects"), "left").expect("written");
        fs::write(folder.path().join("f.1.2.rejects"), "another piece's").expect("written");
        let mut file =
            RejectFile::new(&opened(folder.path()), "f.1", dialect, header).expect("made");
        file.keep(rejects).expect("kept");
        file.finish().expect("finished");
        assert!(folder.path().join("f.1.2.rejects").exists());
        fs::remove_file(folder.path().join("f.1.2.rejects")).expect("there");
        let mut found = Vec::new();
        for entry in fs::read_dir(folder.path()).expect("listed") {
            let name = entry
                .expect("listed")
                .file_name()
                .into_string()
                .expect("text");
            let Some(stem) = name.strip_suffix(".rejects") else {
                continue;
            };
            let rows = fs::read(folder.path().join(&name)).expect("readable");
            let reasons = fs::read_to_string(folder.path().join(format!("{name}.jsonl")));
            assert!(reasons.expect("readable").lines().count() > 0);
            found.push((stem.to_owned(), rows));
        }
        found.sort();
        found
    }

    /// The records of a text, each with its bytes unchanged.
    fn read_again(dialect: &Dialect, text: &[u8]) -> Vec<Vec<u8>> {
        let mut records = Records::default();
        Scanner::new(dialect)
            .scan(text, TextEnd::File, &mut records)
            .expect("short");
        let records = records.records.iter();
        records
            .map(|one| text[one.start as usize..one.end as usize].to_vec())
            .collect()
    }

    #[test]
    fn a_row_without_line_and_byte_is_found_by_its_key() {
        let folder = tempdir().expect("a folder");
        let mut file =
            RejectFile::new(&opened(folder.path()), "f", &Dialect::csv(), None).expect("made");
        let of_file = reject(b"x", RejectCode::Syntax, None);
        let mut of_table = of_file.clone();
        of_table.location.key = Some("id = 17".into());
        file.keep(&[of_file.clone(), of_table.clone()])
            .expect("kept");
        file.finish().expect("finished");
        let path = folder.path().join("f.rejects.jsonl");
        let text = fs::read_to_string(&path).expect("readable");
        let has_key = text
            .lines()
            .map(|line| line.contains("\"key\":\"id = 17\""));
        assert_eq!(has_key.collect::<Vec<_>>(), [false, true]);
        let read = ReasonReader::open(&path).expect("opened");
        let places: Vec<String> = read
            .map(|line| line.expect("a line").location().to_string())
            .collect();
        let expected = [of_file, of_table].map(|one| one.location.to_string());
        assert_eq!(places, expected);
        assert_eq!(places, ["a.csv:2 (byte 10)", "a.csv, row 2 (id = 17)"]);
    }

    #[test]
    fn a_reason_is_written_out_for_the_first_rows_alone() {
        let folder = tempdir().expect("a folder");
        let dialect = Dialect::csv();
        let mut file = RejectFile::new(&opened(folder.path()), "f", &dialect, None).expect("made");
        let rejects: Vec<Reject> = (1..=3000)
            .map(|line| {
                let mut one = reject(b"x", RejectCode::Syntax, None);
                one.location.line = line;
                one.reason = match line {
                    2 => "another one, told early".to_owned(),
                    2000 => "told late alone".to_owned(),
                    2500 => "another one, told early".to_owned(),
                    _ => "a long reason, which each row has once more".repeat(5),
                };
                one
            })
            .collect();
        let mut bytes = 0;
        for part in rejects.chunks(700) {
            bytes += file.keep(part).expect("kept");
        }
        file.finish().expect("finished");
        let path = folder.path().join("f.rejects.jsonl");
        let sizes = [&path, &folder.path().join("f.rejects")]
            .map(|path| fs::metadata(path).expect("there").len());
        // The first rows come after the header.
        assert_eq!(bytes, sizes[0] + sizes[1]);
        assert!(sizes[0] < 3000 * 120 + 1000 * 220, "{}", sizes[0]);
        let text = fs::read_to_string(&path).expect("read");
        let last: serde_json::Value =
            serde_json::from_str(text.lines().last().expect("lines")).expect("JSON");
        assert_eq!(last["reason_line"], 1);
        assert!(last.get("reason").is_none());
        let read: Vec<RejectReport> = ReasonReader::open(&path)
            .expect("opened")
            .map(|line| line.expect("a line"))
            .collect();
        let expected: Vec<RejectReport> = rejects.iter().map(RejectReport::from).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn what_only_its_file_ends_swallows_nothing() {
        let csv = Dialect {
            header: false,
            ..Dialect::csv()
        };
        let own = Dialect {
            terminator: Terminator::Text(ShortText::new(b";;").expect("short")),
            quote: None,
            escape: Escape::None,
            ..csv.clone()
        };
        let tsv = Dialect::tsv();
        for (dialect, last, code) in [
            (
                &csv,
                b"2,\"never closed,\n".as_slice(),
                RejectCode::UnclosedQuote,
            ),
            (&tsv, b"2\tx\\", RejectCode::DanglingEscape),
            (&own, b"2,x;", RejectCode::FieldCount),
        ] {
            let ordinary = reject(b"1,x,", RejectCode::FieldCount, None);
            let rejects = [
                ordinary.clone(),
                reject(last, code, None),
                ordinary.clone(),
                reject(last, code, None),
                ordinary.clone(),
            ];
            let found = kept(dialect, None, &rejects);
            let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["f.1", "f.1.last", "f.1.last2"]);
            // When it is loaded again, each row is the same row.
            assert_eq!(
                read_again(dialect, &found[0].1),
                vec![ordinary.raw.clone(); 3]
            );
            for (_, text) in &found[1..] {
                assert_eq!(read_again(dialect, text), [last]);
            }
        }
    }

    #[test]
    fn rows_are_kept_in_the_encoding_of_their_file() {
        let names = ["id".to_owned(), "gr\u{f6}\u{df}e".to_owned()];
        let dialect = Dialect {
            quote: None,
            escape: Escape::None,
            ..Dialect::csv()
        };
        for (name, mark) in [
            ("utf-16le", "\u{feff}"),
            ("utf-16be", "\u{feff}"),
            ("latin1", ""),
        ] {
            let encoding = TextEncoding::parse(name).expect("known");
            let raw = encoding.encode("x,\u{e4}");
            let one = reject(&raw, RejectCode::Syntax, Some(encoding));
            // A carriage return that belongs to the row is not part of the line end.
            let returned = reject(&encoding.encode("y\r"), RejectCode::Syntax, Some(encoding));
            let found = kept(&dialect, Some(&names), &[one, returned]);
            let text = format!("{mark}id,gr\u{f6}\u{df}e\nx,\u{e4}\ny\r\r\n");
            assert_eq!(
                found,
                [("f.1".to_owned(), encoding.encode(&text))],
                "{name}"
            );
        }
    }

    #[test]
    fn files_of_different_encodings_are_kept_apart() {
        let encoding = TextEncoding::parse("utf-16le").expect("known");
        let dialect = Dialect::tbl();
        let rejects = [
            reject(b"1|", RejectCode::Syntax, None),
            reject(&encoding.encode("2|"), RejectCode::Syntax, Some(encoding)),
            reject(b"3|", RejectCode::Syntax, None),
        ];
        assert_eq!(
            kept(&dialect, None, &rejects),
            [
                ("f.1".to_owned(), b"1|\n3|\n".to_vec()),
                ("f.1.utf-16le".to_owned(), encoding.encode("\u{feff}2|\n")),
            ]
        );
    }

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
