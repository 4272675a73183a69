//! What a destination took of rows.

/// What the destination took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Bytes of rows in a second, as they are sent.
    pub sent_bytes_s: f64,
    /// Bytes of rows.
    pub sent_bytes: u64,
    /// Seconds.
    pub took_s: f64,
}

impl Took {
    /// What was taken of several at once.
    pub fn at_once(all: impl IntoIterator<Item = Took>) -> Took {
        let mut found = Took::default();
        for one in all {
            found.sent_bytes += one.sent_bytes;
            found.sent_bytes_s += one.sent_bytes_s;
            found.took_s = found.took_s.max(one.took_s);
        }
        found
    }
}
