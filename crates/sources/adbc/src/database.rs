//! Opens a database for reading, and never creates one. A file of DuckDB that the destination has open is read through
//! further connections to the same instance.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use adbc_core::error::{Error as AdbcError, Result as AdbcResult};
use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{Database as _, Driver as _};
use adbc_driver_manager::{ManagedDatabase, ManagedDriver};
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::database::{Instance, instance_of};
use inrush_adbcclient::secrets::Secrets;
use inrush_adbcclient::{driver_library, duckdb_file, vendor_of};
use inrush_destination::Address;
use inrush_destination::Error as ClientError;
use inrush_destination::address::DestinationKind;
use inrush_rows::cancel::Stop;
use inrush_source::{SourceError, never_the_same};

use crate::error::{input_error, of_adbc, of_client, unsuitable};
use crate::session::Session;

/// The databases of a run. A file of DuckDB is opened once: closing a second instance in the same process would release
/// the lock of the first.
#[derive(Debug, Default)]
pub struct Databases(Mutex<BTreeMap<String, Arc<Database>>>);

/// The database behind a connection, as its driver identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// DuckDB.
    DuckDb,
    /// SQLite.
    Sqlite,
    /// Any other.
    Other,
}

/// An open database.
pub struct Database {
    /// The kind of the database.
    pub vendor: Vendor,
    /// Its kind and place, without secrets.
    pub described: String,
    /// Texts that name it, without secrets.
    pub identity: Vec<String>,
    /// True if its driver may be asked for the partitions of a result.
    pub has_partitions: bool,
    /// True if a transaction of the isolation level REPEATABLE READ reads one snapshot and makes no writer wait.
    pub has_snapshots: bool,
    /// Its file, if the database is a file.
    file: Option<PathBuf>,
    secrets: Secrets,
    opened: Opened,
}

enum Opened {
    /// Opened by a driver.
    Driver(ManagedDatabase),
    /// A file of DuckDB that the destination has open.
    DuckDb(Arc<Instance>),
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("described", &self.described)
            .finish_non_exhaustive()
    }
}

impl Databases {
    /// The database of an address. All calls with the same address return the same database.
    pub fn open(&self, address: &Address<'_>, stop: &Stop) -> Result<Arc<Database>, SourceError> {
        let key = format!("{} {:?} {:?}", address.url, address.options, address.folder);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return Ok(Arc::clone(known));
        }
        let opened = Arc::new(Database::open(address, stop)?);
        known.insert(key, Arc::clone(&opened));
        Ok(opened)
    }
}

/// Drivers that are known to cut answers into partitions. Other drivers are not asked. The driver of PostgreSQL (1.13)
/// refuses without an error message; `adbc_ffi` (0.25) then asks that driver for details of the error, which do not
/// exist, and the process ends.
const PARTITIONING_DRIVERS: [&str; 1] = ["flightsql"];

/// How a database is opened.
struct Opening {
    driver: ManagedDriver,
    options: BTreeMap<String, String>,
    file: Option<PathBuf>,
    is_duckdb: bool,
    has_partitions: bool,
    /// Its name in messages.
    place: PathBuf,
}

impl Database {
    /// Opens the database of an address.
    pub fn open(address: &Address<'_>, stop: &Stop) -> Result<Database, SourceError> {
        let Opening {
            mut driver,
            options,
            file,
            is_duckdb,
            has_partitions,
            place,
        } = opening(address)?;
        let secrets = Secrets::of(address.options);
        let duckdb_file = file.as_deref().filter(|_| is_duckdb);
        if let Some(file) = duckdb_file
            && let Some(instance) = instance_of(file)
        {
            return Ok(Database {
                vendor: Vendor::DuckDb,
                described: format!("DuckDB {}, {}", instance.version(), place.display()),
                identity: vec!["DuckDB".to_owned(), absolute(file).display().to_string()],
                has_partitions,
                has_snapshots: false,
                file: Some(file.to_owned()),
                secrets,
                opened: Opened::DuckDb(instance),
            });
        }
        let guard = match duckdb_file {
            Some(file) => {
                let guard = duckdb_file::opening();
                duckdb_file::not_open_here(file).map_err(|_| open_here(file))?;
                Some(guard)
            }
            None => None,
        };
        let with_values = options.iter().map(|(key, value)| {
            let value = OptionValue::String(value.clone());
            (OptionDatabase::from(key.as_str()), value)
        });
        let failed = |error: AdbcError| match duckdb_file {
            Some(file) => of_client(&place, &duckdb_file::cannot_open(file, &error.message)),
            None => {
                let message = secrets.without(error.message.trim());
                let error = AdbcError::with_message_and_status(message, error.status);
                of_adbc(&place, "the database cannot be opened", &error, stop)
            }
        };
        let database = driver.new_database_with_opts(with_values).map_err(failed)?;
        let (name, version) = vendor_of(&database).map_err(failed)?;
        drop(guard);
        let vendor = match name.to_lowercase().as_str() {
            "duckdb" => Vendor::DuckDb,
            "sqlite" => Vendor::Sqlite,
            _ => Vendor::Other,
        };
        let product = match vendor {
            Vendor::DuckDb => "DuckDB",
            Vendor::Sqlite => "SQLite",
            Vendor::Other if name.is_empty() => "a database",
            Vendor::Other => &name,
        };
        let identity = match &file {
            Some(file) => vec![product.to_owned(), absolute(file).display().to_string()],
            None => {
                let told = address.options.iter();
                let told = told.map(|(name, value)| secrets.without(&format!("{name}={value}")));
                let url = address.url.to_owned();
                std::iter::once(url).chain(told).collect()
            }
        };
        Ok(Database {
            vendor,
            described: format!("{product} {version}, {}", place.display()).replace(" ,", ","),
            identity,
            has_partitions,
            has_snapshots: name.eq_ignore_ascii_case("postgresql"),
            file,
            secrets,
            opened: Opened::Driver(database),
        })
    }

