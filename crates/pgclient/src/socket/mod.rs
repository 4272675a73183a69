//! Watches the bytes between this client and the server.
//!
//! A message starts with its kind and its length. The watch reads just these headers before the driver sees them, and
//! ends the connection if no PostgreSQL server sends such a message (`message_limits.rs`), or if the message asks for
//! the password in a way that `require_auth` forbids.
//!
//! The driver reports a refusal only when a COPY is finished: a server that refuses the first row of a 10 GB file would
//! be sent the rest for nothing. The watch reports it sooner, because it notes an `ErrorResponse`. The same headers
//! carry the backend's process id (`BackendKeyData`); if it differs from the id that the backend itself reports, there
//! is a pooler in between.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use inrush_system::tcp::TcpConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use self::headers::Headers;
use super::backend::Backend;
use super::required_auth::RequiredAuth;

mod headers;

/// The rules that a server must keep before it is answered.
#[derive(Clone, Debug, Default)]
pub struct LoginRules {
    /// Its host and port, for messages.
    pub server: String,
    /// The methods by which it may ask for authentication; `None` for any method.
    pub required_auth: Option<RequiredAuth>,
    /// True if it must request the client's certificate (`sslcertmode=require`).
    pub requires_certificate: bool,
}

/// The observations on a connection.
#[derive(Debug, Default)]
pub struct SocketWatch {
    rules: LoginRules,
    violation: OnceLock<String>,
    /// True if the server requested the client's certificate, and got one.
    certificate_sent: AtomicBool,
    /// True if rows that arrive now are dropped immediately.
    drops_rows: AtomicBool,
    error_seen: AtomicBool,
    is_encrypted: AtomicBool,
    backend_process_id: AtomicU32,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    backend: OnceLock<Backend>,
    given_up: OnceLock<&'static str>,
    tcp: OnceLock<Arc<TcpConnection>>,
}

impl SocketWatch {
    /// The watch over a connection that is about to be made.
    pub fn new(rules: LoginRules) -> SocketWatch {
        SocketWatch {
            rules,
            ..SocketWatch::default()
        }
    }

    /// The forbidden message that the server sent, by its name; the connection is then over.
    pub fn violation(&self) -> Option<&str> {
        self.violation.get().map(String::as_str)
    }

    /// Notes that the server requested a certificate and gets one.
    pub fn sends_certificate(&self) {
        self.certificate_sent.store(true, Ordering::Release);
    }

    /// Sets whether rows are dropped when they arrive: then their number is not limited.
    pub fn drop_rows(&self, drops: bool) {
        self.drops_rows.store(drops, Ordering::Release);
    }

    fn violated(&self, what: &str) -> io::Error {
        let text = format!("{} {what}", self.rules.server);
        // Only the first violation is kept.
        let _ = self.violation.set(text.clone());
        io::Error::other(text)
    }

    /// True if an `ErrorResponse` came since [`SocketWatch::forget_error`].
    pub fn error_seen(&self) -> bool {
        self.error_seen.load(Ordering::Acquire)
    }

    /// Forgets an `ErrorResponse`; called before a COPY begins.
    pub fn forget_error(&self) {
        self.error_seen.store(false, Ordering::Release);
    }

    /// The process id in `BackendKeyData`.
    pub fn backend_process_id(&self) -> u32 {
        self.backend_process_id.load(Ordering::Acquire)
    }

    /// True if the server has agreed to TLS.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted.load(Ordering::Acquire)
    }

    /// Notes bytes that were sent beside the driver.
    pub fn add_sent(&self, bytes: u64) {
        self.bytes_sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of the protocol sent, before TLS.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent.load(Ordering::Relaxed)
    }

    /// Bytes of the protocol received, after TLS.
    pub fn bytes_received(&self) -> u64 {
        self.bytes_received.load(Ordering::Relaxed)
    }

    /// The bytes in both directions. If the sum does not grow, the connection is silent.
    pub fn bytes_passed(&self) -> u64 {
        self.bytes_sent() + self.bytes_received()
    }

    /// The process at the other end, once it is known.
    pub fn backend(&self) -> Option<Backend> {
        self.backend.get().copied()
    }

    /// Notes the process at the other end.
    pub fn served_by(&self, backend: Backend) {
        // A connection has one backend for its life.
        let _ = self.backend.set(backend);
    }

    /// The connection, if it is TCP.
    pub fn tcp(&self) -> Option<Arc<TcpConnection>> {
        self.tcp.get().cloned()
    }

    /// Notes that the connection is TCP.
    pub fn is_tcp(&self, connection: TcpConnection) {
        let _ = self.tcp.set(Arc::new(connection));
    }

    /// The reason why the connection was given up although neither side had closed it.
    pub fn given_up(&self) -> Option<&'static str> {
        self.given_up.get().copied()
    }

    /// Notes why the connection is given up.
    pub fn give_up(&self, reason: &'static str) {
        // The first reason stays.
        let _ = self.given_up.set(reason);
    }
}

/// A stream whose bytes are watched.
pub struct Watched<S> {
    stream: S,
    watch: Arc<SocketWatch>,
    headers: Headers,
}

impl<S> Watched<S> {
    /// Watches a stream. `answer_expected` is true if TLS is requested on the stream.
    pub fn new(stream: S, watch: Arc<SocketWatch>, answer_expected: bool) -> Watched<S> {
        Watched {
            stream,
            watch,
            headers: Headers::new(answer_expected),
        }
    }

    /// A stream on which TLS begins at once.
    pub fn encrypted(stream: S, watch: Arc<SocketWatch>) -> Watched<S> {
        watch.is_encrypted.store(true, Ordering::Release);
        let mut watched = Watched::new(stream, watch, false);
        watched.headers.encrypted = true;
        watched
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        // The stream, and with it the socket, is dropped after this.
        if let Some(connection) = self.watch.tcp.get() {
            connection.end();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = polled {
            this.headers.see(&buffer.filled()[before..], &this.watch)?;
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = polled
            && !this.headers.encrypted
        {
            this.watch.add_sent(count as u64);
        }
        polled
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: TlsStream + Unpin> TlsStream for Watched<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.stream.channel_binding()
    }
}

/// Makes TLS connections whose plain bytes are watched.
pub struct WatchedTls<T> {
    /// Makes the TLS connections.
    pub inner: T,
    /// Notes facts of the passing messages.
    pub watch: Arc<SocketWatch>,
}

impl<S, T> TlsConnect<S> for WatchedTls<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
    T::Stream: Send,
{
    type Stream = Watched<T::Stream>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, T::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let watch = self.watch;
        let connecting = self.inner.connect(stream);
        Box::pin(async move { Ok(Watched::new(connecting.await?, watch, false)) })
    }
}
