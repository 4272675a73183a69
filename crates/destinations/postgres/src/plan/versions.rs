//! Versions of rows: a target that is a slowly changing dimension of type 2.
//!
//! A version is valid from `valid_from` on and before `valid_to`, which is NULL in the current version. All versions of
//! a run begin at one moment, the start of the run in the ledger, so a resumed run uses the same moment. A unique index
//! on the key of the current versions prevents two current versions of one key, even if other programs write to the
//! target.

use inrush_destination::Step;
use inrush_package::ScdColumns;
use inrush_rows::column::{Column, ColumnType};
use tokio_postgres::error::SqlState;

use super::flow_target::FlowTarget;
use super::key_index::{self, KeyIndex};
use crate::Session;
use crate::catalog::{CatalogColumn, TableFacts};
use crate::plan::failure::PlanFailure;
use crate::quote::{identifier, qualified};

/// The versions that a target keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionsPlan {
    /// The loaded columns whose change makes a new version.
    tracked: Vec<String>,
    /// The other loaded columns, apart from the key: they are overwritten in the current version.
    overwritten: Vec<String>,
    /// The columns that the switch fills.
    columns: ScdColumns,
    /// The type of the columns with times.
    time_type: TimeType,
    /// The ledger's table of runs.
    run_table: String,
    /// The unique index of the current versions, which says which keys are equal.
    index: KeyIndex,
}

/// The type of the columns with times, as SQL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TimeType {
    sql: String,
    has_zone: bool,
}

/// The rows of a staging table, to be merged as versions.
#[derive(Clone, Debug)]
pub struct VersionRows<'a> {
    /// The versions of the target.
    pub versions: &'a VersionsPlan,
    /// The target.
    pub target: String,
    /// The staging table.
    pub staging: String,
    /// The loaded columns.
    pub loaded: &'a [Column],
    /// The key.
    pub key: &'a [String],
    /// The run's number in SQL, or a placeholder in a printed plan.
    pub run: String,
}

impl VersionRows<'_> {
    /// The merge of all rows.
    pub fn all(&self) -> VersionMerge {
        self.of(&self.staging)
    }

    /// The merge of the rows that meet a condition.
    pub fn only(&self, condition: &str) -> VersionMerge {
        let staging = &self.staging;
        self.of(&format!("(SELECT * FROM ONLY {staging} WHERE {condition})"))
    }

    fn of(&self, source: &str) -> VersionMerge {
        let VersionRows {
            versions,
            target,
            loaded,
            key,
            run,
            ..
        } = self;
        versions.merge(target, source, loaded, key, run)
    }
}

/// The statements that merge rows as versions, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionMerge {
    /// Counts, before the merge, the rows without a current version, the changed rows, the rows that are overwritten, and the
    /// changed rows whose current version does not begin before the run.
    pub count: String,
    /// Finds a changed row whose current version does not begin before the run. Returns its key, the time at which the
    /// version begins, and the start of the run, as texts.
    pub later: String,
    /// Finds a row whose new version would begin before an ended version of its key ends. Returns its key, that end,
    /// and the start of the run, as texts.
    pub overlap: String,
    /// Ends the current versions of changed rows.
    pub end: String,
    /// Overwrites columns that are not tracked in current versions; `None` if all columns are tracked.
    pub overwrite: Option<String>,
    /// Adds a version for each row that has no current version now.
    pub add: String,
    /// Counts the rows that have a current version now.
    pub count_current: String,
}

