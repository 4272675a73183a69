//! A transaction, or a part of one after a savepoint, that is rolled back unless it is ended.

use std::pin::pin;
use std::task::{Context, Waker};

use super::error::PostgresError;
use super::session::Session;

/// An open transaction of a session. If this value is dropped before the transaction has ended, the transaction is
/// rolled back: the ROLLBACK is sent before the session's next statement.
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction {
    session: Session,
    commit: &'static str,
    /// The statement that rolls it back; `None` once it has ended.
    undo: Option<&'static str>,
}

impl Transaction {
    /// Begins a transaction.
    pub async fn begin(session: &Session, doing: &str) -> Result<Transaction, PostgresError> {
        Transaction::enter(session, "BEGIN", "COMMIT", "ROLLBACK", doing).await
    }

    /// Begins a part of the session's open transaction. `undo` keeps the savepoint, so that the part can be begun again
    /// within it.
    pub async fn part(
        session: &Session,
        [begin, end, undo]: [&'static str; 3],
        doing: &str,
    ) -> Result<Transaction, PostgresError> {
        Transaction::enter(session, begin, end, undo, doing).await
    }

    async fn enter(
        session: &Session,
        begin: &'static str,
        commit: &'static str,
        undo: &'static str,
        doing: &str,
    ) -> Result<Transaction, PostgresError> {
        // The value exists before BEGIN is sent, because a caller that stops waiting for the reply may still have begun
        // the transaction.
        let transaction = Transaction {
            session: session.clone(),
            commit,
            undo: Some(undo),
        };
        session.execute(begin, doing).await?;
        Ok(transaction)
    }

    /// Commits the transaction, or releases its savepoint. If the server refuses, it has rolled the transaction back.
    pub async fn commit(mut self, doing: &str) -> Result<(), PostgresError> {
        self.undo = None;
        self.session.execute(self.commit, doing).await
    }

    /// Leaves the transaction open, for a later step of the run that commits it.
    pub fn leave_open(mut self) {
        self.undo = None;
    }

    /// Rolls the transaction back and waits until that is done.
    pub async fn roll_back(mut self, doing: &str) -> Result<(), PostgresError> {
        match self.undo.take() {
            Some(undo) => self.session.execute(undo, doing).await,
            None => Ok(()),
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(undo) = self.undo.take() else {
            return;
        };
        // The first poll hands the statement to the connection. The reply is not awaited, because the next statement
        // shows whether the connection is lost.
        let sending = pin!(self.session.client.batch_execute(undo));
        let _ = sending.poll(&mut Context::from_waker(Waker::noop()));
    }
}
