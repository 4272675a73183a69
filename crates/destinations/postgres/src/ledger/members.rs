//! The numbers of members that the lookups of a run add to their references.
//!
//! A number is reserved in a transaction of its own before a row with it is loaded, so each key has one number for all
//! streams, hosts and attempts of a run. No other key gets this number of the sequence. The table of the numbers is
//! made by the first run that needs it, and is not part of the ledger's version: programs that do not know it ignore
//! it. The switch removes the reserved members of its run from the table. Giving up a run removes them, too.

use inrush_rows::ids::RunId;

use super::Ledger;
use super::error::LedgerError;
use crate::Session;
use crate::plan::members::MemberTable;
use crate::quote::qualified;

/// The statement that creates the table.
pub fn members_statement(ledger_schema: &str) -> String {
    // `existing` is the number of a member with this key that others have added since.
    format!(
        "CREATE TABLE IF NOT EXISTS {} (run_id bigint NOT NULL, reference text NOT NULL, \
         key text[] COLLATE \"C\" NOT NULL, number bigint NOT NULL, is_used bool NOT NULL DEFAULT false, \
         existing bigint, PRIMARY KEY (run_id, reference, key))",
        qualified(ledger_schema, "inferred_member")
    )
}

/// True if the table exists.
pub async fn has_members(session: &Session, ledger_schema: &str) -> Result<bool, LedgerError> {
    let table = qualified(ledger_schema, "inferred_member");
    let sql = "SELECT to_regclass($1) IS NOT NULL";
    let rows = session
        .query(sql, &[&table], "looking for the ledger")
        .await?;
    Ok(rows[0].get(0))
}

impl Ledger {
    /// The table of reserved members.
    pub fn members_table(&self) -> String {
        self.table("inferred_member")
    }

    /// The numbers of members with these keys, which are sorted and without duplicates. Keys without a number get the
    /// next numbers of the sequence. If another row of the reference already has such a number, the key gets none, and
    /// fewer numbers are returned.
    pub async fn reserve_members(
        &self,
        session: &Session,
        run_id: RunId,
        reference: &MemberTable,
        keys: &[Vec<&str>],
    ) -> Result<Vec<i64>, LedgerError> {
        let doing = "numbering the members of a lookup";
        let width = reference.key.len();
        let columns: Vec<Vec<&str>> = (0..width)
            .map(|column| keys.iter().map(|key| key[column]).collect())
            .collect();
        let name = reference.name();
        let arrays: Vec<String> = (0..width)
            .map(|at| format!("${}::text[]", at + 3))
            .collect();
        let parts: Vec<String> = (0..width).map(|at| format!("k{at}")).collect();
        let (arrays, parts) = (arrays.join(", "), parts.join(", "));
        let table = self.members_table();
        let run = run_id.number();
        let mut values: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = vec![&run, &name];
        values.extend(
            columns
                .iter()
                .map(|column| column as &(dyn tokio_postgres::types::ToSql + Sync)),
        );
        let reserve = format!(
            "WITH numbered AS MATERIALIZED (SELECT ARRAY[{parts}] AS key, nextval({}) AS number \
             FROM unnest({arrays}) u ({parts})) \
             INSERT INTO {table} (run_id, reference, key, number) SELECT $1, $2, n.key, n.number FROM numbered n \
             WHERE NOT EXISTS (SELECT FROM {} d WHERE d.{} = n.number) ON CONFLICT DO NOTHING",
            crate::quote::literal(&reference.sequence).trim_start(),
            reference.table,
            crate::quote::identifier(&reference.number)
        );
        session.query(&reserve, &values, doing).await?;
        let read = format!(
            "SELECT coalesce(m.existing, m.number) FROM unnest({arrays}) WITH ORDINALITY u ({parts}, place) \
             JOIN {table} m ON m.run_id = $1 AND m.reference = $2 AND m.key = ARRAY[{parts}] \
             ORDER BY u.place"
        );
        let rows = session.query(&read, &values, doing).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Removes the reserved members of a run, if the role may see any.
    pub async fn forget_members(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<(), LedgerError> {
        let doing = "removing the reserved members of a run";
        let table = self.members_table();
        let may = "SELECT coalesce(bool_and(has_table_privilege(to_regclass($1), wanted)), false) \
                   FROM unnest(ARRAY['SELECT', 'DELETE']) wanted";
        if !session.query(may, &[&table], doing).await?[0].get::<_, bool>(0) {
            return Ok(());
        }
        let sql = format!("DELETE FROM {} WHERE run_id = $1", table);
        session.query(&sql, &[&run_id.number()], doing).await?;
        Ok(())
    }
}
