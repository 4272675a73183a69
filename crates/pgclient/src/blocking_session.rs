//! A session on a thread that waits for the server: statements, and the rows of `COPY ... TO STDOUT`.
//!
//! The rows of a COPY come as one message each. They are read from the socket's buffer without the driver, which would pass
//! each of them from thread to thread.
//!
//! Each wait ends when the run is asked to stop. A session that was stopped, or that has met an error in the middle of
//! a COPY, can only be dropped: the server notices that its client is gone and ends the statement. Until the server has
//! ended a session, it counts among the connections that a user may have. So other sessions are waited for when they are
//! dropped, and a connection that is refused because there are too many is tried again.

use std::io;
use std::time::{Duration, Instant};

use inrush_rows::cancel::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::address::DatabaseAddress;
use super::backend::Backend;
use super::connecting;
use super::connection::SETTINGS;
use super::error::ClientError;
use super::liveness::SilenceChecks;
use super::raw_connection::RawConnection;
use super::row_messages::{self, FieldDescription};
use super::{error_response, frontend, message_limits};

/// The longest message with rows of a COPY, and so the longest row, in bytes. PostgreSQL's own limit is 1 GiB.
pub const ROW_BYTES_MAX: u32 = 512 << 20;

/// The most bytes of all rows of one result.
const RESULT_BYTES_MAX: usize = 256 << 20;
/// Bytes that are requested from the system at a time.
const RECEIVE_BYTES: usize = 256 << 10;
/// The most bytes of the buffer that are kept for the next messages.
const KEPT_BYTES_MAX: usize = 4 << 20;
/// A message's kind and length.
const HEADER_BYTES: usize = 5;
/// What a session does when it leaves, for messages.
const ENDING: &str = "ending a session";

/// The longest wait for the server to end sessions whose client has left.
pub const ENDING_MAX: Duration = Duration::from_secs(5);
/// The time between two looks at such sessions.
pub const ENDING_LOOK: Duration = Duration::from_millis(5);
/// The longest pause between two attempts to connect to a server that has too many connections.
const RETRY_PAUSE_MAX: Duration = Duration::from_millis(250);

/// Why a session could not do something.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The run was asked to stop.
    #[error("stopped on request")]
    Stopped,
    /// The server refused, or the connection failed.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The result of the last statement that returned rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultRows {
    /// Its columns.
    pub fields: Vec<FieldDescription>,
    /// Its rows, as the server's text.
    pub rows: Vec<Vec<Option<String>>>,
}

impl ResultRows {
    /// All values that are not NULL, row by row.
    pub fn texts(self) -> Vec<String> {
        self.rows.into_iter().flatten().flatten().collect()
    }

    /// The first value of the first row; `None` if it is NULL, or if there is no row.
    pub fn first(self) -> Option<String> {
        self.rows.into_iter().next()?.into_iter().next()?
    }
}

/// A session that is used by one thread at a time. It ends when it is dropped.
pub struct BlockingSession {
    raw: RawConnection,
    server: String,
    stop: Stop,
    address: DatabaseAddress,
    /// The deadline for the answer to its first statements. Until the backend is known, the server cannot be asked
    /// about it.
    settled_until: Option<Instant>,
    /// The backend, if it was asked for.
    backend: Option<Backend>,
    /// `None` until the backend is known, or if the address sets no keepalives.
    silence: Option<(Duration, SilenceChecks)>,
    /// A buffer whose first `filled` bytes were received. The bytes before `seen` are processed.
    received: Vec<u8>,
    filled: usize,
    seen: usize,
    waited_ns: u64,
    /// True if the server waits for the next statement.
    is_idle: bool,
    /// The deadline for the server to end the session, once it was told to.
    ends_by: Option<Instant>,
    /// The deadline for the answer to the present statement.
    deadline: Option<Instant>,
    /// True if an answer came too late: it could be mistaken for the answer to the next statement.
    is_behind: bool,
}

