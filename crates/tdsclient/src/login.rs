//! LOGIN7: who logs in, to which database, with which settings ([MS-TDS] 2.2.6.4).

use crate::packets::utf16;

/// Bytes before the texts.
const FIXED_BYTES: usize = 94;
/// TDS 7.4, and 8.0 (TLS comes first).
const VERSION_7_4: u32 = 0x7400_0004;
const VERSION_8_0: u32 = 0x0800_0000;
/// The database and the language must be accepted; USE and SET LANGUAGE are reported.
const FLAGS_1: u8 = 0xe0;
/// Like an ODBC client: ANSI settings on (quoted identifiers, NULLs, padding, warnings), texts of any length.
const FLAGS_2: u8 = 0x03;
/// The login is by a ticket, not by user and password.
const INTEGRATED_SECURITY: u8 = 0x80;
/// A list of features follows.
const FLAGS_3: u8 = 0x10;
/// The feature "texts in UTF-8": varchar columns of `_UTF8` collations are sent as they are.
pub(crate) const UTF8_SUPPORT: u8 = 0x0a;
/// The feature "federated authentication": a token of Microsoft Entra instead of user and password ([MS-TDS] 2.2.6.4,
/// FEDAUTH).
const FEDERATED: u8 = 0x02;
/// The library "security token", in the bits above the echo of PRELOGIN.
const SECURITY_TOKEN: u8 = 0x01 << 1;
const NO_MORE_FEATURES: u8 = 0xff;
/// The most bytes of the whole message ([MS-TDS] 2.2.6.4).
const LOGIN_BYTES_MAX: usize = (128 << 10) - 1;
/// The most characters (units of UTF-16) of a name in a LOGIN7.
pub(crate) const NAME_UNITS_MAX: usize = 128;

/// The content of a LOGIN7.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    /// The session began with TLS (TDS 8.0).
    pub(crate) is_strict: bool,
    pub(crate) packet_bytes: u32,
    pub(crate) client_host: &'a str,
    pub(crate) proof: LoginProof<'a>,
    pub(crate) application: &'a str,
    pub(crate) server: &'a str,
    pub(crate) database: &'a str,
}

/// What proves who logs in.
#[derive(Clone, Copy)]
pub(crate) enum LoginProof<'a> {
    /// A login of SQL Server.
    Password { user: &'a str, password: &'a str },
    /// An access token of Microsoft Entra.
    Token(Token<'a>),
    /// The first token of a Kerberos login.
    Ticket(&'a [u8]),
}

/// Prints no secrets.
impl std::fmt::Debug for LoginProof<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            LoginProof::Password { .. } => "Password",
            LoginProof::Token(_) => "Token",
            LoginProof::Ticket(_) => "Ticket",
        })
    }
}

/// An access token.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// The server's PRELOGIN said that it takes tokens.
    pub(crate) is_echoed: bool,
}

impl Token<'_> {
    /// The feature: its number, its length, the library, and the token with its length.
    fn feature(self) -> Vec<u8> {
        let token = utf16(self.text);
        let mut feature = vec![FEDERATED];
        feature.extend_from_slice(&(token.len() as u32 + 5).to_le_bytes());
        feature.push(SECURITY_TOKEN | u8::from(self.is_echoed));
        feature.extend_from_slice(&(token.len() as u32).to_le_bytes());
        feature.extend_from_slice(&token);
        feature
    }
}