impl VersionsPlan {
    /// Decides how the versions of a target are kept, and refuses a target that cannot keep them.
    pub async fn plan(
        session: &Session,
        target: &FlowTarget<'_>,
        loaded: &[Column],
        key: &[String],
        columns: ScdColumns,
        ledger_schema: &str,
    ) -> Result<VersionsPlan, PlanFailure> {
        let facts = target.facts.as_ref().expect("an upsert has a target");
        let is_loaded = |name: &String| loaded.iter().any(|column| column.name == *name);
        for (name, setting) in key.iter().map(|name| (name, "key")).chain(
            columns
                .track
                .iter()
                .flatten()
                .map(|name| (name, "scd.track")),
        ) {
            if !is_loaded(name) {
                return Err(target
                    .mismatch(
                        format!("the column `{name}` of `{setting}` is not loaded"),
                        format!("in `{setting}`, name only columns that are loaded"),
                    )
                    .into());
            }
        }
        let nullable = key.iter().find(|name| {
            let mut known = facts.columns.iter();
            known.any(|column| column.name == **name && !column.not_null)
        });
        if let Some(name) = nullable {
            return Err(target
                .refusal(
                    format!(
                        "allows NULL in `{name}`, a column of the key by which its versions are found"
                    ),
                    format!(
                        "ALTER TABLE {} ALTER COLUMN {} SET NOT NULL;",
                        target.sql,
                        identifier(name)
                    ),
                )
                .into());
        }
        let others = || {
            let names = loaded.iter().map(|column| &column.name);
            names.filter(|name| !key.contains(name))
        };
        let is_tracked = |name: &&String| match &columns.track {
            Some(track) => track.contains(name),
            None => true,
        };
        let versions = VersionsPlan {
            tracked: others().filter(is_tracked).cloned().collect(),
            overwritten: others().filter(|name| !is_tracked(name)).cloned().collect(),
            time_type: time_type(target, facts, &columns)?,
            run_table: qualified(ledger_schema, "run"),
            index: index_of_current(session, target, key, &columns.valid_to).await?,
            columns,
        };
        if versions.tracked.is_empty() {
            return Err(target
                .mismatch(
                    "no column is tracked, so no row can get a second version",
                    "name columns in `scd.track`, or remove `scd`: `mode = \"upsert\"` overwrites rows",
                )
                .into());
        }
        versions
            .check_statements(session, target, loaded, key)
            .await?;
        Ok(versions)
    }

    /// The unique index of the current versions.
    pub fn index(&self) -> &KeyIndex {
        &self.index
    }

    /// The column with the time at which a version begins.
    pub fn valid_from(&self) -> &str {
        &self.columns.valid_from
    }

    /// The column with the time at which a version ends.
    pub fn valid_to(&self) -> &str {
        &self.columns.valid_to
    }

    /// Refuses columns that the server cannot compare.
    async fn check_statements(
        &self,
        session: &Session,
        target: &FlowTarget<'_>,
        loaded: &[Column],
        key: &[String],
    ) -> Result<(), PlanFailure> {
        let merge = self.merge_at(&target.sql, &target.sql, loaded, key, "pg_catalog.now()");
        for sql in [Some(&merge.end), merge.overwrite.as_ref()]
            .into_iter()
            .flatten()
        {
            let doing = "asking the server for the merge of versions";
            let planned = session.query(&format!("EXPLAIN {sql}"), &[], doing).await;
            let Err(error) = planned else {
                continue;
            };
            if error.code() != Some(&SqlState::UNDEFINED_FUNCTION) {
                return Err(error.into());
            }
            return Err(target
                .refusal(
                    format!("has a column whose values cannot be compared: {error}"),
                    "give it a type with an operator `=`, such as jsonb for json; or do not load it",
                )
                .into());
        }
        Ok(())
    }

    /// The statements that merge a table, or a query in parentheses. `run` is the run's number in SQL, or a placeholder
    /// in a printed plan.
    fn merge(
        &self,
        target: &str,
        staging: &str,
        loaded: &[Column],
        key: &[String],
        run: &str,
    ) -> VersionMerge {
        let start = format!(
            "(SELECT started_at FROM {} WHERE run_id = {run})",
            self.run_table
        );
        self.merge_at(target, staging, loaded, key, &start)
    }

