//! The bytes between us and the server, watched.
//!
//! The driver tells of a refusal only when a COPY is finished: a server that refuses the first
//! row of a 10 GB file would be sent the rest for nothing. The protocol lets us know sooner: a
//! message starts with its type and its length, so the watch reads just the headers that come
//! by and notes an `ErrorResponse`. The same headers carry the backend's process id
//! (`BackendKeyData`); one that differs from what the backend says of itself betrays a pooler.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::vigil::Backend;
use crate::tcp::TcpConnection;

/// What was seen on a connection.
#[derive(Debug, Default)]
pub struct SocketWatch {
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
    /// Whether an `ErrorResponse` came since [`SocketWatch::forget_error`].
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

    /// Whether the server has agreed to TLS.
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

    /// Bytes in both directions: what does not grow is silent.
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

    /// The connection, where it is TCP.
    pub fn tcp(&self) -> Option<Arc<TcpConnection>> {
        self.tcp.get().cloned()
    }

    /// Notes that the connection is TCP.
    pub fn is_tcp(&self, connection: TcpConnection) {
        let _ = self.tcp.set(Arc::new(connection));
    }

    /// Why the connection was given up, though nobody had closed it.
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

/// Reads the headers of the messages that come by.
struct Headers {
    /// The server answers an `SSLRequest` with one byte that is no message.
    answer_expected: bool,
    /// What comes next is TLS, which another watch above it reads.
    encrypted: bool,
    /// The header so far, and the first bytes of the body of `BackendKeyData`.
    header: [u8; 9],
    header_bytes: usize,
    /// Bytes of a body still to pass by.
    body_bytes: usize,
}

impl<S> Watched<S> {
    /// Watches a stream; `answer_expected` where TLS is asked for on it.
    pub fn new(stream: S, watch: Arc<SocketWatch>, answer_expected: bool) -> Watched<S> {
        Watched {
            stream,
            watch,
            headers: Headers {
                answer_expected,
                encrypted: false,
                header: [0; 9],
                header_bytes: 0,
                body_bytes: 0,
            },
        }
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        // Before the socket is closed.
        if let Some(connection) = self.watch.tcp.get() {
            connection.end();
        }
    }
}

impl Headers {
    fn see(&mut self, mut bytes: &[u8], watch: &SocketWatch) {
        if self.answer_expected && !bytes.is_empty() {
            self.answer_expected = false;
            self.encrypted = bytes[0] == b'S';
            watch.is_encrypted.store(self.encrypted, Ordering::Release);
            bytes = &bytes[1..];
        }
        if self.encrypted {
            return;
        }
        watch
            .bytes_received
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        while !bytes.is_empty() {
            if self.body_bytes > 0 {
                let passed = self.body_bytes.min(bytes.len());
                self.body_bytes -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            // "Byte1('K') Int32 length, Int32 process id, secret key": four bytes more than the
            // type and the length that every message has.
            let wanted = if self.header_bytes > 0 && self.header[0] == b'K' {
                9
            } else {
                5
            };
            let taken = (wanted - self.header_bytes).min(bytes.len());
            self.header[self.header_bytes..self.header_bytes + taken]
                .copy_from_slice(&bytes[..taken]);
            self.header_bytes += taken;
            bytes = &bytes[taken..];
            let wanted = if self.header[0] == b'K' { 9 } else { 5 };
            if self.header_bytes == wanted {
                self.message(wanted, watch);
            }
        }
    }

    fn message(&mut self, header_bytes: usize, watch: &SocketWatch) {
        let word = |at: usize| {
            u32::from_be_bytes([
                self.header[at],
                self.header[at + 1],
                self.header[at + 2],
                self.header[at + 3],
            ])
        };
        match self.header[0] {
            b'E' => watch.error_seen.store(true, Ordering::Release),
            b'K' => watch.backend_process_id.store(word(5), Ordering::Release),
            _ => {}
        }
        // The length counts itself but not the type byte.
        self.body_bytes = (word(1) as usize + 1).saturating_sub(header_bytes);
        self.header_bytes = 0;
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
            this.headers.see(&buffer.filled()[before..], &this.watch);
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
    /// Notes what comes by.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend((body.len() as u32 + 4).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn headers_are_found_however_the_bytes_arrive() {
        let mut stream = vec![b'N'];
        stream.extend(message(b'R', &[0, 0, 0, 0]));
        stream.extend(message(b'K', &[0, 0, 0x30, 0x39, 1, 2, 3, 4]));
        stream.extend(message(b'Z', b"I"));
        let before_error = stream.len();
        stream.extend(message(b'E', b"SERROR\0C22000\0\0"));
        for step in 1..stream.len() {
            let watch = Arc::new(SocketWatch::default());
            let mut watched = Watched::new((), Arc::clone(&watch), true);
            let mut seen = 0;
            for piece in stream.chunks(step) {
                watched.headers.see(piece, &watch);
                seen += piece.len();
                if seen <= before_error {
                    assert!(!watch.error_seen());
                }
            }
            assert!(watch.error_seen(), "in steps of {step}");
            assert_eq!(watch.backend_process_id(), 12345, "in steps of {step}");
            assert_eq!(watch.bytes_received(), stream.len() as u64 - 1);
        }
    }
}