impl Login<'_> {
    /// The message. `Err` says why it would be too long.
    pub(crate) fn payload(&self) -> Result<Vec<u8>, String> {
        let version = if self.is_strict {
            VERSION_8_0
        } else {
            VERSION_7_4
        };
        let mut fixed = vec![0; 4];
        fixed.extend_from_slice(&version.to_le_bytes());
        fixed.extend_from_slice(&self.packet_bytes.to_le_bytes());
        fixed.extend_from_slice(&[0; 4]);
        fixed.extend_from_slice(&std::process::id().to_le_bytes());
        fixed.extend_from_slice(&[0; 4]);
        let (user, password, ticket) = match self.proof {
            LoginProof::Password { user, password } => (user, password, [].as_slice()),
            LoginProof::Token(_) => ("", "", [].as_slice()),
            LoginProof::Ticket(ticket) => ("", "", ticket),
        };
        let flags_2 = match ticket.is_empty() {
            true => FLAGS_2,
            false => FLAGS_2 | INTEGRATED_SECURITY,
        };
        fixed.extend_from_slice(&[FLAGS_1, flags_2, 0, FLAGS_3]);
        // The time zone and the language of Windows; not used by servers.
        fixed.extend_from_slice(&[0; 8]);

        let mut texts = Vec::new();
        let mut place = |fixed: &mut Vec<u8>, bytes: &[u8], length: usize| {
            fixed.extend_from_slice(&((FIXED_BYTES + texts.len()) as u16).to_le_bytes());
            fixed.extend_from_slice(&(length as u16).to_le_bytes());
            texts.extend_from_slice(bytes);
        };
        let password: Vec<u8> = utf16(password).into_iter().map(obfuscated).collect();
        for text in [
            utf16(self.client_host),
            utf16(user),
            password,
            utf16(self.application),
            utf16(self.server),
        ] {
            place(&mut fixed, &text, text.len() / 2);
        }
        // The offset of the features is written here; it is known once all texts are placed.
        let extension_at = fixed.len();
        place(&mut fixed, &[0; 4], 4);
        for text in [utf16("Inrush"), Vec::new(), utf16(self.database)] {
            place(&mut fixed, &text, text.len() / 2);
        }
        // A client's address, which nothing reads.
        fixed.extend_from_slice(&[0; 6]);
        // The ticket comes after all texts, because it may be longer than the offsets of texts can count. Its length
        // has 16 bits, and 32 further ones if these are all 1. There is no database file to attach, and no new
        // password.
        let is_long = ticket.len() >= usize::from(u16::MAX);
        place(&mut fixed, &[], ticket.len().min(usize::from(u16::MAX)));
        for _ in 0..2 {
            place(&mut fixed, &[], 0);
        }
        let length = if is_long { ticket.len() as u32 } else { 0 };
        fixed.extend_from_slice(&length.to_le_bytes());
        texts.extend_from_slice(ticket);
        debug_assert_eq!(fixed.len(), FIXED_BYTES);

        let features_at = (FIXED_BYTES + texts.len()) as u32;
        let pointer = usize::from(u16::from_le_bytes([
            fixed[extension_at],
            fixed[extension_at + 1],
        ])) - FIXED_BYTES;
        texts[pointer..pointer + 4].copy_from_slice(&features_at.to_le_bytes());
        if let LoginProof::Token(token) = self.proof {
            texts.extend(token.feature());
        }
        texts.extend_from_slice(&[UTF8_SUPPORT, 1, 0, 0, 0, 1, NO_MORE_FEATURES]);
        fixed.extend_from_slice(&texts);
        if fixed.len() > LOGIN_BYTES_MAX {
            return Err(format!(
                "the login would have {} bytes, more than the {LOGIN_BYTES_MAX} that servers take",
                fixed.len()
            ));
        }
        let length = (fixed.len() as u32).to_le_bytes();
        fixed[..4].copy_from_slice(&length);
        Ok(fixed)
    }
}

