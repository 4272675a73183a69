//! Fifth stage of a flow's plan: the partitions that its bounds declare, and the files of each.

use inrush_convert::{KeyValue, convert_first};
use inrush_engine::plan::PlanError;
use inrush_package::Bounds;
use inrush_rows::column::Column;
use inrush_source::Source;

use super::bounds::{self, Interval};
use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use crate::plan::failure::PlanFailure;

/// The declared partitions, with the files of each by the key of their first row; `None` if units are not partitions,
/// or if files or parts of files are partitions.
pub async fn declared(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
) -> Result<Vec<Interval>, PlanFailure> {
    let bounds = &request.flow.bounds;
    let (Some(key), Bounds::List(_) | Bounds::Every(_)) = (columns.key_of_units(), bounds) else {
        return Ok(Vec::new());
    };
    let source = &*columns.source;
    let column = &columns.resolved.columns[key.column_index];
    let first_keys = first_keys(target, source, column)?;
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

/// The key of each file's first row; `None` if it has no row.
fn first_keys(
    target: &FlowTarget<'_>,
    source: &dyn Source,
    column: &Column,
) -> Result<Vec<Option<KeyValue>>, PlanError> {
    let mut keys = Vec::with_capacity(source.input_count());
    for index in 0..source.input_count() {
        let key = match source.first_row(index)? {
            None => None,
            Some(row) => {
                let text = column
                    .source
                    .field_index()
                    .and_then(|field| row.fields.get(field).cloned().flatten());
                let value = convert_first(column, text.as_deref());
                Some(value.map_err(|error| {
                    target.mismatch(
                        format!(
                            "{}: the first row has the key {}: {error}",
                            row.location,
                            text.as_deref().unwrap_or("NULL")
                        ),
                        "with declared bounds, the key of the first row decides the partition of a \
                         file",
                    )
                })?)
            }
        };
        keys.push(key);
    }
    Ok(keys)
}
