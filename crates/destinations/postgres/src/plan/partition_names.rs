//! Names for new partitions.

use std::collections::BTreeSet;

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;

use crate::quote::cut;

/// Names for partitions that no other relation has.
pub struct PartitionNames<'a> {
    table: &'a str,
    taken: &'a BTreeSet<String>,
    last: usize,
}

impl<'a> PartitionNames<'a> {
    /// Names for partitions of `table`; `taken` are all names in its schema.
    pub fn new(table: &'a str, taken: &'a BTreeSet<String>) -> PartitionNames<'a> {
        PartitionNames {
            table,
            taken,
            last: 0,
        }
    }

    /// The next free name.
    pub fn take(&mut self) -> String {
        loop {
            self.last += 1;
            let suffix = format!("_p{}", self.last);
            let name = format!(
                "{}{suffix}",
                cut(self.table, POSTGRES_NAME_BYTES_MAX - suffix.len())
            );
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters_and_skip_what_is_taken() {
        assert_eq!(cut("größe", 4), "grö");
        assert_eq!(cut("größe", 3), "gr");
        let taken = BTreeSet::from(["orders_p1".to_owned(), "orders_p3".to_owned()]);
        let mut names = PartitionNames::new("orders", &taken);
        assert_eq!(names.take(), "orders_p2");
        assert_eq!(names.take(), "orders_p4");
    }
}
