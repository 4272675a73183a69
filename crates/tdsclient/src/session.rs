//! A session with SQL Server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use inrush_tds::{PacketSize, RowMetadata};

use crate::address::{Endpoint, SessionOptions};
use crate::answer::Answer;
use crate::error::{Result, ServerMessage, SessionError};
use crate::interrupt::Interrupt;
use crate::liveness::SilenceChecks;
use crate::open::{LoggedIn, log_in};
use crate::packets::{kind, message};
use crate::row_stream::{Fault, Next, RowStream};
use crate::tokens::{self, Changes, Message};
use crate::transport::Transport;

/// From this severity on, the server ends the connection.
const CLASS_FATAL: u8 = 20;
/// Redirections of a login that are followed.
const ROUTES_MAX: usize = 3;
/// The longest wait for a rollback. If the server does not answer, the connection is closed, and the server rolls back
/// because of this.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(30);

/// The facts that the client and the server agreed on at the login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// The server of the session, after redirections.
    pub endpoint: Endpoint,
    /// The server's program: `Microsoft SQL Server`.
    pub program: String,
    /// Its version: major, minor and build number.
    pub version: (u8, u8, u16),
    /// The database.
    pub database: String,
    /// The size of packets that the server granted.
    pub packet_size: PacketSize,
    /// Everything is encrypted.
    pub is_encrypted: bool,
    /// The server takes UTF-8 in columns of `_UTF8` collations.
    pub takes_utf8: bool,
}

/// A session: one connection, used by one thread at a time. When it is dropped, the server rolls its transaction back.
pub struct Session {
    transport: Transport,
    facts: SessionFacts,
    /// The open transaction's descriptor; 0 if there is none.
    transaction: u64,
    /// A bulk load is open: only its packets may be sent.
    in_bulk_load: bool,
    /// A query whose rows are being read: nothing may be sent before their end.
    rows: Option<Box<RowStream>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("facts", &self.facts)
            .field("transaction", &self.transaction)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Connects and logs in. `number` counts the sessions of a caller from 0: the sessions use the endpoints in turn.
    /// Fails with [`SessionError::Interrupted`] soon after `interrupt` is raised, as all calls of the session do.
    pub fn connect(
        options: &SessionOptions,
        number: usize,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Session> {
        let mut endpoint = options.endpoints[number % options.endpoints.len()].clone();
        for _ in 0..ROUTES_MAX {
            match log_in(options, &endpoint, interrupt)? {
                LoggedIn::Here(mut session) => {
                    let checks = SilenceChecks::new(options, &session, interrupt);
                    session.transport.check_silence(options.silence, checks);
                    return Ok(*session);
                }
                LoggedIn::Elsewhere(other) => endpoint = other,
            }
        }
        Err(SessionError::Connect {
            server: endpoint.to_string(),
            reason: format!("the login was redirected more than {ROUTES_MAX} times"),
            hint: "name the server itself in the URL".to_owned(),
        })
    }

    /// A session whose login was accepted.
    pub(crate) fn opened(transport: Transport, facts: SessionFacts, transaction: u64) -> Session {
        Session {
            transport,
            facts,
            transaction,
            in_bulk_load: false,
            rows: None,
        }
    }

    /// The facts that the client and the server agreed on at the login.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// The number of the session on the server (`@@SPID`); `None` if the server does not report it.
    pub fn number_on_server(&self) -> Option<u16> {
        let number = self.transport.session_number();
        (number != 0).then_some(number)
    }

    /// True if the connection goes to another machine.
    pub fn is_remote(&self) -> bool {
        self.transport.is_remote()
    }

    /// True if a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction != 0
    }

    /// True if the connection can be used.
    pub fn is_open(&self) -> bool {
        self.transport.is_open()
    }

    /// Runs a batch of statements.
    pub fn run(&mut self, sql: &str) -> Result<Answer> {
        self.send_batch(sql)?;
        self.receive()
    }

    /// Like [`run`](Self::run); fails and closes the connection if the answer takes longer than this.
    pub fn run_within(&mut self, sql: &str, timeout: Duration) -> Result<Answer> {
        self.transport.limit(Some(timeout));
        let answer = self.run(sql);
        self.transport.limit(None);
        answer
    }

    /// Runs a query, and returns its columns. [`next_rows`](Self::next_rows) reads its rows as they come.
    pub fn begin_query(&mut self, sql: &str) -> Result<RowMetadata> {
        self.send_batch(sql)?;
        let mut stream = RowStream::default();
        let found = match self.read_on(&mut stream)? {
            Next::Columns => stream.columns.clone(),
            _ => None,
        };
        let Some(columns) = found else {
            return Err(self.transport.garbage("a query is answered without rows"));
        };
        self.rows = Some(Box::new(stream));
        Ok(columns)
    }

