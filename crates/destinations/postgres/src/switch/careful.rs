//! The seam by which rows are copied into a target carefully, after the server has refused one.

use super::error::SwitchError;
use crate::Session;
use crate::plan::switch_statements::CopyRows;

/// The result of copying a staging table's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedRows {
    /// Rows that the target has.
    pub copied: u64,
    /// The rows that the server refused; they are rejects. Where they stand in the staging table
    /// (`ctid`), or where that tells nothing their numbers.
    pub refused: Vec<String>,
}

impl CopiedRows {
    /// Fails unless the number of all rows is this.
    pub fn hold_against(&self, target: &str, expected: u64) -> Result<(), SwitchError> {
        let refused = self.refused.len() as u64;
        if self.copied + refused == expected {
            return Ok(());
        }
        Err(SwitchError::Count {
            target: target.to_owned(),
            counted: self.copied,
            expected: expected - refused.min(expected),
        })
    }
}

/// Copies rows so that the server may refuse some.
pub trait CarefulRows {
    /// True if the rows of this flow are copied so.
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
