//! An index of names that matches columns to fields of a header: first by the same name, then without regard to case.
//! It is built once for all look-ups, because comparing all pairs would be slow for wide tables.

use std::collections::BTreeMap;

/// Names and their positions in a list.
pub struct NameIndex<'a> {
    exact: BTreeMap<&'a str, Vec<usize>>,
    folded: BTreeMap<String, Vec<usize>>,
}

impl<'a> NameIndex<'a> {
    /// An index of names in the order of their list.
    pub fn new(names: impl Iterator<Item = &'a str>) -> NameIndex<'a> {
        let mut index = NameIndex {
            exact: BTreeMap::new(),
            folded: BTreeMap::new(),
        };
        for (place, name) in names.enumerate() {
            index.exact.entry(name).or_default().push(place);
            let folded = index.folded.entry(name.to_lowercase()).or_default();
            folded.push(place);
        }
        index
    }

    /// The positions of a name: the exact matches, or else the matches that differ only in case.
    pub fn places(&self, name: &str) -> &[usize] {
        let exact = self.exact.get(name);
        exact
            .or_else(|| self.folded.get(&name.to_lowercase()))
            .map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_goes_before_others_in_case() {
        let index = NameIndex::new(["A", "a", "b", "\u{c4}", "a"].into_iter());
        for (name, expected) in [
            ("a", vec![1, 4]),
            ("A", vec![0]),
            ("B", vec![2]),
            ("\u{e4}", vec![3]),
            ("c", vec![]),
        ] {
            assert_eq!(index.places(name), expected, "{name}");
        }
    }
}
