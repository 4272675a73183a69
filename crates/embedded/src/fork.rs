//! The steps of a child process between fork and exec.
//!
//! # Why it is sound
//!
//! The process that forks has threads, any of which may have held a lock. So `Command::pre_exec` demands that its
//! closure does only what is allowed after such a fork. Every closure here makes plain system calls, allocates nothing
//! and takes no lock of this program. POSIX lists neither `setgroups` nor `prctl` as safe after a fork. In Linux's C
//! libraries both are system calls. The lock that glibc takes around a change of account is glibc's own, and its `fork`
//! leaves this lock free in the child. The arguments of these calls were made before the fork and are moved into the
//! closure. Descriptors are plain numbers there: if one was closed before the command is spawned, the call fails, or
//! the child inherits another file with that number. That does not harm memory, and the callers keep the descriptors
//! open until then.
#![expect(
    unsafe_code,
    reason = "closures that run between fork and exec, and the calls in them"
)]

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;

use crate::server_user::OsAccount;

/// Makes the child lead a new session (Ctrl-C in the terminal does not reach it), become `account`, get `death_signal`
/// when the calling thread ends, and inherit `inherited`.
pub(crate) fn become_account(
    command: &mut Command,
    account: &OsAccount,
    death_signal: Signal,
    inherited: Vec<RawFd>,
) {
    let (uid, gid, change) = (account.uid, account.gid, account.change);
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: as said at the top.
    unsafe {
        command.pre_exec(move || {
            // `setsid` fails only for the leader of a process group, which a new child is not.
            libc::setsid();
            libc::umask(0o077);
            if change {
                check(libc::setgroups(0, std::ptr::null()))?;
                check(libc::setgid(gid))?;
                check(libc::setuid(uid))?;
            }
            check(libc::prctl(libc::PR_SET_PDEATHSIG, death_signal.as_raw()))?;
            if libc::getppid() != parent {
                // The parent ended before the line above: no signal would come.
                libc::_exit(1);
            }
            for &descriptor in &inherited {
                check(libc::fcntl(descriptor, libc::F_SETFD, 0))?;
            }
            Ok(())
        });
    }
}

/// Makes the child append its output to a file. After [`become_account`] the account opens the file, because closures
/// run in the order in which they were added.
pub(crate) fn log_to(command: &mut Command, path: CString) {
    // SAFETY: as said at the top.
    unsafe {
        command.pre_exec(move || {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
            let file = libc::open(path.as_ptr(), flags, 0o600);
            check(file)?;
            check(libc::dup2(file, libc::STDOUT_FILENO))?;
            check(libc::dup2(file, libc::STDERR_FILENO))
        });
    }
}

/// Makes the child lead a new session.
pub(crate) fn lead_session(command: &mut Command) {
    // SAFETY: as said at the top.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
}

/// Makes SIGINT end the child. A shell that runs tests in the background makes them ignore SIGINT, and the child would
/// inherit this.
#[cfg(test)]
pub(crate) fn heed_interrupt(command: &mut Command) {
    // SAFETY: as said at the top.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
