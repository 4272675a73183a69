//! A fingerprint of a split's text, taken while it is read.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// XXH3 of the text that was read, however it was cut into chunks.
pub struct ContentHash(XxHash3_64);

impl Default for ContentHash {
    fn default() -> ContentHash {
        ContentHash(XxHash3_64::with_seed(0))
    }
}

impl ContentHash {
    /// Adds text.
    pub fn add(&mut self, text: &[u8]) {
        self.0.write(text);
    }

    /// Takes the hash so far, as the ledger keeps it, and begins anew.
    pub fn take(&mut self) -> String {
        format!("xxh3:{:016x}", std::mem::take(self).0.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_do_not_matter_and_bytes_do() {
        let text = b"what was read ".repeat(100);
        let mut whole = ContentHash::default();
        whole.add(&text);
        let whole = whole.take();
        for at in [0, 1, 500, text.len()] {
            let mut parts = ContentHash::default();
            parts.add(&text[..at]);
            parts.add(&text[at..]);
            assert_eq!(parts.take(), whole);
        }
        let mut other = ContentHash::default();
        other.add(&text[1..]);
        assert_ne!(other.take(), whole);
        // What others compute of nothing.
        assert_eq!(ContentHash::default().take(), "xxh3:2d06800538d394c2");
    }
}
