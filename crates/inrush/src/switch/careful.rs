//! The seam by which rows are copied into a target carefully, after the server has refused one.

use super::error::SwitchError;
use crate::destination::postgres::Session;
use crate::plan::switch_statements::CopyRows;

/// What became of a staging table's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedRows {
    /// Rows that the target has.
    pub copied: u64,
    /// Where in the staging table the rows stand (`ctid`) that the server refused; they are rejects.
    pub refused: Vec<String>,
}

/// Copies rows so that the server may refuse some.
#[expect(
    async_fn_in_trait,
    reason = "the switch runs on one thread, and nobody asks its futures to leave it"
)]
pub trait CarefulRows {
    /// Whether the rows of this flow are copied so.
    fn wants(&self, flow: usize) -> bool;

    /// Copies the rows of a staging table, inside the switch's transaction.
    async fn copy(
        &mut self,
        session: &Session,
        flow: usize,
        staging_table: &str,
        statement: &CopyRows,
    ) -> Result<CopiedRows, SwitchError>;
}
