//! Definitions of constraints, for the reason of a reject.

use std::collections::BTreeMap;

use crate::{PostgresError, Session};

/// Constraints and unique indexes of tables, looked up once each.
#[derive(Debug, Default)]
pub struct Definitions {
    known: BTreeMap<(String, String), Option<String>>,
}

impl Definitions {
    /// The definition of the constraint or unique index `name` of `table`; both names are quoted as in SQL.
    pub async fn of(
        &mut self,
        session: &Session,
        table: &str,
        name: &str,
    ) -> Result<Option<String>, PostgresError> {
        let key = (table.to_owned(), name.to_owned());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let rows = session
            .query(
                "SELECT coalesce( \
                   (SELECT pg_get_constraintdef(oid) FROM pg_constraint \
                    WHERE conrelid = $1::text::regclass AND conname = $2), \
                   (SELECT 'UNIQUE ' \
                           || substring(pg_get_indexdef(indexrelid) FROM ' USING [^ ]+ (.*)') \
                    FROM pg_index JOIN pg_class c ON c.oid = indexrelid \
                    WHERE indrelid = $1::text::regclass AND c.relname = $2))",
                &[&table, &name],
                "looking up a constraint",
            )
            .await?;
        let found: Option<String> = rows[0].get(0);
        self.known.insert(key, found.clone());
        Ok(found)
    }
}
