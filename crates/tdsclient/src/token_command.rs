//! A command that prints an access token.
//!
//! A token is valid for about an hour, and a load may open sessions later than that. So the command runs again for a
//! login that comes more than [`REUSED_FOR`] after the last run. Sessions that are opened together share one run of the
//! command.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::interrupt::Interrupt;

/// The time for which a printed token is used for further logins.
const REUSED_FOR: Duration = Duration::from_secs(60);
/// The longest time that the command may run.
const RUN_TIME_MAX: Duration = if cfg!(test) {
    Duration::from_millis(300)
} else {
    Duration::from_secs(60)
};
/// The time between two looks at the command and at the interrupt.
const TICK: Duration = Duration::from_millis(50);
/// The most characters of an access token. Tokens of Microsoft Entra have a few thousand.
const TOKEN_CHARACTERS_MAX: usize = 65_536;
/// The most characters of the command's message that an error shows.
const MESSAGE_CHARACTERS_MAX: usize = 500;
const MESSAGE_BYTES_MAX: u64 = 16 << 10;

/// The reason why there is no token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// What is wrong with the command. The text does not contain the command's output, which may have a part of a
    /// token.
    Command(String),
    /// The run was interrupted.
    Interrupted,
}

/// The command, and the token that it printed last.
#[derive(Debug)]
pub struct TokenCommand {
    command: String,
    folder: PathBuf,
    last: Mutex<Option<(Instant, Token)>>,
}

impl PartialEq for TokenCommand {
    fn eq(&self, other: &TokenCommand) -> bool {
        (&self.command, &self.folder) == (&other.command, &other.folder)
    }
}

impl Eq for TokenCommand {}

/// A token, which no `Debug` output shows.
#[derive(Clone)]
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

impl TokenCommand {
    /// A command for `/bin/sh`, which runs in this folder; in the current one if the path is empty.
    pub(crate) fn new(command: String, folder: PathBuf) -> TokenCommand {
        TokenCommand {
            command,
            folder,
            last: Mutex::new(None),
        }
    }

    /// Returns a token: the last token if it was printed within the last minute, otherwise a new one.
    pub(crate) fn token(&self, interrupt: &Interrupt) -> Result<String, TokenFault> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, Token(token))) = &*last
            && at.elapsed() < REUSED_FOR
        {
            return Ok(token.clone());
        }
        let token = self.run(interrupt)?;
        *last = Some((Instant::now(), Token(token.clone())));
        Ok(token)
    }

    /// Forgets the last token, because the server refused it.
    pub(crate) fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn run(&self, interrupt: &Interrupt) -> Result<String, TokenFault> {
        let fault = |what: String| TokenFault::Command(format!("access_token_command {what}"));
        let failed = |error: io::Error| fault(format!("cannot be run: {error}"));
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.command);
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let started = command.stderr(Stdio::piped()).process_group(0).spawn();
        let mut child = started.map_err(failed)?;
        let printed = read_all(child.stdout.take(), TOKEN_CHARACTERS_MAX as u64 + 2);
        let said = read_all(child.stderr.take(), MESSAGE_BYTES_MAX);
        let until = Instant::now() + RUN_TIME_MAX;
        let outcome = outputs(&printed, &said, &mut child, interrupt, until);
        if !matches!(outcome, Ok(Some(_))) {
            end(&mut child);
        }
        let Output {
            status,
            stdout: printed,
            stderr: said,
        } = match outcome.map_err(failed)? {
            Some(ended) => ended,
            None if interrupt.is_raised() => return Err(TokenFault::Interrupted),
            None => {
                return Err(fault(format!(
                    "did not end within {} seconds",
                    RUN_TIME_MAX.as_secs().max(1)
                )));
            }
        };
        if !status.success() {
            let last_line = last_line(&said);
            let colon = if last_line.is_empty() { "" } else { ": " };
            return Err(fault(format!("failed ({status}){colon}{last_line}")));
        }
        let token = String::from_utf8_lossy(&printed);
        match checked(&token) {
            Some(token) => Ok(token.to_owned()),
            None => Err(fault(format!(
                "printed {} bytes that are no access token: a token has 1 to {TOKEN_CHARACTERS_MAX} characters without blanks",
                printed.len()
            ))),
        }
    }
}

