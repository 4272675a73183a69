//! The pass over one range: all states in which it may begin, followed at once.

use std::sync::Arc;

use crate::dialect::Dialect;
use crate::masks::BLOCK_BYTES;
use crate::split::State;
use crate::split::automaton::Automaton;
use crate::split::blocks::{BlockMasks, Blocks, STRIPE_BLOCKS};
use crate::split::summary::{FirstRecord, RangeOutcome, RangeSummary};

/// Reads one range of a file, in pieces of any size, and finds its facts for every state in which it may begin.
///
/// Records of any length are read; the scan of the range finds a record that is too long.
///
/// Cloning a new scanner costs almost nothing, and gives one for the next range.
#[derive(Clone, Debug)]
pub struct RangeScanner {
    automaton: Arc<Automaton>,
    /// The fast way, if the dialect has one.
    blocks: Option<Arc<Blocks>>,
    line_byte: Option<u8>,
    byte_count: u64,
    /// The number of line bytes so far, if the dialect has one.
    line_byte_count: u64,
    /// The different states reached from the start states.
    tracks: Vec<Track>,
    /// The tracks by start state.
    starts: Vec<Start>,
}

/// A state that is reached from one or more start states.
#[derive(Clone, Copy, Debug)]
struct Track {
    state: State,
    /// The number of lines that terminators have ended, if lines are counted by terminators.
    line_count: u64,
    /// True if some of its start states have no first record yet.
    is_waiting: bool,
}

/// A state in which the range may begin.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Index in `tracks`.
    track: usize,
    /// The number to add, wrapping, to the track's count of lines: the state had other tracks, which were merged into
    /// this track.
    line_count_before: u64,
    first_record: Option<FirstRecord>,
}

impl RangeScanner {
    /// A scanner for one range of a file in a dialect that passes [`Dialect::check`].
    ///
    /// # Panics
    ///
    /// If the dialect does not pass.
    pub fn new(dialect: &Dialect) -> RangeScanner {
        if let Err(error) = dialect.check() {
            panic!("the caller checks the dialect: {error}");
        }
        let automaton = Automaton::new(dialect);
        let states = 0..automaton.state_count();
        RangeScanner {
            blocks: Blocks::new(dialect, &automaton).map(Arc::new),
            line_byte: dialect.line_byte(),
            byte_count: 0,
            line_byte_count: 0,
            tracks: states
                .clone()
                .map(|state| Track {
                    state: State(state as u8),
                    line_count: 0,
                    is_waiting: true,
                })
                .collect(),
            starts: states
                .map(|state| Start {
                    track: state,
                    line_count_before: 0,
                    first_record: None,
                })
                .collect(),
            automaton: Arc::new(automaton),
        }
    }

    /// Reads the next bytes of the range.
    pub fn push(&mut self, text: &[u8]) {
        let (blocks, rest) = match self.blocks {
            Some(_) => text.as_chunks::<BLOCK_BYTES>(),
            None => ([].as_slice(), text),
        };
        let mut masks = [BlockMasks::default(); STRIPE_BLOCKS];
        for stripe in blocks.chunks(STRIPE_BLOCKS) {
            let masks = &mut masks[..stripe.len()];
            self.push_stripe(stripe, masks);
        }
        self.walk(rest);
    }

    /// The summary of the range.
    pub fn finish(self) -> RangeSummary {
        let outcomes = self.starts.iter().map(|start| {
            let track = &self.tracks[start.track];
            RangeOutcome {
                end: track.state,
                line_count: self.line_byte_count
                    + track.line_count.wrapping_add(start.line_count_before),
                first_record: start.first_record,
            }
        });
        RangeSummary {
            byte_count: self.byte_count,
            outcomes: outcomes.collect(),
        }
    }

    fn push_stripe(&mut self, stripe: &[[u8; BLOCK_BYTES]], masks: &mut [BlockMasks]) {
        let blocks = self.blocks.as_ref().expect("only then are there stripes");
        blocks.find(stripe, masks);
        for at in 0..stripe.len() {
            if matches!(self.tracks.as_slice(), [track] if !track.is_waiting) {
                return self.follow_one_track(&stripe[at..], &masks[at..]);
            }
            for track in 0..self.tracks.len() {
                self.take_block(track, &masks[at], &stripe[at]);
            }
            self.merge_tracks();
            self.line_byte_count += u64::from(masks[at].newlines.count_ones());
            self.byte_count += BLOCK_BYTES as u64;
        }
    }

