//! The file of reasons: a line of JSON for each rejected row.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines};
use std::path::Path;

use inrush_package::secrets;
use inrush_rows::reject::{Reject, RejectCode};
use serde::{Deserialize, Serialize};

use crate::report::RejectReport;

/// The number of rows of a file whose reasons are always written out. A later row with one of these reasons gets the
/// number of that line instead. Otherwise, if every row had the same mistake, the file could become a hundred times as
/// large as the rows.
const REASONS_WRITTEN: u64 = 1000;

/// A line of the file of reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonLine {
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
pub struct WrittenReasons {
    count: u64,
    lines: HashMap<String, u64>,
}

impl WrittenReasons {
    /// The line for this reject.
    pub fn line(&mut self, reject: RejectReport) -> ReasonLine {
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

/// A reject as it is written, without the values of environment variables and passwords.
pub fn shown(reject: &ReasonLine) -> serde_json::Result<Vec<u8>> {
    if secrets::is_empty() {
        return serde_json::to_vec(reject);
    }
    let mut value = serde_json::to_value(reject)?;
    secrets::mask_json(&mut value);
    serde_json::to_vec(&value)
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
