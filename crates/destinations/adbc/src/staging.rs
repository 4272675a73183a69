//! Staging tables: one for each target, in the same schema, with the columns that are filled.

use inrush_destination::{Error, Result, TargetPlan, WriteMode, staging_name};
use inrush_rows::ids::{RunId, RunKey};

use crate::carry::{self, Carried};
use crate::catalog;
use crate::connection::IngestName;
use crate::quirks::Quirks;
use crate::session::AdbcSession;
use crate::sql;

const CANNOT_REMOVE: &str = "cannot remove a staging table";

/// A target with its staging table.
#[derive(Debug)]
pub struct Staging {
    /// The target as the plan has it.
    pub plan: TargetPlan,
    /// The staging table, as ingest names it.
    pub name: IngestName,
    /// The staging table, as statements name it.
    pub sql: String,
    /// The form in which each column is sent.
    pub carried: Vec<Carried>,
}

impl Staging {
    /// The staging table of a target, in the run with this number. Fails if the target cannot be loaded.
    pub fn new(
        quirks: &Quirks,
        product: &str,
        run_key: &RunKey,
        run_id: RunId,
        plan: &TargetPlan,
    ) -> Result<Staging> {
        let name = staging_name::of_run(run_key, run_id, plan);
        Staging::named(quirks, product, plan, name)
    }

    /// The staging table of a target in a run that has no number yet.
    pub fn planned(
        quirks: &Quirks,
        product: &str,
        place: usize,
        plan: &TargetPlan,
    ) -> Result<Staging> {
        Staging::named(quirks, product, plan, staging_name::planned(place))
    }

    fn named(quirks: &Quirks, product: &str, plan: &TargetPlan, name: String) -> Result<Staging> {
        let unsuitable = |what: String, hint: &str| Error::Unsuitable {
            what,
            hint: hint.to_owned(),
        };
        let table = &plan.name.sql;
        if plan.mode == WriteMode::ReplacePartitions || !plan.partition_by.is_empty() {
            return Err(unsuitable(
                format!("{table}: {product} has no partitions that could be loaded"),
                "load the whole table, with mode create, append or replace",
            ));
        }
        if plan.columns.is_empty() {
            return Err(unsuitable(
                format!("{table}: no column is filled"),
                "name the columns of the files",
            ));
        }
        let mut ways = Vec::with_capacity(plan.columns.len());
        for column in &plan.columns {
            check_name(quirks, product, "column", &column.name)?;
            ways.push(
                carry::carried(quirks.vendor, &column.column_type).ok_or_else(|| {
                    unsuitable(
                        format!(
                            "{table}.{}: values of the type {} cannot be loaded through this driver",
                            sql::identifier(&column.name),
                            column.sql
                        ),
                        "leave the column out, or change its type to text",
                    )
                })?,
            );
        }
        Ok(Staging {
            plan: plan.clone(),
            sql: quoted(plan.name.schema.as_deref(), &name),
            name: IngestName {
                schema: plan.name.schema.clone(),
                table: name,
            },
            carried: ways,
        })
    }

    /// True if publishing must convert the types of some columns.
    pub fn casts(&self) -> bool {
        self.carried.iter().any(|carried| carried.staging.is_some())
    }

    /// True if the staging table exists.
    pub fn stands(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
        let schema = self.name.schema.as_deref();
        Ok(catalog::kind(session, quirks, schema, &self.name.table)?.is_some())
    }

    /// Creates the staging table.
    pub fn create(&self, session: &mut AdbcSession) -> Result<()> {
        let doing = format!("cannot make the staging table of {}", self.plan.name.sql);
        session.run(&doing, &self.create_staging_statement())?;
        Ok(())
    }

    /// The statement that creates the staging table.
    pub fn create_staging_statement(&self) -> String {
        self.create_statement(&self.sql, true)
    }

    /// The statement that creates the target.
    pub fn create_target_statement(&self) -> String {
        self.create_statement(&self.plan.name.sql, false)
    }

    /// The statement that makes the staging table the target: only the catalog changes.
    pub fn rename_statement(&self) -> String {
        let name = sql::identifier(&self.plan.name.name);
        format!("ALTER TABLE {} RENAME TO {name}", self.sql)
    }

