//! Packets on a socket, plain or encrypted. Every wait ends when the run is interrupted or a deadline has passed.
//!
//! The socket's calls return after [`TICK`] at the latest, so that no thread must be woken from outside. If an
//! interrupt comes while the session waits for an answer, ATTENTION is sent, and the server gets [`ATTENTION_TIMEOUT`]
//! to end its work. After an interrupted write the connection is not used any more, because only a part of a packet was
//! sent.

mod handshake;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ClientConnection, StreamOwned};
use socket2::{SockRef, TcpKeepalive};

use crate::address::Endpoint;
use crate::error::{Result, SessionError};
use crate::interrupt::Interrupt;
use crate::liveness::SilenceChecks;
use crate::packets::{FIRST_PACKET_BYTES, HEADER_BYTES, Header, kind, message};

/// The longest that a call of the socket blocks.
const TICK: Duration = Duration::from_millis(100);
/// The longest silence within a packet, counted in calls of the socket: the time in which this process is stopped does
/// not count. Between two packets a server may work for hours, and during this time the session is checked repeatedly
/// ([`SilenceChecks`]).
const SILENT_TICKS_MAX: u32 = if cfg!(test) { 3 } else { 600 };
/// The longest wait for the answer to ATTENTION.
const ATTENTION_TIMEOUT: Duration = Duration::from_secs(10);
/// The time of silence after which TCP probes the peer.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// The most bytes of an answer. A page of the ledger's units has a few megabytes at most.
const ANSWER_BYTES_MAX: usize = 256 << 20;
const READ_BYTES: usize = 32 << 10;

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    /// The connection was closed by this process.
    Closed,
}

/// A connection with a server.
pub(crate) struct Transport {
    stream: Stream,
    server: Endpoint,
    interrupt: Arc<Interrupt>,
    /// Bytes that were received and are not yet read.
    input: Vec<u8>,
    /// The moment at which waits fail.
    deadline: Option<Instant>,
    heeds_interrupt: bool,
    attention_is_sent: bool,
    /// The session's number in the last packet; 0 before the first packet.
    session_number: u16,
    silence: Option<Silence>,
}

/// What happens if the server is silent, or takes no bytes.
struct Silence {
    /// The number of calls of the socket without a byte after which the session is checked.
    ticks: u32,
    checks: SilenceChecks,
}

/// One wait for the socket.
#[derive(Default)]
struct Wait {
    /// The number of calls of the socket in which no byte has passed.
    silent_ticks: u32,
    /// A check says that no byte will pass. The socket is read once more, because bytes may have come during the check.
    is_hopeless: Option<&'static str>,
}

impl Transport {
    /// Connects to the first address of the endpoint that answers.
    pub(crate) fn connect(
        endpoint: &Endpoint,
        timeout: Duration,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Transport> {
        let deadline = Instant::now() + timeout;
        let fail = |reason: String| {
            SessionError::Connect {
            server: endpoint.to_string(),
            reason,
            hint: "check host and port. Is the server running, is TCP/IP on in its configuration, and does a firewall let \
                   this machine through?"
                .to_owned(),
        }
        };
        let addresses = (endpoint.host.as_str(), endpoint.port)
            .to_socket_addrs()
            .map_err(|error| fail(error.to_string()))?;
        let mut last = "the name has no address".to_owned();
        for address in addresses {
            if interrupt.is_raised() {
                return Err(SessionError::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now()).max(TICK);
            match TcpStream::connect_timeout(&address, left).and_then(prepared) {
                Ok(socket) => {
                    return Ok(Transport {
                        stream: Stream::Plain(socket),
                        server: endpoint.clone(),
                        interrupt: Arc::clone(interrupt),
                        input: Vec::new(),
                        deadline: Some(deadline),
                        heeds_interrupt: true,
                        attention_is_sent: false,
                        session_number: 0,
                        silence: None,
                    });
                }
                Err(error) => last = error.to_string(),
            }
        }
        Err(fail(last))
    }

    /// From now on waits fail after this time, or never.
    pub(crate) fn limit(&mut self, timeout: Option<Duration>) {
        self.deadline = timeout.map(|timeout| Instant::now() + timeout);
    }

    /// From now on the session is checked after this time in which no byte has passed.
    pub(crate) fn check_silence(&mut self, after: Duration, checks: SilenceChecks) {
        let ticks = (after.as_millis() / TICK.as_millis()).max(1) as u32;
        self.silence = Some(Silence { ticks, checks });
    }

    /// Sets whether an interrupt ends waits.
    pub(crate) fn heed_interrupt(&mut self, heeds: bool) {
        self.heeds_interrupt = heeds;
    }

    /// True if ATTENTION was sent since the last call; its answer must be read.
    pub(crate) fn take_attention(&mut self) -> bool {
        std::mem::take(&mut self.attention_is_sent)
    }

    /// Ends the connection. The server undoes the open transaction.
    pub(crate) fn close(&mut self) {
        self.stream = Stream::Closed;
        self.input.clear();
    }

    /// True if this process has not closed the connection.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.stream, Stream::Closed)
    }

    /// Sends whole packets. If the connection is lost, messages that the server sent before can still be read.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.send_until(bytes, false)
    }

