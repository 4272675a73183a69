//! Faults of a package.

use std::fmt;

use inrush_rows::suggest::listed;
use inrush_rows::told;

use super::place::Place;

/// The reasons why a package cannot be used. All faults that one pass finds are reported at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageError {
    /// The faults, in the order of the file; never empty.
    pub faults: Vec<PackageFault>,
}

/// One fault, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFault {
    /// The place, in words.
    pub place: Place,
    /// The kind of fault.
    pub kind: PackageFaultKind,
}

/// A kind of fault in a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackageFaultKind {
    /// The file cannot be read.
    #[error("the package cannot be read: {reason}")]
    Unreadable {
        /// The error of the system.
        reason: String,
    },
    /// The file is not text.
    #[error("the package is not UTF-8 text: byte {byte_offset} is {byte:#04x}")]
    NotUtf8 {
        /// The number of bytes before the first wrong one.
        byte_offset: usize,
        /// The byte.
        byte: u8,
    },
    /// The text is not TOML.
    #[error("not valid TOML: {reason}")]
    Syntax {
        /// The parser's message.
        reason: String,
    },
    /// An unknown key.
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table that it is in, as a person calls it.
        table: String,
        /// The key that was likely meant.
        suggestion: Option<String>,
        /// The table that it belongs in, if it is a key of another table.
        belongs: Option<String>,
        /// The keys that the table can have.
        known: Vec<String>,
    },
    /// A required key is missing.
    #[error("`{key}` is missing in {table}")]
    MissingKey {
        /// The key.
        key: String,
        /// The table in which it is missing.
        table: String,
        /// The meaning of the key.
        meaning: String,
    },
    /// A value of another type.
    #[error("`{setting}` must be {expected}, not {found}")]
    WrongType {
        /// The setting.
        setting: String,
        /// The values that it takes.
        expected: String,
        /// The value in the package.
        found: String,
        /// The text to write instead.
        mend: Option<String>,
    },
    /// A word that the setting does not have.
    #[error("`{setting}` cannot be `{word}`")]
    UnknownWord {
        /// The setting.
        setting: String,
        /// The value in the package.
        word: String,
        /// The word that was likely meant.
        suggestion: Option<String>,
        /// The words that are possible, as a person says it.
        expected: String,
    },
    /// A number that is out of the setting's range.
    #[error("`{setting}` is {value}; it can be {}", interval(minimum, maximum))]
    OutOfRange {
        /// The setting.
        setting: String,
        /// The number as written.
        value: String,
        /// The smallest possible number.
        minimum: String,
        /// The largest possible number.
        maximum: String,
    },
    /// `{name}`, but no parameter has that name.
    #[error("unknown parameter `{{{name}}}` in `{text}`")]
    UnknownParameter {
        /// The name.
        name: String,
        /// The text that contains it.
        text: String,
        /// The parameter that was likely meant.
        suggestion: Option<String>,
        /// The parameters that there are.
        known: Vec<String>,
    },
    /// `{` without its `}`.
    #[error("`{{` without `}}` in `{text}`")]
    BraceNotClosed {
        /// The text that contains it.
        text: String,
    },
    /// `${env:NAME}` of a variable that is not set.
    #[error("the environment variable `{name}` is not set")]
    EnvironmentMissing {
        /// The variable.
        name: String,
    },
    /// `${env:NAME}` of a variable that is not text. Its value is not shown, as it may be a secret.
    #[error("the environment variable `{name}` is not UTF-8 text")]
    EnvironmentNotText {
        /// The variable.
        name: String,
    },
    /// `${env:NAME}` in a setting that does not allow it.
    #[error("`${{env:{name}}}` is not allowed in `{setting}`")]
    EnvironmentMisplaced {
        /// The variable.
        name: String,
        /// The setting.
        setting: String,
    },
    /// `--set` of a parameter, or `--connection` of a connection, that the package does not have.
    #[error("the package has no {what} `{name}`")]
    UnknownOverride {
        /// `parameter` or `connection`.
        what: &'static str,
        /// The name.
        name: String,
        /// The one that was likely meant.
        suggestion: Option<String>,
        /// The names that exist.
        known: Vec<String>,
    },
    /// There is nothing to load.
    #[error("the package has no flow")]
    NoFlow,
    /// There is nowhere to load to.
    #[error("the package has no connection")]
    NoConnection,
    /// A flow names a connection that is not there.
    #[error("no connection is called `{name}`")]
    UnknownConnection {
        /// The name.
        name: String,
        /// The one that was likely meant.
        suggestion: Option<String>,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A flow names no connection, although there are several.
    #[error("the flow names no connection, but the package has {}", listed(known.iter().map(String::as_str)))]
    ConnectionNotNamed {
        /// The names that exist.
        known: Vec<String>,
    },
    /// Two flows go to different connections.
    #[error("this flow loads to `{second}`, and the first one to `{first}`")]
    ConnectionsDiffer {
        /// The connection of the first flow.
        first: String,
        /// The connection of this flow.
        second: String,
    },
    /// A name that must be unique occurs again.
    #[error("{what} `{name}` is defined twice{}", first_line.map(|line| format!(", first in line {line}")).unwrap_or_default())]
    Duplicate {
        /// The thing with the name: `the column`.
        what: &'static str,
        /// The name.
        name: String,
        /// The line of the first one.
        first_line: Option<usize>,
        /// The fix.
        mend: &'static str,
    },
    /// A value that its setting cannot have.
    #[error("`{setting}` cannot be `{value}`: {cause}")]
    Value {
        /// The setting.
        setting: String,
        /// Its value.
        value: String,
        /// The reason against it.
        cause: String,
        /// The text to write instead.
        mend: String,
    },
    /// The package would load code that is not installed on this machine.
    #[error("the package loads code into this process: {what}")]
    Untrusted {
        /// The driver, or the option that names one.
        what: String,
    },
    /// The package would start a server on a folder that Inrush did not make here.
    #[error(
        "the package starts a server on the folder {folder}, and functions and settings that are stored in it would run \
         as you: {reason}"
    )]
    UntrustedFolder {
        /// The data folder.
        folder: String,
        /// Why it is not known to be made here.
        reason: String,
    },
    /// A setting of a format that a scanner could not distinguish from the other settings.
    #[error("`format.{setting}`: {reason}")]
    Format {
        /// The setting.
        setting: &'static str,
        /// The fault and the fix.
        reason: String,
    },
    /// Settings that do not go together.
    #[error("{conflict}")]
    Conflict {
        /// The conflict.
        conflict: String,
        /// The fix.
        mend: String,
    },
}

