//! The cost of reading.

/// What a reader has read, and where its time went. Times do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceMeter {
    /// Bytes of the stored files.
    pub stored_bytes: u64,
    /// Bytes of text, decompressed, in the file's own encoding.
    pub text_bytes: u64,
    /// Chunks handed out.
    pub chunk_count: u64,
    /// Records found; headers are not counted.
    pub record_count: u64,
    /// Lines passed over: blank ones, comments, COPY's end-of-data marker.
    pub skipped_line_count: u64,
    /// Buffers that could not be used again, since something still held their chunk.
    pub buffer_lost_count: u64,
    /// In the system's read calls.
    pub read_ns: u64,
    /// Decompressing, and making text of another encoding UTF-8.
    pub decompress_ns: u64,
    /// Finding records, and checking that they are UTF-8.
    pub scan_ns: u64,
}

impl SourceMeter {
    /// Adds what another reader has counted.
    pub fn add(&mut self, other: &SourceMeter) {
        self.stored_bytes += other.stored_bytes;
        self.text_bytes += other.text_bytes;
        self.chunk_count += other.chunk_count;
        self.record_count += other.record_count;
        self.skipped_line_count += other.skipped_line_count;
        self.buffer_lost_count += other.buffer_lost_count;
        self.read_ns += other.read_ns;
        self.decompress_ns += other.decompress_ns;
        self.scan_ns += other.scan_ns;
    }
}

/// The nanoseconds since `start`.
pub fn nanoseconds_since(start: std::time::Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
