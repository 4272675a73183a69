//! Lines of a file, with their places.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use inrush_source::SourceError;
use serde_json::{Map, Value};

/// A line.
pub struct Line {
    /// The number of bytes of the file before it.
    pub start: u64,
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The text, with its line end.
    pub text: Vec<u8>,
}

impl Line {
    /// The object on the line, or the reason why there is none.
    pub fn object(&self) -> Result<Map<String, Value>, String> {
        let object = serde_json::from_slice(&self.text);
        object.map_err(|error| format!("is not JSON object: {error}"))
    }
}

/// Reads lines.
pub struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    start: u64,
    number: u64,
}

impl Lines {
    /// The lines from this byte on, where the line with this number begins.
    pub fn open(path: &Path, start: u64, number: u64) -> Result<Lines, SourceError> {
        let unreadable = |cause| SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        };
        let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
        file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        Ok(Lines {
            path: path.to_path_buf(),
            file,
            start,
            number,
        })
    }

    /// The number of the next line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line; none at the end.
    pub fn next(&mut self) -> Result<Option<Line>, SourceError> {
        let mut text = Vec::new();
        let count = self.file.read_until(b'\n', &mut text);
        let count = count.map_err(|cause| SourceError::Read {
            path: self.path.clone(),
            byte_offset: self.start,
            cause,
        })?;
        if count == 0 {
            return Ok(None);
        }
        let line = Line {
            start: self.start,
            number: self.number,
            text,
        };
        self.start += count as u64;
        self.number += 1;
        Ok(Some(line))
    }
}
