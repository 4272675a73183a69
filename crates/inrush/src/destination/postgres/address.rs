//! Connection URLs, and what fills their gaps.

use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::DestinationError;
use super::password_file;
use crate::package::redacted_url;

/// How far TLS is insisted on, with the meanings that libpq gives these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS where the server offers it, its certificate not checked.
    Prefer,
    /// TLS, the certificate not checked (checked where a root certificate file is given).
    Require,
    /// TLS, and the certificate must be signed by a trusted authority.
    VerifyCa,
    /// As `VerifyCa`, and it must be the host's own.
    VerifyFull,
}

/// What fills the gaps of a URL; the caller reads it from the environment.
#[derive(Clone, Default)]
pub struct ConnectionDefaults {
    /// `PGHOST`.
    pub host: Option<String>,
    /// `PGPORT`.
    pub port: Option<u16>,
    /// `PGUSER`, else the name of the user at the operating system.
    pub user: Option<String>,
    /// `PGDATABASE`.
    pub database: Option<String>,
    /// `PGPASSWORD`.
    pub password: Option<String>,
    /// The text of `.pgpass`.
    pub password_file: Option<String>,
    /// `PGSSLMODE`.
    pub ssl_mode: Option<String>,
    /// `PGSSLROOTCERT`.
    pub ssl_root_certificate: Option<PathBuf>,
}

/// A database that can be connected to.
#[derive(Clone)]
pub struct Address {
    /// What the driver takes. Its `Debug` leaves the password out.
    pub config: Config,
    /// How far TLS is insisted on.
    pub ssl_mode: SslMode,
    /// Certificates of trusted authorities; the system's where there is none.
    pub ssl_root_certificate: Option<PathBuf>,
}

impl Address {
    /// Reads a URL and fills its gaps.
    pub fn parse(url: &str, defaults: &ConnectionDefaults) -> Result<Address, DestinationError> {
        let fail = |reason: String| DestinationError::Address {
            url: redacted_url(url),
            reason,
        };
        if !url.starts_with("postgresql://") && !url.starts_with("postgres://") {
            return Err(fail(
                "it must start with postgresql:// or be the word `embedded`".to_owned(),
            ));
        }
        let (base, query) = match url.split_once('?') {
            Some((base, query)) => (base, query),
            None => (url, ""),
        };
        let mut ssl_mode = defaults.ssl_mode.clone();
        let mut ssl_root_certificate = defaults.ssl_root_certificate.clone();
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| fail(format!("`{pair}` in it is not `name=value`")))?;
            match key {
                "sslmode" => ssl_mode = Some(value.to_owned()),
                "sslrootcert" => {
                    ssl_root_certificate = Some(PathBuf::from(percent_decode(value)));
                }
                "sslcert" | "sslkey" | "sslpassword" | "sslcrl" | "service" | "gssencmode"
                | "krbsrvname" => {
                    return Err(fail(format!("`{key}` is not supported yet")));
                }
                _ => kept.push(pair),
            }
        }
        let url_for_driver = if kept.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", kept.join("&"))
        };
        let mut config =
            Config::from_str(&url_for_driver).map_err(|error| fail(super::error::chain(&error)))?;
        fill(&mut config, defaults);
        if config.get_user().is_none() {
            return Err(fail("it names no user and PGUSER is not set".to_owned()));
        }
        let mode_word = ssl_mode.unwrap_or_else(|| "prefer".to_owned());
        let ssl_mode = match mode_word.as_str() {
            "disable" => SslMode::Disable,
            "allow" | "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            other => {
                return Err(fail(format!(
                    "sslmode `{other}` is none of disable, allow, prefer, require, verify-ca, \
                     verify-full"
                )));
            }
        };
        config.ssl_mode(match ssl_mode {
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            _ => tokio_postgres::config::SslMode::Require,
        });
        Ok(Address {
            config,
            ssl_mode,
            ssl_root_certificate,
        })
    }

    /// The server in words: host and port, or the socket.
    pub fn server(&self) -> String {
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => format!("{host}:{port}"),
            Some(Host::Unix(folder)) => format!("{}/.s.PGSQL.{port}", folder.display()),
            None => format!("port {port}"),
        }
    }

    /// Server, database and user, without a password.
    pub fn describe(&self) -> String {
        format!(
            "{} database {} as {}",
            self.server(),
            self.config.get_dbname().unwrap_or("?"),
            self.config.get_user().unwrap_or("?")
        )
    }
}

fn fill(config: &mut Config, defaults: &ConnectionDefaults) {
    if config.get_hosts().is_empty() {
        match &defaults.host {
            Some(host) => config.host(host),
            None => match ["/var/run/postgresql", "/tmp"]
                .iter()
                .find(|folder| std::path::Path::new(folder).join(".s.PGSQL.5432").exists())
            {
                Some(folder) => config.host(*folder),
                None => config.host("localhost"),
            },
        };
    }
    if config.get_ports().is_empty() {
        config.port(defaults.port.unwrap_or(5432));
    }
    if config.get_user().is_none()
        && let Some(user) = &defaults.user
    {
        config.user(user);
    }
    if config.get_dbname().is_none() {
        let name = defaults
            .database
            .clone()
            .or_else(|| config.get_user().map(str::to_owned));
        if let Some(name) = name {
            config.dbname(name);
        }
    }
    if config.get_password().is_none() {
        if let Some(password) = &defaults.password {
            config.password(password);
        } else if let Some(text) = &defaults.password_file {
            let host = match config.get_hosts().first() {
                Some(Host::Tcp(host)) => host.clone(),
                Some(Host::Unix(_)) | None => "localhost".to_owned(),
            };
            let port = config.get_ports().first().copied().unwrap_or(5432);
            let found = password_file::find(
                text,
                &host,
                port,
                config.get_dbname().unwrap_or_default(),
                config.get_user().unwrap_or_default(),
            );
            if let Some(password) = found {
                config.password(password);
            }
        }
    }
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes
            .get(at + 1..at + 3)
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (bytes[at], pair) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_the_url_wins() {
        let defaults = ConnectionDefaults {
            host: Some("elsewhere".to_owned()),
            user: Some("etl".to_owned()),
            password: Some("secret".to_owned()),
            ..ConnectionDefaults::default()
        };
        let address = Address::parse("postgresql://dw:6000/tpch?sslmode=verify-full", &defaults)
            .expect("a good URL");
        assert_eq!(address.describe(), "dw:6000 database tpch as etl");
        assert_eq!(address.ssl_mode, SslMode::VerifyFull);
        assert_eq!(address.config.get_password(), Some(&b"secret"[..]));
    }

    #[test]
    fn an_unknown_sslmode_is_named() {
        let defaults = ConnectionDefaults {
            user: Some("etl".to_owned()),
            ..ConnectionDefaults::default()
        };
        let error = Address::parse("postgresql://dw/t?sslmode=always", &defaults)
            .err()
            .expect("refused");
        assert!(
            error.to_string().contains("sslmode `always` is none of"),
            "{error}"
        );
    }
}
