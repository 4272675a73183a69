//! A record that one of the slow machines found.

use crate::records::FaultKind;

/// A record, and where the next one starts.
pub(crate) struct FoundRecord {
    pub(crate) end: usize,
    pub(crate) next: usize,
    /// It ends with a terminator, or where its bytes are counted.
    pub(crate) ends_line: bool,
    /// For fields at fixed positions only.
    pub(crate) field_starts: Vec<usize>,
    pub(crate) field_ends: Vec<usize>,
    pub(crate) fault: Option<(FaultKind, usize)>,
}
