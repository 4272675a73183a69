//! What a caller finds on its machine for the gaps of a connection's URL: the library reads no environment, no file of
//! the user's and no home folder by itself.
//!
//! These are the places where libpq looks, and the settings have its names. They stand here because whoever calls the
//! library gathers them before it is known where the rows go; what they mean is for the engine that takes them alone,
//! which is PostgreSQL's. Destinations of the contract are given all they need by the package.

use std::path::PathBuf;

/// What was found for the gaps of a URL.
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
    /// Service files, the first one that defines a service counts.
    pub service_files: Vec<ServiceFile>,
    /// `~/.postgresql/root.crt`, where it exists.
    pub ssl_root_certificate: Option<PathBuf>,
}

/// A file that may define services.
#[derive(Clone, Debug)]
pub struct ServiceFile {
    /// Where it is, for messages.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}
