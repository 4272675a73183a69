//! The cost of reading.

/// What a reader has read, and the time for each step. Times do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceMeter {
    /// The number of bytes of the stored files.
    pub stored_bytes: u64,
    /// The number of bytes of text, decompressed, in the file's own encoding.
    pub text_bytes: u64,
    /// The number of chunks that were handed out.
    pub chunk_count: u64,
    /// The number of records, without headers.
    pub record_count: u64,
    /// The number of skipped lines: blank lines, comments, COPY's end-of-data marker.
    pub skipped_line_count: u64,
    /// The number of buffers that could not be reused, because something still held their chunk.
    pub buffer_lost_count: u64,
    /// The time in the system's read calls.
    pub read_ns: u64,
    /// The time for decompressing, and for translating text to UTF-8.
    pub decompress_ns: u64,
    /// The time for finding records, and for checking that they are UTF-8.
    pub scan_ns: u64,
}

impl SourceMeter {
    /// Adds the numbers of another reader.
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
