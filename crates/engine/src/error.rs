//! Errors that end a run, each with its exit status.

use inrush_convert::ConvertError;
use inrush_destination::{Ability, RunState};
use inrush_package::PackageError;
use inrush_plan::destination_error::DestinationError;
use inrush_plan::verify::VerifyError;
use inrush_plan::{PlanError, Reading, hints};
use inrush_rows::exit_status::ExitStatus;
use inrush_rows::ids::RunName;
use inrush_rows::plural::counted_do;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_source::{InputKind, SourceError};

use crate::shares::ShareError;

/// A run failed. The targets are unchanged, unless the text says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The package cannot be used.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The package cannot be planned.
    #[error(transparent)]
    Plan(PlanError),
    /// A file cannot be read.
    #[error(transparent)]
    Source(SourceError),
    /// One of the two sides of a comparison cannot be read.
    #[error("flow `{flow}`: its {side} cannot be read")]
    ComparedSide {
        /// The flow.
        flow: String,
        /// `source` or `target`.
        side: &'static str,
        /// The cause.
        #[source]
        cause: Box<Error>,
    },
    /// A file's header differs from that of the other files.
    #[error("{file}: the header has {found}, but the load was planned with {expected}")]
    Header {
        /// The file.
        file: String,
        /// Its header.
        found: String,
        /// The header of the first file.
        expected: String,
    },
    /// A column cannot be converted as declared.
    #[error("flow `{flow}`: {source}")]
    Convert {
        /// The flow.
        flow: String,
        /// The reason.
        source: ConvertError,
    },
    /// The destination refused, or could not be reached.
    #[error(transparent)]
    Destination(DestinationError),
    /// The server refused a row that came from a pipe, which cannot be read once more.
    #[error(
        "{source}; {}{pipe} is a pipe, which cannot be read again to {}; nothing was switched",
        if *limit == 0 { "no rejects are accepted, and " } else { "" },
        if *limit == 0 { "say in which line the row is" } else { "set the row aside" }
    )]
    RefusedFromPipe {
        /// The most rows that may be rejected.
        limit: u64,
        /// The pipe.
        pipe: String,
        /// The server's message.
        source: DestinationError,
    },
    /// More rows were rejected than are accepted.
    #[error(
        "flow `{flow}`: {}; nothing was switched\n  {}{}",
        past_limit(*limit), reject.summary(), types.as_ref().map_or(String::new(), |types| format!("\n  {types}"))
    )]
    RejectLimit {
        /// The flow.
        flow: String,
        /// The most rows that may be rejected.
        limit: u64,
        /// The kind of the flow's inputs.
        inputs: InputKind,
        /// A reject beyond the limit. Streams read the files at the same time, so it need not be the first in file
        /// order.
        reject: Box<Reject>,
        /// The origin of the types, if they were guessed.
        types: Option<String>,
    },
    /// A larger share of the rows was rejected than the flow accepts.
    #[error(
        "flow `{flow}`: {rejected} of {rows} rows{} were rejected; the limit is {} %; nothing was \
         switched{}",
        if *at_end { "" } else { " (or fewer)" }, share_max * 100.0,
        reject.as_ref().map_or(String::new(), |reject| format!("\n  {}", reject.summary()))
    )]
    RejectShare {
        /// The flow.
        flow: String,
        /// Rows rejected so far, in all streams.
        rejected: u64,
        /// The number of all rows; before all are read, the largest number that is possible.
        rows: u64,
        /// True if all rows were read.
        at_end: bool,
        /// The share that is accepted.
        share_max: f64,
        /// The kind of the flow's inputs.
        inputs: InputKind,
        /// The reject that exceeded the limit, if a single reject did.
        reject: Option<Box<Reject>>,
    },
    /// A row does not meet a check whose `else` is `"fail"`.
    #[error(
        "flow `{flow}`: a row does not meet a check with else = \"fail\"; nothing was switched\n  {}",
        reject.summary()
    )]
    CheckFailed {
        /// The flow.
        flow: String,
        /// The row. Streams read at the same time, so it need not be the first in the order of the source.
        reject: Box<Reject>,
    },
    /// The steps of a flow could not be evaluated.
    #[error("flow `{flow}`: {source}; nothing was switched")]
    Steps {
        /// The flow.
        flow: String,
        /// The reason.
        source: inrush_transform::error::RunError,
    },
    /// A run that several processes load.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The files of rejected rows are larger than the flow accepts.
    #[error(
        "flow `{flow}`: the files of its first {rejected} rejected rows are larger than {}, which is the limit; nothing \
         was switched\n  {}",
        inrush_rows::quantity::bytes(*bytes_max), reject.summary()
    )]
    RejectBytes {
        /// The flow.
        flow: String,
        /// Bytes accepted at most.
        bytes_max: u64,
        /// The kind of the flow's inputs.
        inputs: InputKind,
        /// Rows rejected so far, in all streams.
        rejected: u64,
        /// The reject that exceeded the limit.
        reject: Box<Reject>,
    },
    /// The server's row count differs from the number of rows sent.
    #[error(
        "{what}: the server counts {}, but {sent} were sent; nothing was switched",
        inrush_rows::plural::counted(*counted, "row")
    )]
    Verification {
        /// The table.
        what: String,
        /// The server's count.
        counted: u64,
        /// The number of rows sent.
        sent: u64,
    },
    /// The run whose rejects are to be replayed was never switched in.
    #[error(
        "run {run} {}, so other rows than its rejects are missing from its targets, too",
        match state {
            Some(RunState::Discarded) => "was given up",
            Some(RunState::Undone) => "was undone",
            Some(_) => "has not been switched in",
            None => "is not in the ledger of this database",
        }
    )]
    NotSwitched {
        /// The run.
        run: RunName,
        /// The state of the run, if the ledger has it.
        state: Option<RunState>,
    },
    /// The rows of the run whose rejects are to be replayed are not in the target any more.
    #[error(
        "the rows of run {run} are not in {target} any more ({}): its rejects would be mixed with \
         the rows that replaced them",
        match by {
            Some(by) => format!("run {by} replaced them"),
            None => "the table was dropped or created again since".to_owned(),
        }
    )]
    Replaced {
        /// The run.
        run: RunName,
        /// The target.
        target: String,
        /// The later run that replaced its rows; `None` if they were removed by other means.
        by: Option<RunName>,
    },
    /// The loaded rows differ from the rows that were read.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The run was stopped by its user.
    #[error("stopped on request; nothing was switched")]
    Interrupted,
    /// The run's folder cannot be written.
    #[error("cannot write {path}: {source}")]
    Folder {
        /// The file or folder.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder of rejects no longer belongs to this process.
    #[error("{folder} was replaced or removed: another process has probably resumed this run")]
    RejectsTaken {
        /// The folder.
        folder: String,
    },
    /// The limit of the address space is too small for this number of streams.
    #[error(
        "{} {} MiB of address space, and {space}; nothing was switched",
        counted_do(*streams as u64, "stream", "need"),
        needed >> 20
    )]
    AddressSpace {
        /// The number of streams.
        streams: usize,
        /// The address space that they need, in bytes.
        needed: u64,
        /// The limits of the address space.
        space: inrush_system::address_space::AddressSpace,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {source}; nothing was switched")]
    Threads {
        /// The system's error.
        source: std::io::Error,
    },
}

