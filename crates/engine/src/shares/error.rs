//! Errors of runs that several hosts load.

use std::io;
use std::path::PathBuf;

use inrush_rows::exit_status::ExitStatus;

use super::sent_plan::PLAN_VERSION;

/// A share of a run cannot be given away or loaded.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// A file in the run's folder cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// `read` or `write`.
        doing: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file in the run's folder does not have the content that its name promises.
    #[error("{} cannot be understood: {source}", path.display())]
    Form {
        /// The path of the file.
        path: PathBuf,
        /// The position of the error.
        source: serde_json::Error,
    },
    /// The plan has a form that this version does not know.
    #[error(
        "{} is a plan in format {form}, but this Inrush reads format {PLAN_VERSION}", path.display()
    )]
    PlanVersion {
        /// The plan.
        path: PathBuf,
        /// Its form.
        form: u64,
        /// The version of Inrush that wrote it, if it says so.
        wrote: Option<String>,
    },
    /// The plan was written by another version of Inrush.
    #[error(
        "{} was written by Inrush {wrote}, but this is Inrush {}", path.display(), env!("CARGO_PKG_VERSION")
    )]
    InrushVersion {
        /// The plan.
        path: PathBuf,
        /// The version that wrote it.
        wrote: String,
    },
    /// The plan does not lie in the folder of its run, where rejects and results belong.
    #[error("{} is the plan of run {run}, but is not in that run's folder", path.display())]
    Moved {
        /// The plan.
        path: PathBuf,
        /// The run.
        run: String,
    },
    /// There is no such share.
    #[error("there is no share {share}: the plan has the shares 1 to {count}")]
    NoShare {
        /// The number that was given.
        share: usize,
        /// The number of shares.
        count: usize,
    },
    /// This host makes another plan of the package.
    #[error(
        "this host's plan of the package differs from that of the host that began the run: {what}"
    )]
    Differs {
        /// The first difference.
        what: String,
    },
    /// Another process loads the share.
    #[error("share {share} is being loaded by {by}")]
    Held {
        /// The share.
        share: usize,
        /// The process.
        by: String,
    },
    /// No process that loads a share has given a sign of life for too long.
    #[error(
        "no process has given a sign of life for {silence_s} s, and the run still waits for {shares}; nothing was switched"
    )]
    Silent {
        /// The limit, in seconds.
        silence_s: u64,
        /// The shares that are missing, with their processes.
        shares: String,
    },
    /// A pipe can be read only on its host.
    #[error("flow `{flow}` reads {pipe}, which is a pipe: no other host can read it")]
    Pipe {
        /// The flow.
        flow: String,
        /// The pipe.
        pipe: String,
    },
    /// Another process would read another snapshot.
    #[error(
        "flow `{flow}` reads {input} at a snapshot, and another host would read a different snapshot"
    )]
    Snapshot {
        /// The flow.
        flow: String,
        /// The table.
        input: String,
    },
    /// All hosts together rejected more rows than the limit allows.
    #[error(
        "flow `{flow}`: all hosts together rejected {rejected} rows; the limit is {limit}; nothing was switched"
    )]
    RejectLimit {
        /// The flow.
        flow: String,
        /// Rows rejected in all shares.
        rejected: u64,
        /// The most rows that may be rejected.
        limit: u64,
    },
}

impl ShareError {
    /// The exit status for this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            ShareError::File { .. }
            | ShareError::Form { .. }
            | ShareError::Held { .. }
            | ShareError::Silent { .. } => ExitStatus::Failed,
            ShareError::RejectLimit { .. } => ExitStatus::RejectLimit,
            ShareError::PlanVersion { .. }
            | ShareError::InrushVersion { .. }
            | ShareError::Moved { .. }
            | ShareError::NoShare { .. }
            | ShareError::Differs { .. }
            | ShareError::Snapshot { .. }
            | ShareError::Pipe { .. } => ExitStatus::Usage,
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            ShareError::File { .. } => {
                "the run's folder must lie in a folder that all hosts can read and write".to_owned()
            }
            ShareError::Form { .. } => {
                "begin the run again: the same command writes the file again".to_owned()
            }
            ShareError::PlanVersion { wrote, .. } => match wrote {
                Some(wrote) => format!("load the share with Inrush {wrote}, which wrote the plan"),
                None => "give the plan.json of a run that was begun with --shares".to_owned(),
            },
            ShareError::InrushVersion { wrote, .. } => {
                format!("load the share with Inrush {wrote}: all hosts need the same version")
            }
            ShareError::Moved { .. } => {
                "give the plan.json in the run's own folder, not a copy of it".to_owned()
            }
            ShareError::NoShare { .. } => "give one of these numbers".to_owned(),
            ShareError::Differs { .. } => {
                "give the same package with the same --set and --connection, and let this host see the same files at \
                 the same paths; if they were changed, end the run and begin it again"
                    .to_owned()
            }
            ShareError::Held { .. } => "wait until it is done, or stop it".to_owned(),
            ShareError::Silent { .. } => {
                "run the same command again, which keeps what is committed, and run `inrush join` for each share \
                 while it waits; --shares-wait SECONDS lets it wait longer"
                    .to_owned()
            }
            ShareError::Pipe { .. } => {
                "write the data to a file first, or leave --shares out".to_owned()
            }
            ShareError::Snapshot { .. } => "leave --shares out".to_owned(),
            ShareError::RejectLimit { limit, .. } => format!(
                "`inrush rejects show` shows why; fix the files and run the same command again, or accept more: rejects \
                 = {{ rows_max = {} }}",
                (limit + 1).max(100)
            ),
        }
    }
}
