//! Where data goes: a URL, and what it does not say.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use inrush_destination::address::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::url::redacted_url;

/// A database. What is shown or serialized of it has no password in it.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// `postgresql://user@host/database`, `embedded`, `embedded:DIR`, `FILE.duckdb`, `duckdb:FILE`,
    /// `parquet:DIR`, `adbc:DRIVER`, or `${env:NAME}`.
    #[serde(serialize_with = "without_secrets")]
    pub url: String,
    /// Options of the destination, such as a driver's or a codec; `postgresql://` has all of its in
    /// the URL. Values may be `${env:NAME}`.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "options_without_secrets"
    )]
    pub options: BTreeMap<String, String>,
    /// Those that a variable of the environment stands in, as they are written: what is written again
    /// has no secret in it.
    #[serde(skip)]
    pub options_written: BTreeMap<String, String>,
    /// Where it is reached in this run, where that is elsewhere: the socket of an embedded
    /// server. It is no part of what the package says.
    #[serde(skip)]
    pub reached_at: Option<String>,
}

impl Connection {
    /// A connection with this URL.
    pub fn new(url: &str) -> Connection {
        Connection {
            url: url.to_owned(),
            options: BTreeMap::new(),
            options_written: BTreeMap::new(),
            reached_at: None,
        }
    }

    /// The URL to connect to.
    pub fn address(&self) -> &str {
        self.reached_at.as_deref().unwrap_or(&self.url)
    }

    /// Makes a path that it names start at the root, where it starts at `folder` now.
    pub fn make_absolute(&mut self, folder: &Path) {
        let absolute = |path: &Path| {
            let path = folder.join(path);
            std::path::absolute(&path)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        if let Some(data) = self.url.trim().strip_prefix("embedded:") {
            self.url = format!("embedded:{}", absolute(Path::new(data)));
            return;
        }
        if let Some(url) = Kind::of(&self.url).and_then(|kind| kind.with_path(absolute)) {
            self.url = url;
        }
    }

    /// The URL with `***` in place of a password.
    pub fn redacted_url(&self) -> String {
        redacted_url(&self.url)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("url", &self.redacted_url())
            .field("options", &options_shown(&self.options))
            .finish()
    }
}

/// Options with `***` in place of what may be a secret.
fn options_shown(options: &BTreeMap<String, String>) -> BTreeMap<&str, String> {
    let shown = |(key, value): (&'_ String, &'_ String)| match names_secret(key) {
        true => "***".to_owned(),
        false => redacted_url(value),
    };
    options
        .iter()
        .map(|option| (option.0.as_str(), shown(option)))
        .collect()
}

/// Whether the name of an option says that its value is a secret.
pub fn names_secret(key: &str) -> bool {
    const PARTS: [&str; 14] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "credential",
        "private_key",
        "api_key",
        "apikey",
        "access_key",
        "account_key",
        "authorization",
        "bearer",
        "call_header",
    ];
    const WORDS: [&str; 4] = ["pwd", "pat", "sas", "pass"];
    let key = key.to_lowercase();
    let mut words = key.split(|c: char| !c.is_ascii_alphanumeric());
    PARTS.iter().any(|part| key.contains(part)) || words.any(|word| WORDS.contains(&word))
}

fn options_without_secrets<S: Serializer>(
    options: &BTreeMap<String, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(options_shown(options))
}

fn without_secrets<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redacted_url(url))
}
