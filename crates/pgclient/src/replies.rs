//! Reads a server's answers as they arrive on a [`RawConnection`](crate::RawConnection): how many calls are answered,
//! and the first error.
//!
//! Rows are skipped, because a load generator needs to know only that they arrived. Messages that no server sends, or
//! that are too long, are errors (`message_limits`). Only a limited part of an error message is kept.

use super::{error_response, message_limits};

/// Ordinary messages up to this length are not looked up in the table of limits.
const SHORT_BYTES: u32 = 64;

/// How many bytes of an error message are kept.
const ERROR_BYTES_MAX: usize = 16 << 10;

/// An answer other than success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// The server refused a statement, or ended the session.
    Refused {
        /// SQLSTATE, five characters.
        code: String,
        /// The server's message with its detail.
        message: String,
        /// True if the session is over.
        ends_session: bool,
    },
    /// The server sent a message that is not part of the protocol.
    Violation(String),
}

impl std::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReplyError::Refused { code, message, .. } => {
                write!(f, "the server says: {message} (SQLSTATE {code})")
            }
            ReplyError::Violation(what) => write!(f, "the server {what}"),
        }
    }
}

/// The reader of one connection's answers.
#[derive(Debug, Default)]
pub struct Replies {
    header: [u8; 5],
    header_bytes: usize,
    /// Bytes of a body that are still to be skipped.
    body_bytes: usize,
    /// The body of an `ErrorResponse` so far.
    error: Option<Vec<u8>>,
}

impl Replies {
    /// Reads the bytes that have arrived, and returns the number of complete answers (`ReadyForQuery`).
    pub fn see(&mut self, mut bytes: &[u8]) -> Result<u32, ReplyError> {
        let mut ended = 0;
        while !bytes.is_empty() {
            if self.body_bytes > 0 {
                let passed = self.body_bytes.min(bytes.len());
                self.body_bytes -= passed;
                if let Some(error) = &mut self.error {
                    let room = ERROR_BYTES_MAX.saturating_sub(error.len());
                    error.extend(&bytes[..passed.min(room)]);
                    if self.body_bytes == 0 {
                        return Err(refusal(error));
                    }
                }
                bytes = &bytes[passed..];
                continue;
            }
            // Most headers are complete in these bytes.
            let (kind, length) = match (self.header_bytes, bytes) {
                (0, [kind, a, b, c, d, rest @ ..]) => {
                    bytes = rest;
                    (*kind, u32::from_be_bytes([*a, *b, *c, *d]))
                }
                _ => {
                    let taken = (5 - self.header_bytes).min(bytes.len());
                    self.header[self.header_bytes..self.header_bytes + taken]
                        .copy_from_slice(&bytes[..taken]);
                    self.header_bytes += taken;
                    bytes = &bytes[taken..];
                    if self.header_bytes < 5 {
                        return Ok(ended);
                    }
                    self.header_bytes = 0;
                    let [kind, a, b, c, d] = self.header;
                    (kind, u32::from_be_bytes([a, b, c, d]))
                }
            };
            ended += u32::from(kind == b'Z');
            self.begin(kind, length)?;
        }
        Ok(ended)
    }

    fn begin(&mut self, kind: u8, length: u32) -> Result<(), ReplyError> {
        let is_usual = matches!(kind, b'C' | b'D' | b'T') && (4..=SHORT_BYTES).contains(&length);
        let is_empty = matches!(kind, b'1' | b'2' | b'n') && length == 4;
        let is_end = kind == b'Z' && length == 5;
        if !(is_usual || is_empty || is_end) {
            message_limits::check(kind, length, true).map_err(ReplyError::Violation)?;
        }
        if matches!(kind, b'G' | b'H') {
            return Err(ReplyError::Violation(
                "began a COPY, but no call may be a COPY".to_owned(),
            ));
        }
        if kind == b'E' {
            self.error = Some(Vec::new());
        }
        self.body_bytes = length as usize - 4;
        Ok(())
    }
}

fn refusal(body: &[u8]) -> ReplyError {
    let (facts, ends_session) = error_response::facts(body);
    ReplyError::Refused {
        code: facts.code,
        message: match facts.detail {
            Some(detail) => format!("{}; {detail}", facts.message),
            None => facts.message,
        },
        ends_session,
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

    /// The result of reading a stream in pieces of this length.
    fn seen(stream: &[u8], step: usize) -> (u32, Option<ReplyError>) {
        let mut replies = Replies::default();
        let mut ended = 0;
        for piece in stream.chunks(step) {
            match replies.see(piece) {
                Ok(more) => ended += more,
                Err(error) => return (ended, Some(error)),
            }
        }
        (ended, None)
    }

    #[test]
    fn answers_are_counted_however_they_arrive() {
        let call = [
            message(b'2', b""),
            message(b'D', &[b'x'; 300]),
            message(b'C', b"SELECT 1\0"),
            message(b'Z', b"I"),
        ]
        .concat();
        let stream = call.repeat(7);
        for step in 1..=stream.len() {
            assert_eq!(seen(&stream, step), (7, None), "in pieces of {step}");
        }
    }

    #[test]
    fn an_error_is_read_whole() {
        let error = message(b'E', b"SFEHLER\0VERROR\0C23505\0Mtwice\0DKey (a)=(1)\0\0");
        let stream = [message(b'Z', b"I"), error, message(b'Z', b"I")].concat();
        let expected = ReplyError::Refused {
            code: "23505".to_owned(),
            message: "twice; Key (a)=(1)".to_owned(),
            ends_session: false,
        };
        for step in 1..=stream.len() {
            assert_eq!(seen(&stream, step).1.as_ref(), Some(&expected));
        }
        let ended = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mshutdown\0\0");
        let (_, error) = seen(&ended, 5);
        assert!(matches!(
            error,
            Some(ReplyError::Refused {
                ends_session: true,
                ..
            })
        ));
    }

    #[test]
    fn what_no_server_sends_is_refused_at_its_header() {
        for stream in [
            message(b'?', b""),
            message(b'G', b"\0\0\0"),
            b"D\xff\xff\xff\xff".to_vec(),
            b"Z\0\0\0\x03".to_vec(),
        ] {
            for step in 1..=stream.len() {
                let (_, error) = seen(&stream, step);
                assert!(
                    matches!(error, Some(ReplyError::Violation(_))),
                    "{stream:?}"
                );
            }
        }
    }
}
