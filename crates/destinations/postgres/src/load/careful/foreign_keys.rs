//! Foreign keys of a target. When a partition is attached, the server checks all of its rows at once. If one of these
//! keys is violated, the keys are added to the staging table before its rows are loaded again, so that each bad row is
//! refused alone. ATTACH then finds the keys and does not check again.

use crate::plan::{FlowPlan, Plan};
use crate::quote::identifier;
use crate::{PostgresError, Session};

/// A foreign key of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The constraint.
    pub name: String,
    /// Its definition, with qualified names.
    definition: String,
}

impl ForeignKey {
    /// The foreign keys of a flow's target that can be checked before the switch. Keys that refer to tables which the
    /// package itself loads are not included, because those rows come with the switch:
    /// [`PackageKey`](super::package_keys::PackageKey).
    pub async fn of_target(
        session: &Session,
        plan: &Plan,
        flow: &FlowPlan,
    ) -> Result<Vec<ForeignKey>, PostgresError> {
        let targets: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
        // A key that refers to a partitioned table has further constraints below it, on the same table.
        let sql = "SELECT conname::text, pg_get_constraintdef(c.oid) FROM pg_constraint c \
             WHERE contype = 'f' AND conrelid = to_regclass($1::text) \
               AND NOT EXISTS (SELECT FROM pg_constraint p \
                               WHERE p.oid = c.conparentid AND p.conrelid = c.conrelid) \
               AND NOT EXISTS (SELECT FROM unnest($2::text[]) t \
                               WHERE to_regclass(t) \
                                   = coalesce(pg_partition_root(confrelid), confrelid)) \
             ORDER BY conname";
        let doing = "reading the foreign keys of the target";
        let rows = session
            .query(sql, &[&flow.target(), &targets], doing)
            .await?;
        let key = |row: &tokio_postgres::Row| ForeignKey {
            name: row.get(0),
            definition: row.get(1),
        };
        Ok(rows.iter().map(key).collect())
    }

    /// The statement that adds it to a table.
    pub fn add_to(&self, table: &str) -> String {
        format!(
            "ALTER TABLE {table} ADD CONSTRAINT {} {}",
            identifier(&self.name),
            self.definition
        )
    }
}
