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
