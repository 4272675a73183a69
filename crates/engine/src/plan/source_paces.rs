//! The limits of the rates at which the databases of a plan are read.

use std::sync::Arc;

use inrush_rows::pace::Pace;

use super::PlannedFlow;

/// The limited paces of a plan's sources, each once, with the indexes of the flows that share it.
pub fn source_paces<F: PlannedFlow>(flows: &[F]) -> Vec<(Vec<usize>, Arc<Pace>)> {
    let mut found: Vec<(Vec<usize>, Arc<Pace>)> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let Some(pace) = flow.reading().source.pace() else {
            continue;
        };
        match found.iter_mut().find(|(_, known)| Arc::ptr_eq(known, pace)) {
            Some((sharing, _)) => sharing.push(index),
            None => found.push((vec![index], Arc::clone(pace))),
        }
    }
    found
}
