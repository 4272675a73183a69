//! Merges the staged rows of a target by their key, in the transaction of the publish.
//!
//! Rows whose key is in the target are written by an UPDATE, the others by an INSERT. `INSERT ... ON CONFLICT` would do both,
//! but only for targets without versions, and not for all tables of DuckDB. A query counts what will become of the rows
//! before the target is changed, because not every driver counts the rows of a statement.
//!
//! A target that keeps versions has one current version of each key, whose end is NULL. Then the UPDATE is preceded by one
//! that ends the current versions of changed rows; their new versions are among the inserted rows.

use inrush_destination::{Error, MergePlan, MergedRows, Result, Step, TargetPlan, VersionColumns};
use inrush_rows::column_type::ColumnType;
use inrush_rows::plural::counted;

use crate::calendar_text;
use crate::constraints::{self, Constraints, UniqueKey};
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

/// A merge into a target: its statements. `s` is a staged row, `t` a row of the target.
pub struct Merge<'a> {
    vendor: Vendor,
    plan: &'a TargetPlan,
    merge: &'a MergePlan,
    key: UniqueKey,
    source: String,
}

impl<'a> Merge<'a> {
    /// The merge of the rows in staging.
    pub fn of_staging(
        session: &mut AdbcSession,
        quirks: &Quirks,
        staging: &'a Staging,
    ) -> Result<Merge<'a>> {
        let source = match staging.casts() {
            true => format!(
                "(SELECT {} FROM {})",
                staging.named_values().join(", "),
                staging.sql
            ),
            false => staging.sql.clone(),
        };
        let constraints = constraints::of_table(session, quirks, &staging.plan.name)?;
        Ok(Merge::new(quirks, &staging.plan, &constraints, source))
    }

    fn new(
        quirks: &Quirks,
        plan: &'a TargetPlan,
        constraints: &Constraints,
        source: String,
    ) -> Merge<'a> {
        let merge = plan
            .merge
            .as_ref()
            .expect("the plan of an upsert has a merge");
        Merge {
            vendor: quirks.vendor,
            plan,
            merge,
            key: constraints.key_of_merge(merge),
            source,
        }
    }

    /// Performs the merge of `staged` rows, as the run's target with the index `place`. `started_at` is the start of the run,
    /// in microseconds since 1970-01-01T00:00:00Z.
    pub fn perform(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        (place, staged): (usize, u64),
        started_at: i64,
    ) -> Result<MergedRows> {
        let target = &self.plan.name.sql;
        let doing = format!("cannot merge the rows into {target}");
        if session.number(&doing, &self.count_doubled())?.unwrap_or(0) > 0 {
            let names = sql::names(self.merge.key.iter().map(String::as_str));
            return Err(Error::RowsRefused {
                target: place,
                doing,
                message: format!("two rows of the files have the same key ({names})"),
                hint: Some("fix or leave out one of them".to_owned()),
            });
        }
        let moment = self.moment(&self.text_of(started_at));
        let found = session.numbers(&doing, &self.count(&moment))?;
        let [joined, new, changed, overwritten, later] = <[u64; 5]>::try_from(found.as_slice())
            .map_err(|_| Error::Refused {
                doing: doing.clone(),
                message: format!("expected 5 numbers, but {} came", found.len()),
                hint: None,
            })?;
        self.refuse_several(joined, staged)?;
        self.refuse_later(later)?;
        let before = self.count_target(session, quirks, &doing)?;
        for statement in self.changes(&moment) {
            session.refuse_interrupted()?;
            session.change_rows(quirks, place, &doing, &statement)?;
        }
        let after = self.count_target(session, quirks, &doing)?;
        let expected = before.map(|before| before + new + changed);
        if after != expected {
            let (after, expected) = (after.unwrap_or_default(), expected.unwrap_or_default());
            return Err(altered(
                doing,
                format!("the table should have {expected} rows after the merge, but has {after}"),
            ));
        }
        let unlike = session.number(&doing, &self.count_unlike())?.unwrap_or(0);
        if unlike > 0 {
            let rows = counted(unlike, "merged row");
            return Err(altered(
                doing,
                format!("after the merge the table lacks {rows}, or has other values there"),
            ));
        }
        Ok(MergedRows {
            new,
            changed,
            overwritten,
            unchanged: staged - new - changed - overwritten,
        })
    }

    /// The statements that change the target, in their order.
    fn changes(&self, moment: &str) -> Vec<String> {
        let versions = self.merge.versions.as_ref();
        let end = versions.map(|versions| self.end(versions, moment));
        end.into_iter()
            .chain(self.overwrite())
            .chain([self.add(moment)])
            .collect()
    }

    /// The statements as a plan prints them.
    pub fn planned(&self) -> Vec<Step> {
        let changes = self.changes(&self.moment("<start of the run>"));
        let step = |sql| match self.merge.versions {
            // Only the run knows when it began.
            Some(_) => Step::sketch(sql),
            None => Step::statement(sql),
        };
        changes.into_iter().map(step).collect()
    }

    /// The start of the run as a value of the target's type. `text` is the time, or a word for people.
    fn moment(&self, text: &str) -> String {
        let text = sql::text(text);
        match (&self.merge.versions, self.vendor) {
            // SQLite has no types for times: its values are texts.
            (None, _) | (_, Vendor::Sqlite) => text,
            (Some(versions), _) => format!("CAST({text} AS {})", versions.valid_from.sql),
        }
    }

    fn text_of(&self, microseconds: i64) -> String {
        let versions = self.merge.versions.as_ref();
        let zone = match versions.map(|versions| &versions.valid_from.column_type) {
            Some(ColumnType::TimestampTz { .. }) => "+00:00",
            _ => "",
        };
        calendar_text::timestamp(microseconds, zone)
    }

    /// Fails if some staged row has the key of several rows of the target.
    fn refuse_several(&self, joined: u64, staged: u64) -> Result<()> {
        if joined == staged {
            return Ok(());
        }
        let of_versions = match &self.merge.versions {
            Some(_) => "current versions",
            None => "rows",
        };
        Err(Error::Unsuitable {
            what: format!(
                "{} has several {of_versions} with the same key ({})",
                self.plan.name.sql,
                sql::names(self.merge.key.iter().map(String::as_str))
            ),
            hint: match &self.merge.versions {
                Some(versions) => format!(
                    "end all of them but one: only one row of a key may have NULL in {}",
                    sql::identifier(&versions.valid_to)
                ),
                None => "make a unique index on the key".to_owned(),
            },
        })
    }

    /// Fails if some version would end before it began.
    fn refuse_later(&self, later: u64) -> Result<()> {
        if later == 0 {
            return Ok(());
        }
        Err(Error::Unsuitable {
            what: format!(
                "{} has {} that changed after this run began, and would end before it began",
                self.plan.name.sql,
                counted(later, "current version")
            ),
            hint: "another run has loaded the target meanwhile: give this run up with `inrush cleanup`, and load again"
                .to_owned(),
        })
    }

    fn target(&self) -> &str {
        &self.plan.name.sql
    }

    /// The keys of `s` as they are compared.
    fn terms(&self) -> Vec<String> {
        let columns = self.key.columns.iter();
        columns
            .map(|column| {
                let name = sql::identifier(&column.name);
                match &column.collation {
                    Some(collation) => format!("s.{name} COLLATE {}", sql::identifier(collation)),
                    None => format!("s.{name}"),
                }
            })
            .collect()
    }

    fn has_key(&self) -> String {
        let columns = self.key.columns.iter();
        let columns: Vec<String> = columns
            .map(|column| format!("s.{} IS NOT NULL", sql::identifier(&column.name)))
            .collect();
        columns.join(" AND ")
    }

    /// True if `t` is the row that `s` is compared with.
    fn is_of_key(&self) -> String {
        let columns = self.key.columns.iter().zip(self.terms());
        let mut all: Vec<String> = columns
            .map(|(column, term)| format!("t.{} = {term}", sql::identifier(&column.name)))
            .collect();
        if let Some(versions) = &self.merge.versions {
            all.push(format!("t.{} IS NULL", sql::identifier(&versions.valid_to)));
        }
        all.join(" AND ")
    }

    /// The filled columns that are not of the key.
    fn values(&self) -> impl Iterator<Item = &'a str> {
        let columns = self.plan.columns.iter().map(|column| column.name.as_str());
        columns.filter(|name| !self.merge.key.iter().any(|key| key == name))
    }

    /// The filled columns that are written over those of `t`.
    fn overwritten(&self) -> Vec<&'a str> {
        let is_tracked = |name: &str| match &self.merge.versions {
            Some(versions) => versions.tracked.iter().any(|other| other == name),
            None => false,
        };
        self.values().filter(|name| !is_tracked(name)).collect()
    }

    /// Counts joined rows, new ones, changed ones, overwritten ones, and changed ones whose version did not begin before
    /// `moment`.
    fn count(&self, moment: &str) -> String {
        let known = format!(
            "t.{} IS NOT NULL",
            sql::identifier(&self.key.columns[0].name)
        );
        let count = |condition: String| format!("count(CASE WHEN {condition} THEN 1 END)");
        let never = || "count(NULL)".to_owned();
        let (changed, overwritten, later) = match &self.merge.versions {
            None => (never(), count(known.clone()), never()),
            Some(versions) => {
                let changed = format!("{known} AND {}", differ(&versions.tracked));
                let overwritten = self.overwritten();
                let overwritten = match overwritten.is_empty() {
                    true => never(),
                    false => count(format!(
                        "{known} AND NOT {} AND {}",
                        differ(&versions.tracked),
                        differ(&overwritten)
                    )),
                };
                let from = sql::identifier(&versions.valid_from.name);
                let later = count(format!("{changed} AND t.{from} >= {moment}"));
                (count(changed), overwritten, later)
            }
        };
        let new = count(format!(
            "t.{} IS NULL",
            sql::identifier(&self.key.columns[0].name)
        ));
        format!(
            "SELECT count(*), {new}, {changed}, {overwritten}, {later} FROM {} AS s LEFT JOIN {} AS t ON {}",
            self.source,
            self.target(),
            self.is_of_key()
        )
    }

    /// Counts a key that two staged rows have.
    fn count_doubled(&self) -> String {
        format!(
            "SELECT count(*) FROM (SELECT 1 AS one FROM {} AS s WHERE {} GROUP BY {} HAVING count(*) > 1 LIMIT 1) AS doubled",
            self.source,
            self.has_key(),
            self.terms().join(", ")
        )
    }

    /// The number of rows of the target, if counting them is cheap.
    fn count_target(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        doing: &str,
    ) -> Result<Option<u64>> {
        match quirks.counts_targets {
            true => session.number(doing, &format!("SELECT count(*) FROM {}", self.target())),
            false => Ok(None),
        }
    }

    /// Counts the staged rows with a key whose row in the target is missing, or has other values.
    fn count_unlike(&self) -> String {
        let same: String = self
            .values()
            .map(|name| {
                let name = sql::identifier(name);
                match self.vendor {
                    // Not every type has an operator `=`, but every value has a text.
                    Vendor::Postgres => {
                        format!(" AND t.{name}::text IS NOT DISTINCT FROM s.{name}::text")
                    }
                    _ => format!(" AND t.{name} IS NOT DISTINCT FROM s.{name}"),
                }
            })
            .collect();
        format!(
            "SELECT count(*) FROM {} AS s WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS t WHERE {}{same})",
            self.source,
            self.has_key(),
            self.target(),
            self.is_of_key()
        )
    }

    /// Ends the current versions of changed rows.
    fn end(&self, versions: &VersionColumns, moment: &str) -> String {
        let not_current = versions.current.as_deref();
        let not_current = not_current.map(|name| format!(", {} = FALSE", sql::identifier(name)));
        format!(
            "UPDATE {} AS t SET {} = {moment}{} FROM {} AS s WHERE {} AND {}",
            self.target(),
            sql::identifier(&versions.valid_to),
            not_current.unwrap_or_default(),
            self.source,
            self.is_of_key(),
            differ(&versions.tracked)
        )
    }

    /// Writes rows over those with their key; `None` if there is no column for it. Equal versions are left alone.
    fn overwrite(&self) -> Option<String> {
        let names = self.overwritten();
        if names.is_empty() {
            return None;
        }
        let set: Vec<String> = names
            .iter()
            .map(|name| format!("{0} = s.{0}", sql::identifier(name)))
            .collect();
        let only = match &self.merge.versions {
            Some(_) => format!(" AND {}", differ(&names)),
            None => String::new(),
        };
        Some(format!(
            "UPDATE {} AS t SET {} FROM {} AS s WHERE {}{only}",
            self.target(),
            set.join(", "),
            self.source,
            self.is_of_key()
        ))
    }

    /// Adds the rows whose key the target does not have now.
    fn add(&self, moment: &str) -> String {
        let columns = self.plan.columns.iter();
        let mut names: Vec<String> = columns
            .map(|column| sql::identifier(&column.name))
            .collect();
        let mut values: Vec<String> = names.iter().map(|name| format!("s.{name}")).collect();
        if let Some(versions) = &self.merge.versions {
            names.push(sql::identifier(&versions.valid_from.name));
            values.push(moment.to_owned());
            names.push(sql::identifier(&versions.valid_to));
            values.push("NULL".to_owned());
            if let Some(current) = &versions.current {
                names.push(sql::identifier(current));
                values.push("TRUE".to_owned());
            }
        }
        format!(
            "INSERT INTO {0} ({1}) SELECT {2} FROM {3} AS s WHERE NOT EXISTS (SELECT 1 FROM {0} AS t WHERE {4})",
            self.target(),
            names.join(", "),
            values.join(", "),
            self.source,
            self.is_of_key()
        )
    }
}

