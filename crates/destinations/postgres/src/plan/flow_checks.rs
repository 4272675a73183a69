//! Fourth stage of a flow's plan: the comparisons before rows count as loaded.

use std::sync::Arc;

use inrush_package::Verify;
use inrush_plan::PlanError;
use inrush_plan::reading::flow_reading::ReadingChecks;

use super::Publish;
use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use super::publishing::Publishing;
use crate::plan::failure::PlanFailure;
use crate::verify::{self, ComparedColumn, Comparison};

/// The comparisons before rows count as loaded.
pub struct FlowChecks {
    /// The comparison of each unit in the database with the rows that were read.
    pub comparison: Arc<Comparison>,
    /// The sums over the rows that are read, and the numbers that are promised for the files.
    pub of_reading: ReadingChecks,
}

impl FlowChecks {
    /// Decides which comparisons are made. The server's hash is tested before it is used.
    pub async fn of(
        request: &FlowRequest<'_>,
        target: &FlowTarget<'_>,
        columns: &FlowColumns,
        publishing: &Publishing,
    ) -> Result<FlowChecks, PlanFailure> {
        let comparison = Arc::new(compare(request, columns).await?);
        refuse_straight(target, publishing, &comparison)?;
        let types = columns.resolved.type_sql.iter();
        let asked = request.reading(target);
        let of_reading = columns.read.checks(&asked, types, comparison.sums())?;
        Ok(FlowChecks {
            comparison,
            of_reading,
        })
    }
}

/// Refuses sums over a table that also holds other rows.
fn refuse_straight(
    target: &FlowTarget<'_>,
    publishing: &Publishing,
    comparison: &Comparison,
) -> Result<(), PlanError> {
    let (Publish::Straight(commit), false) =
        (&publishing.publish, comparison.level == Verify::Count)
    else {
        return Ok(());
    };
    let setting = commit.setting();
    Err(target.mismatch(
        format!(
            "the rows are written directly to a table that has other rows ({setting}), so sums and \
             hashes of the table cannot verify them"
        ),
        format!("use verify = \"count\", or leave {setting} out"),
    ))
}

/// The columns that are compared. The server's hash is tested before it is used.
async fn compare(
    request: &FlowRequest<'_>,
    columns: &FlowColumns,
) -> Result<Comparison, PlanFailure> {
    let level = request.flow.verify.unwrap_or(request.package.run.verify);
    let is_utf8 = request.server.is_utf8;
    if level == Verify::Rows {
        let (statement, expected) = verify::self_test(is_utf8);
        let rows = request
            .session
            .query(&statement, &[], "trying the hash")
            .await?;
        let found: i64 = rows[0].get(0);
        if found != expected {
            return Err(PlanError::Mismatch {
                flow: request.table.to_owned(),
                what: format!(
                    "the server hashes rows differently from PostgreSQL on this machine ({found} \
                         instead of {expected})"
                ),
                hint: "use verify = \"sums\"".to_owned(),
            }
            .into());
        }
    }
    let FlowColumns { read, resolved, .. } = columns;
    let columns = read.columns.iter().zip(&resolved.forms);
    Ok(Comparison {
        level,
        is_utf8,
        columns: columns
            .zip(&resolved.type_sql)
            .map(|((column, form), type_sql)| ComparedColumn {
                name: column.name.clone(),
                form: *form,
                type_sql: type_sql.clone(),
            })
            .collect(),
    })
}
