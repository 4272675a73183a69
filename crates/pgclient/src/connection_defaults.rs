//! Settings that a caller finds on its machine to complete a connection's URL: the library itself reads no environment, no
//! file of the user's and no home folder.
//!
//! These are the places where libpq looks, and the settings have its names. Callers gather them before the destination is
//! known; only PostgreSQL's client reads them. Destinations of the contract get all their settings from the package.

use std::path::PathBuf;

/// The variables that libpq reads, and the URL settings that they replace. `PGSERVICE`, `PGSERVICEFILE`, `PGSYSCONFDIR`
/// and `PGPASSFILE` name files, which the caller reads; `docs/connections.md` says why the few others are not here.
pub const LIBPQ_VARIABLES: &[(&str, &str)] = &[
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGDATABASE", "dbname"),
    ("PGPASSWORD", "password"),
    ("PGOPTIONS", "options"),
    ("PGGEQO", "geqo"),
    ("PGCLIENTENCODING", "client_encoding"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
    ("PGREQUIREAUTH", "require_auth"),
    ("PGREQUIREPEER", "requirepeer"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGMINPROTOCOLVERSION", "min_protocol_version"),
    ("PGMAXPROTOCOLVERSION", "max_protocol_version"),
    ("PGSSLMODE", "sslmode"),
    ("PGREQUIRESSL", "requiressl"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGSSLCOMPRESSION", "sslcompression"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLCERTMODE", "sslcertmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLCRLDIR", "sslcrldir"),
    ("PGSSLSNI", "sslsni"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGKRBSRVNAME", "krbsrvname"),
    ("PGGSSLIB", "gsslib"),
    ("PGGSSDELEGATION", "gssdelegation"),
];

/// The values for the parts that a URL leaves out.
#[derive(Clone, Default)]
pub struct ConnectionDefaults {
    /// Values of `PG*` variables by the names that URLs have for them: `host`, `sslmode`, ...
    pub variables: Vec<(String, String)>,
    /// The name of the user at the operating system.
    pub user: Option<String>,
    /// The text of `.pgpass`.
    pub password_file: Option<String>,
    /// `PGSERVICE`.
    pub service: Option<String>,
    /// Service files. The first file that defines a service counts.
    pub service_files: Vec<ServiceFile>,
    /// `~/.postgresql/root.crt`, if it exists.
    pub ssl_root_certificate: Option<PathBuf>,
    /// `~/.postgresql/root.crl`, if it exists.
    pub ssl_revocation_list: Option<PathBuf>,
    /// `~/.postgresql/postgresql.crt`, if it exists.
    pub ssl_certificate: Option<PathBuf>,
    /// `~/.postgresql/postgresql.key`, whether it exists or not.
    pub ssl_key: Option<PathBuf>,
    /// Returns the name of the operating system's user with this number.
    pub user_name: Option<fn(u32) -> Option<String>>,
}

/// A file that may define services.
#[derive(Clone, Debug)]
pub struct ServiceFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}
