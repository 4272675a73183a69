//! The settings of a connection by libpq's names: from the URL, else from a service file, else
//! from the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::service_file;
use crate::connection_defaults::{ConnectionDefaults, LIBPQ_VARIABLES};

/// The supported settings; `docs/connections.md` explains each.
const KNOWN: &[&str] = &[
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "passfile",
    "service",
    "options",
    "connect_timeout",
    "client_encoding",
    "application_name",
    "fallback_application_name",
    "target_session_attrs",
    "load_balance_hosts",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "require_auth",
    "requirepeer",
    "channel_binding",
    "min_protocol_version",
    "max_protocol_version",
    "sslmode",
    "requiressl",
    "sslnegotiation",
    "sslcompression",
    "sslcert",
    "sslkey",
    "sslcertmode",
    "sslrootcert",
    "sslcrl",
    "sslcrldir",
    "sslsni",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "gssencmode",
    "krbsrvname",
    "gsslib",
    "gssdelegation",
];

const NO_OAUTH: &str = "Inrush does not log in by OAuth";
const NO_SCRAM_KEYS: &str = "Inrush logs in with the password itself, not with SCRAM keys derived from it: give the password";

/// Settings of libpq that are refused, with the reason. Ignoring them silently would mislead the user.
const REFUSED: &[(&str, &str)] = &[
    (
        "sslpassword",
        "Inrush does not read encrypted keys: `openssl pkey -in KEY -out PLAIN` writes an \
         unencrypted key, and chmod 600 protects it from other users",
    ),
    (
        "sslkeylogfile",
        "anybody with that file can read everything that is sent",
    ),
    ("replication", "a load needs an ordinary session"),
    ("servicefile", "name the file of services in PGSERVICEFILE"),
    ("oauth_issuer", NO_OAUTH),
    ("oauth_client_id", NO_OAUTH),
    ("oauth_client_secret", NO_OAUTH),
    ("oauth_scope", NO_OAUTH),
    ("oauth_ca_file", NO_OAUTH),
    ("scram_client_key", NO_SCRAM_KEYS),
    ("scram_server_key", NO_SCRAM_KEYS),
];

/// Settings by name.
#[derive(Default)]
pub struct UrlSettings {
    values: BTreeMap<String, String>,
    /// The names of settings that come from the environment.
    of_environment: BTreeSet<String>,
}

