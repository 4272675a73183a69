//! The memory that texts may take while DuckDB evaluates expressions. DuckDB's own limit does not cover them.
//!
//! Some functions make long texts of short ones: `replace(b, 'a', c)` may put `c` in the place of each letter of `b`.
//! Therefore a check is called before each of them ([`MACROS`]), with the same arguments, and for each derived text. It
//! adds up the bytes that the function is going to make. If the rows of a batch need more than there is room for, the
//! statement fails before the memory is allocated, and fewer rows are evaluated together. A row that is alone and needs
//! more is a reject.
//!
//! DuckDB evaluates on the thread that calls it, so each stream has the room of its thread.

use std::cell::Cell;

use adbc_core::error::Result as AdbcResult;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::text_check::TextCheck;
use inrush_rows::column_type::ColumnType;
use inrush_rows::quantity;
use memchr::memmem;

/// The most bytes of the texts that steps make for the rows that are evaluated together.
pub const ROOM_BYTES: usize = 16 << 20;

/// A row that is evaluated alone has additional room: this many times the size of its own texts, so that a long text
/// can be changed.
pub const OWN_TEXT_COPIES: usize = 4;

/// The most bytes of a character.
const CHARACTER_BYTES_MAX: usize = 4;

/// Bytes for each pair of letters that `damerau_levenshtein` compares.
const DISTANCE_BYTES: usize = 8;

const MADE: &str = "inrush_step_made";
const MADE_BYTES: &str = "inrush_step_made_bytes";

/// The most pairs of letters of two texts that are compared with each other: a few seconds of work.
const LETTER_PAIRS_MAX: usize = 100_000_000;

/// Bytes for each value that a path into a JSON document finds, in addition to its text.
const FOUND_BYTES: usize = 16;

/// The checks, which are called before other functions. The one for derived texts is called for each row, because a
/// constant text takes memory for each row.
const CHECKS: [TextCheck; 8] = [
    check(MADE, 1, look_at_made),
    TextCheck {
        is_of_bytes: true,
        ..check(MADE_BYTES, 1, look_at_made)
    },
    check("inrush_step_replaced", 3, look_at_replaced),
    check("inrush_step_matched", 2, look_at_matched),
    check("inrush_step_padded", 2, look_at_padded),
    check("inrush_step_compared", 2, look_at_compared),
    check("inrush_step_paired", 2, look_at_paired),
    check("inrush_step_searched", 2, look_at_searched),
];

/// The functions that make long texts or compare all letters of two texts, each with its check, and the functions that
/// are replaced. A connection finds these macros before DuckDB's own functions.
const MACROS: [&str; 20] = [
    // DuckDB's own function makes timestamps that do not exist, and the CAST of such a timestamp to a text ends the
    // database.
    "make_timestamp(a) AS TIMESTAMP '1970-01-01 00:00:00' + system.main.to_microseconds(a), \
     (a, b, c, d, e, f) AS system.main.make_timestamp(a, b, c, d, e, f)",
    "replace(a, b, c) AS system.main.replace(inrush_step_replaced(a, b, c), b, c)",
    "regexp_replace(a, b, c) AS system.main.regexp_replace(inrush_step_matched(a, c), b, c), \
     (a, b, c, d) AS system.main.regexp_replace(inrush_step_matched(a, c), b, c, d)",
    "lpad(a, b, c) AS system.main.lpad(inrush_step_padded(a, CAST(b AS VARCHAR)), b, c)",
    "rpad(a, b, c) AS system.main.rpad(inrush_step_padded(a, CAST(b AS VARCHAR)), b, c)",
    "damerau_levenshtein(a, b) AS system.main.damerau_levenshtein(inrush_step_compared(a, b), b)",
    "levenshtein(a, b) AS system.main.levenshtein(inrush_step_paired(a, b), b)",
    "editdist3(a, b) AS system.main.editdist3(inrush_step_paired(a, b), b)",
    "jaro_similarity(a, b) AS system.main.jaro_similarity(inrush_step_paired(a, b), b), \
     (a, b, c) AS system.main.jaro_similarity(inrush_step_paired(a, b), b, c)",
    "jaro_winkler_similarity(a, b) AS system.main.jaro_winkler_similarity(inrush_step_paired(a, b), b), \
     (a, b, c) AS system.main.jaro_winkler_similarity(inrush_step_paired(a, b), b, c)",
    "json_extract(a, b) AS system.main.json_extract(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_extract_path(a, b) AS system.main.json_extract_path(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_extract_string(a, b) AS system.main.json_extract_string(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_extract_path_text(a, b) AS system.main.json_extract_path_text(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_value(a, b) AS system.main.json_value(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_exists(a, b) AS system.main.json_exists(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "\"->>\"(a, b) AS system.main.\"->>\"(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_keys(a) AS system.main.json_keys(a), \
     (a, b) AS system.main.json_keys(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_type(a) AS system.main.json_type(a), \
     (a, b) AS system.main.json_type(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
    "json_array_length(a) AS system.main.json_array_length(a), \
     (a, b) AS system.main.json_array_length(inrush_step_searched(a, CAST(b AS VARCHAR)), b)",
];