/// The error of a table that did not take the rows as they were staged.
fn altered(doing: String, message: String) -> Error {
    Error::Refused {
        doing,
        message,
        hint: Some(
            "a trigger, a rule or ON CONFLICT of the table drops or changes rows, or its collation takes two keys \
             of the files for one: fix or leave out those rows, or load into another table"
                .to_owned(),
        ),
    }
}

/// True if one of the columns differs between `t` and `s`. NULL is equal to NULL.
fn differ(names: &[impl AsRef<str>]) -> String {
    let names = names.iter().map(|name| sql::identifier(name.as_ref()));
    let each: Vec<String> = names
        .map(|name| format!("t.{name} IS DISTINCT FROM s.{name}"))
        .collect();
    format!("({})", each.join(" OR "))
}

/// Refuses a target into which rows cannot be merged.
pub fn check(session: &mut AdbcSession, quirks: &Quirks, plan: &TargetPlan) -> Result<()> {
    let target = &plan.name.sql;
    // The staging table does not exist yet.
    let source = format!("(SELECT * FROM {target} WHERE 1 = 0)");
    let constraints = constraints::of_table(session, quirks, &plan.name)?;
    let merge = Merge::new(quirks, plan, &constraints, source);
    let names = sql::names(merge.merge.key.iter().map(String::as_str));
    let refuse = |what: String, hint: String| Err(Error::Unsuitable { what, hint });
    let has_index = constraints.of_merge(merge.merge).is_some();
    // SQLite and DuckDB want a name.
    let index = format!(
        "CREATE UNIQUE INDEX {} ON {target} ({names})",
        sql::identifier(&format!("{}_key", plan.name.name))
    );
    let Some(versions) = &merge.merge.versions else {
        return match has_index {
            true => Ok(()),
            false => refuse(
                format!("{target} has no unique index on the key ({names}), which an upsert needs"),
                format!("{index}; or name the columns of an existing unique index"),
            ),
        };
    };
    let current = format!(" WHERE {} IS NULL", sql::identifier(&versions.valid_to));
    let of_all = constraints
        .keys
        .iter()
        .find(|key| key.is_within(&merge.merge.key));
    if let Some(key) = of_all {
        let own = key.columns.iter().map(|column| column.name.as_str());
        return refuse(
            format!(
                "{target} has a unique index on the key ({}), so it can have only one version of each row",
                sql::names(own)
            ),
            match quirks.partial_indexes {
                true => format!("drop that index, and {index}{current}"),
                false => "drop that index or constraint".to_owned(),
            },
        );
    }
    if quirks.partial_indexes && !has_index {
        return refuse(
            format!(
                "{target} has no unique index on the key ({names}) of its current versions, which `scd` needs"
            ),
            format!("{index}{current}"),
        );
    }
    if quirks.vendor == Vendor::Postgres {
        let count = merge.count(&merge.moment("2000-01-01"));
        let planned = session.rows("cannot plan the merge", &count);
        if let Err(error) = planned {
            return refuse(
                format!("{target} has a column whose values cannot be compared: {error}"),
                "give it a type with an operator `=`, such as jsonb for json; or do not load it"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use inrush_destination::{ColumnPlan, ReplacedRows, TargetName, WriteMode};

    use super::*;

    fn column(name: &str, column_type: ColumnType) -> ColumnPlan {
        ColumnPlan {
            name: name.to_owned(),
            sql: "X".to_owned(),
            column_type,
            nullable: true,
        }
    }

    fn plan(versions: Option<VersionColumns>) -> TargetPlan {
        let columns = ["no", "city", "phone"];
        TargetPlan {
            name: TargetName {
                schema: None,
                name: "t".to_owned(),
                sql: "\"t\"".to_owned(),
            },
            columns: columns.map(|name| column(name, ColumnType::Int32)).to_vec(),
            mode: WriteMode::Upsert,
            replaced: ReplacedRows::Removed,
            partition_by: Vec::new(),
            bounds: Vec::new(),
            merge: Some(MergePlan {
                key: vec!["no".to_owned()],
                versions,
            }),
            members: Vec::new(),
            shape: String::new(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
        }
    }

    fn changes(plan: &TargetPlan, vendor: Vendor) -> Vec<String> {
        let merge = Merge {
            vendor,
            plan,
            merge: plan.merge.as_ref().expect("a merge"),
            key: UniqueKey::of_columns(&["no".to_owned()]),
            source: "staged".to_owned(),
        };
        merge.changes(&merge.moment(&merge.text_of(1_000_000)))
    }

    #[test]
    fn known_rows_are_updated_and_others_added() {
        assert_eq!(
            changes(&plan(None), Vendor::DuckDb),
            [
                "UPDATE \"t\" AS t SET \"city\" = s.\"city\", \"phone\" = s.\"phone\" FROM staged AS s \
                 WHERE t.\"no\" = s.\"no\"",
                "INSERT INTO \"t\" (\"no\", \"city\", \"phone\") SELECT s.\"no\", s.\"city\", s.\"phone\" \
                 FROM staged AS s WHERE NOT EXISTS (SELECT 1 FROM \"t\" AS t WHERE t.\"no\" = s.\"no\")",
            ]
        );
    }

    #[test]
    fn changed_rows_end_their_version() {
        let versions = VersionColumns {
            tracked: vec!["city".to_owned()],
            valid_from: column("a", ColumnType::TimestampTz { fraction_digits: 6 }),
            valid_to: "b".to_owned(),
            current: Some("c".to_owned()),
        };
        let plan = plan(Some(versions));
        let is_current = "t.\"no\" = s.\"no\" AND t.\"b\" IS NULL";
        let moment = "CAST('1970-01-01 00:00:01+00:00' AS X)";
        assert_eq!(
            changes(&plan, Vendor::Postgres),
            [
                format!(
                    "UPDATE \"t\" AS t SET \"b\" = {moment}, \"c\" = FALSE FROM staged AS s \
                     WHERE {is_current} AND (t.\"city\" IS DISTINCT FROM s.\"city\")"
                ),
                format!(
                    "UPDATE \"t\" AS t SET \"phone\" = s.\"phone\" FROM staged AS s \
                     WHERE {is_current} AND (t.\"phone\" IS DISTINCT FROM s.\"phone\")"
                ),
                format!(
                    "INSERT INTO \"t\" (\"no\", \"city\", \"phone\", \"a\", \"b\", \"c\") \
                     SELECT s.\"no\", s.\"city\", s.\"phone\", {moment}, NULL, TRUE FROM staged AS s \
                     WHERE NOT EXISTS (SELECT 1 FROM \"t\" AS t WHERE {is_current})"
                ),
            ]
        );
        let text = "SET \"b\" = '1970-01-01 00:00:01+00:00', ";
        assert!(changes(&plan, Vendor::Sqlite)[0].contains(text));
    }
}
