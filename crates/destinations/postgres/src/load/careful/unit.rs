//! The file ranges of a unit that is loaded carefully.

use std::sync::Arc;

use inrush_files::Split;

use crate::plan::UnitPlan;

impl UnitPlan {
    /// The splits of a unit that one stream loads in the order of its files. What was cut into
    /// ranges for several streams, or was to be fed to them, is whole again.
    pub(in crate::load) fn whole_splits(&self) -> Vec<Split> {
        if !self.shared {
            return self.splits.clone();
        }
        let mut found: Vec<Split> = Vec::new();
        let mut at = 0;
        while at < self.splits.len() {
            let file = &self.splits[at].file;
            let own = self.splits[at..]
                .iter()
                .take_while(|split| Arc::ptr_eq(&split.file, file));
            let own: Vec<&Split> = own.collect();
            let is_whole = own[0].byte_range.start == 0
                && own[own.len() - 1].byte_range.end == file.size_bytes
                && own
                    .windows(2)
                    .all(|pair| pair[0].byte_range.end == pair[1].byte_range.start);
            at += own.len();
            if is_whole {
                found.push(Split::whole(Arc::clone(file)));
            } else {
                found.extend(own.into_iter().cloned());
            }
        }
        found
    }
}
