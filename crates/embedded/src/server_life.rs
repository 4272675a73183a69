//! The life of one server, from the creation of its folders to their removal, even if a step in between fails.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::binaries::Binaries;
use crate::diagnosis::{likely_cause, log_end};
use crate::error::EmbeddedError;
use crate::folder;
use crate::janitor::Janitor;
use crate::open_folder::OpenFolder;
use crate::options::{DataFolder, Options};
use crate::pid_file::read_pid_file;
use crate::process::{ProcessEnd, ServerProcess, command_as, log_to};
use crate::server_user::OsAccount;
use crate::settings::{NO_CODE, Setting};

/// The longest wait for a start. A kept folder may have to recover from a crash first. A server that ends is noticed
/// immediately.
const READY_WAIT: Duration = Duration::from_secs(600);

/// The time between two checks of the server's pid file, because there is no event for "ready".
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The longest wait for a fast shutdown, which writes all changed pages to disk.
const FAST_STOP_WAIT: Duration = Duration::from_secs(300);

/// The longest wait for an immediate shutdown, which kills the server's own processes after 5 seconds.
const IMMEDIATE_STOP_WAIT: Duration = Duration::from_secs(20);

/// The state that must be cleaned up at the end, even if the start failed halfway.
pub(crate) struct ServerRun {
    kept: bool,
    pub data: PathBuf,
    pub socket_folder: PathBuf,
    pub log: PathBuf,
    pub log_start: u64,
    /// The folders that are removed with the server.
    private: Vec<PathBuf>,
    /// A folder that was made for the server and is removed if it is still empty when the start fails.
    pub made: Option<PathBuf>,
    /// A kept data folder, locked as long as the server runs.
    pub folder: Option<OpenFolder>,
    /// Ends when the last process of the server is gone.
    alive: Option<PipeReader>,
    janitor: Option<Janitor>,
    pub process: Option<ServerProcess>,
}

impl ServerRun {
    /// Makes the folders. Also returns the server's user, and whether initdb must be run.
    pub fn prepare(
        options: &Options,
        account: OsAccount,
        port: u16,
    ) -> Result<(ServerRun, OsAccount, bool), EmbeddedError> {
        let run = |data: PathBuf, log| ServerRun {
            kept: false,
            log,
            log_start: 0,
            socket_folder: PathBuf::new(),
            private: Vec::new(),
            made: None,
            folder: None,
            alive: None,
            janitor: None,
            process: None,
            data,
        };
        match &options.data {
            DataFolder::Temporary { parent } => {
                let private = folder::make_private(parent, &account)?;
                let mut run = run(private.join("data"), private.join("server.log"));
                run.private.push(private.clone());
                folder::make_inside(&run.data, &account)?;
                run.socket_folder = private;
                if !folder::fits_socket(&run.socket_folder, port) {
                    run.add_socket_folder(options, &account)?;
                }
                Ok((run, account, true))
            }
            DataFolder::Kept(path) => {
                let required = folder::Required(options.records.as_ref());
                let required = options.requires_record.then_some(&required);
                let major = options.binaries.major;
                let kept = folder::prepare_kept(path, major, &account, required)?;
                let path = kept.folder.path().to_owned();
                let mut run = run(path.clone(), path.join("inrush-server.log"));
                run.kept = true;
                run.folder = Some(kept.folder);
                run.made = kept.made.then_some(path);
                run.add_socket_folder(options, &kept.account)?;
                Ok((run, kept.account, kept.fresh))
            }
        }
    }

    fn add_socket_folder(
        &mut self,
        options: &Options,
        account: &OsAccount,
    ) -> Result<(), EmbeddedError> {
        self.socket_folder = folder::make_private(&options.socket_parent, account)?;
        self.private.push(self.socket_folder.clone());
        Ok(())
    }

