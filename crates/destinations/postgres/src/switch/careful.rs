//! The trait for copying rows into a target carefully, after the server has refused one.

use super::error::SwitchError;
use super::row_statements::RowStatements;
use crate::Session;

/// The result of copying a staging table's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedRows {
    /// The number of rows that the target accepted.
    pub copied: u64,
    /// The rows that the server refused, which are rejects: their positions in the staging table (`ctid`) or, for a
    /// partitioned one, their numbers.
    pub refused: Vec<String>,
}

impl CopiedRows {
    /// Fails unless copied and refused rows add up to `expected`.
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

/// Copies rows of which the server may refuse some.
pub trait CarefulRows {
    /// True if the rows of this flow are copied carefully.
    fn wants(&self, flow: usize) -> bool;

    /// Copies the rows of a staging table, inside the switch's transaction.
    async fn copy(
        &mut self,
        session: &Session,
        flow: usize,
        staging_table: &str,
        statements: RowStatements<'_>,
    ) -> Result<CopiedRows, SwitchError>;
}
