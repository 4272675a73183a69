//! The folders of a server: its data, and the private one for its socket.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::error::{EmbeddedError, file_error};
use crate::folder_records::ServerRecords;
use crate::open_folder::OpenFolder;
use crate::process::command_as;
use crate::server_user::{OsAccount, user_name};
use crate::wait_until_unused::{WAIT_LIMITS, wait_until_free};

/// The longest path of a socket: `sun_path` has 108 bytes with the NUL at its end.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The records in which a folder with data must be listed. `None` if there are no records: then no folder with data is
/// accepted.
pub(crate) struct Required<'a>(pub Option<&'a ServerRecords>);

/// A data folder that the user keeps, checked and locked.
pub(crate) struct Kept {
    /// The locked folder. The server's processes inherit its descriptor, so the lock lasts as long as they do.
    pub folder: OpenFolder,
    /// The user of its server.
    pub account: OsAccount,
    /// True if it must be filled by initdb.
    pub fresh: bool,
    /// True if this process made the folder itself.
    pub made: bool,
}

/// Makes a folder that only `account` (and root) may enter, in `parent`.
pub(crate) fn make_private(parent: &Path, account: &OsAccount) -> Result<PathBuf, EmbeddedError> {
    let parent = parent
        .canonicalize()
        .map_err(file_error("cannot use the folder", parent))?;
    let folder = tempfile::Builder::new()
        .prefix("inrush-")
        .rand_bytes(8)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&parent)
        .map_err(file_error("cannot make a private folder in", &parent))?;
    give_to(folder.path(), account)?;
    if !can_enter(account, folder.path()) {
        return Err(EmbeddedError::FolderUnreachable {
            folder: parent,
            account: account.name.clone(),
        });
    }
    Ok(folder.keep())
}

/// True if a socket in this folder has a path that works for the system and for clients: libpq reads a comma as the end
/// of a host.
pub(crate) fn fits_socket(folder: &Path, port: u16) -> bool {
    let socket = folder.join(format!(".s.PGSQL.{port}"));
    let path = socket.as_os_str().as_bytes();
    path.len() <= SOCKET_PATH_BYTES_MAX && !path.contains(&b',')
}

/// Makes a folder for the account inside a private one.
pub(crate) fn make_inside(folder: &Path, account: &OsAccount) -> Result<(), EmbeddedError> {
    DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .map_err(file_error("cannot make the folder", folder))?;
    give_to(folder, account)
}

/// Checks and locks a folder that is kept. If `records` are given, a folder with data must be in them.
pub(crate) fn prepare_kept(
    folder: &Path,
    major: u32,
    account: &OsAccount,
    records: Option<&Required<'_>>,
) -> Result<Kept, EmbeddedError> {
    let made = make_missing(folder)?;
    let opened = OpenFolder::open(folder).map_err(|source| match source.kind() {
        io::ErrorKind::NotADirectory => EmbeddedError::NotAFolder {
            path: folder.to_owned(),
        },
        _ => file_error("cannot use the folder", folder)(source),
    })?;
    let prepared = prepare_open(&opened, major, account, records);
    match prepared {
        Ok((account, fresh)) => Ok(Kept {
            folder: opened,
            account,
            fresh,
            made,
        }),
        Err(error) => {
            if made {
                // If the folder cannot be removed, the first error is still reported: it is the better message.
                let _ = std::fs::remove_dir(opened.path());
            }
            Err(error)
        }
    }
}

/// The user that the server of a folder runs as, and whether initdb must fill the folder.
fn prepare_open(
    folder: &OpenFolder,
    major: u32,
    account: &OsAccount,
    records: Option<&Required<'_>>,
) -> Result<(OsAccount, bool), EmbeddedError> {
    wait_until_free(folder.path(), folder.handle(), WAIT_LIMITS)?;
    let fresh = is_fresh(folder, major)?;
    if let (false, Some(records)) = (fresh, records) {
        let known = match records.0 {
            Some(records) => records.require_open(folder),
            None => Err("Inrush has no records of the folders that it made".to_owned()),
        };
        known.map_err(|reason| EmbeddedError::FolderUntrusted {
            folder: folder.path().to_owned(),
            reason,
        })?;
    }
    let account = owner(folder, account, fresh)?;
    if !can_enter(&account, folder.path()) {
        return Err(EmbeddedError::FolderUnreachable {
            folder: folder.path().to_owned(),
            account: account.name,
        });
    }
    folder.require_in_place()?;
    Ok((account, fresh))
}

/// Free bytes on the disk of a folder; 0 if the system does not say.
pub(crate) fn disk_free_bytes(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

fn make_missing(folder: &Path) -> Result<bool, EmbeddedError> {
    if folder.symlink_metadata().is_ok() {
        return Ok(false);
    }
    if let Some(parent) = folder.parent()
        && !parent.as_os_str().is_empty()
    {
        std::fs::create_dir_all(parent).map_err(file_error("cannot make the folder", parent))?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Ok(true),
        // Another run has created the folder in the meantime. The lock decides which run uses it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(file_error("cannot make the folder", folder)(error)),
    }
}

/// True if the folder is empty, false if it is a data folder of this version; otherwise an error.
fn is_fresh(folder: &OpenFolder, major: u32) -> Result<bool, EmbeddedError> {
    let path = folder.path();
    let first = folder
        .first_entry()
        .map_err(file_error("cannot read the folder", path))?;
    let Some(first) = first else {
        return Ok(true);
    };
    match folder.read_small("PG_VERSION") {
        Ok(found) => {
            let found = String::from_utf8_lossy(&found).trim().to_owned();
            match found == major.to_string() {
                true => Ok(false),
                false => Err(EmbeddedError::FolderVersion {
                    folder: path.to_owned(),
                    found,
                    wanted: major,
                }),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(EmbeddedError::FolderForeign {
                folder: path.to_owned(),
                found: first,
            })
        }
        Err(error) => Err(file_error("cannot read", &path.join("PG_VERSION"))(error)),
    }
}

/// The user that serves the folder: its owner; for an empty folder the current user, or root's substitute.
fn owner(
    folder: &OpenFolder,
    account: &OsAccount,
    fresh: bool,
) -> Result<OsAccount, EmbeddedError> {
    let (path, handle) = (folder.path(), folder.handle());
    let metadata = handle
        .metadata()
        .map_err(file_error("cannot read the folder", path))?;
    if fresh && account.change {
        fchown(handle, Some(account.uid), Some(account.gid))
            .map_err(file_error("cannot change the owner of", path))?;
        handle
            .set_permissions(Permissions::from_mode(0o700))
            .map_err(file_error("cannot set the mode of", path))?;
        return Ok(account.clone());
    }
    account
        .of_owner(metadata.uid(), metadata.gid())
        .ok_or_else(|| EmbeddedError::FolderOwner {
            folder: path.to_owned(),
            owner: user_name(metadata.uid()),
            account: account.name.clone(),
        })
}

fn give_to(path: &Path, account: &OsAccount) -> Result<(), EmbeddedError> {
    if !account.change {
        return Ok(());
    }
    chown(path, Some(account.uid), Some(account.gid))
        .map_err(file_error("cannot change the owner of", path))
}

/// True if the user can enter the folder. The system is asked as that user, because file modes alone do not decide.
fn can_enter(account: &OsAccount, folder: &Path) -> bool {
    if !account.change {
        // This process runs as the account, which has just created the folder or owns it.
        return true;
    }
    command_as(Path::new("/bin/sh"), account, Signal::KILL, &[])
        .args(["-c", "cd -P -- \"$1\"", "sh"])
        .arg(folder)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
