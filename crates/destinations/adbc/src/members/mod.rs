//! Members that lookups add to a table of the database (`unmatched = "add"`).
//!
//! | file | what it owns |
//! |---|---|
//! | `mod.rs` | which tables can get members |
//! | `statements.rs` | the statements, for the run and for the plan |
//! | `numbers.rs` | the numbers that a run has given, and which of them are stored with each unit |
//!
//! A run has a table beside the ledger for each reference, with the keys and numbers of its members. It is one of the run's
//! staging tables, so it is dropped like the others. A unit's transaction adds the members that no other transaction is
//! known to have committed. Streams may add the same member, always with the same number, so the table has no key.
//!
//! # Why a number belongs to one key
//!
//! - DuckDB: it is a value of the reference's own sequence.
//! - SQLite: it follows the highest number in `sqlite_sequence`. The transaction of a unit holds the only lock of writers from
//!   its first statement, and raises `sqlite_sequence` when it ends. So no other program gives a row the same number, not even
//!   while the run is stopped. If the transaction is rolled back, its numbers are forgotten.

mod numbers;
mod statements;

use inrush_destination::{Error, MembersPlan, Result, TargetFacts, TargetPlan};

pub use self::numbers::RunMembers;
use crate::catalog;
use crate::constraints::{self, UniqueKey};
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;

const DOING: &str = "cannot look at the reference of a lookup";

/// The table that keeps the members of a reference until the publish: schema, name, and both in SQL.
pub type KeptTable = (Option<String>, String, String);

/// A reference that gets members. Lookups with the same table, key and number share it.
#[derive(Clone, Debug)]
pub struct MemberTable {
    vendor: Vendor,
    /// The reference.
    plan: MembersPlan,
    /// The types of its key's columns.
    key_types: Vec<String>,
    /// The type of its number's column.
    number_type: String,
    /// The expression that gives its next number; none in SQLite.
    next_number: Option<String>,
    /// The index of the first target whose lookups add members to it.
    pub target: usize,
    /// The targets into which its numbers are loaded: the index of each, and the column that gets the number.
    staged: Vec<(usize, String)>,
    /// The schema and the name of the table that keeps the members until the publish.
    pub stored: (Option<String>, String),
    /// Both, as statements name them.
    pub sql: String,
}

impl MemberTable {
    /// The references of these targets. `kept` names the tables of their members.
    pub fn all(
        session: &mut AdbcSession,
        quirks: &Quirks,
        targets: &[&TargetPlan],
        kept: &dyn Fn(usize, &MembersPlan) -> KeptTable,
    ) -> Result<Vec<MemberTable>> {
        let mut found: Vec<MemberTable> = Vec::new();
        for (target, plan) in targets.iter().enumerate() {
            for members in &plan.members {
                let is_known = |own: &MemberTable| own.plan.is_same_reference(members);
                let at = found.iter().position(is_known).unwrap_or(found.len());
                if at == found.len() {
                    let (schema, name, sql) = kept(at, members);
                    let facts = Facts::find(session, quirks, members)?;
                    found.push(MemberTable {
                        vendor: quirks.vendor,
                        plan: members.clone(),
                        key_types: facts.key_types,
                        number_type: facts.number_type,
                        next_number: facts.next_number,
                        target,
                        staged: Vec::new(),
                        stored: (schema, name),
                        sql,
                    });
                }
                let column = members.column.iter().map(|column| (target, column.clone()));
                found[at].staged.extend(column);
            }
        }
        Ok(found)
    }

    /// True if these are members of this reference.
    pub fn is_of(&self, members: &MembersPlan) -> bool {
        self.plan.is_same_reference(members)
    }

    /// True if rows of this target may have numbers of its members.
    pub fn is_in(&self, target: usize) -> bool {
        self.staged.iter().any(|(own, _)| *own == target)
    }

    /// The reference, as statements name it.
    pub fn reference(&self) -> &str {
        &self.plan.table.sql
    }
}

/// Refuses a table to which members cannot be added.
pub fn check(session: &mut AdbcSession, quirks: &Quirks, members: &MembersPlan) -> Result<()> {
    Facts::find(session, quirks, members).map(drop)
}

/// The catalog's facts about a reference that can get members.
struct Facts {
    key_types: Vec<String>,
    number_type: String,
    next_number: Option<String>,
}

impl Facts {
    fn find(session: &mut AdbcSession, quirks: &Quirks, members: &MembersPlan) -> Result<Facts> {
        let MembersPlan {
            table, key, number, ..
        } = members;
        let facts = catalog::target(session, quirks, table)?;
        let Some(facts) = facts.filter(|facts| facts.obstacle.is_none()) else {
            return Err(members.not_a_table());
        };
        let keys = constraints::of_table(session, quirks, table)?.keys;
        let unique = |names: &[String]| keys.iter().find(|key| key.is_on(names));
        let Some(own) = unique(key) else {
            return Err(members.lacks_unique_index(key, unique_index(members, key)));
        };
        let of_number = std::slice::from_ref(number);
        if unique(of_number).is_none() {
            return Err(members.lacks_unique_index(of_number, unique_index(members, of_number)));
        }
        refuse_columns(&facts, members, own)?;
        let type_of = |name: &String| {
            let mut columns = facts.columns.iter();
            let found = columns.find(|column| column.name.eq_ignore_ascii_case(name));
            found.map(|column| column.sql.clone()).unwrap_or_default()
        };
        Ok(Facts {
            key_types: key.iter().map(type_of).collect(),
            number_type: type_of(number),
            next_number: next_number(session, quirks, members)?,
        })
    }
}

