//! Records of the data folders that were made here, because code that is stored in a folder runs as its server's user.
//!
//! A folder may have come with a package of another person. Each folder that is made here contains a random id. A file
//! with the id as its name, in the caller's own state outside the folder, contains the folder's path. The sender of a
//! folder can neither write that file nor guess its name.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::open_folder::{OpenFolder, read_small};
use crate::server_user::effective_uid;

/// The file in a data folder that holds its id: 32 digits of base 16.
const ID_FILE: &str = "inrush-folder-id";

const ID_BYTES: usize = 16;

/// The records of a user, one file for each data folder.
#[derive(Clone, Debug)]
pub struct ServerRecords {
    folder: PathBuf,
}

impl ServerRecords {
    /// The records in this folder, which is created with the first record.
    pub fn new(folder: PathBuf) -> ServerRecords {
        ServerRecords { folder }
    }

    /// Checks that the data folder was made here, or was opened here with the user's permission; otherwise returns the
    /// reason to doubt it.
    pub fn require(&self, data: &Path) -> Result<(), String> {
        let folder =
            OpenFolder::open(data).map_err(|error| format!("it cannot be read: {error}"))?;
        self.require_open(&folder)
    }

    /// Like [`Self::require`], for a folder that is already open.
    pub(crate) fn require_open(&self, folder: &OpenFolder) -> Result<(), String> {
        let id = folder
            .read_small(ID_FILE)
            .ok()
            .and_then(|text| String::from_utf8(text).ok())
            .filter(|id| is_id(id))
            .ok_or("Inrush has no record that it made this folder")?;
        let record = self.folder.join(id);
        for owned in [&self.folder, &record] {
            require_ours(owned).map_err(|problem| {
                format!(
                    "Inrush has no reliable record of this folder: {} {problem}",
                    owned.display()
                )
            })?;
        }
        let recorded = open_file(&record)
            .and_then(read_small)
            .map_err(|error| format!("its record {} cannot be read: {error}", record.display()))?;
        if recorded == folder.path().as_os_str().as_bytes() {
            return Ok(());
        }
        Err(format!(
            "Inrush made it as {}: it was moved or copied",
            Path::new(OsStr::from_bytes(&recorded)).display()
        ))
    }

    /// Records a data folder, unless it is already recorded. Fails if the record could not be trusted later.
    pub(crate) fn add(&self, folder: &OpenFolder) -> io::Result<()> {
        if self.require_open(folder).is_ok() {
            return Ok(());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        require_ours(&self.folder)
            .map_err(|problem| io::Error::other(format!("{} {problem}", self.folder.display())))?;
        let id = random_id()?;
        write_new(&self.folder.join(&id), folder.path().as_os_str().as_bytes())?;
        folder.write_small(ID_FILE, id.as_bytes())
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 2 * ID_BYTES
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn random_id() -> io::Result<String> {
    let mut bytes = [0; ID_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Checks that a file or folder belongs to the caller and that nobody else may write to it; otherwise returns the
/// problem.
fn require_ours(path: &Path) -> Result<(), String> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("does not exist".to_owned());
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if found.uid() != effective_uid() {
        return Err(format!("belongs to user {}", found.uid()));
    }
    if !found.is_symlink() && found.mode() & 0o022 != 0 {
        return Err(format!(
            "can be changed by others (mode {:03o}); remove that right: chmod go-w {}",
            found.mode() & 0o777,
            path.display()
        ));
    }
    Ok(())
}

/// Opens a file to read it; a link is not followed, and a pipe is not waited for.
fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?
        .write_all(text)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Case {
        folder: tempfile::TempDir,
        records: ServerRecords,
        data: PathBuf,
    }

    impl Case {
        fn new() -> Case {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path().join("data");
            fs::create_dir(&data).unwrap();
            let records = ServerRecords::new(folder.path().join("state/inrush/embedded"));
            Case {
                records,
                data,
                folder,
            }
        }

        fn add(&self, data: &Path) {
            let folder = OpenFolder::open(data).unwrap();
            self.records.add(&folder).unwrap();
        }

        fn reason(&self) -> String {
            self.records.require(&self.data).unwrap_err()
        }

        fn record(&self) -> PathBuf {
            let id = fs::read_to_string(self.data.join(ID_FILE)).unwrap();
            self.records.folder.join(id)
        }
    }

    #[test]
    fn a_folder_is_known_once_it_is_recorded() {
        let case = Case::new();
        assert!(case.reason().contains("no record"));
        case.add(&case.data);
        case.records.require(&case.data).unwrap();
        case.add(&case.data);
        assert_eq!(fs::read_dir(&case.records.folder).unwrap().count(), 1);
        // A link to the folder leads to the same record.
        let link = case.folder.path().join("link");
        symlink(&case.data, &link).unwrap();
        case.records.require(&link).unwrap();
    }

    #[test]
    fn a_copy_is_not_known() {
        let case = Case::new();
        case.add(&case.data);
        let copy = case.folder.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::copy(case.data.join(ID_FILE), copy.join(ID_FILE)).unwrap();
        let reason = case.records.require(&copy).unwrap_err();
        assert!(reason.contains("moved or copied"), "{reason}");
        case.add(&copy);
        case.records.require(&copy).unwrap();
        case.records.require(&case.data).unwrap();
    }

    #[test]
    fn the_folder_that_is_checked_is_the_one_that_was_opened() {
        let case = Case::new();
        case.add(&case.data);
        let foreign = case.folder.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        let link = case.folder.path().join("link");
        symlink(&case.data, &link).unwrap();
        let opened = OpenFolder::open(&link).unwrap();
        // Another process exchanges the link between the two checks.
        fs::remove_file(&link).unwrap();
        symlink(&foreign, &link).unwrap();
        case.records.require_open(&opened).unwrap();
        assert_eq!(opened.path(), case.data.canonicalize().unwrap());
        assert!(case.records.require(&link).is_err());
    }

    #[test]
    fn another_folder_in_its_place_is_not_known() {
        let case = Case::new();
        case.add(&case.data);
        for id in [
            "",
            "../../../data/x",
            "0123456789abcdef0123456789abcdef",
            "..",
        ] {
            fs::write(case.data.join(ID_FILE), id).unwrap();
            assert!(case.reason().contains("record"), "{id}: {}", case.reason());
        }
        fs::remove_file(case.data.join(ID_FILE)).unwrap();
        symlink("/dev/zero", case.data.join(ID_FILE)).unwrap();
        assert!(case.reason().contains("no record"));
    }

    #[test]
    fn what_others_may_write_proves_nothing() {
        for is_folder in [true, false] {
            let case = Case::new();
            case.add(&case.data);
            let open = if is_folder {
                case.records.folder.clone()
            } else {
                case.record()
            };
            fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
            assert!(case.reason().contains("can be changed by others"));
        }
    }
}
