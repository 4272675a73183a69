//! Advice to the kernel on how a file will be read.

use std::fs::File;

use rustix::fs::{Advice, fadvise};

/// Tells the kernel that the file is read from beginning to end, so that it reads further ahead. It does not matter if
/// the kernel cannot do this.
pub(super) fn advise_sequential(file: &File) {
    let _ = fadvise(file, 0, None, Advice::Sequential);
}
