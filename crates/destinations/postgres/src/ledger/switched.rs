//! The record of what a switch did with each table: brought in, made, filled, taken out and kept, or dropped. `inrush
//! undo` reads it, and so does the check whether rows are still loaded.

use inrush_destination::Replaced;
use inrush_rows::ids::{RunId, RunName, UnitKey};

use super::error::LedgerError;
use super::{Ledger, StoredRun, stored};
use crate::Session;

/// The effect of the switch on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A unit became a partition of the target.
    Attached,
    /// The target itself was created.
    Made,
    /// A unit's rows were inserted into the table.
    Inserted,
    /// It was taken out of the target, and is kept elsewhere.
    Kept,
    /// It was taken out of the target, and dropped.
    Dropped,
}

const WORDS: [(&str, What); 5] = [
    ("attached", What::Attached),
    ("made", What::Made),
    ("inserted", What::Inserted),
    ("kept", What::Kept),
    ("dropped", What::Dropped),
];

impl What {
    fn word(self) -> &'static str {
        WORDS
            .iter()
            .find(|(_, what)| *what == self)
            .map_or("", |(word, _)| word)
    }

    fn from_word(word: &str) -> What {
        WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map_or(What::Inserted, |(_, what)| *what)
    }
}

/// A table that a switch changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedTable {
    /// The target, `schema.table`, quoted.
    pub target: String,
    /// The effect.
    pub what: What,
    /// The unit whose rows the table has, if they are the rows of one unit.
    pub unit_key: Option<UnitKey>,
    /// Its OID.
    pub table_oid: u32,
    /// Its schema after the switch.
    pub table_schema: String,
    /// Its name after the switch.
    pub table_name: String,
    /// The bound of a partition, as the server writes it.
    pub bound: Option<String>,
    /// The condition that all rows of a partition meet, as the server writes it.
    pub condition: Option<String>,
    /// The schema and the name of a table before it was taken out of its target.
    pub original: Option<Original>,
}

/// The schema and the name of a table before it was taken out of its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Names of its indexes, in the order of their OIDs.
    pub indexes: Vec<String>,
}

impl Ledger {
    /// Records the effects of a switch, inside its transaction.
    pub async fn record_switched(
        &self,
        session: &Session,
        run_id: RunId,
        tables: &[SwitchedTable],
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "INSERT INTO {} (run_id, number, target, what, unit_key, table_oid, table_schema, \
                             table_name, bound, condition, original_schema, original_name, \
                             original_indexes) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            self.table("switched_table")
        );
        for (number, table) in (1_i32..).zip(tables) {
            let original = table.original.as_ref();
            session
                .query(
                    &sql,
                    &[
                        &run_id.number(),
                        &number,
                        &table.target,
                        &table.what.word(),
                        &table.unit_key.as_ref().map(UnitKey::as_str),
                        &table.table_oid,
                        &table.table_schema,
                        &table.table_name,
                        &table.bound,
                        &table.condition,
                        &original.map(|original| &original.schema),
                        &original.map(|original| &original.name),
                        &original.map(|original| &original.indexes),
                    ],
                    "writing the switch into the ledger",
                )
                .await?;
        }
        Ok(())
    }

    /// The tables that the switch of a run brought in, created, filled, took out or dropped.
    pub async fn switched_tables(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Vec<SwitchedTable>, LedgerError> {
        self.tables(
            session,
            "s.run_id = $1 ORDER BY s.number",
            &[&run_id.number()],
        )
        .await
    }

    /// The tables that earlier runs took out of a target and kept, and that nobody has put back.
    pub async fn kept_of_target(
        &self,
        session: &Session,
        target: &str,
    ) -> Result<Vec<SwitchedTable>, LedgerError> {
        let condition = "s.target = $1 AND s.what = 'kept' AND r.state = 'switched' \
                         ORDER BY s.run_id, s.number";
        self.tables(session, condition, &[&target]).await
    }

    /// Finds out whether the rows that a run brought into a target were taken out since, and by which run. The run is
    /// not known if the target is now another table. For rows that were inserted into existing partitions, the
    /// partition is not known, so any removed partition counts.
    pub async fn replaced(
        &self,
        session: &Session,
        run: &StoredRun,
        target: &str,
    ) -> Result<Option<Replaced>, LedgerError> {
        let (table, switched_run) = (self.table("switched_table"), self.table("run"));
        let sql = format!(
            "SELECT later.name FROM {table} n JOIN {table} o \
                    ON o.run_id > n.run_id AND o.what IN ('kept', 'dropped') \
                       AND (o.table_oid = n.table_oid \
                            OR n.what = 'inserted' AND o.target = n.target) \
             JOIN {switched_run} later ON later.run_id = o.run_id AND later.state = 'switched' \
             WHERE n.run_id = $1 AND n.target = $2 \
               AND n.what NOT IN ('kept', 'dropped') \
             ORDER BY o.run_id LIMIT 1"
        );
        let doing = "looking for what became of a run";
        let rows = session
            .query(&sql, &[&run.run_id.number(), &target], doing)
            .await?;
        if let Some(row) = rows.first() {
            return Ok(Some(Replaced {
                by: Some(RunName::new(row.get::<_, &str>(0))),
            }));
        }
        let oid = stored::table("true", "$1::text", "NULL", "NULL");
        let rows = session
            .query(&format!("SELECT {oid}"), &[&target], doing)
            .await?;
        let now: Option<u32> = rows[0].get(0);
        let is_there = now.is_some_and(|oid| run.target_oids.contains(&oid));
        Ok((!is_there).then_some(Replaced { by: None }))
    }

    async fn tables(
        &self,
        session: &Session,
        condition: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Vec<SwitchedTable>, LedgerError> {
        let sql = format!(
            "SELECT s.target, s.what, s.unit_key, s.table_oid, s.table_schema, s.table_name, \
                    s.bound, s.condition, s.original_schema, s.original_name, s.original_indexes \
             FROM {} s JOIN {} r USING (run_id) WHERE {condition}",
            self.table("switched_table"),
            self.table("run")
        );
        let rows = session
            .query(&sql, parameters, "reading the ledger")
            .await?;
        Ok(rows
            .iter()
            .map(|row| SwitchedTable {
                target: row.get(0),
                what: What::from_word(row.get(1)),
                unit_key: row.get::<_, Option<&str>>(2).map(UnitKey::new),
                table_oid: row.get(3),
                table_schema: row.get(4),
                table_name: row.get(5),
                bound: row.get(6),
                condition: row.get(7),
                original: row.get::<_, Option<String>>(8).map(|schema| Original {
                    schema,
                    name: row.get::<_, Option<String>>(9).unwrap_or_default(),
                    indexes: row.get::<_, Option<Vec<String>>>(10).unwrap_or_default(),
                }),
            })
            .collect())
    }
}
