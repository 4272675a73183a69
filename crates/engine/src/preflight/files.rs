//! The files of a load: their number, and an estimate of their content from the sample.

use std::collections::BTreeSet;

use inrush_source::Split;

use super::flow_found::{self, FlowFound};
use super::result::FilesFound;

/// The files of all flows. All splits of each flow are given, also those that are loaded already.
pub fn of_all<'a>(
    splits_of_flows: impl Iterator<Item = impl Iterator<Item = &'a Split>>,
    flows: &[FlowFound],
    cached_share: Option<f64>,
) -> FilesFound {
    let mut found = FilesFound {
        cached_share,
        ..FilesFound::default()
    };
    let (mut text, mut rows) = (0.0, 0.0);
    let mut paths = BTreeSet::new();
    for (index, splits) in splits_of_flows.enumerate() {
        let mut stored = 0;
        for split in splits {
            stored += split.size_bytes;
            paths.insert(split.input.name());
        }
        found.stored_bytes += stored;
        let like = flow_found::like(flows, index);
        text += stored as f64 * like.map_or(1.0, FlowFound::text_of_stored);
        rows += stored as f64 * like.map_or(0.0, FlowFound::rows_of_stored);
    }
    found.count = paths.len();
    found.text_bytes = text.round() as u64;
    found.rows = (rows > 0.0).then_some(rows.round() as u64);
    found
}
