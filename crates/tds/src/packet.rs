//! Packets of a message: 8 bytes of header and a payload each. A packet may end anywhere, even within a row or a value.
//!
//! Rows are appended to the open packet without checking its end. [`PacketBuffer::cut`] then makes the gaps for the
//! headers of further packets, from the last to the first, so that each byte moves at most once and whole packets
//! follow each other, ready for one `write`.
//!
//! A packet that is exactly full stays open until more payload follows. So there is always a last packet for the end
//! mark, and no packet with an empty payload follows a full one.

/// Bytes of a packet's header.
const HEADER_BYTES: usize = 8;
/// The kind of message: bulk load.
const BULK_LOAD: u8 = 0x07;
/// Status of a packet that others follow.
const NORMAL: u8 = 0x00;
/// Status of the last packet: the end of the message.
const END_OF_MESSAGE: u8 = 0x01;
/// The number of a message's first packet. The packets are numbered modulo 256.
const FIRST_PACKET_ID: u8 = 1;

/// The size of packets that the server granted, including the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSize(u16);

impl PacketSize {
    /// The smallest that TDS has.
    pub const MIN: PacketSize = PacketSize(512);
    /// The largest that TDS has.
    pub const MAX: PacketSize = PacketSize(32_767);

    /// A packet size, 512 to 32,767 bytes; `None` for any other.
    pub fn new(bytes: u32) -> Option<PacketSize> {
        u16::try_from(bytes)
            .ok()
            .map(PacketSize)
            .filter(|size| (Self::MIN.0..=Self::MAX.0).contains(&size.0))
    }

    /// The bytes of a packet, including the header.
    pub fn bytes(self) -> usize {
        usize::from(self.0)
    }
}

/// Whole packets of a message, and the open one after them.
#[derive(Clone, Debug)]
pub(crate) struct PacketBuffer {
    /// The packets; the header of the open one is still zero.
    bytes: Vec<u8>,
    /// The position where the open packet begins; the end of the bytes if none is open.
    open_start: usize,
    size: PacketSize,
    next_id: u8,
}

impl PacketBuffer {
    /// An empty buffer for packets of this size.
    pub(crate) fn new(size: PacketSize) -> PacketBuffer {
        PacketBuffer {
            bytes: Vec::new(),
            open_start: 0,
            size,
            next_id: FIRST_PACKET_ID,
        }
    }

    /// The packets that can be sent: whole ones only.
    pub(crate) fn ready(&self) -> &[u8] {
        &self.bytes[..self.open_start]
    }

    /// Removes the packets that have been sent. Their memory is reused.
    pub(crate) fn clear_ready(&mut self) {
        let open_bytes = self.bytes.len() - self.open_start;
        self.bytes.copy_within(self.open_start.., 0);
        self.bytes.truncate(open_bytes);
        self.open_start = 0;
    }

    /// Opens the first packet of a message. An open packet of an earlier message is dropped.
    pub(crate) fn begin(&mut self) {
        self.next_id = FIRST_PACKET_ID;
        self.bytes.truncate(self.open_start);
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
    }

    /// Appends payload, cut into packets.
    pub(crate) fn append(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.cut();
    }

    /// Returns the buffer, so that the caller can append `payload_bytes` to the open packet. Memory is reserved for
    /// them, and for the headers that [`cut`](Self::cut) inserts. The caller must call `cut` afterwards.
    pub(crate) fn reserve(&mut self, payload_bytes: usize) -> &mut Vec<u8> {
        let headers = payload_bytes / self.payload_max() + 2;
        self.bytes.reserve(payload_bytes + headers * HEADER_BYTES);
        &mut self.bytes
    }

    /// Like [`reserve`](Self::reserve), but reserves no memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Closes the packets that are full and have payload after them.
    pub(crate) fn cut(&mut self) {
        let first_payload = self.open_start + HEADER_BYTES;
        let written = self.bytes.len();
        let payload_max = self.payload_max();
        let payload_bytes = written - first_payload;
        if payload_bytes <= payload_max {
            return;
        }
        let packets = payload_bytes.div_ceil(payload_max);
        self.bytes.resize(written + (packets - 1) * HEADER_BYTES, 0);
        for index in (1..packets).rev() {
            let from = first_payload + index * payload_max;
            let end = written.min(from + payload_max);
            let to = first_payload + index * self.size.bytes();
            self.bytes.copy_within(from..end, to);
        }
        for _ in 1..packets {
            let end = self.open_start + self.size.bytes();
            self.close(NORMAL, end);
        }
    }

    /// Closes the open packet as the last of its message.
    pub(crate) fn end(&mut self) {
        self.close(END_OF_MESSAGE, self.bytes.len());
    }

    /// Writes the header of the open packet, which ends at `end`; the next one begins there.
    fn close(&mut self, status: u8, end: usize) {
        // A packet has at most 32,767 bytes.
        let [length_high, length_low] = ((end - self.open_start) as u16).to_be_bytes();
        let id = self.next_id;
        self.bytes[self.open_start..self.open_start + HEADER_BYTES].copy_from_slice(&[
            BULK_LOAD,
            status,
            length_high,
            length_low,
            0,
            0,
            id,
            0,
        ]);
        self.next_id = id.wrapping_add(1);
        self.open_start = end;
    }

    fn payload_max(&self) -> usize {
        self.size.bytes() - HEADER_BYTES
    }
}
