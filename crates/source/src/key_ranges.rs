//! Ranges of a key, into which the rows of a database are cut (`split_by`).
//!
//! The borders only decide how large the ranges are. With any borders, each row is in exactly one range, because the
//! borders are sorted in the order in which the database compares the key with them.

use std::ops::Range;

use inrush_rows::plural::counted;
use inrush_rows::sql_text::identifier;

use crate::content::ContentHash;

/// The number of low bits of a row's position that number the rows of a range; the bits above them are the number of
/// the range.
pub const KEY_ROW_BITS: u32 = 44;

/// A key and the borders of its ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRanges {
    /// The column's name.
    pub column: String,
    /// The borders in ascending order, as literals in SQL. The first range has no lower end, the last one no upper end.
    pub borders: Vec<String>,
    /// True if rows whose key is NULL are read with the first range.
    pub takes_nulls: bool,
    /// How the borders were found, for people.
    pub origin: &'static str,
}

impl KeyRanges {
    /// The number of ranges.
    pub fn count(&self) -> u64 {
        self.borders.len() as u64 + 1
    }

    /// The condition of the rows of some ranges; `None` if these are all ranges. `key` is the column in SQL.
    pub fn condition(&self, key: &str, ranges: Range<u64>) -> Option<String> {
        let border = |index: u64| self.borders.get(usize::try_from(index).ok()?);
        let lower = ranges.start.checked_sub(1).and_then(border);
        let upper = ranges.end.checked_sub(1).and_then(border);
        match (lower, upper) {
            (None, None) => None,
            (None, Some(upper)) if self.takes_nulls => {
                Some(format!("({key} < {upper} OR {key} IS NULL)"))
            }
            (None, Some(upper)) => Some(format!("{key} < {upper}")),
            (Some(lower), None) => Some(format!("{key} >= {lower}")),
            (Some(lower), Some(upper)) => Some(format!("{key} >= {lower} AND {key} < {upper}")),
        }
    }

    /// The plan's note about the ranges. `name` is the table or query.
    pub fn note(&self, name: &str) -> String {
        let nulls = match self.takes_nulls {
            true => "; rows without it are read with the first range",
            false => "",
        };
        format!(
            "{name} is cut into {} of {}, by {}{nulls}",
            counted(self.count(), "range"),
            identifier(&self.column),
            self.origin
        )
    }

    /// A text that differs if the ranges differ.
    pub fn digest(&self) -> String {
        let mut hash = ContentHash::default();
        for border in &self.borders {
            hash.add(border.as_bytes());
            hash.add(&[0]);
        }
        hash.take()
    }
}

/// At most `count_max` of the texts, evenly spaced.
pub fn evenly(texts: Vec<String>, count_max: usize) -> Vec<String> {
    let count = texts.len();
    if count <= count_max {
        return texts;
    }
    (1..=count_max)
        .map(|number| texts[number * count / (count_max + 1)].clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(borders: &[&str], takes_nulls: bool) -> KeyRanges {
        KeyRanges {
            column: "Id".to_owned(),
            borders: borders.iter().map(|text| (*text).to_owned()).collect(),
            takes_nulls,
            origin: "a test",
        }
    }

    #[test]
    fn ranges_leave_no_gap() {
        let three = ranges(&["1", "5"], false);
        assert_eq!(three.count(), 3);
        let texts = [0..1, 1..2, 2..3, 0..2, 1..3, 0..3];
        let texts = texts.map(|range| three.condition("\"Id\"", range));
        let expected = [
            Some("\"Id\" < 1"),
            Some("\"Id\" >= 1 AND \"Id\" < 5"),
            Some("\"Id\" >= 5"),
            Some("\"Id\" < 5"),
            Some("\"Id\" >= 1"),
            None,
        ];
        assert_eq!(texts.each_ref().map(Option::as_deref), expected);
        assert_eq!(ranges(&[], true).condition("\"Id\"", 0..1), None);
    }

    #[test]
    fn rows_without_a_key_are_in_the_first_range_only() {
        let three = ranges(&["1", "5"], true);
        let texts = [0..1, 1..2, 2..3].map(|range| three.condition("k", range));
        let with_null = texts
            .iter()
            .map(|text| text.as_ref().is_some_and(|text| text.contains("IS NULL")));
        assert_eq!(with_null.collect::<Vec<_>>(), [true, false, false]);
        assert_ne!(three.digest(), ranges(&["1", "6"], true).digest());
        assert_ne!(
            ranges(&["15"], true).digest(),
            ranges(&["1", "5"], true).digest()
        );
    }

    #[test]
    fn many_borders_become_fewer() {
        let texts: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(evenly(texts.clone(), 100), texts);
        assert_eq!(evenly(texts, 4), ["20", "40", "60", "80"]);
    }
}
