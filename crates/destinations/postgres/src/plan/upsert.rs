//! Upsert: what the server must know of a key, asked of the server itself.

use tokio_postgres::error::SqlState;

use super::switch_statements::merge;
use crate::Session;
use crate::engine::plan::error::PlanError;
use crate::quote::{identifier, qualified};

/// Refuses a key that the server cannot merge on. It is asked to plan the very statement, and to
/// run nothing.
pub async fn check(
    session: &Session,
    flow: &str,
    (schema, table): (&str, &str),
    columns: &[String],
    key: &[String],
) -> Result<(), PlanError> {
    let target = qualified(schema, table);
    if let Some(missing) = key.iter().find(|name| !columns.contains(name)) {
        return Err(PlanError::Mismatch {
            flow: flow.to_owned(),
            what: format!("the key column `{missing}` of the upsert is not among those loaded"),
            hint: "`key` names columns that the files fill".to_owned(),
        });
    }
    let sql = format!("EXPLAIN {}", merge(&target, &target, columns, key).all());
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
    Err(PlanError::Target {
        hint: format!(
            "CREATE UNIQUE INDEX ON {target} ({names}); or name the columns of one that it has"
        ),
        what: format!("has no unique index on the key ({names}) that an upsert could go by"),
        target,
    })
}
