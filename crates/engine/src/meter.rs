//! The time of a stream, by phase.

use std::time::Duration;

use inrush_source::SourceMeter;
use serde::{Deserialize, Serialize};

/// The time and the volume of one stream or of one unit. Added up once per batch, never per row.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Meter {
    /// Reading from the file system.
    pub read_ns: u64,
    /// Decompressing.
    pub decompress_ns: u64,
    /// Finding record and field ends, and checking UTF-8.
    pub scan_ns: u64,
    /// Turning fields into columns.
    pub convert_ns: u64,
    /// Passing rows through the steps of their flow.
    #[serde(default)]
    pub transform_ns: u64,
    /// Computing the sums for verification.
    pub verify_ns: u64,
    /// Turning columns into the destination's bytes.
    pub encode_ns: u64,
    /// Waiting for a range of a file that one thread reads for several streams.
    #[serde(default)]
    pub feed_wait_ns: u64,
    /// Waiting because of a rate limit or of replicas that lag behind.
    #[serde(default)]
    pub pace_wait_ns: u64,
    /// Waiting until the connection accepts a block, and for the answer to a COPY.
    pub send_wait_ns: u64,
    /// Waiting for the server to compute the sums for verification.
    pub verify_wait_ns: u64,
    /// Waiting for other work of the server: creating tables, counting, indexes, COMMIT.
    pub server_wait_ns: u64,
    /// The time from the start of the first piece of work to the end of the last.
    pub busy_ns: u64,
    /// Bytes of the files as stored.
    pub stored_bytes: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Rows sent.
    pub rows: u64,
}

impl Meter {
    /// Adds another meter.
    pub fn add(&mut self, other: &Meter) {
        self.read_ns += other.read_ns;
        self.decompress_ns += other.decompress_ns;
        self.scan_ns += other.scan_ns;
        self.convert_ns += other.convert_ns;
        self.transform_ns += other.transform_ns;
        self.verify_ns += other.verify_ns;
        self.encode_ns += other.encode_ns;
        self.feed_wait_ns += other.feed_wait_ns;
        self.pace_wait_ns += other.pace_wait_ns;
        self.send_wait_ns += other.send_wait_ns;
        self.verify_wait_ns += other.verify_wait_ns;
        self.server_wait_ns += other.server_wait_ns;
        self.busy_ns += other.busy_ns;
        self.stored_bytes += other.stored_bytes;
        self.text_bytes += other.text_bytes;
        self.sent_bytes += other.sent_bytes;
        self.rows += other.rows;
    }

    /// The difference from an earlier reading of the same meter.
    pub fn since(&self, before: &Meter) -> Meter {
        Meter {
            read_ns: self.read_ns.saturating_sub(before.read_ns),
            decompress_ns: self.decompress_ns - before.decompress_ns,
            scan_ns: self.scan_ns - before.scan_ns,
            convert_ns: self.convert_ns - before.convert_ns,
            transform_ns: self.transform_ns - before.transform_ns,
            verify_ns: self.verify_ns - before.verify_ns,
            encode_ns: self.encode_ns - before.encode_ns,
            feed_wait_ns: self.feed_wait_ns - before.feed_wait_ns,
            pace_wait_ns: self.pace_wait_ns - before.pace_wait_ns,
            send_wait_ns: self.send_wait_ns - before.send_wait_ns,
            verify_wait_ns: self.verify_wait_ns - before.verify_wait_ns,
            server_wait_ns: self.server_wait_ns - before.server_wait_ns,
            busy_ns: self.busy_ns - before.busy_ns,
            stored_bytes: self.stored_bytes - before.stored_bytes,
            text_bytes: self.text_bytes - before.text_bytes,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            rows: self.rows - before.rows,
        }
    }

    /// Adds the time that another thread has spent reading for this one.
    pub fn add_reading(&mut self, other: &SourceMeter) {
        self.read_ns += other.read_ns;
        self.decompress_ns += other.decompress_ns;
        self.scan_ns += other.scan_ns;
        self.stored_bytes += other.stored_bytes;
    }
}

/// Whole nanoseconds; the number stops growing after 584 years.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
