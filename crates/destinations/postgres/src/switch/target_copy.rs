//! Copies the rows of staging tables into their target, inside the switch's transaction.

use super::careful::{CarefulRows, CopiedRows};
use super::error::SwitchError;
use super::row_statements::RowStatements;
use super::run::{SwitchTask, refused};
use super::{deferred, search_path};
use crate::Session;
use crate::plan::switch_statements::CopyRows;

/// Copies rows into the target of one flow.
pub(super) struct TargetCopy<'a> {
    session: &'a Session,
    task: &'a SwitchTask<'a>,
    flow: usize,
    /// The flows that are switched after it.
    later: &'a [usize],
    target: String,
    doing: String,
}

impl<'a> TargetCopy<'a> {
    pub(super) fn new(
        session: &'a Session,
        task: &'a SwitchTask<'a>,
        flow: usize,
        later: &'a [usize],
    ) -> TargetCopy<'a> {
        let target = task.plan.flows[flow].target();
        TargetCopy {
            session,
            task,
            flow,
            later,
            doing: format!("switching {target}"),
            target,
        }
    }

    /// Copies the rows of a staging table: in one statement, or carefully if the server has refused one of them. Fails
    /// unless `expected` rows were copied or refused.
    pub(super) async fn copy(
        &self,
        careful: &mut impl CarefulRows,
        staging_table: &str,
        statement: &CopyRows,
        expected: u64,
    ) -> Result<CopiedRows, SwitchError> {
        search_path::of_users(self.session, &self.doing).await?;
        let rows = self.rows(
            careful,
            staging_table,
            RowStatements::Copy(statement),
            expected,
        );
        let rows = rows.await?;
        search_path::our_own(self.session, &self.doing).await?;
        Ok(rows)
    }

    /// Like [`TargetCopy::copy`], for any statements and with the user's search path.
    pub(super) async fn rows(
        &self,
        careful: &mut impl CarefulRows,
        staging_table: &str,
        statements: RowStatements<'_>,
        expected: u64,
    ) -> Result<CopiedRows, SwitchError> {
        let session = self.session;
        let rows = if careful.wants(self.flow) {
            deferred::check_each_row(session, self.task, self.flow, self.later).await?;
            careful
                .copy(session, self.flow, staging_table, statements)
                .await?
        } else {
            self.copy_at_once(statements).await?
        };
        rows.hold_against(&self.target, expected)?;
        Ok(rows)
    }

    async fn copy_at_once(&self, statements: RowStatements<'_>) -> Result<CopiedRows, SwitchError> {
        let counted = statements.run(self.session).await;
        let counted = counted.map_err(|error| {
            let error = self.session.error(error, &self.doing);
            refused(self.flow, true, error)
        })?;
        Ok(CopiedRows {
            copied: counted,
            refused: Vec::new(),
        })
    }
}
