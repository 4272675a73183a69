//! Free space that a run's folder needs on its disk: at the start, and while rejects are written.

use std::io;
use std::path::Path;

use inrush_rows::quantity::bytes;
use inrush_system::free_space::{free_bytes, room};

/// On a small disk, rejects leave a tenth of the disk free: its size divided by this number.
const RESERVE_SHARE: u64 = 10;
/// Bytes that rejects leave free on a large disk.
const RESERVE_BYTES_MAX: u64 = 64 << 20;

/// Bytes that a folder must have for report, log and the first rejects.
const ROOM_BYTES: u64 = 1 << 20;

/// Bytes that rejects leave free on the disk of a folder.
pub(super) fn reserve_bytes(folder: &Path) -> io::Result<u64> {
    Ok(reserve_of(room(folder)?.size))
}

/// Fails if the disk of a folder has less than its reserve.
pub(super) fn require_reserve(folder: &Path) -> io::Result<()> {
    let room = room(folder)?;
    let reserve = reserve_of(room.size);
    if room.free >= reserve {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        format!(
            "its disk has {} left, and a load must leave {} free; the rows rejected so far are \
             kept there, and nothing was switched",
            bytes(room.free),
            bytes(reserve)
        ),
    ))
}

/// Fails if a folder has no room for report, log and the first rejects.
pub(super) fn require_room(folder: &Path) -> io::Result<()> {
    let free = free_bytes(folder)?;
    if free >= ROOM_BYTES {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        format!(
            "its disk has {free} bytes left, and report, log and rejects need {ROOM_BYTES} at least"
        ),
    ))
}

fn reserve_of(size: u64) -> u64 {
    (size / RESERVE_SHARE).min(RESERVE_BYTES_MAX)
}
