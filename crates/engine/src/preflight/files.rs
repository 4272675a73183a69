//! The files and tables of a load: their number, and an estimate of their content from the sample.

use std::collections::BTreeSet;

use inrush_source::Split;

use super::flow_found::{self, FlowFound};
use super::result::FilesFound;
use super::sample::is_in_database;

/// The files and tables of all flows. All splits of each flow are given, also those that are loaded already.
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
    let mut tables = BTreeSet::new();
    for (index, splits) in splits_of_flows.enumerate() {
        let like = flow_found::like(flows, index);
        for split in splits {
            found.stored_bytes += split.size_bytes;
            match is_in_database(&*split.input) {
                true => tables.insert((index, split.input.name())),
                false => paths.insert(split.input.name()),
            };
            text += like.map_or(split.size_bytes as f64, |like| like.text_bytes_of(split));
            rows += like.map_or(0.0, |like| like.rows_of(split));
        }
    }
    found.count = paths.len();
    found.table_count = tables.len();
    found.text_bytes = text.round() as u64;
    found.rows = (rows > 0.0).then_some(rows.round() as u64);
    found
}
