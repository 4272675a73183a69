//! The lock of a run, so that nobody else loads it at the same time.

use std::fmt::Display;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inrush_destination::{Error, Result};
use inrush_rows::ids::RunKey;
use inrush_system::lock_file::{self, LockAttempt};
use sha2::{Digest, Sha256};

use crate::quirks::{Quirks, RunLock};
use crate::session::AdbcSession;

/// The lock of a run. It is released when this value is dropped or the session of the lock ends.
#[derive(Debug)]
pub enum Held {
    /// No lock object: the database locks its file, the session holds an advisory lock, or only the ledger names the
    /// holder.
    Elsewhere,
    /// A lock file.
    File {
        /// Removed on drop.
        _file: LockFile,
    },
}

const ASKING: &str = "cannot take the run's lock";
const HINT: &str = "wait until it is done, or stop it, then run the same command again";

/// Takes the lock of a run, or fails with the name of its holder.
pub fn take(
    session: &mut AdbcSession,
    quirks: &Quirks,
    run_key: &RunKey,
    holder: &str,
) -> Result<Held> {
    match quirks.run_lock {
        RunLock::DatabaseFile | RunLock::LedgerOnly => Ok(Held::Elsewhere),
        RunLock::LockFile => match database_file(session)? {
            Some(file) => LockFile::take(&file, holder).map(|_file| Held::File { _file }),
            None => Ok(Held::Elsewhere),
        },
        RunLock::Advisory => advisory(session, run_key),
    }
}

/// The path of a SQLite database; `None` for a database in memory.
pub fn database_file(session: &mut AdbcSession) -> Result<Option<PathBuf>> {
    let rows = session.rows(
        "cannot look up the path of the database's file",
        "PRAGMA database_list",
    )?;
    let main = rows.into_iter().find(|row| {
        row.get(1)
            .is_some_and(|name| name.as_deref() == Some("main"))
    });
    let file = main.and_then(|row| row.into_iter().nth(2)).flatten();
    Ok(file.filter(|file| !file.is_empty()).map(PathBuf::from))
}

/// A file that is locked while this value lives, and removed afterwards.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// The path of the file for a database.
    fn path(database: &Path) -> PathBuf {
        let mut name = database.as_os_str().to_owned();
        name.push(".inrush-lock");
        PathBuf::from(name)
    }

    fn take(database: &Path, holder: &str) -> Result<LockFile> {
        let path = LockFile::path(database);
        let failed = Error::file("cannot lock", &path);
        loop {
            let file = match lock_file::try_take(&path, holder).map_err(&failed)? {
                LockAttempt::Ours(file) => file,
                LockAttempt::Others(other) => {
                    return Err(Error::Held {
                        what: format!("{} is being loaded by {other}", database.display()),
                        hint: HINT.to_owned(),
                    });
                }
            };
            // The former holder removes the file before it releases the lock, so the lock of a removed file is void.
            let locked = file.metadata().map_err(&failed)?.ino();
            if std::fs::metadata(&path).is_ok_and(|there| there.ino() == locked) {
                return Ok(LockFile { path, _file: file });
            }
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // A file that remains does no harm, because its lock is released.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The query that takes the lock in PostgreSQL. It waits a little, because the session of a loader that was just killed may not
/// have ended yet. The limit holds for this statement alone.
pub fn advisory_statement(key: impl Display) -> String {
    format!("SELECT set_config('lock_timeout', '3s', true), pg_advisory_lock({key})::text")
}

/// True if another process holds the lock of a run that `holder` has begun or resumed last; `None` if this cannot be
/// found out.
pub fn is_held(
    session: &mut AdbcSession,
    quirks: &Quirks,
    run_key: &RunKey,
    holder: &str,
) -> Result<Option<bool>> {
    match quirks.run_lock {
        // This process has opened the file, so no other process has it open.
        RunLock::DatabaseFile => Ok(Some(false)),
        RunLock::LedgerOnly => Ok(None),
        RunLock::LockFile => {
            let Some(database) = database_file(session)? else {
                return Ok(Some(false));
            };
            // Runs of all packages share the lock file; it contains the name of its holder.
            let path = LockFile::path(&database);
            let held_by =
                lock_file::held_by(&path).map_err(Error::file("cannot check the lock", &path))?;
            Ok(Some(held_by.as_deref() == Some(holder)))
        }
        RunLock::Advisory => Ok(Some(
            advisory_holder(session, advisory_key(run_key))?.is_some(),
        )),
    }
}

/// For PostgreSQL: the session has the lock, so the lock ends with its process.
fn advisory(session: &mut AdbcSession, run_key: &RunKey) -> Result<Held> {
    let key = advisory_key(run_key);
    let Err(error) = session.rows(ASKING, &advisory_statement(key)) else {
        return Ok(Held::Elsewhere);
    };
    if matches!(error, Error::Interrupted) {
        return Err(error);
    }
    // The driver returns no code for an error that arrives with the rows of a result, so the list of locks is read.
    let Some(who) = advisory_holder(session, key)? else {
        return Err(error);
    };
    Err(Error::Held {
        what: format!("this package is being loaded by {who}"),
        hint: HINT.to_owned(),
    })
}

fn advisory_key(run_key: &RunKey) -> i64 {
    let digest = Sha256::digest(format!("inrush adbc run {run_key}").as_bytes());
    let (head, _) = digest.split_first_chunk::<8>().expect("32 bytes");
    i64::from_be_bytes(*head)
}

/// The session that holds an advisory lock, in words; `None` if no session holds it.
fn advisory_holder(session: &mut AdbcSession, key: i64) -> Result<Option<String>> {
    let (class, object) = ((key >> 32) as u32, key as u32);
    let who = session.rows(
        ASKING,
        &format!(
            "SELECT a.pid, a.usename::text, coalesce(host(a.client_addr), 'this server') \
             FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid \
             WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
             AND l.classid = {class} AND l.objid = {object} \
             AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())"
        ),
    )?;
    Ok(who.into_iter().next().map(|words| {
        let words: Vec<String> = words.into_iter().map(Option::unwrap_or_default).collect();
        match words.as_slice() {
            [process, user, host] => {
                format!("the session of user {user} from {host} (server process {process})")
            }
            _ => "another session".to_owned(),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_holds_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("x.sqlite");
        let first = LockFile::take(&database, "host a, process 7").expect("taken");
        let held_by = || lock_file::held_by(&LockFile::path(&database)).expect("asked");
        assert_eq!(held_by().as_deref(), Some("host a, process 7"));
        let second = LockFile::take(&database, "host b").expect_err("held");
        assert!(
            second
                .to_string()
                .ends_with("is being loaded by host a, process 7")
        );
        drop(first);
        assert_eq!(held_by(), None);
        drop(LockFile::take(&database, "host b").expect("free again"));
        let left = std::fs::read_dir(folder.path()).expect("read").count();
        assert_eq!(left, 0);
    }
}