    /// A temporary folder is removed anyway, so its server need not write its pages out.
    fn stop_signal(&self) -> (&'static str, Signal) {
        if self.kept {
            ("INT", Signal::INT)
        } else {
            ("QUIT", Signal::QUIT)
        }
    }

    /// Fails if the path of a kept data folder now leads to another folder.
    pub fn require_in_place(&self) -> Result<(), EmbeddedError> {
        self.folder
            .as_ref()
            .map_or(Ok(()), OpenFolder::require_in_place)
    }

    /// Starts the janitor, before there is anything to clean up.
    pub fn start_janitor(&mut self, alive: PipeReader) -> Result<(), EmbeddedError> {
        let seen = alive.try_clone().map_err(pipe_error)?;
        let folders: Vec<&Path> = self.private.iter().map(PathBuf::as_path).collect();
        let janitor = Janitor::start(self.stop_signal().0, seen.into(), &folders);
        self.janitor = Some(janitor.map_err(|source| EmbeddedError::Spawn {
            program: "/bin/sh".to_owned(),
            account: "ourselves".to_owned(),
            source,
        })?);
        self.alive = Some(alive);
        Ok(())
    }

    /// Starts the server's process.
    pub fn launch(
        &mut self,
        binaries: &Binaries,
        account: OsAccount,
        settings: &[Setting],
        held_by_server: OwnedFd,
    ) -> Result<(), EmbeddedError> {
        self.log_start = self.log.metadata().map_or(0, |metadata| metadata.len());
        let program = binaries.folder.join("postgres");
        let mut arguments = vec!["-D".into(), self.data.clone().into_os_string()];
        for (name, value) in NO_CODE {
            arguments.push("-c".into());
            arguments.push(format!("{name}={value}").into());
        }
        for Setting { name, value, .. } in settings {
            arguments.push("-c".into());
            arguments.push(format!("{name}={value}").into());
        }
        self.require_in_place()?;
        let lock = match &self.folder {
            Some(folder) => Some(folder.handle().try_clone().map_err(pipe_error)?),
            None => None,
        };
        let death_signal = self.stop_signal().1;
        let (log, name, path) = (self.log.clone(), account.name.clone(), program.clone());
        let process = ServerProcess::spawn(move || {
            let mut inherited = vec![held_by_server.as_fd()];
            inherited.extend(lock.as_ref().map(File::as_fd));
            let mut command = command_as(&program, &account, death_signal, &inherited);
            log_to(&mut command, &log)?;
            let child = command.args(arguments).spawn();
            // From here on only the server's own processes have these descriptors.
            drop((held_by_server, lock));
            child
        });
        let process = process.map_err(|source| EmbeddedError::Spawn {
            program: path.display().to_string(),
            account: name,
            source,
        })?;
        if let Some(janitor) = &self.janitor {
            janitor.watch(process.pid());
        }
        self.process = Some(process);
        Ok(())
    }

    /// Waits until the server accepts connections, or has died.
    pub fn wait_until_ready(&self) -> Result<(), EmbeddedError> {
        let process = self.process.as_ref().expect("it was launched");
        let begin = Instant::now();
        loop {
            let file = read_pid_file(&self.data);
            if file.is_some_and(|file| file.pid == process.pid() && file.status == "ready") {
                return match &self.folder {
                    Some(folder) => folder.require_works_here(process.pid()),
                    None => Ok(()),
                };
            }
            // This wakes up at once when the server ends.
            if let Some(ended) = process.wait(LOOK_EVERY) {
                return Err(self.ended_by_itself(ended));
            }
            if begin.elapsed() > READY_WAIT {
                return Err(EmbeddedError::NotReady {
                    seconds: READY_WAIT.as_secs(),
                    log: log_end(&self.log, self.log_start),
                });
            }
        }
    }

    fn ended_by_itself(&self, ended: ProcessEnd) -> EmbeddedError {
        let log = log_end(&self.log, self.log_start);
        EmbeddedError::Ended {
            status: ended.to_string(),
            cause: likely_cause(&log),
            log,
        }
    }

