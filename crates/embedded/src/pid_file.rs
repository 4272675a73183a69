//! The `postmaster.pid` of a data folder: which server uses the folder.

use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The content of a server's `postmaster.pid`.
pub(crate) struct PidFile {
    pub pid: u32,
    /// `starting`, `stopping`, `ready` or `standby`.
    pub status: String,
}

/// Reads a data folder's `postmaster.pid`.
pub(crate) fn read_pid_file(data: &Path) -> Option<PidFile> {
    let text = std::fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let mut lines = text.lines();
    // A server in single-user mode writes its process ID as a negative number.
    let pid: i64 = lines.next()?.trim().parse().ok()?;
    Some(PidFile {
        pid: u32::try_from(pid.unsigned_abs()).ok()?,
        // The eighth line (LOCK_FILE_LINE_PM_STATUS), padded with blanks.
        status: lines.nth(6).unwrap_or_default().trim().to_owned(),
    })
}

/// True if this process lives and, as far as the system shows it, is a server of this folder.
pub(crate) fn is_server_of(pid: u32, data: &Path) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let exists = matches!(test_kill_process(number), Ok(()) | Err(Errno::PERM));
    // A server's working folder is its data folder. This is checked because pids are reused.
    exists && std::fs::read_link(format!("/proc/{pid}/cwd")).map_or(true, |cwd| cwd == data)
}
