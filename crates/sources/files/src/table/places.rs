//! Places in a file of typed rows: row numbers.

use inrush_rows::chunk::Places;

/// The positions of the rows of a chunk in its text.
#[derive(Debug)]
pub(super) struct RowPlaces {
    pub(super) starts: Vec<u32>,
}

impl Places for RowPlaces {
    /// The number of rows before the row that begins at `position`.
    fn byte_distance(&self, _text: &[u8], position: usize) -> u64 {
        let begins_before = |start: &u32| (*start as usize) < position;
        self.starts.partition_point(begins_before) as u64
    }

    fn are_rows(&self) -> bool {
        true
    }
}
