//! Watches the bytes between this client and the server.
//!
//! A message starts with its kind and its length. The watch reads just these headers before the driver sees them, and
//! ends the connection at one that no server sends (`message_limits.rs`), or that asks for the password in a way that
//! `require_auth` forbids.
//!
//! The driver reports a refusal only when a COPY is finished: a server that refuses the first row of a 10 GB file would
//! be sent the rest for nothing. The watch reports it sooner, because it notes an `ErrorResponse`. The same headers
//! carry the backend's process id (`BackendKeyData`); if it differs from the id that the backend itself reports, there
//! is a pooler between.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use inrush_system::tcp::TcpConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::backend::Backend;
use super::message_limits::{
    self, ANSWER_BYTES_MAX, LOGIN_BYTES_MAX, MESSAGE_OVERHEAD_BYTES, REPORTED_SETTINGS_MAX,
};
use super::required_auth::{AuthMethod, RequiredAuth};

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
        // The first one stays.
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

/// Reads the headers of the messages that pass.
#[derive(Default)]
struct Headers {
    /// The server answers an `SSLRequest` with one byte that is not a message.
    answer_expected: bool,
    /// The following bytes are TLS; another watch above reads them.
    encrypted: bool,
    /// The header so far, and the first bytes of the body if they are read.
    header: [u8; 9],
    header_bytes: usize,
    /// Bytes of a body still to pass by.
    body_bytes: usize,
    /// True if the first `ReadyForQuery` came.
    logged_in: bool,
    /// Bytes of messages before the login.
    login_bytes: usize,
    /// The authentication method that the server requested.
    asked_by: Option<AuthMethod>,
    /// Bytes of the answer to the present question so far.
    answer_bytes: u64,
    /// The name in a `ParameterStatus` so far; `None` if no name is being read.
    reported_name: Option<Vec<u8>>,
    /// Names of settings that were reported.
    reported: HashSet<Vec<u8>>,
}

