//! The URL of a connection and its options, and the kind of destination that a URL means.
//!
//! The kinds are listed here and not in the crates of the destinations, because some code needs them without a
//! registry: the checks of a package, the engine when it makes the paths of a replayed package absolute, and the trust
//! check, which must know what code a URL loads before anything is loaded. If callers passed a list, it could be
//! incomplete, and the trust check would silently allow foreign code. So a new kind of URL is a variant here. The
//! compiler then asks for its path, for the options that load code, and for the reasons why such a destination cannot
//! exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most bytes of a name of PostgreSQL, which truncates longer ones without an error.
pub const POSTGRES_NAME_BYTES_MAX: usize = 63;

/// The URL of a connection, with its options.
#[derive(Clone, Debug)]
pub struct Address<'a> {
    /// `sales.duckdb`, `duckdb:FILE`, `adbc:DRIVER`, `parquet:FOLDER`, `mssql://USER@HOST/DATABASE`.
    pub url: &'a str,
    /// Options, as the destination understands them.
    pub options: &'a BTreeMap<String, String>,
    /// Relative paths start here.
    pub folder: &'a Path,
    /// The folder of installed Python packages, whose drivers are used.
    pub site_packages: Option<&'a Path>,
    /// The schema of the ledger's tables.
    pub ledger_schema: &'a str,
}

/// The kinds of destinations that implement the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DestinationKind {
    /// A file of DuckDB.
    DuckDb(PathBuf),
    /// A driver of ADBC: its name, path or manifest.
    Adbc(String),
    /// A folder of Parquet files.
    Parquet(PathBuf),
    /// A database of SQL Server. Its URL may contain a password, so it is not kept here.
    SqlServer,
}

impl DestinationKind {
    /// The most bytes of a name that is made for a table or column of the database that a URL means: every server of
    /// this kind accepts names of this length.
    pub fn name_bytes_max(url: &str) -> usize {
        match Self::of(url) {
            None | Some(Self::Adbc(_)) => POSTGRES_NAME_BYTES_MAX,
            // The limit is in units of UTF-16. A text never has more of these than bytes of UTF-8.
            Some(Self::SqlServer) => 128,
            // The limit of file names, for a folder of Parquet files.
            Some(Self::DuckDb(_) | Self::Parquet(_)) => 255,
        }
    }

    /// The kind that a URL means; `None` if it is not the URL of a destination that implements the contract.
    pub fn of(url: &str) -> Option<DestinationKind> {
        let url = url.trim();
        if let Some(file) = url.strip_prefix("duckdb:") {
            return Some(DestinationKind::DuckDb(path(file)));
        }
        if let Some(driver) = url.strip_prefix("adbc:") {
            return Some(DestinationKind::Adbc(driver.to_owned()));
        }
        if let Some(folder) = url.strip_prefix("parquet:") {
            return Some(DestinationKind::Parquet(path(folder)));
        }
        if url.starts_with("mssql://") {
            return Some(DestinationKind::SqlServer);
        }
        let is_path = !url.contains("://");
        let lower = url.to_lowercase();
        let names_duckdb = [".duckdb", ".ddb"].iter().any(|end| lower.ends_with(end));
        (is_path && names_duckdb).then(|| DestinationKind::DuckDb(PathBuf::from(url)))
    }

    /// Code that it loads into this process, other than installed drivers: a library or a manifest that the URL or an
    /// option names; or a command that it runs. The author of the URL and of the options has chosen it.
    pub fn loaded_code(&self, options: &BTreeMap<String, String>) -> Option<LoadedCode> {
        if let DestinationKind::Adbc(driver) = self
            && names_library(driver)
        {
            return Some(LoadedCode::Url(driver.clone()));
        }
        let is_set = |value: &str| !matches!(value, "" | "0" | "false" | "off" | "no");
        let of_option = |(name, value): (&String, &String)| {
            let lower = name.to_lowercase();
            let loads = match self {
                DestinationKind::DuckDb(_) if lower == "driver" => true,
                DestinationKind::DuckDb(_) | DestinationKind::Adbc(_) => {
                    lower.contains("load_extension")
                        || lower == "allow_unsigned_extensions"
                        || lower == "custom_extension_repository"
                        || lower == "extension_directory"
                }
                DestinationKind::SqlServer => lower == "access_token_command",
                DestinationKind::Parquet(_) => false,
            };
            (loads && is_set(&value.to_lowercase())).then(|| LoadedCode::Option(name.clone()))
        };
        options.iter().find_map(of_option)
    }