    fn merge_at(
        &self,
        target: &str,
        staging: &str,
        loaded: &[Column],
        key: &[String],
        start: &str,
    ) -> VersionMerge {
        let TimeType { sql, has_zone } = &self.time_type;
        let moment = match has_zone {
            true => format!("CAST({start} AS {sql})"),
            false => format!("CAST({start} AT TIME ZONE 'UTC' AS {sql})"),
        };
        let [valid_from, valid_to] =
            [&self.columns.valid_from, &self.columns.valid_to].map(|name| identifier(name));
        let current = self.columns.current.as_deref().map(identifier);
        let is_current_of = format!("{} AND t.{valid_to} IS NULL", self.index.is_same("t", "s"));
        let is_ended_of = self.index.is_same("e", "s");
        let key_texts: Vec<String> = key
            .iter()
            .map(|name| format!("s.{}::text", identifier(name)))
            .collect();
        let (key_texts, in_order) = (key_texts.join(", "), of_table("s", key));
        let differ = |names: &[String]| {
            format!(
                "(ROW({}) IS DISTINCT FROM ROW({}))",
                of_table("t", names),
                of_table("s", names)
            )
        };
        let changed = differ(&self.tracked);
        let not_current = current.iter().map(|name| format!(", {name} = false"));
        let set = self.overwritten.iter();
        let set: Vec<String> = set
            .map(|name| format!("{0} = s.{0}", identifier(name)))
            .collect();
        let names: Vec<String> = loaded.iter().map(|column| column.name.clone()).collect();
        let (with_current, is_true) = match &current {
            Some(name) => (format!(", {name}"), ", true"),
            None => (String::new(), ""),
        };
        let is_known = format!("t.{} IS NOT NULL", identifier(&key[0]));
        let overwritten = match set.is_empty() {
            true => "false".to_owned(),
            false => format!("NOT {changed} AND {}", differ(&self.overwritten)),
        };
        VersionMerge {
            count: format!(
                "SELECT count(*) FILTER (WHERE NOT {is_known}), count(*) FILTER (WHERE {is_known} AND {changed}), \
                 count(*) FILTER (WHERE {is_known} AND {overwritten}), \
                 count(*) FILTER (WHERE {is_known} AND {changed} AND t.{valid_from} >= {moment}) \
                 FROM {staging} s LEFT JOIN {target} t ON {is_current_of}"
            ),
            later: format!(
                "SELECT {key_texts}, t.{valid_from}::text, {moment}::text FROM {staging} s JOIN {target} t ON {is_current_of} \
                 WHERE {changed} AND t.{valid_from} >= {moment} ORDER BY {in_order} LIMIT 1"
            ),
            overlap: format!(
                "SELECT {key_texts}, e.{valid_to}::text, {moment}::text FROM {staging} s \
                 JOIN {target} e ON {is_ended_of} AND e.{valid_to} > {moment} LEFT JOIN {target} t ON {is_current_of} \
                 WHERE NOT {is_known} OR {changed} ORDER BY {in_order} LIMIT 1"
            ),
            end: format!(
                "UPDATE {target} t SET {valid_to} = {moment}{} FROM {staging} s WHERE {is_current_of} AND {changed}",
                not_current.collect::<String>()
            ),
            overwrite: (!set.is_empty()).then(|| {
                format!(
                    "UPDATE {target} t SET {} FROM {staging} s WHERE {is_current_of} AND {}",
                    set.join(", "),
                    differ(&self.overwritten)
                )
            }),
            add: format!(
                "INSERT INTO {target} ({}, {valid_from}, {valid_to}{with_current}) OVERRIDING SYSTEM VALUE \
                 SELECT {}, {moment}, NULL{is_true} FROM {staging} s \
                 WHERE NOT EXISTS (SELECT FROM {target} t WHERE {is_current_of})",
                list(names.iter()),
                of_table("s", &names)
            ),
            count_current: format!(
                "SELECT count(*) FROM {staging} s WHERE EXISTS (SELECT FROM {target} t WHERE {is_current_of})"
            ),
        }
    }
}

impl VersionMerge {
    /// The statements that change the target, in their order.
    pub fn changes(&self) -> impl Iterator<Item = &String> {
        let end = std::iter::once(&self.end);
        end.chain(&self.overwrite).chain([&self.add])
    }

    /// The statements as a plan prints them, with the queries that guard them.
    pub fn planned(&self) -> impl Iterator<Item = Step> {
        let before = [&self.count, &self.overlap].into_iter();
        let all = before.chain(self.changes()).chain([&self.count_current]);
        all.map(Step::sketch)
    }
}