impl std::fmt::Debug for BlockingSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockingSession")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl BlockingSession {
    /// Connects, tagged with `application_name`, and makes the settings that all our sessions have. If there are too
    /// many connections, this is tried again for [`ENDING_MAX`]. The thread may belong to a runtime: the connection is
    /// made on a separate thread.
    pub fn open(
        address: &DatabaseAddress,
        application_name: &str,
        stop: &Stop,
    ) -> Result<BlockingSession, SessionError> {
        let failed = |error: io::Error| ClientError::Connect {
            server: address.server(),
            reason: format!("no thread could be started to connect: {error}"),
            hint: "is the limit of processes (ulimit -u) reached?".to_owned(),
            source: None,
        };
        let connecting = on_thread(|| async {
            tokio::select! {
                biased;
                _ = stop.wait() => Err(SessionError::Stopped),
                opened = open_when_free(address, application_name) => Ok(opened?),
            }
        });
        let raw = connecting.map_err(failed)??;
        raw.set_waiting(false).map_err(failed)?;
        let mut session = BlockingSession::over(raw, address, stop);
        session.query(SETTINGS, "making the session's settings")?;
        if let Some(patience) = address.keepalive.patience() {
            let backend = session.backend()?;
            let checks = SilenceChecks::new(session.raw.place().clone(), backend);
            session.backend = Some(backend);
            session.silence = Some((patience, checks));
        }
        session.settled_until = None;
        Ok(session)
    }

    /// The session of a connection that has just logged in.
    fn over(raw: RawConnection, address: &DatabaseAddress, stop: &Stop) -> BlockingSession {
        BlockingSession {
            raw,
            server: address.server(),
            stop: stop.clone(),
            address: address.clone(),
            settled_until: Instant::now().checked_add(address.connect_timeout),
            backend: None,
            silence: None,
            received: Vec::new(),
            filled: 0,
            seen: 0,
            waited_ns: 0,
            is_idle: true,
            ends_by: None,
            deadline: None,
            is_behind: false,
        }
    }

    /// The backend as it reports itself. Behind a pooler it is not the one that the login named.
    fn backend(&mut self) -> Result<Backend, SessionError> {
        let doing = "asking for the backend";
        let found = self.query(Backend::QUESTION, doing)?;
        let texts = found.texts();
        let number = |index: usize| texts.get(index).and_then(|text| text.parse::<i64>().ok());
        match (number(0), number(1), number(2)) {
            (Some(process_id), Some(opened_at), Some(server_started_at)) => Ok(Backend {
                process_id: process_id as i32,
                opened_at,
                server_started_at,
            }),
            _ => Err(self.violation(doing, "did not report its process and its times")),
        }
    }

    /// The id of the server process that serves the session, as the login reported it. Behind a pooler another process
    /// may serve the session.
    pub fn backend_process_id(&self) -> i32 {
        self.raw.backend_process_id()
    }

    /// The id of the server process that serves the session: as the process itself reported it if it was asked,
    /// otherwise as the login reported it.
    pub fn serving_process_id(&self) -> i32 {
        let asked = self.backend.map(|backend| backend.process_id);
        asked.unwrap_or_else(|| self.raw.backend_process_id())
    }

    /// True if the server is on another machine, judged by the addresses.
    pub fn is_remote(&self) -> bool {
        self.raw.is_remote()
    }

    /// The shortest round trip so far, in microseconds, if the connection is TCP.
    pub fn round_trip_us(&self) -> Option<u32> {
        self.raw.tcp().map(|facts| facts.round_trip_min_us)
    }

    /// Nanoseconds that were spent in receiving bytes and in waiting for them.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Runs statements, separated by `;`, and returns the rows of the last one that has some.
    pub fn query(&mut self, sql: &str, doing: &str) -> Result<ResultRows, SessionError> {
        self.no_zero_byte(sql, doing)?;
        let mut message = Vec::new();
        frontend::query(&mut message, sql);
        self.send(&message, doing)?;
        self.answer(doing)
    }

    /// Runs statements like [`query`](BlockingSession::query). If the answer takes longer than `patience`, that is an error, and
    /// later calls are refused: the session only keeps its transaction open.
    pub fn query_within(
        &mut self,
        sql: &str,
        patience: Duration,
        doing: &str,
    ) -> Result<ResultRows, SessionError> {
        self.deadline = Some(Instant::now() + patience);
        let answer = self.query(sql, doing);
        self.deadline = None;
        answer
    }

    /// Lets the server parse one statement, which is not run. Several statements are an error.
    pub fn parse(&mut self, sql: &str, doing: &str) -> Result<(), SessionError> {
        self.no_zero_byte(sql, doing)?;
        let mut messages = Vec::new();
        frontend::parse(&mut messages, "", sql);
        frontend::sync(&mut messages);
        self.send(&messages, doing)?;
        self.answer(doing).map(drop)
    }

    /// Begins a `COPY ... TO STDOUT`.
    pub fn begin_copy(&mut self, sql: &str, doing: &str) -> Result<(), SessionError> {
        self.no_zero_byte(sql, doing)?;
        let mut message = Vec::new();
        frontend::query(&mut message, sql);
        self.send(&message, doing)?;
        let (kind, body) = self.message(doing)?;
        match kind {
            b'H' => {
                self.seen = body.end;
                Ok(())
            }
            b'E' => Err(self.refused(body, doing)?),
            other => Err(self.unexpected(other, doing)),
        }
    }

    /// Appends data of the COPY until `out` has this many bytes. False at the end of the COPY, after which the session can
    /// be used again.
    pub fn read_copy(
        &mut self,
        out: &mut Vec<u8>,
        bytes_wanted: usize,
        doing: &str,
    ) -> Result<bool, SessionError> {
        while out.len() < bytes_wanted {
            let (kind, body) = self.message(doing)?;
            match kind {
                b'd' => {
                    out.extend_from_slice(&self.received[body.clone()]);
                    self.seen = body.end;
                }
                b'c' => {
                    self.seen = body.end;
                    self.answer(doing)?;
                    return Ok(false);
                }
                b'E' => return Err(self.refused(body, doing)?),
                other => return Err(self.unexpected(other, doing)),
            }
        }
        Ok(true)
    }

    /// Tells the server to end the session, which can then only be dropped. Sessions that are told so first, and dropped
    /// afterwards, end at the same time.
    pub fn leave(&mut self) {
        if !self.is_idle {
            return;
        }
        let ends_by = Instant::now() + ENDING_MAX;
        self.settled_until = None;
        self.deadline = Some(ends_by);
        let mut message = Vec::new();
        frontend::terminate(&mut message);
        // An error means that there is nothing to wait for: the connection has ended, or the run is to stop.
        self.ends_by = self.send(&message, ENDING).is_ok().then_some(ends_by);
    }

    /// Reads the answer to statements, up to `ReadyForQuery`.
    fn answer(&mut self, doing: &str) -> Result<ResultRows, SessionError> {
        let mut result = ResultRows::default();
        let mut result_bytes = 0;
        loop {
            let (kind, body) = self.message(doing)?;
            let end = body.end;
            let bytes = &self.received[body.clone()];
            let is_read = match kind {
                b'T' => {
                    result.rows.clear();
                    row_messages::description(bytes).map(|fields| result.fields = fields)
                }
                b'D' => {
                    // Each field also needs memory for a separate allocation.
                    result_bytes += bytes.len() * 8;
                    match result_bytes > RESULT_BYTES_MAX {
                        true => None,
                        false => row_messages::row(bytes).map(|row| result.rows.push(row)),
                    }
                }
                b'E' => return Err(self.refused(body, doing)?),
                b'Z' => {
                    self.seen = end;
                    self.is_idle = true;
                    return Ok(result);
                }
                b'C' | b'I' | b'1' | b'2' | b'3' | b'n' | b't' => Some(()),
                _ => None,
            };
            if is_read.is_none() {
                return Err(self.unexpected(kind, doing));
            }
            self.seen = end;
        }
    }

    /// The server's refusal. Unless it ends the session, the rest of the answer is read.
    fn refused(
        &mut self,
        body: std::ops::Range<usize>,
        doing: &str,
    ) -> Result<SessionError, SessionError> {
        let (facts, ends_session) = error_response::facts(&self.received[body.clone()]);
        self.seen = body.end;
        if ends_session {
            return Ok(SessionError::Client(ClientError::from_facts(facts, doing)));
        }
        loop {
            let (kind, body) = self.message(doing)?;
            self.seen = body.end;
            if kind == b'Z' {
                self.is_idle = true;
                return Ok(SessionError::Client(ClientError::from_facts(facts, doing)));
            }
        }
    }

    fn unexpected(&self, kind: u8, doing: &str) -> SessionError {
        let kind = kind.escape_ascii();
        self.violation(
            doing,
            &format!("sent a message `{kind}` that does not belong there"),
        )
    }

    fn violation(&self, doing: &str, what: &str) -> SessionError {
        SessionError::Client(ClientError::Lost {
            doing: doing.to_owned(),
            reason: format!("{} {what}", self.server),
        })
    }

    fn lost(&self, doing: &str, error: &io::Error) -> SessionError {
        SessionError::Client(ClientError::Lost {
            doing: doing.to_owned(),
            reason: error.to_string(),
        })
    }

    /// The protocol ends texts with a zero byte.
    fn no_zero_byte(&self, sql: &str, doing: &str) -> Result<(), SessionError> {
        match sql.contains('\0') {
            false => Ok(()),
            true => Err(SessionError::Client(ClientError::Gone {
                what: format!(
                    "{doing}: the statement has a zero byte in it, which the server cannot read"
                ),
                hint: "remove it".to_owned(),
            })),
        }
    }

    /// The next message of an answer: its kind, and where its body is in `received`. The same message is returned again
    /// until `seen` is set to its end. Notices and other messages that may come at any time are skipped.
    fn message(&mut self, doing: &str) -> Result<(u8, std::ops::Range<usize>), SessionError> {
        loop {
            if let [kind, a, b, c, d, rest @ ..] = &self.received[self.seen..self.filled] {
                let length = u32::from_be_bytes([*a, *b, *c, *d]);
                let kind = *kind;
                match kind {
                    b'd' if (4..=ROW_BYTES_MAX).contains(&length) => {}
                    b'd' => {
                        let what = format!(
                            "sent {length} bytes in one row, and a row may have {ROW_BYTES_MAX}: leave its longest column out"
                        );
                        return Err(self.violation(doing, &what));
                    }
                    _ => message_limits::check(kind, length, true)
                        .map_err(|what| self.violation(doing, &what))?,
                }
                let body_bytes = length as usize - 4;
                if rest.len() >= body_bytes {
                    let start = self.seen + HEADER_BYTES;
                    let body = start..start + body_bytes;
                    if matches!(kind, b'N' | b'S' | b'A') {
                        self.seen = body.end;
                        continue;
                    }
                    return Ok((kind, body));
                }
            }
            self.receive(doing)?;
        }
    }

    /// Waits until more bytes were received. Memory grows with the bytes that come, whatever length a message claims.
    fn receive(&mut self, doing: &str) -> Result<(), SessionError> {
        self.received.copy_within(self.seen..self.filled, 0);
        self.filled -= self.seen;
        self.seen = 0;
        if self.filled == 0 && self.received.len() > KEPT_BYTES_MAX {
            // Frees the buffer that a long row has enlarged.
            self.received = Vec::new();
        }
        if self.received.len() < self.filled + RECEIVE_BYTES {
            self.received.resize(self.filled + RECEIVE_BYTES, 0);
        }
        let start = Instant::now();
        let received = loop {
            match self.raw.receive(&mut self.received[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if let Err(error) = self.wait(PollFlags::IN, doing) {
                        break Err(error);
                    }
                }
                Err(error) => break Err(self.lost(doing, &error)),
                Ok(0) => break Err(self.violation(doing, "closed the connection")),
                Ok(bytes) => break Ok(bytes),
            }
        };
        let waited = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.waited_ns = self.waited_ns.saturating_add(waited);
        self.filled += received?;
        Ok(())
    }

    /// The error of a failed write: the reason that the server gave for ending the session, if it gave one.
    fn last_words(&mut self, doing: &str, error: &io::Error) -> SessionError {
        match self.message(doing) {
            Ok((b'E', body)) => self.refused(body, doing).unwrap_or_else(|other| other),
            _ => self.lost(doing, error),
        }
    }

    fn send(&mut self, mut bytes: &[u8], doing: &str) -> Result<(), SessionError> {
        if self.is_behind {
            return Err(self.violation(doing, "has not answered an earlier statement in time"));
        }
        self.is_idle = false;
        while !bytes.is_empty() || !self.raw.is_sent() {
            let sent = match bytes.is_empty() {
                true => self.raw.send_waiting().map(|()| 0),
                false => self.raw.send(bytes),
            };
            match sent {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.last_words(doing, &error)),
            }
            if !bytes.is_empty() || !self.raw.is_sent() {
                self.wait(PollFlags::OUT, doing)?;
            }
        }
        Ok(())
    }

    /// Waits for the socket, or for the run's stop. After each long silence the server is asked whether it still has the
    /// backend: a proxy in between may keep this connection open after the backend has ended.
    fn wait(&mut self, event: PollFlags, doing: &str) -> Result<(), SessionError> {
        let stop = self.stop.clone();
        let bell = stop.bell().map_err(|error| self.lost(doing, &error))?;
        let patience = self.silence.as_ref().map(|(patience, _)| *patience);
        loop {
            if self.stop.asked().is_some() {
                return Err(SessionError::Stopped);
            }
            let now = Instant::now();
            let until = self.settled_until.or(self.deadline);
            let left = until.map(|at| at.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                if self.settled_until.is_some() {
                    let place = self.raw.place();
                    return Err(connecting::no_statement_answered(&self.address, place).into());
                }
                self.is_behind = true;
                return Err(self.violation(doing, "did not answer in time"));
            }
            let timeout = left.or(patience);
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            let mut wishes = [
                PollFd::new(&self.raw, event),
                PollFd::new(&bell, PollFlags::IN),
            ];
            match poll(&mut wishes, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.lost(doing, &error.into())),
                // The deadline has passed, or nearly. The beginning of the loop checks it.
                Ok(0) if until.is_some() => {}
                Ok(0) => self.check_silence(doing)?,
                Ok(_) if !wishes[0].revents().is_empty() => {
                    if let Some((_, checks)) = &mut self.silence {
                        checks.heard();
                    }
                    return Ok(());
                }
                Ok(_) => {}
            }
        }
    }

    fn check_silence(&mut self, doing: &str) -> Result<(), SessionError> {
        let Some((_, checks)) = &mut self.silence else {
            return Ok(());
        };
        let (address, stop) = (&self.address, &self.stop);
        let checked = on_thread(|| async {
            tokio::select! {
                biased;
                _ = stop.wait() => Err(SessionError::Stopped),
                reason = checks.check(address) => Ok(reason),
            }
        });
        match checked {
            Ok(answer) => match answer? {
                None => Ok(()),
                Some(reason) => Err(SessionError::Client(ClientError::Lost {
                    doing: doing.to_owned(),
                    reason: reason.to_owned(),
                })),
            },
            Err(error) => Err(self.lost(doing, &error)),
        }
    }
}

