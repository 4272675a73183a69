//! Files that are not meant to be loaded: refused or guessed with a message, and never a panic.

use proptest::prelude::*;

use super::*;

fn refusal(name: &str, text: &[u8]) -> String {
    match sniffed_files(&[(name, text)], &SniffOptions::default()) {
        Ok(guess) => panic!("{guess:#?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_without_a_row_are_refused() {
    for (text, words) in [
        (&b""[..], "empty, so its columns cannot be guessed"),
        (b"\xef\xbb\xbf", "empty, so its columns cannot be guessed"),
    ] {
        let error = refusal("a.csv", text);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn files_that_are_no_text_are_refused() {
    let binary: Vec<u8> = (0..4096_u32).map(|index| (index * 7 % 256) as u8).collect();
    for (text, words) in [
        (binary.as_slice(), "not text"),
        (b"PK\x03\x04 and so on", "zip"),
        (b"a\rb\rc\r", "terminator"),
    ] {
        let error = refusal("a.csv", text);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn one_giant_line() {
    let text = "x".repeat(3 << 20);
    let guess = sniffed("a.csv", text.as_bytes());
    assert_eq!(columns(&guess), "column_1 text");
    let text = "x".repeat(17 << 20);
    let error = refusal("a.csv", text.as_bytes());
    assert!(error.contains("record_bytes_max"), "{error}");
}

#[test]
fn ten_thousand_columns() {
    let mut text = (0..10_000)
        .map(|index| format!("c{index}"))
        .collect::<Vec<_>>()
        .join(",");
    for row in 0..5 {
        text.push('\n');
        text.push_str(&vec![row.to_string(); 10_000].join(","));
    }
    let guess = sniffed("a.csv", text.as_bytes());
    assert_eq!(guess.columns.len(), 10_000);
    assert!(guess.form.header);
    assert!(
        guess
            .columns
            .iter()
            .all(|column| column.column_type.sql() == "integer")
    );
}

#[test]
fn bytes_that_are_not_utf8_are_told() {
    let guess = sniffed("a.csv", b"id,name\n1,Ann\n2,J\xfcrgen\n3,Cy\n");
    assert_unsure(
        &guess,
        &[
            "1 row would be rejected: bytes that are not UTF-8",
            "they are likely windows-1252: if so, declare it with encoding = \"windows-1252\"",
        ],
    );
}

#[test]
fn a_delimiter_that_begins_lines_begins_no_comments() {
    let text = b"#\t\"\"\n,#\n\\#\t";
    let _ = sniffed_files(&[("a.csv", text)], &SniffOptions::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_guessed_or_refused(text in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = sniffed_files(&[("a.csv", &text)], &SniffOptions::default());
    }

    #[test]
    fn any_text_of_special_bytes_is_guessed_or_refused(
        text in "[,;|\t\n\r\"'\\\\# a-c0-3./:#-]{0,300}",
        name in prop::sample::select(vec!["a.csv", "a.tbl", "a.tsv", "a"]),
    ) {
        let _ = sniffed_files(&[(name, text.as_bytes())], &SniffOptions::default());
    }
}
