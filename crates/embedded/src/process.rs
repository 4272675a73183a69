//! Child processes that run as the server's user and end when the command ends.
//!
//! Before you change this file:
//!
//! - `PR_SET_PDEATHSIG` fires when the *thread* that forked the child ends, not the process. So a separate thread
//!   starts the server, and lives exactly as long as the server.
//! - A change of user clears `PR_SET_PDEATHSIG`, so it is set last.
//! - A parent may be gone before the child has set it, so the child looks at its parent's pid afterwards.
//! - A pid belongs to the child until it is reaped. The thread reaps under the lock that `signal` takes, so a signal
//!   cannot go to another process with the same pid.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::fork;
use crate::server_user::OsAccount;

/// The longest time that a killed process may take to end.
const KILL_WAIT: Duration = Duration::from_secs(10);

/// A command that runs as `account` in a new session (Ctrl-C in the terminal does not reach it), gets `death_signal`
/// when the calling thread ends, and inherits `inherited`. It must be spawned while the descriptors in `inherited` are
/// open.
pub(crate) fn command_as(
    program: &Path,
    account: &OsAccount,
    death_signal: Signal,
    inherited: &[BorrowedFd<'_>],
) -> Command {
    let inherited = inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let mut command = Command::new(program);
    command
        // The server would read PGPORT, PGDATESTYLE and others from the environment.
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        // The current folder may not be readable for the other user.
        .current_dir("/")
        .stdin(Stdio::null());
    fork::become_account(&mut command, account, death_signal, inherited);
    command
}

/// Appends the output of a command to a file, which the user of the command opens: the folder may belong to another
/// user, who must not make root write through a link.
pub(crate) fn log_to(command: &mut Command, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    fork::log_to(command, path);
    Ok(())
}

/// A command in its own session that outlives this process.
pub(crate) fn detached(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        .current_dir("/");
    fork::lead_session(&mut command);
    command
}

/// The end of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProcessEnd {
    Status(ExitStatus),
    /// Other code in this program reaped it.
    Unknown,
}

impl ProcessEnd {
    /// True if a signal ended the process. PostgreSQL catches the signals that ask it to stop, so such a signal did not
    /// ask it to stop.
    pub fn by_a_signal(self) -> bool {
        matches!(self, ProcessEnd::Status(status) if status.signal().is_some())
    }
}

impl std::fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProcessEnd::Status(status) => write!(f, "{status}"),
            ProcessEnd::Unknown => f.write_str("unknown status"),
        }
    }
}

/// The running server's first process.
pub(crate) struct ServerProcess {
    pid: u32,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    ended: Mutex<Option<ProcessEnd>>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<ProcessEnd>> {
        // Nothing panics while this lock is held, and the value is always consistent.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerProcess {
    /// Calls `start` in a thread that lives as long as the process that it starts.
    pub fn spawn(
        start: impl FnOnce() -> io::Result<Child> + Send + 'static,
    ) -> io::Result<ServerProcess> {
        let shared = Arc::new(Shared {
            ended: Mutex::new(None),
            changed: Condvar::new(),
        });
        let (started_sender, started) = mpsc::channel();
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("inrush-embedded".to_owned())
            .spawn(move || {
                let child = match start() {
                    Ok(child) => child,
                    Err(error) => {
                        let _ = started_sender.send(Err(error));
                        return;
                    }
                };
                let _ = started_sender.send(Ok(child.id()));
                reap(child, &seen);
            })?;
        let started = started
            .recv()
            .expect("the thread always sends before it ends");
        match started {
            Ok(pid) => Ok(ServerProcess {
                pid,
                shared,
                thread: Some(thread),
            }),
            Err(error) => {
                let _ = thread.join();
                Err(error)
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal, unless the process has ended.
    pub fn signal(&self, signal: Signal) {
        let ended = self.shared.lock();
        // The pid is not reaped while the lock is held, so it is still this process.
        if ended.is_none()
            && let Some(pid) = Pid::from_raw(self.pid as i32)
        {
            // The call fails only if the process is about to be reaped.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for the end, at most this long.
    pub fn wait(&self, longest: Duration) -> Option<ProcessEnd> {
        let deadline = Instant::now() + longest;
        let mut ended = self.shared.lock();
        while ended.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            ended = self
                .shared
                .changed
                .wait_timeout(ended, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *ended
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Callers have stopped it already; this covers any other path.
        self.signal(Signal::KILL);
        // If a process hangs in the kernel, this process must not hang: the thread is then abandoned.
        if self.wait(KILL_WAIT).is_some()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// Waits for the child's end, then reaps it under the lock.
fn reap(mut child: Child, shared: &Shared) {
    let pid = WaitId::Pid(Pid::from_child(&child));
    // The child is not reaped yet; that happens below. An error other than an interruption means that other code has
    // reaped it.
    let wait = || waitid(pid.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    while matches!(wait(), Err(Errno::INTR)) {}
    let mut ended = shared.lock();
    *ended = Some(match child.wait() {
        Ok(status) => ProcessEnd::Status(status),
        Err(_) => ProcessEnd::Unknown,
    });
    shared.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_user::effective_uid;

    fn shell(script: &'static str) -> ServerProcess {
        ServerProcess::spawn(move || {
            let account = OsAccount::choose().unwrap();
            let mut command = command_as(Path::new("/bin/sh"), &account, Signal::TERM, &[]);
            command.args(["-c", script]).spawn()
        })
        .unwrap()
    }

    #[test]
    fn its_end_is_seen_and_reaped() {
        let process = shell("exit 7");
        match process.wait(Duration::from_secs(20)) {
            Some(ProcessEnd::Status(status)) => assert_eq!(status.code(), Some(7)),
            other => panic!("{other:?}"),
        }
        // Waiting again and a late signal are harmless.
        process.signal(Signal::KILL);
        assert!(process.wait(Duration::ZERO).is_some());
        assert!(!Path::new(&format!("/proc/{}", process.pid())).exists());
    }

    #[test]
    fn a_signal_ends_it_and_drop_leaves_no_zombie() {
        let process = shell("exec sleep 600");
        assert!(process.wait(Duration::from_millis(1)).is_none());
        let pid = process.pid();
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn it_runs_as_the_account_in_its_own_session() {
        let account = OsAccount::choose().unwrap();
        let mut command = command_as(Path::new("/bin/sh"), &account, Signal::TERM, &[]);
        let output = command
            .args(["-c", "id -u; id -G; env | sort; cat /proc/$$/stat"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(account.uid.to_string().as_str()));
        if effective_uid() == 0 {
            assert_eq!(lines.next(), Some(account.gid.to_string().as_str()));
        }
        assert!(!text.contains("HOME="), "the environment is ours: {text}");
        let stat = text.lines().last().unwrap();
        let fields: Vec<_> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        let pid = stat.split_whitespace().next().unwrap();
        // After the name: state, parent, process group, session.
        assert_eq!(fields[3], pid, "not the leader of its session: {stat}");
    }

    #[test]
    fn a_program_that_is_absent_is_an_error() {
        let result = ServerProcess::spawn(|| {
            let account = OsAccount::choose().expect("an account");
            command_as(Path::new("/nonexistent"), &account, Signal::TERM, &[]).spawn()
        });
        assert_eq!(result.err().unwrap().kind(), io::ErrorKind::NotFound);
    }
}
