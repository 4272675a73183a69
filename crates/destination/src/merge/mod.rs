//! Merges the staged rows of a target by their key, for destinations that do it by statements of SQL, in the
//! transaction of their publish.
//!
//! Rows whose key is in the target are written by an UPDATE, the others by an INSERT. One statement that does both
//! (`MERGE`, `INSERT ... ON CONFLICT`) would not keep versions, and has its own hazards in each database. Before the
//! target is changed, a query counts how many rows will be inserted and changed, because not every driver counts the
//! rows of a statement. Another query compares the target with the staged rows afterwards.
//!
//! A target that keeps versions has one current version of each key, whose end is NULL. Another UPDATE then comes
//! first: it ends the current versions of changed rows. Their new versions are among the inserted rows.
//!
//! A destination says how its database writes these statements ([`MergeDialect`]), and runs them ([`MergeSession`]).

mod obstacle;
mod statements;

use inrush_rows::column_type::ColumnType;
use inrush_rows::plural::counted;
use inrush_rows::sql_text::identifier;

pub use self::obstacle::{MergeObstacle, names};
use crate::calendar_text;
use crate::error::{Error, Result};
use crate::publishing::MergedRows;
use crate::steps::Step;
use crate::target::{ColumnPlan, MergePlan, TargetPlan, VersionColumns};

/// The placeholder for the start of the run in a plan.
const START: &str = "<start of the run>";

/// How a database writes the statements of a merge. The defaults follow the SQL standard where it is enough.
pub trait MergeDialect {
    /// A column of the key in a table, as the unique index on the key compares it.
    fn key_term(&self, table: &str, column: &str) -> String {
        format!("{table}.{}", identifier(column))
    }

    /// True if a column differs between `t` and `s`. The result is never NULL, and NULL is equal to NULL.
    fn differs(&self, column: &str) -> String {
        let name = identifier(column);
        format!("t.{name} IS DISTINCT FROM s.{name}")
    }

    /// True if a column is the same in `t` and `s` after a merge.
    fn is_same(&self, column: &str) -> String {
        let name = identifier(column);
        format!("t.{name} IS NOT DISTINCT FROM s.{name}")
    }

    /// The statement that changes the rows of `t` whose key is in `s`, if `only` holds.
    fn update(&self, update: &MergeUpdate<'_>) -> String {
        let MergeUpdate {
            target,
            source,
            set,
            is_of_key,
            only,
        } = update;
        let only = only.as_ref().map(|only| format!(" AND {only}"));
        format!(
            "UPDATE {target} AS t SET {set} FROM {source} AS s WHERE {is_of_key}{}",
            only.unwrap_or_default()
        )
    }

    /// The statements that a session runs for an INSERT into the target, as a plan prints them.
    fn insert(&self, insert: String) -> Vec<String> {
        vec![insert]
    }

    /// A query that returns only its first row; `select` is the text after SELECT.
    fn first(&self, select: &str) -> String {
        format!("SELECT {select} LIMIT 1")
    }

    /// The function that counts rows in 64 bits.
    fn count(&self) -> &'static str {
        "count"
    }

    /// A value of a boolean column.
    fn truth(&self, value: bool) -> &'static str {
        match value {
            true => "TRUE",
            false => "FALSE",
        }
    }

    /// The type of text to which values of any other type can be cast.
    fn text_type(&self) -> &'static str {
        "VARCHAR"
    }

    /// The text for the offset of UTC, which is written after a moment with a zone.
    fn offset(&self) -> &'static str {
        "+00:00"
    }

    /// A time as a value of the column in which versions begin.
    fn moment(&self, text: &str, valid_from: &ColumnPlan) -> String {
        format!("CAST('{text}' AS {})", valid_from.sql)
    }

    /// True if the rows of a target are counted before and after the merge, because its rules may silently leave out or
    /// replace rows.
    fn counts_target(&self) -> bool {
        false
    }
}

/// An UPDATE of a merge.
#[derive(Debug)]
pub struct MergeUpdate<'a> {
    /// The target.
    pub target: &'a str,
    /// The staged rows.
    pub source: &'a str,
    /// The new values.
    pub set: String,
    /// True if `t` is the row that `s` is compared with.
    pub is_of_key: String,
    /// Another condition.
    pub only: Option<String>,
}

/// A session that merges.
pub trait MergeSession {
    /// Runs a query with few rows.
    fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>>;

    /// Runs a statement that changes the target. If a constraint refuses rows, the error says so.
    fn change(&mut self, doing: &str, sql: &str) -> Result<()>;

