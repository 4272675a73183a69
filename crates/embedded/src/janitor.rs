//! Cleans up if the loader could not: a small shell script in its own session.
//!
//! It reads from a stream whose other end only the loader has. The messages are:
//!
//! - `server <pid> <start time>`: the server is running as this process;
//! - `done`: the loader has stopped the server and removed the folders itself;
//! - the end of the stream without `done`: the loader is gone, for any reason.
//!
//! In the last case the janitor stops the server, waits until its last process is gone, and removes the private
//! folders. It notices that the processes are gone by the end of a second stream, whose writing end every process of
//! the server has inherited. A pid is signalled only while its process has the start time that the loader sent, because
//! pids are reused.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::net::{SendFlags, send};

use crate::process::detached;

/// The janitor's script. Its standard output is the reading end of the second stream, because the shell can name
/// descriptors below 3 directly. Its arguments are the signal that stops the server, then the folders. `cat` ends when
/// the server has ended; the `sleep`s only limit the wait for a server that hangs. Every helper is waited for, because
/// not every init reaps orphans.
const SCRIPT: &str = r#"
stop_signal=$1; shift
server= started=
while read -r word first second; do
  case $word in
    done) exit 0 ;;
    server) server=$first started=$second ;;
  esac
done
tell() {
  wanted=$1
  [ -n "$server" ] || return 0
  read -r line <"/proc/$server/stat" || return 0
  set -f; set -- ${line##*) }
  [ "${20}" = "$started" ] && kill -s "$wanted" "$server"
}
tell "$stop_signal"
(
  trap 'kill -s KILL $!; wait; exit' TERM
  sleep 120 & wait; tell QUIT
  sleep 20 & wait; tell KILL
) <&- &
cat <&1 >/dev/null
rm -rf -- "$@"
kill $!
wait
"#;

/// The janitor of one server.
pub(crate) struct Janitor {
    child: Child,
    words: UnixStream,
}

impl Janitor {
    /// Starts the janitor. `server_alive` ends when the last process of the server is gone.
    pub fn start(
        stop_signal: &str,
        server_alive: OwnedFd,
        folders: &[&Path],
    ) -> io::Result<Janitor> {
        let (words, heard) = UnixStream::pair()?;
        let child = detached("/bin/sh")
            .args(["-c", SCRIPT, "inrush-janitor", stop_signal])
            .args(folders)
            .stdin(Stdio::from(OwnedFd::from(heard)))
            .stdout(Stdio::from(server_alive))
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Janitor { child, words })
    }

    /// Tells the janitor which process the server is.
    pub fn watch(&self, server_pid: u32) {
        if let Some(started) = start_time(server_pid) {
            self.say(&format!("server {server_pid} {started}\n"));
        }
    }

    /// Ends the janitor, because there is nothing left to clean up.
    pub fn dismiss(mut self) {
        self.say("done\n");
        drop(self.words);
        // Reaps the janitor, so that it is no zombie. An error means that other code has reaped it.
        let _ = self.child.wait();
    }

    /// Writes words to the janitor. If the janitor was killed, this must not end the process by SIGPIPE, so it does not
    /// use `write`.
    fn say(&self, words: &str) {
        // An error means that the janitor is gone.
        let _ = send(&self.words, words.as_bytes(), SendFlags::NOSIGNAL);
    }
}

/// When a process started, in ticks since boot. Together with the pid, it identifies a process for all time.
fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold blanks and parentheses. The state follows the name and is field 3; the start time is field 22.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, test_kill_process_group};

    use super::*;
    use crate::fork::heed_interrupt;

    fn exit_of(child: &mut Child) -> std::process::ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the janitor did not end");
    }

    #[test]
    fn dismissed_it_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let janitor = Janitor::start("QUIT", reader.into(), &[folder.path()]).unwrap();
        janitor.dismiss();
        assert!(folder.path().exists());
    }

    #[test]
    fn left_alone_it_stops_the_server_and_removes_the_folders() {
        let parent = tempfile::tempdir().unwrap();
        let folders = ["it's one", "two \"quoted\" $HOME", "-rf"].map(|name| {
            let folder = parent.path().join(name);
            std::fs::create_dir_all(folder.join("below")).unwrap();
            folder
        });
        let (reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("/bin/sleep");
        command.arg("600").stdout(writer);
        heed_interrupt(&mut command);
        let mut server = command.spawn().unwrap();
        // The command itself would keep an end of the pipe open.
        drop(command);
        let paths: Vec<&Path> = folders.iter().map(|folder| folder.as_path()).collect();
        let janitor = Janitor::start("INT", reader.into(), &paths).unwrap();
        janitor.watch(server.id());
        let Janitor { mut child, words } = janitor;
        // This end of the stream is also closed when the loader dies.
        drop(words);
        let status = server.wait().unwrap();
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(status.signal(), Some(Signal::INT.as_raw()));
        exit_of(&mut child);
        for folder in &folders {
            assert!(!folder.exists(), "{} is still there", folder.display());
        }
        // The janitor's own helpers are gone and reaped, too: its process group is empty.
        let group = Pid::from_child(&child);
        assert!(test_kill_process_group(group).is_err(), "helpers are left");
    }

    #[test]
    fn a_stranger_with_the_same_pid_is_left_alone() {
        let mut stranger = Command::new("/bin/sleep").arg("600").spawn().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let janitor = Janitor::start("KILL", reader.into(), &[]).unwrap();
        let started = start_time(stranger.id()).unwrap();
        janitor.say(&format!("server {} {}\n", stranger.id(), started + 1));
        drop(writer);
        let Janitor { mut child, words } = janitor;
        drop(words);
        exit_of(&mut child);
        assert!(stranger.try_wait().unwrap().is_none(), "it was signalled");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
}