/// The token in a text, if the text can be one.
pub(crate) fn checked(text: &str) -> Option<&str> {
    let token = text.trim();
    let is_printable = token.bytes().all(|byte| byte.is_ascii_graphic());
    (!token.is_empty() && token.len() <= TOKEN_CHARACTERS_MAX && is_printable).then_some(token)
}

/// The status and the outputs of a command that has ended; `None` if it must be ended.
fn outputs(
    printed: &Receiver<Vec<u8>>,
    said: &Receiver<Vec<u8>>,
    child: &mut Child,
    interrupt: &Interrupt,
    until: Instant,
) -> io::Result<Option<Output>> {
    let is_over = || interrupt.is_raised() || Instant::now() >= until;
    let wait = |output: &Receiver<Vec<u8>>| loop {
        match output.recv_timeout(TICK) {
            Ok(bytes) => return Some(bytes),
            Err(RecvTimeoutError::Disconnected) => return Some(Vec::new()),
            Err(RecvTimeoutError::Timeout) if is_over() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let (Some(printed), Some(said)) = (wait(printed), wait(said)) else {
        return Ok(None);
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(Output {
                status,
                stdout: printed,
                stderr: said,
            }));
        }
        if is_over() {
            return Ok(None);
        }
        thread::sleep(TICK);
    }
}

/// Reads a pipe to its end, on a thread of its own. Bytes after the first `bytes_max` are read and dropped.
fn read_all(pipe: Option<impl Read + Send + 'static>, bytes_max: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // An error counts as the end of the pipe.
            let _ = pipe.by_ref().take(bytes_max).read_to_end(&mut bytes);
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        // If the command was ended, nobody waits for its output any more.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Ends a command, with the processes that it has started.
fn end(child: &mut Child) {
    // Both calls fail only if the command has already ended.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

fn last_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().rev().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    line.chars().take(MESSAGE_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(command: &str) -> String {
        let command = TokenCommand::new(command.to_owned(), PathBuf::new());
        match command.token(&Interrupt::default()) {
            Ok(token) => token,
            Err(TokenFault::Command(what)) => what,
            Err(TokenFault::Interrupted) => "interrupted".to_owned(),
        }
    }

    #[test]
    fn a_command_prints_a_token() {
        assert_eq!(said("printf 'ey.x\\n'"), "ey.x");
    }

    #[test]
    fn what_is_wrong_with_a_command_is_said_without_its_output() {
        for (command, expected) in [
            (
                "echo secret; echo first >&2; echo 'not logged in' >&2; exit 3",
                "access_token_command failed (exit status: 3): not logged in",
            ),
            ("kill -9 $$", "failed (signal: 9"),
            ("echo a secret", "printed 9 bytes that are no access token"),
            ("true", "printed 0 bytes"),
            (
                "yes secret | tr -d '\\n' | head -c 3000000",
                "printed 65538 bytes",
            ),
            ("sleep 60", "did not end within 1 second"),
            ("echo x; sleep 60 >/dev/null 2>&1", "did not end within"),
            // A process that outlives the shell holds its output open.
            ("sleep 60 & echo x", "did not end within"),
        ] {
            let what = said(command);
            assert!(what.contains(expected), "{command}: {what}");
            assert!(!what.contains("secret"), "{what}");
        }
    }

    #[test]
    fn an_interrupt_ends_the_command() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let command = TokenCommand::new("sleep 60".to_owned(), PathBuf::new());
        assert_eq!(command.token(&interrupt), Err(TokenFault::Interrupted));
    }

    #[test]
    fn a_token_is_used_again_until_it_is_refused() {
        let folder = std::env::temp_dir().join(format!("inrush-token-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let command = TokenCommand::new("echo x >>runs; wc -l <runs".to_owned(), folder.clone());
        let token = || command.token(&Interrupt::default()).expect("a token");
        assert_eq!((token(), token()), ("1".to_owned(), "1".to_owned()));
        command.forget();
        assert_eq!(token(), "2");
        assert!(!format!("{command:?}").contains("\"2\""));
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