    /// Why no destination can exist there, and what to write instead; `None` if one can. The text after the scheme of a
    /// remote address is not repeated, because it may be a secret. A name with a colon (`lake:2024`) is a path if such
    /// a file exists; a relative name is looked up in `folder`.
    pub fn fault(&self, folder: &Path) -> Option<(String, String)> {
        let elsewhere = |kind: &str, path: &Path| {
            let text = path.to_string_lossy();
            if text.is_empty() {
                return Some((
                    format!("it does not name {kind}"),
                    "write its path after the colon; the current folder is `.`".to_owned(),
                ));
            }
            if let Some(fault) = home_fault(&text) {
                return Some(fault);
            }
            let scheme = scheme(&text)?;
            let is_elsewhere = text[scheme.len() + 1..].starts_with("//")
                || ELSEWHERE.contains(&scheme.to_ascii_lowercase().as_str());
            if !is_elsewhere && folder.join(path).exists() {
                return None;
            }
            let cause =
                format!("`{scheme}:` is not a local path, and {kind} must be on this machine");
            let mend = match scheme.len() {
                1 => format!(
                    "Inrush does not know drive letters; a path that begins with `{scheme}:` is written \
                     ./{scheme}:/..."
                ),
                _ => format!(
                    "load into a local path, then copy the result there; a path that begins with `{scheme}:` is written \
                     ./{scheme}:/..."
                ),
            };
            Some((cause, mend))
        };
        match self {
            DestinationKind::DuckDb(file) if file.to_string_lossy().starts_with(":memory:") => Some((
                "a DuckDB database in memory is gone when the command ends, and its rows with it"
                    .to_owned(),
                "write the name of a file, as in duckdb:sales.duckdb; a file with this name is \
                 written duckdb:./:memory:"
                    .to_owned(),
            )),
            DestinationKind::DuckDb(file) => elsewhere("a file of DuckDB", file),
            DestinationKind::Parquet(folder) => elsewhere("a folder of Parquet files", folder),
            DestinationKind::Adbc(driver) => match (scheme(driver), driver.split_once('?')) {
                (Some(scheme), _) => Some((
                    format!("`adbc:` takes the name of a driver, not a URL (`{scheme}:`)"),
                    "write adbc:DRIVER, as in adbc:postgresql, and its URL as an option: options = { uri = \
                     \"${env:NAME}\" }"
                        .to_owned(),
                )),
                // The text after the `?` may be a secret, so it is not repeated.
                (None, Some((name, _))) if !folder.join(driver).exists() => Some((
                    "`adbc:` takes the name of a driver, without parameters after a `?`".to_owned(),
                    format!(
                        "write adbc:{name}, and each parameter as an option: options = {{ uri = \"FILE\" }} in a package, \
                         --option uri=FILE beside --to, --from-option uri=FILE beside --from"
                    ),
                )),
                _ => None,
            },
            // The URL of SQL Server always names a server.
            DestinationKind::SqlServer => None,
        }
    }

