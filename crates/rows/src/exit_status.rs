//! The exit status of a command, for the shell and for Python's `InrushError.exit_status`.

use serde::{Deserialize, Serialize};

/// The outcome of a command, as its exit status. Errors carry it; it becomes a number when the process ends, and in
/// JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything was done, and no row was rejected.
    Clean = 0,
    /// The command failed: a file, the destination, the network.
    Failed = 1,
    /// The arguments, the package or the URL are wrong, so the command must be changed.
    Usage = 2,
    /// The rows were loaded except for rejects within the limit.
    Rejects = 3,
    /// More rows were rejected than the limit allows; nothing was published.
    RejectLimit = 4,
    /// The loaded rows are not the rows that were sent or promised.
    Verification = 5,
    /// The preflight found that a run cannot succeed.
    Preflight = 6,
    /// A signal ended the command: 128 and the number of SIGINT.
    Interrupted = 130,
}

impl ExitStatus {
    /// Every status.
    pub const ALL: [ExitStatus; 8] = [
        ExitStatus::Clean,
        ExitStatus::Failed,
        ExitStatus::Usage,
        ExitStatus::Rejects,
        ExitStatus::RejectLimit,
        ExitStatus::Verification,
        ExitStatus::Preflight,
        ExitStatus::Interrupted,
    ];

    /// The number that a shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<ExitStatus> for u8 {
    fn from(status: ExitStatus) -> u8 {
        status.code()
    }
}

/// Reads the exit status from a report.
impl TryFrom<u8> for ExitStatus {
    type Error = String;

    fn try_from(code: u8) -> Result<ExitStatus, String> {
        ExitStatus::ALL
            .into_iter()
            .find(|status| status.code() == code)
            .ok_or_else(|| format!("{code} is not an exit status of Inrush"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_documentation() {
        let codes = ExitStatus::ALL.map(ExitStatus::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 130]);
    }

    #[test]
    fn json_has_the_number() {
        for status in ExitStatus::ALL {
            let json = serde_json::to_string(&status).expect("a number");
            assert_eq!(json, status.code().to_string());
            let again: ExitStatus = serde_json::from_str(&json).expect("the same");
            assert_eq!(again, status);
        }
        assert!(serde_json::from_str::<ExitStatus>("7").is_err());
    }
}
