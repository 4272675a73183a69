//! The three descriptors that every program starts with: standard input, output and error.

use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, IntoRawFd};

/// The highest of the three: standard error.
const STANDARD_LAST: i32 = 2;

/// Opens something for each standard descriptor that was closed before the command began. Otherwise the next file or
/// socket would get its number, and `-` could be read from a connection of this process.
///
/// The replacement of standard input is open for writing only, so a read from it fails with a clear error. In a Rust
/// binary there is nothing to do here: its runtime has already done it.
pub fn hold_standard() {
    // A new descriptor gets the smallest free number.
    while let Ok(file) = OpenOptions::new().write(true).open("/dev/null") {
        if file.as_raw_fd() > STANDARD_LAST {
            return;
        }
        // The descriptor stays open until the process ends.
        let _ = file.into_raw_fd();
    }
}
