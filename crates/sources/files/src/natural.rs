//! The natural order of file names: `orders.tbl.2` before `orders.tbl.10`.

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Compares paths part by part: runs of digits as numbers, everything else as bytes. Only equal paths compare equal.
pub(super) fn compare_paths(left: &Path, right: &Path) -> Ordering {
    let parts = |path: &Path| -> Vec<Vec<u8>> {
        let components = path.components();
        components
            .map(|part| part.as_os_str().as_bytes().to_vec())
            .collect()
    };
    let (left_parts, right_parts) = (parts(left), parts(right));
    for (left, right) in left_parts.iter().zip(&right_parts) {
        let order = compare_names(left, right);
        if order != Ordering::Equal {
            return order;
        }
    }
    left_parts
        .len()
        .cmp(&right_parts.len())
        // `01` and `1` are the same number, but not the same name.
        .then_with(|| left.cmp(right))
}

fn compare_names(left: &[u8], right: &[u8]) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        match (left.first(), right.first()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) if a.is_ascii_digit() && b.is_ascii_digit() => {
                let (a, left_rest) = split_number(left);
                let (b, right_rest) = split_number(right);
                // Without leading zeros, the number with more digits is the greater one.
                let order = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
                if order != Ordering::Equal {
                    return order;
                }
                (left, right) = (left_rest, right_rest);
            }
            (Some(a), Some(b)) => {
                if a != b {
                    return a.cmp(b);
                }
                (left, right) = (&left[1..], &right[1..]);
            }
        }
    }
}

/// The number that a name begins with, without leading zeros, and what follows.
fn split_number(name: &[u8]) -> (&[u8], &[u8]) {
    let end = name.iter().position(|byte| !byte.is_ascii_digit());
    let (digits, rest) = name.split_at(end.unwrap_or(name.len()));
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (&digits[zeros..], rest)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let ordered = [
            "a/9",
            "a/10",
            "a/010a",
            "a.1",
            "orders.tbl",
            "orders.tbl.1",
            "orders.tbl.2",
            "orders.tbl.10",
            "orders.tbl.99999999999999999999999",
            "orders.tbl.100000000000000000000000",
            "orders.tbl.x",
            "p1-2",
            "p1-10",
            "p01-11",
        ];
        for pair in ordered.windows(2) {
            let order = compare_paths(Path::new(pair[0]), Path::new(pair[1]));
            assert_eq!(order, Ordering::Less, "{pair:?}");
        }
        assert_eq!(
            compare_paths(Path::new("01"), Path::new("1")),
            Ordering::Less
        );
    }

    proptest! {
        #[test]
        fn it_is_an_order(names in prop::collection::vec("[01a/.]{0,6}", 3)) {
            let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            let [a, b, c] = [&paths[0], &paths[1], &paths[2]];
            prop_assert_eq!(compare_paths(a, b), compare_paths(b, a).reverse());
            if compare_paths(a, b).is_le() && compare_paths(b, c).is_le() {
                prop_assert!(compare_paths(a, c).is_le());
            }
            prop_assert_eq!(compare_paths(a, b).is_eq(), a == b);
        }
    }
}
