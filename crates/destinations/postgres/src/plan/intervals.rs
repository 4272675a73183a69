//! Fifth stage of a flow's plan: the partitions that its bounds declare, and the files of each.

use inrush_package::Bounds;
use inrush_plan::units::partition_keys::first_keys;

use super::bounds::{self, Interval};
use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use crate::plan::failure::PlanFailure;

/// The declared partitions, each with the files whose first row has a key in it. Empty if units are not partitions, or
/// if each file or each part of a file is a partition.
pub async fn declared(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
) -> Result<Vec<Interval>, PlanFailure> {
    let bounds = &request.flow.bounds;
    let (Some(key), Bounds::List(_) | Bounds::Every(_)) = (columns.key_of_units(), bounds) else {
        return Ok(Vec::new());
    };
    let source = &*columns.read.source;
    let column = &columns.read.columns[key.column_index];
    let first_keys = first_keys(&target.flow_name, source, column)?;
    let inputs = 0..source.input_count();
    let file_names: Vec<String> = inputs
        .map(|index| source.input(index).name().display().to_string())
        .collect();
    bounds::place(
        request.session,
        &target.flow_name,
        key,
        bounds,
        &first_keys,
        &file_names,
        // A new target gets all partitions that its package lists; an existing target may have the others already.
        target.facts.is_none(),
    )
    .await
}
