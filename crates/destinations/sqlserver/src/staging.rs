//! Staging tables: one heap for each target, in the schema of the target, with the columns that are filled.
//!
//! If the target exists and rows can be switched into it, the heap has its columns in its order, its filegroup or partition
//! scheme and its compression. The server puts each row into its partition. Later each partition is switched to the
//! partition of the target with the same number. If the target is new and gets partitions, its function and scheme are made
//! together with the heap.

use inrush_destination::staging_name::{self, PREFIX};
use inrush_destination::{Error, ReplacedRows, Result, TargetPlan, WriteMode};
use inrush_rows::ids::{RunId, RunKey};

use crate::bulk_target::BulkTarget;
use crate::catalog;
use crate::connection::SqlSession;
use crate::options::Options;
use crate::partitions::{self, NewPartitions};
use crate::shape::TableShape;
use crate::sql;

/// The most UTF-16 units of a name.
const NAME_UNITS_MAX: usize = 128;
/// The most columns of a table.
const COLUMNS_MAX: usize = 1024;
/// The beginning of the names of trials.
const TRIAL_PREFIX: &str = "inrush_trial_";
/// The beginning of the names of indexes of careful loads.
const KEY_PREFIX: &str = "inrush_key_";

/// A target with its staging table.
#[derive(Clone, Debug)]
pub struct Staging {
    /// The target as the plan has it.
    pub plan: TargetPlan,
    /// The schema of the target and of the staging table.
    pub schema: String,
    /// The name of the staging table.
    pub name: String,
    /// The staging table, as statements name it.
    pub sql: String,
}

impl Staging {
    /// The staging table of a target, in the run with this number. Fails if the target cannot be loaded.
    pub fn new(run_key: &RunKey, run_id: RunId, plan: &TargetPlan) -> Result<Staging> {
        check(plan)?;
        Staging::named(staging_name::of_run(run_key, run_id, plan), plan)
    }

    /// The staging table of a target in a run that has no number yet.
    pub fn planned(place: usize, plan: &TargetPlan) -> Result<Staging> {
        Staging::named(staging_name::planned(place), plan)
    }

    fn named(name: String, plan: &TargetPlan) -> Result<Staging> {
        NewPartitions::of_plan(plan, &partitions_name(&name))?;
        let schema = catalog::schema_of(&plan.name)?.to_owned();
        Ok(Staging {
            plan: plan.clone(),
            sql: sql::table(&schema, &name),
            schema,
            name,
        })
    }

    /// True if the staging table exists.
    pub fn stands(&self, session: &mut SqlSession) -> Result<bool> {
        Ok(catalog::entry(session, &self.schema, &self.name)?.is_some())
    }

    /// Creates the staging table.
    pub fn create(&self, session: &mut SqlSession, options: &Options) -> Result<()> {
        let doing = format!("cannot make the staging table of {}", self.plan.name.sql);
        for statement in self.create_statements(session, options)? {
            session.run(&doing, &statement)?;
        }
        Ok(())
    }

    /// The statements that create the staging table, for the target as it is now.
    pub fn create_statements(
        &self,
        session: &mut SqlSession,
        options: &Options,
    ) -> Result<Vec<String>> {
        let target = &self.plan.name;
        let found = catalog::entry(session, &self.schema, &target.name)?;
        if found.is_some_and(|found| found.kind == "table") {
            if options.switch && self.plan.mode != WriteMode::Upsert {
                let shape = TableShape::read(session, &target.sql)?;
                if shape.obstacle(self.filled()).is_none() {
                    return Ok(vec![shape.create_statement(&self.sql)]);
                }
            }
            return Ok(vec![self.plain_statement("")]);
        }
        Ok(match self.new_partitions()? {
            None => vec![self.plain_statement("")],
            Some(partitions) => {
                let mut statements = partitions.create_statements(options)?.to_vec();
                statements.push(self.plain_statement(&format!(" ON {}", partitions.on())));
                statements
            }
        })
    }

    /// The partitions that the target gets if it is new.
    pub fn new_partitions(&self) -> Result<Option<NewPartitions>> {
        NewPartitions::of_plan(&self.plan, &partitions_name(&self.name))
    }

