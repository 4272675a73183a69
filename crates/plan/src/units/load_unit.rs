//! A load unit of a plan, for any destination.

use std::sync::Arc;

use inrush_convert::{KeyBounds, KeySet};
use inrush_destination::{Filling, PublishesInto};
use inrush_rows::ids::UnitKey;
use inrush_source::{Source, SourceError, Split};

use crate::units::long_units::work_bytes;
use crate::units::part::Part;
use crate::units::pieces::pieces;

/// A load unit. One stream loads it and commits it with one record of the ledger. If several streams fill it, each split
/// is committed separately; a fed split is committed in many parts.
///
/// A planner that plans statements for the unit keeps them beside it.
#[derive(Clone, Debug)]
pub struct LoadUnit {
    /// Counted from 1 within its flow.
    pub number: usize,
    /// Identifies its files in their present state, its target, and how the rows are read.
    pub key: UnitKey,
    /// Its splits, at least one, in the order in which one stream loads them. Ranges of the same file follow each other.
    pub splits: Vec<Split>,
    /// Bytes of text of its files; an estimate for compressed files.
    pub bytes_count: u64,
    /// The streams that may fill it.
    pub filling: Filling,
    /// Several streams fill it.
    pub is_shared: bool,
    /// What the streams take of it if it is shared.
    pub portions: Portions,
    /// The table or partition into which its rows are published.
    pub publishes_into: PublishesInto,
    /// Its staging table; empty if the destination does not name one in the plan.
    pub staging_table: String,
    /// The keys that have a partition, if rows are routed. Other rows become rejects.
    pub key_set: Option<KeySet>,
    /// The bounds of its keys, if they are known before it is loaded. Rows outside become rejects.
    pub key_bounds: Option<KeyBounds>,
    /// The sums of its rows are compared before its commit.
    pub is_verified: bool,
}

/// What streams take of a unit that several of them fill.
#[derive(Clone, Debug)]
pub enum Portions {
    /// Its splits as they are.
    Splits {
        /// Indexes of the splits that are fed if the unit is shared: they cannot be read from their middle, and are large
        /// enough.
        fed: Vec<usize>,
    },
    /// Pieces of its splits. They are cut when the unit is shared.
    Pieces,
}

impl LoadUnit {
    /// A unit that one stream fills, and that takes rows with any key.
    pub fn new(
        number: usize,
        key: UnitKey,
        splits: Vec<Split>,
        filling: Filling,
        portions: Portions,
        publishes_into: PublishesInto,
    ) -> LoadUnit {
        LoadUnit {
            number,
            key,
            bytes_count: splits.iter().map(work_bytes).sum(),
            splits,
            filling,
            is_shared: false,
            portions,
            publishes_into,
            staging_table: String::new(),
            key_set: None,
            key_bounds: None,
            is_verified: false,
        }
    }

    /// Lets several streams fill it. `source` is the flow's source.
    pub fn share(&mut self, source: &dyn Source) -> Result<(), SourceError> {
        if let Portions::Pieces = self.portions {
            self.splits = self.pieces(source)?;
        }
        self.set_shared(true);
        Ok(())
    }

    /// Shares it among several streams if that is possible and keeps more than one stream busy. Returns true if it is now
    /// shared. `source` is the flow's source.
    pub fn share_if_useful(&mut self, source: &dyn Source) -> Result<bool, SourceError> {
        if self.filling == Filling::OneStream {
            return Ok(false);
        }
        // Several streams help only if there are several splits, or one split that is fed to all of them.
        let is_useful = match &self.portions {
            Portions::Splits { fed } => self.splits.len() > 1 || !fed.is_empty(),
            Portions::Pieces => {
                let pieces = self.pieces(source)?;
                let is_useful = pieces.len() > 1 || pieces.iter().any(|piece| piece.is_shared);
                if is_useful {
                    self.splits = pieces;
                }
                is_useful
            }
        };
        if is_useful {
            self.set_shared(true);
        }
        Ok(is_useful)
    }

    /// Lets several streams take its splits as they are now, or one stream.
    pub fn set_shared(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
        if let Portions::Splits { fed } = &self.portions {
            for at in fed {
                self.splits[*at].is_shared = is_shared;
            }
        }
    }

    /// The pieces of it that several streams can load at the same time.
    fn pieces(&self, source: &dyn Source) -> Result<Vec<Split>, SourceError> {
        let mut found = Vec::with_capacity(self.splits.len());
        for split in &self.splits {
            found.extend(pieces(source, split)?);
        }
        Ok(found)
    }

    /// Keys of records. If a run has loaded all of the unit, it has committed at least one of these.
    pub fn first_record_keys(&self) -> Vec<UnitKey> {
        let mut keys = vec![self.key.clone()];
        if self.filling != Filling::OneStream {
            let splits = 0..self.splits.len();
            keys.extend(
                splits.map(|at| self.first_part(at).record_key(&self.key, self.splits.len())),
            );
            keys.dedup();
        }
        keys
    }

    /// The first part of a split that is committed if several streams fill the unit.
    fn first_part(&self, at: usize) -> Part {
        let split = at + 1;
        match &self.portions {
            Portions::Splits { fed } if fed.contains(&at) => Part::Ranges {
                split,
                text_start: 0,
            },
            _ => Part::Split(split),
        }
    }

    /// True if one of its files is a pipe.
    pub fn has_pipe(&self) -> bool {
        self.splits.iter().any(|split| split.input.is_read_once())
    }

    /// Bytes of its files as they are stored.
    pub fn stored_bytes(&self) -> u64 {
        self.splits.iter().map(|split| split.size_bytes).sum()
    }

    /// The splits for one stream, in the order of the files. A file that was cut into ranges for several streams, or
    /// was to be fed to them, is one split again. `source` is the flow's source.
    pub fn whole_splits(&self, source: &dyn Source) -> Vec<Split> {
        if !self.is_shared {
            return self.splits.clone();
        }
        let mut found: Vec<Split> = Vec::new();
        let same_input = |first: &Split, second: &Split| Arc::ptr_eq(&first.input, &second.input);
        for own in self.splits.chunk_by(same_input) {
            let input = &own[0].input;
            let whole = source.whole(input.index());
            let is_whole = own[0].range.start == whole.range.start
                && own[own.len() - 1].range.end == whole.range.end
                && own
                    .windows(2)
                    .all(|pair| pair[0].range.end == pair[1].range.start);
            match is_whole {
                true => found.push(Split::of(Arc::clone(input), whole)),
                false => found.extend(own.iter().cloned()),
            }
        }
        found
    }
}
