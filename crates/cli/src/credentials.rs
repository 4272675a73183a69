//! What the environment knows of connections: the `PG*` variables and `.pgpass`, as libpq
//! reads them. The engine never reads the environment itself.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use inrush::destination::postgres::ConnectionDefaults;
use inrush::package::url_has_password;

use crate::errors::CommandError;
use crate::output;

/// What fills the gaps of a URL.
pub fn connection_defaults() -> Result<ConnectionDefaults, CommandError> {
    let home = home_folder();
    Ok(ConnectionDefaults {
        host: variable("PGHOST"),
        port: match variable("PGPORT") {
            Some(text) => Some(text.parse().map_err(|_| CommandError::Usage {
                what: format!("PGPORT is `{text}`, which is no port"),
                hint: "set it to a number of 1 to 65535, or unset it".to_owned(),
            })?),
            None => None,
        },
        user: variable("PGUSER").or_else(user_name),
        database: variable("PGDATABASE"),
        password: variable("PGPASSWORD"),
        password_file: password_file(home.as_deref()),
        ssl_mode: variable("PGSSLMODE"),
        ssl_root_certificate: variable("PGSSLROOTCERT").map(PathBuf::from).or_else(|| {
            let usual = home?.join(".postgresql/root.crt");
            usual.is_file().then_some(usual)
        }),
    })
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

/// The text of `.pgpass`, where it is kept as libpq wants it kept.
fn password_file(home: Option<&Path>) -> Option<String> {
    let path = match variable("PGPASSFILE") {
        Some(path) => PathBuf::from(path),
        None => home?.join(".pgpass"),
    };
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() {
        output::errors(&format!(
            "warning: {} is not used: it is no ordinary file",
            path.display()
        ));
        return None;
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        output::errors(&format!(
            "warning: {} is not used: others can read it (chmod 600 mends it)",
            path.display()
        ));
        return None;
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            output::errors(&format!(
                "warning: {} is not used: {error} (its owner is user {})",
                path.display(),
                metadata.uid()
            ));
            None
        }
    }
}

fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// The name of the user at the operating system.
fn user_name() -> Option<String> {
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: entry and buffer are ours and live, and the length is the buffer's. The entry is
    // read only where `found` says that it was filled; its name points into the buffer.
    unsafe {
        let status = libc::getpwuid_r(
            libc::geteuid(),
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &mut found,
        );
        if status != 0 || found.is_null() {
            return None;
        }
        let name = std::ffi::CStr::from_ptr(entry.assume_init().pw_name);
        name.to_str().ok().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_has_a_name() {
        assert!(user_name().is_some_and(|name| !name.is_empty()));
    }

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