impl<S> Watched<S> {
    /// Watches a stream; `answer_expected` if TLS is requested on it.
    pub fn new(stream: S, watch: Arc<SocketWatch>, answer_expected: bool) -> Watched<S> {
        Watched {
            stream,
            watch,
            headers: Headers {
                answer_expected,
                ..Headers::default()
            },
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
        // This happens before the socket is closed.
        if let Some(connection) = self.watch.tcp.get() {
            connection.end();
        }
    }
}

/// The bytes of a header that are read before its message passes by: kind and length, and the first word of the body
/// of "Byte1('K') Int32 length, Int32 process id, secret key" and "Byte1('R') Int32 length, Int32 code, ...".
fn header_length(kind: u8) -> usize {
    match kind {
        b'K' | b'R' => 9,
        _ => 5,
    }
}

impl Headers {
    /// Checks the bytes that have arrived; an error ends the connection.
    fn see(&mut self, mut bytes: &[u8], watch: &SocketWatch) -> io::Result<()> {
        if watch.violation.get().is_some() {
            return Err(
                watch.violated("broke the protocol before, so nothing more is read from it")
            );
        }
        if self.answer_expected && !bytes.is_empty() {
            self.answer_expected = false;
            self.encrypted = match bytes[0] {
                b'S' => true,
                b'N' => false,
                // The rest of it is not shown: anybody between could have written it.
                b'E' => {
                    return Err(watch.violated(
                        "answered the request for TLS with an error: it is overloaded, or not a PostgreSQL server",
                    ));
                }
                other => {
                    return Err(watch.violated(&format!(
                        "answered the request for TLS with the byte 0x{other:02x}: no PostgreSQL server does that"
                    )));
                }
            };
            watch.is_encrypted.store(self.encrypted, Ordering::Release);
            bytes = &bytes[1..];
            if self.encrypted && !bytes.is_empty() {
                return Err(watch.violated("sent plain text after it agreed to TLS"));
            }
        }
        if self.encrypted {
            return Ok(());
        }
        watch
            .bytes_received
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        while !bytes.is_empty() {
            if self.body_bytes > 0 {
                let passed = self.body_bytes.min(bytes.len());
                self.body(&bytes[..passed], watch)?;
                self.body_bytes -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            // The kind first, then as much as a message of this kind has.
            let wanted = match self.header_bytes {
                0 => 1,
                1..5 => 5,
                _ => header_length(self.header[0]),
            };
            let taken = (wanted - self.header_bytes).min(bytes.len());
            self.header[self.header_bytes..self.header_bytes + taken]
                .copy_from_slice(&bytes[..taken]);
            self.header_bytes += taken;
            bytes = &bytes[taken..];
            if self.header_bytes == 5 && taken > 0 {
                message_limits::check(self.header[0], self.word(1), self.logged_in)
                    .map_err(|what| watch.violated(&what))?;
            }
            if self.header_bytes >= 5 && self.header_bytes == header_length(self.header[0]) {
                self.message(watch).map_err(|what| watch.violated(&what))?;
            }
        }
        Ok(())
    }

    fn word(&self, at: usize) -> u32 {
        let header = &self.header;
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    }

    fn message(&mut self, watch: &SocketWatch) -> Result<(), String> {
        let length = self.word(1) as usize;
        match self.header[0] {
            b'E' => watch.error_seen.store(true, Ordering::Release),
            b'K' => watch
                .backend_process_id
                .store(self.word(5), Ordering::Release),
            b'R' => self.asked(watch)?,
            _ => {}
        }
        self.reported_name = (self.header[0] == b'S').then(Vec::new);
        if !self.logged_in {
            self.login_bytes += length + 1;
            if self.login_bytes > LOGIN_BYTES_MAX {
                return Err(format!(
                    "sent more than {LOGIN_BYTES_MAX} bytes before the login was done"
                ));
            }
        }
        match self.header[0] {
            b'Z' => {
                self.logged_in = true;
                self.answer_bytes = 0;
            }
            // These are not part of an answer, and may come at any time.
            b'N' | b'A' | b'S' => {}
            _ => self.count_answer(length, watch)?,
        }
        // The length counts itself but not the kind.
        self.body_bytes = length + 1 - self.header_bytes;
        self.header_bytes = 0;
        Ok(())
    }

    fn count_answer(&mut self, length: usize, watch: &SocketWatch) -> Result<(), String> {
        self.answer_bytes += length as u64 + MESSAGE_OVERHEAD_BYTES;
        if self.answer_bytes > ANSWER_BYTES_MAX && !watch.drops_rows.load(Ordering::Acquire) {
            return Err(format!(
                "sent an answer to one question that takes more than {ANSWER_BYTES_MAX} bytes of memory"
            ));
        }
        Ok(())
    }

    /// Looks at an authentication request before the driver answers it.
    fn asked(&mut self, watch: &SocketWatch) -> Result<(), String> {
        let rules = &watch.rules;
        if rules.requires_certificate && !watch.certificate_sent.load(Ordering::Acquire) {
            return Err(
                "did not ask for our certificate, but sslcertmode=require demands that it does: no password was sent"
                    .to_owned(),
            );
        }
        let code = self.word(5);
        let method = match AuthMethod::of_request(code) {
            // AuthenticationOk: an earlier request, if there was one, is answered.
            None if code == 0 && self.asked_by.is_none() => Some(AuthMethod::None),
            method => method,
        };
        if let Some(method) = method {
            self.asked_by = Some(method);
            if let Some(required) = &rules.required_auth {
                required.check(method)?;
            }
        }
        Ok(())
    }

    /// Looks at a piece of a body: the driver keeps the last value of each setting that the server reports.
    fn body(&mut self, piece: &[u8], watch: &SocketWatch) -> io::Result<()> {
        let Some(name) = &mut self.reported_name else {
            return Ok(());
        };
        let end = piece.iter().position(|byte| *byte == 0);
        name.extend(&piece[..end.unwrap_or(piece.len())]);
        if (end.is_some() || piece.len() == self.body_bytes)
            && let Some(name) = self.reported_name.take()
            && self.reported.insert(name)
            && self.reported.len() > REPORTED_SETTINGS_MAX
        {
            return Err(watch.violated(&format!(
                "reported more than {REPORTED_SETTINGS_MAX} settings (ParameterStatus)"
            )));
        }
        Ok(())
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
                watched.headers.see(piece, &watch).expect("all is right");
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

    /// The violation in a stream, read in pieces of any length; nothing after it may be noted.
    fn wrong(rules: &LoginRules, stream: &[u8]) -> Option<String> {
        wrong_in_pieces(rules, stream, &[1, 2, 3, 5, 7, 4096])
    }

    fn wrong_in_pieces(rules: &LoginRules, stream: &[u8], steps: &[usize]) -> Option<String> {
        let mut told = Vec::new();
        for &step in steps {
            let watch = Arc::new(SocketWatch::new(rules.clone()));
            let mut watched = Watched::new((), Arc::clone(&watch), false);
            let broken = stream
                .chunks(step)
                .any(|piece| watched.headers.see(piece, &watch).is_err());
            assert_eq!(broken, watch.violation().is_some());
            if broken {
                assert!(watched.headers.see(b"Z", &watch).is_err());
            }
            told.push(watch.violation().map(str::to_owned));
        }
        assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
        told.remove(0)
    }

    fn rules(required_auth: Option<&str>) -> LoginRules {
        LoginRules {
            server: "dw:5432".to_owned(),
            required_auth: required_auth
                .map(|text| RequiredAuth::parse(text, "require_auth").expect("good")),
            requires_certificate: false,
        }
    }

    fn request(code: u32, rest: &[u8]) -> Vec<u8> {
        message(b'R', &[&code.to_be_bytes(), rest].concat())
    }

    #[test]
    fn methods_that_are_not_allowed_are_refused_before_they_are_answered() {
        let scram = rules(Some("scram-sha-256"));
        let sasl = [
            request(10, b"SCRAM-SHA-256\0\0"),
            request(11, b"r=x"),
            request(12, b"v=x"),
            request(0, b""),
        ]
        .concat();
        assert_eq!(wrong(&scram, &sasl), None);
        for (stream, said) in [
            (
                request(3, b""),
                "dw:5432 asks for the password in clear text",
            ),
            (request(5, b"salt"), "MD5"),
            (request(0, b""), "without asking"),
            (request(6, b""), "obsolete"),
        ] {
            assert_eq!(wrong(&rules(None), &stream), None);
            let told = wrong(&scram, &stream).expect("refused");
            assert!(
                told.contains(said) && told.contains("require_auth=scram-sha-256"),
                "{told}"
            );
        }
    }

    #[test]
    fn memory_is_bounded_before_the_login() {
        let header = |kind: u8, length: u32| [&[kind][..], &length.to_be_bytes()].concat();
        let told = wrong(&rules(None), &header(b'E', 2_000_000_000)).expect("refused");
        assert!(
            told.contains("dw:5432 sent ErrorResponse of 2000000000 bytes"),
            "{told}"
        );
        let notices = message(b'N', &[b'x'; 20_000]).repeat(60);
        let told = wrong(&rules(None), &notices).expect("refused");
        assert!(told.contains("1048576 bytes before the login"), "{told}");
        let settings: Vec<u8> = (0..300)
            .flat_map(|number| message(b'S', format!("s{number}\0v\0").as_bytes()))
            .collect();
        let told = wrong(&rules(None), &settings).expect("refused");
        assert!(told.contains("more than 256 settings"), "{told}");
    }

    #[test]
    fn memory_is_bounded_after_the_login() {
        let login = [request(0, b""), message(b'Z', b"I")].concat();
        // A setting that changes again and again is one.
        let same = message(b'S', b"search_path\0pg_catalog\0").repeat(5_000);
        assert_eq!(wrong(&rules(None), &[login.clone(), same].concat()), None);
        // Rows without a column take memory too.
        let question = |rows: usize| {
            let answer = message(b'D', &[0, 0]).repeat(rows);
            [answer, message(b'Z', b"I")].concat()
        };
        let endless = [login.clone(), question(2_100_000)].concat();
        let told = wrong_in_pieces(&rules(None), &endless, &[8192]).expect("refused");
        assert!(told.contains("answer to one question"), "{told}");
        let twice = [login, question(1_900_000), question(1_900_000)].concat();
        assert_eq!(wrong_in_pieces(&rules(None), &twice, &[8192]), None);
    }

    #[test]
    fn odd_answers_to_the_request_for_tls_are_refused() {
        for (stream, said) in [
            (&b"E\0\0\0\x08abc\0"[..], "with an error"),
            (b"HTTP/1.1", "the byte 0x48"),
            (b"SZ\0\0\0\x05I", "plain text after it agreed to TLS"),
        ] {
            let watch = Arc::new(SocketWatch::new(rules(None)));
            let mut watched = Watched::new((), Arc::clone(&watch), true);
            assert!(watched.headers.see(stream, &watch).is_err());
            let told = watch.violation().expect("refused");
            assert!(told.contains(said), "{told}");
        }
    }
}