    /// The statement that makes a heap with the columns of the plan.
    fn plain_statement(&self, on: &str) -> String {
        let columns = self.plan.columns.iter().map(|column| {
            let null = if column.nullable { "NULL" } else { "NOT NULL" };
            format!("{} {} {null}", sql::identifier(&column.name), column.sql)
        });
        let columns: Vec<String> = columns.collect();
        format!("CREATE TABLE {} ({}){on}", self.sql, columns.join(", "))
    }

    /// The names of the columns that are filled.
    pub fn filled(&self) -> impl Iterator<Item = &str> + Clone {
        self.plan.columns.iter().map(|column| column.name.as_str())
    }

    /// Removes the staging table.
    pub fn remove(&self, session: &mut SqlSession) -> Result<()> {
        remove(session, &self.schema, &self.name)
    }

    /// The statements that remove the staging table, if it is there.
    pub fn remove_statements(&self) -> Vec<String> {
        remove_statements(&self.schema, &self.name)
    }

    /// The statement that updates the statistics of the target, from samples of its rows.
    pub fn analyze_statement(&self) -> String {
        format!("UPDATE STATISTICS {}", self.plan.name.sql)
    }

    /// The statement that gives the staging table the name of the target.
    pub fn rename_statement(&self) -> String {
        // The new name is a text and not an identifier: it is not quoted.
        format!(
            "EXEC sp_rename {}, {}, N'OBJECT'",
            sql::text(&self.sql),
            sql::text(&self.plan.name.name)
        )
    }

    /// The number of its rows, counted by the server.
    pub fn count(&self, session: &mut SqlSession) -> Result<u64> {
        let doing = format!("cannot count the staged rows of {}", self.plan.name.sql);
        let rows = session.number(&doing, &format!("SELECT COUNT_BIG(*) FROM {}", self.sql))?;
        Ok(rows.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0))
    }

    /// The names of the columns that are filled, as statements list them.
    pub fn column_names(&self) -> String {
        sql::names(self.filled())
    }

    /// A table of this name in the schema of the target, as statements name it.
    pub fn named_beside(&self, name: &str) -> Result<String> {
        check_table_name(name)?;
        Ok(sql::table(&self.schema, name))
    }

    /// The staging table as the ledger names it.
    pub fn stored(&self) -> (String, String) {
        (self.schema.clone(), self.name.clone())
    }

    /// How rows are sent into the staging table.
    pub fn bulk_target(&self, session: &mut SqlSession, options: &Options) -> Result<BulkTarget> {
        BulkTarget::ask(session, &self.sql, self.filled(), options)
    }

    /// The table for the trial of a careful load, as statements name it.
    pub fn trial(&self) -> String {
        sql::table(&self.schema, &self.name.replacen(PREFIX, TRIAL_PREFIX, 1))
    }

    /// Makes an index, so that careful loads find a key among the staged rows. [`prepare`](crate::ways::prepare) drops it.
    pub fn index_key(
        &self,
        session: &mut SqlSession,
        place: usize,
        columns: &[&str],
    ) -> Result<()> {
        let name = format!("{KEY_PREFIX}{place}");
        let doing = format!("cannot index the staging table of {}", self.plan.name.sql);
        if self.key_indexes(session)?.contains(&name) {
            return Ok(());
        }
        let statement = format!(
            "CREATE NONCLUSTERED INDEX {} ON {} ({})",
            sql::identifier(&name),
            self.sql,
            sql::names(columns.iter().copied())
        );
        session.run(&doing, &statement)?;
        Ok(())
    }

    /// Drops the indexes of careful loads.
    pub fn drop_key_indexes(&self, session: &mut SqlSession) -> Result<()> {
        for name in self.key_indexes(session)? {
            let doing = format!("cannot prepare the staging table of {}", self.plan.name.sql);
            let name = sql::identifier(&name);
            session.run(&doing, &format!("DROP INDEX {name} ON {}", self.sql))?;
        }
        Ok(())
    }

    fn key_indexes(&self, session: &mut SqlSession) -> Result<Vec<String>> {
        let question = format!(
            "SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID({}) AND index_id > 0",
            sql::text(&self.sql)
        );
        let rows = session.rows("cannot read the indexes of a staging table", &question)?;
        let names = rows.into_iter().flatten().flatten();
        Ok(names.filter(|name| name.starts_with(KEY_PREFIX)).collect())
    }
}

