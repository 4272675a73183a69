//! The settings of a connection by libpq's names: from the URL, else from a service file, else
//! from the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::address::SslMode;
use super::service_file;
use crate::destination::ConnectionDefaults;

/// Settings that are taken.
const KNOWN: &[&str] = &[
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "options",
    "connect_timeout",
    "channel_binding",
    "require_auth",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "load_balance_hosts",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "service",
    "gssencmode",
    "application_name",
    "fallback_application_name",
    "client_encoding",
];

/// Settings of libpq that a load cannot honour; to pass them over would be to lie.
const REFUSED: &[&str] = &[
    "sslcert",
    "sslkey",
    "sslpassword",
    "sslcrl",
    "sslcrldir",
    "sslcertmode",
    "sslnegotiation",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "requirepeer",
    "requiressl",
    "passfile",
    "krbsrvname",
    "gsslib",
    "gssdelegation",
    "replication",
];

/// Settings by name.
#[derive(Default)]
pub struct Settings {
    values: BTreeMap<String, String>,
}

impl Settings {
    /// Takes a URL apart, then fills its gaps from its service and from the environment.
    pub fn gather(url: &str, defaults: &ConnectionDefaults) -> Result<Settings, String> {
        let mut settings = Settings::of_url(url)?;
        let service = settings
            .values
            .remove("service")
            .or_else(|| defaults.service.clone());
        if let Some(name) = service {
            let found = service_file::find(&defaults.service_files, &name)?
                .ok_or_else(|| no_service(&name, defaults))?;
            let place = format!("the service `{name}` in {}", found.file.path.display());
            for (key, value) in found.settings {
                check_known(&key).map_err(|reason| format!("{place}: {reason}"))?;
                settings.values.entry(key).or_insert(value);
            }
        }
        for (name, value) in &defaults.variables {
            let entry = settings.values.entry(name.clone());
            entry.or_insert_with(|| value.clone());
        }
        Ok(settings)
    }

    fn of_url(url: &str) -> Result<Settings, String> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let config = Config::from_str(base).map_err(|error| super::error::chain(&error))?;
        let mut settings = Settings::default();
        let hosts: Vec<String> = config.get_hosts().iter().map(host_text).collect();
        if !hosts.is_empty() {
            settings.put("host", hosts.join(","));
            // A host whose port the URL leaves open has the one of PGPORT, or the usual one.
            let ports: Vec<String> = config.get_ports().iter().map(u16::to_string).collect();
            if has_port(base) {
                settings.put("port", ports.join(","));
            }
        }
        if let Some(user) = config.get_user() {
            settings.put("user", user.to_owned());
        }
        if let Some(password) = config.get_password() {
            settings.put("password", String::from_utf8_lossy(password).into_owned());
        }
        if let Some(name) = config.get_dbname() {
            settings.put("dbname", name.to_owned());
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("`{pair}` in it is not `name=value`"))?;
            check_known(key)?;
            settings.put(key, percent_decode(value)?);
        }
        Ok(settings)
    }

    fn put(&mut self, name: &str, value: String) {
        self.values.insert(name.to_owned(), value);
    }

    /// A setting that is not empty: to libpq an empty one is none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        self.get(name)
            .map(|text| {
                text.trim()
                    .parse()
                    .map_err(|_| format!("{name} is `{text}`, which is no number"))
            })
            .transpose()
    }

    /// A length of time in seconds; zero and less is none, as libpq has it.
    pub fn seconds(&self, name: &str) -> Result<Option<Duration>, String> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let seconds: i64 = text
            .trim()
            .parse()
            .map_err(|_| format!("{name} is `{text}`, which is no number"))?;
        Ok((seconds > 0).then(|| Duration::from_secs(seconds.unsigned_abs())))
    }

    /// How far TLS is insisted on, with the file of the authorities' certificates.
    pub fn tls(&self) -> Result<(SslMode, Option<PathBuf>), String> {
        let system = self.get("sslrootcert") == Some("system");
        let word = self.get("sslmode").unwrap_or(match system {
            true => "verify-full",
            false => "prefer",
        });
        let mode = match word {
            "disable" => SslMode::Disable,
            "allow" | "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            other => {
                return Err(format!(
                    "sslmode `{other}` is none of disable, allow, prefer, require, verify-ca, \
                     verify-full"
                ));
            }
        };
        if system && mode != SslMode::VerifyFull {
            return Err(format!(
                "sslmode `{word}` is too weak for sslrootcert=system, which needs verify-full: \
                 anybody can have a certificate of a public authority"
            ));
        }
        if let Some(mode @ ("require" | "prefer" | "disable")) = self.get("gssencmode") {
            // Without GSSAPI, `prefer` and `disable` come to the same.
            if mode == "require" {
                return Err("`gssencmode=require` is not supported".to_owned());
            }
        }
        let file = self
            .get("sslrootcert")
            .filter(|_| !system)
            .map(PathBuf::from);
        Ok((mode, file))
    }
}

fn no_service(name: &str, defaults: &ConnectionDefaults) -> String {
    let files: Vec<String> = defaults
        .service_files
        .iter()
        .map(|file| file.path.display().to_string())
        .collect();
    match files.is_empty() {
        true => format!(
            "it names the service `{name}`, and there is no service file: neither PGSERVICEFILE \
             nor ~/.pg_service.conf"
        ),
        false => format!("the service `{name}` is not in {}", files.join(" or ")),
    }
}

fn check_known(name: &str) -> Result<(), String> {
    if REFUSED.contains(&name) {
        return Err(format!("`{name}` is not supported yet"));
    }
    if KNOWN.contains(&name) {
        return Ok(());
    }
    Err(format!("`{name}` is no setting of a connection"))
}

fn host_text(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    }
}

/// Whether the URL itself names a port: the driver puts the usual one in where it does not.
fn has_port(base: &str) -> bool {
    let authority = base.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or("");
    let hosts = authority.rsplit('@').next().unwrap_or("");
    hosts.split(',').any(|host| {
        let after = host.rsplit(']').next().unwrap_or(host);
        after
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.is_empty())
    })
}

fn percent_decode(text: &str) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            decoded.push(bytes[at]);
            at += 1;
            continue;
        }
        let byte = bytes
            .get(at + 1..at + 3)
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .ok_or("a `%` in it is not followed by two hexadecimal digits (a % itself is %25)")?;
        decoded.push(byte);
        at += 3;
    }
    String::from_utf8(decoded).map_err(|_| "what it encodes with % is not UTF-8".to_owned())
}
