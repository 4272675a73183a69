//! Decides whether the rows of another PostgreSQL server can be sent on without decoding.

use inrush_pgclient::native_types;
use inrush_plan::reading::flow_reading::FlowReading;
use inrush_rows::column::Column;
use inrush_rows::column_policy::ColumnPolicies;
use inrush_rows::native_type::NativeType;

use super::WireForm;
use super::columns::ResolvedColumns;
use crate::{PostgresError, Session};

/// True if each column takes the source's field in the same position, and the bytes of a value mean the same in both.
/// The rows of a flow with steps never pass, because a step may change, leave out or refuse each row.
pub async fn rows_pass(
    session: &Session,
    read: &FlowReading,
    resolved: &ResolvedColumns,
) -> Result<bool, PostgresError> {
    let Some(forms) = read.source.native_forms() else {
        return Ok(false);
    };
    if !may_pass(
        forms.len(),
        &read.columns,
        &resolved.wire,
        read.steps.is_some(),
    ) {
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

/// True if nothing but the types of the columns can prevent rows from passing. `field_count` is the number of the
/// source's fields.
fn may_pass(field_count: usize, columns: &[Column], wire: &WireForm, has_steps: bool) -> bool {
    let are_in_place = columns.len() == field_count
        && columns
            .iter()
            .enumerate()
            .all(|(index, column)| column.source.field_index() == Some(index));
    let is_binary = matches!(wire, WireForm::Binary(_));
    !has_steps && are_in_place && is_binary && columns.iter().all(is_read_plainly)
}

/// True if no setting changes or refuses a value of the column.
fn is_read_plainly(column: &Column) -> bool {
    column.policies == ColumnPolicies::default() && column.formats.is_empty()
}

#[cfg(test)]
mod tests {
    use inrush_pgcopy::PgType;
    use inrush_rows::column_type::ColumnType;

    use super::*;

    #[test]
    fn rows_of_a_flow_with_steps_never_pass() {
        let columns = [
            Column::new("a", ColumnType::Int32, 0),
            Column::new("b", ColumnType::Int32, 1),
        ];
        let binary = WireForm::Binary(vec![PgType::Int4; 2]);
        assert!(may_pass(2, &columns, &binary, false));
        assert!(!may_pass(2, &columns, &binary, true));
    }

    #[test]
    fn rows_pass_only_with_all_fields_in_their_places_and_in_binary_form() {
        let columns = [
            Column::new("a", ColumnType::Int32, 1),
            Column::new("b", ColumnType::Int32, 0),
        ];
        let binary = WireForm::Binary(vec![PgType::Int4; 2]);
        assert!(!may_pass(2, &columns, &binary, false));
        let first = [Column::new("a", ColumnType::Int32, 0)];
        assert!(may_pass(1, &first, &binary, false));
        assert!(!may_pass(2, &first, &binary, false));
        let text = WireForm::Text {
            reason: "a test".to_owned(),
        };
        assert!(!may_pass(1, &first, &text, false));
    }
}
