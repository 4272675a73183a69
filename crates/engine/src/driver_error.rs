//! An error of a driver, for callers who do not know which driver it was.

use std::error::Error as StdError;
use std::fmt;

use inrush_rows::exit_status::ExitStatus;

/// An error that ended the work of a driver, in the driver's own words. A caller treats all drivers alike: it prints the
/// text and the hint, and ends with the exit status.
#[derive(Debug)]
pub struct DriverError {
    error: Box<dyn StdError + Send + Sync>,
    hint: Option<String>,
    exit_status: ExitStatus,
    is_lost: bool,
    retry: Retry,
}

/// Another way to load the same rows after an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// Not by another try.
    #[default]
    Never,
    /// The destination refused a row: without such rows, which are looked for and rejected.
    WithoutRows,
    /// Another transaction was in the way: while no other one is under way.
    Alone,
}

impl DriverError {
    /// An error, with a hint how to fix it if that is known. Its exit status is 1, unless the driver says otherwise.
    pub fn new(error: impl StdError + Send + Sync + 'static, hint: Option<String>) -> DriverError {
        DriverError {
            error: Box::new(error),
            hint,
            exit_status: ExitStatus::Failed,
            is_lost: false,
            retry: Retry::Never,
        }
    }

    /// With the way to load the rows in spite of it.
    pub fn with_retry(self, retry: Retry) -> DriverError {
        DriverError { retry, ..self }
    }

    /// The other way in which the same rows may be loaded after this error.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// With the exit status that tells it.
    pub fn with_exit_status(self, exit_status: ExitStatus) -> DriverError {
        DriverError {
            exit_status,
            ..self
        }
    }

    /// With another hint, if the driver knows more than the error.
    pub fn with_hint(self, hint: String) -> DriverError {
        DriverError {
            hint: Some(hint),
            ..self
        }
    }

    /// The way to the destination broke.
    pub fn lost(self) -> DriverError {
        DriverError {
            is_lost: true,
            ..self
        }
    }

    /// How to fix it, if that is known and not said in the text.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// The exit status that tells it.
    pub fn exit_status(&self) -> ExitStatus {
        self.exit_status
    }

    /// True if the way to the destination broke: what was committed is there, and the same command may go on.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The error itself, for the engine whose it is.
    pub fn own<E: StdError + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }

    /// The typed error inside, by value; this error unchanged if the one inside has another type.
    pub fn into_own<E: StdError + 'static>(self) -> Result<E, DriverError> {
        let DriverError {
            error,
            hint,
            exit_status,
            is_lost,
            retry,
        } = self;
        match error.downcast() {
            Ok(own) => Ok(*own),
            Err(error) => Err(DriverError {
                error,
                hint,
                exit_status,
                is_lost,
                retry,
            }),
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// The source is that of the error inside, so its text is not printed twice.
impl StdError for DriverError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}
