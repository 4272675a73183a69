//! How much room a disk has.

use std::io;
use std::path::Path;

/// Bytes that a user other than root may still write where `folder` is.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
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
