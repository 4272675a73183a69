//! Reads a log of PostgreSQL: its last lines, the likely cause of a failure, and the fix.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The number of log lines that a message quotes.
const LINES_MAX: usize = 12;
const BYTES_MAX: u64 = 16 * 1024;

/// Explanations of failures, by a phrase of the server's message. The first match counts.
const KNOWN: [(&str, &str); 16] = [
    (
        "No space left on device",
        "the disk is full: free some space, or name a folder on another disk",
    ),
    (
        "Disk quota exceeded",
        "the disk quota is used up: free some space, or name a folder elsewhere",
    ),
    (
        "could not map anonymous shared memory",
        "there is too little memory for shared_buffers: lower it, or free some memory",
    ),
    (
        "could not create shared memory segment",
        "the system's limits on shared memory are too low: raise kernel.shmall and \
         kernel.shmmni, or set shared_buffers lower",
    ),
    (
        "could not create semaphores",
        "the system's limits on semaphores are too low: raise kernel.sem, or ask for fewer \
         connections",
    ),
    (
        "Address already in use",
        "another program listens on that TCP port: choose another one",
    ),
    (
        "could not create any TCP/IP sockets",
        "the server cannot listen on that TCP address: name an address of this machine",
    ),
    (
        "unrecognized configuration parameter",
        "a setting is unknown to this version of PostgreSQL: correct its name or leave it out",
    ),
    (
        "invalid value for parameter",
        "a setting has a value that PostgreSQL refuses: correct it",
    ),
    (
        "is outside the valid range for parameter",
        "a setting has a value that PostgreSQL refuses: correct it",
    ),
    (
        "cannot be changed",
        "a setting cannot be changed for a server: leave it out",
    ),
    (
        "lock file \"postmaster.pid\" already exists",
        "another server runs on this data folder: stop it, or name another folder",
    ),
    (
        "database files are incompatible",
        "the data folder was made by another version or build of PostgreSQL: use that one, or \
         name another folder",
    ),
    (
        "database \"postgres\" does not exist",
        "the creation of this data folder was interrupted: remove the folder and start again",
    ),
    (
        "could not look up effective user ID",
        "PostgreSQL needs a user that has a name: add the user to /etc/passwd (in a container, \
         often the fix is to run as another user)",
    ),
    (
        "Permission denied",
        "the server's user may not read or write one of its files: check their owner and mode",
    ),
];

/// The likely cause and its fix, if the text shows one.
pub(crate) fn likely_cause(text: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(phrase, _)| text.contains(phrase))
        .map(|(_, cause)| *cause)
}

/// A text's last lines.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

/// The last lines of a log that were written after its first `start` bytes.
pub(crate) fn log_end(path: &Path, start: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(start.max(length.saturating_sub(BYTES_MAX))))?;
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) if bytes.is_empty() => "(the log is empty)".to_owned(),
        Ok(bytes) => last_lines(&String::from_utf8_lossy(&bytes)),
        Err(error) => format!("(the log cannot be read: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_failures_are_named() {
        let text = "FATAL:  could not write to file \"pg_wal/x\": No space left on device";
        assert!(likely_cause(text).unwrap().contains("disk is full"));
        assert_eq!(likely_cause("FATAL:  something new"), None);
    }

    #[test]
    fn the_end_of_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(log_end(&path, 0).contains("cannot be read"));
        std::fs::write(&path, "old\n").unwrap();
        assert_eq!(log_end(&path, 4), "(the log is empty)");
        let lines: Vec<String> = (0..100).map(|i| format!("line {i}")).collect();
        std::fs::write(&path, format!("old\n{}\n\n", lines.join("\n"))).unwrap();
        let end = log_end(&path, 4);
        assert_eq!(end.lines().count(), LINES_MAX);
        assert!(end.ends_with("line 99"), "{end}");
        std::fs::write(&path, [b"x".repeat(1 << 20), vec![0xff, b'\n']].concat()).unwrap();
        assert!(log_end(&path, 0).len() <= BYTES_MAX as usize + 3);
    }
}
