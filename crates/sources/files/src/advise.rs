//! A word to the kernel on how a file will be read.

use std::fs::File;

use rustix::fs::{Advice, fadvise};

/// Tells the kernel that the file is read from its beginning to its end, so that it reads
/// further ahead. It may not know how to: nothing depends on it.
pub(super) fn advise_sequential(file: &File) {
    let _ = fadvise(file, 0, None, Advice::Sequential);
}
