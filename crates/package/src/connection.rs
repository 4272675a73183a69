//! The connection of a package: a URL, and settings that the URL lacks.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use inrush_destination::address::DestinationKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::url_passwords::{names_secret, note_secrets, redacted_url};
use crate::secrets::{masked, note_secret};

/// A destination. Its printed and serialized forms contain no password.
#[derive(Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// `postgresql://user@host/database`, `embedded`, `embedded:DIR`, `FILE.duckdb`, `duckdb:FILE`,
    /// `parquet:DIR`, `adbc:DRIVER`, `mssql://user@host/database`, or `${env:NAME}`.
    pub url: String,
    /// The URL as it is written, if it contains an environment variable. It is shown in place of the URL with the
    /// variable's value.
    #[serde(skip)]
    pub url_written: Option<String>,
    /// Options of the destination, such as a driver's options or a codec; `postgresql://` has all options in
    /// the URL. A value may be `${env:NAME}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The options that contain an environment variable, as they are written, so that a saved package
    /// contains no secret.
    #[serde(skip)]
    pub options_written: BTreeMap<String, String>,
    /// The address in this run, if it differs from the URL: the socket of an embedded
    /// server. It is not part of the package.
    #[serde(skip)]
    pub reached_at: Option<String>,
}

impl Connection {
    /// A connection with this URL.
    pub fn new(url: &str) -> Connection {
        Connection {
            url: url.to_owned(),
            url_written: None,
            options: BTreeMap::new(),
            options_written: BTreeMap::new(),
            reached_at: None,
        }
    }

    /// The URL to connect to.
    pub fn address(&self) -> &str {
        self.reached_at.as_deref().unwrap_or(&self.url)
    }

    /// Makes a path in the URL absolute; until then it is relative to `folder`.
    pub fn make_absolute(&mut self, folder: &Path) {
        let absolute = |path: &Path| {
            let path = folder.join(path);
            std::path::absolute(&path)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        let made = |url: &str| match url.trim().strip_prefix("embedded:") {
            Some(data) => Some(format!("embedded:{}", absolute(Path::new(data)))),
            None => DestinationKind::of(url).and_then(|kind| kind.with_path(absolute)),
        };
        let Some(url) = made(&self.url).filter(|url| *url != self.url) else {
            return;
        };
        // A variable may be part of the path, or be the whole URL.
        let absolute =
            |written: String| made(&written).unwrap_or_else(|| masked(&url).into_owned());
        self.url_written = self.url_written.take().map(absolute);
        self.url = url;
    }

    /// Keeps the options that contain an environment variable, as they are written.
    pub(super) fn note_options_written(&mut self) {
        let named = self
            .options
            .iter()
            .filter(|(_, value)| value.contains("${env:"));
        let named = named.map(|(option, value)| (option.clone(), value.clone()));
        self.options_written.extend(named);
    }

    /// Sets an option to the value of an environment variable. The option is shown and saved as `${env:NAME}`.
    pub fn set_from_variable(&mut self, option: &str, variable: &str, value: String) {
        self.options_written
            .insert(option.to_owned(), format!("${{env:{variable}}}"));
        self.options.insert(option.to_owned(), value);
        self.note_secrets();
    }

    /// Notes the secrets of the connection, so that no message of a driver or a server shows them.
    pub(super) fn note_secrets(&self) {
        note_secrets(&self.url);
        for (name, value) in &self.options {
            match names_secret(name) {
                true => note_secret(value),
                false => note_secrets(value),
            }
        }
    }

    /// The URL with `***` in place of a password, and with the names of variables in place of their values.
    pub fn redacted_url(&self) -> String {
        redacted_url(self.url_written.as_deref().unwrap_or(&self.url))
    }

    /// The options as they may be shown.
    fn options_shown(&self) -> BTreeMap<&str, String> {
        let shown = |(key, value): (&String, &String)| match self.options_written.get(key) {
            Some(written) => redacted_url(written),
            None if names_secret(key) => "***".to_owned(),
            None => redacted_url(value),
        };
        self.options
            .iter()
            .map(|option| (option.0.as_str(), shown(option)))
            .collect()
    }
}

impl Serialize for Connection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            url: String,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            options: BTreeMap<&'a str, String>,
        }
        Shown {
            url: self.redacted_url(),
            options: self.options_shown(),
        }
        .serialize(serializer)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("url", &self.redacted_url())
            .field("options", &self.options_shown())
            .finish()
    }
}
