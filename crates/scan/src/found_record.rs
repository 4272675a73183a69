//! A record that one of the slow machines found.

use crate::records::FaultKind;

/// A record, and the start of the next one.
pub(crate) struct FoundRecord {
    pub(crate) end: usize,
    pub(crate) next: usize,
    /// True if it ends with a terminator, or has a fixed number of bytes.
    pub(crate) ends_line: bool,
    /// Used only for fields at declared positions.
    pub(crate) field_starts: Vec<usize>,
    pub(crate) field_ends: Vec<usize>,
    pub(crate) fault: Option<(FaultKind, usize)>,
}
