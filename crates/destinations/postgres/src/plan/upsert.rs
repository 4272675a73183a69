//! Upsert: lets the server check its key.

use tokio_postgres::error::SqlState;

use super::flow_target::FlowTarget;
use super::switch_statements::merge;
use crate::Session;
use crate::plan::failure::PlanFailure;
use crate::quote::identifier;

/// Refuses a key that the server cannot merge on. The server is asked to plan the same statement, without running it.
pub async fn check(
    session: &Session,
    target: &FlowTarget<'_>,
    columns: &[String],
    key: &[String],
) -> Result<(), PlanFailure> {
    if let Some(missing) = key.iter().find(|name| !columns.contains(name)) {
        return Err(target
            .mismatch(
                format!("the key column `{missing}` of the upsert is not loaded"),
                "`key` names columns that the files fill",
            )
            .into());
    }
    let sql = format!(
        "EXPLAIN {}",
        merge(&target.sql, &target.sql, columns, key).all()
    );
    let Err(error) = session
        .query(&sql, &[], "asking the server for the merge on the key")
        .await
    else {
        return Ok(());
    };
    if error.code() != Some(&SqlState::INVALID_COLUMN_REFERENCE) {
        return Err(error.into());
    }
    let names: Vec<String> = key.iter().map(|name| identifier(name)).collect();
    let names = names.join(", ");
    Err(target.refusal(
        format!("has no unique index on the key ({names}), which an upsert needs"),
        format!(
            "CREATE UNIQUE INDEX ON {} ({names}); or name the columns of an existing unique index",
            target.sql
        ),
    ).into())
}
