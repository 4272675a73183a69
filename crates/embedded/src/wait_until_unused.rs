//! Waits until no server uses a data folder any more.
//!
//! Every process of a server has inherited the lock that its loader took on the folder, so the lock is free when the
//! last of them ends. The functions here wait for that event. How long they wait depends on the loader. A live loader
//! keeps its server, so the folder is refused soon. A killed loader has left a server that stops by itself, even while
//! it is starting or recovering.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::{EmbeddedError, file_error};
use crate::pid_file::{PidFile, is_server_of, read_pid_file};

/// The longest waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitLimits {
    /// For a server whose loader lives, or that another program runs: it may be about to end.
    pub busy: Duration,
    /// For a server that is stopping, or whose loader is dead: it may have data to write, or may have to recover from a
    /// crash first.
    pub dying: Duration,
}

pub(crate) const WAIT_LIMITS: WaitLimits = WaitLimits {
    busy: Duration::from_secs(2),
    dying: Duration::from_secs(120),
};

/// Takes the lock when no server runs on the folder. A server that is stopping is waited for.
pub(crate) fn wait_until_free(
    path: &Path,
    lock: &File,
    limits: WaitLimits,
) -> Result<(), EmbeddedError> {
    let begin = Instant::now();
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => wait_for_lock(path, lock, limits, begin)?,
        // Some network file systems have no such locks; PostgreSQL's own pid file still protects the folder.
        Err(TryLockError::Error(_)) => {}
    }
    // A server that another program started does not hold this lock.
    while let Some(server) = server_of(path) {
        let is_dying = server.status == "stopping";
        let left = left(begin, limits, is_dying);
        if left.is_zero() {
            return Err(in_use(path));
        }
        ends_within(server.pid, left.min(limits.busy)).map_err(file_error(
            "cannot wait for the server that uses the folder",
            path,
        ))?;
    }
    Ok(())
}

fn wait_for_lock(
    path: &Path,
    lock: &File,
    limits: WaitLimits,
    begin: Instant,
) -> Result<(), EmbeddedError> {
    let failed = |source| file_error("cannot wait for the lock of the folder", path)(source);
    let waiting = lock.try_clone().map_err(failed)?;
    let (sender, locked) = mpsc::channel();
    std::thread::Builder::new()
        .name("inrush-folder".to_owned())
        // If the caller no longer waits, the lock is released again.
        .spawn(move || drop(sender.send(waiting.lock())))
        .map_err(failed)?;
    loop {
        let is_dying = server_of(path).is_some_and(|server| server.status == "stopping")
            || !has_living_holder(lock);
        let left = left(begin, limits, is_dying);
        match locked.recv_timeout(left.min(limits.busy)) {
            Ok(taken) => return taken.map_err(failed),
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => return Err(in_use(path)),
        }
    }
}

fn left(begin: Instant, limits: WaitLimits, is_dying: bool) -> Duration {
    let longest = match is_dying {
        true => limits.dying,
        false => limits.busy,
    };
    longest.saturating_sub(begin.elapsed())
}

fn server_of(path: &Path) -> Option<PidFile> {
    read_pid_file(path).filter(|file| is_server_of(file.pid, path))
}

fn in_use(path: &Path) -> EmbeddedError {
    EmbeddedError::FolderInUse {
        folder: path.to_owned(),
        pid: server_of(path).map(|file| file.pid),
    }
}

/// True if the process that took the lock of a folder is alive. The kernel names it in its list of locks, even if other
/// processes have inherited the lock. If the list cannot be read, the process counts as alive.
fn has_living_holder(lock: &File) -> bool {
    let (Ok(locks), Ok(folder)) = (std::fs::read_to_string("/proc/locks"), lock.metadata()) else {
        return true;
    };
    locks.lines().any(|line| {
        // `1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF`. Some file systems name another device there than in `stat`.
        let mut words = line.split_whitespace().skip(1);
        let is_lock = words.next() == Some("FLOCK");
        let pid = words.nth(2).unwrap_or_default();
        let inode = words.next().and_then(|place| place.rsplit(':').next());
        let is_folder = inode.and_then(|inode| inode.parse().ok()) == Some(folder.ino());
        is_lock && is_folder && Path::new("/proc").join(pid).exists()
    })
}

/// Waits for the end of a process, at most this long.
fn ends_within(pid: u32, longest: Duration) -> io::Result<()> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        // The process has ended.
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let timeout = Timespec::try_from(longest).ok();
    match poll(
        &mut [PollFd::new(&process.as_fd(), PollFlags::IN)],
        timeout.as_ref(),
    ) {
        // A signal came first: the caller looks again.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    const SHORT: WaitLimits = WaitLimits {
        busy: Duration::ZERO,
        dying: Duration::from_secs(60),
    };

    #[test]
    fn a_folder_whose_loader_lives_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = File::open(folder.path()).expect("opened");
        held.lock().expect("locked");
        let lock = File::open(folder.path()).expect("opened");
        let refused = wait_until_free(folder.path(), &lock, SHORT);
        assert!(matches!(refused, Err(EmbeddedError::FolderInUse { .. })));
        held.unlock().expect("unlocked");
        wait_until_free(folder.path(), &lock, SHORT).expect("it is free");
    }

    /// `flock` takes the lock and ends; the shell inherits the lock, like a server from its loader.
    #[test]
    fn what_a_dead_loader_has_left_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "exec 9<\"$1\"; flock 9; echo locked; cat", "sh"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        BufReader::new(shell.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("it says so");
        assert_eq!(line, "locked\n");
        let lock = File::open(folder.path()).expect("opened");
        assert!(lock.try_lock().is_err(), "the shell has it");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| wait_until_free(folder.path(), &lock, SHORT));
            drop(shell.stdin.take());
            waiting.join().expect("no panic").expect("it is free");
        });
        shell.wait().expect("ended");
    }

    #[test]
    fn the_end_of_a_process_is_an_event() {
        let mut child = Command::new("/bin/cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("a process");
        let pid = child.id();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || ends_within(pid, Duration::from_secs(60)));
            child.kill().expect("killed");
            waiting.join().expect("no panic").expect("it ended");
        });
        child.wait().expect("reaped");
        ends_within(pid, Duration::from_secs(60)).expect("it is gone");
    }
}