/// A byte of a password as LOGIN7 has it. This does not protect the password; only encryption does.
fn obfuscated(byte: u8) -> u8 {
    byte.rotate_left(4) ^ 0xa5
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(payload: &[u8], field: usize) -> String {
        let at = |at: usize| usize::from(u16::from_le_bytes([payload[at], payload[at + 1]]));
        let (start, units) = (at(36 + 4 * field), at(38 + 4 * field));
        let units: Vec<u16> = payload[start..start + 2 * units]
            .as_chunks()
            .0
            .iter()
            .map(|unit| u16::from_le_bytes(*unit))
            .collect();
        String::from_utf16_lossy(&units)
    }

    #[test]
    fn texts_stand_where_the_offsets_say() {
        let login = Login {
            is_strict: false,
            packet_bytes: 32_767,
            client_host: "büro",
            proof: LoginProof::Password {
                user: "etl",
                password: "Pä$$ 😀",
            },
            application: "Inrush",
            server: "dw",
            database: "tpch",
        };
        let payload = login.payload().expect("short");
        assert_eq!(payload[..4], (payload.len() as u32).to_le_bytes());
        assert_eq!(payload[4..12], [4, 0, 0, 0x74, 0xff, 0x7f, 0, 0]);
        for (field, expected) in [
            (0, "büro"),
            (1, "etl"),
            (3, "Inrush"),
            (4, "dw"),
            (6, "Inrush"),
            (7, ""),
            (8, "tpch"),
        ] {
            assert_eq!(text(&payload, field), expected, "{field}");
        }
        let hidden =
            &payload[usize::from(u16::from_le_bytes([payload[44], payload[45]]))..][..2 * 7];
        let shown: Vec<u8> = hidden
            .iter()
            .map(|byte| (byte ^ 0xa5).rotate_left(4))
            .collect();
        assert_eq!(shown, utf16("Pä$$ 😀"));
        let features = u16::from_le_bytes([payload[56], payload[57]]) as usize;
        let features =
            u32::from_le_bytes(payload[features..features + 4].try_into().expect("4 bytes"))
                as usize;
        assert_eq!(payload[features..], [0x0a, 1, 0, 0, 0, 1, 0xff]);
    }

    #[test]
    fn a_token_is_a_feature() {
        let token = Token {
            text: "xy",
            is_echoed: true,
        };
        let expected = [
            2, 9, 0, 0, 0, 0b11, 4, 0, 0, 0, b'x', 0, b'y', 0, 0x0a, 1, 0, 0, 0, 1, 0xff,
        ];
        let login = Login {
            is_strict: false,
            packet_bytes: 4096,
            client_host: "",
            proof: LoginProof::Token(token),
            application: "Inrush",
            server: "dw",
            database: "tpch",
        };
        let payload = login.payload().expect("short");
        assert!(payload.ends_with(&expected));
        assert!(!format!("{login:?}").contains("xy"));
    }

    /// A ticket comes before the features, and its length is in one of two places.
    #[test]
    fn a_ticket_is_a_part_of_the_login() {
        let payload = |ticket: &[u8]| {
            let login = Login {
                is_strict: true,
                packet_bytes: 4096,
                client_host: "",
                proof: LoginProof::Ticket(ticket),
                application: "Inrush",
                server: "dw",
                database: "tpch",
            };
            login.payload()
        };
        for length in [1, 65_534, 65_535, 70_000] {
            let ticket: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let payload = payload(&ticket).expect("short enough");
            let short = |at: usize| u16::from_le_bytes([payload[at], payload[at + 1]]);
            let long = u32::from_le_bytes(payload[90..94].try_into().expect("4 bytes"));
            assert_eq!(payload[25] & INTEGRATED_SECURITY, INTEGRATED_SECURITY);
            let start = usize::from(short(78));
            let found = match short(80) {
                u16::MAX => long as usize,
                short => usize::from(short),
            };
            assert_eq!(payload[start..start + found], ticket, "{length}");
            assert_eq!(payload[start + found..], [0x0a, 1, 0, 0, 0, 1, 0xff]);
            assert_eq!((text(&payload, 1), text(&payload, 2)), Default::default());
        }
        let too_long = payload(&vec![0; LOGIN_BYTES_MAX]);
        assert!(too_long.is_err_and(|said| said.contains("131071")));
    }

    /// "a" is 0x61 0x00 in UTF-16: the example of [MS-TDS] 2.2.6.4.
    #[test]
    fn a_password_is_obfuscated_as_described() {
        assert_eq!(
            utf16("a").into_iter().map(obfuscated).collect::<Vec<_>>(),
            [0xb3, 0xa5]
        );
    }
}
