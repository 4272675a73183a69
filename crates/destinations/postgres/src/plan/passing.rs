//! Whether the rows of another PostgreSQL server can be sent as they come.

use inrush_pgclient::native_types;
use inrush_rows::column::Column;
use inrush_rows::column_policy::ColumnPolicies;
use inrush_rows::native_type::NativeType;
use inrush_source::Source;

use super::WireForm;
use super::columns::ResolvedColumns;
use crate::{PostgresError, Session};

/// True if each column takes the source's field in the same place, and the bytes of its values mean the same there.
pub async fn rows_pass(
    session: &Session,
    source: &dyn Source,
    resolved: &ResolvedColumns,
) -> Result<bool, PostgresError> {
    let Some(forms) = source.native_forms() else {
        return Ok(false);
    };
    let columns = &resolved.columns;
    let are_in_place = columns.len() == forms.len()
        && columns
            .iter()
            .enumerate()
            .all(|(index, column)| column.source.field_index() == Some(index));
    let is_binary = matches!(resolved.wire, WireForm::Binary(_));
    if !are_in_place || !is_binary || !columns.iter().all(is_read_plainly) {
        return Ok(false);
    }
    let pairs = forms
        .into_iter()
        .zip(resolved.catalog_types.iter().copied());
    let pairs: Vec<(NativeType, (u32, i32))> = pairs.collect();
    let shapes = native_types::passing_all(session, &pairs).await?;
    Ok(shapes
        .iter()
        .all(|shape| shape.as_ref().is_some_and(|shape| shape.is_plain())))
}

/// No setting changes or refuses a value of the column.
fn is_read_plainly(column: &Column) -> bool {
    column.policies == ColumnPolicies::default() && column.formats.is_empty()
}
