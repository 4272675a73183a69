//! Reads the defaults of connections from the environment: the `PG*` variables and `.pgpass`, as libpq
//! reads them, and the variables of sqlcmd. The engine never reads the environment itself.

use std::env::VarError;
use std::path::{Path, PathBuf};

use inrush::package::{Package, names_secret, url_has_password};
use inrush::postgres::password_file_text;
use inrush::printable::line;
use inrush::secrets::note_secret;
use inrush::{ConnectionDefaults, LIBPQ_VARIABLES, SQLCMD_VARIABLES, ServiceFile};
use inrush_system::small_file::SmallFile;
use inrush_system::users;

use crate::errors::CommandError;
use crate::output;

/// A file of services.
const SERVICE_FILE: SmallFile = SmallFile {
    what: "a service file",
    bytes_max: 16 << 20,
    may_be_pipe: false,
};

/// The values for parts that a URL leaves out.
pub fn connection_defaults() -> Result<ConnectionDefaults, CommandError> {
    let home = home_folder();
    if let Some(text) = variable("PGPORT")?
        && text
            .split(',')
            .any(|port| port.trim().parse::<u16>().is_err())
    {
        return Err(CommandError::Usage {
            what: format!("PGPORT is `{text}`, which is not a port"),
            hint: "set it to a number from 1 to 65535, or unset it".to_owned(),
        });
    }
    if let Some(password) = variable("PGPASSWORD")? {
        note_secret(&password);
    }
    let mut variables = Vec::new();
    for (name, setting) in LIBPQ_VARIABLES {
        if let Some(value) = variable(name)? {
            variables.push(((*setting).to_owned(), value));
        }
    }
    let usual = |name: &str| Some(home.as_ref()?.join(".postgresql").join(name));
    Ok(ConnectionDefaults {
        variables,
        user: users::name_of(rustix::process::geteuid().as_raw()),
        password_file: password_file(home.as_deref()),
        service: variable("PGSERVICE")?,
        service_files: service_files(home.as_deref())?,
        ssl_root_certificate: usual("root.crt").filter(|path| path.is_file()),
        ssl_revocation_list: usual("root.crl").filter(|path| path.is_file()),
        ssl_certificate: usual("postgresql.crt").filter(|path| path.is_file()),
        ssl_key: usual("postgresql.key"),
        user_name: Some(users::name_of),
    })
}

/// Completes connections to SQL Server by the variables that sqlcmd reads. Values in the URL or an option take
/// precedence.
pub fn complete_from_sqlcmd(package: &mut Package) -> Result<(), CommandError> {
    for connection in package.connections.values_mut() {
        // For connections to other databases the list is empty.
        let left_out = inrush::left_out_of_sqlserver(&connection.url, &connection.options);
        for (name, option) in SQLCMD_VARIABLES {
            if left_out.contains(&option)
                && let Some(value) = variable(name)?
            {
                connection.set_from_variable(option, name, value);
            }
        }
    }
    Ok(())
}

/// The service files, in the order in which libpq searches them: the user's file, or the one that PGSERVICEFILE names,
/// then the system's.
fn service_files(home: Option<&Path>) -> Result<Vec<ServiceFile>, CommandError> {
    let own = match path_variable("PGSERVICEFILE") {
        Some(path) => {
            if !path.is_file() {
                return Err(CommandError::Usage {
                    what: format!("PGSERVICEFILE is {}, which is not a file", path.display()),
                    hint: "set it to a service file, or unset it".to_owned(),
                });
            }
            Some(path)
        }
        None => home.map(|home| home.join(".pg_service.conf")),
    };
    let folder = path_variable("PGSYSCONFDIR");
    let folder = folder.unwrap_or_else(|| PathBuf::from("/etc/postgresql-common"));
    let system = folder.join("pg_service.conf");
    let mut files = Vec::new();
    for path in own
        .into_iter()
        .chain([system])
        .filter(|path| path.is_file())
    {
        let text = SERVICE_FILE
            .read_text(&path)
            .map_err(|source| CommandError::File {
                doing: "cannot read",
                path: path.clone(),
                source,
            })?;
        files.push(ServiceFile { path, text });
    }
    Ok(files)
}