    /// Reads blocks after all states have become one and the first records are found. Most ranges are in this state
    /// after a few blocks.
    fn follow_one_track(&mut self, stripe: &[[u8; BLOCK_BYTES]], masks: &[BlockMasks]) {
        let blocks = self.blocks.as_ref().expect("only then are there stripes");
        let mut state = self.tracks[0].state;
        let mut line_byte_count = 0;
        for (block, masks) in stripe.iter().zip(masks) {
            state = match blocks.take(state, masks, block) {
                Some(taken) => taken.state,
                None => self.automaton.run(state, block).0,
            };
            line_byte_count += masks.newlines.count_ones();
        }
        self.tracks[0].state = state;
        self.line_byte_count += u64::from(line_byte_count);
        self.byte_count += (stripe.len() * BLOCK_BYTES) as u64;
    }

    fn take_block(&mut self, track: usize, masks: &BlockMasks, block: &[u8; BLOCK_BYTES]) {
        let state = self.tracks[track].state;
        let blocks = self.blocks.as_ref().expect("only then are there blocks");
        let Some(taken) = blocks.take(state, masks, block) else {
            return self.walk_track(track, block);
        };
        if self.tracks[track].is_waiting {
            let starts = taken.newlines << 1 | u64::from(state == State::FIRST);
            if starts != 0 {
                let at = starts.trailing_zeros();
                let newlines = masks.newlines & ((1 << at) - 1);
                self.found_record(track, at as usize, u64::from(newlines.count_ones()), 0);
            }
        }
        self.tracks[track].state = taken.state;
    }

    /// Reads bytes one by one.
    fn walk(&mut self, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() {
            // In small steps, because tracks usually merge soon.
            let byte_count = match self.tracks.as_slice() {
                [track] if !track.is_waiting => rest.len(),
                _ => rest.len().min(BLOCK_BYTES),
            };
            let (step, behind) = rest.split_at(byte_count);
            for track in 0..self.tracks.len() {
                self.walk_track(track, step);
            }
            self.merge_tracks();
            self.line_byte_count += self.line_bytes(step);
            self.byte_count += byte_count as u64;
            rest = behind;
        }
    }

    fn walk_track(&mut self, track: usize, text: &[u8]) {
        let state = self.tracks[track].state;
        if self.tracks[track].is_waiting
            && let Some((at, line_count)) = self.automaton.find_record(state, text)
        {
            self.found_record(track, at, self.line_bytes(&text[..at]), line_count);
        }
        let (state, line_count) = self.automaton.run(state, text);
        self.tracks[track].state = state;
        self.tracks[track].line_count += line_count;
    }

    fn line_bytes(&self, text: &[u8]) -> u64 {
        match self.line_byte {
            Some(line_byte) => text.iter().filter(|byte| **byte == line_byte).count() as u64,
            None => 0,
        }
    }

    /// Sets the first record of those start states of a track that have no first record yet. The record begins `at`
    /// bytes after the text that all tracks have read; these bytes contain `line_bytes` line bytes and `terminators`
    /// terminators.
    fn found_record(&mut self, track: usize, at: usize, line_bytes: u64, terminators: u64) {
        let lines = self.line_byte_count + line_bytes + terminators + self.tracks[track].line_count;
        for start in &mut self.starts {
            if start.track == track && start.first_record.is_none() {
                start.first_record = Some(FirstRecord {
                    offset: self.byte_count + at as u64,
                    line_count: lines.wrapping_add(start.line_count_before),
                });
            }
        }
        self.tracks[track].is_waiting = false;
    }

    /// Merges tracks that have reached the same state.
    fn merge_tracks(&mut self) {
        let mut last = self.tracks.len();
        while last > 1 {
            last -= 1;
            let gone = self.tracks[last];
            let same = self.tracks[..last]
                .iter()
                .position(|track| track.state == gone.state);
            let Some(kept) = same else {
                continue;
            };
            // The last track takes the place of the removed one.
            self.tracks.swap_remove(last);
            let moved = self.tracks.len();
            self.tracks[kept].is_waiting |= gone.is_waiting;
            let difference = gone.line_count.wrapping_sub(self.tracks[kept].line_count);
            for start in &mut self.starts {
                if start.track == last {
                    start.track = kept;
                    start.line_count_before = start.line_count_before.wrapping_add(difference);
                } else if start.track == moved {
                    start.track = last;
                }
            }
        }
    }
}
