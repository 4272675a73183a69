//! A word to the kernel on how a file will be read.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Tells the kernel that the file is read from its beginning to its end, so that it reads
/// further ahead. It may not know how to: nothing depends on it.
pub(super) fn advise_sequential(file: &File) {
    // SAFETY: the descriptor is open as long as `file` lives, and no memory is handed over.
    unsafe {
        libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_SEQUENTIAL);
    }
}
