//! The parts of a unit that transactions commit.

/// A part of a unit that is loaded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The split with this number, counted from 1.
    Split(usize),
    /// Ranges of a split that is fed.
    Ranges {
        /// The split's number, counted from 1.
        split: usize,
        /// First byte of the text of the first range.
        text_start: u64,
    },
}