    /// Like [`send`](Self::send), for rows of a bulk load: stops, as if the connection were lost, if the server answers
    /// before it has taken them all.
    pub(crate) fn send_rows(&mut self, bytes: &[u8]) -> Result<()> {
        self.send_until(bytes, true)
    }

    fn send_until(&mut self, bytes: &[u8], stops_for_answer: bool) -> Result<()> {
        let mut rest = bytes;
        let mut wait = Wait::default();
        loop {
            let written = match &mut self.stream {
                Stream::Closed => return Err(self.lost("it was closed after an earlier error")),
                Stream::Plain(_) if rest.is_empty() => return Ok(()),
                Stream::Plain(socket) => socket.write(rest),
                // The bytes that TLS has buffered.
                Stream::Tls(stream) if rest.is_empty() => match stream.flush() {
                    Ok(()) => return Ok(()),
                    Err(error) => Err(error),
                },
                Stream::Tls(stream) => stream.write(rest),
            };
            match written {
                Ok(0) => return Err(self.lost("the server closed it")),
                Ok(count) => {
                    rest = &rest[count..];
                    self.heard();
                    wait = Wait::default();
                }
                Err(error) if is_tick(&error) => {
                    if self.is_interrupted() {
                        self.close();
                        return Err(SessionError::Interrupted);
                    }
                    if stops_for_answer && self.has_input()? {
                        return Err(self.lost("the server stopped taking rows"));
                    }
                    self.check_deadline()?;
                    self.wait_on(&mut wait)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(&error.to_string())),
            }
        }
    }

    /// Counts a call of the socket in which no byte has passed, and checks the session if there were many.
    fn wait_on(&mut self, wait: &mut Wait) -> Result<()> {
        if let Some(reason) = wait.is_hopeless {
            return Err(self.end(reason));
        }
        wait.silent_ticks += 1;
        // If there is a deadline, it ends the wait, and the session is not checked.
        if let Some(silence) = self.silence.as_mut().filter(|_| self.deadline.is_none())
            && wait.silent_ticks.is_multiple_of(silence.ticks)
        {
            wait.is_hopeless = silence.checks.check();
        }
        Ok(())
    }

    fn heard(&mut self) {
        if let Some(silence) = &mut self.silence {
            silence.checks.heard();
        }
    }

    /// Receives a message: the payload of its packets.
    pub(crate) fn receive(&mut self) -> Result<Vec<u8>> {
        let mut payload = Vec::new();
        while !self.receive_packet(&mut payload)? {
            if payload.len() > ANSWER_BYTES_MAX {
                return Err(
                    self.garbage(&format!("it has more than {} MiB", ANSWER_BYTES_MAX >> 20))
                );
            }
        }
        Ok(payload)
    }

    /// True if the connection goes to another machine.
    pub(crate) fn is_remote(&self) -> bool {
        let socket = match &self.stream {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
            Stream::Closed => return false,
        };
        match (socket.peer_addr(), socket.local_addr()) {
            (Ok(peer), Ok(own)) => peer.ip() != own.ip(),
            _ => true,
        }
    }

    /// The number of the session on the server; 0 if the server does not report it.
    pub(crate) fn session_number(&self) -> u16 {
        self.session_number
    }

    /// Receives a packet and appends its payload. Returns true if it is the last one of its message.
    pub(crate) fn receive_packet(&mut self, payload: &mut Vec<u8>) -> Result<bool> {
        let header = self.header()?;
        self.session_number = header.session_number;
        while self.input.len() < header.bytes {
            self.fill()?;
        }
        payload.extend_from_slice(&self.input[HEADER_BYTES..header.bytes]);
        self.input.drain(..header.bytes);
        Ok(header.is_last())
    }

    fn header(&mut self) -> Result<Header> {
        loop {
            if let Some(bytes) = self.input.first_chunk::<HEADER_BYTES>() {
                let header = Header::read(bytes);
                let is_answer = header.kind == kind::ANSWER || header.kind == kind::PRELOGIN;
                return match is_answer && header.bytes > HEADER_BYTES || header.bytes == HEADER_BYTES && header.is_last() {
                    true => Ok(header),
                    false => Err(self.garbage(&format!(
                        "a packet begins with the bytes 0x{:02x}{:02x}{:04x}, which no answer of TDS begins with",
                        header.kind, header.status, header.bytes
                    ))),
                };
            }
            self.fill()?;
        }
    }

