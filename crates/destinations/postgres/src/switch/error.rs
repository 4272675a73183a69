//! Errors of a switch. After each of them the targets are unchanged.

use inrush_pgclient::ClientError;
use inrush_plan::verify::VerifyError;
use tokio_postgres::error::SqlState;

use crate::PostgresError;
use crate::ledger::LedgerError;
use crate::load_error::LoadError;
use crate::quote::identifier;

/// The server function that accepts one statement, and reports several as a syntax error. It raises no other syntax
/// error.
const TAKES_ONE_STATEMENT: &str = "exec_parse_message";

/// A version that prevents the merge of rows. All fields are texts of the server.
#[derive(Debug, Default)]
pub struct VersionAt {
    /// Its key, with the names of the columns.
    pub key: String,
    /// When it begins or ends.
    pub time: String,
    /// The start of the run.
    pub start: String,
}

/// An error of the switch.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The destination refused.
    #[error(transparent)]
    Destination(#[from] PostgresError),
    /// The server refused a row that was brought into a target.
    #[error("{source}")]
    Refused {
        /// Index of the flow.
        flow: usize,
        /// True if the statement copied rows or checked copied rows; otherwise it attached a table.
        is_copied: bool,
        /// The server's error.
        source: PostgresError,
    },
    /// Rows could not be copied carefully.
    #[error(transparent)]
    Careful(Box<LoadError>),
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The verified rows do not exist any more.
    #[error(transparent)]
    Verify(VerifyError),
    /// Two partitions would hold the same keys.
    #[error("{target}: the keys of {first} and {second} overlap ({overlap}); nothing was attached")]
    Overlap {
        /// The target.
        target: String,
        /// The files of one partition, or an existing partition.
        first: String,
        /// The files of the other partition.
        second: String,
        /// Both ranges.
        overlap: String,
    },
    /// Another session filled the target while the load ran.
    #[error("{target} got rows from another session while the load ran; nothing was switched")]
    Filled {
        /// The target.
        target: String,
    },
    /// The number of rows that the server counts in the target differs from the number of loaded rows.
    #[error(
        "{target} has {} after the copy from staging, but {expected} were expected; nothing was \
         switched",
        inrush_rows::plural::counted(*counted, "row")
    )]
    Count {
        /// The target.
        target: String,
        /// Rows that the server copied.
        counted: u64,
        /// Rows that were loaded.
        expected: u64,
    },
    /// A version cannot end before it begins.
    #[error(
        "{target} has {} at or after the start of this run ({}): the version of {} begins at {}, so it would end before it began; \
         nothing was switched",
        match rows {
            1 => "1 current version that begins".to_owned(),
            _ => format!("{rows} current versions that begin"),
        },
        first.start,
        first.key,
        first.time
    )]
    LaterVersions {
        /// The target.
        target: String,
        /// The current versions that do not begin before the run.
        rows: u64,
        /// One of them.
        first: VersionAt,
        /// The column in which versions begin.
        column: String,
    },
    /// A version cannot begin inside one that ended.
    #[error(
        "{target} has a version of {} that ends at {}, after the start of this run ({}), so its next version would begin before \
         that end; nothing was switched",
        first.key,
        first.time,
        first.start
    )]
    OverlappingVersion {
        /// The target.
        target: String,
        /// The version.
        first: VersionAt,
        /// The column in which versions end.
        column: String,
    },
    /// A statement of the user failed.
    #[error(
        "flow `{flow}`: {setting} failed, and the switch was rolled back: {statement}\n  {source}"
    )]
    Statement {
        /// The flow.
        flow: String,
        /// `pre_sql` or `post_sql`, with its place in the list.
        setting: String,
        /// The statement, shortened.
        statement: String,
        /// The server's message.
        source: Box<PostgresError>,
    },
    /// The target changed while the load ran, so that the new table is not like it.
    #[error("{target} was changed while the load ran ({what}); nothing was switched")]
    Changed {
        /// The target.
        target: String,
        /// The difference from the plan, in words.
        what: String,
    },
    /// Not all rows of the target were deleted.
    #[error("{target} still has rows after all of them were deleted; nothing was switched")]
    NotDeleted {
        /// The target.
        target: String,
    },
    /// A partition that new ones cover only in part can be neither kept nor removed.
    #[error("{target} {what}; nothing was switched")]
    Partly {
        /// The target.
        target: String,
        /// The partition, and the new partition that covers a part of it, in words.
        what: String,
        /// How to fix it.
        mend: String,
    },
    /// The name under which an old table would be kept exists already.
    #[error(
        "{table} has the name that the replaced table would be kept under; nothing was switched"
    )]
    KeptNameTaken {
        /// The table that has the name.
        table: String,
    },
    /// A reference refused a member.
    #[error("a member cannot be added to {table}, and nothing was switched: {source}")]
    Members {
        /// The reference.
        table: String,
        /// The sequence of its numbers.
        sequence: String,
        /// The server's message.
        source: Box<PostgresError>,
    },
    /// Members are not in their reference after they were added.
    #[error(
        "{} not in {table} with {} after they were added; nothing was switched",
        inrush_rows::plural::counted_do(*members, "member", "are"),
        "the key and number of the loaded rows"
    )]
    MissingMembers {
        /// The reference.
        table: String,
        /// The number of members.
        members: u64,
    },
    /// A lock was not granted.
    #[error(
        "the switch waited {tries} times for a lock, {waited_ms} ms each time, and did not get it{}",
        blockers.as_ref().map(|who| format!("; it is held by {who}")).unwrap_or_default()
    )]
    Blocked {
        /// The number of attempts.
        tries: u32,
        /// The wait of each attempt, in milliseconds.
        waited_ms: u32,
        /// The sessions that hold the lock.
        blockers: Option<String>,
    },
}

