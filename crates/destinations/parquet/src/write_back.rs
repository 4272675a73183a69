//! Asks the system to start writing a file's bytes to the disk.
//!
//! # Why it is sound
//!
//! The call takes only numbers, and the file is open while it is borrowed.
#![expect(
    unsafe_code,
    reason = "sync_file_range, for which no crate in use has a safe function"
)]

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Asks the system to write these bytes of a file, and does not wait. It is only a hint: `DataFile::close` makes the
/// bytes durable and reports errors.
pub(super) fn begin(file: &File, bytes: Range<u64>) {
    // SAFETY: see the head of this file.
    unsafe {
        libc::sync_file_range(
            file.as_raw_fd(),
            bytes.start as i64,
            (bytes.end - bytes.start) as i64,
            libc::SYNC_FILE_RANGE_WRITE,
        );
    }
}
