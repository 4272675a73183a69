//! The headers of the messages that pass, and the rules that they must keep.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;

use super::SocketWatch;
use crate::message_limits::{
    self, ANSWER_BYTES_MAX, LOGIN_BYTES_MAX, MESSAGE_OVERHEAD_BYTES, REPORTED_SETTINGS_MAX,
};
use crate::required_auth::AuthMethod;

/// Reads the headers of the messages that pass.
#[derive(Default)]
pub(super) struct Headers {
    /// True if the next byte is the answer to an `SSLRequest`, which is not a message.
    answer_expected: bool,
    /// True if the following bytes are TLS. Another watch above reads the plain bytes.
    pub(super) encrypted: bool,
    /// The header so far, and the first bytes of the body if they are read.
    header: [u8; 9],
    header_bytes: usize,
    /// Bytes of the present body that have not passed yet.
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

/// The number of bytes that are read before the rest of a message is let through: kind and length, and the first word
/// of the body of "Byte1('K') Int32 length, Int32 process id, secret key" and "Byte1('R') Int32 length, Int32 code,
/// ...".
fn header_length(kind: u8) -> usize {
    match kind {
        b'K' | b'R' => 9,
        _ => 5,
    }
}

impl Headers {
    /// The state before any byte has arrived. `answer_expected` is true if TLS is requested on the stream.
    pub(super) fn new(answer_expected: bool) -> Headers {
        Headers {
            answer_expected,
            ..Headers::default()
        }
    }

    /// Checks the bytes that have arrived; an error ends the connection.
    pub(super) fn see(&mut self, mut bytes: &[u8], watch: &SocketWatch) -> io::Result<()> {
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
                // The rest of the message is not shown, because anybody between client and server could have written
                // it.
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
            // Notices, notifications and settings are not part of an answer, and may come at any time.
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
                "sent an answer to one query that takes more than {ANSWER_BYTES_MAX} bytes of memory"
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{LoginRules, Watched};
    use super::*;
    use crate::required_auth::RequiredAuth;

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
        // A setting that changes again and again counts once.
        let same = message(b'S', b"search_path\0pg_catalog\0").repeat(5_000);
        assert_eq!(wrong(&rules(None), &[login.clone(), same].concat()), None);
        // Rows without a column take memory too.
        let question = |rows: usize| {
            let answer = message(b'D', &[0, 0]).repeat(rows);
            [answer, message(b'Z', b"I")].concat()
        };
        let endless = [login.clone(), question(2_100_000)].concat();
        let told = wrong_in_pieces(&rules(None), &endless, &[8192]).expect("refused");
        assert!(told.contains("answer to one query"), "{told}");
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