impl Drop for BlockingSession {
    /// Ends the session, and waits until the server has ended it, too. In the middle of an answer only the connection is
    /// closed, and the server notices that when it next uses it.
    fn drop(&mut self) {
        self.leave();
        while self.ends_by.is_some_and(|ends_by| Instant::now() < ends_by) {
            // The end of the connection is an error, too.
            if self.receive(ENDING).is_err() {
                return;
            }
            self.seen = self.filled;
        }
    }
}

/// Connects. If there are too many connections, this is tried again for some seconds, because the server may still be
/// ending sessions that this command or the one before it has left.
async fn open_when_free(
    address: &DatabaseAddress,
    application_name: &str,
) -> Result<RawConnection, ClientError> {
    let given_up_at = Instant::now() + ENDING_MAX;
    let mut pause = ENDING_LOOK;
    loop {
        match RawConnection::open(address, application_name).await {
            Err(error) if error.is_too_many_connections() => {
                if Instant::now() >= given_up_at {
                    return Err(error.tried_for(ENDING_MAX));
                }
                tokio::time::sleep(pause).await;
                pause = RETRY_PAUSE_MAX.min(pause * 2);
            }
            opened => return opened,
        }
    }
}

/// Runs a future to its end on a new thread. The present thread may belong to a runtime, in which nothing may block.
fn on_thread<F: Future<Output = T>, T: Send>(future: impl FnOnce() -> F + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            Ok(runtime.block_on(future()))
        };
        let thread = std::thread::Builder::new().name("connect".to_owned());
        match thread.spawn_scoped(scope, run)?.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use socket2::Socket;

    use super::*;

    /// A session with the other end of the socket.
    fn session_over(socket: UnixStream, is_idle: bool) -> BlockingSession {
        let address = DatabaseAddress::parse(
            "postgresql://etl@localhost/dw",
            &crate::ConnectionDefaults::default(),
        )
        .expect("an address");
        let (_, place) = address.places_to_try().next().expect("a server");
        let raw = RawConnection::over(Socket::from(socket), place.clone());
        raw.set_waiting(false).expect("set");
        let mut session = BlockingSession::over(raw, &address, &Stop::default());
        session.is_idle = is_idle;
        session
    }

    #[test]
    fn a_dropped_session_waits_until_the_server_has_ended_it() {
        let (own, mut server) = UnixStream::pair().expect("a pair");
        let session = session_over(own, true);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(session));
            let mut goodbye = [0; 5];
            server.read_exact(&mut goodbye).expect("Terminate");
            assert_eq!(goodbye, *b"X\0\0\0\x04");
            // No socket buffers so much: the write ends only if the client is still reading.
            server.write_all(&vec![b'N'; 64 << 20]).expect("read");
            drop(server);
        });
    }

    #[test]
    fn a_session_in_the_middle_of_an_answer_is_dropped_at_once() {
        let (own, mut server) = UnixStream::pair().expect("a pair");
        drop(session_over(own, false));
        let mut said = Vec::new();
        server.read_to_end(&mut said).expect("closed");
        assert_eq!(said, b"");
    }
}
