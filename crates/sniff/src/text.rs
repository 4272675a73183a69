//! Checks that the samples are text that can be cut into records.

use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_rows::encoding_guess::{self, NotUtf8, utf16_order};

use super::error::SniffError;
use super::sample::Samples;

/// A file with more control characters than this per thousand bytes is not text.
const CONTROLS_PER_THOUSAND_MAX: usize = 50;

/// Refuses empty files, and files that are not text.
pub(super) fn check(
    files: &[Arc<SourceFile>],
    samples: &Samples,
    terminator_is_declared: bool,
) -> Result<(), SniffError> {
    if samples.samples.iter().all(|sample| sample.bytes.is_empty()) {
        return Err(SniffError::Empty {
            path: files
                .first()
                .map(|file| file.path.to_path_buf())
                .unwrap_or_default(),
        });
    }
    for sample in &samples.samples {
        let path = || sample.file.path.to_path_buf();
        let bytes = &sample.bytes;
        let count = |wanted: fn(&u8) -> bool| bytes.iter().filter(|byte| wanted(byte)).count();
        let nuls = count(|byte| *byte == 0);
        let controls = count(|byte| {
            // These are separators of fields and records, and blanks; text may contain them.
            *byte < 0x20 && !matches!(byte, b'\t'..=b'\r' | 0x01 | 0x02 | 0x1a..=0x1f)
        });
        if controls * 1000 > bytes.len() * CONTROLS_PER_THOUSAND_MAX {
            return Err(SniffError::NotText {
                path: path(),
                what: match (nuls, utf16_order(bytes).filter(|_| nuls > 0)) {
                    (_, Some(order)) if sample.translated_from.is_none() => format!(
                        "{nuls} of {} bytes are NUL; the text is likely {order} without a byte order mark, and if it is, \
                         declare it: encoding = \"{order}\" in the format (--format encoding={order})",
                        bytes.len()
                    ),
                    (0, _) => format!("{controls} of {} bytes are control characters", bytes.len()),
                    (nuls, _) => format!("{nuls} of {} bytes are NUL", bytes.len()),
                },
            });
        }
        let returns = count(|byte| *byte == b'\r');
        if !terminator_is_declared && sample.starts_file && returns > 0 && !bytes.contains(&b'\n') {
            return Err(SniffError::Records {
                path: path(),
                what: "its records end with only a carriage return, as on an old Macintosh"
                    .to_owned(),
                mend:
                    "declare it: terminator = \"cr\" in the format, or --format csv,terminator=cr"
                        .to_owned(),
            });
        }
    }
    Ok(())
}

/// Refuses files whose first line is not UTF-8 if no encoding is declared: the line may name the columns, and the names
/// would be lost.
pub(super) fn check_first_lines(samples: &Samples) -> Result<(), SniffError> {
    for sample in samples.beginnings() {
        let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
        let mut lines = sample.bytes.split_inclusive(|byte| *byte == b'\n');
        let blank: usize = lines.by_ref().take_while(is_blank).map(<[u8]>::len).sum();
        let rest = &sample.bytes[blank..];
        let line_bytes = rest.iter().position(|byte| *byte == b'\n');
        let first = &rest[..line_bytes.unwrap_or(rest.len())];
        if std::str::from_utf8(first).is_err() {
            return refuse(samples);
        }
    }
    Ok(())
}

/// Refuses the first file that is not UTF-8 and has no declared encoding, if there is one.
pub(super) fn refuse(samples: &Samples) -> Result<(), SniffError> {
    for sample in samples.beginnings() {
        if sample.translated_from.is_some() {
            continue;
        }
        let Some(found) = NotUtf8::find(&sample.bytes) else {
            continue;
        };
        let before = &sample.bytes[..found.at];
        let lines = before.iter().filter(|byte| **byte == b'\n').count() as u64;
        return Err(SniffError::Encoding {
            path: sample.file.path.to_path_buf(),
            line: sample.line_offset + lines + 1,
            byte_offset: sample.byte_offset + found.at as u64,
            what: found.explain(),
        });
    }
    Ok(())
}

/// The note about rows that are not UTF-8, with their likely encoding.
pub(super) fn of_rows(samples: &Samples) -> String {
    const BYTES_MAX: usize = 64 << 10;
    let mut odd = Vec::new();
    let mut are_mixed = false;
    let texts = samples
        .samples
        .iter()
        .filter(|sample| sample.translated_from.is_none());
    for line in texts.flat_map(|sample| sample.bytes.split_inclusive(|byte| *byte == b'\n')) {
        match std::str::from_utf8(line) {
            Ok(line) => are_mixed |= !line.is_ascii(),
            Err(_) if odd.len() < BYTES_MAX => odd.extend_from_slice(line),
            Err(_) => {}
        }
    }
    let likely = encoding_guess::likely(&odd);
    match are_mixed {
        true => format!(
            "rows that are not UTF-8 were not sampled; they are likely {likely}. Other rows are UTF-8 with non-ASCII \
             characters, so the files mix encodings: write the rows that are not UTF-8 again as UTF-8"
        ),
        false => format!(
            "rows that are not UTF-8 were not sampled; they are likely {likely}: if so, declare it \
             with encoding = \"{likely}\" in `format` (--format encoding={likely})"
        ),
    }
}
