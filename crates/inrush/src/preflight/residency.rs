//! What of a file the page cache holds, and how it is asked to let go of it.
//!
//! `mincore` looks without touching: reading with `RWF_NOWAIT` would start to read ahead what it asks about. Of a file
//! that is neither ours nor may be written by us the system does not tell, and says that all of it is there.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// Bytes of these that the page cache holds; none where the system does not tell us.
pub fn cached_bytes(file: &File, byte_range: &Range<u64>) -> Option<u64> {
    if !tells(file) || byte_range.is_empty() {
        return None;
    }
    // SAFETY: sysconf takes a plain value.
    let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let start = byte_range.start / page_bytes * page_bytes;
    let length = usize::try_from(byte_range.end - start).ok()?;
    let mut pages = vec![0_u8; length.div_ceil(page_bytes as usize)];
    // SAFETY: the mapping is made here, only asked about and never read, and taken away again; `pages` has a byte
    // for each of its pages.
    let known = unsafe {
        let mapped = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            libc::off_t::try_from(start).ok()?,
        );
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let asked = libc::mincore(mapped, length, pages.as_mut_ptr().cast());
        libc::munmap(mapped, length);
        asked == 0
    };
    let count = pages.iter().filter(|page| *page & 1 == 1).count() as u64;
    known.then(|| (count * page_bytes).min(byte_range.end - byte_range.start))
}

/// Asks the system to let go of these bytes. Pages that somebody has mapped, or that wait to be written, stay.
pub fn let_go(file: &File, byte_range: &Range<u64>) -> io::Result<()> {
    let length = byte_range.end - byte_range.start;
    let (Ok(start), Ok(length)) = (byte_range.start.try_into(), length.try_into()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // SAFETY: the descriptor is open as long as `file` lives, and no memory is handed over.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), start, length, libc::POSIX_FADV_DONTNEED) }
    {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Whether the system tells us: of files of our own, and of those that we may write.
fn tells(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else {
        return false;
    };
    // SAFETY: geteuid takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    if user == 0 || metadata.uid() == user {
        return true;
    }
    let Ok(path) = std::ffi::CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())) else {
        return false;
    };
    // SAFETY: the path ends with a NUL.
    unsafe { libc::access(path.as_ptr(), libc::W_OK) == 0 }
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
