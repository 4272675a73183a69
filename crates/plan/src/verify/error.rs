//! Verification errors. Each ends the run before its switch, with exit status 5.

use std::fmt::Write;

use inrush_destination::Difference;

use crate::ledger::Account;

/// The most differences in a message.
const DIFFERENCES_SHOWN: usize = 8;

/// The loaded rows differ from the rows that were read, or from the promised numbers. Nothing was switched.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// No split loaded these bytes of a file.
    #[error(
        "{file}: bytes {start} to {end} were loaded by no range; nothing was switched (its ranges \
         are {ranges})"
    )]
    Gap {
        /// The file.
        file: String,
        /// The first byte that is missing.
        start: u64,
        /// One past the last byte that is missing.
        end: u64,
        /// All ranges of the file.
        ranges: String,
    },
    /// Bytes of a file were loaded more than once.
    #[error(
        "{file}: bytes {start} to {end} were loaded more than once; nothing was switched (its \
         ranges are {ranges})"
    )]
    Overlap {
        /// The file.
        file: String,
        /// The first byte that was loaded again.
        start: u64,
        /// One past the last byte that was loaded again.
        end: u64,
        /// All ranges of the file.
        ranges: String,
    },
    /// The ranges cover the file, but the number of bytes read differs from its size.
    #[error(
        "{file}: {read} bytes were read from its ranges, but it has {size}; nothing was switched"
    )]
    Bytes {
        /// The file.
        file: String,
        /// Bytes that were read.
        read: u64,
        /// The size of the file, in bytes.
        size: u64,
    },
    /// The account of a range does not add up.
    #[error(
        "{file}, bytes {start} to {}: the account does not add up: {}; nothing was switched",
        end.map_or_else(|| "the end".to_owned(), |end| end.to_string()),
        account.sides(|number| number.to_string()).join(" is not ")
    )]
    Account {
        /// The file.
        file: String,
        /// The range's first byte.
        start: u64,
        /// One past its last byte; `None` if it is the file's end.
        end: Option<u64>,
        /// The account.
        account: Account,
    },
    /// The database's sums of a unit differ from the loader's.
    #[error(
        "{table}: the rows in the database differ from the rows sent; nothing was switched{}",
        lines(differences)
    )]
    Sums {
        /// The staging table.
        table: String,
        /// The differences.
        differences: Vec<Difference>,
    },
    /// The database's rows of a unit differ from the rows that were sent.
    #[error(
        "{table}: the rows in the database differ from the rows sent; nothing was switched{}{}",
        lines(rows), if columns.is_empty() {
            "\n  every column has the values that were sent, but in other rows".to_owned()
        } else {
            lines(columns)
        }
    )]
    Rows {
        /// The staging table.
        table: String,
        /// The differences over all columns.
        rows: Vec<Difference>,
        /// The differences by column.
        columns: Vec<Difference>,
    },
    /// A file does not have the promised number.
    #[error(
        "{target}: {by} has {what} = {promised}, but {found} were found{}; nothing was switched",
        if *rejected > 0 { format!(" ({rejected} rows were rejected)") } else { String::new() }
    )]
    Promise {
        /// The target.
        target: String,
        /// The source of the promise.
        by: String,
        /// The measure.
        what: String,
        /// The number promised.
        promised: String,
        /// The number found.
        found: String,
        /// Rows that were rejected.
        rejected: u64,
    },
    /// A file has no trailer at its end.
    #[error(
        "{file}: each file of this flow must end with a record that begins with {starts_with:?}, \
         but {why}; nothing was switched"
    )]
    TrailerMissing {
        /// The file.
        file: String,
        /// The text that the trailer begins with.
        starts_with: String,
        /// The fault at the end of the file.
        why: &'static str,
    },
    /// A record follows a trailer.
    #[error("{place}: records follow this trailer; nothing was switched")]
    TrailerNotLast {
        /// The trailer.
        place: String,
    },
    /// A trailer has no number in a field that should have one.
    #[error("{file}: {field} of its trailer {text:?} is not a number; nothing was switched")]
    TrailerUnreadable {
        /// The file.
        file: String,
        /// The trailer.
        text: String,
        /// The field.
        field: String,
    },
    /// Rows that a target refused cannot be found again in the files.
    #[error(
        "{target} refused {} of {table}, but the files no longer have {} at the places from which \
         they were loaded; nothing was switched", inrush_rows::plural::counted(*rows, "row"),
        if *rows == 1 { "it" } else { "them" }
    )]
    RefusedRows {
        /// The target.
        target: String,
        /// The number of refused rows.
        rows: u64,
        /// The staging table.
        table: String,
    },
    /// The table that rows were written to does not exist any more.
    #[error(
        "{target}: this is not the table that this run wrote rows to: that table was dropped or \
         renamed, and another table may have its name now"
    )]
    TargetReplaced {
        /// The target.
        target: String,
    },
    /// A staging table does not exist any more.
    #[error(
        "staging table {table} is not the table that the unit was committed into: that table was \
         dropped, or its name was given to another table; nothing was switched"
    )]
    StagingGone {
        /// The staging table.
        table: String,
    },
    /// A staging table was emptied or rewritten while the switch began.
    #[error(
        "staging table {table} was emptied or rewritten after its rows were verified; nothing was \
         switched"
    )]
    Rewritten {
        /// The staging table.
        table: String,
    },
    /// A split in the ledger has no sums, or sums of other columns.
    #[error(
        "{table}: its rows cannot be compared, because the ledger lacks the sums of a split; nothing was switched"
    )]
    NoTally {
        /// The staging table.
        table: String,
    },
}