const fn check(
    name: &'static str,
    arguments: usize,
    look: fn(&[&[u8]]) -> Result<(), String>,
) -> TextCheck {
    TextCheck {
        name,
        arguments,
        is_of_bytes: false,
        is_for_each_row: arguments == 1,
        look,
    }
}

/// Makes the checks known to a database.
pub(crate) fn add_checks(link: &Link) -> AdbcResult<()> {
    CHECKS
        .into_iter()
        .try_for_each(|check| link.add_text_check(check))
}

/// Defines the macros for a connection, so that its expressions use the checks.
pub fn use_checks(link: &Link) -> AdbcResult<()> {
    for definition in MACROS {
        link.query(&format!("CREATE TEMP MACRO {definition}"))?;
    }
    Ok(())
}

/// The first function of the [macros](MACROS) whose name occurs in an expression, as a function or as a part of any
/// word.
pub(crate) fn replaced_in(sql: &str) -> Option<&'static str> {
    let sql = sql.to_lowercase();
    let names = MACROS
        .iter()
        .filter_map(|definition| definition.split('(').next());
    // The operators are other names of the functions.
    let mut names = names.map(|name| name.trim_matches('"')).chain(["->"]);
    names.find(|name| sql.contains(name))
}

/// True if the bytes of the values of such a derived column are counted.
pub(crate) fn is_counted(column_type: &ColumnType) -> bool {
    matches!(
        column_type.arrow(),
        DataType::Utf8View | DataType::BinaryView
    )
}

/// The value of a derived column, as a part of a statement, with its bytes counted.
pub(crate) fn counted(value: &str, column_type: &ColumnType) -> String {
    match column_type.arrow() {
        DataType::Utf8View => format!("{MADE}({value})"),
        DataType::BinaryView => format!("{MADE_BYTES}({value})"),
        _ => value.to_owned(),
    }
}

/// The room of a thread.
#[derive(Clone, Copy)]
struct Room {
    bytes: usize,
    used: usize,
    was_too_small: bool,
}

thread_local! {
    static ROOM: Cell<Room> = const {
        Cell::new(Room {
            bytes: ROOM_BYTES,
            used: 0,
            was_too_small: false,
        })
    };
}

/// Begins with the rows of a batch.
pub(crate) fn begin(batch: &RecordBatch) {
    let own = match batch.num_rows() {
        1 => OWN_TEXT_COPIES.saturating_mul(text_bytes(batch)),
        _ => 0,
    };
    ROOM.set(Room {
        bytes: ROOM_BYTES.saturating_add(own),
        used: 0,
        was_too_small: false,
    });
}

/// Bytes that the texts of this batch took so far, as far as they are counted.
pub(crate) fn used() -> usize {
    ROOM.get().used
}

/// True if a statement failed since [`begin`] or [`again`] because its texts had no room.
pub(crate) fn was_too_small() -> bool {
    ROOM.get().was_too_small
}