/// An environment variable, for `${env:NAME}`. An empty variable counts as not set, as in libpq.
pub fn environment(name: &str) -> Result<String, VarError> {
    match std::env::var(name)? {
        value if value.is_empty() => Err(VarError::NotPresent),
        value => Ok(value),
    }
}

/// An environment variable as text. It is an error if it is set but not text; otherwise it would be ignored silently.
pub fn variable(name: &str) -> Result<Option<String>, CommandError> {
    match environment(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        // Its value may be a password.
        Err(VarError::NotUnicode(_)) => Err(CommandError::Usage {
            what: format!("the environment variable {name} is not UTF-8 text"),
            hint: "correct it, or unset it".to_owned(),
        }),
    }
}

/// The key for a server that takes events of OpenLineage. No message shows it.
pub fn open_lineage_key() -> Result<Option<String>, CommandError> {
    let key = variable("OPENLINEAGE_API_KEY")?;
    if let Some(key) = &key {
        inrush::secrets::note_secret(key);
    }
    Ok(key)
}

/// A variable of the environment that holds a path, which need not be UTF-8.
pub fn path_variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some(PathBuf::from(value))
}

/// Refuses a URL with a password that was given as an argument, because every user of the machine can read arguments,
/// and the shell writes them into its history.
pub fn refuse_password(argument: &str, url: &str) -> Result<(), CommandError> {
    if !url_has_password(url) {
        return Ok(());
    }
    let from_environment = "write ${env:NAME} in its place, in single quotes, and set NAME";
    Err(CommandError::Usage {
        what: format!(
            "{argument}: the URL contains a password, and other users can read the arguments of a \
             command"
        ),
        hint: match url.trim_start() {
            url if url.starts_with("postgres") => format!(
                "leave it out, and put it into PGPASSWORD or ~/.pgpass; or {from_environment}"
            ),
            url if url.starts_with("mssql:") => {
                format!("leave it out, and put it into SQLCMDPASSWORD; or {from_environment}")
            }
            _ => from_environment.to_owned(),
        },
    })
}

/// Like [`refuse_password`], for the options of a database. `argument` is the argument that takes them, `--option`.
pub fn refuse_secrets(argument: &str, options: &[(String, String)]) -> Result<(), CommandError> {
    let mut options = options.iter();
    options.try_for_each(|(option, value)| refuse_secret(argument, option, value))
}

fn refuse_secret(argument: &str, option: &str, value: &str) -> Result<(), CommandError> {
    let is_named = value.starts_with("${env:") && value.ends_with('}');
    if names_secret(option) && !is_named {
        return Err(CommandError::Usage {
            what: format!(
                "{argument} {option}: the value is a secret, and other users can read the arguments of a command"
            ),
            hint: format!("write '{option}=${{env:NAME}}', in single quotes, and set NAME"),
        });
    }
    refuse_password(&format!("{argument} {option}"), value)
}

/// The text of `.pgpass`, if the file has the permissions that libpq requires.
fn password_file(home: Option<&Path>) -> Option<String> {
    let path = match path_variable("PGPASSFILE") {
        Some(path) => path,
        None => home?.join(".pgpass"),
    };
    match password_file_text(&path) {
        Ok(text) => text,
        Err(reason) => {
            output::errors(&line(&format!("warning: {reason}; it is not used")));
            None
        }
    }
}

/// The folder for state that outlives a command, by the XDG base directories.
pub fn state_folder() -> Option<PathBuf> {
    let named = path_variable("XDG_STATE_HOME");
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(home_folder()?.join(".local/state")))
}

fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use inrush::ExitStatus;

    use super::*;

    #[test]
    fn passwords_in_arguments_are_refused() {
        let error =
            refuse_password("--to", "postgresql://etl:secret@dw/x").expect_err("it has one");
        assert_eq!(error.exit_status(), ExitStatus::Usage);
        assert!(error.to_string().contains("PGPASSWORD"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        let error = refuse_password("--to", "mssql://etl:secret@dw/x").expect_err("it has one");
        assert!(error.to_string().contains("SQLCMDPASSWORD"), "{error}");
        assert!(refuse_password("--to", "postgresql://etl@dw/x").is_ok());
        assert!(refuse_password("--to", "postgresql://etl:${env:SECRET}@dw/x").is_ok());
    }
}
