//! Opens a session: PRELOGIN, TLS, LOGIN7, and the tokens of a Kerberos login.

use std::sync::Arc;
use std::time::Instant;

use inrush_tds::PacketSize;

use crate::address::{Encryption, Endpoint, SessionOptions};
use crate::credentials::Credentials;
use crate::error::{Result, ServerMessage, SessionError};
use crate::interrupt::Interrupt;
use crate::kerberos::{self, Context, Negotiation, NegotiationFault, Step};
use crate::login::{Login, LoginProof, Token};
use crate::packets::{FIRST_PACKET_BYTES, kind, message};
use crate::prelogin::{self, PreloginAnswer, PreloginEncryption};
use crate::session::{Session, SessionFacts, first_error};
use crate::tls;
use crate::token_command::TokenFault;
use crate::tokens::{self, Changes, Message};
use crate::transport::Transport;

/// The most tokens that each side of a Kerberos login sends. Usually it sends one or two.
const ROUNDS_MAX: usize = 10;
/// The text that stands for an access token that the server repeats.
const HIDDEN: &str = "***";

/// The result of a login.
pub(crate) enum LoggedIn {
    /// A session.
    Here(Box<Session>),
    /// Another server must be asked.
    Elsewhere(Endpoint),
}

/// Connects and logs in.
pub(crate) fn log_in(
    options: &SessionOptions,
    endpoint: &Endpoint,
    interrupt: &Arc<Interrupt>,
) -> Result<LoggedIn> {
    let server = endpoint.to_string();
    // The command has a time limit of its own.
    let token = access_token(&options.credentials, &server, interrupt)?;
    let until = Instant::now() + options.login_timeout;
    let mut transport = Transport::connect(endpoint, options.login_timeout, interrupt)?;
    let Agreed {
        answer,
        is_encrypted,
        only_login,
    } = agree(&mut transport, options, endpoint)?;
    let mut negotiating = match &options.credentials {
        Credentials::Kerberos { service } => {
            let service = match service {
                Some(service) => service.clone(),
                None => kerberos::service_name(endpoint),
            };
            let begun = Context::new(&service)
                .and_then(|context| kerberos::step_within(context, Vec::new(), until, interrupt));
            Some(begun.map_err(|fault| no_ticket(fault, &server))?)
        }
        _ => None,
    };
    let proof = match (&options.credentials, &token, &negotiating) {
        (_, _, Some((_, Step { token, .. }))) => LoginProof::Ticket(token),
        (_, Some(text), _) => LoginProof::Token(Token {
            text,
            is_echoed: answer.takes_tokens,
        }),
        (Credentials::Password { user, password }, ..) => LoginProof::Password { user, password },
        _ => unreachable!("a command or a ticket has given a token"),
    };
    // The name of this machine, for the server's list of sessions. If it is unknown, the list shows no name.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let login = Login {
        is_strict: options.encryption == Encryption::Strict,
        packet_bytes: options.packet_size.bytes() as u32,
        client_host: host.trim(),
        proof,
        application: &options.application_name,
        server: &endpoint.host,
        database: &options.database,
    };
    let payload = login.payload().map_err(|reason| SessionError::Connect {
        server: server.clone(),
        reason,
        hint: "the ticket names all groups of its user: use a user with fewer groups".to_owned(),
    })?;
    transport.send(&message(kind::LOGIN7, &payload, FIRST_PACKET_BYTES))?;
    if only_login {
        transport.drop_tls();
    }
    let mut read = receive(&mut transport)?;
    if let Some((context, begun)) = negotiating.take() {
        let step = |context, received: Vec<u8>| {
            kerberos::step_within(context, received, until, interrupt)
                .map_err(|fault| no_ticket(fault, &server))
        };
        read = negotiate(&mut transport, read, (context, begun), step)?;
    }
    let refused = |message: &ServerMessage| {
        refused_login(message, &options.credentials, token.as_deref(), &server)
    };
    if let Some(message) = first_error(&read.errors) {
        return Err(refused(message));
    }
    accepted(transport, read.changes, endpoint, is_encrypted)
}

