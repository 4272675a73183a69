//! Maps names of schemas and tables, and values of partitions, to paths.
//!
//! A byte with a special meaning in a path, in a glob pattern or in a reader's rule for hidden files is written as
//! `%XX`. Letters outside ASCII stay as they are: Hive and Spark decode each `%XX` as one character, so only escaped
//! ASCII is read correctly everywhere.

use std::fmt::Write as _;
use std::path::PathBuf;

use inrush_destination::{Error, Result, TargetName};

/// The folder name that Hive's readers take for NULL.
pub(super) const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// The most bytes in the name of a file or folder.
const NAME_BYTES_MAX: usize = 255;

/// The table's path, relative to the folder of tables.
pub(super) fn target_name(schema: Option<&str>, name: &str) -> Result<TargetName> {
    let table = folder_name("table", name)?;
    let sql = match schema {
        Some(schema) => format!("{}/{table}", folder_name("schema", schema)?),
        None => table,
    };
    Ok(TargetName {
        schema: schema.map(str::to_owned),
        name: name.to_owned(),
        sql,
    })
}

/// The table's path as [`target_name`] made it.
pub(super) fn path(name: &TargetName) -> Result<PathBuf> {
    Ok(PathBuf::from(
        target_name(name.schema.as_deref(), &name.name)?.sql,
    ))
}

fn folder_name(what: &str, name: &str) -> Result<String> {
    let mut out = String::with_capacity(name.len());
    for (place, character) in name.char_indices() {
        let hides = place == 0 && matches!(character, '.' | '_');
        if hides || is_special(character) {
            escape(&mut out, character);
        } else {
            out.push(character);
        }
    }
    if name.is_empty() || out.len() > NAME_BYTES_MAX {
        return Err(Error::Unsuitable {
            what: format!(
                "{name:?} cannot be the name of a {what} of Parquet files: its folder's name would \
                 have {} bytes, and 1 to {NAME_BYTES_MAX} are possible",
                out.len()
            ),
            hint: format!("give the {what} another name"),
        });
    }
    Ok(out)
}

/// True if a character is special in a path, in a glob pattern, or for readers of `column=value`.
fn is_special(character: char) -> bool {
    character.is_ascii_control()
        || matches!(
            character,
            '/' | '\\' | '=' | '%' | '*' | '?' | '[' | ']' | '{' | '}'
        )
}

fn escape(out: &mut String, character: char) {
    // Only ASCII is escaped; writing into a `String` cannot fail.
    let _ = write!(out, "%{:02X}", character as u32);
}

/// True if a column's name may come before the `=`, where DuckDB does not decode it.
pub(super) fn may_name_partitions(column: &str) -> bool {
    !column.is_empty()
        && !column.starts_with(['.', '_'])
        && column.len() < 128
        && !column.chars().any(is_special)
}

/// Appends `column=value` as DuckDB writes it; `None` stands for NULL.
pub(super) fn push_partition(out: &mut String, column: &str, value: Option<&str>) {
    out.push_str(column);
    out.push('=');
    let Some(value) = value else {
        out.push_str(NULL_PARTITION);
        return;
    };
    // DuckDB 1 takes the value for NULL unless it is escaped.
    let reads_as_null = value.eq_ignore_ascii_case("null");
    for (place, character) in value.char_indices() {
        let plain = !character.is_ascii()
            || character.is_ascii_alphanumeric()
            || matches!(character, '-' | '_' | '.' | '~');
        if plain && !(place == 0 && reads_as_null) {
            out.push(character);
        } else {
            escape(out, character);
        }
    }
}

/// True if `column=value` is too long for a folder name.
pub(super) fn is_too_long(folder: &str) -> bool {
    folder.len() > NAME_BYTES_MAX
}

/// The name that Inrush gives to the folder `column=value`, if it differs from this one. Without this rule, a value
/// that can be written in two ways would have two folders.
pub(super) fn written_here(folder: &str, is_integer: bool) -> Option<String> {
    let (column, value) = folder.split_once('=')?;
    let value = match value {
        NULL_PARTITION => None,
        value => Some(decoded(value)),
    };
    let value = match (&value, is_integer) {
        (Some(text), true) => match text.trim().parse::<i64>() {
            Ok(number) => Some(number.to_string()),
            Err(_) => value,
        },
        _ => value,
    };
    let mut here = String::new();
    push_partition(&mut here, column, value.as_deref());
    (here != folder).then_some(here)
}

/// A text with its `%XX` decoded.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The column of a folder `column=value`.
pub(super) fn partition_column(folder: &str) -> Option<&str> {
    folder.split_once('=').map(|(column, _)| column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_folder() {
        for (folder, is_integer, here) in [
            ("p=ü", false, None),
            ("p=%C3%BC", false, Some("p=ü")),
            ("p=a b", false, Some("p=a%20b")),
            ("p=a%20b", false, None),
            ("m=01", true, Some("m=1")),
            ("m=01", false, None),
            ("m=-1", true, None),
            ("m=__HIVE_DEFAULT_PARTITION__", true, None),
        ] {
            assert_eq!(
                written_here(folder, is_integer).as_deref(),
                here,
                "{folder}"
            );
        }
    }

    fn partition(value: Option<&str>) -> String {
        let mut out = String::new();
        push_partition(&mut out, "c", value);
        out
    }

    #[test]
    fn tables_are_folders() {
        let path = |schema, name| target_name(schema, name).unwrap().sql;
        assert_eq!(path(None, "orders"), "orders");
        assert_eq!(path(Some("sales"), "orders"), "sales/orders");
        assert_eq!(path(None, "../x"), "%2E.%2Fx");
        assert_eq!(path(None, "_hidden"), "%5Fhidden");
        assert_eq!(path(None, "a=b%*?\0"), "a%3Db%25%2A%3F%00");
        assert_eq!(path(None, "Größe \"m\""), "Größe \"m\"");
        assert!(target_name(None, "").is_err());
        assert!(target_name(None, &"x".repeat(256)).is_err());
    }

    #[test]
    fn values_of_partitions_are_told_apart() {
        assert_eq!(partition(None), "c=__HIVE_DEFAULT_PARTITION__");
        assert_eq!(partition(Some("")), "c=");
        assert_eq!(partition(Some("2024-01-01")), "c=2024-01-01");
        assert_eq!(partition(Some("a b/c=d%")), "c=a%20b%2Fc%3Dd%25");
        assert_eq!(partition(Some("Ü")), "c=Ü");
        assert_eq!(partition(Some("NULL")), "c=%4EULL");
    }
}