impl SwitchError {
    /// The server's error, or the lost connection, if that is the cause.
    pub fn destination(&self) -> Option<&PostgresError> {
        match self {
            SwitchError::Destination(error) => Some(error),
            SwitchError::Statement { source, .. } | SwitchError::Members { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SwitchError::Destination(error) => error.hint(),
            SwitchError::Refused { source, .. } => source.hint(),
            SwitchError::Careful(error) => error.hint(),
            SwitchError::Ledger(error) => error.hint(),
            SwitchError::Verify(error) => Some(error.hint()),
            SwitchError::Overlap { .. } => Some(
                "sort and cut the files by the key, or declare `bounds` and let each file lie \
                 within one partition; `inrush cleanup` removes the staged rows"
                    .to_owned(),
            ),
            SwitchError::Statement { source, .. } => match source.as_ref() {
                PostgresError::Client(ClientError::Refused { code, facts, .. })
                    if *code == SqlState::SYNTAX_ERROR
                        && facts.routine.as_deref() == Some(TAKES_ONE_STATEMENT) =>
                {
                    Some(
                        "write one statement for each entry of the list: [\"...\", \"...\"]"
                            .to_owned(),
                    )
                }
                _ => Some(
                    "all units are loaded and kept: fix the statement, then the same command \
                     switches"
                        .to_owned(),
                ),
            },
            SwitchError::LaterVersions { column, .. } => Some(format!(
                "if another run has loaded the target meanwhile, give this run up with `inrush cleanup`, and load again; if such \
                 a version begins in the future, correct its {}. Is the server's clock right?",
                identifier(column)
            )),
            SwitchError::OverlappingVersion { column, .. } => Some(format!(
                "correct {} of that version; or give this run up with `inrush cleanup`, and load again after that time",
                identifier(column)
            )),
            SwitchError::Changed { .. } => Some("the same command makes a new plan".to_owned()),
            SwitchError::NotDeleted { .. } => {
                Some("a trigger or rule of the target keeps them: drop it for the load".to_owned())
            }
            SwitchError::Partly { mend, .. } => Some(mend.clone()),
            SwitchError::KeptNameTaken { table } => Some(format!(
                "DROP TABLE {table}; if nobody needs it, or choose another name: replace = {{ keep \
                 = \"NAME\" }}; then the same command switches the loaded rows"
            )),
            SwitchError::Filled { .. } => Some(
                "find the other writer, then run the same command; or use mode = \"append\""
                    .to_owned(),
            ),
            SwitchError::Count { .. } => Some(
                "a trigger or rule of the target changed the copy: drop it for the load".to_owned(),
            ),
            SwitchError::Members { sequence, .. } => Some(format!(
                "all units are loaded and kept: correct the table, then the same command switches. If another program has taken \
                 a number of the sequence {sequence}, `inrush cleanup` and the same command load the rows with other numbers"
            )),
            SwitchError::MissingMembers { .. } => Some(
                "a trigger, a rule or a policy of the table keeps or changes them, or another program deletes them at the same \
                 time; all units are loaded and kept, and the same command tries again"
                    .to_owned(),
            ),
            SwitchError::Blocked { .. } => Some(
                "all units are loaded and kept: the same command tries the switch again, once \
                 the lock is free"
                    .to_owned(),
            ),
        }
    }
}
