//! The number of rows that pass the steps of a flow together, so that the columns which steps add take little memory.
//!
//! A statement of DuckDB costs as much as a hundred rows, so a few thousand rows pass together. If rows get long texts,
//! fewer pass: their number is computed from the bytes that the rows before them got. If they still need too much
//! memory, half of them pass.

use inrush_plan::steps::ROWS_MAX;

/// The bytes of added columns at which fewer rows pass together.
const ADDED_BYTES: usize = 8 << 20;
/// The number of the first rows, whose added columns are of unknown size.
const FIRST_ROWS: usize = 512;
/// The largest factor by which the number grows at once. It is small because the next rows may get longer texts than
/// those before.
const GROWTH_MAX: usize = 4;

/// The number of rows that pass the steps together next.
#[derive(Debug)]
pub struct RowsAtOnce {
    next: usize,
    max: usize,
}

impl RowsAtOnce {
    /// The number for the first rows of a split. Each row becomes `fan_out` rows.
    pub fn new(fan_out: u64) -> RowsAtOnce {
        let of = |rows: usize| (rows as u64 / fan_out).max(1) as usize;
        RowsAtOnce {
            next: of(FIRST_ROWS),
            max: of(ROWS_MAX),
        }
    }

    /// The number for the next rows.
    pub fn get(&self) -> usize {
        self.next
    }

    /// Notes the bytes that the steps added to some rows.
    pub fn note(&mut self, rows: usize, added_bytes: usize) {
        if rows == 0 {
            return;
        }
        let fitting = match added_bytes {
            0 => self.max,
            _ => ADDED_BYTES.saturating_mul(rows) / added_bytes,
        };
        self.next = fitting.clamp(1, self.max.min(self.next * GROWTH_MAX));
    }

    /// Notes that this number of rows, at least two, was too large. Returns the number to try with instead.
    pub fn lower(&mut self, rows: usize) -> usize {
        self.next = (rows / 2).max(1);
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of rows for rows that all get this many bytes.
    fn numbers(row_bytes: usize) -> Vec<usize> {
        let mut rows = RowsAtOnce::new(1);
        let next = |_| {
            let own = rows.get();
            rows.note(own, own * row_bytes);
            own
        };
        (0..5).map(next).collect()
    }

    #[test]
    fn short_rows_pass_in_growing_numbers() {
        assert_eq!(numbers(0), [512, 2_048, 8_192, 8_192, 8_192]);
        assert_eq!(numbers(32), [512, 2_048, 8_192, 8_192, 8_192]);
    }

    #[test]
    fn rows_with_long_texts_take_the_bytes_that_they_may() {
        assert_eq!(numbers(40_000), [512, 209, 209, 209, 209]);
        assert_eq!(numbers(100 << 20), [512, 1, 1, 1, 1]);
    }

    #[test]
    fn a_number_that_fell_grows_again() {
        let mut rows = RowsAtOnce::new(1);
        rows.note(512, 512 << 20);
        assert_eq!(rows.get(), 8);
        rows.note(8, 0);
        assert_eq!(rows.get(), 32);
        // The rest of a chunk may be no rows at all.
        rows.note(0, 0);
        assert_eq!(rows.get(), 32);
    }

    #[test]
    fn rows_that_were_too_many_pass_in_halves() {
        let mut rows = RowsAtOnce::new(1);
        assert_eq!(
            [512, 256, 3, 2].map(|count| rows.lower(count)),
            [256, 128, 1, 1]
        );
        rows.note(1, 100);
        assert_eq!(rows.get(), 4);
    }

    #[test]
    fn rows_that_become_many_pass_in_small_numbers() {
        for (fan_out, expected) in [(4, [128, 512, 2_048]), (10_000, [1, 1, 1])] {
            let mut rows = RowsAtOnce::new(fan_out);
            let numbers = [(); 3].map(|()| {
                let own = rows.get();
                rows.note(own, 0);
                own
            });
            assert_eq!(numbers, expected);
        }
    }
}
