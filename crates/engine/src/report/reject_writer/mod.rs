//! Writes rejected rows in the input's own [dialect], and a `.jsonl` with their [reasons].

mod dialect;
mod reasons;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_rows::encoding::TextEncoding;
use inrush_rows::reject::Reject;
use inrush_scan::Dialect;

use self::dialect::{beginning, ends_with_its_file};
pub use self::reasons::ReasonReader;
use self::reasons::{WrittenReasons, shown};
use super::rejects_folder::RejectsFolder;
use super::types::RejectReport;
use crate::error::Error;

/// The ending of the name of a file of rejected rows.
pub const ROWS_SUFFIX: &str = ".rejects";
/// The ending of the name of the file of reasons.
pub const REASONS_SUFFIX: &str = ".rejects.jsonl";

/// A part of the name of a file whose rows only this target has refused.
const OF_TARGET: &str = ".target";

/// The name, in which `_` replaces the characters that a file name cannot have.
pub fn reject_file_name(name: &str) -> String {
    name.chars()
        .map(|c| if c == '/' || c.is_control() { '_' } else { c })
        .collect()
}

/// The rejects of one piece of work. A file is created with its first reject.
///
/// Each `NAME.rejects` is a file in the input's own dialect and encoding, with the header, so that the same package can
/// load it. Its `.jsonl` has a line for each of its rows, in the same order ([`ReasonReader`]). There is more than one
/// file in these cases:
///
/// - A row may be ended only by the end of its file, for example if it has an unclosed quote. Rows after it would be
///   read as a part of it, so it is in a separate file `NAME.last.rejects` (`last2`, ...), without a line end.
/// - The input files have different encodings. Rows of the second encoding are in `NAME.ENCODING.rejects`.
/// - Each row goes to several targets, and only this target has refused it. Such rows are in `NAME.target.rejects`.
pub struct RejectFile {
    folder: Arc<RejectsFolder>,
    name: String,
    dialect: Dialect,
    header: Option<Vec<String>>,
    open: Vec<OpenFile>,
    /// The number of rows so far that needed separate files.
    last_count: usize,
}

/// A file of rows, and its file of reasons.
struct OpenFile {
    encoding: TextEncoding,
    /// True if the rows may be in other targets of their flow.
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

    /// Writes rejects, and returns the number of bytes written.
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
                    let target = if reject.of_target { OF_TARGET } else { "" };
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

impl Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(|source| failed(&self.path, source))
    }
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
    let kind = match kind.strip_prefix(OF_TARGET) {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => rest,
        _ => kind,
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

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Folder {
        path: path.display().to_string(),
        source,
    }
}
