//! Arguments that several commands take.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use inrush::package::ServerCopy;
use inrush::quantity::parse_bytes;

/// Settings of a run and of its output.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How it runs")]
pub struct RunArguments {
    /// How many streams load at a time, each with its own connection
    ///
    /// Default: the package's setting; without one, one stream for each core of this machine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub streams: Option<u16>,

    /// The most bytes that all streams together send per second, such as 20MB or 500KiB
    #[arg(long, value_name = "RATE", value_parser = byte_count)]
    pub max_rate: Option<u64>,

    /// Whether PostgreSQL stores the rows by its extension `inrush_fastcopy` [default: the package's setting, or auto]
    #[arg(long, value_name = "HOW", value_enum)]
    pub server_copy: Option<ServerCopyChoice>,

    /// Load the rows even if an earlier run loaded them
    ///
    /// Without this option, the same command after success loads nothing and names the run that loaded
    /// the rows.
    #[arg(long)]
    pub again: bool,

    /// The folder that gets a subfolder for each run, with its report, log and rejected rows
    #[arg(long, value_name = "FOLDER", default_value = "runs", value_parser = local_path())]
    pub runs_folder: PathBuf,

    /// Write one line of JSON for each event to standard output
    ///
    /// Events are `planned`, `note`, `started`, `unit_started`, `progress`, `unit_committed`,
    /// `unit_aborted`, `unit_refused`, `rejected`, `switching`, `switched`, `analyzed` and
    /// `finished`.
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The use of the server extension `inrush_fastcopy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerCopyChoice {
    /// Use it if the database has it and the role may use it; otherwise COPY
    Auto,
    /// Always COPY
    Plain,
    /// Refuse the load if any unit cannot use the extension
    Require,
    /// As auto, but write whole pages without the server's shared buffers if that is possible
    Pages,
}

impl From<ServerCopyChoice> for ServerCopy {
    fn from(choice: ServerCopyChoice) -> ServerCopy {
        match choice {
            ServerCopyChoice::Auto => ServerCopy::Auto,
            ServerCopyChoice::Plain => ServerCopy::Plain,
            ServerCopyChoice::Require => ServerCopy::Require,
            ServerCopyChoice::Pages => ServerCopy::Pages,
        }
    }
}

/// Options that replace values of a package.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Values of the package")]
pub struct OverrideArguments {
    /// Set a parameter of the package to another value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,

    /// Set a connection of the package to another URL (repeatable)
    ///
    /// A password in the URL is refused: put it into PGPASSWORD, into ~/.pgpass, or into a variable
    /// that the URL names as ${env:NAME}.
    #[arg(long, value_name = "NAME=URL", value_parser = pair)]
    pub connection: Vec<(String, String)>,

    /// Allow code that the package brings: drivers named by a path or an option, and data folders
    ///
    /// A driver runs in this process with all your rights, and so do functions that are stored in the data folder of
    /// an embedded server. Without this flag, Inrush uses only installed drivers, data folders that it made for you on
    /// this machine, and drivers and data folders that an argument names. Once a data folder was opened, it stays
    /// trusted.
    #[arg(long)]
    pub trust: bool,
}

/// A database, by a package or by a URL.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct DestinationArguments {
    /// The package: the command uses its database, and concerns only its runs
    #[arg(value_name = "PACKAGE", value_parser = local_path())]
    pub package: Option<PathBuf>,

    /// The database: postgresql://USER@HOST/DATABASE, embedded:FOLDER, FILE.duckdb, parquet:FOLDER,
    /// adbc:DRIVER or mssql://USER@HOST/DATABASE
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
}

/// The ledger that a command reads, and the form of its output.
#[derive(Clone, Debug, Args)]
pub struct LedgerArguments {
    /// The database.
    #[command(flatten)]
    pub destination: DestinationArguments,

    /// An option of the destination of --to, such as uri=FILE (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, requires = "to")]
    pub option: Vec<(String, String)>,

    /// The schema of the ledger [default: the package's setting]
    #[arg(long, value_name = "SCHEMA")]
    pub ledger_schema: Option<String>,

    /// Write JSON
    #[arg(long)]
    pub json: bool,

    /// Options that replace the package's values.
    #[command(flatten)]
    pub overrides: OverrideArguments,
}

/// A path of this machine. A URL is refused: it would be taken for an odd file name.
pub(super) fn local_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path: PathBuf| {
        match path.to_str().and_then(inrush::package::not_local) {
            Some((cause, mend)) => Err(format!("{cause} ({mend})")),
            None => Ok(path),
        }
    })
}

/// A number of bytes per second: `20MB`, `1.5 GiB/s`, `500000`.
pub fn byte_count(text: &str) -> Result<u64, String> {
    let wrong = || "not a number of bytes such as 20MB, 1.5GiB or 500000".to_owned();
    let bytes = parse_bytes(text.trim().trim_end_matches("/s")).ok_or_else(wrong)?;
    if !(1024.0..=1e12).contains(&bytes) {
        return Err("must be from 1 KiB to 1 TB per second".to_owned());
    }
    Ok(bytes as u64)
}

/// `name=value`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("not of the form NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::byte_count;

    #[test]
    fn rates_are_read() {
        for (text, bytes) in [
            ("20MB", Some(20_000_000)),
            ("1.5 GiB/s", Some(1_610_612_736)),
            ("500000", Some(500_000)),
            ("4KiB", Some(4096)),
            ("10", None),
            ("fast", None),
            ("-1MB", None),
            ("NaN", None),
            ("inf", None),
        ] {
            assert_eq!(byte_count(text).ok(), bytes, "{text}");
        }
    }
}
