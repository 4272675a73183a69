//! The rate limits for reading the databases of a plan.

use std::ops::Deref;
use std::sync::Arc;

use inrush_rows::pace::Pace;

use crate::load_flow::LoadFlow;

/// The pace of each source with a rate limit, each pace once, with the indexes of the flows that share it.
pub fn source_paces<F: Deref<Target = LoadFlow>>(flows: &[F]) -> Vec<(Vec<usize>, Arc<Pace>)> {
    let mut found: Vec<(Vec<usize>, Arc<Pace>)> = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let Some(pace) = flow.reading.source.pace() else {
            continue;
        };
        match found.iter_mut().find(|(_, known)| Arc::ptr_eq(known, pace)) {
            Some((sharing, _)) => sharing.push(index),
            None => found.push((vec![index], Arc::clone(pace))),
        }
    }
    found
}
