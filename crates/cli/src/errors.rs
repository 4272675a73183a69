//! Errors that end a command, their texts, and their exit statuses.

use std::fmt;
use std::path::PathBuf;

use inrush::ExitStatus;
use inrush::package::PackageError;
use inrush::plan::PlanError;
use inrush::printable::{indented, line};
use inrush_embedded::EmbeddedError;
use inrush_workloads::WorkloadError;

/// The reason why a command failed.
#[derive(Debug)]
pub enum CommandError {
    /// The arguments are not valid.
    Usage {
        /// The problem, in words.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The package cannot be used.
    Package(PackageError),
    /// The engine reported an error.
    Engine {
        /// The reason.
        error: inrush::Error,
        /// Notes for the user: kept units, the path of the report.
        notes: Vec<String>,
        /// A hint that replaces the hint of the error itself.
        hint: Option<String>,
    },
    /// The embedded server cannot be used.
    Embedded(EmbeddedError),
    /// A file or folder cannot be used.
    File {
        /// The action that failed.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A signal ended the command outside of a run.
    Stopped {
        /// The way to resume.
        hint: String,
    },
    /// A workload failed.
    Workload(WorkloadError),
}

impl CommandError {
    /// The exit status for this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            CommandError::Usage { .. } => ExitStatus::Usage,
            CommandError::Package(_) => ExitStatus::Usage,
            CommandError::Engine { error, .. } => error.exit_status(),
            CommandError::Stopped { .. } => ExitStatus::Interrupted,
            CommandError::Workload(error) => error.exit_status(),
            CommandError::Embedded(_) | CommandError::File { .. } => ExitStatus::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CommandError::Usage { hint, .. } => Some(hint.clone()),
            CommandError::Engine { hint, error, .. } => hint.clone().or_else(|| error.hint()),
            CommandError::Stopped { hint } => Some(hint.clone()),
            CommandError::Workload(error) => error.hint(),
            // Faults of a package and errors of the embedded server already end with their fix.
            _ => None,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Usage { what, .. } => told(f, &format!("error: {what}"))?,
            CommandError::Package(error)
            | CommandError::Engine {
                error:
                    inrush::Error::Package(error) | inrush::Error::Plan(PlanError::Package(error)),
                ..
            } => {
                let faults: Vec<String> = error
                    .faults
                    .iter()
                    .map(|fault| format!("error: {fault}"))
                    .collect();
                writeln!(f, "{}", faults.join("\n").trim_end())?;
            }
            CommandError::Engine { error, notes, .. } => {
                writeln!(f, "error: {}", with_causes(error))?;
                for note in notes {
                    writeln!(f, "{note}")?;
                }
            }
            CommandError::Embedded(error) => writeln!(f, "error: {}", with_causes(error))?,
            CommandError::File {
                doing,
                path,
                source,
            } => told(f, &format!("error: {doing} {}: {source}", path.display()))?,
            CommandError::Stopped { .. } => writeln!(f, "error: stopped on request")?,
            CommandError::Workload(error) => {
                told(f, &format!("error: {error}"))?;
                let details = error.details();
                details.iter().try_for_each(|detail| told(f, detail))?;
            }
        }
        match self.hint() {
            Some(hint) => told(f, &format!("hint: {hint}")),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CommandError {}

impl From<PackageError> for CommandError {
    fn from(error: PackageError) -> CommandError {
        CommandError::Package(error)
    }
}

impl From<inrush::Error> for CommandError {
    fn from(error: inrush::Error) -> CommandError {
        CommandError::Engine {
            error,
            notes: Vec::new(),
            hint: None,
        }
    }
}

impl From<EmbeddedError> for CommandError {
    fn from(error: EmbeddedError) -> CommandError {
        CommandError::Embedded(error)
    }
}

impl From<WorkloadError> for CommandError {
    fn from(error: WorkloadError) -> CommandError {
        match error {
            WorkloadError::Package(error) => CommandError::Package(error),
            WorkloadError::Engine { error, notes, hint } => {
                CommandError::Engine { error, notes, hint }
            }
            error => CommandError::Workload(error),
        }
    }
}

/// Writes a line whose values may contain line breaks.
fn told(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&line(text))
}

/// The error's text, followed by the text of each cause that it does not already contain.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut text = indented(&said).into_owned();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !said.contains(&words) {
            text.push_str("\n  caused by: ");
            text.push_str(&indented(&words));
            said.push_str(&words);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug)]
        struct Outer(io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("cannot write")
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        assert_eq!(
            with_causes(&Outer(io::Error::other("no space"))),
            "cannot write\n  caused by: no space"
        );
        assert_eq!(
            with_causes(&Outer(io::Error::other("write"))),
            "cannot write"
        );
    }

    #[test]
    fn what_ends_a_workload_is_told_with_what_belongs_to_it() {
        let error = CommandError::from(WorkloadError::NotDbgens {
            differences: vec!["part: 1 rows of a\nb, of which dbgen makes 2".to_owned()],
            results: "x/summary.md".into(),
        });
        assert_eq!(error.exit_status(), ExitStatus::Verification);
        let told = error.to_string();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "error: the loaded rows differ from dbgen's rows");
        assert_eq!(lines[1], "  part: 1 rows of a");
        assert!(lines[2].ends_with("   b, of which dbgen makes 2"), "{told}");
        assert_eq!(lines[3], "results: x/summary.md");
        assert!(lines[4].starts_with("hint: do the files"), "{told}");
        assert_eq!(lines.len(), 5);

        let stopped = WorkloadError::Stopped {
            hint: "again".to_owned(),
        };
        let stopped = CommandError::from(stopped);
        assert_eq!(stopped.exit_status(), ExitStatus::Interrupted);
        assert_eq!(
            stopped.to_string(),
            "error: stopped on request\nhint: again\n"
        );
        // Errors of the engine are printed like those of a run.
        let interrupted = CommandError::from(WorkloadError::from(inrush::Error::Interrupted));
        assert_eq!(
            interrupted.to_string(),
            CommandError::from(inrush::Error::Interrupted).to_string()
        );
    }

    #[test]
    fn a_mistake_ends_with_2_and_its_hint() {
        let error = CommandError::Usage {
            what: "--to: it is empty".to_owned(),
            hint: "write a URL".to_owned(),
        };
        assert_eq!(error.exit_status(), ExitStatus::Usage);
        assert_eq!(
            error.to_string(),
            "error: --to: it is empty\nhint: write a URL\n"
        );
    }
}
