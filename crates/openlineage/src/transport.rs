//! Appends each event to a file as one line, or sends it to a URL in one POST.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The longest time for one event. A server that hangs delays the end of a run by this time, and does not delay its
/// start.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The place to which events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file, to which events are appended.
    File(PathBuf),
    /// A URL that accepts events, such as `https://marquez:5000/api/v1/lineage`.
    Url {
        /// The URL.
        url: String,
        /// The key that is sent with each event as `Authorization: Bearer`.
        key: Option<String>,
    },
}

/// Sends events to one destination.
pub(crate) struct Transport {
    destination: Destination,
    /// Made with the first event, because reading the system's certificates takes some milliseconds.
    agent: Option<Agent>,
}

impl Transport {
    pub(crate) fn new(destination: Destination) -> Transport {
        Transport {
            destination,
            agent: None,
        }
    }

    /// Sends an event. The error is in words, without a secret.
    pub(crate) fn send(&mut self, event: &Value) -> Result<(), String> {
        match &self.destination {
            Destination::File(path) => {
                let mut line = event.to_string();
                line.push('\n');
                let opened = OpenOptions::new().create(true).append(true).open(path);
                opened
                    .and_then(|mut file| file.write_all(line.as_bytes()))
                    .map_err(|error| format!("cannot write to {}: {error}", path.display()))
            }
            Destination::Url { url, key } => {
                let agent = self.agent.get_or_insert_with(agent);
                let mut request = agent.post(url).header("Content-Type", "application/json");
                if let Some(key) = key {
                    request = request.header("Authorization", format!("Bearer {key}"));
                }
                match request.send(event.to_string()) {
                    Ok(_) => Ok(()),
                    Err(ureq::Error::StatusCode(code)) => {
                        Err(format!("{url} answered with the status {code}"))
                    }
                    Err(error) => Err(format!("{url} cannot be reached: {error}")),
                }
            }
        }
    }
}

/// A client that asks no proxy, follows no redirect, and trusts the system's certificates.
fn agent() -> Agent {
    let found = rustls_native_certs::load_native_certs().certs;
    let trusted: Vec<Certificate<'static>> = found
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&trusted))
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .proxy(None)
        .max_redirects(0)
        .timeout_global(Some(TIMEOUT))
        .build()
        .into()
}
