//! The method of finding records from the middle of a file, by its dialect.

use std::sync::Arc;

use crate::dialect::Dialect;
use crate::fixed_width::{FixedWidth, RecordEnd};
use crate::split::State;
use crate::split::automaton::Automaton;

/// The method of finding the first record of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Arithmetic shows it: each record has this number of bytes ([`first_record_of_fixed`]).
    Arithmetic {
        /// The number of bytes of each record.
        record_bytes: u32,
    },
    /// The range's first bytes and a few bytes before it show it ([`RecordFinder`]).
    Nearby {
        /// How many bytes before the range must be known.
        bytes_before: usize,
    },
    /// A pass over everything before the range shows it; [`RangeScanner`](crate::split::RangeScanner) makes this pass
    /// for all ranges at once.
    Pass,
}

impl Method {
    /// The cheapest method that is exact for this dialect, which passes [`Dialect::check`].
    pub fn of(dialect: &Dialect) -> Method {
        if let Some(FixedWidth {
            record: RecordEnd::Bytes(record_bytes),
            ..
        }) = dialect.fixed
        {
            return Method::Arithmetic { record_bytes };
        }
        match Automaton::new(dialect).bytes_to_agree() {
            Some(bytes_before) => Method::Nearby { bytes_before },
            None => Method::Pass,
        }
    }
}

/// True if a range's records are known only after all ranges before it are read, because quotes, escapes or overlapping
/// terminators decide which bytes are a terminator.
pub fn is_needed(dialect: &Dialect) -> bool {
    Method::of(dialect) == Method::Pass
}

/// The first record that begins at or after `offset`, if records have a fixed number of bytes. Offsets are counted from
/// the file's first record.
pub fn first_record_of_fixed(record_bytes: u32, offset: u64) -> u64 {
    offset.next_multiple_of(u64::from(record_bytes))
}

/// Finds the first record of a range for [`Method::Nearby`].
#[derive(Clone, Debug)]
pub struct RecordFinder {
    automaton: Arc<Automaton>,
    state: State,
    byte_count: u64,
}

impl RecordFinder {
    /// A finder for a range. `before` has the bytes before the range, from the file's first record on, or at least as
    /// many as [`Method::Nearby`] requires.
    pub fn new(dialect: &Dialect, before: &[u8]) -> RecordFinder {
        let finder = RecordFinder {
            automaton: Arc::new(Automaton::new(dialect)),
            state: State::FIRST,
            byte_count: 0,
        };
        finder.behind(before)
    }

    /// A finder for another range of a file in the same dialect. It costs less than [`RecordFinder::new`].
    #[must_use]
    pub fn behind(&self, before: &[u8]) -> RecordFinder {
        // `State::FIRST` may be the wrong state at the start of `before`, but it has become the right one at the end.
        let (state, _) = self.automaton.run(State::FIRST, before);
        RecordFinder {
            automaton: Arc::clone(&self.automaton),
            state,
            byte_count: 0,
        }
    }

    /// Reads the next bytes of the range, and of the text after it if the caller continues. Returns the number of bytes
    /// from the range's first byte to the first record that begins there, once it is found.
    pub fn push(&mut self, text: &[u8]) -> Option<u64> {
        match self.automaton.find_record(self.state, text) {
            Some((at, _)) => Some(self.byte_count + at as u64),
            None => {
                (self.state, _) = self.automaton.run(self.state, text);
                self.byte_count += text.len() as u64;
                None
            }
        }
    }
}