    /// The condition, as in WHERE, for the rows in a range of an incremental load; `None` if nothing is known about the
    /// times of the database.
    pub fn times_in_range(&self, column: &str, from: Option<&str>, below: &str) -> Option<String> {
        crate::since::times_in_range(self.vendor, column, from, below)
    }

    /// Opens another connection.
    pub fn connect(&self) -> AdbcResult<Session> {
        match &self.opened {
            Opened::Driver(database) => database.new_connection().map(Session::Driver),
            Opened::DuckDb(instance) => Link::open(Arc::clone(instance)).map(Session::DuckDb),
        }
    }

    /// The error of a statement, without secrets.
    pub fn refused(
        &self,
        input: &Path,
        doing: &str,
        error: &AdbcError,
        stop: &Stop,
    ) -> SourceError {
        let message = self.secrets.without(&error.message);
        let error = AdbcError::with_message_and_status(message, error.status);
        of_adbc(input, doing, &error, stop)
    }

    /// A message without the secrets of the connection.
    pub fn without_secrets(&self, message: &str) -> String {
        self.secrets.without(message)
    }

    /// True if no program can write to the database while it is open here: DuckDB locks the file that it reads.
    pub fn keeps_writers_out(&self) -> bool {
        self.vendor == Vendor::DuckDb && matches!(self.opened, Opened::Driver(_))
    }

    /// A text that differs after the database was written to. It must be taken before the rows are read.
    pub fn mark(&self) -> String {
        let Some(file) = &self.file else {
            return never_the_same();
        };
        let mut parts = Vec::new();
        for end in ["", ".wal", "-wal"] {
            let mut path = OsString::from(file);
            path.push(end);
            if let Ok(found) = std::fs::metadata(path) {
                parts.push(format!(
                    "{end}{}.{}.{}.{:09}",
                    found.ino(),
                    found.size(),
                    found.ctime(),
                    found.ctime_nsec()
                ));
            }
        }
        parts.join(" ")
    }
}

