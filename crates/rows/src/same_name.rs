//! Finds the column that a name means where upper and lower case do not matter.

/// The index of the name with exactly this spelling, or else of the only name that differs from it only in case
/// (letters A to Z, as in DuckDB). The error has the indexes of all names that differ only in case: none, or several.
pub fn place_of<'a>(
    name: &str,
    all: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Vec<usize>> {
    if let Some(place) = all.clone().position(|known| known == name) {
        return Ok(place);
    }
    let similar = all.enumerate();
    let similar = similar.filter(|(_, known)| known.eq_ignore_ascii_case(name));
    let places: Vec<usize> = similar.map(|(place, _)| place).collect();
    match places.as_slice() {
        [only] => Ok(*only),
        _ => Err(places),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_names_that_differ_in_case_the_exact_one_counts() {
        let all = ["day", "id", "ID", "\u{c4}"];
        let place = |name| place_of(name, all.into_iter());
        assert_eq!(place("DAY"), Ok(0));
        assert_eq!((place("id"), place("ID")), (Ok(1), Ok(2)));
        assert_eq!(place("Id"), Err(vec![1, 2]));
        assert_eq!((place("days"), place("\u{e4}")), (Err(vec![]), Err(vec![])));
    }
}
