//! Finds a driver, and loads it.

use std::path::{Path, PathBuf};

use adbc_core::options::AdbcVersion;
use adbc_core::{LOAD_FLAG_DEFAULT, error::Result as AdbcResult};
use adbc_driver_manager::ManagedDriver;
use inrush_destination::address::names_library;
use inrush_destination::{Error, Result};
use inrush_system::address_space::lacks;

/// The entry point of the ADBC driver in the library of the `duckdb` wheel.
pub const DUCKDB_ENTRYPOINT: &str = "duckdb_adbc_init";

/// The least address space for DuckDB's library, its buffers and its threads.
const DUCKDB_BYTES: u64 = 1 << 30;

/// DuckDB's library: from its wheel, or the file that the option `driver` names.
pub fn duckdb_library(option: Option<&str>, site_packages: Option<&Path>) -> Result<PathBuf> {
    if let Some(space) = lacks(DUCKDB_BYTES) {
        return Err(Error::Unsuitable {
            what: format!(
                "DuckDB needs {} MiB of address space, and {space}",
                DUCKDB_BYTES >> 20
            ),
            hint: "raise the limit (ulimit -v unlimited); to limit DuckDB's memory, set \
                   memory_limit in the connection's options"
                .to_owned(),
        });
    }
    match option {
        Some(driver) => Ok(PathBuf::from(driver)),
        None => find_duckdb(site_packages).ok_or_else(|| Error::Address {
            what: format!(
                "the library of DuckDB was not found: no _duckdb*.so {}",
                place(site_packages)
            ),
            hint: "pip install duckdb, or name the library of DuckDB with the connection's option driver"
                .to_owned(),
        }),
    }
}

/// Loads DuckDB's library as an ADBC driver.
pub fn load_duckdb(library: &Path) -> Result<ManagedDriver> {
    load_library(library, Some(DUCKDB_ENTRYPOINT))
}

/// Loads a driver by its name (`sqlite`, `adbc_driver_sqlite`), by the path of its library or manifest, or by the name
/// of a manifest.
pub fn load(
    driver: &str,
    entrypoint: Option<&str>,
    folder: &Path,
    site_packages: Option<&Path>,
) -> Result<ManagedDriver> {
    if driver.is_empty() {
        return Err(Error::Address {
            what: "adbc: names no driver".to_owned(),
            hint: "write adbc:NAME, as in adbc:sqlite, or adbc:PATH of a driver's library"
                .to_owned(),
        });
    }
    if driver.eq_ignore_ascii_case("duckdb") {
        let library = duckdb_library(None, site_packages)?;
        return load_duckdb(&library);
    }
    if names_library(driver) {
        let path = folder.join(driver);
        if !path.is_file() {
            return Err(Error::Address {
                what: format!("the ADBC driver {} does not exist", path.display()),
                hint: "check the path of the driver's library or manifest".to_owned(),
            });
        }
        let is_duckdb = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains("duckdb"));
        let entrypoint = entrypoint.or(is_duckdb.then_some(DUCKDB_ENTRYPOINT));
        return load_library(&path, entrypoint);
    }
    let package = match driver.strip_prefix("adbc_driver_") {
        Some(_) => driver.to_owned(),
        None => format!("adbc_driver_{}", driver.replace('-', "_")),
    };
    if let Some(library) = find_wheel(&package, site_packages) {
        return load_library(&library, entrypoint);
    }
    attempt(|version| {
        ManagedDriver::load_from_name(
            driver,
            entrypoint.map(str::as_bytes),
            version,
            LOAD_FLAG_DEFAULT,
            None,
        )
    })
    .map_err(|error| Error::Address {
        what: format!(
            "the ADBC driver {driver:?} was not found: no {package} {}, and no manifest of that name ({})",
            place(site_packages),
            error.message.trim()
        ),
        hint: format!(
            "pip install {}, or write the path of the driver's library: adbc:/PATH/lib{package}.so",
            package.replace('_', "-")
        ),
    })
}

