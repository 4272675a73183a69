//! The text read from a pipe, kept on a disk so that it can be read again.
//!
//! The file never has a name, so it is gone when the process ends, however it ends. If the disk fills up, the text is
//! no longer kept, but the load continues; it fails only if rows must be read again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use inrush_system::free_space::free_bytes;

/// How many bytes of the disk are left free for other programs.
const LEFT_FREE_BYTES: u64 = 1 << 30;
/// How many bytes are written between two checks of the disk's free space.
const LOOK_EVERY_BYTES: u64 = 16 << 20;

/// The text read from a pipe, from its beginning.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    folder: PathBuf,
    bytes_count: u64,
    /// How many bytes may be written before the disk is checked again.
    allowed_bytes: u64,
}

impl Spool {
    /// Creates the file in a folder, readable only by its owner.
    pub fn begin(folder: &Path) -> io::Result<Spool> {
        let path = folder.join(format!("pipe-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(&path)?;
        fs::remove_file(&path)?;
        Ok(Spool {
            file,
            folder: folder.to_path_buf(),
            bytes_count: 0,
            allowed_bytes: 0,
        })
    }

    /// The number of kept bytes.
    pub fn bytes_count(&self) -> u64 {
        self.bytes_count
    }

    /// Appends text. After an error the spool must not be used.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.bytes_count + bytes.len() as u64;
        if end > self.allowed_bytes {
            let wanted = bytes.len() as u64 + LOOK_EVERY_BYTES;
            if free_bytes(&self.folder)? < LEFT_FREE_BYTES + wanted {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.allowed_bytes = self.bytes_count + wanted;
        }
        self.file.write_all_at(bytes, self.bytes_count)?;
        self.bytes_count = end;
        Ok(())
    }

    /// Reads at a position.
    pub fn read_at(&self, bytes: &mut [u8], place: u64) -> io::Result<usize> {
        self.file.read_at(bytes, place)
    }
}
