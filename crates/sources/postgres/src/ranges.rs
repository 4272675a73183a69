//! One input for each range of a key, so that a resumed run can keep a range or load only this range again
//! (`unchanged_by`).

use inrush_pgclient::quote::identifier;
use inrush_source::{KeyRanges, RangesMark};

use crate::relations::Relation;

/// The least number of bytes in a range, approximately.
const RANGE_BYTES: u64 = 16 << 20;
/// The most ranges: the ledger stores all borders with each loaded range.
const RANGES_MAX: u64 = 128;
/// The most bytes of the texts of all borders.
pub const BORDERS_BYTES_MAX: usize = 16 << 10;

/// The properties in which the inputs of a source differ.
pub struct Part {
    /// What is read, with its name and its size.
    pub relation: Relation,
    /// The number of its range, if it is a range of a key.
    pub only_range: Option<u64>,
    /// The condition of the range, as a part of its identity.
    pub condition: Option<String>,
}

impl Part {
    /// All rows of a relation.
    pub fn whole(relation: Relation) -> Part {
        Part {
            relation,
            only_range: None,
            condition: None,
        }
    }
}

/// The number of ranges of a table or query of this size.
pub fn wanted_count(size_bytes: u64) -> usize {
    (size_bytes / RANGE_BYTES).clamp(1, RANGES_MAX) as usize
}

/// One input for each range of the key. `borders` has the texts of the borders.
pub fn inputs(relations: Vec<Relation>, keys: &KeyRanges, borders: &RangesMark) -> Vec<Part> {
    let column = identifier(&keys.column);
    let size_bytes = (borders.size_bytes / keys.count()).max(1);
    let of_relation = |relation: &Relation| {
        let part = |number: u64| Part {
            relation: Relation {
                name: format!("{}{}", relation.name, words(&keys.column, borders, number)),
                size_bytes,
                ..relation.clone()
            },
            only_range: Some(number),
            condition: keys.condition(&column, number..number + 1),
        };
        (0..keys.count()).map(part).collect::<Vec<Part>>()
    };
    relations.iter().flat_map(of_relation).collect()
}

/// A range in words, as a part of the name of its input.
fn words(column: &str, borders: &RangesMark, number: u64) -> String {
    let border = |number: Option<u64>| {
        let index = usize::try_from(number?).ok()?;
        Some(shortened(borders.borders.get(index)?))
    };
    match (border(number.checked_sub(1)), border(Some(number))) {
        (None, None) => String::new(),
        (Some(from), None) => format!(" ({column} from {from})"),
        (None, Some(below)) => format!(" ({column} below {below})"),
        (Some(from), Some(below)) => format!(" ({column} from {from}, below {below})"),
    }
}

/// The beginning of a border that is too long for a name.
fn shortened(border: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    match border.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}...", &border[..at]),
        None => border.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_named_by_their_borders() {
        let long = "x".repeat(50);
        let mark = RangesMark {
            of: "t".to_owned(),
            column: "id".to_owned(),
            borders: vec!["5".to_owned(), long],
            size_bytes: 90,
            snapshot: String::new(),
        };
        let keys = KeyRanges {
            column: "id".to_owned(),
            borders: vec!["'5'".to_owned(), "'x'".to_owned()],
            takes_nulls: false,
            origin: "a test",
        };
        let relation = Relation {
            name: "t".to_owned(),
            from: "public.t".to_owned(),
            pages: None,
            size_bytes: 90,
        };
        let parts = inputs(vec![relation], &keys, &mark);
        let names: Vec<&str> = parts.iter().map(|part| &*part.relation.name).collect();
        let short = format!("{}...", "x".repeat(40));
        assert_eq!(
            names,
            [
                "t (id below 5)".to_owned(),
                format!("t (id from 5, below {short})"),
                format!("t (id from {short})")
            ]
        );
        assert!(parts.iter().all(|part| part.relation.size_bytes == 30));
        let conditions = parts
            .iter()
            .map(|part| part.condition.clone().expect("a border"));
        let mut conditions: Vec<String> = conditions.collect();
        conditions.dedup();
        assert_eq!(conditions.len(), 3);
    }

    #[test]
    fn small_tables_are_one_range() {
        assert_eq!(wanted_count(0), 1);
        assert_eq!(wanted_count(100 << 20), 6);
        assert_eq!(wanted_count(1 << 40), 128);
    }
}
