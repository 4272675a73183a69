//! A target of a run: its plan and its folders.

use std::path::PathBuf;

use inrush_destination::TargetPlan;

use crate::layout::Layout;

/// A target of a run.
pub(super) struct RunTarget {
    pub(super) plan: TargetPlan,
    /// The table's folder, inside the folder of all tables.
    pub(super) path: PathBuf,
    pub(super) layout: Layout,
    pub(super) staging: PathBuf,
}

impl RunTarget {
    /// The folder of its next generation while it is made, and of the old one right after the exchange.
    pub(super) fn next(&self) -> PathBuf {
        self.staging.with_extension("next")
    }
}