fn absolute(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The file of a database, if an address names one. The path is the same for each way to write the address.
pub fn file_of(address: &Address<'_>) -> Option<PathBuf> {
    let file = match DestinationKind::of(address.url)? {
        DestinationKind::DuckDb(file) => address.folder.join(file),
        DestinationKind::Adbc(_) => {
            let options = address.options;
            let path = options.get("path").map(PathBuf::from);
            path.or_else(|| options.get("uri").map(|uri| read_only_uri(uri).0))?
        }
        DestinationKind::Parquet(_) | DestinationKind::SqlServer => return None,
    };
    file.canonicalize().ok()
}

/// The error if this process already has a file of DuckDB open.
fn open_here(file: &Path) -> SourceError {
    input_error(
        file,
        "this process has the file open already, likely as the target of this load or by another connection of the package; \
         DuckDB cannot read the file at the same time",
        "load into another file, name the file by one connection only, or close it in the program that calls Inrush",
    )
}

fn opening(address: &Address<'_>) -> Result<Opening, SourceError> {
    let url = Path::new(address.url);
    let failed = |error: ClientError| of_client(url, &error);
    let kind = DestinationKind::of(address.url);
    let fault = kind.as_ref().and_then(|kind| kind.fault(address.folder));
    if let Some((what, fix)) = fault {
        return Err(unsuitable(url, what, fix));
    }
    let mut options = address.options.clone();
    match kind {
        Some(DestinationKind::DuckDb(file)) => {
            let named = options.remove("driver");
            let named = named.map(|driver| address.folder.join(driver));
            let named = named.as_deref().map(Path::to_string_lossy);
            let library = driver_library::duckdb_library(named.as_deref(), address.site_packages);
            let library = library.map_err(failed)?;
            let driver = driver_library::load_duckdb(&library).map_err(failed)?;
            duckdb(driver, options, address.folder.join(file))
        }
        Some(DestinationKind::Adbc(name)) => {
            let entrypoint = options.remove("entrypoint");
            let driver = driver_library::load(
                &name,
                entrypoint.as_deref(),
                address.folder,
                address.site_packages,
            );
            let driver = driver.map_err(failed)?;
            let lower = name.to_lowercase();
            if lower.contains("duckdb") {
                let Some(path) = options.get("path").cloned() else {
                    return Err(no_file(url, "path"));
                };
                return duckdb(driver, options, PathBuf::from(path));
            }
            if lower.contains("sqlite") {
                return sqlite(driver, options, url);
            }
            Ok(Opening {
                driver,
                options,
                file: None,
                is_duckdb: false,
                has_partitions: PARTITIONING_DRIVERS.iter().any(|it| lower.contains(it)),
                place: url.to_path_buf(),
            })
        }
        _ => Err(unsuitable(
            url,
            "no tables are read from there",
            "name a connection whose URL is postgresql://USER@HOST/DATABASE, FILE.duckdb or adbc:DRIVER",
        )),
    }
}

fn no_file(url: &Path, option: &str) -> SourceError {
    unsuitable(
        url,
        "no file is named, and a database in memory has no rows to read",
        format!(
            "name a file: options = {{ {option} = \"FILE\" }} of the connection, or --from-option {option}=FILE"
        ),
    )
}

fn must_be_file(file: &Path) -> Result<(), SourceError> {
    let what = match std::fs::metadata(file) {
        Ok(found) if found.is_file() => return Ok(()),
        Ok(_) => "it is not a file".to_owned(),
        Err(cause) => format!("it cannot be read: {cause}"),
    };
    Err(input_error(
        file,
        what,
        "check the path: a database that is read is never created",
    ))
}

fn duckdb(
    driver: ManagedDriver,
    mut options: BTreeMap<String, String>,
    file: PathBuf,
) -> Result<Opening, SourceError> {
    must_be_file(&file)?;
    let Some(path) = file.to_str() else {
        return Err(input_error(
            &file,
            "its path is not UTF-8",
            "DuckDB needs a path in UTF-8: rename it",
        ));
    };
    options.insert("path".to_owned(), path.to_owned());
    options.insert("access_mode".to_owned(), "READ_ONLY".to_owned());
    // Splits and hashes rely on the order of rows.
    options.insert("preserve_insertion_order".to_owned(), "true".to_owned());
    Ok(Opening {
        driver,
        options,
        place: file.clone(),
        file: Some(file),
        is_duckdb: true,
        has_partitions: false,
    })
}

fn sqlite(
    driver: ManagedDriver,
    mut options: BTreeMap<String, String>,
    url: &Path,
) -> Result<Opening, SourceError> {
    let Some(uri) = options.get("uri") else {
        return Err(no_file(url, "uri"));
    };
    let (file, read_only) = read_only_uri(uri);
    if file.as_os_str().is_empty() || file == Path::new(":memory:") {
        return Err(no_file(url, "uri"));
    }
    must_be_file(&file)?;
    options.insert("uri".to_owned(), read_only);
    Ok(Opening {
        driver,
        options,
        place: file.clone(),
        file: Some(file),
        is_duckdb: false,
        has_partitions: false,
    })
}

/// The file of a path or a `file:` URI of SQLite, and a URI that opens it for reading only.
fn read_only_uri(uri: &str) -> (PathBuf, String) {
    let Some(rest) = uri.strip_prefix("file:") else {
        let encoded = uri
            .replace('%', "%25")
            .replace('?', "%3f")
            .replace('#', "%23");
        return (PathBuf::from(uri), format!("file:{encoded}?mode=ro"));
    };
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let others = parameters
        .split('&')
        .filter(|one| !one.is_empty() && !one.starts_with("mode="));
    let parameters: Vec<&str> = others.chain(["mode=ro"]).collect();
    let local = path.strip_prefix("//localhost").unwrap_or(path);
    let local = match local.strip_prefix("//") {
        Some(rest) if rest.starts_with('/') => rest,
        _ => local,
    };
    (
        PathBuf::from(decoded(local)),
        format!("file:{path}?{}", parameters.join("&")),
    )
}

/// Decodes a text in percent encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_sqlite_are_opened_for_reading_only() {
        for (uri, file, read_only) in [
            ("a b.db", "a b.db", "file:a b.db?mode=ro"),
            ("50%.db", "50%.db", "file:50%25.db?mode=ro"),
            ("why?.db", "why?.db", "file:why%3f.db?mode=ro"),
            ("file:x.db?mode=rwc", "x.db", "file:x.db?mode=ro"),
            (
                "file:///a/50%25.db?cache=private&mode=rw",
                "/a/50%.db",
                "file:///a/50%25.db?cache=private&mode=ro",
            ),
            ("file:x.db", "x.db", "file:x.db?mode=ro"),
        ] {
            assert_eq!(
                read_only_uri(uri),
                (PathBuf::from(file), read_only.to_owned()),
                "{uri}"
            );
        }
    }
}
