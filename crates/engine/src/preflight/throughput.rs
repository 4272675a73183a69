//! The speed at which a destination takes rows.

/// The number of bytes that the destination took, and the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Throughput {
    /// Bytes of rows in a second, as they are sent.
    pub sent_bytes_s: f64,
    /// Bytes of rows.
    pub sent_bytes: u64,
    /// The seconds that it took.
    pub took_s: f64,
}

impl Throughput {
    /// The throughput of several connections at once.
    pub fn at_once(all: impl IntoIterator<Item = Throughput>) -> Throughput {
        let mut found = Throughput::default();
        for one in all {
            found.sent_bytes += one.sent_bytes;
            found.sent_bytes_s += one.sent_bytes_s;
            found.took_s = found.took_s.max(one.took_s);
        }
        found
    }
}
