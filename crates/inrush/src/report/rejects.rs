//! Rejected rows, kept aside in the input's own dialect, with a `.jsonl` that says why.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use inrush_scan::{Dialect, FixedWidth};

use super::folder::private_file;
use super::types::RejectReport;
use crate::error::Error;
use crate::reject::Reject;

/// What the name of a file of rejected rows ends with.
pub const ROWS_SUFFIX: &str = ".rejects";
/// What the name of the file of their reasons ends with.
pub const REASONS_SUFFIX: &str = ".rejects.jsonl";

/// A name without what no file's name may hold.
pub fn reject_file_name(name: &str) -> String {
    name.chars()
        .map(|c| if c == '/' || c.is_control() { '_' } else { c })
        .collect()
}

/// The rejects of one piece of work. Its files come into being with the first reject.
pub struct RejectFile {
    rows_path: PathBuf,
    reasons_path: PathBuf,
    header: Option<Vec<u8>>,
    terminator: Vec<u8>,
    open: Option<(BufWriter<File>, BufWriter<File>)>,
}

impl RejectFile {
    /// The rejects of the piece called `name`; what an earlier attempt at it left is removed.
    pub fn new(
        folder: &Path,
        name: &str,
        dialect: &Dialect,
        header: Option<&[String]>,
    ) -> Result<RejectFile, Error> {
        let name = reject_file_name(name);
        let mut file = RejectFile {
            rows_path: folder.join(format!("{name}{ROWS_SUFFIX}")),
            reasons_path: folder.join(format!("{name}{REASONS_SUFFIX}")),
            header: header.map(|names| header_line(names, dialect)),
            terminator: dialect.terminator_written().to_vec(),
            open: None,
        };
        file.remove()?;
        Ok(file)
    }

    /// Keeps rejects.
    pub fn keep(&mut self, rejects: &[Reject]) -> Result<(), Error> {
        if rejects.is_empty() {
            return Ok(());
        }
        let (rows_path, reasons_path) = (self.rows_path.clone(), self.reasons_path.clone());
        let terminator = self.terminator.clone();
        let (rows, reasons) = self.opened()?;
        for reject in rejects {
            // A carriage return at its end would be read as a part of the line end, and the row
            // be mended unseen.
            let terminator: &[u8] = match (reject.raw.as_slice(), terminator.as_slice()) {
                ([.., b'\r'], b"\n") => b"\r\n",
                (_, terminator) => terminator,
            };
            rows.write_all(&reject.raw)
                .and_then(|()| rows.write_all(terminator))
                .map_err(|source| failed(&rows_path, source))?;
            serde_json::to_writer(&mut *reasons, &RejectReport::from(reject))
                .map_err(std::io::Error::from)
                .and_then(|()| reasons.write_all(b"\n"))
                .map_err(|source| failed(&reasons_path, source))?;
        }
        Ok(())
    }

    /// Makes sure that all of it is written: before the unit is committed.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some((rows, reasons)) = &mut self.open else {
            return Ok(());
        };
        for (writer, path) in [(rows, &self.rows_path), (reasons, &self.reasons_path)] {
            writer
                .flush()
                .and_then(|()| writer.get_ref().sync_all())
                .map_err(|source| failed(path, source))?;
        }
        Ok(())
    }

    /// Removes the files: what they tell of was undone.
    pub fn remove(&mut self) -> Result<(), Error> {
        self.open = None;
        for path in [&self.rows_path, &self.reasons_path] {
            match fs::remove_file(path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(path, source));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut (BufWriter<File>, BufWriter<File>), Error> {
        if self.open.is_none() {
            let open = |path: &Path| {
                private_file(path, false)
                    .map(BufWriter::new)
                    .map_err(|source| failed(path, source))
            };
            let mut rows = open(&self.rows_path)?;
            if let Some(header) = &self.header {
                rows.write_all(header)
                    .map_err(|source| failed(&self.rows_path, source))?;
            }
            self.open = Some((rows, open(&self.reasons_path)?));
        }
        Ok(self.open.as_mut().expect("opened just now"))
    }
}

/// The header as the dialect writes it, so that the file can be mended and loaded as it is.
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

/// The names at the positions of their fields, as much of them as fits.
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
            column: reject.column.as_deref().map(str::to_owned),
            value: reject.value.clone(),
            code: reject.code,
            reason: reject.reason.clone(),
        }
    }
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
    }
}