/// The unique index of current versions. Refuses a target without such an index, and a target with a unique index of
/// all versions on the key. To find that out, the server plans a statement that would use the index, without running
/// it.
async fn index_of_current(
    session: &Session,
    target: &FlowTarget<'_>,
    key: &[String],
    valid_to: &str,
) -> Result<KeyIndex, PlanFailure> {
    let keys = list(key.iter());
    let current = format!("WHERE {} IS NULL", identifier(valid_to));
    let has_index = async |condition: &str| {
        let sql = format!(
            "EXPLAIN INSERT INTO {0} ({keys}) SELECT {keys} FROM {0} ON CONFLICT ({keys}) {condition} DO NOTHING",
            target.sql
        );
        let doing = "asking the server for the unique index of current versions";
        match session.query(&sql, &[], doing).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(&SqlState::INVALID_COLUMN_REFERENCE) => Ok(false),
            Err(error) => Err(error),
        }
    };
    if has_index("").await? {
        return Err(target
            .refusal(
                format!(
                    "has a unique index on the key ({keys}), so it can have only one version of each row"
                ),
                format!(
                    "drop that index, and CREATE UNIQUE INDEX ON {} ({keys}) {current};",
                    target.sql
                ),
            )
            .into());
    }
    if !has_index(&current).await? {
        return Err(target
            .refusal(
                format!(
                    "has no unique index on the key ({keys}) of its current versions, which `scd` needs"
                ),
                format!("CREATE UNIQUE INDEX ON {} ({keys}) {current};", target.sql),
            )
            .into());
    }
    let facts = target.facts.as_ref().expect("an upsert has a target");
    let found = key_index::find(session, facts.oid, key, Some(valid_to)).await?;
    Ok(key_index::distinct(key, found).swap_remove(0))
}

/// The type of the columns with times. A date is refused, because it cannot distinguish two runs of one day.
fn time_type(
    target: &FlowTarget<'_>,
    facts: &TableFacts,
    columns: &ScdColumns,
) -> Result<TimeType, PlanFailure> {
    let column = |name: &str| -> Result<&CatalogColumn, PlanFailure> {
        let found = facts.columns.iter().find(|column| column.name == name);
        let missing = || {
            target.refusal(
                format!("has no column `{name}`, which `scd` fills"),
                format!(
                    "add the column, or name others in the package: scd = {{ valid_from = {:?}, valid_to = {:?} }}",
                    columns.valid_from, columns.valid_to
                ),
            )
        };
        found.ok_or_else(|| missing().into())
    };
    let refuse = |name: &str, what: String, fix: String| {
        let alter = format!(
            "ALTER TABLE {} ALTER COLUMN {} {fix};",
            target.sql,
            identifier(name)
        );
        Err(target.refusal(what, alter).into())
    };
    let (from, to) = (column(&columns.valid_from)?, column(&columns.valid_to)?);
    let has_zone = match from.resolved.column_type {
        ColumnType::TimestampTz { .. } => true,
        ColumnType::Timestamp { .. } => false,
        _ => {
            return refuse(
                &from.name,
                format!(
                    "has the type {} in `{}`, but versions begin at a time",
                    from.resolved.sql, from.name
                ),
                "TYPE timestamptz".to_owned(),
            );
        }
    };
    if to.resolved.catalog_type != from.resolved.catalog_type {
        return refuse(
            &to.name,
            format!(
                "has the type {} in `{}`, but {} in `{}`",
                to.resolved.sql, to.name, from.resolved.sql, from.name
            ),
            format!("TYPE {}", from.resolved.sql),
        );
    }
    if to.not_null {
        return refuse(
            &to.name,
            format!(
                "has NOT NULL on `{}`, where NULL marks the current version",
                to.name
            ),
            "DROP NOT NULL".to_owned(),
        );
    }
    if let Some(name) = &columns.current {
        let current = column(name)?;
        if current.resolved.column_type != ColumnType::Bool {
            return refuse(
                name,
                format!(
                    "has the type {} in `{name}`, but `scd.current` needs a boolean",
                    current.resolved.sql
                ),
                "TYPE boolean".to_owned(),
            );
        }
    }
    Ok(TimeType {
        sql: from.resolved.sql.clone(),
        has_zone,
    })
}

fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| identifier(name)).collect();
    names.join(", ")
}

fn of_table(table: &str, names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("{table}.{}", identifier(name)))
        .collect();
    names.join(", ")
}