    /// The statement that removes all rows of the target.
    pub fn empty_target_statement(&self) -> String {
        format!("DELETE FROM {}", self.plan.name.sql)
    }

    /// The statement that updates the statistics of the target.
    pub fn analyze_statement(&self) -> String {
        format!("ANALYZE {}", self.plan.name.sql)
    }

    /// The statement that keeps the rows of the target in another table.
    pub fn keep_statement(&self, kept: &str) -> String {
        format!(
            "CREATE TABLE {kept} AS SELECT * FROM {}",
            self.plan.name.sql
        )
    }

    /// Creates the target.
    pub fn create_target(&self, session: &mut AdbcSession) -> Result<()> {
        let doing = format!("cannot make {}", self.plan.name.sql);
        session.run(&doing, &self.create_target_statement())?;
        Ok(())
    }

    /// Creates a table with this name, the columns of staging, and one more column of whole numbers.
    pub fn create_trial(&self, session: &mut AdbcSession, table: &str, number: &str) -> Result<()> {
        let doing = format!(
            "cannot make a table for the trial of rows of {}",
            self.plan.name.sql
        );
        let mut columns = self.column_definitions(true);
        columns.push(format!("{} BIGINT", sql::identifier(number)));
        session.run(
            &doing,
            &format!("CREATE TABLE {table} ({})", columns.join(", ")),
        )?;
        Ok(())
    }

    /// The columns that are filled, as an INSERT lists them, and the expressions for their values. A SELECT from
    /// staging, or from a table like it, uses these expressions.
    pub fn names_and_values(&self) -> (String, String) {
        let names = sql::names(self.plan.columns.iter().map(|column| column.name.as_str()));
        (names, self.values().collect::<Vec<_>>().join(", "))
    }

    /// The expressions for the columns that are filled, each with the name of its column.
    pub fn named_values(&self) -> Vec<String> {
        let columns = self.plan.columns.iter();
        columns
            .zip(self.values())
            .map(|(column, value)| format!("{value} AS {}", sql::identifier(&column.name)))
            .collect()
    }

    fn values(&self) -> impl Iterator<Item = String> {
        let columns = self.plan.columns.iter().zip(&self.carried);
        columns.map(|(column, carried)| match carried.staging {
            Some(_) => format!("CAST({} AS {})", sql::identifier(&column.name), column.sql),
            None => sql::identifier(&column.name),
        })
    }

    /// The name of another table in the schema of the staging table.
    pub fn beside(&self, beginning: &str) -> (IngestName, String) {
        let table = self.name.table.replacen("inrush_staging", beginning, 1);
        let schema = self.name.schema.clone();
        let sql = quoted(schema.as_deref(), &table);
        (IngestName { schema, table }, sql)
    }

    /// The quoted name of a table in the target's schema.
    pub fn named_beside(&self, name: &str) -> String {
        quoted(self.name.schema.as_deref(), name)
    }

    fn create_statement(&self, table: &str, staging: bool) -> String {
        let columns = self.column_definitions(staging);
        format!("CREATE TABLE {table} ({})", columns.join(", "))
    }

    fn column_definitions(&self, staging: bool) -> Vec<String> {
        self.plan
            .columns
            .iter()
            .zip(&self.carried)
            .map(|(column, carried)| {
                let own = carried.staging.filter(|_| staging);
                let not_null = if column.nullable { "" } else { " NOT NULL" };
                format!(
                    "{} {}{not_null}",
                    sql::identifier(&column.name),
                    own.unwrap_or(&column.sql)
                )
            })
            .collect()
    }

    /// The statement that copies all rows into the target.
    pub fn copy_statement(&self) -> String {
        let (names, values) = self.names_and_values();
        format!(
            "INSERT INTO {} ({names}) SELECT {values} FROM {}",
            self.plan.name.sql, self.sql
        )
    }

    /// The statement that keeps other writers away from the target until the transaction ends, if the database allows
    /// other writers.
    pub fn lock_statement(&self, quirks: &Quirks) -> Option<String> {
        let lock = quirks.lock_table?;
        Some(format!("LOCK TABLE {} {lock}", self.plan.name.sql))
    }

    /// Removes the staging table.
    pub fn remove(&self, session: &mut AdbcSession) -> Result<()> {
        session.run(CANNOT_REMOVE, &self.remove_statement())?;
        Ok(())
    }

