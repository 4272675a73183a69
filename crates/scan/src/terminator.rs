//! The terminator of a record.

use crate::short_text::ShortText;

/// The terminator of a record. Inside quotes nothing ends a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Terminator {
    /// `\n` and `\r\n`, also mixed. Any other `\r` outside quotes is a fault of its record: old Macs ended lines with
    /// it, and such a file would be one long record.
    #[default]
    Any,
    /// `\n` only; a `\r` before it is data.
    Lf,
    /// `\r\n` only; a lone `\n` or `\r` is data.
    CrLf,
    /// `\r` only, as old Macs wrote it; `\n` is data.
    Cr,
    /// This text only, as with bcp's `-r`.
    Text(ShortText),
}

impl Terminator {
    /// The length of the terminator with which `text` begins; zero if there is none.
    #[inline]
    pub fn bytes_at(self, text: &[u8]) -> usize {
        match (self, text) {
            (Terminator::Any | Terminator::Lf, [b'\n', ..]) => 1,
            (Terminator::Any | Terminator::CrLf, [b'\r', b'\n', ..]) => 2,
            (Terminator::Cr, [b'\r', ..]) => 1,
            (Terminator::Text(terminator), _) if terminator.begins(text) => terminator.len(),
            _ => 0,
        }
    }

    /// The byte that ends a line as an editor numbers lines, even inside a record; `None` if the terminator has no
    /// such byte: then each terminator ends a line.
    pub fn line_byte(self) -> Option<u8> {
        match self {
            Terminator::Any | Terminator::Lf | Terminator::CrLf => Some(b'\n'),
            Terminator::Cr => Some(b'\r'),
            Terminator::Text(text) => [b'\n', b'\r']
                .into_iter()
                .find(|byte| text.as_bytes().contains(byte)),
        }
    }

    /// True if `byte` is a part of a terminator.
    pub fn holds(self, byte: u8) -> bool {
        match self {
            Terminator::Any | Terminator::CrLf => matches!(byte, b'\n' | b'\r'),
            Terminator::Lf => byte == b'\n',
            Terminator::Cr => byte == b'\r',
            Terminator::Text(text) => text.as_bytes().contains(&byte),
        }
    }

    /// The number of bytes at the end of `text` that may be the beginning of a terminator.
    pub(crate) fn begun_bytes(self, text: &[u8]) -> usize {
        match self {
            Terminator::Lf | Terminator::Cr => 0,
            Terminator::Any | Terminator::CrLf => usize::from(text.last() == Some(&b'\r')),
            Terminator::Text(terminator) => (1..terminator.len())
                .rev()
                .find(|bytes| text.ends_with(&terminator.as_bytes()[..*bytes]))
                .unwrap_or(0),
        }
    }
}
