//! Finds out which process has a DuckDB file open, and why DuckDB cannot open it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use inrush_destination::Error;

/// Files of DuckDB are opened one at a time, after checking that this process does not have the file open.
static OPENING: Mutex<()> = Mutex::new(());

/// Waits until no other file of DuckDB is being opened. Keep the guard from [`not_open_here`] until the file is open.
pub fn opening() -> MutexGuard<'static, ()> {
    OPENING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The beginning of the message about a setting whose value DuckDB refuses.
pub const SETTING: &str = "DuckDB refuses the value of its setting";

/// Refuses a file that this process has open already. DuckDB's lock keeps out other processes, but not a second
/// instance in the same process: two instances in one process would both write to the file and corrupt it.
#[cfg(target_os = "linux")]
pub fn not_open_here(file: &Path) -> Result<(), Error> {
    let (Ok(wanted), Ok(open)) = (std::fs::metadata(file), std::fs::read_dir("/proc/self/fd"))
    else {
        return Ok(());
    };
    let same = |path: std::path::PathBuf| {
        std::fs::metadata(path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
    };
    match open.filter_map(|entry| Some(entry.ok()?.path())).any(same) {
        false => Ok(()),
        true => Err(Error::Held {
            what: format!(
                "this process ({}) has {} open already",
                std::process::id(),
                file.display()
            ),
            hint: "close the other connection to it first, as with con.close() in Python"
                .to_owned(),
        }),
    }
}

/// Other systems do not list open files.
#[cfg(not(target_os = "linux"))]
pub fn not_open_here(_file: &Path) -> Result<(), Error> {
    Ok(())
}

/// True if DuckDB's message says that another process has the file.
pub fn is_locked(message: &str) -> bool {
    message.contains("Could not set lock")
}

/// DuckDB's message about a file that it cannot open, as our error.
pub fn cannot_open(file: &Path, message: &str) -> Error {
    let message = message.trim();
    if is_locked(message) {
        return Error::Held {
            what: format!("{} is held by {}", file.display(), holder(message)),
            hint: "DuckDB lets only one process write to a file: wait until that one is done, or end it"
                .to_owned(),
        };
    }
    let hint = if message.contains("were not recognized") || message.contains(SETTING) {
        "the connection's options are passed to DuckDB as settings: correct or remove this option"
    } else if message.contains("not a valid DuckDB database file") {
        "name another file: this file was not changed"
    } else if message.contains("ermission denied") {
        "the user of this process may not write there: name another file, or grant the right"
    } else if message.contains("storage version") || message.contains("newer version") {
        "another version of DuckDB wrote this file: pip install -U duckdb"
    } else {
        "name a file that DuckDB can open and write to"
    };
    Error::Address {
        what: format!("DuckDB cannot open {}: {message}", file.display()),
        hint: hint.to_owned(),
    }
}

/// The holder in DuckDB's message about a lock: `/usr/bin/python3.11 (PID 8152)`.
fn holder(message: &str) -> String {
    let said = message
        .split_once("Conflicting lock is held in ")
        .and_then(|(_, rest)| Some(&rest[..=rest.find(')')?]))
        .or_else(|| {
            let (_, rest) = message.split_once("(PID ")?;
            Some(&rest[..rest.find(')')?])
        });
    match said {
        Some(said) => said.replace("(PID ", "(process "),
        None => format!("another process ({message})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_holds_the_lock_is_named() {
        let said = "IO Error: Could not set lock on file \"/tmp/a.duckdb\": Conflicting lock is held in \
            /usr/bin/python3.11 (PID 8152). See also https://duckdb.org/docs/current/connect/concurrency";
        let error = cannot_open(Path::new("/tmp/a.duckdb"), said);
        assert!(matches!(error, Error::Held { .. }));
        assert_eq!(
            error.to_string(),
            "/tmp/a.duckdb is held by /usr/bin/python3.11 (process 8152)"
        );
    }

    #[test]
    fn a_setting_is_what_is_to_be_mended() {
        for said in [
            format!("{SETTING} threads"),
            "Invalid Input Error: The following options were not recognized: nosuch".to_owned(),
        ] {
            let error = cannot_open(Path::new("x.duckdb"), &said);
            assert!(error.hint().expect("a hint").contains("as settings"));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_open_here_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(matches!(
            not_open_here(file.path()),
            Err(Error::Held { .. })
        ));
        let path = file.into_temp_path();
        assert!(not_open_here(&path).is_ok());
    }
}