impl UrlSettings {
    /// Parses a URL, then fills its gaps from its service and from the environment.
    pub fn gather(url: &str, defaults: &ConnectionDefaults) -> Result<UrlSettings, String> {
        let mut settings = UrlSettings::of_url(url)?;
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
            if !settings.values.contains_key(name) {
                settings.put(name, value.clone());
                settings.of_environment.insert(name.clone());
            }
        }
        Ok(settings)
    }

    fn of_url(url: &str) -> Result<UrlSettings, String> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let authority = base.split_once("://").map_or("", |(_, rest)| rest);
        if authority.matches('@').count() > 1 {
            return Err(
                "it has more than one `@`: an @ in a user or a password is written %40".to_owned(),
            );
        }
        let config = Config::from_str(base).map_err(|error| super::error::chain(&error))?;
        let mut settings = UrlSettings::default();
        let hosts: Vec<String> = config.get_hosts().iter().map(host_text).collect();
        if !hosts.is_empty() {
            settings.put("host", hosts.join(","));
            // If the URL has no port, the service, PGPORT or the usual port decides.
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
            let (key, value) = pair.split_once('=').ok_or(
                "a part after its `?` is not `name=value` (a ? in a password is written %3F)",
            )?;
            let value = percent_decode(value)?;
            // JDBC's setting for TLS; libpq also accepts it, with this one value.
            if key == "ssl" && value == "true" {
                settings.put("sslmode", "require".to_owned());
                continue;
            }
            check_known(key)?;
            settings.put(key, value);
        }
        Ok(settings)
    }

    fn put(&mut self, name: &str, value: String) {
        self.values.insert(name.to_owned(), value);
    }

    /// A setting that is not empty: libpq ignores an empty one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The name of a setting in messages; if its value came from an environment variable, the variable is named, too.
    pub fn called(&self, name: &str) -> String {
        let variable = LIBPQ_VARIABLES
            .iter()
            .find(|(_, setting)| *setting == name)
            .filter(|_| self.of_environment.contains(name));
        match variable {
            Some((variable, _)) => format!("{name} (from {variable})"),
            None => name.to_owned(),
        }
    }

    /// The environment variable that a message names, if it uses [`called`](UrlSettings::called).
    pub fn variable_in(message: &str) -> Option<&'static str> {
        let (_, rest) = message.split_once(" (from ")?;
        let (named, _) = rest.split_once(')')?;
        let found = LIBPQ_VARIABLES
            .iter()
            .find(|(variable, _)| *variable == named);
        found.map(|(variable, _)| *variable)
    }

    /// A setting that is `1` or `0`; `usual` if it is not set.
    pub fn switch(&self, name: &str, usual: bool) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(usual),
            Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(other) => Err(format!(
                "{} `{other}` is not one of 0, 1",
                self.called(name)
            )),
        }
    }

    /// A setting that is one of `words`; `usual` if it is not set.
    pub fn word<'a>(
        &'a self,
        name: &str,
        usual: &'a str,
        words: &[&str],
    ) -> Result<&'a str, String> {
        let word = self.get(name).unwrap_or(usual);
        if words.contains(&word) {
            return Ok(word);
        }
        Err(format!(
            "{} `{word}` is not one of {}",
            self.called(name),
            words.join(", ")
        ))
    }

    /// Refuses values that ask for something that Inrush does not support.
    pub fn check_unsupported(&self) -> Result<(), String> {
        if self.word("gssencmode", "prefer", &["disable", "prefer", "require"])? == "require" {
            return Err(format!(
                "{} `require` is not supported: Inrush does not encrypt by GSSAPI",
                self.called("gssencmode")
            ));
        }
        // krbsrvname, gsslib and gssdelegation say how to log in by GSSAPI. They have no effect: a server that asks for
        // GSSAPI is refused.
        if self.switch("sslcompression", false)? {
            return Err(format!(
                "{} is on: compression under TLS reveals secrets, and is not supported",
                self.called("sslcompression")
            ));
        }
        let encoding = self.get("client_encoding").unwrap_or("auto");
        if !["auto", "utf8", "utf-8", "unicode"].contains(&encoding.to_lowercase().as_str()) {
            return Err(format!(
                "{} `{encoding}` is not supported: Inrush sends UTF-8; `encoding` in the format \
                 declares the encoding of a file",
                self.called("client_encoding")
            ));
        }
        let versions = ["3.0", "3.2", "latest"];
        self.word("max_protocol_version", "3.0", &versions)?;
        let least = self.word("min_protocol_version", "3.0", &versions)?;
        if least != "3.0" {
            return Err(format!(
                "{} `{least}` is not supported: Inrush uses version 3.0 of the protocol",
                self.called("min_protocol_version")
            ));
        }
        Ok(())
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        self.get(name)
            .map(|text| text.trim().parse().map_err(|_| self.no_number(name, text)))
            .transpose()
    }

    fn no_number(&self, name: &str, text: &str) -> String {
        format!("{} is `{text}`, which is not a number", self.called(name))
    }

    /// A length of time in seconds; zero and less mean none, as in libpq.
    pub fn seconds(&self, name: &str) -> Result<Option<Duration>, String> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let seconds: i64 = text
            .trim()
            .parse()
            .map_err(|_| self.no_number(name, text))?;
        Ok((seconds > 0).then(|| Duration::from_secs(seconds.unsigned_abs())))
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
            "it names the service `{name}`, but there is no service file: neither PGSERVICEFILE \
             nor ~/.pg_service.conf"
        ),
        false => format!("the service `{name}` is not in {}", files.join(" or ")),
    }
}

fn check_known(name: &str) -> Result<(), String> {
    if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(format!("`{name}` is not supported: {reason}"));
    }
    if KNOWN.contains(&name) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not a connection setting (docs/connections.md lists them)"
    ))
}

fn host_text(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    }
}

/// True if the URL itself has a port. The parsed URL does not show this, because the parser inserts the usual port.
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
            .ok_or(
                "a `%` in it is not followed by two hexadecimal digits (write % itself as %25)",
            )?;
        decoded.push(byte);
        at += 3;
    }
    String::from_utf8(decoded).map_err(|_| "what it encodes with % is not UTF-8".to_owned())
}