/// Begins again, with the same rows or with others in their place. `used` are the bytes that were taken before these
/// rows.
pub(crate) fn again(used: usize) {
    ROOM.set(Room {
        used,
        was_too_small: false,
        ..ROOM.get()
    });
}

/// Takes room for texts.
fn take(bytes: usize) -> Result<(), String> {
    let mut room = ROOM.get();
    let used = room.used.saturating_add(bytes);
    if used > room.bytes {
        room.was_too_small = true;
        ROOM.set(room);
        return Err(too_long(room.bytes));
    }
    room.used = used;
    ROOM.set(room);
    Ok(())
}

/// The reason of the reject of a row whose texts have no room.
pub(crate) fn too_long(bytes: usize) -> String {
    format!(
        "the texts that it makes for this row need more than {} of memory; shorten its arguments, for example with left(...)",
        quantity::bytes(bytes as u64)
    )
}

fn look_at_made(texts: &[&[u8]]) -> Result<(), String> {
    take(texts[0].len())
}

/// Takes room for a replacement. `texts` are a text, the text that is searched in it, and the replacement.
fn look_at_replaced(texts: &[&[u8]]) -> Result<(), String> {
    let [text, searched, put] = texts else {
        return Ok(());
    };
    let growth = put.len().saturating_sub(searched.len());
    let places = match growth == 0 || searched.is_empty() {
        true => 0,
        false => memmem::find_iter(text, searched).count(),
    };
    take(text.len().saturating_add(places.saturating_mul(growth)))
}

/// Takes room for a replacement of matches. `texts` are a text, and the replacement for the matches of a regular
/// expression. There is at most one match for each letter and one at the end. All matches together are at most as long
/// as the text, and so are all matches of a group (`\\1`).
fn look_at_matched(texts: &[&[u8]]) -> Result<(), String> {
    let [text, put] = texts else {
        return Ok(());
    };
    let groups = memchr::memchr_iter(b'\\', put).count();
    let letters = put.len() - groups;
    let matches = (text.len() + 1).saturating_mul(letters);
    take(
        text.len()
            .saturating_mul(1 + groups)
            .saturating_add(matches),
    )
}

/// Takes room for a padded text. `texts` are a text, and the number of characters that it gets.
fn look_at_padded(texts: &[&[u8]]) -> Result<(), String> {
    let [text, length] = texts else {
        return Ok(());
    };
    let length = std::str::from_utf8(length).ok();
    let length: usize = length.and_then(|own| own.parse().ok()).unwrap_or_default();
    take(text.len().max(length.saturating_mul(CHARACTER_BYTES_MAX)))
}

/// Takes room to compare the letters of two texts by pairs. The memory is free again after each row.
fn look_at_compared(texts: &[&[u8]]) -> Result<(), String> {
    let before = ROOM.get().used;
    let pairs = texts
        .iter()
        .map(|text| text.len() + 2)
        .fold(DISTANCE_BYTES, usize::saturating_mul);
    take(pairs)?;
    again(before);
    Ok(())
}

/// Takes room to compare the letters of two texts by pairs, without memory for each pair.
fn look_at_paired(texts: &[&[u8]]) -> Result<(), String> {
    let pairs = texts
        .iter()
        .map(|text| text.len())
        .fold(1, usize::saturating_mul);
    match pairs > LETTER_PAIRS_MAX {
        false => Ok(()),
        true => Err(format!(
            "it would compare {} of one text with {} of the other, which takes too long; shorten them, for example with left(...)",
            quantity::bytes(texts[0].len() as u64),
            quantity::bytes(texts[1].len() as u64)
        )),
    }
}

/// Takes room for the values that are found in a JSON document. `texts` are the document, and a path, or a list of
/// paths, to values in it. One path without `*` finds one value, so its text is not longer than the document. With
/// `..*` a value is found once more for each array or object around it.
fn look_at_searched(texts: &[&[u8]]) -> Result<(), String> {
    let [document, path] = texts else {
        return Ok(());
    };
    let is_list = path.first() == Some(&b'[');
    let paths = match is_list {
        true => 1 + memchr::memchr_iter(b',', path).count(),
        false => 1,
    };
    let has_wildcard = memchr::memchr(b'*', path).is_some();
    if paths == 1 && !has_wildcard {
        return Ok(());
    }
    let (depth, values) = depth_and_values(document);
    let descents = memmem::find_iter(path, "..").count();
    let each = document
        .len()
        .saturating_add(values.saturating_mul(FOUND_BYTES));
    let times = (0..descents).fold(paths, |times, _| times.saturating_mul(depth.max(1)));
    take(each.saturating_mul(times))
}

