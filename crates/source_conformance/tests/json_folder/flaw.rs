//! Flaws of a source, to test the suite. Most are found by only one clause.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use inrush_source_conformance::written_later;

use super::text::Line;

/// A flaw of a source. Each test binary uses some of them.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No flaw.
    None,
    /// Its description has a password.
    TellsSecret,
    /// Reading a whole file writes to it.
    WritesToFile,
    /// It has more columns than rows have fields.
    HasNoSuchColumn,
    /// Its first split does not begin with the input.
    LeavesOutFirstByte,
    /// Its splits claim more bytes than they have.
    CountsSplitBytesTwice,
    /// Its splits differ each time.
    SplitsByChance,
    /// A row that extends past the end of its split is lost.
    LosesRowAtSplitEnd,
    /// A row that begins before a split is also read in that split.
    DoublesRowAtSplitStart,
    /// Only splits from the same opened source can be read.
    ReadsOwnSplitsAlone,
    /// A range that is not a part of a shared input is skipped.
    PassesOverAnyRange,
    /// The last row of a chunk is lost.
    LosesRowOfChunk,
    /// The last row of a chunk is lost, but only if chunks may be large.
    LosesRowOfLargeChunk,
    /// Lines are counted from 0.
    CountsLinesFromZero,
    /// A line that is not an object is a row without values, except in the first split of a file.
    LetsFaultyRowsPass,
    /// It counts one row too many.
    CountsRowsWrong,
    /// It continues to read after its end.
    ReadsOnAfterEnd,
    /// Two inputs have the same name.
    NamesTwoAlike,
    /// Its state never changes.
    FindsNoChange,
    /// It reads a file that was changed.
    ReadsWhatChanged,
    /// Any content counts as the same.
    FindsNoOtherContent,
    /// All lines of a split are read before the first chunk.
    ReadsAllAtOnce,
    /// It continues to read after a stop.
    HearsNoStop,
    /// A stream cannot open a second split.
    OpensOnce,
    /// After a reader is dropped before its end, its stream reads nothing.
    ReadsNothingAfterDrop,
    /// Its errors do not name the file.
    NamesNoFile,
    /// The last row of a block in its own form is lost.
    LosesNativeRow,
    /// Its readers name a session that its server does not have.
    NamesOtherSession,
    /// Its readers wait for nothing.
    KeepsNoRate,
    /// A hazard has no fix.
    TellsNoFix,
    /// If it is opened with the marks of a stopped run, it treats all rows as already loaded.
    TrustsMarks,
}

/// Only the clause about chunks reads chunks that are as large as this.
const LARGE_CHUNK_BYTES: usize = 1 << 20;

static CHANCE: AtomicU64 = AtomicU64::new(0);

impl Flaw {
    pub fn first_start(self) -> u64 {
        u64::from(self == Flaw::LeavesOutFirstByte)
    }

    /// The bytes of a split.
    pub fn split_bytes(self, wanted: u64) -> u64 {
        match self {
            Flaw::SplitsByChance => {
                wanted.saturating_add(CHANCE.fetch_add(1, Ordering::Relaxed) % 2)
            }
            _ => wanted,
        }
    }

    /// The number of bytes that a split claims.
    pub fn told_bytes(self, bytes: u64) -> u64 {
        match self {
            Flaw::CountsSplitBytesTwice => 2 * bytes,
            _ => bytes,
        }
    }

    /// True if the last row of a chunk is lost.
    pub fn loses_row(self, chunk_bytes: usize) -> bool {
        self == Flaw::LosesRowOfChunk
            || self == Flaw::LosesRowOfLargeChunk && chunk_bytes >= LARGE_CHUNK_BYTES
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

    /// The end of the lines to read: lines that begin before it are read.
    pub fn end(self, range: &Range<u64>, line: &Line) -> u64 {
        match self {
            Flaw::LosesRowAtSplitEnd => range.end.saturating_sub(line.text.len() as u64 - 1),
            _ => range.end,
        }
    }

    /// The bytes of a chunk.
    pub fn chunk_bytes(self, wanted: usize) -> usize {
        match self {
            Flaw::ReadsAllAtOnce => usize::MAX,
            _ => wanted,
        }
    }

    pub fn counted(self, rows: u64) -> u64 {
        rows + u64::from(self == Flaw::CountsRowsWrong)
    }

    pub fn at_end(self, path: &Path, is_whole: bool) {
        if self == Flaw::WritesToFile && is_whole {
            let text = std::fs::read(path).expect("a file of the test");
            written_later(path, &|| std::fs::write(path, &text).expect("written"));
        }
    }
}
