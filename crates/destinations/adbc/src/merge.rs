//! Merges staged rows into a target by their key. This file has the parts of the statements that differ between
//! databases, and refuses the targets into which rows cannot be merged.

use inrush_destination::merge::{Merge, MergeDialect, MergeObstacle, MergeSession, names};
use inrush_destination::{ColumnPlan, Error, MergedRows, Result, Step, TargetPlan};
use inrush_rows::sql_text::identifier;

use crate::constraints::{self, Constraints, UniqueKey};
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

/// A merge into a target.
pub struct AdbcMerge<'a> {
    plan: &'a TargetPlan,
    dialect: Dialect,
    source: String,
}

/// How the database writes the statements.
struct Dialect {
    vendor: Vendor,
    /// The key by which rows are merged, with its collations.
    key: UniqueKey,
    counts_target: bool,
}

impl MergeDialect for Dialect {
    fn key_term(&self, table: &str, column: &str) -> String {
        let mut columns = self.key.columns.iter();
        let own = columns.find(|own| own.name.eq_ignore_ascii_case(column));
        own.map_or_else(
            || format!("{table}.{}", identifier(column)),
            |own| constraints::term(table, own),
        )
    }

    fn is_same(&self, column: &str) -> String {
        let name = identifier(column);
        match self.vendor {
            // Not every type has an operator `=`, but every value has a text.
            Vendor::Postgres => format!("t.{name}::text IS NOT DISTINCT FROM s.{name}::text"),
            _ => format!("t.{name} IS NOT DISTINCT FROM s.{name}"),
        }
    }

    fn moment(&self, text: &str, valid_from: &ColumnPlan) -> String {
        let text = sql::text(text);
        match self.vendor {
            // SQLite has no types for times: its values are texts.
            Vendor::Sqlite => text,
            _ => format!("CAST({text} AS {})", valid_from.sql),
        }
    }

    fn counts_target(&self) -> bool {
        self.counts_target
    }
}

/// A session with the database, and the target's index in the run.
struct Session<'a> {
    session: &'a mut AdbcSession,
    quirks: &'a Quirks,
    place: usize,
}

impl MergeSession for Session<'_> {
    fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.session.rows(doing, sql)
    }

    fn change(&mut self, doing: &str, sql: &str) -> Result<()> {
        self.session.refuse_interrupted()?;
        let changed = self
            .session
            .change_rows(self.quirks, self.place, doing, sql);
        changed.map(drop)
    }
}

impl<'a> AdbcMerge<'a> {
    /// The merge of the rows in staging.
    pub fn of_staging(
        session: &mut AdbcSession,
        quirks: &Quirks,
        staging: &'a Staging,
    ) -> Result<AdbcMerge<'a>> {
        let source = match staging.casts() {
            true => format!(
                "(SELECT {} FROM {})",
                staging.named_values().join(", "),
                staging.sql
            ),
            false => staging.sql.clone(),
        };
        let constraints = constraints::of_table(session, quirks, &staging.plan.name)?;
        Ok(AdbcMerge::new(quirks, &staging.plan, &constraints, source))
    }

    fn new(
        quirks: &Quirks,
        plan: &'a TargetPlan,
        constraints: &Constraints,
        source: String,
    ) -> AdbcMerge<'a> {
        AdbcMerge {
            plan,
            dialect: Dialect {
                vendor: quirks.vendor,
                key: constraints.key_of_merge(plan.merge_plan()),
                counts_target: quirks.counts_targets,
            },
            source,
        }
    }

    fn merge(&self) -> Merge<'_> {
        Merge::new(&self.dialect, self.plan, &self.source)
    }

    /// Merges the staged rows into the run's target with the index `place`. `staged` is their number, and `started_at`
    /// the start of the run, in microseconds since 1970-01-01T00:00:00Z.
    pub fn perform(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        (place, staged): (usize, u64),
        started_at: i64,
    ) -> Result<MergedRows> {
        let mut session = Session {
            session,
            quirks,
            place,
        };
        let merge = self.merge();
        merge.perform(&mut session, (place, staged), started_at)
    }

    /// The statements as a plan prints them.
    pub fn planned(&self) -> Vec<Step> {
        self.merge().planned()
    }
}

/// Refuses a target into which rows cannot be merged.
pub fn check(session: &mut AdbcSession, quirks: &Quirks, plan: &TargetPlan) -> Result<()> {
    let target = &plan.name.sql;
    let merge = plan.merge_plan();
    let constraints = constraints::of_table(session, quirks, &plan.name)?;
    let has_index = constraints.of_merge(merge).is_some();
    // SQLite and DuckDB require a name for the index.
    let index = format!(
        "CREATE UNIQUE INDEX {} ON {target} ({})",
        identifier(&format!("{}_key", plan.name.name)),
        names(&merge.key)
    );
    let Some(versions) = &merge.versions else {
        if !has_index {
            let fix = format!("{index}; or name the columns of an existing unique index");
            return Err(MergeObstacle::NoIndex.error(plan, fix));
        }
        return match nulls_equal(session, quirks, plan, &constraints)? {
            None => Ok(()),
            Some(index) => Err(MergeObstacle::EqualNulls(index).error(
                plan,
                "make the columns of the key NOT NULL, or make the index without NULLS NOT DISTINCT"
                    .to_owned(),
            )),
        };
    };
    let current = format!(" WHERE {} IS NULL", identifier(&versions.valid_to));
    let mut keys = constraints.keys.iter();
    if let Some(key) = keys.find(|key| key.is_within(&merge.key)) {
        let columns = key.columns.iter().map(|column| column.name.clone());
        let fix = match quirks.partial_indexes {
            true => format!("drop that index, and {index}{current}"),
            false => "drop that index or constraint".to_owned(),
        };
        return Err(MergeObstacle::OneVersion(columns.collect()).error(plan, fix));
    }
    if quirks.partial_indexes && !has_index {
        return Err(MergeObstacle::NoIndex.error(plan, format!("{index}{current}")));
    }
    if quirks.vendor == Vendor::Postgres {
        // The staging table does not exist yet.
        let source = format!("(SELECT * FROM {target} WHERE 1 = 0)");
        let merge = AdbcMerge::new(quirks, plan, &constraints, source);
        let planned = session.rows("cannot plan the merge", &merge.merge().trial());
        if let Err(error) = planned {
            return Err(Error::Unsuitable {
                what: format!("{target} has a column whose values cannot be compared: {error}"),
                hint:
                    "give it a type with an operator `=`, such as jsonb for json; or do not load it"
                        .to_owned(),
            });
        }
    }
    Ok(())
}

/// The unique index on the key in which NULLs are equal, if the rows may have NULLs in their key.
fn nulls_equal(
    session: &mut AdbcSession,
    quirks: &Quirks,
    plan: &TargetPlan,
    constraints: &Constraints,
) -> Result<Option<String>> {
    if quirks.vendor != Vendor::Postgres || !plan.has_nulls_in_key() {
        return Ok(None);
    }
    let key = &plan.merge_plan().key;
    let found = constraints::with_equal_nulls(session, &plan.name)?;
    let mut keys = constraints.keys.iter().filter(|own| own.is_on(key));
    Ok(keys.find_map(|own| own.name.clone().filter(|name| found.contains(name))))
}
