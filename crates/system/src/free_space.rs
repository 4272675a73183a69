//! The free space of a disk.

use std::io;
use std::path::Path;

/// The size of a disk, and its free space.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The size of the disk in bytes.
    pub size: u64,
    /// The bytes that a user other than root may still write.
    pub free: u64,
}

/// The space of the disk that `folder` is on.
pub fn room(folder: &Path) -> io::Result<Room> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(Room {
        size: found.f_blocks.saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

/// How many bytes a user other than root may still write in `folder`.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    Ok(room(folder)?.free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_room_and_nothing_has_none() {
        assert!(free_bytes(&std::env::temp_dir()).is_ok_and(|free| free > 0));
        assert!(free_bytes(Path::new("/no/such/folder")).is_err());
    }
}