/// A run that is asked to stop while it waits for a pipe was interrupted; it has not failed.
impl From<SourceError> for Error {
    fn from(error: SourceError) -> Error {
        match error {
            SourceError::Stopped { .. } => Error::Interrupted,
            SourceError::HeaderDiffers {
                path,
                found,
                expected,
            } => Error::Header {
                file: path.display().to_string(),
                found,
                expected,
            },
            SourceError::TrailerNotLast { location } => {
                Error::Verify(VerifyError::TrailerNotLast {
                    place: location.to_string(),
                })
            }
            other => Error::Source(other),
        }
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Error {
        match error {
            PlanError::Source(SourceError::Stopped { .. }) | PlanError::Interrupted => {
                Error::Interrupted
            }
            other => Error::Plan(other),
        }
    }
}

impl Error {
    /// The columns of a flow cannot be converted.
    pub(crate) fn convert(reading: &Reading, source: ConvertError) -> Error {
        Error::Convert {
            flow: reading.name.clone(),
            source,
        }
    }

    /// The destination does not let several processes load one run.
    pub fn no_several_hosts() -> Error {
        Error::Plan(PlanError::Abilities {
            flow: None,
            lacking: vec![Ability::SeveralHosts],
        })
    }

    /// The exit status for this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Error::Package(_) | Error::Convert { .. } => ExitStatus::Usage,
            Error::Plan(error) => error.exit_status(),
            Error::ComparedSide { cause, .. } => cause.exit_status(),
            Error::Source(SourceError::Unsuitable { .. }) => ExitStatus::Usage,
            Error::Destination(error) => error.exit_status(),
            Error::NotSwitched { .. } | Error::Replaced { .. } => ExitStatus::Usage,
            Error::Share(error) => error.exit_status(),
            Error::Verify(VerifyError::TargetReplaced { .. }) => ExitStatus::Failed,
            Error::RejectLimit { .. }
            | Error::RejectShare { .. }
            | Error::RejectBytes { .. }
            | Error::CheckFailed { .. }
            | Error::RefusedFromPipe { limit: 0, .. } => ExitStatus::RejectLimit,
            Error::Verification { .. } | Error::Verify(_) => ExitStatus::Verification,
            Error::Interrupted => ExitStatus::Interrupted,
            _ => ExitStatus::Failed,
        }
    }

    /// How to fix it; `None` if the text says it already, or if no fix is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Package(_) => None,
            Error::Plan(error) => error.hint(),
            Error::ComparedSide { cause, .. } => cause.hint(),
            Error::Source(_) => None,
            Error::Header { .. } => {
                Some("load files with different headers in separate flows".to_owned())
            }
            Error::Convert { .. } => None,
            Error::Destination(error) => error.hint(),
            Error::Share(error) => Some(error.hint()),
            Error::RefusedFromPipe { .. } => Some(
                "let the flow accept rejects (`rejects`, --max-rejects), so that the pipe's data \
                 is kept until the load is done; or load the data from a file"
                    .to_owned(),
            ),
            Error::RejectLimit { reject, inputs, .. }
                if reject.code == RejectCode::OutsidePartition =>
            {
                Some(format!("{}, or declare wider `bounds`", inputs.fit_partition()))
            }
            Error::RejectLimit { limit, inputs, .. } => Some(format!(
                "{} and run the same command again, or accept more: --max-rejects {}",
                inputs.fix_row(),
                (limit + 1).max(100)
            )),
            Error::CheckFailed { .. } => Some(
                "correct the row and run the same command again, or write else = \"reject\" or \"warn\" for the check"
                    .to_owned(),
            ),
            Error::Steps { source, .. } => Some(source.hint()),
            Error::RejectShare { inputs, .. } => Some(format!(
                "`inrush rejects show` shows why; {} and run the same command again, or accept \
                 more with a larger share_max",
                inputs.fix_rows()
            )),
            Error::RejectBytes {
                bytes_max, inputs, ..
            } => Some(format!(
                "`inrush rejects show` shows why they are rejected: {} or {}, or accept larger \
                 files in the package: rejects = {{ ..., bytes_max = {} }}",
                inputs.fix_rows(),
                inputs.settings(),
                bytes_max.saturating_mul(2)
            )),
            Error::Verification { .. } => Some(hints::COUNT.to_owned()),
            Error::NotSwitched { .. } => Some(
                "fix the rows in their source, and run the same command again; for a run into another \
                 database, name that database with --connection NAME=URL"
                    .to_owned(),
            ),
            Error::Replaced { .. } => Some(
                "replay the rejects of the run whose rows are there; or, if these rows should be \
                 added nevertheless, load the corrected file with `inrush load ... --mode append`"
                    .to_owned(),
            ),
            Error::Verify(error) => Some(error.hint()),
            Error::Interrupted => Some(hints::INTERRUPTED.to_owned()),
            Error::Folder { source, .. } => Some(folder_hint(source).to_owned()),
            Error::RejectsTaken { .. } => Some(
                "nothing of this unit is committed; if no other process has loaded the rest, run the same command \
                 again"
                    .to_owned(),
            ),
            Error::AddressSpace { .. } => {
                Some("raise the limit (ulimit -v unlimited), or use fewer --streams".to_owned())
            }
            Error::Threads { .. } => Some(hints::THREADS.to_owned()),
        }
    }
}