/// The access token of the credentials, if they have one.
fn access_token(
    credentials: &Credentials,
    server: &str,
    interrupt: &Interrupt,
) -> Result<Option<String>> {
    let printed = match credentials {
        Credentials::AccessToken(token) => return Ok(Some(token.clone())),
        Credentials::TokenCommand(command) => command.token(interrupt),
        Credentials::Password { .. } | Credentials::Kerberos { .. } => return Ok(None),
    };
    printed.map(Some).map_err(|fault| match fault {
        TokenFault::Interrupted => SessionError::Interrupted,
        TokenFault::Command(reason) => SessionError::Connect {
            server: server.to_owned(),
            reason,
            hint: "run the command in a shell: it prints a token and nothing else, as az account get-access-token --resource \
                   https://database.windows.net --query accessToken --output tsv does"
                .to_owned(),
        },
    })
}

/// What PRELOGIN agreed on.
struct Agreed {
    answer: PreloginAnswer,
    is_encrypted: bool,
    /// Only LOGIN7 is encrypted.
    only_login: bool,
}

/// PRELOGIN, and TLS where both sides want it.
fn agree(
    transport: &mut Transport,
    options: &SessionOptions,
    endpoint: &Endpoint,
) -> Result<Agreed> {
    let fail = |reason: String, hint: &str| SessionError::Connect {
        server: endpoint.to_string(),
        reason,
        hint: hint.to_owned(),
    };
    let tls = || -> Result<_> {
        let config = tls::config(options).map_err(|reason| fail(reason, tls::HINT))?;
        let name =
            tls::server_name(options, &endpoint.host).map_err(|reason| fail(reason, tls::HINT))?;
        Ok((config, name))
    };
    let is_strict = options.encryption == Encryption::Strict;
    if is_strict {
        let (config, name) = tls()?;
        transport.begin_tls(config, name)?;
    }
    let wanted = match options.encryption {
        // Under TLS there is nothing left to agree on.
        Encryption::Off | Encryption::Strict => PreloginEncryption::NotSupported,
        Encryption::Optional => PreloginEncryption::Off,
        Encryption::Mandatory => PreloginEncryption::On,
    };
    transport.send(&message(
        kind::PRELOGIN,
        &prelogin::request(wanted, options.credentials.has_token()),
        FIRST_PACKET_BYTES,
    ))?;
    let payload = transport.receive()?;
    let answer = prelogin::answer(&payload).map_err(|what| transport.garbage(&what))?;
    let mut agreed = Agreed {
        answer,
        is_encrypted: is_strict,
        only_login: false,
    };
    if is_strict {
        return Ok(agreed);
    }
    use PreloginEncryption::{NotSupported, Off, On, Required};
    match (options.encryption, answer.encryption) {
        (Encryption::Off, Required | On) => {
            return Err(fail(
                "the server accepts encrypted connections only".to_owned(),
                "write encrypt=mandatory, or leave encrypt out",
            ));
        }
        (Encryption::Off, _) | (Encryption::Optional, NotSupported) => {}
        (Encryption::Optional, Off) => agreed.only_login = true,
        (_, On | Required) => agreed.is_encrypted = true,
        (_, Off | NotSupported) => {
            return Err(fail(
                "the server does not encrypt".to_owned(),
                "give it a certificate. On a network that nobody listens to, write encrypt=off: then the password \
                 is sent unencrypted",
            ));
        }
    }
    if agreed.is_encrypted || agreed.only_login {
        let (config, name) = tls()?;
        transport.begin_tls_in_packets(config, name)?;
    }
    Ok(agreed)
}

fn receive(transport: &mut Transport) -> Result<Message> {
    let payload = transport.receive()?;
    tokens::read(&payload).map_err(|what| transport.garbage(&what))
}

/// Exchanges tokens until the server accepts or refuses the login ([MS-TDS] 3.2.5.3). An accepted login counts only if
/// the server has proven who it is.
fn negotiate<N: Negotiation>(
    transport: &mut Transport,
    mut read: Message,
    (mut negotiation, mut step): (N, Step),
    next: impl Fn(N, Vec<u8>) -> Result<(N, Step)>,
) -> Result<Message> {
    for _ in 0..ROUNDS_MAX {
        if first_error(&read.errors).is_some() || read.changes.routing.is_some() {
            return Ok(read);
        }
        let received = read.changes.security_token.take();
        let has_token = received.is_some();
        if let Some(received) = received {
            (negotiation, step) = next(negotiation, received)?;
        }
        if read.changes.logged_in.is_some() {
            return match step.is_complete {
                true => Ok(read),
                false => Err(transport.garbage(
                    "it accepts the login, but does not prove by Kerberos that it is the server that was asked for",
                )),
            };
        }
        if !has_token {
            return Err(transport.garbage("the login is neither accepted nor refused"));
        }
        if !step.token.is_empty() {
            transport.send(&message(
                kind::SECURITY_TOKEN,
                &step.token,
                FIRST_PACKET_BYTES,
            ))?;
        }
        read = receive(transport)?;
    }
    Err(transport.garbage(&format!(
        "the login needs more than {ROUNDS_MAX} tokens of Kerberos"
    )))
}