    /// Stops the server and removes the private folders. A second call does nothing.
    pub fn finish(&mut self) -> Result<(), EmbeddedError> {
        let process = self.process.take();
        let stopped = match &process {
            Some(process) => self.stop_process(process),
            None => Ok(()),
        };
        let gone = self.alive.take().is_none_or(|alive| {
            // Programs that ran before the server have ended, so this waits only for the server's processes.
            ends_within(&alive, IMMEDIATE_STOP_WAIT)
        });
        if let Some(folder) = self.folder.take() {
            // Unlocked explicitly, because a fork of this program may still hold the folder open, and with it the lock.
            let _ = folder.handle().unlock();
        }
        let janitor = self.janitor.take();
        if !gone {
            // Folders are never removed under a running server. Dropping the janitor's stream makes it stop the server
            // and remove them.
            return stopped.and(Err(EmbeddedError::Stop {
                pid: process.map_or(0, |process| process.pid()),
                outcome: "one of its processes still runs; its folders are removed after it",
            }));
        }
        let mut removed = Ok(());
        for folder in std::mem::take(&mut self.private) {
            if let Err(source) = std::fs::remove_dir_all(&folder)
                && source.kind() != io::ErrorKind::NotFound
            {
                removed = Err(EmbeddedError::File {
                    action: "cannot remove",
                    path: folder,
                    source,
                });
            }
        }
        if let Some(made) = self.made.take() {
            // The start failed before anything was written to it, or initdb has emptied it again.
            let _ = std::fs::remove_dir(made);
        }
        if let Some(janitor) = janitor {
            janitor.dismiss();
        }
        stopped.and(removed)
    }

    fn stop_process(&self, process: &ServerProcess) -> Result<(), EmbeddedError> {
        if let Some(ended) = process.wait(Duration::ZERO) {
            return Err(self.ended_by_itself(ended));
        }
        process.signal(self.stop_signal().1);
        let wait = if self.kept {
            FAST_STOP_WAIT
        } else {
            IMMEDIATE_STOP_WAIT
        };
        if let Some(ended) = process.wait(wait) {
            // A server that stops because of this signal exits normally. If a signal ended it, it died before this
            // signal arrived.
            return if ended.by_a_signal() {
                Err(self.ended_by_itself(ended))
            } else {
                Ok(())
            };
        }
        process.signal(Signal::QUIT);
        let outcome = if process.wait(IMMEDIATE_STOP_WAIT).is_some() {
            "it was stopped as in a crash, and recovers at its next start"
        } else {
            process.signal(Signal::KILL);
            match process.wait(IMMEDIATE_STOP_WAIT) {
                Some(_) => "it was killed, and recovers at its next start",
                None => "even killing it did not end it: does its disk hang?",
            }
        };
        Err(EmbeddedError::Stop {
            pid: process.pid(),
            outcome,
        })
    }
}

impl Drop for ServerRun {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

pub(crate) fn pipe_error(source: io::Error) -> EmbeddedError {
    EmbeddedError::File {
        action: "cannot open a pipe or file for",
        path: PathBuf::from("the embedded server"),
        source,
    }
}

/// True if all holders of the other end of the pipe close it within this time.
fn ends_within(pipe: &PipeReader, longest: Duration) -> bool {
    let deadline = Instant::now() + longest;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut pipes = [PollFd::new(pipe, PollFlags::IN)];
        // The error is an interruption by a signal: poll again.
        if poll(&mut pipes, timeout.as_ref()).is_ok() && pipes[0].revents().contains(PollFlags::HUP)
        {
            return true;
        }
        if left.is_zero() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_pipe_is_seen() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(!ends_within(&reader, Duration::from_millis(1)));
        drop(writer);
        assert!(ends_within(&reader, Duration::from_secs(20)));
    }
}