/// The number of rejects at the moment when the streams stopped depends on the streams and says nothing about the
/// files, so the message names only the limit.
fn past_limit(limit: u64) -> String {
    match limit {
        0 => "1 row was rejected; the limit is 0".to_owned(),
        1 => "more than 1 row was rejected; the limit is 1".to_owned(),
        _ => format!("more than {limit} rows were rejected; the limit is {limit}"),
    }
}

/// How to fix a run's folder that cannot be written.
fn folder_hint(source: &std::io::Error) -> &'static str {
    let errno = source.raw_os_error();
    let is = |known: rustix::io::Errno| errno == Some(known.raw_os_error());
    if is(rustix::io::Errno::MFILE) {
        "raise the limit of open files (ulimit -n), or use fewer --streams"
    } else if is(rustix::io::Errno::NFILE) {
        "the machine has no room for more open files: end other programs, or raise fs.file-max"
    } else if is(rustix::io::Errno::FBIG) {
        "raise the limit of a file's size (ulimit -f unlimited)"
    } else {
        "choose another folder with --runs-folder"
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use inrush_rows::location::Location;

    use super::*;

    #[test]
    fn a_run_that_was_stopped_while_reading_has_not_failed() {
        let stopped = || SourceError::Stopped {
            path: PathBuf::from("rows.csv"),
        };
        for error in [Error::from(stopped()), PlanError::Source(stopped()).into()] {
            assert_eq!(error.exit_status(), ExitStatus::Interrupted, "{error}");
        }
    }

    #[test]
    fn hints_name_the_limit_that_forbids_a_file() {
        use rustix::io::Errno;
        for (errno, hint) in [
            (Errno::MFILE, "ulimit -n"),
            (Errno::NFILE, "fs.file-max"),
            (Errno::FBIG, "ulimit -f"),
            (Errno::ACCESS, "--runs-folder"),
        ] {
            let source = std::io::Error::from_raw_os_error(errno.raw_os_error());
            let said = folder_hint(&source);
            assert!(said.contains(hint), "{errno}: {said}");
        }
    }

    #[test]
    fn the_reject_limit_is_told_without_a_count_that_depends_on_timing() {
        for (limit, expected) in [
            (0, "1 row was rejected; the limit is 0"),
            (1, "more than 1 row was rejected; the limit is 1"),
            (20, "more than 20 rows were rejected; the limit is 20"),
        ] {
            let error = Error::RejectLimit {
                flow: "people".to_owned(),
                inputs: InputKind::File,
                limit,
                reject: Box::new(Reject {
                    location: Location {
                        file: Arc::from(Path::new("a.csv")),
                        line: 3,
                        byte_offset: 20,
                        key: None,
                    },
                    column: Some("id".into()),
                    value: Some("x".to_owned()),
                    code: RejectCode::Syntax,
                    reason: "no number".to_owned(),
                    raw: b"x,Bob".to_vec(),
                    encoding: None,
                    of_target: false,
                }),
                types: None,
            };
            let text = error.to_string();
            let (first, second) = text.split_once('\n').expect("two lines");
            assert_eq!(
                first,
                format!("flow `people`: {expected}; nothing was switched")
            );
            assert!(second.contains("a.csv:3"), "{second}");
        }
    }
}