    /// The bytes of the next whole rows of the query, for [`RowDecoder`](inrush_tds::result::RowDecoder); `None` at
    /// their end. After an error the session has no query. To end a query before its last row, call
    /// [`end_query`](Self::end_query).
    pub fn next_rows(&mut self) -> Result<Option<&[u8]>> {
        let Some(mut stream) = self.rows.take() else {
            return Ok(None);
        };
        match self.read_on(&mut stream)? {
            Next::Rows(range) => {
                let stream = self.rows.insert(stream);
                Ok(Some(stream.bytes(range)))
            }
            _ => Ok(None),
        }
    }

    /// Ends the query whose rows are being read, if there is one: asks the server by ATTENTION, and skips the rows that
    /// are on their way. The transaction stays open, unless XACT_ABORT is ON. A connection on which this fails is
    /// closed.
    pub fn end_query(&mut self) -> Result<()> {
        let Some(stream) = self.rows.take() else {
            return Ok(());
        };
        let ended = self.pass_over(*stream);
        self.transport.take_attention();
        match ended {
            Ok(()) => self.transport.limit(None),
            Err(_) => self.close(),
        }
        ended
    }

    fn pass_over(&mut self, mut stream: RowStream) -> Result<()> {
        self.transport.attend()?;
        loop {
            match stream.next() {
                Ok(Next::Packet) => {
                    if self.transport.receive_packet(stream.buffer())? {
                        stream.end();
                    }
                }
                Ok(Next::End) => break,
                Ok(Next::Columns | Next::Rows(_)) => {}
                Err(Fault::Garbage(what)) => return Err(self.transport.garbage(&what)),
                Err(Fault::Columns(error)) => return Err(SessionError::Columns(error)),
            }
        }
        self.note(&stream.message.changes);
        let mut is_answered = stream.message.answers_attention;
        // The answer to ATTENTION comes with the rows, or after them.
        while !is_answered {
            is_answered = self.receive_message()?.answers_attention;
        }
        Ok(())
    }

    /// Receives packets until there are columns, rows, or the end of an answer without an error.
    fn read_on(&mut self, stream: &mut RowStream) -> Result<Next> {
        loop {
            let next = match stream.next() {
                Ok(next) => next,
                Err(Fault::Garbage(what)) => return Err(self.transport.garbage(&what)),
                Err(Fault::Columns(error)) => {
                    // The connection is closed, because the rest of the answer is not read.
                    self.close();
                    return Err(SessionError::Columns(error));
                }
            };
            match next {
                Next::Packet => {
                    let received = self.transport.receive_packet(stream.buffer());
                    if self.transport.take_attention() {
                        self.close();
                        return Err(SessionError::Interrupted);
                    }
                    match (received, first_error(&stream.message.errors)) {
                        (Ok(true), _) => stream.end(),
                        (Ok(false), _) => {}
                        // The server said why before it ended the connection.
                        (Err(SessionError::Lost { .. }), Some(said)) => {
                            return Err(SessionError::Server(said.clone()));
                        }
                        (Err(error), _) => return Err(error),
                    }
                }
                Next::End => {
                    self.note(&stream.message.changes);
                    self.fail_with(&stream.message.errors)?;
                    return Ok(next);
                }
                Next::Columns | Next::Rows(_) => return Ok(next),
            }
        }
    }

    fn send_batch(&mut self, sql: &str) -> Result<()> {
        debug_assert!(
            self.rows.is_none(),
            "the rows of a query are read to their end"
        );
        let text: Vec<u8> = sql.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut payload = Vec::with_capacity(HEADERS_BYTES + text.len());
        payload.extend_from_slice(&headers(self.transaction));
        payload.extend_from_slice(&text);
        let packets = message(kind::SQL_BATCH, &payload, self.facts.packet_size.bytes());
        let sent = self.transport.send(&packets);
        if sent.is_err() {
            self.close();
        }
        sent
    }

    /// Begins a bulk load: runs an `INSERT BULK` statement. The packets of the load follow by [`send`](Self::send), and
    /// [`end_bulk_load`](Self::end_bulk_load) reads the answer.
    pub fn begin_bulk_load(&mut self, statement: &str) -> Result<()> {
        self.run(statement)?;
        self.in_bulk_load = true;
        Ok(())
    }

