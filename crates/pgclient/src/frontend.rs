//! The client's messages of protocol version 3.0, for a [`RawConnection`](crate::RawConnection).
//!
//! Each function appends one message. Names and texts end with a zero byte, so they must not contain one.

/// A statement by the simple protocol; several are separated by `;`.
pub fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| text(out, sql));
}

/// Parses a statement without parameters; the unnamed statement (`""`) lives until the next unnamed one is parsed.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: &str) {
    message(out, b'P', |out| {
        text(out, name);
        text(out, sql);
        out.extend(0_u16.to_be_bytes());
    });
}

/// Binds a statement without parameters to the unnamed portal, with results as text.
pub fn bind(out: &mut Vec<u8>, name: &str) {
    message(out, b'B', |out| {
        text(out, "");
        text(out, name);
        // No formats of parameters, no parameters, no formats of results.
        out.extend([0; 6]);
    });
}

/// Executes the unnamed portal to its end.
pub fn execute(out: &mut Vec<u8>) {
    message(out, b'E', |out| {
        text(out, "");
        out.extend(0_u32.to_be_bytes());
    });
}

/// Ends a group of messages: the server answers with `ReadyForQuery`.
pub fn sync(out: &mut Vec<u8>) {
    message(out, b'S', |_| {});
}

/// Ends the session.
pub fn terminate(out: &mut Vec<u8>) {
    message(out, b'X', |_| {});
}

fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend([0; 4]);
    body(out);
    // The length counts itself but not the kind. A statement of more than 4 GB would not fit into memory.
    let length = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    debug_assert!(!text.contains('\0'), "a zero byte ends a text");
    out.extend(text.as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_protocol() {
        let made = |write: fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            out
        };
        assert_eq!(made(|out| query(out, "x")), b"Q\0\0\0\x06x\0");
        assert_eq!(made(|out| parse(out, "s", "x")), b"P\0\0\0\x0as\0x\0\0\0");
        assert_eq!(made(|out| bind(out, "s")), b"B\0\0\0\x0d\0s\0\0\0\0\0\0\0");
        assert_eq!(made(execute), b"E\0\0\0\x09\0\0\0\0\0");
        assert_eq!(made(sync), b"S\0\0\0\x04");
        assert_eq!(made(terminate), b"X\0\0\0\x04");
    }
}