    /// Like [`change`](Self::change), for the INSERT into the target.
    fn insert(&mut self, doing: &str, sql: String) -> Result<()> {
        self.change(doing, &sql)
    }
}

/// A merge into a target. `s` is a staged row, `t` the row of the target that it is compared with.
pub struct Merge<'a> {
    dialect: &'a dyn MergeDialect,
    plan: &'a TargetPlan,
    merge: &'a MergePlan,
    /// The staged rows: a table, or a query in parentheses.
    source: &'a str,
}

impl<'a> Merge<'a> {
    /// The merge of these rows.
    pub fn new(dialect: &'a dyn MergeDialect, plan: &'a TargetPlan, source: &'a str) -> Merge<'a> {
        Merge {
            dialect,
            plan,
            merge: plan.merge_plan(),
            source,
        }
    }

    /// Performs the merge of `staged` rows, as the run's target with the index `place`. `started_at` is the start of
    /// the run, in microseconds since 1970-01-01T00:00:00Z.
    pub fn perform(
        &self,
        session: &mut dyn MergeSession,
        (place, staged): (usize, u64),
        started_at: i64,
    ) -> Result<MergedRows> {
        let doing = format!("cannot merge the rows into {}", self.plan.name.sql);
        if number(session, &doing, &self.count_doubled())? > 0 {
            return Err(Error::RowsRefused {
                target: place,
                doing,
                message: format!("two rows of the files have the same key ({})", self.key()),
                hint: Some("fix or leave out one of them".to_owned()),
            });
        }
        let start = self.text_of(started_at);
        let moment = self.moment(&start);
        let found = numbers(session, &doing, &self.count(&moment))?;
        let [joined, new, changed, overwritten, later] = <[u64; 5]>::try_from(found.as_slice())
            .map_err(|_| Error::Refused {
                doing: doing.clone(),
                message: format!("expected 5 numbers, but got {}", found.len()),
                hint: None,
            })?;
        self.refuse_several(joined, staged)?;
        if let Some(versions) = &self.merge.versions {
            let start = (start.as_str(), moment.as_str());
            self.refuse_later(session, &doing, versions, start, later)?;
            self.refuse_overlap(session, &doing, versions, start)?;
        }
        let before = self.count_target(session, &doing)?;
        for update in self.updates(&moment) {
            session.change(&doing, &update)?;
        }
        session.insert(&doing, self.add(&moment))?;
        let after = self.count_target(session, &doing)?;
        let expected = before.map(|before| before + new + changed);
        if after != expected {
            let (after, expected) = (after.unwrap_or_default(), expected.unwrap_or_default());
            return Err(altered(
                doing,
                format!("the table should have {expected} rows after the merge, but has {after}"),
            ));
        }
        let unlike = number(session, &doing, &self.count_unlike())?;
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

    /// The statements as a plan prints them, with the queries that guard them.
    pub fn planned(&self) -> Vec<Step> {
        let moment = self.moment(START);
        let versions = self.merge.versions.as_ref();
        let count_target = self
            .dialect
            .counts_target()
            .then(|| self.count_target_query());
        let before = [self.count_doubled(), self.count(&moment)];
        let overlap = versions.map(|versions| self.overlap(versions, &moment));
        before
            .into_iter()
            .chain(overlap)
            .chain(count_target.clone())
            .chain(self.updates(&moment))
            .chain(self.dialect.insert(self.add(&moment)))
            .chain(count_target)
            .chain([self.count_unlike()])
            .map(|sql| match sql.contains(START) {
                // Only the run knows when it began.
                true => Step::sketch(sql),
                false => Step::statement(sql),
            })
            .collect()
    }

    /// A query that compares the columns as the merge does. It fails if the database cannot compare one of them.
    pub fn trial(&self) -> String {
        self.count(&self.moment("2000-01-01"))
    }

    /// The names of the key, as messages list them.
    fn key(&self) -> String {
        names(&self.merge.key)
    }

    /// The start of the run as a value of the target's type. `text` is the time, or a word for people.
    fn moment(&self, text: &str) -> String {
        let versions = self.merge.versions.as_ref();
        let moment = versions.map(|versions| self.dialect.moment(text, &versions.valid_from));
        moment.unwrap_or_default()
    }

    fn text_of(&self, microseconds: i64) -> String {
        let versions = self.merge.versions.as_ref();
        let offset = match versions.map(|versions| &versions.valid_from.column_type) {
            Some(ColumnType::TimestampTz { .. }) => self.dialect.offset(),
            _ => "",
        };
        calendar_text::timestamp(microseconds, offset)
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
                self.key()
            ),
            hint: match &self.merge.versions {
                Some(versions) => format!(
                    "end all of them but one: only one row of a key may have NULL in {}",
                    identifier(&versions.valid_to)
                ),
                None => "make a unique index on the key".to_owned(),
            },
        })
    }

    /// Fails if some version would end before it began. `start` is the start of the run, as text and as a value.
    fn refuse_later(
        &self,
        session: &mut dyn MergeSession,
        doing: &str,
        versions: &VersionColumns,
        (start, moment): (&str, &str),
        later: u64,
    ) -> Result<()> {
        if later == 0 {
            return Ok(());
        }
        let found = session.rows(doing, &self.later(versions, moment))?;
        let (key, begins) = self.key_and_time(found.into_iter().next().unwrap_or_default());
        Err(Error::Unsuitable {
            what: format!(
                "{} has {} at or after the start of this run ({start}): the version of {key} begins at {begins}, so it would \
                 end before it began",
                self.plan.name.sql,
                match later {
                    1 => "1 current version that begins".to_owned(),
                    _ => format!("{} that begin", counted(later, "current version")),
                }
            ),
            hint: format!(
                "if another run has loaded the target meanwhile, give this run up with `inrush cleanup`, and load again; \
                 if such a version begins in the future, correct its {}",
                identifier(&versions.valid_from.name)
            ),
        })
    }

    /// Fails if a new version would begin inside one that ended.
    fn refuse_overlap(
        &self,
        session: &mut dyn MergeSession,
        doing: &str,
        versions: &VersionColumns,
        (start, moment): (&str, &str),
    ) -> Result<()> {
        let found = session.rows(doing, &self.overlap(versions, moment))?;
        let Some(row) = found.into_iter().next() else {
            return Ok(());
        };
        let (key, ends) = self.key_and_time(row);
        Err(Error::Unsuitable {
            what: format!(
                "{} has a version of {key} that ends at {ends}, after the start of this run ({start}), so its next version \
                 would begin before that end",
                self.plan.name.sql
            ),
            hint: format!(
                "correct {} of that version; or give this run up with `inrush cleanup`, and load again after that time",
                identifier(&versions.valid_to)
            ),
        })
    }

    /// The key and the time in a row that shows why a merge is refused.
    fn key_and_time(&self, row: Vec<Option<String>>) -> (String, String) {
        let mut row = row.into_iter().map(Option::unwrap_or_default);
        let columns = self.merge.key.iter();
        let key: Vec<String> = columns
            .map(|name| format!("{name} = {}", row.next().unwrap_or_default()))
            .collect();
        (key.join(", "), row.next().unwrap_or_default())
    }

    /// The number of rows of the target, if they are counted.
    fn count_target(&self, session: &mut dyn MergeSession, doing: &str) -> Result<Option<u64>> {
        match self.dialect.counts_target() {
            true => number(session, doing, &self.count_target_query()).map(Some),
            false => Ok(None),
        }
    }
}

