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
/// Characters of a name that a LOGIN7 takes.
pub(crate) const NAME_UNITS_MAX: usize = 128;

/// What a LOGIN7 says.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    /// The session began with TLS (TDS 8.0).
    pub(crate) is_strict: bool,
    pub(crate) packet_bytes: u32,
    pub(crate) client_host: &'a str,
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) application: &'a str,
    pub(crate) server: &'a str,
    pub(crate) database: &'a str,
    pub(crate) token: Option<Token<'a>>,
}

/// An access token.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// The server's PRELOGIN said that it takes tokens.
    pub(crate) is_echoed: bool,
}

/// The text lacks the token.
impl std::fmt::Debug for Token<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
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
    /// The message.
    pub(crate) fn payload(&self) -> Vec<u8> {
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
        fixed.extend_from_slice(&[FLAGS_1, FLAGS_2, 0, FLAGS_3]);
        // The time zone and the language of Windows; not used by servers.
        fixed.extend_from_slice(&[0; 8]);

        let mut texts = Vec::new();
        let mut place = |fixed: &mut Vec<u8>, bytes: &[u8], length: usize| {
            fixed.extend_from_slice(&((FIXED_BYTES + texts.len()) as u16).to_le_bytes());
            fixed.extend_from_slice(&(length as u16).to_le_bytes());
            texts.extend_from_slice(bytes);
        };
        let password: Vec<u8> = utf16(self.password).into_iter().map(obfuscated).collect();
        for text in [
            utf16(self.client_host),
            utf16(self.user),
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
        // There is no SSPI, no database file to attach, and no new password.
        for _ in 0..3 {
            place(&mut fixed, &[], 0);
        }
        fixed.extend_from_slice(&[0; 4]);
        debug_assert_eq!(fixed.len(), FIXED_BYTES);

        let features_at = (FIXED_BYTES + texts.len()) as u32;
        let pointer = usize::from(u16::from_le_bytes([
            fixed[extension_at],
            fixed[extension_at + 1],
        ])) - FIXED_BYTES;
        texts[pointer..pointer + 4].copy_from_slice(&features_at.to_le_bytes());
        texts.extend(self.token.into_iter().flat_map(Token::feature));
        texts.extend_from_slice(&[UTF8_SUPPORT, 1, 0, 0, 0, 1, NO_MORE_FEATURES]);
        fixed.extend_from_slice(&texts);
        let length = (fixed.len() as u32).to_le_bytes();
        fixed[..4].copy_from_slice(&length);
        fixed
    }
}

/// A byte of a password as LOGIN7 has it. It hides nothing: encryption does.
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
            user: "etl",
            password: "Pä$$ 😀",
            application: "Inrush",
            server: "dw",
            database: "tpch",
            token: None,
        };
        let payload = login.payload();
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
            user: "",
            password: "",
            application: "Inrush",
            server: "dw",
            database: "tpch",
            token: Some(token),
        };
        let payload = login.payload();
        assert!(payload.ends_with(&expected));
        assert!(!format!("{login:?}").contains("xy"));
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