fn no_ticket(fault: NegotiationFault, server: &str) -> SessionError {
    let (reason, hint) = match fault {
        NegotiationFault::Interrupted => return SessionError::Interrupted,
        NegotiationFault::Refused { what, hint } => (what, hint),
        NegotiationFault::TooLate => (
            "the Kerberos servers of the realm did not answer in the time of the login".to_owned(),
            "check /etc/krb5.conf, and that its kdc can be reached. login_timeout_seconds sets the time"
                .to_owned(),
        ),
    };
    SessionError::Connect {
        server: server.to_owned(),
        reason,
        hint,
    }
}

/// The server's refusal, without the token, which the server may repeat.
fn refused_login(
    message: &ServerMessage,
    credentials: &Credentials,
    token: Option<&str>,
    server: &str,
) -> SessionError {
    let mut message = message.clone();
    if let Some(token) = token {
        message.text = message.text.replace(token, HIDDEN);
    }
    if let Credentials::TokenCommand(command) = credentials {
        command.forget();
    }
    let hint = match (credentials, message.number) {
        (Credentials::AccessToken(_) | Credentials::TokenCommand(_), 18456) => TOKEN_HINT,
        (Credentials::Kerberos { .. }, 18452 | 18456 | 17806) => TICKET_HINT,
        (_, number) => login_hint(number),
    };
    SessionError::Login {
        server: server.to_owned(),
        message,
        hint: hint.to_owned(),
    }
}

/// The session of an accepted login, or the server to ask instead.
fn accepted(
    mut transport: Transport,
    changes: Changes,
    endpoint: &Endpoint,
    is_encrypted: bool,
) -> Result<LoggedIn> {
    if let Some((host, port)) = changes.routing {
        return Ok(LoggedIn::Elsewhere(Endpoint { host, port }));
    }
    let Some(acknowledged) = changes.logged_in else {
        return Err(transport.garbage("the login is neither accepted nor refused"));
    };
    let granted = changes.packet_bytes.unwrap_or(FIRST_PACKET_BYTES as u32);
    let Some(packet_size) = PacketSize::new(granted) else {
        return Err(transport.garbage(&format!(
            "it grants packets of {granted} bytes, but a packet has 512 to 32767"
        )));
    };
    transport.limit(None);
    let facts = SessionFacts {
        endpoint: endpoint.clone(),
        program: acknowledged.program,
        version: acknowledged.version,
        database: changes.database.unwrap_or_default(),
        packet_size,
        is_encrypted,
        takes_utf8: changes.takes_utf8,
    };
    let transaction = changes.transaction.unwrap_or(0);
    Ok(LoggedIn::Here(Box::new(Session::opened(
        transport,
        facts,
        transaction,
    ))))
}

const TOKEN_HINT: &str = "take a new access token: they are valid for about an hour. The database needs a user for it: CREATE USER \
                          [NAME] FROM EXTERNAL PROVIDER";

const TICKET_HINT: &str = "the server needs a login for the user of the ticket: CREATE LOGIN [DOMAIN\\USER] FROM WINDOWS. klist \
                           shows the user";