    /// True if the server has sent something that is not yet read, or closed the connection.
    pub(crate) fn has_input(&mut self) -> Result<bool> {
        if !self.input.is_empty() {
            return Ok(true);
        }
        let socket = match &self.stream {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => &stream.sock,
            Stream::Closed => return Ok(true),
        };
        let mut ready = [PollFd::new(socket, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let count = poll(&mut ready, Some(&now)).map_err(|error| self.lost(&error.to_string()))?;
        if count == 0 {
            return Ok(false);
        }
        let Stream::Tls(stream) = &mut self.stream else {
            return Ok(true);
        };
        // The bytes may be a TLS session ticket instead of data.
        let read = stream.conn.read_tls(&mut stream.sock);
        let state = stream.conn.process_new_packets();
        match (read, state) {
            (Ok(0), _) => Ok(true),
            (Ok(_), Ok(state)) => Ok(state.plaintext_bytes_to_read() > 0),
            (Err(error), _) if is_tick(&error) => Ok(false),
            (Err(error), _) => Err(self.end(&error.to_string())),
            (_, Err(error)) => Err(self.end(&error.to_string())),
        }
    }

    fn take_input(&mut self) -> Result<Vec<u8>> {
        if self.input.is_empty() {
            self.fill()?;
        }
        Ok(std::mem::take(&mut self.input))
    }

    /// Waits for bytes.
    fn fill(&mut self) -> Result<()> {
        let mut bytes = [0; READ_BYTES];
        let mut wait = Wait::default();
        loop {
            let read = match &mut self.stream {
                Stream::Plain(socket) => socket.read(&mut bytes),
                Stream::Tls(stream) => stream.read(&mut bytes),
                Stream::Closed => return Err(self.lost("it was closed after an earlier error")),
            };
            match read {
                Ok(0) => return Err(self.end("the server closed it")),
                Ok(count) => {
                    self.input.extend_from_slice(&bytes[..count]);
                    self.heard();
                    return Ok(());
                }
                Err(error) if is_tick(&error) => {
                    if self.is_interrupted() && !self.attention_is_sent {
                        self.attend()?;
                    }
                    self.check_deadline()?;
                    self.wait_on(&mut wait)?;
                    if wait.silent_ticks >= SILENT_TICKS_MAX && !self.input.is_empty() {
                        return Err(self.end("the server stopped in the middle of a packet"));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.end(&error.to_string())),
            }
        }
    }

    /// Asks the server to end its current work.
    pub(crate) fn attend(&mut self) -> Result<()> {
        let heeds = std::mem::replace(&mut self.heeds_interrupt, false);
        self.limit(Some(ATTENTION_TIMEOUT));
        let sent = self.send(&message(kind::ATTENTION, &[], FIRST_PACKET_BYTES));
        self.heeds_interrupt = heeds;
        self.attention_is_sent = sent.is_ok();
        sent
    }

    fn is_interrupted(&self) -> bool {
        self.heeds_interrupt && self.interrupt.is_raised()
    }

    fn check_deadline(&mut self) -> Result<()> {
        if self
            .deadline
            .is_none_or(|deadline| Instant::now() < deadline)
        {
            return Ok(());
        }
        if self.attention_is_sent {
            self.close();
            return Err(SessionError::Interrupted);
        }
        Err(self.end("the server did not answer in time"))
    }

    fn end(&mut self, reason: &str) -> SessionError {
        self.close();
        match self.attention_is_sent || self.is_interrupted() {
            true => SessionError::Interrupted,
            false => self.lost(reason),
        }
    }

    /// Ends the connection, because the peer does not speak TDS.
    pub(crate) fn garbage(&mut self, what: &str) -> SessionError {
        self.close();
        SessionError::Protocol {
            server: self.server.to_string(),
            what: what.to_owned(),
        }
    }

    fn lost(&self, reason: &str) -> SessionError {
        SessionError::Lost {
            server: self.server.to_string(),
            reason: reason.to_owned(),
        }
    }
}

fn prepared(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TICK))?;
    socket.set_write_timeout(Some(TICK))?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE)
        .with_interval(KEEPALIVE_INTERVAL);
    SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
    Ok(socket)
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A connection to a peer that has sent these bytes and keeps the connection open.
    fn received(bytes: &[u8]) -> (Transport, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let endpoint = Endpoint {
            host: "127.0.0.1".to_owned(),
            port,
        };
        let interrupt = Arc::new(Interrupt::default());
        let timeout = Duration::from_secs(60);
        let transport = Transport::connect(&endpoint, timeout, &interrupt).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        peer.write_all(bytes).expect("sent");
        (transport, peer)
    }

    #[test]
    fn silence_within_a_packet_ends_the_connection() {
        let packet = message(kind::ANSWER, &[7; 40], FIRST_PACKET_BYTES);
        for part in [1, HEADER_BYTES, packet.len() - 1] {
            let (mut transport, _peer) = received(&packet[..part]);
            let error = transport.receive().expect_err("the rest is missing");
            assert!(
                error.to_string().contains("in the middle of a packet"),
                "{error}"
            );
            assert!(!transport.is_open());
        }
    }

    #[test]
    fn silence_before_a_packet_does_not() {
        let (mut transport, mut peer) = received(&[]);
        let packet = message(kind::ANSWER, &[7; 40], FIRST_PACKET_BYTES);
        let later = std::thread::spawn(move || {
            std::thread::sleep(TICK * (2 * SILENT_TICKS_MAX));
            peer.write_all(&packet).expect("sent");
            peer
        });
        assert_eq!(transport.receive().expect("it came"), [7; 40]);
        drop(later);
    }
}
