//! The header of a file beside that of the first one.

use inrush_files::Split;

use crate::error::Error;
use crate::plan::Reading;

/// Each file has a header of its own, and they must be the same: columns were matched by the
/// first one.
pub fn check_header(flow: &Reading, split: &Split, found: Option<&[String]>) -> Result<(), Error> {
    let (Some(found), Some(expected)) = (found, &flow.header) else {
        return Ok(());
    };
    if found == expected.as_slice() {
        return Ok(());
    }
    Err(Error::Header {
        file: split.file.path.display().to_string(),
        found: found.join(", "),
        expected: expected.join(", "),
    })
}