/// Fails if the columns of a target cannot be those of a table, or if the name under which its replaced rows are kept is
/// not the name of a table.
pub fn check(plan: &TargetPlan) -> Result<()> {
    if plan.columns.len() > COLUMNS_MAX {
        return Err(Error::Unsuitable {
            what: format!(
                "{}: {} columns are filled, but a table of SQL Server has at most {COLUMNS_MAX} columns",
                plan.name.sql,
                plan.columns.len()
            ),
            hint: "leave columns out, or load them into several tables".to_owned(),
        });
    }
    for column in &plan.columns {
        check_name("column", &column.name)?;
    }
    match &plan.replaced {
        ReplacedRows::KeptAs(name) => check_table_name(name),
        ReplacedRows::Removed | ReplacedRows::KeptUntilNext => Ok(()),
    }
}

/// Refuses a name that cannot be that of a table.
pub fn check_table_name(name: &str) -> Result<()> {
    check_name("table", name)?;
    match name.starts_with('#') {
        false => Ok(()),
        true => Err(Error::Unsuitable {
            what: format!(
                "{name:?} would be a temporary table, which the server drops when the session that made it ends"
            ),
            hint: "give the table a name that does not begin with #".to_owned(),
        }),
    }
}

/// Removes a staging table, if it is there, with the partition function and scheme that were made for it.
pub fn remove(session: &mut SqlSession, schema: &str, name: &str) -> Result<()> {
    for statement in remove_statements(schema, name) {
        session.run("cannot remove a staging table", &statement)?;
    }
    Ok(())
}

/// The statements that remove a staging table, if it is there, with what was made for it.
pub fn remove_statements(schema: &str, name: &str) -> Vec<String> {
    let table = format!("DROP TABLE IF EXISTS {}", sql::table(schema, name));
    let partitions = partitions::drop_statements(&partitions_name(name));
    [table].into_iter().chain(partitions).collect()
}

/// The name of the partition function and scheme of a staging table.
fn partitions_name(staging: &str) -> String {
    staging.replacen(PREFIX, partitions::NAME_PREFIX, 1)
}

/// Refuses a name that SQL Server does not take.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let wrong = if name.is_empty() {
        "is empty".to_owned()
    } else if name.contains('\0') {
        "contains a NUL".to_owned()
    } else if name.encode_utf16().count() > NAME_UNITS_MAX {
        format!(
            "has {} characters (UTF-16 units), and {NAME_UNITS_MAX} are possible",
            name.encode_utf16().count()
        )
    } else {
        return Ok(());
    };
    Err(Error::Unsuitable {
        what: format!("a {what} of SQL Server cannot have this name, because it {wrong}: {name:?}"),
        hint: "give it another name".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use inrush_destination::{ColumnPlan, TargetName};
    use inrush_rows::column_type::ColumnType;

    use super::*;

    fn plan(columns: usize) -> TargetPlan {
        let column = |number: usize| ColumnPlan {
            name: format!("c{number}"),
            sql: "int".to_owned(),
            column_type: ColumnType::Int32,
            nullable: true,
        };
        TargetPlan {
            name: TargetName {
                schema: Some("dbo".to_owned()),
                name: "t".to_owned(),
                sql: sql::table("dbo", "t"),
            },
            columns: (0..columns).map(column).collect(),
            mode: WriteMode::Create,
            partition_by: Vec::new(),
            bounds: Vec::new(),
            replaced: ReplacedRows::default(),
            merge: None,
            members: Vec::new(),
            shape: "shape".to_owned(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
        }
    }

    #[test]
    fn a_staging_table_is_beside_its_target() {
        let staging = Staging::new(&RunKey::new("k"), RunId::FIRST, &plan(1)).expect("suitable");
        assert!(staging.sql.starts_with("\"dbo\".\"inrush_staging_"));
    }

    #[test]
    fn targets_that_cannot_be_loaded_are_refused() {
        let mut partitioned = plan(1);
        partitioned.partition_by = vec!["c0".to_owned(), "c1".to_owned()];
        let mut long = plan(1);
        long.columns[0].name = "😀".repeat(65);
        for (wrong, said) in [
            (partitioned, "partition_by names 2 columns"),
            (
                long,
                "has 130 characters (UTF-16 units), and 128 are possible",
            ),
            (plan(1025), "1025 columns"),
        ] {
            let error = Staging::new(&RunKey::new("k"), RunId::FIRST, &wrong).expect_err(said);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
