//! Asks the server whether it can merge on the key of an upsert.

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
                "name only columns that are loaded in `key`",
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
        return check_indexes(session, target, key).await;
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

/// Refuses a unique index on the key if the merge on it would fail or add duplicates, although the server can plan it.
async fn check_indexes(
    session: &Session,
    target: &FlowTarget<'_>,
    key: &[String],
) -> Result<(), PlanFailure> {
    let facts = target.facts.as_ref().expect("an upsert has a target");
    // Servers before 15 have no column for NULLS NOT DISTINCT.
    let sql = "SELECT c.relname::text, i.indimmediate, \
               COALESCE(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct' = 'true', false), i.indisprimary \
               FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
               WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = $2 \
               AND NOT EXISTS (SELECT FROM pg_catalog.generate_series(0, i.indnkeyatts - 1) place \
               LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place] AND a.attnum > 0 \
               WHERE a.attname IS NULL OR a.attname <> ALL ($3::text[])) ORDER BY c.relname";
    let count = i16::try_from(key.len()).unwrap_or(i16::MAX);
    let doing = "asking the server for the unique indexes on the key";
    let found = session
        .query(sql, &[&facts.oid, &count, &key], doing)
        .await?;
    let names: Vec<String> = key.iter().map(|name| identifier(name)).collect();
    let names = names.join(", ");
    let may_be_null = key.iter().any(|name| {
        let mut known = facts.columns.iter();
        known.any(|column| column.name == *name && !column.not_null)
    });
    for row in found {
        let index = identifier(row.get(0));
        let (is_immediate, takes_one_null): (bool, bool) = (row.get(1), row.get(2));
        if !is_immediate {
            let kind = match row.get(3) {
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
        if takes_one_null && may_be_null {
            return Err(target
                .refusal(
                    format!(
                        "has the unique index {index} on the key ({names}), which treats NULL as equal to NULL (NULLS NOT \
                         DISTINCT); an upsert adds each row with a NULL in its key as a new row"
                    ),
                    "make the columns of the key NOT NULL, or make the index without NULLS NOT DISTINCT",
                )
                .into());
        }
    }
    Ok(())
}
