//! Checks that a file still has the text that an earlier attempt has loaded from it.
//!
//! A file whose size, time of change, inode and inode change time are all the same was not written to, because no
//! program can set the last one. It is not read again. If only the size is the same (after `touch`, `chmod` or a copy
//! to its old path), the committed ranges are read again, and their hashes are compared with those computed during the
//! load.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use inrush_source::{Input, InputState, Source, SourceError, SplitContent};

use super::identity;
use crate::ledger::SplitRecord;

/// The ledger's evidence for a file that an earlier attempt has loaded in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// It was not written to.
    Untouched,
    /// It has the same text, but another time or inode.
    Same,
    /// It has other text.
    Changed,
}

/// Compares files with the ledger, each file once for all plans of a run.
#[derive(Debug, Default)]
pub struct ContentChecks {
    found: Mutex<BTreeMap<String, Contents>>,
}

impl ContentChecks {
    /// Compares a file with its splits in the ledger, of which there is at least one.
    pub async fn look(
        &self,
        (file, state): (&dyn Input, &InputState),
        source: &dyn Source,
        splits: &[&SplitRecord],
    ) -> Result<Contents, SourceError> {
        if splits
            .iter()
            .any(|split| split.file_bytes != state.size_bytes)
        {
            return Ok(Contents::Changed);
        }
        let is_untouched = |split: &&SplitRecord| {
            split.file_modified_ns == state.modified_ns && split.file_state == state.mark
        };
        if splits.iter().all(is_untouched) {
            return Ok(Contents::Untouched);
        }
        let file_key = identity::file_key(file);
        let modified = state.modified_ns.to_string();
        let texts = [file_key.as_str(), &state.mark].into_iter();
        let texts = texts.chain(splits.iter().map(|split| split.split_key.as_str()));
        let name = identity::digest(texts.chain([modified.as_str()]));
        let known = {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.get(&name).copied()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let read = splits.iter().map(|split| SplitContent {
            start: split.byte_start,
            end: split.byte_end,
            hash: split.content_hash.clone(),
            text_range: split.text_range.clone(),
        });
        let read: Vec<SplitContent> = read.collect();
        let is_same = source.has_same_content(file.index(), &read)?;
        let contents = match is_same {
            true => Contents::Same,
            false => Contents::Changed,
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(name, contents);
        Ok(contents)
    }
}
