//! Members that the lookups of a flow add to their reference (`unmatched = "add"`).
//!
//! A row whose key the reference lacks gets the number of a new member while it passes the steps, and the member is
//! added to the reference when the rows are published. So in all streams and attempts of a run, a number means the same
//! key, and no row of the reference has this number.
//!
//! 1. [`OpenRun::member_numbers`](crate::OpenRun::member_numbers) gives the numbers.
//! 2. [`UnitStream::commit`](crate::UnitStream::commit) keeps the keys of all numbers that its rows may have, in the
//!    same transaction: a run that is killed finds them again.
//! 3. [`OpenRun::publish`](crate::OpenRun::publish) adds the members that a staged row has. If the reference has got a
//!    row with one of the keys meanwhile, the number of that row replaces the member's number in the staged rows.

use inrush_rows::suggest::listed;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::target::TargetName;

/// The most bytes of keys and numbers that a destination keeps in memory for a run. A run with more new members ends.
pub const MEMBERS_BYTES_MAX: u64 = 64 << 20;

/// A table of the destination to which a lookup of a flow adds members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembersPlan {
    /// The table.
    pub table: TargetName,
    /// The columns of its key, in the order of their names.
    pub key: Vec<String>,
    /// The column with the number of a row.
    pub number: String,
    /// The filled column of the target that has the numbers; `None` if they are not loaded.
    pub column: Option<String>,
}

impl MembersPlan {
    /// True if both add members to the same table by the same columns.
    pub fn is_same_reference(&self, other: &MembersPlan) -> bool {
        self.table == other.table && self.key == other.key && self.number == other.number
    }

    /// The refusal of a reference that is not a table.
    pub fn not_a_table(&self) -> Error {
        Error::Unsuitable {
            what: format!("{} is not a table of the database", self.table.sql),
            hint: "name a table, not a view".to_owned(),
        }
    }

    /// The refusal of a reference without a unique index on these columns, which are its key or its number. `statement`
    /// makes one.
    pub fn lacks_unique_index(&self, columns: &[String], statement: String) -> Error {
        let otherwise = match columns == self.key {
            true => "two runs could add the same member twice",
            false => "two members could have the same number",
        };
        Error::Unsuitable {
            what: format!(
                "{} has no unique index on {} alone, so {otherwise}",
                self.table.sql,
                listed(columns.iter().map(String::as_str))
            ),
            hint: statement,
        }
    }

    /// Refuses a reference that needs values for other columns than its key and its number.
    pub fn refuse_required<'a>(&self, columns: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut columns = columns.peekable();
        if columns.peek().is_none() {
            return Ok(());
        }
        Err(Error::Unsuitable {
            what: format!(
                "a member has only its key and its number, but {} needs values for {}, which are NOT NULL without a default",
                self.table.sql,
                listed(columns)
            ),
            hint: "give these columns defaults, or allow NULL in them".to_owned(),
        })
    }
}

/// Refuses a publish after which members of staged rows are not in their reference. `doing` names it.
pub fn refuse_missing(doing: String, missing: u64) -> Result<()> {
    match missing {
        0 => Ok(()),
        _ => Err(Error::Refused {
            doing,
            message: format!("{missing} of them are not in the table, or have other numbers there"),
            hint: Some(
                "does a trigger of the table drop rows, or change their numbers?".to_owned(),
            ),
        }),
    }
}

/// Gives the numbers of members.
pub trait MemberNumbers: Send + Sync {
    /// The numbers of members with these keys, which are sorted and different: texts in the order of
    /// [`MembersPlan::key`]. `target` is the index of the target, and `members` is the index in its
    /// [`members`](crate::TargetPlan::members). Called while a unit of the target is open. A number is valid until a
    /// unit is [aborted](crate::UnitStream::abort); then the caller asks again.
    fn numbers(&self, target: usize, members: usize, keys: &[Vec<String>]) -> Result<Vec<i64>>;
}

/// Members that a publish has added to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedMembers {
    /// The index of the first target whose lookups add them.
    pub target: usize,
    /// The table, as [`TargetName::sql`](crate::TargetName::sql).
    pub table: String,
    /// Rows that were added to it.
    pub added: u64,
}