fn login_hint(number: i32) -> &'static str {
    match number {
        18456 => {
            "check user and password; options = { password = \"${env:NAME}\" } takes the password from the environment. The \
             server's error log has the reason. For a Windows login: integrated_security=yes"
        }
        18452 => {
            "the server takes Windows logins only: write integrated_security=yes and no user, which logs in by Kerberos"
        }
        4060 | 911 => "check the name of the database, and that the login may use it",
        18470 => "the login is disabled: enable it, or use another one",
        18487 | 18488 => "the password has expired: change it with another client first",
        40532 | 40615 => "let this machine through the firewall of the server",
        _ => "see the server's message",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;
    use crate::packets::{HEADER_BYTES, Header, utf16};

    /// Expects these tokens of the other side, and answers each with the next number; the last one completes the login.
    struct Scripted {
        expects: &'static [u8],
    }

    impl Negotiation for Scripted {
        fn step(&mut self, received: &[u8]) -> std::result::Result<Step, NegotiationFault> {
            let (first, rest) = self.expects.split_first().expect("one more token");
            assert_eq!(received, [*first]);
            self.expects = rest;
            Ok(Step {
                token: if rest.is_empty() {
                    Vec::new()
                } else {
                    vec![first + 1]
                },
                is_complete: rest.is_empty(),
            })
        }
    }

    fn token(byte: u8) -> Vec<u8> {
        vec![0xed, 1, 0, byte]
    }

    fn acknowledged() -> Vec<u8> {
        let name = utf16("Microsoft SQL Server");
        let mut data = vec![1, 0x74, 0, 0, 4, 20];
        data.extend_from_slice(&name);
        data.extend_from_slice(&[16, 0, 3, 0xe8]);
        [&[0xad][..], &(data.len() as u16).to_le_bytes(), &data].concat()
    }

    fn read_token(peer: &mut TcpStream) -> Vec<u8> {
        let mut head = [0; HEADER_BYTES];
        peer.read_exact(&mut head).expect("a header");
        let header = Header::read(&head);
        assert_eq!(header.kind, kind::SECURITY_TOKEN);
        let mut payload = vec![0; header.bytes - HEADER_BYTES];
        peer.read_exact(&mut payload).expect("a payload");
        payload
    }

    /// Negotiates with a server that sends these messages, and reads a token after each one but the last.
    fn negotiated(messages: &[Vec<u8>], expects: &'static [u8]) -> Result<Message> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = Endpoint {
            host: "127.0.0.1".to_owned(),
            port: listener.local_addr().expect("bound").port(),
        };
        let interrupt = Arc::new(Interrupt::default());
        let mut transport = Transport::connect(&endpoint, Duration::from_secs(60), &interrupt)?;
        let (mut peer, _) = listener.accept().expect("accepted");
        let messages = messages.to_vec();
        let server = std::thread::spawn(move || {
            let mut read = Vec::new();
            for (number, payload) in messages.iter().enumerate() {
                let packets = message(kind::ANSWER, payload, FIRST_PACKET_BYTES);
                peer.write_all(&packets).expect("sent");
                if number + 1 < messages.len() {
                    read.push(read_token(&mut peer));
                }
            }
            read
        });
        let begun = (Scripted { expects }, Step::default());
        let first = receive(&mut transport)?;
        let negotiated = negotiate(&mut transport, first, begun, |mut negotiation, received| {
            let step = negotiation.step(&received).expect("a step");
            Ok((negotiation, step))
        });
        drop(transport);
        let sent = server.join().expect("the server ends");
        let answers: Vec<Vec<u8>> = expects.iter().map(|byte| vec![byte + 1]).collect();
        assert!(answers.starts_with(&sent), "{sent:?}");
        negotiated
    }

    #[test]
    fn a_login_may_take_several_rounds() {
        let last = [token(5), acknowledged()].concat();
        let read = negotiated(&[token(1), token(3), last], &[1, 3, 5]).expect("logged in");
        assert!(read.changes.logged_in.is_some());
    }

    #[test]
    fn a_login_without_the_proof_of_the_server_does_not_count() {
        let error = negotiated(&[token(1), acknowledged()], &[1, 3]).expect_err("no proof");
        assert!(
            error.to_string().contains("does not prove by Kerberos"),
            "{error}"
        );
    }

    #[test]
    fn a_login_ends_after_ten_rounds() {
        const EXPECTS: &[u8] = &[1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23];
        let messages: Vec<Vec<u8>> = EXPECTS[..11].iter().map(|byte| token(*byte)).collect();
        let error = negotiated(&messages, EXPECTS).expect_err("too many");
        assert!(error.to_string().contains("more than 10 tokens"), "{error}");
    }

    #[test]
    fn an_answer_without_a_token_is_no_login() {
        let error = negotiated(&[vec![0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], &[1]);
        let error = error.expect_err("nothing");
        assert!(
            error.to_string().contains("neither accepted nor refused"),
            "{error}"
        );
    }
}
