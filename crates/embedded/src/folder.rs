//! The folders of a server: its data, and the private one for its socket.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::account::{OsAccount, user_name};
use crate::error::{EmbeddedError, file_error};
use crate::free::{PATIENCE, wait_until_free};
use crate::process::command_as;

/// The longest path of a socket: `sun_path` has 108 bytes with the NUL at its end.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A data folder that the user keeps, checked and locked.
pub(crate) struct Kept {
    /// Its canonical path.
    pub path: PathBuf,
    /// The user that its server runs as.
    pub account: OsAccount,
    /// Whether it must be filled by initdb.
    pub fresh: bool,
    /// Whether we made the folder itself.
    pub made: bool,
    /// Holds the lock; the server's processes inherit it, so that it lasts as long as they.
    pub lock: File,
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

/// Whether a socket in this folder has a path that the system takes, and that clients take:
/// libpq reads a comma as the end of a host.
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

/// Checks and locks a folder that is kept.
pub(crate) fn prepare_kept(
    folder: &Path,
    major: u32,
    account: &OsAccount,
) -> Result<Kept, EmbeddedError> {
    let made = make_missing(folder)?;
    let path = folder
        .canonicalize()
        .map_err(file_error("cannot use the folder", folder))?;
    let prepared = (|| {
        if !path.is_dir() {
            return Err(EmbeddedError::NotAFolder { path: path.clone() });
        }
        let lock = File::open(&path).map_err(file_error("cannot read the folder", &path))?;
        wait_until_free(&path, &lock, PATIENCE)?;
        let fresh = is_fresh(&path, major)?;
        let account = owner(&path, account, fresh)?;
        if !can_enter(&account, &path) {
            return Err(EmbeddedError::FolderUnreachable {
                folder: path.clone(),
                account: account.name,
            });
        }
        Ok(Kept {
            path: path.clone(),
            account,
            fresh,
            made,
            lock,
        })
    })();
    if made && prepared.is_err() {
        // It is empty and ours; what else went wrong is the better message.
        let _ = std::fs::remove_dir(&path);
    }
    prepared
}

/// Free bytes on the disk of a folder; 0 where the system does not say.
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
        // Another run was faster: the lock decides between us.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(file_error("cannot make the folder", folder)(error)),
    }
}

/// Whether the folder is empty; an error when it is not and no data folder of this version.
fn is_fresh(path: &Path, major: u32) -> Result<bool, EmbeddedError> {
    let mut entries =
        std::fs::read_dir(path).map_err(file_error("cannot read the folder", path))?;
    let Some(first) = entries.next() else {
        return Ok(true);
    };
    let version_file = path.join("PG_VERSION");
    match std::fs::read_to_string(&version_file) {
        Ok(found) if found.trim() == major.to_string() => Ok(false),
        Ok(found) => Err(EmbeddedError::FolderVersion {
            folder: path.to_owned(),
            found: found.trim().to_owned(),
            wanted: major,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let first = first.map_err(file_error("cannot read the folder", path))?;
            Err(EmbeddedError::FolderForeign {
                folder: path.to_owned(),
                found: first.file_name().to_string_lossy().into_owned(),
            })
        }
        Err(error) => Err(file_error("cannot read", &version_file)(error)),
    }
}

/// The user that serves the folder: for an empty one ours (root gives it away), else its owner.
fn owner(path: &Path, account: &OsAccount, fresh: bool) -> Result<OsAccount, EmbeddedError> {
    let metadata = path
        .metadata()
        .map_err(file_error("cannot read the folder", path))?;
    if fresh && account.change {
        give_to(path, account)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o700))
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

/// Asks the system itself, as that user: modes alone are not the whole truth.
fn can_enter(account: &OsAccount, folder: &Path) -> bool {
    if !account.change {
        // We have just made it, or own it.
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
