//! Files that are too large to be read whole: samples from the middle and the end, and files that
//! are compressed.

use std::io::Write;

use super::*;

/// A file with more rows than a sample holds; `row` writes one.
fn large(bytes: usize, row: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes + 1024);
    let mut index = 0;
    while text.len() < bytes {
        text.push_str(&row(index));
        index += 1;
    }
    text
}

const BYTES: usize = 1 << 20;

#[test]
fn a_first_record_may_be_long() {
    for length in [140_000, 900_000] {
        let long = "x".repeat(length);
        let guess = sniffed("a.csv", format!("1,a,{long}\n2,b,y\n3,c,z\n").as_bytes());
        assert_eq!(
            columns(&guess),
            "column_1 integer, column_2 text, column_3 text",
            "{length}"
        );
        // Line ends in quotes do not end records.
        let lines = "x\n".repeat(length / 2);
        let guess = sniffed(
            "a.csv",
            format!("1;a;\"{lines}\"\n2;b;y\n3;c;z\n").as_bytes(),
        );
        assert_eq!(
            columns(&guess),
            "column_1 integer, column_2 text, column_3 text",
            "{length}"
        );
    }
}

#[test]
fn a_header_of_many_names_is_one() {
    let names: Vec<String> = (0..15_000).map(|index| format!("name_{index}")).collect();
    let row = vec!["5"; names.len()].join(",");
    let guess = sniffed(
        "a.csv",
        format!("{}\n{row}\n{row}\n{row}\n", names.join(",")).as_bytes(),
    );
    assert!(guess.form.header);
    assert_eq!(guess.columns.len(), names.len());
    assert_eq!(guess.columns[14_999].name, "name_14999");
}

#[test]
fn the_end_of_a_file_is_looked_at() {
    let mut text = large(BYTES, |index| format!("{index},{}\n", index % 7));
    text.push_str("7,x\n");
    let guess = sampled("a.csv", text.as_bytes(), false);
    assert_eq!(columns(&guess), "column_1 integer, column_2 text");
    assert_unsure(&guess, &["`x` (a.csv byte "]);
    assert!(
        !guess.is_everything && guess.places > 60,
        "{}",
        guess.extent()
    );
}

#[test]
fn nulls_that_appear_late_are_no_reject() {
    let text = large(BYTES, |index| match index > 60_000 {
        true => format!("{index},\n"),
        false => format!("{index},{}\n", index % 7),
    });
    let guess = sampled("a.csv", text.as_bytes(), false);
    assert_eq!(columns(&guess), "column_1 integer, column_2 integer");
    assert!(
        !guess.columns[1].seen.starts_with("no NULL"),
        "{}",
        guess.columns[1].seen
    );
}

#[test]
fn places_inside_of_quoted_newlines_are_told_from_records() {
    // Every line of a note looks like a record with another number of fields, and has no quotes.
    let text = large(BYTES, |index| {
        format!(
            "{index},\"first line of it\nsecond, with commas, {index}\nthird\",{}\n",
            index % 5
        )
    });
    let guess = sampled("a.csv", text.as_bytes(), false);
    assert_eq!(
        columns(&guess),
        "column_1 integer, column_2 text, column_3 integer"
    );
    assert_unsure(&guess, &[]);
    assert!(guess.places > 60, "{}", guess.extent());
}

#[test]
fn everything_finds_what_samples_miss() {
    let mut text = large(BYTES, |index| format!("{index},{}\n", index % 7));
    // The bad value is between the last two samples.
    let before = text.len() - 8192;
    let end = before + text[before..].find('\n').expect("lines are short");
    text.replace_range(end - 1..end, "x");
    let guess = sampled("a.csv", text.as_bytes(), false);
    assert_eq!(columns(&guess), "column_1 integer, column_2 integer");
    let guess = sampled("a.csv", text.as_bytes(), true);
    assert_eq!(columns(&guess), "column_1 integer, column_2 text");
    assert_unsure(&guess, &["`x` (a.csv line "]);
    assert!(guess.is_everything);
}

#[test]
fn of_a_compressed_file_the_beginning_is_looked_at() {
    let text = large(BYTES, |index| format!("{index},{}\n", index % 7));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).expect("memory");
    let guess = sampled("a.csv.gz", &gzip.finish().expect("memory"), false);
    assert_eq!(columns(&guess), "column_1 integer, column_2 integer");
    assert_unsure(&guess, &["only its beginning was sampled"]);
}

#[test]
fn large_keys_of_a_sample_leave_room() {
    // The next file of a feed continues where this one ends.
    let text = large(BYTES, |index| {
        format!("{},{}\n", 1_500_000_000 + index, index % 7)
    });
    let guess = sampled("a.csv", text.as_bytes(), false);
    assert_eq!(columns(&guess), "column_1 bigint, column_2 integer");
}

#[test]
fn of_a_file_in_utf16_the_beginning_is_looked_at() {
    let text = large(BYTES, |index| format!("{index},\u{dc},{}\n", index % 7));
    let bytes: Vec<u8> = std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let guess = sampled("a.csv", &bytes, false);
    assert_eq!(
        columns(&guess),
        "column_1 integer, column_2 text, column_3 integer"
    );
    assert_unsure(&guess, &["only its beginning was sampled"]);
}
