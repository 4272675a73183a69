//! The connection of one client: calls are sent as prepared bytes, and answers are counted.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use inrush_destination::clients::{Call, CallFailure, ClientConnection, NetworkFacts};
use inrush_destination::{Error, Result};
use inrush_pgclient::replies::Replies;
use inrush_pgclient::{RawConnection, frontend};

use super::statements::Statements;

/// Bytes that are received at a time: the answers of some hundred calls.
const BUFFER_BYTES: usize = 16 << 10;

/// The message for a connection that ended without an error message of the server.
const CLOSED: &str = "the server closed the connection";

/// A client's connection.
pub struct PostgresClient {
    raw: RawConnection,
    replies: Replies,
    statements: Statements,
    usual: (Call, Vec<u8>),
    outgoing: Vec<u8>,
    sent: usize,
    buffer: Box<[u8]>,
}

impl PostgresClient {
    /// Prepares a session that has just begun.
    pub fn new(raw: RawConnection, statements: &Statements) -> Result<PostgresClient> {
        let usual = statements.usual_call();
        let mut client = PostgresClient {
            raw,
            replies: Replies::default(),
            statements: statements.clone(),
            usual: (usual, statements.encode(usual)),
            outgoing: Vec::new(),
            sent: 0,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        };
        let fail = |failure: CallFailure| Error::Refused {
            doing: "preparing the statements of a client".to_owned(),
            message: failure.0,
            hint: None,
        };
        let (messages, mut answers) = statements.prepare();
        client.outgoing = messages;
        // The socket blocks until the first call.
        client.send().map_err(fail)?;
        while answers > 0 {
            let answered = client.receive_once().map_err(fail)?;
            answers = answers.saturating_sub(answered.0);
        }
        let is_set = client.raw.set_waiting(false);
        is_set.map_err(|error| fail(CallFailure(error.to_string())))?;
        Ok(client)
    }

    /// Receives once. Returns the number of calls that were answered, and true if more bytes may be there.
    fn receive_once(&mut self) -> std::result::Result<(u32, bool), CallFailure> {
        match self.raw.receive(&mut self.buffer) {
            Ok(0) => Err(CallFailure(CLOSED.to_owned())),
            Ok(bytes) => {
                let seen = self.replies.see(&self.buffer[..bytes]);
                let answered = seen.map_err(|error| CallFailure(error.to_string()))?;
                // Bytes that TLS has already read do not wake `poll`.
                Ok((
                    answered,
                    bytes == self.buffer.len() || self.raw.is_encrypted(),
                ))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok((0, false)),
            Err(error) => Err(lost(&error)),
        }
    }

    /// The reason why a send failed: the server's own error, if it sent one before it closed the connection.
    fn last_words(&mut self, error: &io::Error) -> CallFailure {
        match self.receive_once() {
            Err(told) if told.0 != CLOSED => told,
            _ => lost(error),
        }
    }
}

fn lost(error: &io::Error) -> CallFailure {
    CallFailure(format!("the connection to the server was lost ({error})"))
}

impl ClientConnection for PostgresClient {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.raw.as_fd()
    }

    fn queue(&mut self, call: Call) {
        if call == self.usual.0 {
            self.outgoing.extend_from_slice(&self.usual.1);
        } else {
            self.outgoing.extend(self.statements.encode(call));
        }
    }

    fn send(&mut self) -> std::result::Result<bool, CallFailure> {
        while self.sent < self.outgoing.len() {
            match self.raw.send(&self.outgoing[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(self.last_words(&error)),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        if !self.raw.is_sent() {
            self.raw.send_waiting().map_err(|error| lost(&error))?;
        }
        Ok(self.raw.is_sent())
    }

    fn receive(&mut self) -> std::result::Result<u32, CallFailure> {
        let mut answered = 0;
        loop {
            let (more, may_have_more) = self.receive_once()?;
            answered += more;
            if !may_have_more {
                return Ok(answered);
            }
        }
    }

    fn process_id(&self) -> i32 {
        self.raw.backend_process_id()
    }

    fn network(&self) -> Option<NetworkFacts> {
        let tcp = self.raw.tcp()?;
        Some(NetworkFacts {
            packets: tcp.packets,
            round_trip_us: tcp.round_trip_us,
            round_trip_least_us: tcp.round_trip_min_us,
        })
    }

    fn close(mut self: Box<Self>) {
        let mut farewell = Vec::new();
        frontend::terminate(&mut farewell);
        // Terminate may fail to be sent: a server that is gone does not need it, and a waiting server notices the end
        // of the socket.
        let _ = self.raw.send(&farewell);
    }
}
