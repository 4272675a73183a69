//! Mistakes of a source, each of which one clause finds.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use inrush_source_conformance::written_later;

use super::text::Line;

/// What a source does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// Its description has a password.
    TellsSecret,
    /// Reading writes to the file.
    WritesToFile,
    /// It has more columns than rows have fields.
    HasNoSuchColumn,
    /// Its splits do not begin with the input.
    LeavesOutFirstByte,
    /// Its splits are others each time.
    SplitsByChance,
    /// A row that goes on behind its split is lost.
    LosesRowAtSplitEnd,
    /// A row that begins before a split is read in it again.
    DoublesRowAtSplitStart,
    /// The last row of a chunk is lost.
    LosesRowOfChunk,
    /// Lines are counted from 0.
    CountsLinesFromZero,
    /// It counts a row too many.
    CountsRowsWrong,
    /// It reads on after its end.
    ReadsOnAfterEnd,
    /// Two inputs have one name.
    NamesTwoAlike,
    /// Its state never changes.
    FindsNoChange,
    /// It reads a file that was written to.
    ReadsWhatChanged,
    /// Any content is the same.
    FindsNoOtherContent,
    /// It reads on after a stop.
    HearsNoStop,
    /// A stream cannot open a second split.
    OpensOnce,
}

static CHANCE: AtomicU64 = AtomicU64::new(0);

impl Flaw {
    pub fn first_start(self) -> u64 {
        match self {
            Flaw::LeavesOutFirstByte => 1,
            Flaw::SplitsByChance => CHANCE.fetch_add(1, Ordering::Relaxed) % 2,
            _ => 0,
        }
    }

    pub fn first_byte(self, range: &Range<u64>, first: u64) -> u64 {
        match self {
            Flaw::DoublesRowAtSplitStart => range.start,
            _ => first,
        }
    }

    pub fn line(self, line: u64) -> u64 {
        match self {
            Flaw::CountsLinesFromZero => line.saturating_sub(1).max(1),
            _ => line,
        }
    }

    /// Lines that begin before it are read.
    pub fn end(self, range: &Range<u64>, line: &Line) -> u64 {
        match self {
            Flaw::LosesRowAtSplitEnd => range.end.saturating_sub(line.text.len() as u64 - 1),
            _ => range.end,
        }
    }

    pub fn counted(self, rows: u64) -> u64 {
        rows + u64::from(self == Flaw::CountsRowsWrong)
    }

    pub fn at_end(self, path: &Path) {
        if self == Flaw::WritesToFile {
            let text = std::fs::read(path).expect("a file of the test");
            written_later(path, &|| std::fs::write(path, &text).expect("written"));
        }
    }
}
