//! The statement that copies staged rows into a target.

use std::fmt::Display;

use inrush_destination::Result;

use crate::catalog;
use crate::connection::SqlSession;
use crate::insert::Insert;
use crate::partitions::Partitioning;
use crate::staging::Staging;

/// The statement that copies the staged rows which meet this condition.
pub fn insert(session: &mut SqlSession, staging: &Staging, condition: &str) -> Result<Insert> {
    let target = &staging.plan.name.sql;
    let names = staging.column_names();
    let sql = format!(
        "INSERT INTO {target} WITH (TABLOCK) ({names}) SELECT {names} FROM {}{condition}",
        staging.sql
    );
    let identity = catalog::identity(session, target)?;
    let is_filled = |identity: String| staging.filled().any(|filled| filled == identity);
    Ok(Insert {
        sql,
        identity_of: identity.is_some_and(is_filled).then(|| target.clone()),
    })
}

/// The condition for the staged rows of a partition of the target.
pub fn of_partition(partitioning: &Partitioning, number: impl Display) -> String {
    format!(" WHERE {} = {number}", partitioning.number())
}
