//! What the environment knows of connections: the `PG*` variables and `.pgpass`, as libpq
//! reads them. The engine never reads the environment itself.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use inrush::destination::{ConnectionDefaults, ServiceFile};
use inrush::package::{names_secret, url_has_password};
use inrush::printable::line;

use crate::c_library::user_name;
use crate::errors::CommandError;
use crate::output;

/// What fills the gaps of a URL.
pub fn connection_defaults() -> Result<ConnectionDefaults, CommandError> {
    let home = home_folder();
    if let Some(text) = variable("PGPORT")
        && text
            .split(',')
            .any(|port| port.trim().parse::<u16>().is_err())
    {
        return Err(CommandError::Usage {
            what: format!("PGPORT is `{text}`, which is no port"),
            hint: "set it to a number of 1 to 65535, or unset it".to_owned(),
        });
    }
    let variables = VARIABLES
        .iter()
        .filter_map(|(name, setting)| Some(((*setting).to_owned(), variable(name)?)));
    Ok(ConnectionDefaults {
        variables: variables.collect(),
        user: user_name(),
        password_file: password_file(home.as_deref()),
        service: variable("PGSERVICE"),
        service_files: service_files(home.as_deref())?,
        ssl_root_certificate: home
            .map(|home| home.join(".postgresql/root.crt"))
            .filter(|usual| usual.is_file()),
    })
}

/// The variables that libpq reads, and the settings of a URL that they stand in for.
const VARIABLES: &[(&str, &str)] = &[
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGDATABASE", "dbname"),
    ("PGPASSWORD", "password"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
    ("PGOPTIONS", "options"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGREQUIREAUTH", "require_auth"),
];

/// The service files, in the order in which libpq looks through them: the user's, or the one that
/// PGSERVICEFILE names, then the system's.
fn service_files(home: Option<&Path>) -> Result<Vec<ServiceFile>, CommandError> {
    let own = match variable("PGSERVICEFILE") {
        Some(path) => {
            let path = PathBuf::from(path);
            if !path.is_file() {
                return Err(CommandError::Usage {
                    what: format!("PGSERVICEFILE is {}, which is no file", path.display()),
                    hint: "set it to a service file, or unset it".to_owned(),
                });
            }
            Some(path)
        }
        None => home.map(|home| home.join(".pg_service.conf")),
    };
    let folder = variable("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".to_owned());
    let system = PathBuf::from(folder).join("pg_service.conf");
    let mut files = Vec::new();
    for path in own
        .into_iter()
        .chain([system])
        .filter(|path| path.is_file())
    {
        let text = std::fs::read_to_string(&path).map_err(|source| CommandError::File {
            doing: "cannot read",
            path: path.clone(),
            source,
        })?;
        files.push(ServiceFile { path, text });
    }
    Ok(files)
}

/// A variable of the environment, for `${env:NAME}`.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Refuses a URL with a password that was given as an argument: every user of the machine can
/// read it there, and the shell writes it into its history.
pub fn refuse_password(argument: &str, url: &str) -> Result<(), CommandError> {
    if !url_has_password(url) {
        return Ok(());
    }
    Err(CommandError::Usage {
        what: format!(
            "{argument}: the URL has a password in it, and others can read the arguments of a \
             command"
        ),
        hint: "leave it out, and put it into PGPASSWORD or ~/.pgpass; or write ${env:NAME} in \
               its place, in single quotes, and set NAME"
            .to_owned(),
    })
}

/// As [`refuse_password`], of an option of a destination.
pub fn refuse_secret(option: &str, value: &str) -> Result<(), CommandError> {
    let is_named = value.starts_with("${env:") && value.ends_with('}');
    if names_secret(option) && !is_named {
        return Err(CommandError::Usage {
            what: format!(
                "--option {option}: others can read the arguments of a command, and this one is a secret"
            ),
            hint: format!("write '{option}=${{env:NAME}}', in single quotes, and set NAME"),
        });
    }
    refuse_password(&format!("--option {option}"), value)
}

/// The text of `.pgpass`, where it is kept as libpq wants it kept.
fn password_file(home: Option<&Path>) -> Option<String> {
    let path = match variable("PGPASSFILE") {
        Some(path) => PathBuf::from(path),
        None => home?.join(".pgpass"),
    };
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() {
        output::errors(&line(&format!(
            "warning: {} is not used: it is no ordinary file",
            path.display()
        )));
        return None;
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        output::errors(&line(&format!(
            "warning: {} is not used: others can read it (chmod 600 mends it)",
            path.display()
        )));
        return None;
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            output::errors(&line(&format!(
                "warning: {} is not used: {error} (its owner is user {})",
                path.display(),
                metadata.uid()
            )));
            None
        }
    }
}

fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_arguments_are_refused() {
        let error =
            refuse_password("--to", "postgresql://etl:secret@dw/x").expect_err("it has one");
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("PGPASSWORD"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(refuse_password("--to", "postgresql://etl@dw/x").is_ok());
        assert!(refuse_password("--to", "postgresql://etl:${env:SECRET}@dw/x").is_ok());
    }
}
