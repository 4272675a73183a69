//! The text read from a pipe, kept on a disk so that it can be read once more.
//!
//! The file has no name from the beginning: it goes with the process, however that ends. A disk that
//! fills up ends the keeping and not the load: what else could be set aside then fails it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use inrush_system::free_space::free_bytes;

/// Bytes that are left free on the disk for others.
const LEFT_FREE_BYTES: u64 = 1 << 30;
/// How many bytes are written between two looks at the disk.
const LOOK_EVERY_BYTES: u64 = 16 << 20;

/// What was read of a pipe, from its beginning.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    folder: PathBuf,
    bytes_count: u64,
    /// What may be written before the disk is looked at again.
    allowed_bytes: u64,
}

impl Spool {
    /// Begins in a folder, for its owner alone.
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

    /// How much there is.
    pub fn bytes_count(&self) -> u64 {
        self.bytes_count
    }

    /// Adds what follows. After an error it is of no more use.
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

    /// Reads what stands at a place.
    pub fn read_at(&self, bytes: &mut [u8], place: u64) -> io::Result<usize> {
        self.file.read_at(bytes, place)
    }
}
