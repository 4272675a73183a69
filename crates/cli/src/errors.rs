//! What ends a command, how it is told, and the exit status.

use std::fmt;
use std::path::PathBuf;

use inrush::package::PackageError;
use inrush::plan::PlanError;
use inrush::printable::{indented, line};
use inrush_embedded::EmbeddedError;

/// A command did not end well.
#[derive(Debug)]
pub enum CommandError {
    /// The arguments do not say what to do.
    Usage {
        /// What is wrong with them.
        what: String,
        /// How to mend it.
        hint: String,
    },
    /// The package cannot be used.
    Package(PackageError),
    /// The engine could not do it.
    Engine {
        /// Why.
        error: inrush::Error,
        /// What else a person should know: what was kept, where the report is.
        notes: Vec<String>,
        /// How to mend it, in place of what the error itself says.
        hint: Option<String>,
    },
    /// There is no embedded server.
    Embedded(EmbeddedError),
    /// A file or folder cannot be used.
    File {
        /// What was being done.
        doing: &'static str,
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database does not hold what was generated.
    Contents {
        /// What differs.
        differences: Vec<String>,
    },
    /// The files of TPC-H cannot be made.
    Generate(std::io::Error),
    /// A signal ended it, and no run.
    Stopped {
        /// How to go on.
        hint: String,
    },
    /// A disk has too little room.
    Room {
        /// What is to be stored there, with how large it will be.
        what: String,
        /// All of it.
        all: String,
        /// What the disk has left.
        free: String,
        /// A folder on it.
        place: PathBuf,
    },
    /// What was loaded is not what dbgen makes.
    NotDbgens {
        /// What differs.
        differences: Vec<String>,
        /// The results of the run.
        results: PathBuf,
    },
}

impl CommandError {
    /// The exit status that tells it.
    pub fn exit_status(&self) -> u8 {
        match self {
            CommandError::Usage { .. } => 2,
            CommandError::Package(_) => PackageError::EXIT_STATUS,
            CommandError::Engine { error, .. } => error.exit_status(),
            CommandError::Contents { .. } | CommandError::NotDbgens { .. } => 5,
            CommandError::Stopped { .. } => crate::signals::INTERRUPTED,
            CommandError::Generate(error) if error.kind() == std::io::ErrorKind::InvalidInput => 2,
            CommandError::Embedded(_)
            | CommandError::File { .. }
            | CommandError::Generate(_)
            | CommandError::Room { .. } => 1,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CommandError::Usage { hint, .. } => Some(hint.clone()),
            CommandError::Engine { hint, error, .. } => hint.clone().or_else(|| error.hint()),
            CommandError::Contents { .. } => {
                Some("this is a fault of Inrush, or of the machine: please report it".to_owned())
            }
            CommandError::Stopped { hint } => Some(hint.clone()),
            CommandError::Room { .. } => Some(
                "choose a smaller --scale, fewer parts, or folders on another disk; --no-disk-check \
                 tries it all the same"
                    .to_owned(),
            ),
            CommandError::NotDbgens { .. } => Some(
                "are the files those of another scale, or cut off? Make them anew in another folder; \
                 if they are right, this is a fault of Inrush: please report it"
                    .to_owned(),
            ),
            // A package's faults and the embedded server's errors end with their mend.
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
            CommandError::Contents { differences } => {
                writeln!(f, "error: the database does not hold what was generated")?;
                listed(f, differences)?;
            }
            CommandError::Generate(error) => {
                told(
                    f,
                    &format!("error: the files of TPC-H cannot be made: {error}"),
                )?;
            }
            CommandError::Stopped { .. } => writeln!(f, "error: stopped as asked")?,
            CommandError::Room {
                what,
                all,
                free,
                place,
            } => told(
                f,
                &format!(
                    "error: not enough room at {}: {what} are needed, about {all} in all, and {free} \
                     are free",
                    place.display()
                ),
            )?,
            CommandError::NotDbgens {
                differences,
                results,
            } => {
                writeln!(f, "error: what was loaded is not what dbgen makes")?;
                listed(f, differences)?;
                told(f, &format!("results: {}", results.display()))?;
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

/// Writes a line whose values may have line breaks of their own.
fn told(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&line(text))
}

fn listed(f: &mut fmt::Formatter<'_>, points: &[String]) -> fmt::Result {
    points
        .iter()
        .try_for_each(|point| told(f, &format!("  {point}")))
}

/// The error's text, and below it that of each cause that it does not repeat.
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
    fn a_mistake_ends_with_2_and_its_hint() {
        let error = CommandError::Usage {
            what: "--to: it is empty".to_owned(),
            hint: "write a URL".to_owned(),
        };
        assert_eq!(error.exit_status(), 2);
        assert_eq!(
            error.to_string(),
            "error: --to: it is empty\nhint: write a URL\n"
        );
    }
}