impl PackageFaultKind {
    /// A value that its setting cannot have.
    pub(super) fn value(
        setting: impl Into<String>,
        value: &str,
        cause: impl Into<String>,
        mend: impl Into<String>,
    ) -> PackageFaultKind {
        PackageFaultKind::Value {
            setting: setting.into(),
            value: value.to_owned(),
            cause: cause.into(),
            mend: mend.into(),
        }
    }

    /// How to fix it.
    pub fn mend(&self) -> Option<String> {
        let one_of = |what: &str, suggestion: &Option<String>, known: &[String]| match suggestion {
            Some(suggestion) => format!("did you mean `{suggestion}`?"),
            None if known.is_empty() => format!("there are no {what} here"),
            None => format!(
                "the {what} here are {}",
                listed(known.iter().map(String::as_str))
            ),
        };
        let mend = match self {
            PackageFaultKind::Unreadable { .. } => {
                "check the path, and that you may read the file".to_owned()
            }
            PackageFaultKind::NotUtf8 { .. } => {
                "save the file as UTF-8 text; a package is TOML".to_owned()
            }
            PackageFaultKind::Syntax { .. } => return None,
            PackageFaultKind::UnknownKey {
                suggestion: None,
                belongs: Some(belongs),
                ..
            } => format!("it belongs in {belongs}"),
            PackageFaultKind::UnknownKey {
                suggestion, known, ..
            } => one_of("keys", suggestion, known),
            PackageFaultKind::MissingKey { key, meaning, .. } => format!("add `{key}`: {meaning}"),
            PackageFaultKind::WrongType { mend, .. } => return mend.clone(),
            PackageFaultKind::UnknownWord {
                suggestion,
                expected,
                ..
            } => match suggestion {
                Some(suggestion) => format!("did you mean `{suggestion}`?"),
                None => format!("it can be {expected}"),
            },
            PackageFaultKind::OutOfRange { .. } | PackageFaultKind::Format { .. } => return None,
            PackageFaultKind::UnknownParameter {
                suggestion, known, ..
            } => format!(
                "{}; `{{{{` stands for a brace",
                one_of("parameters", suggestion, known)
            ),
            PackageFaultKind::BraceNotClosed { .. } => {
                "`{name}` stands for a parameter, and `{{` for a brace".to_owned()
            }
            PackageFaultKind::EnvironmentMissing { name } => {
                format!("set it before the command: export {name}=...")
            }
            PackageFaultKind::EnvironmentNotText { name } => {
                format!("set `{name}` to text in UTF-8")
            }
            PackageFaultKind::EnvironmentMisplaced { .. } => {
                "it is allowed in `url` and in `files`; elsewhere use a parameter and --set"
                    .to_owned()
            }
            PackageFaultKind::UnknownOverride {
                what,
                suggestion,
                known,
                ..
            } => one_of(&format!("{what}s"), suggestion, known),
            PackageFaultKind::Untrusted { .. } => {
                "if you trust the author of the package, add --trust (in Python: trust=True); \
                 if not, name an installed driver, as in adbc:sqlite"
                    .to_owned()
            }
            PackageFaultKind::UntrustedFolder { .. } => {
                "if you trust the user who made the folder, add --trust (in Python: trust=True); \
                 if not, name a folder that does not exist yet, and Inrush creates it"
                    .to_owned()
            }
            PackageFaultKind::NoFlow => "add a [[flow]] with `files` and `table`".to_owned(),
            PackageFaultKind::NoConnection => {
                "add [connections.NAME] with a `url`, for example \"embedded\"".to_owned()
            }
            PackageFaultKind::UnknownConnection {
                suggestion, known, ..
            } => one_of("connections", suggestion, known),
            PackageFaultKind::ConnectionNotNamed { .. } => {
                "add `connection = \"NAME\"` to the flow".to_owned()
            }
            PackageFaultKind::ConnectionsDiffer { .. } => {
                "one transaction switches all flows in: write a package for each connection"
                    .to_owned()
            }
            PackageFaultKind::Duplicate { mend, .. } => (*mend).to_owned(),
            PackageFaultKind::Value { mend, .. } | PackageFaultKind::Conflict { mend, .. } => {
                mend.clone()
            }
        };
        Some(mend)
    }
}