/// Queries one number; 0 if there is no row.
fn number(session: &mut dyn MergeSession, doing: &str, sql: &str) -> Result<u64> {
    let found = numbers(session, doing, sql)?;
    Ok(found.first().copied().unwrap_or(0))
}

/// Queries a row of numbers.
fn numbers(session: &mut dyn MergeSession, doing: &str, sql: &str) -> Result<Vec<u64>> {
    let row = session.rows(doing, sql)?.into_iter().next();
    let texts = row.into_iter().flatten().map(Option::unwrap_or_default);
    let numbers = texts.map(|text| {
        // Some drivers return whole numbers as floats.
        let whole = text.strip_suffix(".0").unwrap_or(&text);
        whole.parse().map_err(|_| Error::Refused {
            doing: doing.to_owned(),
            message: format!("expected a number, but got {text:?}"),
            hint: None,
        })
    });
    numbers.collect()
}

/// The error if a table did not store the rows as they were staged.
fn altered(doing: String, message: String) -> Error {
    Error::Refused {
        doing,
        message,
        hint: Some(
            "a trigger, a rule, ON CONFLICT or IGNORE_DUP_KEY of the table drops or changes rows, or its collation treats two \
             keys of the files as equal: fix or leave out those rows, or load into another table"
                .to_owned(),
        ),
    }
}