    /// The option of a driver for local files that does not name a local file, with the reason and what to write
    /// instead.
    pub fn option_fault<'a>(
        &self,
        options: &'a BTreeMap<String, String>,
    ) -> Option<(&'a str, String, String)> {
        let DestinationKind::Adbc(driver) = self else {
            return None;
        };
        let driver = driver.to_lowercase();
        let is_local = driver.contains("sqlite") || driver.contains("duckdb");
        let named = options
            .iter()
            .filter(|(name, _)| is_local && matches!(name.as_str(), "uri" | "path"));
        named
            .filter_map(|(name, value)| {
                if let Some((cause, mend)) = home_fault(value) {
                    return Some((name.as_str(), cause, mend));
                }
                let scheme = scheme(value.trim())?;
                let lower = scheme.to_ascii_lowercase();
                // SQLite has URLs of local files.
                let is_elsewhere = lower != "file"
                    && (value.trim()[scheme.len() + 1..].starts_with("//")
                        || ELSEWHERE.contains(&lower.as_str()));
                is_elsewhere.then(|| {
                    let cause = format!(
                        "`{scheme}:` is not a local path, and the file of this driver must be on this machine"
                    );
                    let mend = format!(
                        "load into a local path, then copy the result there; a path that begins with `{scheme}:` is \
                         written ./{scheme}:/..."
                    );
                    (name.as_str(), cause, mend)
                })
            })
            .next()
    }

    /// True if a URL means a database with tables that can be read. Files of Parquet are read as files.
    pub fn has_tables(url: &str) -> bool {
        match Self::of(url) {
            Some(
                DestinationKind::DuckDb(_) | DestinationKind::Adbc(_) | DestinationKind::SqlServer,
            ) => true,
            Some(DestinationKind::Parquet(_)) | None => false,
        }
    }

    /// The local path in a URL, as it is written; `None` if the URL does not mean a local file or folder.
    pub fn local_place(url: &str) -> Option<PathBuf> {
        Self::of(url)?.path().map(Path::to_owned)
    }

    /// Its local path, as it is written; `None` if it names a driver or a server.
    pub fn path(&self) -> Option<&Path> {
        match self {
            DestinationKind::DuckDb(path) | DestinationKind::Parquet(path) => Some(path),
            DestinationKind::Adbc(_) | DestinationKind::SqlServer => None,
        }
    }

    /// The same URL with another path; `None` if it has no path.
    pub fn with_path(&self, other: impl Fn(&Path) -> String) -> Option<String> {
        match self {
            DestinationKind::DuckDb(file) => Some(format!("duckdb:{}", other(file))),
            DestinationKind::Parquet(folder) => Some(format!("parquet:{}", other(folder))),
            DestinationKind::Adbc(_) | DestinationKind::SqlServer => None,
        }
    }
}

/// Code that a destination loads into this process, or runs, because a URL or an option names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadedCode {
    /// The library or manifest in the URL.
    Url(String),
    /// The code that this option names.
    Option(String),
}

/// Schemes that always mean a remote address, with or without slashes after them.
pub const ELSEWHERE: &[&str] = &[
    "abfs",
    "abfss",
    "adl",
    "az",
    "azure",
    "cos",
    "dbfs",
    "file",
    "ftp",
    "ftps",
    "gcs",
    "gs",
    "hdfs",
    "hf",
    "http",
    "https",
    "md",
    "motherduck",
    "nfs",
    "oss",
    "r2",
    "s3",
    "s3a",
    "s3n",
    "scp",
    "sftp",
    "smb",
    "ssh",
    "viewfs",
    "wasb",
    "wasbs",
    "webhdfs",
];

/// The scheme at the beginning of a text: letters, digits, `+`, `-` and `.` before a colon. A path that begins like
/// this can be written with `./` in front.
pub fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then_some(scheme)
}

/// True if a driver is named by the path of its library or manifest, and not by the name that it is installed under.
pub fn names_library(driver: &str) -> bool {
    driver.contains(['/', '\\'])
        || [".so", ".toml", ".dylib", ".dll"]
            .iter()
            .any(|end| driver.to_lowercase().ends_with(end))
}

/// Why a path that begins with `~/` is refused, and what to write instead: a shell replaces `~` only at the beginning
/// of an argument; elsewhere it would be a folder called `~`.
pub fn home_fault(path: &str) -> Option<(String, String)> {
    let is_home = path.trim_start() == "~" || path.trim_start().starts_with("~/");
    is_home.then(|| {
        (
            "`~` is the home folder only to a shell, at the beginning of an argument".to_owned(),
            "write the whole path; a folder called `~` is written ./~/...".to_owned(),
        )
    })
}

