//! Asks the server whether it can merge on the key of an upsert.

use tokio_postgres::error::SqlState;

use super::flow_target::FlowTarget;
use super::key_index::{self, FoundIndex, KeyIndex};
use super::switch_statements::merge;
use crate::Session;
use crate::plan::failure::PlanFailure;
use crate::quote::identifier;

/// The unique indexes by which the server merges on a key. Refuses a key on which the server cannot merge. To find that
/// out, the server plans the same statement without running it.
pub async fn indexes(
    session: &Session,
    target: &FlowTarget<'_>,
    columns: &[String],
    key: &[String],
) -> Result<Vec<KeyIndex>, PlanFailure> {
    if let Some(missing) = key.iter().find(|name| !columns.contains(name)) {
        return Err(target
            .mismatch(
                format!("the key column `{missing}` of the upsert is not loaded"),
                "in `key`, name only columns that are loaded",
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
        return immediate_indexes(session, target, key).await;
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

/// The unique indexes on the key. Refuses an index on which the merge would fail or add duplicates, although the server
/// can plan it.
async fn immediate_indexes(
    session: &Session,
    target: &FlowTarget<'_>,
    key: &[String],
) -> Result<Vec<KeyIndex>, PlanFailure> {
    let facts = target.facts.as_ref().expect("an upsert has a target");
    let found = key_index::find(session, facts.oid, key, None).await?;
    let names: Vec<String> = key.iter().map(|name| identifier(name)).collect();
    let names = names.join(", ");
    let may_be_null = key.iter().any(|name| {
        let mut known = facts.columns.iter();
        known.any(|column| column.name == *name && !column.not_null)
    });
    for FoundIndex {
        name,
        is_immediate,
        takes_one_null,
        is_primary,
        ..
    } in &found
    {
        let index = identifier(name);
        if !is_immediate {
            let kind = match is_primary {
                true => "PRIMARY KEY",
                false => "UNIQUE",
            };
            return Err(target
                .refusal(
                    format!(
                        "has the deferrable constraint {index} on the key ({names}), which INSERT ... ON CONFLICT cannot use"
                    ),
                    format!(
                        "ALTER TABLE {} DROP CONSTRAINT {index}, ADD CONSTRAINT {index} {kind} ({names});",
                        target.sql
                    ),
                )
                .into());
        }
        if *takes_one_null && may_be_null {
            return Err(target
                .refusal(
                    format!(
                        "has the unique index {index} on the key ({names}), which treats NULL as equal to NULL (NULLS NOT \
                         DISTINCT); an upsert adds each row with a NULL in its key as a new row, which the index may refuse"
                    ),
                    "make the columns of the key NOT NULL, or make the index without NULLS NOT DISTINCT",
                )
                .into());
        }
    }
    Ok(key_index::distinct(key, found))
}
