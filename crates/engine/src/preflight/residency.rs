//! Asks the system which part of a file is in the page cache, and asks it to drop a part.
//!
//! `mincore` does not read: a read with `RWF_NOWAIT` would start to read ahead. If this user neither owns a file nor
//! may write it, the system always answers that all of it is in memory.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use inrush_system::system_calls::resident_pages;
use rustix::fs::{Access, Advice, access, fadvise};
use rustix::param::page_size;
use rustix::process::geteuid;

/// The number of these bytes that the page cache holds; `None` if the system does not tell us.
pub fn cached_bytes(file: &File, byte_range: &Range<u64>) -> Option<u64> {
    if !tells(file) || byte_range.is_empty() {
        return None;
    }
    let page_bytes = page_size().max(1) as u64;
    let start = byte_range.start / page_bytes * page_bytes;
    let pages = resident_pages(file, start..byte_range.end)?;
    Some((pages * page_bytes).min(byte_range.end - byte_range.start))
}

/// Asks the system to drop these bytes from the page cache. Pages that are mapped or not yet written stay.
pub fn let_go(file: &File, byte_range: &Range<u64>) -> io::Result<()> {
    // To the system, a length of 0 means everything that follows.
    let length = NonZeroU64::new(byte_range.end - byte_range.start);
    Ok(fadvise(file, byte_range.start, length, Advice::DontNeed)?)
}

/// True if the system says which bytes are cached: the file belongs to this user, or this user may write it.
fn tells(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else {
        return false;
    };
    let user = geteuid().as_raw();
    if user == 0 || metadata.uid() == user {
        return true;
    }
    access(
        format!("/proc/self/fd/{}", file.as_raw_fd()),
        Access::WRITE_OK,
    )
    .is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_just_written_is_there() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[7; 100_000]).expect("room");
        assert_eq!(cached_bytes(&file, &(0..100_000)), Some(100_000));
        assert_eq!(cached_bytes(&file, &(50_000..60_000)), Some(10_000));
        assert_eq!(cached_bytes(&file, &(5..5)), None);
        let_go(&file, &(0..100_000)).expect("asked");
    }
}
