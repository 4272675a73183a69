//! The content that was read of a split, so that a later run can compare it with the source.

use std::hash::Hasher;
use std::ops::Range;

use twox_hash::XxHash3_64;

/// The content that was read of a split. The ledger keeps it, and a later run asks the source whether the split still
/// has this content ([`Source::has_same_content`](crate::Source::has_same_content)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitContent {
    /// The first position of the split, in the input's own unit ([`SourceSplit::range`](crate::SourceSplit::range)).
    pub start: u64,
    /// One past the last position; `None` if the split reaches to the end of the input.
    pub end: Option<u64>,
    /// A hash of the text or rows that were read.
    pub hash: Option<String>,
    /// The range in the input, in bytes, if the hashed bytes are the input's own. Empty if nothing was read.
    pub text_range: Option<Range<u64>>,
}

impl SplitContent {
    /// Its range in an input of this size.
    pub fn range_in(&self, size_bytes: u64) -> Range<u64> {
        self.start..self.end.unwrap_or(size_bytes)
    }
}

/// Returned at the end of a split, after all of its rows were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitEnd {
    /// [`SplitContent::hash`].
    pub hash: String,
    /// [`SplitContent::text_range`].
    pub text_range: Option<Range<u64>>,
    /// The trailer record that was removed from the rows, if the source has such records.
    pub trailer: Option<String>,
}

impl SplitEnd {
    /// The end of a split of typed rows.
    pub fn of_rows(hash: String) -> SplitEnd {
        SplitEnd {
            hash,
            text_range: None,
            trailer: None,
        }
    }
}

/// XXH3 of the text that was read, no matter how it was cut into chunks.
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

    /// Returns the hash so far, in the form that the ledger keeps, and begins again.
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
        // The published hash of an empty input.
        assert_eq!(ContentHash::default().take(), "xxh3:2d06800538d394c2");
    }
}
