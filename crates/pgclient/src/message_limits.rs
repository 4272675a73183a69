//! Limits on the length of each message of the server, checked on its first five bytes.
//!
//! The driver collects a whole message in memory, and the message itself states its length: up to 2 GB. Until the login
//! the peer may be anybody, so the limits are libpq's. After the login they allow all that PostgreSQL sends: names have
//! 63 bytes, a table has 1,600 columns, a statement has 65,535 parameters.

/// The most bytes of an error or a notice before the login, as in libpq.
const TEXT_BEFORE_LOGIN: u32 = 30_000;
/// The most bytes of an authentication request, such as a request for a password, as in libpq.
const AUTHENTICATION: u32 = 2_000;
/// The most bytes of an error or a notice after the login. Triggers put whole rows into their messages.
const TEXT: u32 = 16 << 20;
/// The most bytes of a row of a query.
const ROW: u32 = 64 << 20;
/// The most bytes of any other message.
const SHORT: u32 = 30_000;

/// The most bytes of all messages before the login together. A server sends about twenty messages.
pub const LOGIN_BYTES_MAX: usize = 1 << 20;
/// The most settings that a server may report; each takes memory for the life of the connection. PostgreSQL reports
/// fifteen.
pub const REPORTED_SETTINGS_MAX: usize = 256;
/// The most bytes of the answer to one query: its rows, and the memory that holds them.
pub const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// The memory that a parsed message needs in addition to its bytes.
pub const MESSAGE_OVERHEAD_BYTES: u64 = 128;

/// A kind of message and its limits, each of which includes the four bytes of the length.
struct MessageKind {
    byte: u8,
    name: &'static str,
    /// The limit before the login, in bytes; 0 if the message may not come then.
    before_login: u32,
    /// The limit after the login, in bytes; 0 if the message may not come then.
    after_login: u32,
}

const fn kind(byte: u8, name: &'static str, before_login: u32, after_login: u32) -> MessageKind {
    MessageKind {
        byte,
        name,
        before_login,
        after_login,
    }
}

/// All kinds that the driver knows. It would read any other message completely before it reports an error.
const KINDS: &[MessageKind] = &[
    kind(b'R', "Authentication", AUTHENTICATION, 0),
    kind(b'K', "BackendKeyData", 12, 0),
    kind(b'Z', "ReadyForQuery", 5, 5),
    kind(b'E', "ErrorResponse", TEXT_BEFORE_LOGIN, TEXT),
    kind(b'N', "NoticeResponse", TEXT_BEFORE_LOGIN, TEXT),
    kind(b'S', "ParameterStatus", SHORT, SHORT),
    kind(b'A', "NotificationResponse", 0, SHORT),
    kind(b'1', "ParseComplete", 0, 4),
    kind(b'2', "BindComplete", 0, 4),
    kind(b'3', "CloseComplete", 0, 4),
    kind(b'n', "NoData", 0, 4),
    kind(b's', "PortalSuspended", 0, 4),
    kind(b'I', "EmptyQueryResponse", 0, 4),
    kind(b'C', "CommandComplete", 0, SHORT),
    kind(b't', "ParameterDescription", 0, 4 + 2 + 4 * 65_535),
    kind(b'T', "RowDescription", 0, 2 << 20),
    kind(b'D', "DataRow", 0, ROW),
    kind(b'G', "CopyInResponse", 0, SHORT),
    kind(b'H', "CopyOutResponse", 0, SHORT),
    kind(b'd', "CopyData", 0, 1 << 20),
    kind(b'c', "CopyDone", 0, 4),
];

/// The smallest length of a message. It is greater than 4 for messages whose body this crate reads itself.
fn least(byte: u8) -> u32 {
    match byte {
        b'R' => 8,
        b'K' => 12,
        _ => 4,
    }
}

/// Checks the kind and the length of a message. The length includes its own four bytes, but not the byte of the
/// kind.
pub fn check(byte: u8, length: u32, logged_in: bool) -> Result<(), String> {
    let when = match logged_in {
        true => "after the login",
        false => "before the login",
    };
    if byte == b'v' {
        return Err(
            "sent NegotiateProtocolVersion: it does not speak version 3.0 of the protocol, which \
             was requested"
                .to_owned(),
        );
    }
    let Some(kind) = KINDS.iter().find(|kind| kind.byte == byte) else {
        return Err(format!(
            "sent a message of the unknown kind 0x{byte:02x} {when}: PostgreSQL has no such message"
        ));
    };
    let most = match logged_in {
        true => kind.after_login,
        false => kind.before_login,
    };
    let name = kind.name;
    if most == 0 {
        Err(format!("sent {name} {when}, where it is not allowed"))
    } else if length < least(byte) {
        Err(format!(
            "sent {name} of {length} bytes {when}: it has at least {}",
            least(byte)
        ))
    } else if length > most {
        Err(format!(
            "sent {name} of {length} bytes {when}; the limit is {most}"
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_libpqs_before_the_login() {
        assert!(check(b'E', 30_000, false).is_ok());
        let error = check(b'E', 2_000_000_000, false).expect_err("too long");
        assert_eq!(
            error,
            "sent ErrorResponse of 2000000000 bytes before the login; the limit is 30000"
        );
        assert!(check(b'E', 1_000_000, true).is_ok());
        assert!(check(b'R', 2_001, false).is_err());
    }

    #[test]
    fn what_has_no_place_is_refused_at_its_header() {
        for (byte, length, logged_in) in [
            (b'D', 10, false),
            (b'R', 8, true),
            (b'K', 260, false),
            (b'K', 11, false),
            (b'R', 4, false),
            (b'Z', 3, true),
            (b'v', 12, false),
            (b'H', 31_000, true),
            (b'?', 4, true),
            (b'D', u32::MAX, true),
        ] {
            assert!(check(byte, length, logged_in).is_err(), "{byte} {length}");
        }
    }
}
