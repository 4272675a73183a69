//! Makes names of columns from the names in a header, or from numbers.
//!
//! The rule: blanks around a name and a `#` before it are removed; upper case becomes lower case; each run of
//! characters other than letters, digits and `_` becomes one `_`, and is removed at both ends; a name that begins with
//! a digit gets a `_` before it; an empty name becomes `column_N`; a name that is already taken, or that is a system
//! column of every table (`ctid`), gets `_2`, `_3` and so on; a name that is too long for the target's database is cut.

use std::collections::{BTreeMap, BTreeSet};

/// Columns that PostgreSQL adds to every table. No other column of the table may have such a name.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];

/// The names for a header's fields, of at most `bytes_max` bytes, and notes about changes other than spelling.
pub(super) fn of_header(fields: &[String], bytes_max: usize) -> (Vec<String>, Vec<String>) {
    let mut taken = BTreeSet::new();
    let mut next_numbers = BTreeMap::new();
    let mut changes = Vec::new();
    let mut unnamed = Vec::new();
    let names = fields
        .iter()
        .enumerate()
        .map(|(index, field)| {
            let mut name = identifier(field);
            if name.is_empty() {
                name = format!("column_{}", index + 1);
                unnamed.push(index + 1);
            }
            if name.len() > bytes_max {
                name = cut(&name, bytes_max).to_owned();
                changes.push(format!(
                    "the name of field {} is longer than {bytes_max} bytes: it is cut to {name}",
                    index + 1
                ));
            }
            let is_system = SYSTEM_COLUMNS.contains(&name.as_str());
            if is_system || !taken.insert(name.clone()) {
                let unique = unique(&name, bytes_max, &taken, &mut next_numbers);
                let why = match is_system {
                    true => "is the name of a column that PostgreSQL gives every table",
                    false => "occurs more than once",
                };
                changes.push(format!(
                    "the name `{}` {why}: field {} is called {unique}",
                    field.trim(),
                    index + 1
                ));
                taken.insert(unique.clone());
                name = unique;
            }
            name
        })
        .collect();
    changes.extend(unnamed_told(&unnamed));
    (names, changes)
}

/// The note about fields without a name; many fields share one note.
fn unnamed_told(numbers: &[usize]) -> Option<String> {
    const SHOWN_MAX: usize = 5;
    let shown: Vec<String> = numbers
        .iter()
        .take(SHOWN_MAX)
        .map(usize::to_string)
        .collect();
    let more = match numbers.len().saturating_sub(SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match numbers {
        [] => None,
        [only] => Some(format!(
            "field {only} has no name: it is called column_{only}"
        )),
        _ => Some(format!(
            "fields {}{more} have no name: they are named by their numbers, column_{} and so on",
            shown.join(", "),
            shown[0]
        )),
    }
}

/// The names for files without a header.
pub(super) fn of_numbers(count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("column_{number}"))
        .collect()
}

/// A name that SQL accepts without quotes, unless it is one of SQL's own words.
pub(super) fn identifier(field: &str) -> String {
    let mut name = String::new();
    for character in field.trim().trim_start_matches('#').chars() {
        if character.is_alphanumeric() || character == '_' {
            name.extend(character.to_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let trimmed = name.trim_end_matches('_').len();
    // A name that is only `_`, or that ends with `_` in the file, is kept.
    if trimmed > 0 && !field.trim().ends_with('_') {
        name.truncate(trimmed);
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

/// The name, with the smallest number that makes it unique. `next_numbers` has the smallest number that was not tried
/// yet for each name, so that a header of equal names does not try all numbers for each field.
fn unique(
    name: &str,
    bytes_max: usize,
    taken: &BTreeSet<String>,
    next_numbers: &mut BTreeMap<String, u64>,
) -> String {
    // Names that differ only in the part that is cut off share their numbers.
    const ENDING_BYTES: usize = 6;
    let beginning = cut(name, bytes_max - ENDING_BYTES).to_owned();
    let number = next_numbers.entry(beginning).or_insert(2);
    loop {
        let ending = format!("_{number}");
        let name = format!("{}{ending}", cut(name, bytes_max - ending.len()));
        *number += 1;
        if !taken.contains(&name) {
            return name;
        }
    }
}

/// The longest beginning of a name that fits into this many bytes.
fn cut(name: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// A table's name of at most `bytes_max` bytes, from a file's name: extensions and part numbers are left out.
pub fn table_name(file_name: &str, bytes_max: usize) -> String {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or(file_name);
    let stem = match name.find('.') {
        Some(0) | None => name,
        Some(end) => &name[..end],
    };
    let mut name = identifier(stem);
    if name.len() > bytes_max {
        name.truncate(cut(&name, bytes_max).len());
    }
    match name.is_empty() {
        true => "data".to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_become_names() {
        for (field, name) in [
            ("id", "id"),
            (" Order ID ", "order_id"),
            ("orderId", "orderid"),
            ("Umsatz (\u{20ac})", "umsatz"),
            ("Gr\u{f6}\u{df}e", "gr\u{f6}\u{df}e"),
            ("2024", "_2024"),
            ("#id", "id"),
            ("a--b", "a_b"),
            ("_x", "_x"),
            ("x_", "x_"),
            ("%", ""),
        ] {
            assert_eq!(identifier(field), name, "{field}");
        }
    }

    #[test]
    fn names_are_told_apart() {
        let long = "x".repeat(70);
        let fields = ["a", "A", "", "a_2", long.as_str(), long.as_str()].map(str::to_owned);
        let (names, changes) = of_header(&fields, 63);
        assert_eq!(names[..4], ["a", "a_2", "column_3", "a_2_2"]);
        assert_eq!(names[4], "x".repeat(63));
        assert_eq!(names[5], format!("{}_2", "x".repeat(61)));
        assert_eq!(changes.len(), 6, "{changes:?}");
        // A database that allows longer names.
        let (names, changes) = of_header(&fields, 128);
        assert_eq!(names[4..], [long.clone(), format!("{long}_2")]);
        assert_eq!(changes.len(), 4, "{changes:?}");
    }

    #[test]
    fn no_column_is_called_as_those_of_every_table() {
        let fields = ["ctid", "XMin", "ctid", "ctid_2", "oid"].map(str::to_owned);
        let (names, changes) = of_header(&fields, 63);
        assert_eq!(names, ["ctid_2", "xmin_2", "ctid_3", "ctid_2_2", "oid"]);
        assert!(
            changes[0].contains("gives every table: field 1 is called ctid_2"),
            "{changes:?}"
        );
    }

    #[test]
    fn tables_are_called_like_their_files() {
        for (file, table) in [
            ("data/lineitem.tbl.3", "lineitem"),
            ("Sales 2024-05.csv.gz", "sales_2024_05"),
            ("2024.csv", "_2024"),
            (".hidden", "hidden"),
            ("%%.csv", "data"),
            ("lineitem.*.tbl", "lineitem"),
            ("orders-*.csv", "orders"),
        ] {
            assert_eq!(table_name(file, 63), table, "{file}");
        }
    }
}
