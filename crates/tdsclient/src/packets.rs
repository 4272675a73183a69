//! Packets: a header of 8 bytes and a payload. A message is one packet or more; its last one has the end mark.

/// Bytes of a packet's header.
pub(crate) const HEADER_BYTES: usize = 8;
/// Bytes of a packet before the login has granted a size ([MS-TDS] 2.2.3.1.4).
pub(crate) const FIRST_PACKET_BYTES: usize = 4096;

/// Status of the last packet of a message.
pub(crate) const END_OF_MESSAGE: u8 = 0x01;

/// Kinds of messages that are sent or received ([MS-TDS] 2.2.3.1.1).
pub(crate) mod kind {
    pub(crate) const SQL_BATCH: u8 = 0x01;
    pub(crate) const ANSWER: u8 = 0x04;
    pub(crate) const ATTENTION: u8 = 0x06;
    pub(crate) const LOGIN7: u8 = 0x10;
    pub(crate) const SECURITY_TOKEN: u8 = 0x11;
    pub(crate) const PRELOGIN: u8 = 0x12;
}

/// A packet's header, as far as a reader needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: u8,
    pub(crate) status: u8,
    /// Bytes of the packet, header included.
    pub(crate) bytes: usize,
    /// The number of the session on the server ([MS-TDS] 2.2.3.1.4); 0 if the server does not report it.
    pub(crate) session_number: u16,
}

impl Header {
    /// Reads a header.
    pub(crate) fn read(bytes: &[u8; HEADER_BYTES]) -> Header {
        Header {
            kind: bytes[0],
            status: bytes[1],
            bytes: usize::from(u16::from_be_bytes([bytes[2], bytes[3]])),
            session_number: u16::from_be_bytes([bytes[4], bytes[5]]),
        }
    }

    /// True if the message ends with this packet.
    pub(crate) fn is_last(self) -> bool {
        self.status & END_OF_MESSAGE != 0
    }
}

/// A message, cut into packets.
pub(crate) fn message(kind: u8, payload: &[u8], packet_bytes: usize) -> Vec<u8> {
    let room = packet_bytes - HEADER_BYTES;
    let count = payload.len().div_ceil(room).max(1);
    let mut out = Vec::with_capacity(payload.len() + count * HEADER_BYTES);
    for index in 0..count {
        let piece = &payload[index * room..payload.len().min((index + 1) * room)];
        let status = if index + 1 == count {
            END_OF_MESSAGE
        } else {
            0
        };
        // A packet has at most 32,767 bytes; its number counts modulo 256.
        let length = ((piece.len() + HEADER_BYTES) as u16).to_be_bytes();
        out.extend_from_slice(&[
            kind,
            status,
            length[0],
            length[1],
            0,
            0,
            (index + 1) as u8,
            0,
        ]);
        out.extend_from_slice(piece);
    }
    out
}

/// A text in UTF-16, as messages have it.
pub(crate) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payloads around the border of a packet: the end mark is on the last packet, and only an empty message has an
    /// empty packet.
    #[test]
    fn messages_are_cut_at_the_size_of_packets() {
        for (payload_bytes, expected) in [
            (0, vec![8]),
            (7, vec![15]),
            (8, vec![16]),
            (9, vec![16, 9]),
            (17, vec![16, 16, 9]),
        ] {
            let sent = message(kind::SQL_BATCH, &vec![7; payload_bytes], 16);
            let (mut at, mut found, mut last) = (0, Vec::new(), Vec::new());
            while at < sent.len() {
                let header = Header::read(sent[at..at + 8].try_into().expect("8 bytes"));
                found.push(header.bytes);
                last.push(header.is_last());
                assert_eq!(usize::from(sent[at + 6]), found.len());
                at += header.bytes;
            }
            assert_eq!(found, expected, "{payload_bytes}");
            assert_eq!(last.iter().filter(|last| **last).count(), 1);
            assert_eq!(last.last(), Some(&true));
        }
    }
}
