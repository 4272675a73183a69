//! Foreign keys of a target, which it holds against rows of a partition when that is attached, all
//! at once. Where one of them is broken they stand on the staging table before its rows come, so that each row is
//! refused alone; attaching then finds them there, and reads nothing.

use crate::plan::{FlowPlan, Plan};
use crate::quote::identifier;
use crate::{PostgresError, Session};

/// A foreign key of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The constraint.
    pub name: String,
    /// What it says, every name in full.
    definition: String,
}

impl ForeignKey {
    /// Those of a flow's target that rows can be held against before the switch. Not among them
    /// are those that refer to tables which the package itself loads, whose rows come with the switch:
    /// [`PackageKey`](super::package_keys::PackageKey).
    pub async fn of_target(
        session: &Session,
        plan: &Plan,
        flow: &FlowPlan,
    ) -> Result<Vec<ForeignKey>, PostgresError> {
        let targets: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
        // One that refers to a partitioned table has constraints below it, of the same table.
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
