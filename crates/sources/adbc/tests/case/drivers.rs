//! Tests find the drivers of DuckDB and SQLite in the wheels of the repository's `.venv`.
//!
//! The tests of `crates/transform` include this file as well.
#![expect(
    unsafe_code,
    reason = "loads the library of Python, as a Python program has it"
)]
#![expect(
    clippy::disallowed_macros,
    reason = "tests and examples print their own results"
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of Python packages with the drivers: the folder of `.venv`, or a folder that a `.pth` file there names.
pub fn site_packages() -> Option<PathBuf> {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let repository = above.find(|folder| folder.join("Cargo.lock").exists())?;
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let pythons = entries(&repository.join(".venv/lib")).into_iter();
    let own = pythons.map(|python| python.join("site-packages"));
    let sites = own.flat_map(|site| {
        let files = entries(&site).into_iter();
        let paths = files.filter(|path| path.extension().is_some_and(|end| end == "pth"));
        let texts: Vec<String> = paths.flat_map(std::fs::read_to_string).collect();
        let named = texts
            .iter()
            .flat_map(|text| text.lines())
            .map(PathBuf::from);
        std::iter::once(site).chain(named).collect::<Vec<_>>()
    });
    let found = sites
        .filter(|site| site.join("duckdb").is_dir() && site.join("adbc_driver_sqlite").is_dir())
        .min();
    assert!(
        found.is_some() || std::env::var_os("CI").is_none(),
        "no drivers of DuckDB and SQLite in .venv"
    );
    found
}

/// True if this process can load the library of DuckDB's wheel. It is a Python extension, so it needs the symbols of Python's own
/// library, which not every Python has as a file.
pub fn has_duckdb() -> bool {
    static LOADED: OnceLock<bool> = OnceLock::new();
    *LOADED.get_or_init(|| {
        let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let repository = above.find(|folder| folder.join("Cargo.lock").exists());
        let python =
            repository.and_then(|folder| folder.join(".venv/bin/python").canonicalize().ok());
        let Some(python) = python else { return false };
        let name = python
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let library = python.with_file_name(format!("../lib/lib{name}.so"));
        let flags = libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_GLOBAL;
        // SAFETY: Python's library may be loaded at any time; it is never unloaded.
        let loaded = unsafe { libloading::os::unix::Library::open(Some(&library), flags) };
        let is_loaded = loaded.is_ok() && site_packages().is_some();
        std::mem::forget(loaded);
        if !is_loaded {
            eprintln!(
                "SKIPPED: {} cannot be loaded, so DuckDB's wheel cannot",
                library.display()
            );
        }
        is_loaded
    })
}
