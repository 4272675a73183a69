//! Places in a file of typed rows: the numbers of its rows.

use crate::chunk::Places;

/// Where the rows of a chunk begin in its text.
#[derive(Debug)]
pub(super) struct RowPlaces {
    pub(super) starts: Vec<u32>,
}

impl Places for RowPlaces {
    /// Rows before the one that begins at `position`.
    fn byte_distance(&self, _text: &[u8], position: usize) -> u64 {
        rows_before(&self.starts, position)
    }

    fn are_rows(&self) -> bool {
        true
    }
}

/// How many rows begin before a place of the text.
pub(super) fn rows_before(starts: &[u32], position: usize) -> u64 {
    starts.partition_point(|start| (*start as usize) < position) as u64
}