/// The possible numbers, for a message.
fn interval(minimum: &str, maximum: &str) -> String {
    match maximum == i64::MAX.to_string() {
        true => format!("{minimum} or more"),
        false => format!("{minimum} to {maximum}"),
    }
}

impl fmt::Display for PackageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        told!(f, "{}: {}", self.place, self.kind)?;
        f.write_str(&self.place.excerpt())?;
        if let Some(mend) = self.kind.mend() {
            told!(f, "hint: {mend}")?;
        }
        Ok(())
    }
}

impl PackageError {
    /// One fault.
    pub fn new(place: Place, kind: PackageFaultKind) -> PackageError {
        PackageError {
            faults: vec![PackageFault { place, kind }],
        }
    }

    /// All faults in the order of the file, if there are any.
    pub fn of(mut faults: Vec<PackageFault>) -> Result<(), PackageError> {
        if faults.is_empty() {
            return Ok(());
        }
        faults.sort_by_key(|fault| {
            fault
                .place
                .line
                .as_ref()
                .map(|line| (line.number, line.column))
        });
        // A flow with outputs was read as several flows, which have the same faults.
        let mut told: Vec<PackageFault> = Vec::with_capacity(faults.len());
        for fault in faults {
            if !told.contains(&fault) {
                told.push(fault);
            }
        }
        Err(PackageError { faults: told })
    }
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        f.write_str(faults.join("\n").trim_end())
    }
}

impl std::error::Error for PackageError {}
