//! Has the disk begin to write.
//!
//! # Why it is sound
//!
//! The call takes numbers only, and the file is open for as long as it is borrowed.
#![expect(
    unsafe_code,
    reason = "sync_file_range, which no crate in use has safe"
)]

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Has the disk write these bytes of a file, and does not wait for it. It is advice: that the bytes
/// last is what `DataFile::close` sees to, which also tells of errors.
pub(super) fn begin(file: &File, bytes: Range<u64>) {
    // SAFETY: as said at the top.
    unsafe {
        libc::sync_file_range(
            file.as_raw_fd(),
            bytes.start as i64,
            (bytes.end - bytes.start) as i64,
            libc::SYNC_FILE_RANGE_WRITE,
        );
    }
}
