//! Whether the samples are text that can be cut into records at all.

use std::sync::Arc;

use super::error::SniffError;
use super::sample::Samples;
use crate::source::SourceFile;

/// More control characters than this in a thousand bytes are no text.
const CONTROLS_PER_THOUSAND_MAX: usize = 50;

/// Refuses files without a byte, and those that are no text.
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
            // Separators of fields and records, and blanks, are no sign of another kind of file.
            *byte < 0x20 && !matches!(byte, b'\t'..=b'\r' | 0x01 | 0x02 | 0x1a..=0x1f)
        });
        if controls * 1000 > bytes.len() * CONTROLS_PER_THOUSAND_MAX {
            return Err(SniffError::NotText {
                path: path(),
                what: match nuls {
                    0 => format!("{controls} of {} bytes are control characters", bytes.len()),
                    nuls => format!("{nuls} of {} bytes are NUL", bytes.len()),
                },
            });
        }
        let returns = count(|byte| *byte == b'\r');
        if !terminator_is_declared && sample.starts_file && returns > 0 && !bytes.contains(&b'\n') {
            return Err(SniffError::Records {
                path: path(),
                what: "its records end with a carriage return alone, as on an old Macintosh"
                    .to_owned(),
                mend:
                    "declare it: terminator = \"cr\" in the format, or --format csv,terminator=cr"
                        .to_owned(),
            });
        }
    }
    Ok(())
}
