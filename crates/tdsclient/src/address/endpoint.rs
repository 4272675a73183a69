//! Host and port, as URLs and sqlcmd write them.

use super::{Endpoint, PORT, address};
use crate::error::Result;

pub(super) fn endpoints(hosts: &str) -> Result<Vec<Endpoint>> {
    hosts.split(',').map(endpoint).collect()
}

/// The server as sqlcmd names it: `HOST`, `tcp:HOST` or `HOST,PORT`.
pub(super) fn server_endpoint(text: &str) -> Result<Endpoint> {
    let text = text.trim();
    let text = text.strip_prefix("tcp:").unwrap_or(text);
    match text.rsplit_once(',') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => {
            endpoint(&format!("[{}]:{}", host.trim(), port.trim()))
        }
        Some((host, port)) => endpoint(&format!("{}:{}", host.trim(), port.trim())),
        None => endpoint(text),
    }
}

fn endpoint(text: &str) -> Result<Endpoint> {
    let text = text.trim();
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(|| {
                address(
                    "an address begins with [ and has no ]",
                    "write [ADDRESS]:PORT for IPv6",
                )
            })?;
            (host, after.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.contains('\\') {
        return Err(address(
            &format!("{host}: named instances are not looked up"),
            "write the port of the instance: mssql://USER@HOST:PORT/DATABASE",
        ));
    }
    if host.is_empty() {
        return Err(address(
            "the connection names no host",
            "write mssql://USER@HOST/DATABASE, or set SQLCMDSERVER",
        ));
    }
    let port = match port {
        None => PORT,
        // The text is not repeated: it may be a part of a password that contains @ or :.
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
            address(
                &format!("the port of {host} is not a number from 1 to 65535"),
                "write HOST:PORT; special characters of a password are written %XX",
            )
        })?,
    };
    Ok(Endpoint {
        host: host.to_owned(),
        port,
    })
}