fn place(site_packages: Option<&Path>) -> String {
    match site_packages {
        Some(folder) => format!("in {}", folder.display()),
        None => "in the folder of Python packages, which is not known here".to_owned(),
    }
}

fn load_library(path: &Path, entrypoint: Option<&str>) -> Result<ManagedDriver> {
    attempt(|version| {
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let entrypoint = entrypoint.map(str::as_bytes);
            return ManagedDriver::load_from_name(
                path,
                entrypoint,
                version,
                LOAD_FLAG_DEFAULT,
                None,
            );
        }
        ManagedDriver::load_dynamic_from_filename(path, entrypoint.map(str::as_bytes), version)
    })
    .map_err(|error| {
        let hint = "is it an ADBC driver for this machine? If its entry point has another name, \
                    set the connection's option entrypoint";
        unloaded(path, error.message.trim(), hint)
    })
}

/// The error for a library that cannot be loaded.
pub fn unloaded(path: &Path, message: &str, hint: &str) -> Error {
    // The library of the wheel is a Python extension, and needs Python's symbols.
    let needs_python = message.contains("undefined symbol: Py");
    Error::Address {
        what: format!("the driver {} cannot be loaded: {message}", path.display()),
        hint: if needs_python {
            "this is a Python library: start Inrush as a Python program (python -m inrush)"
        } else {
            hint
        }
        .to_owned(),
    }
}

/// Loads with the newest ADBC version that the driver supports; before 1.1.0 nothing can be cancelled.
fn attempt(load: impl Fn(AdbcVersion) -> AdbcResult<ManagedDriver>) -> AdbcResult<ManagedDriver> {
    load(AdbcVersion::V110).or_else(|newest| load(AdbcVersion::V100).map_err(|_| newest))
}

/// `_duckdb*.so`, which is beside the package `duckdb` since version 1.4, and was inside it before.
fn find_duckdb(site_packages: Option<&Path>) -> Option<PathBuf> {
    let site_packages = site_packages?;
    let is_library = |name: &str| {
        (name.starts_with("_duckdb") || name.starts_with("duckdb."))
            && [".so", ".pyd", ".dylib"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    first_file(site_packages, is_library)
        .or_else(|| first_file(&site_packages.join("duckdb"), is_library))
}

/// `adbc_driver_X/libadbc_driver_X.so`.
fn find_wheel(package: &str, site_packages: Option<&Path>) -> Option<PathBuf> {
    first_file(&site_packages?.join(package), |name| {
        name.contains(package)
            && [".so", ".dll", ".dylib"]
                .iter()
                .any(|end| name.ends_with(end))
    })
}

fn first_file(folder: &Path, is_it: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(&is_it)
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_in_wheels() {
        let folder = tempfile::tempdir().expect("a folder");
        let touch = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, "").expect("written");
            path
        };
        assert_eq!(find_duckdb(Some(folder.path())), None);
        touch("_duckdb-stubs");
        let duckdb = touch("_duckdb.cpython-311-x86_64-linux-gnu.so");
        assert_eq!(find_duckdb(Some(folder.path())), Some(duckdb));
        let sqlite = touch("adbc_driver_sqlite/libadbc_driver_sqlite.so");
        touch("adbc_driver_sqlite/__init__.py");
        assert_eq!(
            find_wheel("adbc_driver_sqlite", Some(folder.path())),
            Some(sqlite)
        );
    }

    #[test]
    fn what_is_missing_is_said_with_its_mend() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path();
        let told = |result: Result<ManagedDriver>| {
            let error = result.expect_err("nothing is there");
            format!("{error}: {}", error.hint().expect("a hint"))
        };
        assert!(told(load("duckdb", None, place, Some(place))).contains("pip install duckdb"));
        let missing = told(load("nowhere", None, place, Some(place)));
        assert!(
            missing.contains("pip install adbc-driver-nowhere"),
            "{missing}"
        );
        assert!(told(load("./x.so", None, place, None)).contains("does not exist"));
        std::fs::write(place.join("x.so"), "no library").expect("written");
        assert!(told(load("./x.so", None, place, None)).contains("cannot be loaded"));
    }
}
