//! The ledger: the records of all runs, stored in the destination itself and committed with the data.
//!
//! A unit's row is committed in the unit's own transaction, so the ledger is right even if the run is killed at any
//! moment. The run's row has an epoch. When another process resumes the run, the epoch is raised, and transactions of
//! the older epoch can no longer commit.

mod error;
mod holder;
mod lineage;
mod loaded_inputs;
pub mod mark;
mod members;
mod run;
mod schema;
mod stored;
mod switched;
mod totals;
mod units_and_splits;

pub use error::LedgerError;
pub use lineage::lineage_statement;
pub use members::{has_members, members_statement};
pub use run::{Fence, StoredRun};
pub use schema::{FoundLineage, alter_statements, exists, find, setup_statements};
pub use switched::{Original, SwitchedTable, What};
pub use units_and_splits::UnitRow;

use crate::Session;
use crate::quote::qualified;
use crate::transaction::Transaction;

/// The ledger in one schema of the destination.
#[derive(Clone, Debug)]
pub struct Ledger {
    schema: String,
}

impl Ledger {
    /// The ledger in `schema`.
    pub fn new(schema: &str) -> Ledger {
        Ledger {
            schema: schema.to_owned(),
        }
    }

    fn table(&self, name: &str) -> String {
        qualified(&self.schema, name)
    }

    /// Creates the schemas and tables that are missing, and alters those of an older version. Two runs that do so at
    /// once wait for each other, because `IF NOT EXISTS` alone does not prevent conflicts.
    pub async fn set_up(
        &self,
        session: &Session,
        statements: &[String],
    ) -> Result<(), LedgerError> {
        let doing = "making the ledger";
        let transaction = Transaction::begin(session, doing).await?;
        session
            .query(
                "SELECT pg_advisory_xact_lock(hashtextextended('inrush ledger ' || $1, 0))",
                &[&self.schema],
                doing,
            )
            .await?;
        for statement in statements {
            session.execute(statement, doing).await?;
        }
        Ok(transaction.commit(doing).await?)
    }
}
