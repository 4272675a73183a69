//! The search path for names that the user has written: in triggers and defaults of a target, and in statements of a
//! package.

use crate::{PostgresError, Session};

/// Sets the user's search path until the transaction ends.
pub async fn of_users(session: &Session, doing: &str) -> Result<(), PostgresError> {
    let statement = "SET LOCAL search_path = DEFAULT";
    session.execute(statement, doing).await
}

/// Restores the search path of our own statements, which qualify every name.
pub async fn our_own(session: &Session, doing: &str) -> Result<(), PostgresError> {
    let statement = "SET LOCAL search_path = pg_catalog";
    session.execute(statement, doing).await
}
