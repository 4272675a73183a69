//! The file of `--save-package`: written once, and never over another package.

use std::path::Path;

use crate::errors::CommandError;

/// Writes the package. An existing file is not overwritten, because somebody may have edited it.
pub fn save(text: &str, path: &Path) -> Result<(), CommandError> {
    if std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create_new(path)?;
        std::io::Write::write_all(&mut file, text.as_bytes())
    };
    write().map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => taken(path),
        _ => unwritable(path, source),
    })
}

/// Refuses a path to which [`save`] could not write, as far as this can be checked without writing.
pub fn may_save(text: &str, path: &Path) -> Result<(), CommandError> {
    if std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    if path.symlink_metadata().is_ok() {
        return Err(taken(path));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let tried = tempfile::NamedTempFile::new_in(folder).map(drop);
    tried.map_err(|source| unwritable(path, source))
}

fn taken(path: &Path) -> CommandError {
    CommandError::Usage {
        what: format!(
            "--save-package: {} exists with other content",
            path.display()
        ),
        hint: "choose another name, or remove it; `inrush run` runs it as it is".to_owned(),
    }
}

fn unwritable(path: &Path, source: std::io::Error) -> CommandError {
    CommandError::File {
        doing: "cannot write",
        path: path.to_owned(),
        source,
    }
}
