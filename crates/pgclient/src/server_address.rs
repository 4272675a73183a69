//! The servers of an address: host and port, or the folder of a socket.

use std::path::{Path, PathBuf};

use tokio_postgres::config::Host;

use super::settings::UrlSettings;

const PORT: u16 = 5432;

/// One of the servers of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its name, or the folder of its socket. Certificates and passwords are for this name.
    pub host: Host,
    /// The address of the server, if its name need not be looked up.
    pub host_address: Option<String>,
    /// Its port.
    pub port: u16,
}

impl ServerAddress {
    /// Reads `HOST:PORT`, `HOST`, `[IPV6]:PORT`, or a folder with a socket (`/FOLDER` or `/FOLDER:PORT`). The default
    /// port is 5432.
    pub fn parse(text: &str) -> Result<ServerAddress, String> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            None => PORT,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| format!("`{port}` is not a port"))?,
        };
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let host = match name {
            "" => return Err(format!("`{text}` names no host")),
            folder if folder.starts_with('/') => Host::Unix(PathBuf::from(folder)),
            name => Host::Tcp(name.to_owned()),
        };
        Ok(ServerAddress {
            host,
            host_address: None,
            port,
        })
    }

    /// Host and port, or the socket.
    pub fn describe(&self) -> String {
        match &self.host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]:{}", self.port),
            Host::Tcp(host) => format!("{host}:{}", self.port),
            Host::Unix(folder) => format!("{}/.s.PGSQL.{}", folder.display(), self.port),
        }
    }
}

/// The servers that the settings name, in the order in which they are tried.
pub(super) fn places(settings: &UrlSettings) -> Result<Vec<ServerAddress>, String> {
    let list = |name: &str| -> Vec<String> {
        settings
            .get(name)
            .map(|text| text.split(',').map(|one| one.trim().to_owned()).collect())
            .unwrap_or_default()
    };
    let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = hosts.len().max(addresses.len()).max(1);
    for (name, given) in [("host", &hosts), ("hostaddr", &addresses)] {
        if !given.is_empty() && given.len() != count {
            return Err(format!(
                "it names {count} servers, but {} values of {}",
                given.len(),
                settings.called(name)
            ));
        }
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(format!(
            "it names {count} servers, but {} values of {}",
            ports.len(),
            settings.called("port")
        ));
    }
    let mut found = Vec::with_capacity(count);
    for index in 0..count {
        let address = addresses.get(index).filter(|text| !text.is_empty());
        let port = match ports.get(index).or(ports.first()).map(String::as_str) {
            None | Some("") => PORT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| format!("{} `{text}` is not a port", settings.called("port")))?,
        };
        let host = hosts.get(index).map_or("", String::as_str);
        let host = match (host, address) {
            ("", Some(address)) => Host::Tcp(address.clone()),
            ("", None) => usual_host(port),
            // As in libpq, an address decides where to connect, for any host.
            (path, Some(address)) if path.starts_with('/') => Host::Tcp(address.clone()),
            (path, None) if path.starts_with('/') => Host::Unix(PathBuf::from(path)),
            (name, _) => Host::Tcp(name.to_owned()),
        };
        found.push(ServerAddress {
            host,
            host_address: address.cloned(),
            port,
        });
    }
    match settings.get("load_balance_hosts") {
        None | Some("disable") => {}
        // The process's number is random enough to spread loaders over servers.
        Some("random") => found.rotate_left(std::process::id() as usize % count),
        Some(other) => {
            return Err(format!(
                "{} `{other}` is neither disable nor random",
                settings.called("load_balance_hosts")
            ));
        }
    }
    Ok(found)
}

/// The default host: the server's socket if there is one.
fn usual_host(port: u16) -> Host {
    ["/var/run/postgresql", "/tmp"]
        .iter()
        .map(Path::new)
        .find(|folder| folder.join(format!(".s.PGSQL.{port}")).exists())
        .map_or_else(
            || Host::Tcp("localhost".to_owned()),
            |folder| Host::Unix(folder.to_owned()),
        )
}
