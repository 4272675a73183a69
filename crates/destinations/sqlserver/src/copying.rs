//! The statements that copy staged rows into a target.

use std::fmt::Display;

use inrush_destination::Result;

use crate::catalog;
use crate::connection::SqlSession;
use crate::partitions::Partitioning;
use crate::sql;
use crate::staging::Staging;

/// A step that copies staged rows into a target.
pub enum CopyStep {
    /// A statement that turns IDENTITY_INSERT on or off.
    Set(String),
    /// The statement that copies, whose count is compared.
    Insert(String),
}

/// The steps that copy the staged rows with this condition.
pub fn steps(
    session: &mut SqlSession,
    staging: &Staging,
    condition: &str,
) -> Result<Vec<CopyStep>> {
    let target = &staging.plan.name.sql;
    let names = staging.column_names();
    let insert = CopyStep::Insert(format!(
        "INSERT INTO {target} WITH (TABLOCK) ({names}) SELECT {names} FROM {}{condition}",
        staging.sql
    ));
    let identity = catalog::identity(session, target)?;
    let is_filled = |identity: String| staging.filled().any(|filled| filled == identity);
    if !identity.is_some_and(is_filled) {
        return Ok(vec![insert]);
    }
    let set = |is_on| CopyStep::Set(sql::identity_insert(target, is_on));
    Ok(vec![set(true), insert, set(false)])
}

/// The condition for the staged rows of a partition of the target.
pub fn of_partition(partitioning: &Partitioning, number: impl Display) -> String {
    format!(" WHERE {} = {number}", partitioning.number())
}
