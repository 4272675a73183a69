//! The abilities of a destination. The plan refuses a package that needs one which the destination lacks, and lists the
//! promises that it does not make.

use crate::target::WriteMode;

/// What a destination can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// How many streams may fill it at the same time.
    pub streams: Streams,
    /// What becomes visible in one step.
    pub published_together: PublishedTogether,
    /// What may become of a target.
    pub modes: Vec<WriteMode>,
    /// Rows can be put into partitions by the values of columns.
    pub partitions: bool,
    /// Statements of the user can go into the publishing transaction.
    pub user_sql: bool,
    /// Names that differ only in case are one name.
    pub folds_names: bool,
    /// Bytes of text that a unit should have at least, so that what each one costs does not count. Of a file that is fed
    /// to all streams, a stream commits so much at a time.
    pub unit_bytes: u64,
    /// Rows that it likes to have in a batch.
    pub batch_rows: u32,
    /// Bytes that a stream keeps at most on their way, beside the batch that is being made.
    pub stream_buffer_bytes: u64,
    /// What it takes of this process's memory beside that.
    pub own_memory: OwnMemory,
    /// What is not promised here, in sentences for the plan.
    pub not_promised: Vec<String>,
}

/// How many streams may fill a destination at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Only one.
    One,
    /// Any number.
    Many,
}

/// What readers see in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedTogether {
    /// All targets of the run.
    Run,
    /// Each target by itself, one after the other.
    Target,
}

/// Memory that a destination's library takes in this process by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnMemory {
    /// Nothing that is not counted elsewhere.
    None,
    /// Nobody knows: a foreign driver does as it likes.
    Unknown,
    /// It has a limit.
    Limited {
        /// Bytes of the library, and of what does not count against the limit.
        library_bytes: u64,
        /// Bytes of its buffers at most.
        buffers_bytes_max: u64,
        /// The option that sets this limit.
        setting: String,
    },
}
