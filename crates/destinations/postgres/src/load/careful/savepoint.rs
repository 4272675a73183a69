//! The savepoint to which rows that the server refuses are rolled back.

use crate::{PostgresError, Session};

const NAME: &str = "inrush_rows";

/// A savepoint that moves on with the rows, so that there is never more than one.
#[derive(Default)]
pub struct Savepoint {
    is_set: bool,
}

impl Savepoint {
    /// Sets it here: what was done since the last one stays. `doing` is for errors.
    pub async fn set(&mut self, session: &Session, doing: &str) -> Result<(), PostgresError> {
        let mut statement = format!("SAVEPOINT {NAME}");
        if self.is_set {
            statement = format!("RELEASE SAVEPOINT {NAME}; {statement}");
        }
        session.execute(&statement, doing).await?;
        self.is_set = true;
        Ok(())
    }

    /// Undoes what was done since it was set. `after` are statements that undo what a rollback leaves
    /// as it is.
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

    /// All rows are through: it is no longer needed.
    pub async fn release(self, session: &Session, doing: &str) -> Result<(), PostgresError> {
        if self.is_set {
            let statement = format!("RELEASE SAVEPOINT {NAME}");
            session.execute(&statement, doing).await?;
        }
        Ok(())
    }
}
