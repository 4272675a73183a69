//! Errors of a destination.

/// A destination did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Where the data should go cannot be understood, or is not there.
    #[error("{what}")]
    Address {
        /// The fault and its place.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// Another process holds it.
    #[error("{what}")]
    Held {
        /// The holder, and what it holds.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// This process joined a run that takes no more units from it. Nothing of the unit is committed.
    #[error("{what}")]
    ShutOut {
        /// The run, and why.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// It cannot take what it was asked to take.
    #[error("{what}")]
    Unsuitable {
        /// The fault and its place.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// It refused a step.
    #[error("{doing}: {message}")]
    Refused {
        /// The step that failed.
        doing: String,
        /// The destination's own message.
        message: String,
        /// How to fix it, where that is known.
        hint: Option<String>,
    },
    /// A target refuses rows for what it has: a constraint, or a row with the same key. A careful load finds these rows; see
    /// [`LoadMethod::Careful`](crate::LoadMethod::Careful).
    #[error("{doing}: {message}")]
    RowsRefused {
        /// The target, by its place among those of the run.
        target: usize,
        /// The step that failed.
        doing: String,
        /// The destination's own message.
        message: String,
        /// How to fix it, where that is known.
        hint: Option<String>,
    },
    /// A file or folder of it cannot be read or written.
    #[error("{doing} {path}: {source}")]
    File {
        /// The step that failed: `cannot write`.
        doing: &'static str,
        /// Which one.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Its ledger is not as this version writes it.
    #[error("{what}")]
    Ledger {
        /// The fault and its place.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// It counts other rows than were written. Nothing of them is committed.
    #[error("{what}: the destination counts {counted} rows, but {sent} were sent")]
    Count {
        /// The table whose rows were counted.
        what: String,
        /// The destination's count.
        counted: u64,
        /// How many were sent.
        sent: u64,
    },
    /// The step was interrupted as asked.
    #[error("stopped as asked")]
    Interrupted,
}

/// The result of a call to a destination.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// How to fix it, where that is known and not in the text.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Address { hint, .. }
            | Error::Held { hint, .. }
            | Error::ShutOut { hint, .. }
            | Error::Unsuitable { hint, .. }
            | Error::Ledger { hint, .. } => Some(hint),
            Error::Refused { hint, .. } | Error::RowsRefused { hint, .. } => hint.as_deref(),
            Error::File { .. } | Error::Count { .. } | Error::Interrupted => None,
        }
    }
}