    /// The statement that removes the staging table, if it is there.
    pub fn remove_statement(&self) -> String {
        drop_statement(&self.sql)
    }

    /// The number of its rows, counted by the database.
    pub fn count(&self, session: &mut AdbcSession) -> Result<u64> {
        let doing = format!("cannot count the staged rows of {}", self.plan.name.sql);
        let rows = session.number(&doing, &format!("SELECT count(*) FROM {}", self.sql))?;
        Ok(rows.unwrap_or(0))
    }

    /// The staging table as the ledger names it.
    pub fn stored(&self) -> (Option<String>, String) {
        (self.name.schema.clone(), self.name.table.clone())
    }
}

/// Removes a staging table, if it is there.
pub fn remove(session: &mut AdbcSession, schema: Option<&str>, table: &str) -> Result<()> {
    session.run(CANNOT_REMOVE, &drop_statement(&quoted(schema, table)))?;
    Ok(())
}

/// The statement that drops a table, if it is there.
pub fn drop_statement(table: &str) -> String {
    format!("DROP TABLE IF EXISTS {table}")
}

/// The name of a staging table in SQL.
pub fn quoted(schema: Option<&str>, table: &str) -> String {
    match schema {
        Some(schema) => format!("{}.{}", sql::identifier(schema), sql::identifier(table)),
        None => sql::identifier(table),
    }
}

/// Refuses a name that the database would change.
pub fn check_name(quirks: &Quirks, product: &str, what: &str, name: &str) -> Result<()> {
    let wrong = if name.is_empty() {
        "is empty".to_owned()
    } else if name.contains('\0') {
        "has a NUL in it".to_owned()
    } else if let Some(most) = quirks.name_bytes_max.filter(|most| name.len() > *most) {
        format!(
            "has {} bytes, and {product} cuts names off after {most}",
            name.len()
        )
    } else {
        return Ok(());
    };
    Err(Error::Unsuitable {
        what: format!("the name {name:?} of a {what} {wrong}"),
        hint: "give it another name".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use inrush_destination::{ColumnPlan, ReplacedRows, TargetName};
    use inrush_rows::column_type::ColumnType;

    use super::*;

    fn plan() -> TargetPlan {
        let column = |name: &str, sql: &str, column_type, nullable| ColumnPlan {
            name: name.to_owned(),
            sql: sql.to_owned(),
            column_type,
            nullable,
        };
        TargetPlan {
            name: TargetName {
                schema: Some("s".to_owned()),
                name: "t".to_owned(),
                sql: "\"s\".\"t\"".to_owned(),
            },
            columns: vec![
                column("a \"b\"", "bigint", ColumnType::Int64, false),
                column("u", "uuid", ColumnType::Uuid, true),
            ],
            mode: WriteMode::Create,
            replaced: ReplacedRows::Removed,
            partition_by: Vec::new(),
            bounds: Vec::new(),
            merge: None,
            members: Vec::new(),
            shape: "1".to_owned(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
        }
    }

    #[test]
    fn statements_name_all_columns() {
        let staging = Staging::new(
            Quirks::of("postgresql"),
            "PostgreSQL",
            &RunKey::new("k"),
            RunId::FIRST,
            &plan(),
        );
        let staging = staging.expect("possible");
        let table = &staging.sql;
        assert_eq!(
            staging.create_statement(table, true),
            format!("CREATE TABLE {table} (\"a \"\"b\"\"\" bigint NOT NULL, \"u\" TEXT)")
        );
        assert_eq!(
            staging.copy_statement(),
            format!(
                "INSERT INTO \"s\".\"t\" (\"a \"\"b\"\"\", \"u\") \
                 SELECT \"a \"\"b\"\"\", CAST(\"u\" AS uuid) FROM {table}"
            )
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut partitioned = plan();
        partitioned.partition_by = vec!["u".to_owned()];
        let mut long = plan();
        long.columns[0].name = "x".repeat(64);
        for wrong in [partitioned, long] {
            let refused = Staging::new(
                Quirks::of("postgresql"),
                "PostgreSQL",
                &RunKey::new("k"),
                RunId::FIRST,
                &wrong,
            );
            assert!(matches!(refused, Err(Error::Unsuitable { .. })));
        }
    }
}
