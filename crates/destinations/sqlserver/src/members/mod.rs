//! Members that lookups add to a table of the database (`unmatched = "add"`).
//!
//! | file | what it owns |
//! |---|---|
//! | `mod.rs` | which tables can get members |
//! | `statements.rs` | the statements, for the run and for the plan |
//! | `planned.rs` | the steps that the plan prints |
//! | `numbers.rs` | the numbers that a run has given, and which of them are stored with each unit |
//!
//! A run has a table beside the ledger for each reference, with the keys and numbers of its members. It is one of the run's
//! staging tables, so it is dropped like the others. A unit's transaction adds the members that no other transaction is
//! known to have committed. Streams may add the same member, always with the same number, so the table has no key.
//!
//! # Why a number belongs to one key
//!
//! The number is a value of the reference's own identity column. To take values from it, the keys are inserted into the
//! reference in a transaction of their own, which is rolled back: the server never gives these values again
//! (<https://learn.microsoft.com/sql/t-sql/statements/create-table-transact-sql-identity-property>, "Consecutive values
//! within a transaction" and "Reuse of values"). The publish inserts the keys with these numbers, by IDENTITY_INSERT.

mod numbers;
mod planned;
mod statements;

use inrush_destination::{Error, MembersPlan, Result, TargetPlan};

pub use self::numbers::RunMembers;
use crate::catalog::{self, CatalogColumn};
use crate::connection::SqlSession;
use crate::indexes;
use crate::sql;

const DOING: &str = "cannot look at the reference of a lookup";

/// A reference that gets members. All lookups that compare the same columns share it.
#[derive(Clone, Debug)]
pub struct MemberTable {
    /// The reference.
    plan: MembersPlan,
    /// The columns of its key, in the plan's order.
    key: Vec<KeyColumn>,
    /// The index of the first target whose lookups add members to it.
    pub target: usize,
    /// The indexes of the targets that have numbers of its members, each with the column of the numbers.
    staged: Vec<(usize, String)>,
    /// The schema and the name of the table that keeps the members until the publish.
    pub stored: (String, String),
    /// The same table, as statements name it.
    pub sql: String,
}

/// A column of the key of a reference.
#[derive(Clone, Debug)]
struct KeyColumn {
    name: String,
    /// Its type, as statements name it.
    type_sql: String,
    /// The collation of a text.
    collation: Option<String>,
}

impl MemberTable {
    /// The references of these targets. Their members are kept in tables of this schema, which `named` names.
    pub fn all<'a>(
        session: &mut SqlSession,
        targets: impl Iterator<Item = &'a TargetPlan>,
        schema: &str,
        named: &dyn Fn(usize, &MembersPlan) -> String,
    ) -> Result<Vec<MemberTable>> {
        let mut found: Vec<MemberTable> = Vec::new();
        for (target, plan) in targets.enumerate() {
            for members in &plan.members {
                let is_known = |own: &MemberTable| own.is_of(members);
                let at = found.iter().position(is_known).unwrap_or(found.len());
                if at == found.len() {
                    let name = named(at, members);
                    found.push(MemberTable {
                        plan: members.clone(),
                        key: key_of(session, members)?,
                        target,
                        staged: Vec::new(),
                        sql: sql::table(schema, &name),
                        stored: (schema.to_owned(), name),
                    });
                }
                let column = members.column.iter().map(|column| (target, column.clone()));
                found[at].staged.extend(column);
            }
        }
        Ok(found)
    }

    /// Creates the tables of members, except those that the previous attempt has left. For each of the targets, returns true
    /// if the numbers in its staged rows mean nothing any more, because their members are lost.
    pub fn make(
        tables: &[MemberTable],
        session: &mut SqlSession,
        is_resumed: bool,
        target_count: usize,
    ) -> Result<Vec<bool>> {
        let mut are_lost = vec![false; target_count];
        for table in tables {
            let (schema, name) = &table.stored;
            if is_resumed && catalog::entry(session, schema, name)?.is_some() {
                continue;
            }
            for statement in [table.remove_statement(), table.create_statement()] {
                session.run("cannot make the table of members", &statement)?;
            }
            for (target, _) in &table.staged {
                are_lost[*target] = true;
            }
        }
        Ok(are_lost)
    }

    /// True if these are members of this reference.
    pub fn is_of(&self, members: &MembersPlan) -> bool {
        self.plan.is_same_reference(members)
    }

    /// The reference, as statements name it.
    pub fn reference(&self) -> &str {
        &self.plan.table.sql
    }
}

/// Refuses a table to which members cannot be added.
pub fn check(session: &mut SqlSession, members: &MembersPlan) -> Result<()> {
    key_of(session, members).map(drop)
}

