//! The moment that the sessions of a source show.
//!
//! A transaction of the isolation level SNAPSHOT shows one moment, whatever is written meanwhile, and waits for no
//! lock. A session cannot take over the moment of another session. So the sessions of a table begin their transactions
//! while a further session holds a shared lock on it: no change is committed between their beginnings, and all show the
//! same moment. The lock is held for as long as the sessions need for a first look, which is a few round trips. If it
//! is not granted soon, the rows are read by one session.

use std::sync::Arc;

use inrush_tdsclient::{Interrupt, Session, SessionError, SessionOptions};

use crate::pool::connect;

/// The longest wait for the shared lock: sessions that want to write wait behind it.
const SHARED_LOCK_MILLISECONDS: u32 = 2_000;

/// Isolation levels of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ COMMITTED.
    ReadCommitted,
    /// SNAPSHOT.
    Snapshot,
}

impl Isolation {
    /// The isolation level as statements write it.
    pub fn words(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::Snapshot => "SNAPSHOT",
        }
    }
}

/// Sets the isolation level of the transactions that a session begins from now on.
pub fn isolate(session: &mut Session, isolation: Isolation) -> Result<(), SessionError> {
    let statement = format!("SET TRANSACTION ISOLATION LEVEL {}", isolation.words());
    session.run(&statement).map(drop)
}

/// What a database offers to its readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotSupport {
    /// A statement of READ COMMITTED shows the moment at which it began (READ_COMMITTED_SNAPSHOT).
    pub of_statements: bool,
    /// Transactions may show one moment (ALLOW_SNAPSHOT_ISOLATION).
    pub of_transactions: bool,
    /// True if it is PostgreSQL with the extension Babelfish, whose sessions cannot be held at one moment by a lock.
    pub is_babelfish: bool,
}

impl SnapshotSupport {
    /// Asks the database.
    pub fn ask(session: &mut Session) -> Result<SnapshotSupport, SessionError> {
        let question = "SELECT is_read_committed_snapshot_on, snapshot_isolation_state, \
                        CAST(SERVERPROPERTY('babelfish') AS nvarchar(128)) FROM sys.databases WHERE name = DB_NAME()";
        let rows = session.run(question)?.into_rows();
        let row: Vec<Option<String>> = rows.into_iter().next().unwrap_or_default();
        let is_on = |at: usize| row.get(at).and_then(Option::as_deref) == Some("1");
        Ok(SnapshotSupport {
            of_statements: is_on(0),
            of_transactions: is_on(1),
            is_babelfish: is_on(2),
        })
    }
}

/// The moment that the rows show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The moment at which the source was opened, by this many sessions.
    OfOpening(usize),
    /// The moment at which the source was opened, by one session. The text is the reason why the shared lock was not
    /// granted.
    OfOpeningByOne(String),
    /// The moment at which the reading statement begins: the database keeps versions of rows.
    OfStatement,
    /// No moment: rows are locked one after the other.
    None,
}

impl Moment {
    /// The sentence about the moment in a plan. `name` is the table or query; `is_split`: several statements read it.
    pub fn note(&self, name: &str, is_split: bool) -> String {
        match (self, is_split) {
            (Moment::OfOpening(1), _) => {
                format!("{name} is read as it was when it was opened (SNAPSHOT)")
            }
            (Moment::OfOpening(sessions), _) => format!(
                "{name} is read by up to {sessions} sessions; each reads it as it was when it was opened (SNAPSHOT)"
            ),
            (Moment::OfOpeningByOne(reason), _) => format!(
                "{name} is read by one session, as it was when it was opened (SNAPSHOT). Several sessions can read it only if nobody \
                 writes to it while they begin, and {reason}"
            ),
            (Moment::OfStatement, false) => format!(
                "{name} is read by one statement, as it is when the statement begins (READ_COMMITTED_SNAPSHOT)"
            ),
            (Moment::OfStatement, true) => format!(
                "each range of {name} is read at its own moment: rows that are moved or added meanwhile may be read twice, or in part. \
                 Let nobody write to it{}",
                hint_of(name)
            ),
            (Moment::None, false) => format!(
                "{name} is read at the isolation level READ COMMITTED: a row that is moved meanwhile may be read twice or not at \
                 all. Let nobody write to it, or run ALTER DATABASE ... SET ALLOW_SNAPSHOT_ISOLATION ON first"
            ),
            (Moment::None, true) => format!(
                "each range of {name} is read at its own moment, at the isolation level READ COMMITTED: a row that is moved meanwhile \
                 may be read twice or not at all. Let nobody write to it{}",
                hint_of(name)
            ),
        }
    }
}

/// A hint how to read a table at one moment; empty for a query, for which this is impossible.
fn hint_of(name: &str) -> &'static str {
    match name == inrush_source::Rows::Query(String::new()).name() {
        true => "",
        false => ", or run ALTER DATABASE ... SET ALLOW_SNAPSHOT_ISOLATION ON first",
    }
}

/// Opens a session and begins a transaction. Its first statement fixes the moment that the transaction shows; if `look`
/// is given, it is run as this statement.
pub fn begin_snapshot(
    options: &SessionOptions,
    number: usize,
    interrupt: &Arc<Interrupt>,
    look: Option<&str>,
) -> Result<Session, SessionError> {
    let mut session = connect(options, number, interrupt, Isolation::Snapshot)?;
    session.run("BEGIN TRANSACTION")?;
    if let Some(look) = look {
        session.run(look)?;
    }
    Ok(session)
}

/// Opens this many sessions, which all show the same moment of a table. `Ok(Err)` is the reason why the table could not
/// be locked.
pub fn begin_snapshots(
    keeper: &mut Session,
    options: &SessionOptions,
    interrupt: &Arc<Interrupt>,
    table: &str,
    count: usize,
) -> Result<Result<Vec<Session>, String>, SessionError> {
    // The sessions log in before the lock is taken, so that it is held for a short time.
    let opened: Result<Vec<Session>, SessionError> = (0..count)
        .map(|number| connect(options, number + 1, interrupt, Isolation::Snapshot))
        .collect();
    let mut opened = opened?;
    let lock = format!(
        "SET LOCK_TIMEOUT {SHARED_LOCK_MILLISECONDS}; BEGIN TRANSACTION; SELECT TOP (1) 1 FROM {table} WITH (TABLOCK, HOLDLOCK)"
    );
    let look = format!("BEGIN TRANSACTION; SELECT TOP (1) 1 FROM {table}");
    let begun = match keeper.run(&lock) {
        Ok(_) => opened
            .iter_mut()
            .try_for_each(|session| session.run(&look).map(drop))
            .map(|()| Ok(opened)),
        Err(SessionError::Server(said)) if said.number == 1222 => {
            Ok(Err("another session writes to it now".to_owned()))
        }
        Err(SessionError::Server(said)) => Ok(Err(said.to_string())),
        Err(error) => Err(error),
    };
    keeper.roll_back()?;
    begun
}