/// Slashes after a scheme's colon, as in `duckdb:///data/x.duckdb`, begin a path from the root.
fn path(text: &str) -> PathBuf {
    let text = text.trim_start();
    match text.strip_prefix("//") {
        Some(rest) => PathBuf::from(rest),
        None => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_places_are_no_paths() {
        for (url, named) in [
            ("parquet:s3://key:secret@bucket/x", Some("`s3:`")),
            ("parquet:gs:bucket", Some("`gs:`")),
            ("duckdb:md:db", Some("`md:`")),
            (
                "duckdb:postgres:host=h password=secret",
                Some("`postgres:`"),
            ),
            ("md:db.duckdb", Some("`md:`")),
            ("C:\\data\\x.duckdb", Some("`C:`")),
            ("adbc:postgresql://u:secret@h", Some("`postgresql:`")),
            ("parquet: s3://bucket/x", Some("`s3:`")),
            ("parquet:~/lake", Some("`~`")),
            ("duckdb:~/x.duckdb", Some("`~`")),
            ("~/x.duckdb", Some("`~`")),
            ("parquet:./~/lake", None),
            ("parquet:", Some("does not name a folder")),
            ("duckdb: ", Some("does not name a file")),
            ("parquet:.", None),
            ("parquet:./s3:/x", None),
            ("parquet:///lake", None),
            ("parquet:lake", None),
            ("duckdb::memory:", Some("in memory")),
            ("duckdb:./:memory:", None),
            ("duckdb:///x.duckdb", None),
            ("x.duckdb", None),
            ("adbc:sqlite", None),
            ("adbc:./drivers/x:y.so", None),
            ("adbc:sqlite?uri=x.db&key=secret", Some("parameters")),
            ("mssql://u:secret@h/d", None),
        ] {
            let fault = DestinationKind::of(url)
                .expect(url)
                .fault(Path::new("no-such-folder"));
            assert_eq!(fault.is_some(), named.is_some(), "{url}");
            if let (Some((cause, mend)), Some(named)) = (fault, named) {
                assert!(cause.contains(named), "{cause}");
                assert!(
                    !format!("{cause}{mend}").contains("secret"),
                    "{cause}{mend}"
                );
            }
        }
    }

    #[test]
    fn the_file_of_a_driver_is_on_this_machine() {
        for (url, option, value, is_fault) in [
            ("adbc:sqlite", "uri", "md:db", true),
            ("adbc:sqlite", "uri", "s3:x.db", true),
            ("adbc:sqlite", "uri", "~/x.db", true),
            ("adbc:duckdb", "path", "s3://bucket/x.duckdb", true),
            ("adbc:duckdb", "path", "md:db", true),
            ("adbc:sqlite", "uri", "file:x.db?mode=rwc", false),
            ("adbc:sqlite", "uri", "lake:2024.db", false),
            ("adbc:duckdb", "path", "x.duckdb", false),
            ("adbc:postgresql", "uri", "postgresql://h/db", false),
        ] {
            let kind = DestinationKind::of(url).expect(url);
            let options = BTreeMap::from([(option.to_owned(), value.to_owned())]);
            assert_eq!(
                kind.option_fault(&options).is_some(),
                is_fault,
                "{url} {value}"
            );
        }
    }

    #[test]
    fn code_that_is_not_installed_is_found() {
        let none = BTreeMap::new();
        let option =
            |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let code = |url: &str, options: &BTreeMap<String, String>| {
            DestinationKind::of(url)
                .expect(url)
                .loaded_code(options)
                .is_some()
        };
        for (url, is_code) in [
            ("adbc:./x.so", true),
            ("adbc:x.so", true),
            ("adbc:x.toml", true),
            ("adbc:/usr/lib/libx", true),
            ("adbc:sqlite", false),
            ("x.duckdb", false),
        ] {
            assert_eq!(code(url, &none), is_code, "{url}");
        }
        assert!(code("x.duckdb", &option("driver", "./x.so")));
        assert!(code(
            "adbc:sqlite",
            &option("adbc.sqlite.load_extension.path", "./x")
        ));
        assert!(code(
            "x.duckdb",
            &option("allow_unsigned_extensions", "true")
        ));
        assert!(!code(
            "x.duckdb",
            &option("allow_unsigned_extensions", "false")
        ));
        assert!(!code("parquet:lake", &option("driver", "./x.so")));
        assert!(code(
            "mssql://h/d",
            &option("access_token_command", "az account get-access-token")
        ));
        assert!(!code("mssql://h/d", &option("access_token", "x")));
    }
}