/// How deep the arrays and objects of a JSON document are nested, and the most values that it may have.
fn depth_and_values(document: &[u8]) -> (usize, usize) {
    let (mut depth, mut deepest, mut values) = (0_usize, 0, 1);
    let mut bytes = document.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (deepest, values)
}

/// Bytes of the texts of a batch.
fn text_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter().map(|array| match array.data_type() {
        DataType::Utf8View => array.as_string_view().iter().flatten().map(str::len).sum(),
        DataType::BinaryView => array
            .as_binary_view()
            .iter()
            .flatten()
            .map(<[u8]>::len)
            .sum(),
        _ => 0,
    });
    columns.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a check takes for one row.
    fn taken(look: fn(&[&[u8]]) -> Result<(), String>, texts: &[&str]) -> usize {
        again(0);
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        look(&texts).expect("there is room");
        used()
    }

    #[test]
    fn the_bytes_of_a_result_are_known_before_it_is_made() {
        assert_eq!(taken(look_at_made, &["abc"]), 3);
        assert_eq!(taken(look_at_replaced, &["abab", "b", "xyz"]), 8);
        assert_eq!(taken(look_at_replaced, &["aaa", "aa", "xyz"]), 4);
        assert_eq!(taken(look_at_replaced, &["abab", "", "xyz"]), 4);
        assert_eq!(taken(look_at_replaced, &["abab", "ab", ""]), 4);
        // `x` between all letters and at both ends, and the matched text.
        assert_eq!(taken(look_at_matched, &["ab", "x\\0"]), 2 + 2 + 3 * 2);
        assert_eq!(taken(look_at_padded, &["ab", "3"]), 12);
        assert_eq!(taken(look_at_padded, &["abcdefghijklm", "3"]), 13);
        assert_eq!(taken(look_at_searched, &["[[1]]", "$[0]"]), 0);
        assert_eq!(taken(look_at_searched, &["[[1,2]]", "$[*]"]), 7 + 4 * 16);
        assert_eq!(
            taken(look_at_searched, &["[[1,2]]", "$..*"]),
            2 * (7 + 4 * 16)
        );
        assert_eq!(
            taken(look_at_searched, &["{}", "[$.a, $.b]"]),
            2 * (2 + 2 * 16)
        );
        assert_eq!(depth_and_values(br#"{"a[\"[": [1, {"b": "]"}]}"#), (3, 5));
        // The table of `damerau_levenshtein` is there for one row at a time.
        assert_eq!(taken(look_at_compared, &["ab", "cd"]), 0);
    }

    #[test]
    fn what_has_no_room_is_refused_and_takes_none() {
        again(0);
        let long = vec![b'a'; ROOM_BYTES];
        look_at_made(&[&long[1..]]).expect("there is room");
        assert!(!was_too_small());
        let refused = look_at_made(&[&long[..2]]).expect_err("there is room for one byte");
        assert!(refused.contains("more than 16.8 MB"), "{refused}");
        assert!(was_too_small());
        assert_eq!(used(), ROOM_BYTES - 1);
        again(0);
        let word = vec![b'a'; 10_000];
        look_at_replaced(&[&word, b"a", &word]).expect_err("100 MB");
        look_at_compared(&[&word, &word]).expect_err("800 MB");
        look_at_paired(&[&word, &word]).expect("100 million pairs");
        look_at_paired(&[&word, &long]).expect_err("160 billion pairs");
        let deep = [vec![b'['; 10_000], vec![b']'; 10_000]].concat();
        look_at_searched(&[&deep, b"$..*"]).expect_err("200 MB");
    }
}
