//! The savepoint to which rows that the server refuses are rolled back.

use crate::{PostgresError, Session};

const NAME: &str = "inrush_rows";

/// A savepoint that is replaced as rows are loaded, so that there is never more than one.
#[derive(Default)]
pub struct Savepoint {
    is_set: bool,
}

impl Savepoint {
    /// Sets the savepoint here, so that everything since the last one is kept. `doing` is for errors.
    pub async fn set(&mut self, session: &Session, doing: &str) -> Result<(), PostgresError> {
        let mut statement = format!("SAVEPOINT {NAME}");
        if self.is_set {
            statement = format!("RELEASE SAVEPOINT {NAME}; {statement}");
        }
        session.execute(&statement, doing).await?;
        self.is_set = true;
        Ok(())
    }

    /// Rolls back to the savepoint. `after` are statements for things that a rollback does not restore.
    pub async fn undo(
        &self,
        session: &Session,
        after: &[String],
        doing: &str,
    ) -> Result<(), PostgresError> {
        let mut statement = format!("ROLLBACK TO SAVEPOINT {NAME}");
        for after in after {
            statement.push_str("; ");
            statement.push_str(after);
        }
        session.execute(&statement, doing).await
    }

    /// Releases the savepoint after the last row.
    pub async fn release(self, session: &Session, doing: &str) -> Result<(), PostgresError> {
        if self.is_set {
            let statement = format!("RELEASE SAVEPOINT {NAME}");
            session.execute(&statement, doing).await?;
        }
        Ok(())
    }
}
