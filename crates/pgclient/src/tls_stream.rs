//! A TLS connection to a server for the driver: the handshake, the check of the agreed protocol, and the digest of the
//! certificate that a login is bound to. The session of a dropped stream can be kept ([`SessionPlace`]), for a user who
//! continues without the driver.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use sha2::{Digest, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::tls::PROTOCOL;

/// The place for the TLS session of a dropped stream.
#[derive(Clone, Debug, Default)]
pub struct SessionPlace(Arc<Mutex<Option<ClientConnection>>>);

impl SessionPlace {
    /// The session, once its stream is dropped; `None` if there was no TLS.
    pub fn take(&self) -> Option<ClientConnection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Begins TLS.
pub struct Connector {
    /// The versions, the certificates and the checks of TLS.
    pub config: Arc<ClientConfig>,
    /// The server's name, as in the URL.
    pub host: String,
    /// True if TLS begins without a request (`sslnegotiation=direct`). Then the server must agree on PostgreSQL's
    /// protocol. Without this check, another server with the same certificate could be made to answer (libpq checks
    /// this too).
    pub is_direct: bool,
    /// The place for the session, if it is used after the stream is dropped.
    pub session_place: Option<SessionPlace>,
}

impl<S> TlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let host = ServerName::try_from(self.host)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            let connector = TlsConnector::from(Arc::clone(&self.config));
            let stream = connector.connect(host.clone(), stream).await?;
            if self.is_direct && stream.get_ref().1.alpn_protocol() != Some(PROTOCOL) {
                return Err(io::Error::other(
                    "sslnegotiation=direct: the server did not agree on the protocol `postgresql` (ALPN), as PostgreSQL \
                     17 and later do",
                ));
            }
            Ok(Encrypted {
                stream,
                kept: self.session_place.map(|place| Kept {
                    place,
                    config: self.config,
                    host,
                }),
            })
        })
    }
}

/// An encrypted connection.
pub struct Encrypted<S> {
    stream: TlsStream<S>,
    kept: Option<Kept>,
}

/// The state for keeping a session; another session is left in its place.
struct Kept {
    place: SessionPlace,
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
}

impl<S> Drop for Encrypted<S> {
    fn drop(&mut self) {
        let Some(kept) = self.kept.take() else {
            return;
        };
        // This cannot fail: the present session was made from the same configuration.
        if let Ok(other) = ClientConnection::new(kept.config, kept.host) {
            let session = std::mem::replace(self.stream.get_mut().1, other);
            let mut place = kept.place.0.lock().unwrap_or_else(PoisonError::into_inner);
            *place = Some(session);
        }
    }
}

impl<S> tokio_postgres::tls::TlsStream for Encrypted<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.stream.get_ref().1.peer_certificates();
        certificates
            .and_then(|all| end_point(all.first()?))
            .map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// The certificate's digest by the hash of its own signature, with SHA-256 in the place of MD5 and SHA-1 (RFC 5929);
/// `None` if that signature has no separate hash, such as Ed25519's.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    match parsed.signature_algorithm.oid.to_string().as_str() {
        // RSA with MD5, SHA-1 and SHA-256; ECDSA with SHA-1 and SHA-256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Some(Sha256::digest(certificate).to_vec()),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => {
            Some(Sha384::digest(certificate).to_vec())
        }
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => {
            Some(Sha512::digest(certificate).to_vec())
        }
        _ => None,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