    /// Sends whole packets of a bulk load. If the server has refused the load in the meantime, fails with the server's
    /// message, and closes the connection, because only a part of a message was sent.
    pub fn send(&mut self, packets: &[u8]) -> Result<()> {
        debug_assert!(self.in_bulk_load, "packets belong to a bulk load");
        if self.transport.has_input()? {
            return Err(self.early_answer());
        }
        match self.transport.send_rows(packets) {
            Ok(()) => Ok(()),
            // A server that closes the connection, or takes no more rows, may have said why before.
            Err(lost @ SessionError::Lost { .. }) => match self.early_answer() {
                said @ SessionError::Server(_) => Err(said),
                _ => Err(lost),
            },
            Err(error) => Err(error),
        }
    }

    /// Reads the answer after the last packet of a bulk load, and returns the server's count of the loaded rows.
    pub fn end_bulk_load(&mut self) -> Result<u64> {
        self.in_bulk_load = false;
        let answer = self.receive()?;
        answer.count().ok_or_else(|| {
            self.transport
                .garbage("the answer to a bulk load has no count of rows")
        })
    }

    /// Rolls the transaction back, if there is one, even if the run is interrupted. If this fails, the connection is
    /// closed, and the server rolls back because of this.
    pub fn roll_back(&mut self) -> Result<()> {
        if self.in_bulk_load || self.rows.take().is_some() {
            // In a bulk load only packets may follow; after a query, rows arrive that nobody reads.
            self.transport.close();
        }
        if self.transaction == 0 || !self.transport.is_open() {
            self.transaction = 0;
            return Ok(());
        }
        self.transport.heed_interrupt(false);
        self.transport.limit(Some(ROLLBACK_TIMEOUT));
        let rolled_back = self.run("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
        self.transport.limit(None);
        self.transport.heed_interrupt(true);
        if rolled_back.is_err() {
            self.transport.close();
        }
        self.transaction = 0;
        rolled_back.map(drop)
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        self.transport.close();
        self.transaction = 0;
        self.rows = None;
    }

    /// The answer of the server to the message that was sent.
    fn receive(&mut self) -> Result<Answer> {
        let mut read = self.receive_message()?;
        if self.transport.take_attention() {
            // The answer to ATTENTION comes with the interrupted answer or after it.
            while !read.answers_attention {
                read = self.receive_message()?;
            }
            self.transport.limit(None);
            return Err(SessionError::Interrupted);
        }
        self.fail_with(&read.errors)?;
        Ok(read.answer)
    }

    /// Returns the error that an answer has, if it has any.
    fn fail_with(&mut self, errors: &[ServerMessage]) -> Result<()> {
        let Some(error) = first_error(errors) else {
            return Ok(());
        };
        if errors.iter().any(|error| error.class >= CLASS_FATAL) {
            self.close();
        }
        Err(SessionError::Server(error.clone()))
    }

    fn receive_message(&mut self) -> Result<Message> {
        let payload = self.transport.receive()?;
        let read = tokens::read(&payload).map_err(|what| self.transport.garbage(&what))?;
        self.note(&read.changes);
        Ok(read)
    }

    fn note(&mut self, changes: &Changes) {
        if let Some(transaction) = changes.transaction {
            self.transaction = transaction;
        }
        if let Some(database) = &changes.database {
            self.facts.database.clone_from(database);
        }
    }

    /// The refusal that came before the end of a bulk load.
    fn early_answer(&mut self) -> SessionError {
        self.in_bulk_load = false;
        let error = match self.receive() {
            Ok(_) => self
                .transport
                .garbage("it came before the end of the bulk load, without an error"),
            Err(error) => error,
        };
        self.close();
        error
    }
}

/// The error with the cause. The errors after it say only that the statement ended.
pub(crate) fn first_error(errors: &[ServerMessage]) -> Option<&ServerMessage> {
    errors.first()
}

const HEADERS_BYTES: usize = 22;

/// ALL_HEADERS of a batch: the transaction that it belongs to, and the number of open requests.
fn headers(transaction: u64) -> [u8; HEADERS_BYTES] {
    let mut headers = [0; HEADERS_BYTES];
    headers[..4].copy_from_slice(&22u32.to_le_bytes());
    headers[4..8].copy_from_slice(&18u32.to_le_bytes());
    headers[8..10].copy_from_slice(&2u16.to_le_bytes());
    headers[10..18].copy_from_slice(&transaction.to_le_bytes());
    headers[18..].copy_from_slice(&1u32.to_le_bytes());
    headers
}