fn lines(differences: &[Difference]) -> String {
    let mut text = String::new();
    for difference in differences.iter().take(DIFFERENCES_SHOWN) {
        let _ = write!(text, "\n  {difference}");
    }
    if differences.len() > DIFFERENCES_SHOWN {
        let _ = write!(
            text,
            "\n  and {} more",
            differences.len() - DIFFERENCES_SHOWN
        );
    }
    text
}

impl VerifyError {
    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            VerifyError::Gap { .. }
            | VerifyError::Overlap { .. }
            | VerifyError::Bytes { .. }
            | VerifyError::NoTally { .. } => {
                "the ledger's ranges do not cover the file exactly once: somebody changed the \
                 ledger, or this is a bug of Inrush; run `inrush cleanup`, then load again"
                    .to_owned()
            }
            VerifyError::Account { .. } => {
                "somebody changed the ledger, or this is a bug of Inrush; run `inrush cleanup`, \
                 then load again"
                    .to_owned()
            }
            VerifyError::RefusedRows { .. } => {
                "a file or the staging table was changed: run `inrush cleanup`, then load again"
                    .to_owned()
            }
            VerifyError::TargetReplaced { .. } => {
                "give the table its name back, and the same command resumes; or give the run up \
                 with `inrush cleanup --run`, and the same command loads everything into the new \
                 table"
                    .to_owned()
            }
            VerifyError::StagingGone { .. } => "the same command loads that unit again".to_owned(),
            VerifyError::Rewritten { .. } => {
                "the same command counts its rows again; if rows are missing, run `inrush \
                 cleanup`, then load again"
                    .to_owned()
            }
            VerifyError::Promise { .. }
            | VerifyError::TrailerMissing { .. }
            | VerifyError::TrailerNotLast { .. }
            | VerifyError::TrailerUnreadable { .. } => {
                "the file was cut off, or is the wrong file: fetch it again, then run `inrush \
                 cleanup` and the same command"
                    .to_owned()
            }
            VerifyError::Sums { .. } | VerifyError::Rows { .. } => {
                "a type, a domain or another session changed values on the way into the staging \
                 table; run `inrush cleanup`, then load again, with `verify = \"rows\"` if the \
                 destination supports it"
                    .to_owned()
            }
        }
    }
}