/// The columns of the key of a reference that can get members.
fn key_of(session: &mut SqlSession, members: &MembersPlan) -> Result<Vec<KeyColumn>> {
    let MembersPlan {
        table, key, number, ..
    } = members;
    let sql = &table.sql;
    if !catalog::is_table(session, table)? {
        return Err(members.not_a_table());
    }
    let found = catalog::target(session, table)?;
    if let Some((what, hint)) = found.and_then(|facts| facts.obstacle) {
        return Err(unsuitable(what, hint));
    }
    let unique: Vec<Vec<String>> = indexes::read(session, sql)?
        .iter()
        .filter(|index| index.filter().is_none())
        .map(|index| index.unique_columns().map(str::to_owned).collect())
        .collect();
    let of_number = std::slice::from_ref(number);
    for columns in [key.as_slice(), of_number] {
        if !unique.iter().any(|own| are_same(own, columns)) {
            return Err(members.lacks_unique_index(columns, unique_index(members, columns)));
        }
    }
    let columns = catalog::catalog_columns(session, sql)?;
    refuse_columns(&columns, members)?;
    let right = format!(
        "SELECT HAS_PERMS_BY_NAME({}, N'OBJECT', N'ALTER')",
        sql::text(sql)
    );
    if session.number(DOING, &right)? != Some(1) {
        return Err(unsuitable(
            format!(
                "the login may not ALTER {sql}, and members are inserted with their numbers (SET IDENTITY_INSERT)"
            ),
            format!("GRANT ALTER ON {sql} TO <user>"),
        ));
    }
    let found = key.iter().filter_map(|name| column_of(&columns, name));
    found
        .map(|column| key_column(column, sql))
        .collect::<Result<Vec<KeyColumn>>>()
}

/// A column of the key. Refuses texts that the server would compare in another way than lookups, or change.
fn key_column(column: &CatalogColumn, table: &str) -> Result<KeyColumn> {
    let CatalogColumn {
        name, catalog_type, ..
    } = column;
    let collation = catalog_type.collation.clone();
    if let Some(collation) = &collation {
        if !collation.to_uppercase().contains("_BIN2") {
            return Err(unsuitable(
                format!(
                    "`{name}` of {table} has the collation {collation}, for which different texts may be equal, and lookups \
                     compare bytes"
                ),
                "use a collation that ends with _BIN2, for example Latin1_General_BIN2",
            ));
        }
        if catalog_type.name != "nvarchar" {
            return Err(unsuitable(
                format!(
                    "`{name}` of {table} has the type {}, which does not hold every text unchanged",
                    catalog_type.sql()
                ),
                "use nvarchar",
            ));
        }
    }
    Ok(KeyColumn {
        name: name.clone(),
        type_sql: catalog_type.sql(),
        collation,
    })
}

fn refuse_columns(columns: &[CatalogColumn], members: &MembersPlan) -> Result<()> {
    let MembersPlan {
        table, key, number, ..
    } = members;
    let sql = &table.sql;
    let is_of_key = |name: &str| key.iter().any(|own| own.eq_ignore_ascii_case(name));
    let mut own = columns.iter();
    if let Some(column) = own.find(|own| own.is_computed && is_of_key(&own.name)) {
        return Err(unsuitable(
            format!(
                "`{}` of {sql} is computed by the server, so a member cannot have it as its key",
                column.name
            ),
            "compare a column that the server does not compute",
        ));
    }
    if !column_of(columns, number).is_some_and(|own| own.is_identity) {
        return Err(unsuitable(
            format!(
                "the taken column `{number}` of {sql} is not an identity column, so there are no numbers for new members"
            ),
            format!(
                "make the table with {} bigint IDENTITY(1, 1)",
                sql::identifier(number)
            ),
        ));
    }
    let required = columns.iter().filter(|own| {
        !own.is_nullable
            && !own.has_default
            && !own.is_identity
            && !own.is_computed
            && !is_of_key(&own.name)
    });
    members.refuse_required(required.map(|own| own.name.as_str()))
}

fn column_of<'a>(columns: &'a [CatalogColumn], name: &str) -> Option<&'a CatalogColumn> {
    let mut columns = columns.iter();
    columns.find(|own| own.name.eq_ignore_ascii_case(name))
}

/// True if both lists have the same names, in any order.
fn are_same(one: &[String], other: &[String]) -> bool {
    let is_in = |name: &String| one.iter().any(|own| own.eq_ignore_ascii_case(name));
    one.len() == other.len() && other.iter().all(is_in)
}

fn unique_index(members: &MembersPlan, columns: &[String]) -> String {
    format!(
        "CREATE UNIQUE INDEX {} ON {} ({})",
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