fn refuse_columns(facts: &TargetFacts, members: &MembersPlan, own: &UniqueKey) -> Result<()> {
    let MembersPlan {
        table, key, number, ..
    } = members;
    let sql = &table.sql;
    let is_of_key = |name: &str| key.iter().any(|own| own.eq_ignore_ascii_case(name));
    let mut columns = facts.columns.iter();
    if let Some(column) = columns.find(|column| column.generated && is_of_key(&column.name)) {
        return Err(unsuitable(
            format!(
                "`{}` of {sql} is generated from other columns, so a member cannot have it as its key",
                column.name
            ),
            "compare a column that the database does not compute",
        ));
    }
    if let Some(column) = own.columns.iter().find(|column| column.folds_texts()) {
        return Err(unsuitable(
            format!(
                "`{}` of {sql} has a collation for which different texts are equal, and lookups compare bytes",
                column.name
            ),
            "use the collation BINARY",
        ));
    }
    let is_required = |column: &&inrush_destination::TargetColumn| {
        column.not_null
            && !column.has_default
            && !column.generated
            && !is_of_key(&column.name)
            && !column.name.eq_ignore_ascii_case(number)
    };
    let required = facts.columns.iter().filter(is_required);
    members.refuse_required(required.map(|column| column.name.as_str()))
}

/// The expression that gives the next number of a reference in DuckDB. Refuses a reference whose numbers may be given twice.
fn next_number(
    session: &mut AdbcSession,
    quirks: &Quirks,
    members: &MembersPlan,
) -> Result<Option<String>> {
    let MembersPlan { table, number, .. } = members;
    let (name, sql) = (sql::text(&table.name), &table.sql);
    if quirks.vendor == Vendor::Sqlite {
        let created = session.rows(
            DOING,
            &format!(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = {name} COLLATE NOCASE"
            ),
        )?;
        let created = created.into_iter().flatten().flatten().next();
        // Only a column INTEGER PRIMARY KEY can have AUTOINCREMENT, and here that column is the number, so the number
        // is unique.
        return match created.is_some_and(|text| sql::mentions(&text, "AUTOINCREMENT"))
            && is_row_id(session, members)?
        {
            true => Ok(None),
            false => Err(unsuitable(
                format!(
                    "the taken column `{number}` of {sql} is not INTEGER PRIMARY KEY AUTOINCREMENT, so another row may get the \
                     number of a new member"
                ),
                format!("make the table again with {number} INTEGER PRIMARY KEY AUTOINCREMENT"),
            )),
        };
    }
    let schema = sql::text(table.schema.as_deref().unwrap_or("main"));
    let rows = session.rows(
        DOING,
        &format!(
            "SELECT column_default FROM duckdb_columns() WHERE database_name = current_database() \
             AND lower(schema_name) = lower({schema}) AND lower(table_name) = lower({name}) \
             AND lower(column_name) = lower({})",
            sql::text(number)
        ),
    )?;
    let default = rows.into_iter().flatten().flatten().next();
    let sequence = default.as_deref().and_then(sequence_of);
    let Some(sequence) = sequence else {
        return Err(unsuitable(
            format!(
                "the taken column `{number}` of {sql} does not take its default from a sequence, so there are no numbers for new \
                 members"
            ),
            format!(
                "CREATE SEQUENCE numbers START <after the highest>; ALTER TABLE {sql} ALTER {} SET DEFAULT nextval('numbers');",
                sql::identifier(number)
            ),
        ));
    };
    let bare = sequence.rsplit('.').next().unwrap_or(sequence);
    let cycles = format!(
        "SELECT count(*) FROM duckdb_sequences() WHERE cycle AND lower(sequence_name) = lower({})",
        sql::text(bare.trim_matches('"'))
    );
    if session.number(DOING, &cycles)?.unwrap_or(0) > 0 {
        return Err(unsuitable(
            format!(
                "the sequence {sequence} starts again at its end, so it could give a number that another member has \
                 already"
            ),
            "use a sequence with NO CYCLE",
        ));
    }
    Ok(default)
}

/// The sequence in `nextval('sequence')`.
fn sequence_of(default: &str) -> Option<&str> {
    let inner = default.trim().strip_prefix("nextval('")?;
    let name = inner.strip_suffix("')")?;
    (!name.contains('\'')).then_some(name)
}

/// True if the number is the row ID of a table in SQLite.
fn is_row_id(session: &mut AdbcSession, members: &MembersPlan) -> Result<bool> {
    let question = format!(
        "SELECT count(*) FROM pragma_table_info({}) WHERE pk > 0 AND lower(type) = 'integer' AND lower(name) = lower({})",
        sql::text(&members.table.name),
        sql::text(&members.number)
    );
    Ok(session.number(DOING, &question)?.unwrap_or(0) == 1)
}

fn unique_index(members: &MembersPlan, columns: &[String]) -> String {
    format!(
        "CREATE UNIQUE INDEX {} ON {} ({});",
        sql::identifier(&format!("{}_{}", members.table.name, columns.join("_"))),
        members.table.sql,
        sql::names(columns.iter().map(String::as_str))
    )
}

fn unsuitable(what: String, hint: impl Into<String>) -> Error {
    Error::Unsuitable {
        what,
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_of_a_sequence_is_known() {
        assert_eq!(sequence_of("nextval('s')"), Some("s"));
        assert_eq!(sequence_of("nextval('main.\"S t\"')"), Some("main.\"S t\""));
        for no in ["7", "nextval('a') + nextval('b')", "random()", ""] {
            assert_eq!(sequence_of(no), None, "{no}");
        }
    }
}
